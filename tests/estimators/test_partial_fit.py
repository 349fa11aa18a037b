"""partial_fit as scikit-learn's users expect it: names, errors, use after `fit`."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from akkm import ApproxKernelKMeans
from akkm.model_file import SavedModel, load_model, save_model
from akkm.tables import TableEncoder, open_table

X, Y = make_blobs(600, 3, centers=4, cluster_std=0.5, random_state=0)


def model(n_clusters=4, **settings):
    defaults = {"gamma": 0.1, "n_landmarks": 40, "random_state": 0}
    return ApproxKernelKMeans(n_clusters, **(defaults | settings))


def state(estimator):
    return pickle.dumps(vars(estimator))


class TestColumnNames:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])

    def test_names_of_a_frame_stay_known(self):
        fitted = model().partial_fit(self.frame[:200]).partial_fit(self.frame[200:])
        assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
        assert fitted.predict(self.frame).shape == (600,)

    def test_a_batch_with_other_names_is_refused(self):
        fitted = model().partial_fit(self.frame)
        with pytest.raises(ValueError, match="feature names"):
            fitted.partial_fit(self.frame[["b", "a", "c"]])

    def test_arrays_have_no_names(self):
        fitted = model().partial_fit(X).partial_fit(X[:10])
        assert not hasattr(fitted, "feature_names_in_")


class TestErrors:
    @pytest.mark.parametrize("value", ["3", 2.5, 0, None])
    def test_invalid_parameters_are_named(self, value):
        with pytest.raises(ValueError, match="'n_clusters' parameter"):
            ApproxKernelKMeans(value).partial_fit(X)

    def test_a_precomputed_kernel_is_refused(self):
        estimator = model(kernel="precomputed")
        with pytest.raises(ValueError, match=r"precomputed.*use fit"):
            estimator.partial_fit(rbf_kernel(X[:50]))
        assert vars(estimator) == vars(model(kernel="precomputed"))

    @pytest.mark.parametrize(
        "batch", [X[:3], np.full((9, 3), np.nan), np.full((9, 3), -1.0)]
    )
    def test_a_failed_first_batch_leaves_no_trace(self, batch):
        estimator = model(kernel="chi2")
        with pytest.raises(ValueError, match=r"n_samples|NaN|negative|Negative"):
            estimator.partial_fit(batch)
        assert vars(estimator) == vars(model(kernel="chi2"))

    def test_a_failed_later_batch_leaves_the_model_as_it_was(self, monkeypatch):
        estimator = model().partial_fit(X[:100])
        before = state(estimator)

        def fail(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(ApproxKernelKMeans, "_fit", fail)
        with pytest.raises(KeyboardInterrupt):
            estimator.partial_fit(X[100:])  # this call clusters the stored sample
        assert state(estimator) == before
        monkeypatch.undo()
        monkeypatch.setattr(ApproxKernelKMeans, "_labels_of", fail)
        with pytest.raises(KeyboardInterrupt):
            estimator.partial_fit(X[100:110])  # this call only moves the centers
        assert state(estimator) == before

    def test_a_failed_fit_leaves_the_model_as_it_was(self):
        estimator = model(kernel="chi2").fit(np.abs(X))
        before = state(estimator)
        with pytest.raises(ValueError, match="egative"):
            estimator.fit(-np.abs(X[:, :2]))
        assert state(estimator) == before

    def test_another_number_of_clusters_is_refused(self):
        estimator = model().partial_fit(X).set_params(n_clusters=3)
        with pytest.raises(ValueError, match=r"n_clusters=3.*4 centers.*fit"):
            estimator.partial_fit(X)

    def test_a_sparse_batch_may_follow_a_dense_one(self):
        mixed, dense = model(), model()
        for part in range(0, 600, 100):
            batch = X[part : part + 100]
            dense.partial_fit(batch)
            mixed.partial_fit(sparse.csr_array(batch) if part % 200 else batch)
        np.testing.assert_array_equal(mixed.predict(X), dense.predict(X))


class TestAfterFit:
    @pytest.mark.parametrize("kernel", ["rbf", "linear", "sigmoid"])
    @pytest.mark.parametrize("indefinite", ["clip", "flip", "pinv"])
    def test_partial_fit_starts_from_the_fitted_centers(self, kernel, indefinite):
        settings = {"kernel": kernel, "indefinite": indefinite, "coef0": 0.1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # indefinite kernels may not converge
            fitted = model(**settings).fit(X)
        again = pickle.loads(pickle.dumps(fitted)).partial_fit(X[:1])
        np.testing.assert_array_equal(again.landmarks_, fitted.landmarks_)
        own = fitted.labels_[0]
        others = np.arange(4) != own
        scale = np.abs(fitted.dual_coef_).max()
        np.testing.assert_allclose(
            again.dual_coef_[others], fitted.dual_coef_[others], atol=1e-6 * scale
        )

    def test_the_gradient_solver_is_accepted(self):
        fitted = model(solver="gradient", n_landmarks=10, gamma=1.0).fit(X)
        again = pickle.loads(pickle.dumps(fitted)).partial_fit(X[:1])
        np.testing.assert_array_equal(again.predict(X), fitted.labels_)

    def test_clusters_keep_their_numbers(self):
        first = np.flatnonzero(Y < 3)
        fitted = model().fit(X[first])
        before = fitted.predict(X)
        fitted.partial_fit(X[first][:50])
        assert (fitted.predict(X) == before).mean() > 0.99
        assert fitted.labels_.shape == (50,)

    def test_a_batch_moves_the_centers_as_computed_by_hand(self):
        fitted = ApproxKernelKMeans(2, kernel="linear", n_landmarks=2, random_state=0)
        fitted.fit(np.array([[0.0], [0.2], [10.0], [10.2]]))
        fitted.partial_fit(np.array([[11.1]]))
        own = int(fitted.predict([[10.0]])[0])
        # The total weight of all rows is half their number. Before the batch it is 2,
        # of which the two rows of this cluster have 1. Now it is 5 / 2. The new row has
        # weight 1, so 1.5 are left for the earlier rows: their weights are multiplied
        # by 1.5 / 2.
        kept = 1.0 * 1.5 / 2
        center = (kept * 10.1 + 11.1) / (kept + 1)
        assert fitted.transform(np.array([[center]]))[0, own] == pytest.approx(
            0, abs=1e-6
        )

    def test_a_large_batch_counts_like_several_small_ones(self):
        """A batch is processed in steps, so that a large batch does not erase the fit.

        The number of rows in a step is at most a quarter of the number of rows before
        it. The fit has 4 rows, so the steps have 1, 1, 1, 1, 2 and 2 rows.
        """
        rows = np.array([[0.0], [0.2], [10.0], [10.2]])
        batch = np.full((8, 1), 12.0)
        whole, cut = (
            model(2, kernel="linear", n_landmarks=2).fit(rows) for _ in range(2)
        )
        whole.partial_fit(batch)
        for part in np.split(batch, [1, 2, 3, 4, 6]):
            cut.partial_fit(part)
        np.testing.assert_array_equal(whole.dual_coef_, cut.dual_coef_)
        assert whole.transform(batch[:1]).min() > 0.01

    def test_labels_are_the_predictions(self):
        fitted = model(8).fit(X[:300])
        for part in np.array_split(X[300:], 7):
            fitted.partial_fit(part)
            np.testing.assert_array_equal(fitted.labels_, fitted.predict(part))

    def test_fit_ends_the_stream(self):
        streamed = model().partial_fit(X[:100]).fit(X)
        np.testing.assert_array_equal(streamed.labels_, model().fit(X).labels_)
        assert not hasattr(streamed, "_stream")

    def test_a_model_from_a_file_continues_like_the_model_in_memory(self, tmp_path):
        np.save(tmp_path / "x.npy", X)
        encoder = TableEncoder().fit(open_table(str(tmp_path / "x.npy")))
        rows = encoder.transform(open_table(str(tmp_path / "x.npy")))
        fitted = model().fit(rows[:300])
        save_model(SavedModel(encoder, fitted, {}), tmp_path / "m.skops")
        loaded = load_model(tmp_path / "m.skops").estimator
        for estimator in (fitted, loaded):
            estimator.partial_fit(rows[300:400]).partial_fit(rows[400:])
        np.testing.assert_array_equal(loaded.dual_coef_, fitted.dual_coef_)
