"""Comparison of clusters with given classes."""

import numpy as np
import pytest

from akkm.inspect import compare_with_classes

LABELS = np.array([0, 0, 1, 1])


def test_the_table_counts_rows_by_class_and_cluster():
    found = compare_with_classes(["b", "a", "a", "a"], LABELS)
    assert found.classes == ("a", "b")
    assert found.table.tolist() == [[1, 2], [1, 0]]
    assert found.n_missing == 0


def test_missing_values_are_not_a_class():
    arrow = pytest.importorskip("pyarrow")
    values = [1.0, float("nan"), 2.0, None]
    for given in (
        values,
        arrow.array(values),
        arrow.chunked_array([values[:1], values[1:]]),
        arrow.array(values).dictionary_encode(),
        arrow.array(["1.0", None, "2.0", None]).dictionary_encode(),
    ):
        found = compare_with_classes(given, LABELS)
        assert (found.classes, found.n_missing, found.ari) == (("1.0", "2.0"), 2, 1.0)


def test_columns_of_any_library_give_the_same_result():
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    values = ["a", None, "b", "a"]
    results = [
        compare_with_classes(convert(values), LABELS)
        for convert in (list, pandas.Series, pandas.Categorical, arrow.array)
    ]
    assert {found.classes for found in results} == {("a", "b")}
    assert {str(found.table.tolist()) for found in results} == {"[[1, 1], [0, 1]]"}


def test_classes_and_labels_must_have_the_same_length():
    with pytest.raises(ValueError, match="labels_true has 1 entries, but there are 4"):
        compare_with_classes(["a"], LABELS)


def test_at_least_one_class_must_be_given():
    with pytest.raises(ValueError, match="All values of labels_true are missing"):
        compare_with_classes([None] * 4, LABELS)
