"""Place rows in a fitted embedding, wherever the rows are stored."""

from collections.abc import Callable
from typing import Any

import numpy as np

from akkm.core.threads import Threads
from akkm.diffusion.landmark_embedding import LandmarkEmbedding
from akkm.rows import Rows
from akkm.typing import Array, RowsLike

# While rows of a file are placed, about this many lines of progress are printed.
_LINES = 20


def place_stored(
    embedding: Any, X: Rows, n_jobs: int | None, say: Callable[[str], None]
) -> tuple[Rows, Any]:
    """Return points (n, q) of stored rows, and whether each row is outlying (n,)."""
    width = embedding.n_coordinates
    if X.partitions is not None:
        return X.embed(_place_on_worker, embedding, width=width)
    n, done = X.shape[0], 0

    def place(engine: Threads, block: Array) -> tuple[Array, Array]:
        nonlocal done
        points, outlying = place_block(embedding, block, engine)
        before, done = done, done + len(block)
        if _LINES * before // n < _LINES * done // n:
            say(f"{done:,} of {n:,} rows placed")
        return points.astype(block.dtype, copy=False), outlying

    with Threads(n_jobs) as engine:
        return X.embed(place, engine, width=width)


def _place_on_worker(embedding: Any, block: Array) -> tuple[Array, Array]:
    with Threads(1) as engine:
        points, outlying = place_block(embedding, block, engine)
    return points.astype(block.dtype, copy=False), outlying


def place_block(embedding: Any, X: RowsLike, engine: Threads) -> tuple[Array, Array]:
    """Return points (b, q) of rows in memory, and which rows are outlying (b,)."""
    placed = embedding(X, engine)
    if isinstance(embedding, LandmarkEmbedding):
        return placed, np.zeros(X.shape[0], dtype=bool)
    return placed[0], placed[1]
