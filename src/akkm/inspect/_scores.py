"""Clusters against labels that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.metrics import adjusted_rand_index, nmi

Array = NDArray[Any]


@dataclass(frozen=True)
class Scores:
    """How well clusters and given classes agree."""

    nmi: float
    ari: float
    classes: tuple[str, ...]  # by falling size
    table: Array  # (classes, C) rows that are in both
    missing: int  # rows without a class, left out


def scores(labels_true: Any, labels: Array) -> Scores:
    """NMI, ARI and the contingency table of classes (n,) of any kind.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect._scores import scores
    >>> found = scores(["a", "b", "b", None], np.array([1, 0, 0, 0]))
    >>> found.classes, found.table.tolist(), found.ari, found.missing
    (('b', 'a'), [[2, 0], [0, 1]], 1.0, 1)
    """
    names, codes = _encode(labels_true)
    if len(codes) != len(labels):
        raise ValueError(
            f"labels_true has {len(codes)} entries, but there are {len(labels)} rows; "
            "give one label per row."
        )
    there = codes >= 0
    missing = len(codes) - int(there.sum())
    if missing == len(codes):
        raise ValueError("labels_true has no label that is not missing; leave it out.")
    codes, labels = codes[there], labels[there]
    n_clusters = int(labels.max()) + 1
    bins = np.bincount(codes * n_clusters + labels, minlength=len(names) * n_clusters)
    table = bins.reshape(len(names), n_clusters)
    order = np.argsort(-table.sum(axis=1), kind="stable")
    order = order[table[order].sum(axis=1) > 0]
    return Scores(
        nmi(codes, labels),
        adjusted_rand_index(codes, labels),
        tuple(names[i] for i in order),
        table[order],
        missing,
    )


def _encode(labels: Any) -> tuple[list[str], Array]:
    """Names of classes and the class of each row (n,), -1 for none."""
    if hasattr(labels, "combine_chunks"):  # of Arrow
        labels = labels.combine_chunks()
    if hasattr(labels, "dictionary_decode"):  # its values may be missing, or equal
        labels = labels.dictionary_decode()
    if hasattr(labels, "dictionary_encode"):
        encoded = _without_nan(labels).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        names = encoded.dictionary.to_pylist()
    else:
        values = np.array(labels)  # a copy
        gone = np.zeros(len(values), dtype=bool)
        if values.dtype.kind in "Of":
            gone = np.array([v is None or v != v for v in values.tolist()])
        if values.dtype.kind == "O":
            values[gone] = ""
            values = np.array([str(value) for value in values])
        found, codes = np.unique(values, return_inverse=True)
        codes[gone] = -1
        names = found.tolist()
    return [str(name) for name in names], codes.astype(np.int64)


def _without_nan(labels: Any) -> Any:
    """An Arrow array in which not a number is no value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(labels.type):
        return labels
    return pc.if_else(pc.is_nan(labels), pa.scalar(None, labels.type), labels)
