"""What several labelings on workers say, in as many rows as there are opinions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def opinions(labelings: Sequence[Any]) -> tuple[Array, Array]:
    """The distinct rows of labels (r, u), and how many rows have each: (u,).

    `labelings` are r Dask arrays (n,) in the same chunks. Rows that all members label
    alike are one opinion, so that a consensus of these with weights is one of all rows.
    """
    from dask.base import compute

    each = compute([_delayed(_distinct, block) for block in _blocks(labelings)])[0]
    rows = np.concatenate([found for found, _ in each])
    counts = np.concatenate([count for _, count in each])
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    return distinct.T, np.bincount(which.ravel(), counts).astype(np.float64)


def voted(labelings: Sequence[Any], vote: Callable[[Any], Any]) -> tuple[Any, Any]:
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


def _distinct(parts: list[Array]) -> tuple[Array, Array]:
    return np.unique(np.transpose(parts), axis=0, return_counts=True)


def _votes(parts: list[Array], vote: Callable[[Any], Any]) -> tuple[Array, Array]:
    votes = vote(parts)
    return votes.labels, votes.agreement
