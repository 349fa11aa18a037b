"""Nyström spectral clustering, leaders and the ensemble, against slow oracles."""

import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.callback import ProgressBar
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from akkm import (
    ApproxKernelKMeans,
    EnsembleKernelKMeans,
    KernelKMeans,
    LeadersKernelKMeans,
    NystroemSpectralClustering,
)
from akkm.consensus import mcla
from akkm.core.threads import Threads
from akkm.kernels import RBF, Linear, Polynomial
from akkm.methods.leaders import Crowd
from oracles import (
    exact_kernel_k_means,
    leaders,
    lloyd_on_features,
    nystroem_kernel,
    spectral_rows,
)


def up_to_rotation(A, B):
    """The largest difference between A and the closest rotation of B."""
    U, _, V = np.linalg.svd(B.T @ A)
    return np.abs(B @ U @ V - A).max()


class TestSpectral:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("kernel", [RBF(gamma=0.02), Polynomial(degree=2)])
    def test_embedding_is_that_of_the_definition(self, kernel, weighted, digits, rng):
        X, rows = digits[0][:500], np.sort(rng.choice(500, 60, replace=False))
        w = rng.uniform(0.5, 3, size=500) if weighted else None
        model = NystroemSpectralClustering(
            5, kernel=kernel, landmarks=rows, random_state=0
        ).fit(X, sample_weight=w)
        K = nystroem_kernel(kernel(X, X[rows]), kernel(X[rows]))
        expected, values = spectral_rows(K, 5, w)
        assert up_to_rotation(model.embedding_, expected) < 1e-6
        np.testing.assert_allclose(model.eigenvalues_, values[:5], atol=1e-8)
        assert model.eigenvalues_[0] == pytest.approx(1)

    def test_labels_are_k_means_on_the_embedding(self, digits, rng):
        X, start = digits[0], rng.integers(10, size=1797)
        model = NystroemSpectralClustering(
            10, n_landmarks=200, init=start, random_state=0
        ).fit(X)
        expected = lloyd_on_features(model.embedding_, start, 10)
        np.testing.assert_array_equal(model.labels_, expected)
        means = np.array([model.embedding_[expected == k].mean(0) for k in range(10)])
        error = ((model.embedding_ - means[expected]) ** 2).sum()
        assert model.inertia_ == pytest.approx(error)
        distances = np.linalg.norm(model.embedding_[:, None] - means, axis=2)
        np.testing.assert_allclose(model.transform(X), distances, atol=1e-6)
        assert model.score(X) == pytest.approx(-error)

    def test_all_rows_as_landmarks_is_plain_spectral_clustering(self):
        X, y = make_moons(400, noise=0.06, random_state=0)
        ours = NystroemSpectralClustering(
            2, gamma=20, landmarks=np.arange(400), random_state=0
        ).fit(X)
        theirs = SpectralClustering(2, gamma=20, random_state=0).fit(X)
        assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
        assert adjusted_rand_score(ours.labels_, y) == 1.0

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_rows_without_any_similarity(self, dtype, rng):
        """Far from all landmarks: a degree of zero, and no NaN."""
        X = np.r_[rng.normal(size=(300, 2)), 1e3 + 1e2 * rng.random((2, 2))]
        model = NystroemSpectralClustering(
            3, gamma=0.5, landmarks=np.arange(100), random_state=0
        ).fit(X.astype(dtype))
        assert np.isfinite(model.embedding_).all()
        assert (model.embedding_[300:] == 0).all()
        np.testing.assert_array_equal(model.predict(X.astype(dtype)), model.labels_)

    def test_negative_degrees_are_reported(self, rng):
        X = rng.normal(size=(300, 2))
        with pytest.warns(UserWarning, match="rows have no similarity to the rest"):
            model = NystroemSpectralClustering(
                2, kernel="linear", n_landmarks=50, random_state=0
            ).fit(X)
        assert np.isfinite(model.transform(X)).all()

    def test_no_positive_degree_at_all(self):
        with pytest.raises(ValueError, match="No row has a positive degree"):
            NystroemSpectralClustering(2, kernel="linear").fit(np.zeros((30, 2)))

    def test_memory_is_not_n_times_m(self, rng):
        X = rng.random((100_000, 4), dtype=np.float32)
        model = NystroemSpectralClustering(3, n_landmarks=400, random_state=0)
        tracemalloc.start()
        model.fit(X)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 0.35 * (100_000 * 400 * 4)

    def test_weight_two_is_a_row_twice(self, digits, rng):
        X, w = digits[0][:300], rng.integers(1, 4, size=300)
        params = {"landmarks": X[::5], "gamma": 0.02, "random_state": 0}
        weighted = NystroemSpectralClustering(4, **params).fit(X, sample_weight=w)
        repeated = NystroemSpectralClustering(4, **params).fit(X.repeat(w, axis=0))
        np.testing.assert_array_equal(weighted.labels_.repeat(w), repeated.labels_)


