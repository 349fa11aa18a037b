"""`akkm plan`: what `akkm cluster` would do, and an estimate of its memory and time."""

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np
import pyarrow as pa

from akkm.cli import _work
from akkm.cli._console import Printer, seconds, short_kernel
from akkm.cli._method import (
    build,
    is_layered,
    method_for_table,
    require_some_default,
    with_number,
)
from akkm.cli._options import Encoding, Method, Source, memory_option, sample_option
from akkm.cli._plan_memory import Task, memory_lines
from akkm.cli._probe import Probe, probe, process_memory
from akkm.cli._progress import Phases
from akkm.cli._records import options_of
from akkm.diffusion.graph_sample import max_graph_rows
from akkm.diffusion.landmark_positions import resolve_n_landmarks
from akkm.landmarks import number_of_landmarks
from akkm.theory import suggest_n_landmarks

# Minimum number of sampled rows. A sample of this size is large enough that approximate
# kernel k-means initialises on only a part of it, as it would with all rows.
_SAMPLE_ROWS = 50_000
# Minimum number of sampled rows per cluster.
_ROWS_PER_CLUSTER = 100
# The time of these methods grows like n to the given power, faster than n. The method
# exact compares all pairs of rows; diffusion searches neighbours.
_POWERS = {"exact": 2.0, "diffusion": 1.5}
# Minimum number of sampled rows for the methods in _POWERS, instead of _SAMPLE_ROWS.
_FEW_ROWS = 4_000
# Number of sampled rows that are used to compute the theoretical error bound.
_THEORY_ROWS = 1_000
# Relative error that the bound should guarantee.
_TOLERANCE = 0.05
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
@sample_option
@memory_option
def plan(
    source: Source,
    method: Method,
    encoding: Encoding,
    sample: int | None,
    memory: float,
) -> None:
    """Show how DATA would be clustered, and estimate the memory and time.

    Reads DATA, clusters a sample of its rows, and shows columns, kernel, landmarks,
    memory and time. Writes nothing. The memory is an upper bound, the time is not.
    """
    python, starting = process_memory(), time.process_time()
    require_some_default(method, encoding.scale)  # before DATA is read
    printer = Printer()
    with Phases(printer.shows_progress) as phases:
        started = time.perf_counter()
        table, encoder = _work.fit_encoder(source, encoding, phases)
        method = method_for_table(method, encoder)
        reading = 2 * (time.perf_counter() - started)  # encoding reads DATA again
        parsed = table.matrix is None
        read_bytes = pa.default_memory_pool().max_memory() or 0 if parsed else 0
        n, d = encoder.n_rows_, len(encoder.feature_names_)
        if sample is None:
            _work.require_memory(encoder, method, memory)
        n_fitted = min(n, sample or n)
        _work.require_enough(n_fitted, method)
        if method.method == "diffusion" and n_fitted > max_graph_rows(d):
            method = replace(method, method="sparse")  # as `DiffusionKernelKMeans` does
        power = _POWERS.get(method.method, 1)
        with phases.phase("sampling", n) as phase:
            share = min(_sample_rows(method), n_fitted) / n
            few: Any = SampledTable(phase.watch(table), share, method.seed)
            encoded = encoder.encode(few)
            X = encoded.X
        method, dependence = with_number(method, encoder, X)
        choosing: Any = None
        layered = is_layered(method)
        if layered or method.k == "auto":
            choosing = build(method, encoding.scale)
        if layered:  # fits to samples use the method of the finest layer
            k = method.k if isinstance(method.k, int) else "auto"
            method = replace(method, k=k, layers=False, coverage=1.0)
        estimator: Any = build(method, encoding.scale)
        on_disk = parsed and 4 * n * d > memory * 2**20
        if on_disk and n_fitted == n:
            estimator.set_params(cache_size=min(estimator.cache_size, memory / 2))

        def landmarks(n_clusters: int) -> tuple[int, str]:
            """The number of landmarks for all rows, and the reason for it."""
            if method.method == "sparse" and method.k == "auto" and not layered:
                return _landmarks(method, n_fitted)  # C is estimated after this choice
            return _landmarks(replace(method, k=n_clusters), n_fitted)

        with phases.phase("measuring"):
            costs = probe(
                estimator,
                X,
                n,
                lambda n_clusters: landmarks(n_clusters)[0],
                _min_clusters(method),
                fitted=n_fitted == n,
                choosing=choosing,
                choosing_grows=choosing is not None and method.method == "diffusion",
            )
            m, reason = landmarks(estimator.n_clusters)
            theory = []
            if method.method == "approx" and m < n_fitted:
                theory = [_error_bound(X, method, estimator, m)]
    n_clusters = estimator.n_clusters
    task = Task(
        method.method,
        n=n,
        n_fitted=n_fitted,
        n_columns=d,
        n_clusters=n_clusters,
        n_landmarks=m
        or (number_of_landmarks("auto", n, n_clusters) if power == 2 else 0),
        id_bytes=sum(c.nbytes for c in (encoded.ids, encoded.labels) if c is not None)
        / X.shape[0],
        n_parallel=min(method.ensemble or 1, method.threads or os.cpu_count() or 1),
        memory=memory * 2**20,
        on_disk=on_disk,
    )
    counted = []
    if dependence is not None:
        counted = [f"{method.k}, unsure: {dependence.reason}"]
    elif method.k == "auto":
        counted = [choosing._number_text]
    if counted:
        counted.append(f"estimated on {costs.whole.rows:,} of {n:,} rows")
    assigned = "random rows; the others will be assigned to the clusters found"
    notes = list(encoder.notes_)
    if on_disk:
        notes.append(_work.storage_note(n, d, memory))
    printer.facts(
        {
            "rows": f"{n:,}",
            "clustered": f"{n_fitted:,} {assigned}" if n_fitted < n else (),
            "features": f"{d:,}",
            "columns": encoder.describe(),
            "balance": _work.balance_lines(encoder),
            "notes": notes,
            "kernel": _kernel_lines(estimator, method.gamma),
            "landmarks": [f"{m:,}: {reason}", *theory] if m else (),
            "clusters": counted,
            "memory": memory_lines(task, costs, X, python, read_bytes),
            "time": _time_lines(task, costs, power, starting, reading),
        }
    )


