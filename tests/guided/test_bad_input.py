"""Invalid constraints give one clear message and leave the model unchanged."""

import numpy as np
import pytest

from akkm import ApproxKernelKMeans

X = np.arange(12.0)[:, None]
# Each case: arguments of fit, parameters of the estimator, words of the message.
CASES = [
    ({"known": [0, 1]}, {}, "known has 2 entries, but X has 12 rows"),
    ({"known": np.zeros((12, 2))}, {}, r"known has shape \(12, 2\)"),
    ({"known": "abc"}, {}, "known is a str; expected one class per row"),
    ({"known": 3}, {}, "known is a int; expected one class per row"),
    ({"known": {12: "a"}}, {}, "row 12, which does not exist.*from 0 to 11"),
    ({"known": {-1: "a"}}, {}, "row -1, which does not exist"),
    ({"known": {"x": "a"}}, {}, "known contains the row 'x'; expected a row number"),
    ({"known": {1.5: "a"}}, {}, "known contains the row 1.5"),
    ({"known": {True: "a"}}, {}, "known contains the row True"),
    ({"known": {0: [1]}}, {}, r"known contains \[1\]; expected classes that are"),
    ({"known": {0: 1, 1: 2, 2: 3, 3: 4}}, {}, "known has 4 classes, but n_clusters=3"),
    (
        {"known": {0: 1, 1: 2}},
        {"clusters_per_class": 2},
        "which need 4 clusters, but n_clusters=3",
    ),
    (
        {"known": {0: "a"}},
        {"clusters_per_class": {"b": 1}},
        "clusters_per_class contains the class 'b', but known has the classes 'a'",
    ),
    (
        {"known": {0: "a"}},
        {"clusters_per_class": {"a": 0}},
        r"clusters_per_class\['a'\]=0 is not valid",
    ),
    ({"known": {0: "a"}}, {"clusters_per_class": 0}, "'clusters_per_class' parameter"),
    ({"known": {0: "a"}}, {"strength": -1}, "'strength' parameter"),
    ({"known": {0: "a"}}, {"strength": "soft"}, "'strength' parameter"),
    ({"known": {0: "a"}}, {"known_weight": 0}, "'known_weight' parameter"),
    ({"known": {0: "a"}}, {"checkpoint": "folder"}, "can't be resumed"),
    ({"must_link": 5}, {}, "must_link is a int; expected pairs"),
    ({"must_link": "ab"}, {}, "must_link is a str; expected pairs"),
    ({"must_link": {1: 2}}, {}, "must_link is a dict; expected pairs"),
    ({"must_link": np.zeros(4, int)}, {}, r"must_link has shape \(4,\)"),
    ({"must_link": np.zeros((4, 1), int)}, {}, r"must_link has shape \(4, 1\)"),
    ({"must_link": [1, 2]}, {}, "must_link contains 1; expected pairs or groups"),
    ({"must_link": [[1]]}, {}, r"must_link contains the group \[1\]"),
    ({"must_link": [(0, 12)]}, {}, "must_link contains the row 12, which does not"),
    ({"must_link": np.array([[0, 12]])}, {}, "must_link contains the row 12"),
    ({"must_link": [(3, 3)]}, {}, "must_link pairs row 3 with itself"),
    ({"must_link": np.array([[3, 3]])}, {}, "must_link pairs row 3 with itself"),
    ({"must_link": [(0, "b")]}, {}, "must_link contains the row 'b'"),
    ({"cannot_link": [(0, -2)]}, {}, "cannot_link contains the row -2"),
    ({"cannot_link": [(4, 5, 4)]}, {}, "cannot_link pairs row 4 with itself"),
    ({"cannot_link": [(0, 0.5)]}, {}, "cannot_link contains the row 0.5"),
    ({"cannot_link": [None]}, {}, "cannot_link contains None; expected pairs"),
    (
        {"must_link": [(0, 1), (1, 2)], "cannot_link": [(2, 0)]},
        {},
        "separates rows 2 and 0, but must_link joins them through the rows 2 - 1 - 0",
    ),
    (
        {"must_link": [(0, 1), (1, 2)], "known": {0: "a", 2: "b"}},
        {},
        "Row 0 is known as 'a' and row 2 as 'b', but must_link joins.* 0 - 1 - 2",
    ),
    (
        {"must_link": [(3, 5)], "cannot_link": [(4, 5)], "known": {3: "a", 4: "a"}},
        {"clusters_per_class": 1},
        "rows 4 and 5, but both belong to class 'a'.*rows 5 - 3 are joined, and row 3",
    ),
    (
        {"cannot_link": [[1, 4, 7, 8]]},
        {},
        "No assignment of rows to 3 clusters.* 1, 4, 7, 8 and their groups; remove",
    ),
    (
        {"cannot_link": [(0, 1), (1, 2)], "known": {0: "a", 2: "b", 3: "c"}},
        {"n_clusters": 2},
        "known has 3 classes, but n_clusters=2",
    ),
    (
        {"cannot_link": [(1, 0), (1, 2), (1, 3)], "known": {0: "a", 2: "b", 3: "c"}},
        {},
        "No assignment of rows to 3 clusters satisfies",
    ),
]


@pytest.mark.parametrize(("constraints", "parameters", "message"), CASES)
def test_bad_constraints_give_one_clear_message(constraints, parameters, message):
    model = ApproxKernelKMeans(**{"n_clusters": 3, "random_state": 0, **parameters})
    before = vars(model).copy()
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        model.fit(X, **constraints)
    assert len(str(caught.value)) < 400
    assert vars(model) == before


def test_there_are_forty_kinds_of_bad_input():
    assert len(CASES) >= 40


def test_weighted_constraints_may_contradict_each_other():
    """Must-links join rows 0, 1 and 2; the class of row 1 is then ignored."""
    model = ApproxKernelKMeans(2, kernel="linear", strength=1.0, random_state=0)
    model.fit(X, known={0: "a", 1: "b", 2: "a"}, must_link=[(0, 1), (1, 2)])
    assert model.violated_["known"].tolist() == [1]
