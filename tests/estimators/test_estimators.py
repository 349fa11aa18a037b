"""The scikit-learn face of all estimators."""

import pickle
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from akkm import (
    ApproxKernelKMeans,
    EnsembleKernelKMeans,
    KernelKMeans,
    LeadersKernelKMeans,
    NystroemSpectralClustering,
    TwoStepKernelKMeans,
)
from akkm.kernels import RBF, Linear, Precomputed
from akkm.metrics import clustering_error
from oracles import algorithm2, exact_kernel_k_means

SAMPLING = [ApproxKernelKMeans, TwoStepKernelKMeans]
NEAREST = [*SAMPLING, KernelKMeans]  # every row has the label of the nearest center
SCORED = [*NEAREST, LeadersKernelKMeans, NystroemSpectralClustering]
ALL = [*SCORED, EnsembleKernelKMeans]
FEW = partial(EnsembleKernelKMeans, n_members=3)  # ten would only take longer
every = pytest.mark.parametrize(
    "Estimator", [*SCORED, pytest.param(FEW, id="EnsembleKernelKMeans")]
)
every_scored = pytest.mark.parametrize("Estimator", SCORED)
every_nearest = pytest.mark.parametrize("Estimator", NEAREST)


# Defaults as they are, and a setting as scikit-learn uses to check its own KMeans.
CHECKED = [E(**p) for E in SCORED for p in ({}, {"n_clusters": 3})]
CHECKED += [EnsembleKernelKMeans(), FEW(n_clusters=3)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_scikit_learn_checks_were_collected(request):
    names = [item.name for item in request.session.items]
    if not any("test_scikit_learn_check[" in name for name in names):
        pytest.skip("other tests were asked for")
    for Estimator in ALL:
        own = [n for n in names if f"[{Estimator.__name__}(" in n]
        assert len(own) >= 2 * 50, (Estimator.__name__, len(own))


@every
def test_solves_what_k_means_can_not(Estimator, circles):
    X, y = circles
    # A cut needs a narrower kernel than a mean.
    gamma = 20.0 if Estimator is NystroemSpectralClustering else 5.0
    labels = Estimator(2, gamma=gamma, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, labels) == 1.0
    assert labels.dtype == np.int32
    straight = KMeans(2, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, straight) < 0.1


@every_nearest
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "rbf"},
        {"kernel": "poly"},
        {"kernel": "sigmoid", "gamma": 0.02, "coef0": 0.1},
        {"kernel": "linear"},
        {"kernel": "cosine"},
        {"kernel": "laplacian"},
        {"kernel": "chi2"},
        {"kernel": "intersection"},
        {"kernel": RBF(gamma=0.05) + 0.1 * Linear()},
        {"kernel": lambda A, B: (A @ B.T) ** 2},
    ],
    ids=lambda p: str(p["kernel"])[:12],
)
def test_labels_are_predictions_and_score_is_inertia(Estimator, dtype, params, digits):
    X = digits[0].astype(dtype)
    model = Estimator(10, random_state=0, **params).fit(X)
    assert model.labels_.dtype == np.int32
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-5)
    distances = model.transform(X)
    assert distances.dtype == dtype
    assert distances.shape == (len(X), 10)
    near = distances[np.arange(len(X)), model.labels_]
    assert (near <= distances.min(axis=1) * 1.0001 + 1e-3).all()
    assert np.isfinite(model.dual_coef_).all()


@every_scored
def test_history_has_a_line_for_every_iteration(Estimator, digits):
    model = Estimator(10, init="random", n_init=2, random_state=0).fit(digits[0])
    assert model.history_.shape == (model.n_iter_, 2)
    assert model.history_[-1, 0] == 0  # no label changed in the end
    assert (model.history_[:-1, 0] > 0).all()