def _time_lines(
    task: Task, costs: Probe, power: float, starting: float, reading: float
) -> list[str]:
    """Lines about the time and its parts; `starting` and `reading` are in seconds."""
    parts = {
        "start Python": starting,
        "read and encode": reading,
        "compare numbers of clusters": costs.seconds_to_choose(task.n_fitted),
        "cluster": costs.seconds(task.n_fitted, power),
        "write labels": costs.label_seconds * task.n,
    }
    if costs.choosing_seconds is None:
        del parts["compare numbers of clusters"]
    times = [
        f"{seconds(f.seconds)} for {f.rows:,} rows" for f in (costs.half, costs.whole)
    ]
    return [
        f"about {seconds(sum(parts.values()))} with --labels; a model and a report "
        "take longer",
        ", ".join(f"{seconds(value)} to {name}" for name, value in parts.items()),
        f"estimated from fits: {', '.join(times)}",
    ]


def _kernel_lines(estimator: Any, gamma: float | str | None) -> list[str]:
    """Lines about the kernel of a fitted estimator and how its width was chosen."""
    lines = [short_kernel(estimator._kernel_text)]
    if estimator.kernel is not None and hasattr(estimator.kernel_, "gamma"):
        rule = gamma if isinstance(gamma, str) else "as given"
        lines.append(f"gamma: {rule}, {_GAMMA_RULES.get(rule, 'a number')}")
    return lines


def _sample_rows(method: Method) -> int:
    """Number of rows to sample."""
    rows = _FEW_ROWS if method.method in _POWERS else _SAMPLE_ROWS
    return max(rows, _ROWS_PER_CLUSTER * _min_clusters(method))


def _min_clusters(method: Method) -> int:
    """The number of clusters, or 1 if it is to be estimated."""
    return method.k if isinstance(method.k, int) else 1


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


def _error_bound(X: Any, method: Method, estimator: Any, m: int) -> str:
    """Text that compares m with the number of landmarks that theory requires."""
    k = estimator.n_clusters
    few = min(X.shape[0], max(_THEORY_ROWS, k))
    # Evenly spaced rows represent the sample even if the file is sorted.
    rows = np.linspace(0, X.shape[0] - 1, few).astype(int)
    settings: dict[str, Any] = {"random_state": method.seed, "n_jobs": method.threads}
    with warnings.catch_warnings(action="ignore"):
        suggestion = suggest_n_landmarks(
            X[rows], k, estimator.kernel_, tolerance=_TOLERANCE, **settings
        )
    needed = suggestion.n_landmarks
    claim = f"an error within {_TOLERANCE:.0%} of that of exact kernel k-means"
    if suggestion.bound <= _TOLERANCE and needed <= m:
        return f"enough: theory guarantees {claim} from {needed:,} landmarks on"
    return (
        f"theory guarantees {claim} only from {needed:,} landmarks on; theory is "
        "cautious, so give more --landmarks only if results vary with --seed"
    )
