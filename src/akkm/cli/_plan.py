"""`akkm plan`: what `akkm cluster` would do, and an estimate of its memory and time."""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np
import pyarrow as pa

from akkm.cli import _work
from akkm.cli._console import Printer, megabytes, seconds, short_kernel
from akkm.cli._method import build
from akkm.cli._options import Encoding, Method, Source
from akkm.cli._probe import Probe, probe, process_memory
from akkm.cli._progress import Phases
from akkm.cli._records import options_of
from akkm.diffusion.graph_embedding import max_graph_rows
from akkm.diffusion.landmark_positions import resolve_n_landmarks
from akkm.landmarks import number_of_landmarks
from akkm.theory import suggest_n_landmarks

# Minimum size of the sample, in total and per cluster. Approximate kernel k-means
# initialises on a part of so many rows, as it would for all rows.
_SAMPLE_ROWS, _ROWS_PER_CLUSTER = 50_000, 100
# Methods whose time grows like a power of n, and the number of rows on which they are
# tried: exact compares all pairs of rows, diffusion searches each row's neighbours.
_POWERS, _FEW_ROWS = {"exact": 2.0, "diffusion": 1.5}, 4_000
# Number of rows from which the error bound is computed, and the relative error allowed.
_THEORY_ROWS, _TOLERANCE = 2_000, 0.05
_GAMMA_RULES = {
    "scale": "1 / (number of features x variance of all values)",
    "median": "from the median distance of 1,000 sampled rows",
    "neighbors": "from distances to near neighbours in a sample; a narrow kernel",
    "none": "1 / number of features",
}

_EXAMPLES = """\b
Examples:
  akkm plan log.parquet -k 8 --landmarks 1000
  akkm plan log.parquet -k auto --method sparse
"""


@click.command(epilog=_EXAMPLES)
@options_of("source", Source)
@options_of("method", Method)
@options_of("encoding", Encoding)
def plan(source: Source, method: Method, encoding: Encoding) -> None:
    """Show how DATA would be clustered, and estimate the memory and time.

    Reads DATA, clusters a sample of its rows, and shows columns, kernel, landmarks,
    memory and time. Writes nothing.
    """
    python = process_memory()
    estimator: Any = build(method, encoding.scale)
    printer = Printer()
    with Phases(printer.shows_progress) as phases:
        started = time.perf_counter()
        table, encoder = _work.fit_encoder(source, encoding, phases)
        read_seconds = time.perf_counter() - started
        parsed = table.matrix is None
        read_bytes = pa.default_memory_pool().max_memory() or 0 if parsed else 0
        n, d = encoder.n_rows_, len(encoder.feature_names_)
        _work.require_enough(n, method)
        if method.method == "diffusion" and n > max_graph_rows(d):
            method = replace(method, method="sparse")  # as the estimator does
            estimator = build(method, encoding.scale)
        m, reason = _landmarks(method, n)
        power = _POWERS.get(method.method, 1)
        with phases.phase("sampling", n) as phase:
            share = _sample_rows(method) / n
            sample: Any = SampledTable(phase.watch(table), share, method.seed)
            X = encoder.transform(sample).X
        with phases.phase("measuring"):
            costs = probe(estimator, X, m, _min_clusters(method))
            theory = []
            if method.method == "approx" and m < n:
                theory = [_error_bound(X, method, estimator.kernel_, m)]
    times = [
        f"{seconds(f.seconds)} for {f.rows:,} rows" for f in (costs.half, costs.whole)
    ]
    read, fit = seconds(2 * read_seconds), seconds(costs.seconds(n, power))
    counted = []
    if method.k == "auto":
        sampled = f"estimated on {costs.whole.rows:,} of {n:,} rows"
        counted = [str(estimator.evidence_), sampled]
    printer.facts(
        {
            "rows": f"{n:,}",
            "features": f"{d:,}",
            "columns": encoder.describe(),
            "notes": encoder.notes_,
            "kernel": _kernel_lines(estimator, method.gamma),
            "landmarks": [f"{m:,}: {reason}", *theory] if m else (),
            "clusters": counted,
            "memory": _memory_lines(costs, n, m, X, python, read_bytes),
            "time": [
                f"about {read} to read and encode, {fit} to cluster",
                f"estimated from fits: {', '.join(times)}",
            ],
        }
    )


def _kernel_lines(estimator: Any, gamma: float | str | None) -> list[str]:
    """The kernel of a fitted estimator, and how its width was chosen."""
    if estimator.kernel is None:
        return ["its own"]
    lines = [short_kernel(str(estimator.kernel_))]
    if hasattr(estimator.kernel_, "gamma"):
        rule = gamma if isinstance(gamma, str) else "as given"
        lines.append(f"gamma: {rule}, {_GAMMA_RULES.get(rule, 'a number')}")
    return lines