class TestLeaders:
    @pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
    @pytest.mark.parametrize("kernel", [RBF(gamma=0.05), Linear()])
    def test_one_pass_as_in_the_definition(
        self, kernel, threshold, digits, rng, monkeypatch
    ):
        monkeypatch.setattr("akkm.methods.leaders._BATCH", 100)  # several batches
        monkeypatch.setattr("akkm.methods.leaders._AMONG", 30)
        X = digits[0][:350]
        threshold *= 1 if isinstance(kernel, RBF) else 4
        able = rng.random(350) < 0.8
        for weights in (None, able.astype(float)):
            expected, followed = leaders(
                X, kernel, threshold, None if weights is None else able
            )
            with Threads(2) as engine:
                found = Crowd(X, kernel, engine, weights).lead(threshold)
            assert found.indices.tolist() == expected
            known = np.array(followed) >= 0
            np.testing.assert_array_equal(
                found.followed[known], np.array(followed)[known]
            )

    def test_followers_take_the_label_of_their_leader(self, digits, rng):
        X, start = digits[0], rng.integers(10, size=1797)
        kernel = RBF(gamma=0.05)
        model = LeadersKernelKMeans(10, kernel=kernel, threshold=0.7, init=start).fit(X)
        found, followed = leaders(X, kernel, 0.7)
        assert model.leader_indices_.tolist() == found
        weights = np.bincount(followed)
        np.testing.assert_array_equal(model.leader_weights_, weights)
        expected, _ = exact_kernel_k_means(
            kernel(X[found]), start[found], 10, weights.astype(float)
        )
        np.testing.assert_array_equal(model.labels_, expected[followed])
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(X[found], model.leaders_)
        distances = model.transform(X)[np.arange(1797), model.labels_]
        assert model.inertia_ == pytest.approx((distances**2).sum())
        assert model.score(X) == pytest.approx(-model.inertia_)

    @pytest.mark.parametrize("wanted", [30, 100, 400])
    def test_about_as_many_as_wanted(self, wanted, digits):
        model = LeadersKernelKMeans(10, n_leaders=wanted, random_state=0).fit(digits[0])
        assert wanted / 1.25 <= len(model.leader_indices_) <= 1.25 * wanted
        same = LeadersKernelKMeans(10, threshold=model.threshold_, random_state=0)
        np.testing.assert_array_equal(
            same.fit(digits[0]).leader_indices_, model.leader_indices_
        )

    def test_a_threshold_from_a_sample_is_found_anew_if_it_gives_too_many(self, rng):
        """Leaders of uniform points in 20 dimensions grow with the rows."""
        X = rng.random((5000, 20))
        model = LeadersKernelKMeans(3, n_leaders=40, gamma=0.5, random_state=0).fit(X)
        assert 30 <= len(model.leader_indices_) <= 50

    def test_all_rows_as_leaders_is_exact(self, digits):
        X = digits[0][:400]
        start = np.arange(400) % 5
        model = LeadersKernelKMeans(5, n_leaders=400, init=start).fit(X)
        exact = KernelKMeans(5, init=start).fit(X)
        np.testing.assert_array_equal(model.labels_, exact.labels_)
        assert model.inertia_ == pytest.approx(exact.inertia_)

    def test_new_rows_far_from_all_follow_the_nearest(self):
        X = np.array([[0.0], [1.0], [10.0], [11.0]])
        model = LeadersKernelKMeans(2, kernel="linear", threshold=0.1, random_state=0)
        model.fit(X)
        np.testing.assert_array_equal(
            model.predict([[-5.0], [30.0]]), model.labels_[[0, 3]]
        )

    def test_bad_thresholds(self, digits):
        X = digits[0]
        for threshold in (-1.0, np.nan, np.inf, "small", True, None):
            with pytest.raises(ValueError, match="expected a distance ≥ 0 or 'auto'"):
                LeadersKernelKMeans(3, threshold=threshold).fit(X)
        with pytest.raises(ValueError, match="n_leaders=0 is not valid"):
            LeadersKernelKMeans(3, n_leaders=0).fit(X)
        with pytest.raises(
            ValueError, match="gives 1 leaders, fewer than n_clusters=3"
        ):
            LeadersKernelKMeans(3, threshold=1e3).fit(X)

    def test_distances_of_kernels_that_are_not_positive_definite(self, digits):
        """k(x, x) is zero throughout, distances are not."""
        model = LeadersKernelKMeans(
            10, kernel="additive_chi2", n_leaders=60, random_state=0
        )
        with pytest.warns(UserWarning, match="far from positive definite"):
            model.fit(digits[0])
        assert 50 <= len(model.leader_indices_) <= 72

    def test_all_rows_lead_under_a_kernel_that_is_not_positive_definite(self, rng):
        X = rng.normal(size=(150, 4))
        model = LeadersKernelKMeans(3, kernel="sigmoid", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert (model.leader_weights_ == 1).all()

    def test_rows_that_are_all_equally_far_from_one_another(self):
        few = LeadersKernelKMeans(3, kernel="precomputed", n_leaders=50, random_state=0)
        assert len(few.fit(np.eye(600)).leader_indices_) == 600
        with pytest.raises(ValueError, match="No threshold gives about 50 leaders"):
            few.fit(np.eye(1500))

    def test_fewer_distinct_rows_than_clusters_are_reported_as_elsewhere(self):
        X = np.repeat(np.eye(5), 100, axis=0)
        with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(5\) found"):
            model = LeadersKernelKMeans(8, random_state=0).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)

    def test_sparse_rows(self, digits):
        X = sparse.csr_array(digits[0])
        model = LeadersKernelKMeans(10, n_leaders=100, random_state=0).fit(X)
        dense = LeadersKernelKMeans(10, n_leaders=100, random_state=0).fit(digits[0])
        np.testing.assert_array_equal(model.labels_, dense.labels_)


