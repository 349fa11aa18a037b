"""Properties that every fit with constraints has, such as a falling objective."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits, load_iris, make_blobs

import akkm
from akkm import ApproxKernelKMeans
from akkm.approx import factor, leading_coordinates
from akkm.approx.class_sums import class_sums
from akkm.core.lloyd import lloyd
from akkm.core.parts import Part
from akkm.core.threads import Threads
from akkm.diffusion.carried_classes import ClassWalks
from akkm.guided.constraints import read_constraints
from akkm.guided.guide import Guidance
from akkm.guided.parts import GuidedParts, weights_of_others
from akkm.kernels import RBF
from akkm.landmarks import Landmarks


@pytest.fixture(scope="module")
def problem():
    """Overlapping blobs, with known rows and pairs of each kind."""
    X, y = make_blobs(1200, centers=5, cluster_std=3.0, random_state=3)
    rng = np.random.default_rng(0)
    rows = rng.choice(len(X), 160, replace=False)
    known = {int(i): int(y[i]) for i in rows[:40]}
    must = [(i, j) for i, j in rows[40:100].reshape(-1, 2) if y[i] == y[j]]
    cannot = [(i, j) for i, j in rows[100:].reshape(-1, 2) if y[i] != y[j]]
    cannot += [(cannot[0][0], cannot[1][1]), (cannot[1][0], cannot[2][0])]
    return X, y, {"known": known, "must_link": must, "cannot_link": cannot}


def run(problem, strength, prune, n_jobs=1, watch=None):
    X, _, constraints = problem
    found = read_constraints(len(X), **constraints, hard=np.isinf(strength))
    guidance = Guidance(found, strength, "auto", 2.0)
    chosen = np.arange(0, len(X), 12)
    f = factor(X, RBF(0.05), Landmarks(X[chosen], X[chosen], chosen), dtype=X.dtype)
    labels = np.random.default_rng(1).integers(5, size=len(X))
    own = guidance.row_weights(5, None)
    guide = guidance.guide(guidance.owners(5, labels[found.rows]), own, 0.5)
    others = weights_of_others(len(X), None, found.rows)
    with Threads(n_jobs) as engine:
        parts = GuidedParts(
            Part.of(f.strip, f.gram, engine, labels=labels, weights=others),
            Part.of(f.strip.subset(found.rows), f.gram, engine, weights=own),
            guide,
            guide.first_labels(labels[found.rows]),
        )

        def note(step):
            if watch is not None:
                watch(step, parts)
            return False

        return lloyd(
            *(parts, f.gram, f.probes),
            **{"dtype": X.dtype, "n_clusters": 5, "prune": prune, "watch": note},
        )


@pytest.mark.parametrize("strength", [np.inf, 1.0])
def test_the_objective_never_increases(problem, strength):
    values = []

    def note(step, parts):
        stats, centers = step.position.stats, step.centers
        error = stats.counts @ centers.norms - 2 * (stats.sums * centers.alpha).sum()
        values.append(error + parts.guide.total_penalty(parts.group_labels))

    run(problem, strength, True, watch=note)
    assert len(values) > 5
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 1e-9 * np.abs(values[0])).all()


def test_sums_count_each_row_once_with_its_weight(problem):
    X, _, constraints = problem
    solution = run(problem, np.inf, True)
    weights = np.ones(len(X))
    weights[list(constraints["known"])] = 2
    expected = np.bincount(solution.labels, weights, 5)
    np.testing.assert_allclose(solution.stats.counts, expected)


@pytest.mark.parametrize("strength", [np.inf, 1.0])
def test_pruning_does_not_change_labels(problem, strength):
    pruned, full = run(problem, strength, True, n_jobs=2), run(problem, strength, False)
    np.testing.assert_array_equal(pruned.labels, full.labels)
    assert pruned.history[:, 1].sum() < full.history[:, 1].sum()


def fit(problem, X=None, **parameters):
    own, _, constraints = problem
    model = ApproxKernelKMeans(5, gamma=0.05, random_state=0, **parameters)
    return model.fit(own if X is None else X, **constraints)


@pytest.fixture(scope="module")
def fitted(problem):
    return fit(problem, n_jobs=1)


def test_hard_constraints_are_satisfied(problem, fitted):
    _, _, constraints = problem
    labels, names = fitted.labels_, fitted.label_names_
    assert all(names[labels[i]] == c for i, c in constraints["known"].items())
    assert all(labels[i] == labels[j] for i, j in constraints["must_link"])
    assert all(labels[i] != labels[j] for i, j in constraints["cannot_link"])
    assert not any(len(rows) for rows in fitted.violated_.values())


def test_violations_are_listed(problem):
    X, _, _ = problem
    near = np.argsort(((X - X[0]) ** 2).sum(axis=1))[:6].tolist()
    model = ApproxKernelKMeans(2, strength=0.0, random_state=0)
    model.fit(X, known={near[0]: "a", near[1]: "b"}, cannot_link=[near[2:4]])
    assert len(model.violated_["known"]) == 1
    np.testing.assert_array_equal(model.violated_["cannot_link"], [near[2:4]])


def test_labels_do_not_depend_on_the_number_of_threads(problem, fitted):
    np.testing.assert_array_equal(fit(problem, n_jobs=2).labels_, fitted.labels_)


def test_rows_in_a_file_get_the_labels_of_rows_in_memory(problem, fitted, tmp_path):
    np.save(tmp_path / "rows.npy", problem[0])
    model = fit(problem, akkm.open_rows(tmp_path / "rows.npy"))
    np.testing.assert_array_equal(model.labels_, fitted.labels_)


def test_known_rows_in_any_form_give_the_same_labels(problem, fitted):
    X, _, constraints = problem
    known = np.full(len(X), np.nan)
    known[list(constraints["known"])] = list(constraints["known"].values())
    pairs = np.array(constraints["must_link"])
    model = ApproxKernelKMeans(5, gamma=0.05, random_state=0)
    model.fit(X, known=known, must_link=pairs, cannot_link=constraints["cannot_link"])
    np.testing.assert_array_equal(model.labels_, fitted.labels_)
    assert sorted(model.label_names_) == [0, 1, 2, 3, 4]


def test_no_constraints_have_no_effect(problem):
    X = problem[0]
    plain = ApproxKernelKMeans(5, gamma=0.05, random_state=0).fit(X)
    empty = ApproxKernelKMeans(5, gamma=0.05, random_state=0)
    empty.fit(X, known=np.full(len(X), -1), must_link=[], cannot_link=[])
    np.testing.assert_array_equal(plain.labels_, empty.labels_)
    np.testing.assert_array_equal(plain.dual_coef_, empty.dual_coef_)
    assert not hasattr(empty, "label_names_")


def test_a_fit_without_constraints_forgets_earlier_ones(problem, fitted):
    model = fit(problem)
    model.fit(problem[0])
    assert not hasattr(model, "violated_")


@pytest.mark.parametrize("init", ["random", "labels"])
def test_other_initialisations_satisfy_hard_constraints(problem, init):
    y = problem[1]
    model = fit(problem, init=y if init == "labels" else init, n_init=2)
    assert not any(len(rows) for rows in model.violated_.values())


def test_a_class_may_have_several_clusters(problem):
    """Two far blobs of one class get a cluster each."""
    X = np.repeat([[0.0], [5.0], [10.0]], 20, axis=0)
    known = {0: "edge", 30: "middle", 59: "edge"}
    model = ApproxKernelKMeans(3, kernel="linear", random_state=0).fit(X, known=known)
    assert sorted(model.label_names_) == ["edge", "edge", "middle"]
    assert len(np.unique(model.labels_[[0, 30, 59]])) == 3


def test_all_rows_may_be_known(problem):
    X, y, _ = problem
    model = ApproxKernelKMeans(6, gamma=0.05, random_state=0).fit(X, known=y)
    assert [model.label_names_[k] for k in model.labels_] == y.tolist()
    assert len(np.unique(model.labels_)) == 6


def test_a_precomputed_kernel_gives_the_same_labels(problem):
    X, _, constraints = problem
    K = np.exp(-0.05 * ((X[:, None] - X) ** 2).sum(axis=2))
    options = {"n_landmarks": 60, "random_state": 0}
    model = ApproxKernelKMeans(5, gamma=0.05, **options).fit(X, **constraints)
    given = ApproxKernelKMeans(5, kernel="precomputed", **options).fit(K, **constraints)
    np.testing.assert_array_equal(given.labels_, model.labels_)
    assert given.inertia_ == pytest.approx(model.inertia_)


def test_centers_are_means_of_clusters_and_of_rows_with_spread_classes(problem):
    """The rows with a spread class add the weight of 10 n rows to the means."""
    X, _, constraints = problem
    model = fit(problem, n_landmarks=len(X))
    found = read_constraints(len(X), **constraints)
    names, kernel = model.label_names_, model.kernel_
    guidance = model._read_guidance(len(X), *constraints.values())
    assert guidance.may_carry_classes(5)
    K = kernel(X, X)
    f = factor(X, kernel, Landmarks(X, X, np.arange(len(X))), dtype=X.dtype)
    with Threads(1) as engine:
        points = leading_coordinates(f.strip, f.gram, engine, 5)
        known = found.known_rows, found.known[found.known >= 0]
        rng = np.random.default_rng(0)
        classes = ClassWalks(points, 5, engine, rng).carry(*known)
    weights = np.ones(len(X))
    weights[found.rows] = guidance.row_weights(5, None)
    member = np.eye(5)[model.labels_] * weights[:, None]
    member += 10 * np.eye(5)[classes][:, names]
    member /= member.sum(axis=0)
    squared = (member * (K @ member)).sum(axis=0) - 2 * K @ member
    free = np.setdiff1d(np.arange(len(X)), found.rows)
    chosen = squared[free, model.labels_[free]]
    np.testing.assert_allclose(chosen, squared[free].min(axis=1), atol=1e-6)


def test_neighbours_that_say_nothing_about_classes_do_no_harm():
    """A column of random categories makes rows neighbours."""
    X, y = load_iris(return_X_y=True)
    X = np.c_[X / X.std(axis=0), 1.2 * np.eye(3)[np.arange(150) % 3]]
    known = {i: int(y[i]) for i in range(0, 150, 12)}
    model = ApproxKernelKMeans(3, random_state=0).fit(X, known=known)
    assert np.mean(np.array(model.label_names_)[model.labels_] == y) > 0.8


def test_carried_classes_weigh_ten_times_all_rows_also_if_a_sample_is_drawn(
    monkeypatch,
):
    monkeypatch.setattr("akkm.approx.class_sums._SAMPLE", 200)
    y = np.arange(900) % 3
    circle = np.random.default_rng(0).normal(size=(900, 2)) + 9 * y[:, None]
    X = circle + 40 * (np.arange(900) % 2)[:, None]  # clusters mix the classes
    guidance = ApproxKernelKMeans(3)._read_guidance(
        900, {i: int(y[i]) for i in range(60)}, None, None
    )
    f = factor(X, RBF(0.001), Landmarks(X[:50], X[:50], np.arange(50)), dtype=X.dtype)
    with Threads(1) as engine:
        sums = class_sums(f, engine, guidance, 3, None, np.random.default_rng(0))
    assert sums.counts.sum() == pytest.approx(9_000)


@pytest.mark.parametrize(
    ("X", "known"),
    [
        (np.arange(500)[:, None] % 2, {i: i % 2 for i in range(10)}),
        (np.zeros((500, 2)), {i: i % 2 for i in range(10)}),
        (np.arange(300)[:, None] * (np.arange(300) % 3 > 0)[:, None], {0: 0, 3: 1}),
    ],
    ids=["two distinct rows", "equal rows", "copies with different classes"],
)
def test_known_rows_that_are_copies_of_each_other_are_no_problem(X, known):
    model = ApproxKernelKMeans(2, random_state=0)
    model.fit(X.astype(float), known=known | {i + 6: name for i, name in known.items()})
    assert model.violated_["known"].size == 0


def test_partial_fit_after_known_classes_moves_centers_as_after_other_fits():
    X, y = load_digits(return_X_y=True)
    known = {i: int(y[i]) for i in range(60)}
    model = ApproxKernelKMeans(10, random_state=0).fit(X, known=known)
    assert model._counts.sum() < 3 * len(X)  # without the rows of carried classes


def test_classes_without_a_known_row_get_clusters_of_their_own():
    X, y = load_digits(return_X_y=True)
    known = {int(i): int(y[i]) for k in range(8) for i in np.flatnonzero(y == k)[:4]}
    model = ApproxKernelKMeans(10, random_state=0).fit(X, known=known)
    assert model.label_names_ == [*range(8), None, None]
    counts = np.zeros((10, 10))
    np.add.at(counts, (y, model.labels_), 1)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    assert matched > 0.85 * len(y)  # without known rows: 0.80


def test_rows_near_known_rows_help_to_place_the_centers():
    X, y = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == name)[:3] for name in range(10)])
    known = {int(i): int(y[i]) for i in rows}
    model = ApproxKernelKMeans(10, random_state=0).fit(X, known=known)
    alone = ApproxKernelKMeans(10, known_weight=10.0, random_state=0)
    alone.fit(X, known=known)
    gained = (model.labels_ == y).mean() - (alone.labels_ == y).mean()
    assert gained > 0.05
    # With a finite strength, known classes may be wrong, so they are not spread.
    model.set_params(strength=1.0).fit(X, known=known)
    assert (model.labels_ == y).mean() < 0.9
