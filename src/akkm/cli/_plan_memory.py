"""An upper bound on the memory of `akkm cluster`, and its parts."""

import math
from dataclasses import dataclass
from typing import Any

from akkm.approx.prepared_parts import MANY_ROWS
from akkm.approx.seeding import sample_bytes
from akkm.cli._console import megabytes
from akkm.cli._probe import Probe
from akkm.diffusion.neighbour_search import search_bytes

# The bound is increased by this share and by this number of bytes, because allocators
# reuse freed memory imperfectly. The peak of equal runs differed by up to 12 MB.
_MARGIN = 0.05
_MARGIN_BYTES = 16e6
# Bytes per row for the row number and the label.
_ROW_BYTES = 48
# Number of copies of ids and known classes while the batches of a column are joined.
_COPIES = 3
# Rows on disk are read in pieces. The size of a piece is --memory divided by this
# number.
_PIECES_PER_MEMORY = 8
# Minimum number of rows of a piece.
_MIN_PIECE_ROWS = 1024
# Memory for reading rows on disk, as a multiple of the size of a piece. It holds
# pieces, the columns from which pieces are made, and copies of both.
_PIECES_IN_MEMORY = 18
# Bytes for reading and writing the temporary file of rows on disk.
_SPOOL_BYTES = 48e6
# The row numbers in this temporary file are mapped into memory. They take this many
# bytes per row.
_MAPPED_BYTES = 16
# Bytes per row of the state of a fit to rows on disk: label, bounds, stamp and length.
_STATE_BYTES = 21
# Bytes per row of all other arrays, for rows on disk: which rows are used, labels, and
# copies of both.
_LABEL_BYTES = 16
# Minimum number of columns of the embedding in which the methods sparse and diffusion
# run k-means.
_EMBEDDED = 40
# Number of columns of this embedding per cluster.
_EMBEDDED_PER_CLUSTER = 3


@dataclass(frozen=True)
class Task:
    """What `akkm cluster` would do."""

    method: str
    n: int  # rows
    n_fitted: int  # fewer than n with --sample
    n_columns: int
    n_clusters: int
    n_landmarks: int  # 0 for diffusion; exact uses landmarks to initialise
    id_bytes: float  # per row, of ids and known classes
    n_parallel: int  # members of an ensemble that are fitted at the same time
    memory: float  # --memory in bytes
    on_disk: bool  # whether rows stay on disk


def memory_lines(
    task: Task, costs: Probe, X: Any, python: float, read_bytes: float
) -> list[str]:
    """Lines about the bound and its parts; X (s, d) is the sample.

    This process has read all rows and fitted the sample, as `akkm cluster` would. The
    bound is therefore the peak memory of this process plus the growth from s to n rows.
    `python` is the peak memory of this process right after its start. `read_bytes` is
    the peak memory of the parsed columns.
    """
    entries, size, what = X.shape[1], X.dtype.itemsize, ""
    if hasattr(X, "nnz"):
        entries, size, what = X.nnz / X.shape[0], size + X.indices.itemsize, " entries"
    row = entries * size
    rows = task.n * row
    held = rows
    if task.on_disk:
        piece = max(task.memory / _PIECES_PER_MEMORY, _MIN_PIECE_ROWS * row)
        held = _PIECES_IN_MEMORY * piece + _SPOOL_BYTES
    if task.n_fitted < task.n:
        held += task.n_fitted * row  # a copy of the fitted rows
    cache = min(
        costs.max_cache,
        task.n_parallel * task.n_fitted * task.n_landmarks * X.dtype.itemsize,
    )
    mapped = 0.0  # in temporary files
    if task.on_disk:
        state = _STATE_BYTES * task.n_fitted
        many = task.n_fitted > MANY_ROWS
        mapped = _MAPPED_BYTES * task.n + (state if many else 0)
        growth = float(_LABEL_BYTES * task.n + (0 if many else state))
    else:
        growth = costs.growth(task.n_fitted) + _ROW_BYTES * task.n
    growth += _COPIES * task.id_bytes * task.n
    samples = _sample_bytes(task, task.n_fitted, row, X.dtype.itemsize)
    samples -= _sample_bytes(task, X.shape[0], row, X.dtype.itemsize)
    fit = costs.whole.peak + growth + max(samples - cache, 0)
    if task.method == "diffusion":
        fit += search_bytes(task.n_fitted, task.n_columns)
    measured = costs.resident or python + read_bytes + X.shape[0] * row
    total = measured + max(held - X.shape[0] * row, 0) + fit + cache
    if costs.resident:
        total -= costs.whole.peak  # already in `costs.resident`
    total = _rounded_up(total * (1 + _MARGIN) + _MARGIN_BYTES)
    head = f"at most {megabytes(total)}, also with --labels; a report needs more"
    if not costs.resident:
        head = f"about {megabytes(total)}, plus Python and its libraries"
    lines = [
        head,
        f"Python and its libraries: {megabytes(python)}",
        f"the rows: {task.n:,} x {entries:,.4g}{what} x {size} bytes = "
        f"{megabytes(rows)}" + (", on disk" if task.on_disk else ""),
    ]
    if read_bytes:
        lines.append(f"while reading, parsed columns: {megabytes(read_bytes)}")
    lines.append(f"while clustering: {megabytes(fit)}, estimated from fits to samples")
    if task.on_disk:
        lines.append(f"to read rows from disk: up to {megabytes(held)}")
    if cache:
        lines.append(f"and up to {megabytes(cache)} of cached kernel values")
    if mapped:
        lines.append(
            f"not included: up to {megabytes(mapped)} of temporary files; the system "
            "removes them from memory if programs need it"
        )
    return lines


def _rounded_up(size: float) -> float:
    """A number of bytes, rounded up to the digits that `megabytes` shows.

    Examples
    --------
    >>> from akkm.cli._plan_memory import _rounded_up
    >>> _rounded_up(300.2e6), _rounded_up(1.21e9)
    (301000000.0, 1300000000.0)
    """
    unit = 1e8 if size > 999e6 else 1e6
    return math.ceil(size / unit) * unit


def _sample_bytes(task: Task, n: int, row: float, itemsize: int) -> float:
    """Bytes of the samples on which a fit to n rows is initialised."""
    kernel_row = float(task.n_landmarks * itemsize)
    if task.method in ("sparse", "diffusion"):  # they run k-means in an embedding
        width = max(_EMBEDDED, _EMBEDDED_PER_CLUSTER * task.n_clusters)
        row = kernel_row = float(width * itemsize)
    return task.n_parallel * sample_bytes(n, task.n_clusters, row, kernel_row)
