"""Comparison of clusters with given classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.metrics import adjusted_rand_index, nmi
from akkm.typing import Array


@dataclass(frozen=True)
class ClassComparison:
    """How well clusters and given classes agree.

    Parameters
    ----------
    nmi : float
        Normalised mutual information.
    ari : float
        Adjusted Rand index.
    classes : tuple of str
        Names of the classes, the largest first.
    table : int array of shape (n_classes, n_clusters)
        Number of rows in each class and cluster.
    n_missing : int
        Number of rows without a class. These rows are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import compare_with_classes
    >>> compare_with_classes(["a", "a", "b"], np.array([1, 1, 0])).nmi
    1.0
    """

    nmi: float
    ari: float
    classes: tuple[str, ...]
    table: Array
    n_missing: int


def compare_with_classes(labels_true: Any, labels: Array) -> ClassComparison:
    """Compare clusters with given classes.

    Parameters
    ----------
    labels_true : sequence, pandas or Arrow column of length n
        Class of each row, of any type. Rows whose class is None or NaN are left out.
    labels : int array of shape (n,)
        Cluster of each row. Outliers, with label -1, are left out.

    Returns
    -------
    ClassComparison
        NMI, ARI and the contingency table.

    Raises
    ------
    ValueError
        If the lengths differ, or if no row has a class.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import compare_with_classes
    >>> found = compare_with_classes(["a", "b", "b", None], np.array([1, 0, 0, 0]))
    >>> found.classes, found.table.tolist(), found.ari, found.n_missing
    (('b', 'a'), [[2, 0], [0, 1]], 1.0, 1)
    """
    names, codes = _encode(labels_true)
    if len(codes) != len(labels):
        raise ValueError(
            f"labels_true has {len(codes)} entries, but there are {len(labels)} rows; "
            "give one label per row."
        )
    known = codes >= 0
    if not known.any():
        raise ValueError("All values of labels_true are missing; omit labels_true.")
    compared = known & (labels >= 0)
    codes, labels = codes[compared], labels[compared]
    shape = len(names), int(labels.max(initial=-1)) + 1
    bins = np.bincount(codes * shape[1] + labels, minlength=shape[0] * shape[1])
    table = bins.reshape(shape)
    order = np.argsort(-table.sum(axis=1), kind="stable")
    order = order[table[order].sum(axis=1) > 0]
    return ClassComparison(
        nmi(codes, labels),
        adjusted_rand_index(codes, labels),
        tuple(names[i] for i in order),
        table[order],
        int((~known).sum()),
    )


def _encode(labels: Any) -> tuple[list[str], Array]:
    """Names of the classes, and the class number of each row (n,): -1 if missing."""
    if hasattr(labels, "dictionary_encode"):  # Arrow
        names, codes, missing = _encode_arrow(labels)
    else:
        values = np.array(labels)  # a copy
        missing = np.zeros(len(values), dtype=bool)
        if values.dtype.kind in "Of":
            missing = np.array([v is None or v != v for v in values.tolist()])
        if values.dtype.kind == "O":
            values[missing] = ""
            values = np.array([str(value) for value in values])
        names, codes = np.unique(values, return_inverse=True)
    codes[missing] = -1
    return [str(name) for name in names.tolist()], codes


def _encode_arrow(labels: Any) -> tuple[Array, Array, Array]:
    """Distinct values; per row, the index of its value and whether it is missing."""
    if hasattr(labels, "combine_chunks"):
        labels = labels.combine_chunks()
    if hasattr(labels, "dictionary_decode"):  # dictionary may have nulls or duplicates
        labels = labels.dictionary_decode()
    encoded = labels.dictionary_encode()
    names = np.array(encoded.dictionary.to_pylist(), dtype=object)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    missing = labels.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    return names, codes.astype(np.int64), missing