class TestEnsemble:
    def test_is_mcla_of_its_members(self, digits):
        X = digits[0]
        model = EnsembleKernelKMeans(
            10, n_members=6, n_landmarks=30, random_state=0
        ).fit(X)
        assert [len(m.landmark_indices_) for m in model.members_] == [30] * 6
        drawn = {tuple(member.landmark_indices_) for member in model.members_}
        assert len(drawn) == 6
        labelings = [member.labels_ for member in model.members_]
        expected = mcla(labelings, 10)
        ties = expected.labels != model.labels_  # broken by another seed
        assert ties.mean() < 0.02
        anmi = [
            normalized_mutual_info_score(model.labels_, x, average_method="geometric")
            for x in labelings
        ]
        assert model.anmi_ == pytest.approx(np.mean(anmi))
        assert model.agreement_.shape == (1797,)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        # A member on its own is what it says it is.
        alone = ApproxKernelKMeans(**model.members_[2].get_params()).fit(X)
        np.testing.assert_array_equal(alone.labels_, model.members_[2].labels_)

    def test_is_better_and_steadier_than_its_members(self, digits):
        """Few landmarks, twelve seeds: higher mean NMI, smaller spread."""
        X, y = digits
        params = {"n_landmarks": 20, "gamma": 0.03}
        single, ensemble = (
            [
                normalized_mutual_info_score(
                    y, E(10, random_state=s, **params).fit(X).labels_
                )
                for s in range(12)
            ]
            for E in (ApproxKernelKMeans, EnsembleKernelKMeans)
        )
        assert np.mean(ensemble) > np.mean(single) + 0.01
        assert np.std(ensemble) < np.std(single)

    def test_metis(self, digits):
        pytest.importorskip("pymetis")
        X = digits[0]
        params = {"n_landmarks": 100, "random_state": 0}
        ours = EnsembleKernelKMeans(10, **params).fit(X)
        theirs = EnsembleKernelKMeans(10, partitioner="metis", **params).fit(X)
        assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.95

    def test_a_member_with_an_empty_cluster_predicts_all_the_same(self, rng):
        """Five distinct points in six clusters."""
        X = np.repeat(10 * np.eye(5), 20, axis=0)
        for n_members in (1, 2, 10):
            model = EnsembleKernelKMeans(
                6, n_members=n_members, gamma=0.1, random_state=0
            )
            with pytest.warns(ConvergenceWarning, match="Number of distinct") as caught:
                model.fit(X)
            assert len(caught) == 1
            assert caught[0].filename == __file__
            new = model.predict(rng.normal(scale=10, size=(500, 5)))
            assert set(new) <= set(model.labels_)

    def test_fits_in_several_threads_leave_warnings_alone(self):
        """Filters belong to the process; members may meet in any order."""
        X = np.repeat(10 * np.eye(3), 30, axis=0)
        before = list(warnings.filters)
        with pytest.warns(ConvergenceWarning), ThreadPoolExecutor(4) as pool:
            list(
                pool.map(
                    lambda s: EnsembleKernelKMeans(
                        5, n_members=4, landmarks="k-means", random_state=s
                    ).fit(X),
                    range(8),
                )
            )
        assert warnings.filters == before

    def test_members_that_disagree_are_reported_as_such(self):
        """A kernel so narrow that every member has clusters of its own."""
        X, _ = make_moons(3000, noise=0.06, random_state=0)
        model = EnsembleKernelKMeans(2, gamma=1000.0, random_state=0)
        with pytest.warns(ConvergenceWarning, match="Members disagree so much"):
            model.fit(X)

    def test_warnings_of_members_are_given_once(self, digits):
        model = EnsembleKernelKMeans(10, n_landmarks=30, init="random", max_iter=2)
        with pytest.warns(ConvergenceWarning) as caught:
            model.fit(digits[0])
        assert len(caught) == 1
        assert str(caught[0].message).startswith(
            "10 of 10 members: Stopped at max_iter"
        )
        assert caught[0].filename == __file__

    def test_progress(self, digits, capsys):
        model = EnsembleKernelKMeans(5, n_members=3, n_landmarks=30, random_state=0)
        model.set_params(verbose=1).fit(digits[0])
        out = capsys.readouterr().out
        assert "member 3 of 3: clustering error" in out
        assert "agree with the consensus" in out
        model.set_params(verbose=0).set_callbacks(ProgressBar()).fit(digits[0])
        assert "EnsembleKernelKMeans" in capsys.readouterr().out

    def test_a_callback_can_stop_it_between_members(self, digits):
        class Stop:
            seen = 0

            def setup(self, estimator, context):
                pass

            def on_fit_task_begin(self, estimator, context):
                pass

            def on_fit_task_end(self, estimator, context):
                self.seen += 1
                return self.seen == 2

            def teardown(self, estimator, context):
                pass

        model = EnsembleKernelKMeans(5, n_landmarks=30, random_state=0)
        model.set_callbacks(Stop()).fit(digits[0])
        assert len(model.members_) == 2
        np.testing.assert_array_equal(model.predict(digits[0]), model.labels_)

    def test_bad_parameters(self, digits):
        X = digits[0]
        for params, message in (
            ({"n_members": 0}, "n_members=0 is not valid"),
            (
                {"consensus": "vote"},
                "consensus='vote' is not valid; expected one of mc",
            ),
            ({"partitioner": "x"}, "Unknown partitioner 'x'; expected one of matching"),
            ({"landmarks": np.arange(9)}, "landmarks is a ndarray; expected the name"),
            ({"landmarks": "x"}, "Unknown landmark strategy 'x'"),
        ):
            with pytest.raises(ValueError, match=message):
                EnsembleKernelKMeans(3, **params).fit(X)
