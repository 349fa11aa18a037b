"""`suggest`: the rows whose classes would help most."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import akkm
import registry
from akkm.guided.questions import choose_questions


@registry.every(lambda E: hasattr(E, "suggest"))
def test_one_row_of_each_group_is_suggested_first(Estimator):
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(4) * 20, 30, axis=0) + rng.normal(size=(120, 4))
    model = registry.create(Estimator, 4).fit(X)
    assert sorted((model.suggest(X, 4) // 30).tolist()) == [0, 1, 2, 3]
    more = model.suggest(X, 2, known={0: "a", 40: "b"})
    assert sorted((more // 30).tolist()) == [2, 3]


def test_known_rows_are_never_suggested():
    points = np.random.default_rng(0).normal(size=(40, 2))
    known = np.arange(0, 40, 2)
    rows = choose_questions(np.abs(points), points, 25, known)
    assert sorted(rows.tolist()) == list(range(1, 40, 2))


def test_uncertain_regions_come_first():
    points = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    certain, uncertain = [0.1, 5.0], [2.0, 2.1]
    distances = np.array([certain] * 3 + [uncertain] * 3)
    assert choose_questions(distances, points, 2, np.empty(0, int)).tolist() == [4, 1]


def test_suggested_rows_help_more_than_random_rows():
    X, y = load_digits(return_X_y=True)
    model = akkm.ApproxKernelKMeans(10, random_state=0, n_init=1).fit(X)

    def accuracy(rows):
        fitted = akkm.ApproxKernelKMeans(10, random_state=0, n_init=1)
        fitted.fit(X, known={int(i): int(y[i]) for i in rows})
        names = np.array([-1 if c is None else c for c in fitted.label_names_])
        return (names[fitted.labels_] == y).mean()

    rng = np.random.default_rng(0)
    random = np.mean(
        [accuracy(rng.choice(len(X), 20, replace=False)) for _ in range(3)]
    )
    assert accuracy(model.suggest(X, 20)) > random + 0.03


def test_bad_arguments_are_refused():
    X = np.arange(10.0)[:, None]
    model = akkm.ApproxKernelKMeans(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n=0 is not valid"):
        model.suggest(X, 0)
    with pytest.raises(ValueError, match="row 10, which does not exist"):
        model.suggest(X, 2, known={10: "a"})
