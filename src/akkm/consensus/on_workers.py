"""Combine labelings that are Dask arrays, without gathering all rows.

The label row of a data row consists of the labels that all members give to it. Many
data rows have equal label rows. The consensus of all data rows is the consensus of the
distinct label rows, each weighted by the number of data rows that have it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from akkm.silence import ignore_warnings
from akkm.typing import Array

_VOTES = np.dtype([("labels", np.int32), ("agreement", np.float64)])


def distinct_label_rows(
    labelings: Sequence[Any], weights: Array | None
) -> tuple[Array, Array]:
    """The u distinct label rows, as columns (r, u), and the total weight of each (u,).

    `labelings` are r Dask arrays (n,) with the same chunks. Without `weights` (n,) each
    data row has weight one.
    """
    import dask.array as da
    from dask.base import compute
    from dask.delayed import delayed

    chunks = labelings[0].chunks
    weights = np.ones(len(labelings[0])) if weights is None else weights
    columns = [*labelings, da.from_array(weights, chunks=chunks)]
    blocks = zip(*(column.to_delayed() for column in columns), strict=True)
    with ignore_warnings(UserWarning):  # Dask warns that the weights are large
        parts = compute([delayed(_distinct)(list(b[:-1]), b[-1]) for b in blocks])[0]
    labels, totals = zip(*parts, strict=True)
    return _distinct(np.hstack(labels), np.concatenate(totals))


def _distinct(labels: Any, weights: Array) -> tuple[Array, Array]:
    """Distinct columns of labels (r, n), and the total weight of each."""
    distinct, which = np.unique(labels, axis=1, return_inverse=True)
    return distinct, np.bincount(which.ravel(), weights)


def vote_on_workers(
    labelings: Sequence[Any], vote: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """Labels and agreement (n,) as Dask arrays, with the chunks of the labelings."""
    import dask.array as da

    # Persist the votes, so that labels and agreement do not compute them twice.
    votes = da.map_blocks(_vote_block, *labelings, vote=vote, dtype=_VOTES).persist()
    return votes["labels"], votes["agreement"]


def _vote_block(*labelings: Array, vote: Callable[[Any], Any]) -> Array:
    """Votes for the rows of one chunk, as a structured array."""
    votes = np.empty(len(labelings[0]), dtype=_VOTES)
    votes["labels"], votes["agreement"] = vote(labelings)
    return votes
