"""What several labelings on workers say, in as many rows as there are opinions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.silence import ignore_warnings

Array = NDArray[Any]


def distinct_label_rows(
    labelings: Sequence[Any], weights: Array | None
) -> tuple[Array, Array]:
    """The distinct rows of labels (r, u), and what weight the rows of each have: (u,).

    `labelings` are r Dask arrays (n,) in the same chunks; without weights (n,) a row's
    is one. Rows that all members label alike are one opinion, so that a consensus of
    these with weights is one of all rows.
    """
    from dask.base import compute

    edges = np.append(0, np.cumsum(labelings[0].chunks[0]))
    cuts = [slice(*cut) for cut in pairwise(edges.tolist())]
    own = [None if weights is None else weights[cut] for cut in cuts]
    tasks = [
        _delayed(_distinct, block, some)
        for block, some in zip(_blocks(labelings), own, strict=True)
    ]
    with ignore_warnings(UserWarning):  # of the size of weights
        each = compute(tasks)[0]
    rows = np.concatenate([found for found, _ in each])
    counts = np.concatenate([count for _, count in each])
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    return distinct.T, np.bincount(which.ravel(), counts).astype(np.float64)


def vote_on_workers(
    labelings: Sequence[Any], vote: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """Labels and agreement (n,) of rows, as Dask arrays in the labelings' chunks."""
    import dask.array as da

    sizes = labelings[0].chunks[0]
    # Not computed again by everyone who asks for labels.
    found = [_delayed(_votes, block, vote).persist() for block in _blocks(labelings)]
    both = []
    for i, dtype in enumerate((np.int32, np.float64)):
        parts = [
            da.from_delayed(part[i], (size,), dtype)
            for part, size in zip(found, sizes, strict=True)
        ]
        both.append(da.concatenate(parts))
    return both[0], both[1]


def _blocks(labelings: Sequence[Any]) -> list[list[Any]]:
    """For each chunk, the members' labels of it, not computed."""
    return [
        list(parts)
        for parts in zip(*(member.to_delayed() for member in labelings), strict=True)
    ]


def _delayed(function: Callable[..., Any], *values: Any) -> Any:
    from dask.delayed import delayed

    return delayed(function)(*values)


def _distinct(parts: list[Array], weights: Array | None) -> tuple[Array, Array]:
    rows, which = np.unique(np.transpose(parts), axis=0, return_inverse=True)
    return rows, np.bincount(which.ravel(), weights)


def _votes(parts: list[Array], vote: Callable[[Any], Any]) -> tuple[Array, Array]:
    votes = vote(parts)
    return votes.labels, votes.agreement