@every
def test_new_rows_get_the_same_labels_as_training_rows(Estimator, digits):
    X = digits[0]
    model = Estimator(10, random_state=0).fit(X)
    for rows in (slice(0, 1), slice(100, 107), np.array([5, 900, 3])):
        np.testing.assert_array_equal(model.predict(X[rows]), model.labels_[rows])


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_seed_same_everything_whatever_the_threads(
    Estimator, dtype, digits, monkeypatch
):
    monkeypatch.setattr("akkm.rows.contract._CHUNK_ROWS", 200)  # nine chunks to share
    monkeypatch.setattr("akkm.core.model._BLOCK_ROWS", 200)
    X = digits[0].astype(dtype)
    one, two, again = (
        Estimator(10, random_state=3, n_jobs=j).fit(X) for j in (1, 2, 2)
    )
    for other in (two, again):
        np.testing.assert_array_equal(one.labels_, other.labels_)
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        if Estimator in SCORED:
            assert one.inertia_ == other.inertia_
            np.testing.assert_array_equal(one.transform(X), other.transform(X))
        if hasattr(one, "dual_coef_"):
            np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert (Estimator(10, random_state=4).fit(X).labels_ != one.labels_).any()


@every
def test_dense_and_sparse_rows_give_the_same(Estimator, digits):
    X = digits[0]
    dense = Estimator(10, random_state=0).fit(X)
    thin = Estimator(10, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    if Estimator in SCORED:
        assert dense.inertia_ == pytest.approx(thin.inertia_)
    np.testing.assert_array_equal(thin.predict(X), dense.labels_)
    np.testing.assert_array_equal(dense.predict(sparse.csr_array(X)), dense.labels_)


@every
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(Estimator, frame, digits):
    columns = [f"pixel {i}" for i in range(64)]
    X = frame(dict(zip(columns, digits[0].T, strict=True)))
    model = Estimator(10, random_state=0).fit(X)
    expected = Estimator(10, random_state=0).fit(digits[0])
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert list(model.feature_names_in_) == columns
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if Estimator in SCORED:
        names = model.get_feature_names_out()
        assert names[0] == Estimator.__name__.lower() + "0"
        assert len(names) == 10


@every
def test_any_layout_in_memory(Estimator, digits):
    X = digits[0]
    expected = Estimator(5, random_state=0).fit(X).labels_
    wide = np.zeros((2 * len(X), 128))
    wide[::2, ::2] = X
    for same in (np.asfortranarray(X), wide[::2, ::2], X[::-1].copy()[::-1]):
        labels = Estimator(5, random_state=0).fit(same).labels_
        np.testing.assert_array_equal(labels, expected)


@every
def test_pickle_and_clone(Estimator, digits):
    X = digits[0]
    model = Estimator(5, random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_array_equal(clone(model).fit(X).labels_, model.labels_)


@every
def test_pipeline(Estimator, circles):
    X, y = circles
    model = make_pipeline(StandardScaler(), Estimator(2, gamma=2.0, random_state=0))
    assert adjusted_rand_score(y, model.fit_predict(X * [1, 1000])) == 1.0


@every
def test_unscaled_data_works_with_the_default_width(Estimator, circles):
    X, _ = circles
    near = Estimator(2, random_state=0).fit(X)
    far = Estimator(2, random_state=0).fit(1e4 * X)
    assert adjusted_rand_score(near.labels_, far.labels_) == 1.0


class TestApproximate:
    def test_attributes(self, digits):
        X = digits[0]
        model = ApproxKernelKMeans(10, n_landmarks=50, random_state=0).fit(X)
        assert model.landmarks_.shape == (50, 64)
        np.testing.assert_array_equal(X[model.landmark_indices_], model.landmarks_)
        assert len(np.unique(model.landmark_indices_)) == 50
        assert model.dual_coef_.shape == (10, 50)
        assert model.rank_ == 50
        assert model.negative_mass_ == 0
        assert isinstance(model.inertia_, float)
        assert model.n_iter_ >= 1
        # The error by its definition, centers being dual_coef_ times landmarks.
        K, Phi = model.kernel_(model.landmarks_), model.kernel_(X, model.landmarks_)
        alpha = model.dual_coef_
        norms = np.einsum("km,mn,kn->k", alpha, K, alpha)
        squared = 1 - 2 * Phi @ alpha.T + norms
        assert model.inertia_ == pytest.approx(squared.min(axis=1).sum())
        np.testing.assert_allclose(model.transform(X), np.sqrt(squared), atol=1e-6)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_landmarks_as_indices_or_as_points_from_given_labels(
        self, dtype, digits, rng
    ):
        X = digits[0][:600].astype(dtype)
        rows, labels = rng.choice(600, 80, False), rng.integers(10, size=600)
        params = {"gamma": 0.05, "init": labels}
        by_index = ApproxKernelKMeans(10, landmarks=rows, **params).fit(X)
        by_point = ApproxKernelKMeans(10, landmarks=X[rows], **params).fit(X)
        kernel = RBF(gamma=0.05)
        K_B = kernel(np.float64(X), np.float64(X[rows]))
        expected, alpha, _ = algorithm2(K_B, K_B[rows], labels, 10)
        np.testing.assert_array_equal(by_index.labels_, by_point.labels_)
        assert by_point.landmark_indices_ is None
        np.testing.assert_array_equal(by_index.landmark_indices_, rows)
        if dtype == np.float64:
            np.testing.assert_array_equal(by_index.labels_, expected)
            np.testing.assert_allclose(by_index.dual_coef_, alpha, atol=1e-6)
        else:
            assert adjusted_rand_score(by_index.labels_, expected) > 0.99

    def test_all_rows_as_landmarks_is_exact(self, digits, rng):
        X, labels = digits[0][:400], rng.integers(8, size=400)
        approx = ApproxKernelKMeans(8, landmarks=np.arange(400), init=labels).fit(X)
        exact = KernelKMeans(8, init=labels).fit(X)
        np.testing.assert_array_equal(approx.labels_, exact.labels_)
        assert approx.inertia_ == pytest.approx(exact.inertia_)
        assert approx.inertia_ == pytest.approx(clustering_error(X, approx.labels_))

    def test_row_order_does_not_matter(self, digits, rng):
        X = digits[0]
        landmarks, order = X[::9], rng.permutation(len(X))
        a = ApproxKernelKMeans(10, landmarks=landmarks, random_state=0).fit(X)
        b = ApproxKernelKMeans(10, landmarks=landmarks, random_state=0).fit(X[order])
        np.testing.assert_array_equal(a.labels_[order], b.labels_)

    @pytest.mark.parametrize("init", ["k-means++", "random"])
    def test_kept_and_recomputed_kernel_rows_give_the_same(self, init, digits):
        X = digits[0].astype(np.float32)
        kept, computed = (
            ApproxKernelKMeans(10, init=init, cache_size=size, random_state=0).fit(X)
            for size in (1024, 0)
        )
        np.testing.assert_array_equal(kept.labels_, computed.labels_)

    def test_large_samples_are_nested(self, monkeypatch, digits, rng):
        """A warm start over three levels ends as well as one on all rows."""
        X = np.tile(digits[0], (4, 1)) + rng.normal(scale=0.05, size=(7188, 64))
        whole = ApproxKernelKMeans(10, n_landmarks=100, random_state=0).fit(X)
        monkeypatch.setattr("akkm.approx.seeding._SAMPLE", 400)
        monkeypatch.setattr("akkm.approx.seeding._GROWTH", 3)
        levels = ApproxKernelKMeans(10, n_landmarks=100, random_state=0).fit(X)
        assert levels.inertia_ < 1.02 * whole.inertia_

    def test_more_starts_are_no_worse(self, digits):
        X = digits[0]
        one, ten = (
            ApproxKernelKMeans(10, init="random", n_init=n, random_state=0).fit(X)
            for n in (1, 8)
        )
        assert ten.inertia_ < one.inertia_

    def test_memory_is_not_n_times_m(self, rng):
        X = rng.random((120_000, 4), dtype=np.float32)
        model = ApproxKernelKMeans(5, n_landmarks=400, cache_size=0, random_state=0)
        tracemalloc.start()
        model.fit(X)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 0.35 * (120_000 * 400 * 4)

    def test_float32_that_will_not_do(self, rng):
        """Exponents of 1e5 and more leave float32 no digits: float64 is used."""
        X = rng.random((300, 3)).astype(np.float32)
        X[:150] += np.float32(300)
        model = ApproxKernelKMeans(2, gamma=3.0, random_state=0).fit(X)
        exact = KernelKMeans(2, gamma=3.0, init=model.labels_).fit(np.float64(X))
        assert adjusted_rand_score(exact.labels_, model.labels_) == 1.0
        assert model.inertia_ == pytest.approx(exact.inertia_, rel=1e-4)

    def test_indefinite_kernels(self, digits):
        params = {"kernel": "sigmoid", "gamma": 0.05, "coef0": 0.5, "random_state": 0}
        fits = {
            how: ApproxKernelKMeans(5, indefinite=how, max_iter=30, **params)
            for how in ("clip", "flip")
        }
        for model in fits.values():
            model.fit(digits[0])
            assert 0 < model.negative_mass_ < 0.1
            assert np.isfinite(model.transform(digits[0])).all()
        assert fits["flip"].rank_ > fits["clip"].rank_

    def test_a_very_indefinite_kernel_is_reported(self, digits):
        model = ApproxKernelKMeans(3, kernel="sigmoid", gamma=-1.0, coef0=0.0)
        with pytest.warns(UserWarning, match="far from positive definite"):
            model.fit(digits[0])

    def test_auto_landmarks(self, rng):
        X = rng.random((300, 2))
        assert ApproxKernelKMeans(3, random_state=0).fit(X).dual_coef_.shape == (3, 256)


class TestExact:
    @pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
    def test_equals_the_full_matrix(self, kernel, digits, rng):
        X, labels = digits[0], rng.integers(10, size=1797)
        model = KernelKMeans(10, kernel=kernel, init=labels).fit(X)
        expected, error = exact_kernel_k_means(model.kernel_(X), labels, 10)
        np.testing.assert_array_equal(model.labels_, expected)
        assert model.inertia_ == pytest.approx(error)

    def test_is_a_fixed_point_from_its_own_start(self, digits):
        model = KernelKMeans(10, random_state=0).fit(digits[0])
        expected, error = exact_kernel_k_means(
            model.kernel_(digits[0]), model.labels_, 10
        )
        np.testing.assert_array_equal(model.labels_, expected)
        assert model.inertia_ == pytest.approx(error)

    def test_weights(self, digits, rng):
        X, labels = digits[0][:500], rng.integers(6, size=500)
        w = rng.integers(0, 4, 500)
        weighted = KernelKMeans(6, gamma=0.05, init=labels).fit(X, sample_weight=w)
        twice = KernelKMeans(6, gamma=0.05, init=labels.repeat(w)).fit(
            X.repeat(w, axis=0)
        )
        np.testing.assert_array_equal(weighted.labels_.repeat(w), twice.labels_)
        assert weighted.inertia_ == pytest.approx(twice.inertia_)
        assert weighted.score(X, sample_weight=w) == pytest.approx(-weighted.inertia_)

    def test_random_starts(self, digits):
        one, many = (
            KernelKMeans(10, init="random", n_init=n, random_state=0).fit(digits[0])
            for n in (1, 6)
        )
        assert many.inertia_ < one.inertia_


class TestTwoStep:
    def test_is_kernel_k_means_on_the_landmarks_and_then_the_nearest(self, digits, rng):
        X, rows = digits[0], rng.choice(1797, 200, False)
        labels = rng.integers(10, size=1797)
        model = TwoStepKernelKMeans(10, gamma=0.05, landmarks=rows, init=labels).fit(X)
        kernel = RBF(gamma=0.05)
        K = kernel(X[rows])
        sample, _ = exact_kernel_k_means(K, labels[rows], 10)
        U = np.eye(10)[sample]
        U /= U.sum(axis=0)
        squared = 1 - 2 * kernel(X, X[rows]) @ U + np.einsum("ik,ij,jk->k", U, K, U)
        np.testing.assert_array_equal(model.labels_, squared.argmin(axis=1))
        np.testing.assert_array_equal(model.labels_[rows], sample)
        assert model.inertia_ == pytest.approx(squared.min(axis=1).sum())
        np.testing.assert_allclose(model.dual_coef_, U.T)

    def test_points(self, digits):
        points = digits[0][::10]
        model = TwoStepKernelKMeans(5, landmarks=points, random_state=0).fit(digits[0])
        assert model.landmark_indices_ is None
        start = np.arange(len(points)) % 5
        TwoStepKernelKMeans(5, landmarks=points, init=start).fit(digits[0])
        with pytest.raises(ValueError, match="init has shape"):
            TwoStepKernelKMeans(5, landmarks=points, init=[0, 1]).fit(digits[0])

    def test_is_worse_than_the_approximate_one(self, digits):
        """What the paper is about, over ten draws of 50 landmarks."""
        X = digits[0]
        errors = {
            E: [
                clustering_error(
                    X, E(10, n_landmarks=50, random_state=s).fit(X).labels_
                )
                for s in range(10)
            ]
            for E in SAMPLING
        }
        means = {E: np.mean(e) for E, e in errors.items()}
        assert means[ApproxKernelKMeans] < 0.98 * means[TwoStepKernelKMeans]


class TestPrecomputed:
    @every
    def test_square(self, Estimator, digits):
        X = digits[0]
        K = RBF(gamma=0.05)(X)
        by_rows = Estimator(10, gamma=0.05, random_state=0).fit(X)
        given = Estimator(10, kernel="precomputed", random_state=0).fit(K)
        np.testing.assert_array_equal(given.labels_, by_rows.labels_)
        np.testing.assert_array_equal(given.predict(K[:50]), given.labels_[:50])
        if Estimator in SCORED:
            assert given.inertia_ == pytest.approx(by_rows.inertia_)
            assert given.score(K) == pytest.approx(by_rows.score(X), rel=1e-6)
        np.testing.assert_array_equal(
            given.fit(K).labels_,
            Estimator(10, kernel=Precomputed(), random_state=0).fit(K).labels_,
        )
        if Estimator in (KernelKMeans, TwoStepKernelKMeans, LeadersKernelKMeans):
            # k(x, x) = 1 throughout, so distances of new rows are known.
            np.testing.assert_allclose(
                given.transform(K[:50]), by_rows.transform(X[:50]), atol=1e-6
            )

    @pytest.mark.parametrize(
        "Estimator", [KernelKMeans, TwoStepKernelKMeans, LeadersKernelKMeans]
    )
    def test_distances_that_can_not_be_known(self, Estimator, digits):
        K = Linear()(digits[0])
        model = Estimator(5, kernel="precomputed", random_state=0).fit(K)
        by_rows = Estimator(5, kernel="linear", random_state=0).fit(digits[0])
        assert model.inertia_ == pytest.approx(by_rows.inertia_)
        np.testing.assert_array_equal(model.predict(K[:9]), model.labels_[:9])
        with pytest.raises(ValueError, match="unless its diagonal is constant"):
            model.transform(K[:9])
        approximate = ApproxKernelKMeans(5, kernel="precomputed", random_state=0).fit(K)
        assert np.isfinite(approximate.transform(K[:9])).all()  # within the span
        with pytest.raises(ValueError, match="unless its diagonal is constant"):
            approximate.score(K)
        with pytest.raises(ValueError, match="unless its diagonal is constant"):
            model.score(K[:9])

    @pytest.mark.parametrize("Estimator", SAMPLING)
    def test_strip_as_the_authors_program_takes_it(
        self, Estimator, digits, rng, monkeypatch
    ):
        monkeypatch.setattr("akkm.core.products._BLOCK", 64)
        X, rows = digits[0], rng.choice(1797, 150, False)
        labels = rng.integers(10, size=1797)
        strip = RBF(gamma=0.05)(X, X[rows])
        params = {"landmarks": rows, "init": labels}
        by_rows = Estimator(10, gamma=0.05, **params).fit(X)
        given = Estimator(10, kernel="precomputed", **params).fit(strip)
        np.testing.assert_array_equal(given.labels_, by_rows.labels_)
        np.testing.assert_allclose(given.dual_coef_, by_rows.dual_coef_, atol=1e-6)
        np.testing.assert_array_equal(given.predict(strip[:50]), given.labels_[:50])
        np.testing.assert_array_equal(given.landmarks_, rows)

    def test_error_of_a_strip_is_that_within_the_span(self, digits, rng):
        X, rows = digits[0][:300], np.arange(300)
        labels = rng.integers(5, size=300)
        K = RBF(gamma=0.05)(X)
        narrow = ApproxKernelKMeans(
            5, kernel="precomputed", landmarks=rows[:299], init=labels
        ).fit(K[:, :299])
        wide = ApproxKernelKMeans(5, gamma=0.05, landmarks=rows, init=labels).fit(X)
        assert narrow.inertia_ == pytest.approx(wide.inertia_, rel=0.01)
        assert narrow.score(K[:, :299]) == pytest.approx(-narrow.inertia_)


class TestProgress:
    @every_scored
    def test_verbose_tells_of_every_iteration(self, Estimator, digits, capsys):
        model = Estimator(5, random_state=0, verbose=1).fit(digits[0])
        out = capsys.readouterr().out
        assert f"[{Estimator.__name__}]" in out
        assert f"iteration {model.n_iter_:3d}: 0 labels changed" in out
        Estimator(5, random_state=0).fit(digits[0])
        assert capsys.readouterr().out == ""

    @every
    def test_progress_bar(self, Estimator, digits, capsys):
        model = Estimator(5, random_state=0).set_callbacks(ProgressBar())
        model.fit(digits[0])
        assert type(model).__name__ in capsys.readouterr().out

    @every_scored
    def test_a_callback_sees_fitted_models_and_can_stop(self, Estimator, digits):
        X = digits[0]

        scores = []

        class Stop:
            def setup(self, estimator, context):
                pass

            def on_fit_task_begin(self, estimator, context):
                pass

            def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
                if fitted_estimator is not None and context.parent is not None:
                    scores.append(fitted_estimator.score(X))
                return len(scores) == 2

            def teardown(self, estimator, context):
                pass

        # Asked for: no warning; and no second start after a stop.
        model = Estimator(5, init="random", n_init=4, random_state=0)
        model.set_callbacks(Stop()).fit(X)
        assert len(scores) == model.n_iter_ == 2
        assert scores[1] > scores[0]
        np.testing.assert_array_equal(model.predict(X), model.labels_)

    def test_scoring_monitor(self, digits):
        monitor = ScoringMonitor(scoring="adjusted_rand_score")
        model = ApproxKernelKMeans(5, init="random", random_state=0)
        model.set_callbacks(monitor).fit(*digits)
        log = monitor.get_logs().data
        steps = [row for row in log if "iteration" in row["task_name"]]
        assert len(steps) == model.n_iter_
        agreement = adjusted_rand_score(digits[1], model.labels_)
        assert steps[-1]["adjusted_rand_score"] == pytest.approx(agreement)


@every_scored
def test_stopped_early_is_said_and_consistent(Estimator, digits):
    X = digits[0]
    start = np.random.default_rng(0).integers(10, size=len(X))
    with pytest.warns(ConvergenceWarning, match="Stopped at max_iter=2") as caught:
        model = Estimator(10, init=start, max_iter=2).fit(X)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.inertia_)