def _memory_lines(
    costs: Probe, n: int, m: int, X: Any, python: float, read_bytes: float
) -> list[str]:
    """The peak memory and its parts; X (s, d) is the sample."""
    entries, size, what = X.shape[1], X.dtype.itemsize, ""
    if hasattr(X, "nnz"):
        entries, size, what = X.nnz / X.shape[0], size + X.indices.itemsize, " entries"
    rows, fit = n * entries * size, costs.memory(n)
    cache = min(costs.max_cache, n * m * X.dtype.itemsize)
    total = python + rows + max(read_bytes, fit + cache)
    lines = [
        f"up to {megabytes(total)}, of which {megabytes(python)} for Python",
        f"the rows: {n:,} x {entries:,.4g}{what} x {size} bytes = {megabytes(rows)}",
    ]
    if read_bytes:
        lines.append(f"while reading, parsed columns: {megabytes(read_bytes)}")
    lines.append(f"while clustering: {megabytes(fit)}, estimated from fits to samples")
    if cache:
        lines.append(f"and up to {megabytes(cache)} of cached kernel values")
    return lines


def _sample_rows(method: Method) -> int:
    """Number of rows to sample."""
    rows = _FEW_ROWS if method.method in _POWERS else _SAMPLE_ROWS
    return max(rows, _ROWS_PER_CLUSTER * _min_clusters(method))


def _min_clusters(method: Method) -> int:
    """The number of clusters, or 1 if it is to be estimated."""
    return 1 if isinstance(method.k, str) else method.k


class SampledTable:
    """A random sample of the rows of a table."""

    def __init__(self, table: Any, share: float, seed: int) -> None:
        self._table, self._share, self._seed = table, share, seed
        self.n_rows = None
        self.matrix, self.target = table.matrix, table.target
        if self.matrix is not None:
            rows = self._drawn(self.matrix.shape[0])
            self.matrix = self.matrix[rows]
            self.target = None if self.target is None else self.target[rows]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The sampled rows of each batch of the table."""
        start = 0
        for batch in self._table.batches(names):
            rows = self._drawn(batch.num_rows, start)
            start += batch.num_rows
            if len(rows):
                yield batch.take(rows)

    def _drawn(self, n: int, start: int = 0) -> Any:
        """Offsets of the sampled rows in a batch of n rows that begins at `start`."""
        rng = np.random.default_rng([self._seed, start])
        return np.flatnonzero(rng.random(n) < self._share)


def _landmarks(method: Method, n: int) -> tuple[int, str]:
    """The number of landmarks and the reason for it; 0 if the method has none."""
    if method.method in _POWERS:
        return 0, ""
    k, given = method.k, method.landmarks or "auto"
    if method.method == "sparse":
        m = resolve_n_landmarks(given, n, k if isinstance(k, int) else None)
        reason = "a quarter of the rows, at most 1,000, and at least 8 per cluster"
        if k == "auto":
            reason = "a sixth of the rows, at most 1,000"
    else:
        m = number_of_landmarks(given, n, _min_clusters(method))
        least, most = (number_of_landmarks("auto", 2**i, 1) for i in (10, 30))
        reason = (
            f"the square root of the number of rows, between {least:,} and {most:,}, "
            "and at least 4 per cluster"
        )
        if m == n:
            reason = "all rows, because there are few"
    return m, reason if given == "auto" else "as given"


def _error_bound(X: Any, method: Method, kernel: Any, m: int) -> str:
    """Text that compares m with the number of landmarks that theory requires."""
    k = _min_clusters(method)
    few = min(X.shape[0], max(_THEORY_ROWS, k))
    rows = np.linspace(0, X.shape[0] - 1, few).astype(int)  # a file may be sorted
    settings: dict[str, Any] = {"random_state": method.seed, "n_jobs": method.threads}
    with warnings.catch_warnings(action="ignore"):
        suggestion = suggest_n_landmarks(
            X[rows], k, kernel, tolerance=_TOLERANCE, **settings
        )
    needed = suggestion.n_landmarks
    claim = f"an error within {_TOLERANCE:.0%} of that of exact kernel k-means"
    if suggestion.bound <= _TOLERANCE and needed <= m:
        return f"enough: theory guarantees {claim} from {needed:,} landmarks on"
    return (
        f"theory guarantees {claim} only from {needed:,} landmarks on; theory is "
        "cautious, so give more --landmarks only if results vary with --seed"
    )
