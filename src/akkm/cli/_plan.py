"""`akkm plan`: what `akkm cluster` would do, and what it would take."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from akkm import landmarks, spread
from akkm.cli import _work
from akkm.cli._console import Voice, brief, megabytes, seconds
from akkm.cli._method import build
from akkm.cli._options import (
    Encoding,
    Method,
    Source,
    encoding_options,
    method_options,
    source_options,
)
from akkm.cli._progress import Phases

# Rows that are looked at more closely, and fewer of them for exact kernel k-means and
# for what theory says.
_SAMPLE, _EXACT, _THEORY = 20_000, 4_000, 2_000
# Rows of the sample per cluster, at least.
_PER_CLUSTER = 10
# A share of the error that landmarks may add.
_TOLERANCE = 0.05
# What the loop remembers of each row, in bytes, at most; see docs/design.md.
_STATE = 21
# What ties to landmarks take per row, and how many numbers a row has at most besides
# two for each cluster, with --method sparse.
_TIED, _PAIRS = 60, 20
# Matrices of m x m numbers that exist at a time while landmarks are factored.
_SQUARES = 4
# Kernel values and parsed columns that are kept, at most; Python and its libraries.
_CACHE, _PARSED, _PYTHON = 1024 * 2**20, 512 * 2**20, 210e6

_WIDTHS = {
    "scale": "1 / (number of features x variance), the spread of all values",
    "median": "from the median distance of 1,000 sampled rows",
    "neighbors": "from distances to near neighbours among sampled rows: narrow",
    "none": "1 / number of features",
}

_EXAMPLES = """\b
Example:
  akkm plan log.parquet -k 8 --landmarks 1000
"""


@dataclass(frozen=True)
class _Trial:
    """A fit to a sample of s rows, and what it took."""

    rows: int
    seconds: float  # for the whole fit
    per_row: float  # seconds to compare one row with the landmarks
    passes: float  # how often a row was looked at


@click.command(epilog=_EXAMPLES)
@source_options
@method_options
@encoding_options
def plan(source: Source, method: Method, encoding: Encoding) -> None:
    """Say how DATA would be clustered: columns, landmarks, memory and time.

    DATA is read once, and a sample of its rows is clustered. Nothing is written.
    """
    from akkm.kernels import resolve

    estimator: Any = build(method, encoding.scale)
    voice = Voice()
    with Phases(voice.shows_progress) as shown:
        started = time.perf_counter()
        table = _work.open_source(source)
        encoder = _work.encoder_of(encoding)
        with shown.phase("reading", table.n_rows) as phase:
            encoder.fit(phase.watch(table))
        read = time.perf_counter() - started
        n, d = encoder.n_rows_, len(encoder.feature_names_)
        _work.require_enough(n, method)
        wanted, why = _landmarks(method, n)
        with shown.phase("sampling", n) as phase:
            share = _sample_size(method) / n
            sample: Any = Sample(phase.watch(table), share, method.seed)
            X = encoder.transform(sample).X
        kernel = None
        if estimator.kernel is not None:
            kernel = resolve(
                method.kernel,
                X,
                gamma=estimator.gamma,
                degree=estimator.degree,
                coef0=estimator.coef0,
            )
        with shown.phase("measuring"):
            trial = _try(estimator, X, wanted)
            theory = []
            if method.method == "approx" and wanted < n:
                theory = [_theory(X, method, kernel, wanted)]
    facts = [("rows", f"{n:,}"), ("features", f"{d:,}")]
    facts += _work.listed("columns", encoder.describe())
    facts += _work.listed("notes", encoder.notes_)
    facts.append(("kernel", "its own" if kernel is None else brief(str(kernel))))
    if hasattr(kernel, "gamma"):
        rule = method.gamma if isinstance(method.gamma, str) else "as given"
        facts.append(("", f"gamma: {rule}, {_WIDTHS.get(rule, 'by you')}"))
    if wanted:
        facts.append(("landmarks", f"{wanted:,}: {why}"))
        facts += [("", line) for line in theory]
    facts += _memory(n, X, len(table.columns), wanted, method)
    whole = _extrapolate(trial, n, method)
    text = f"about {seconds(2 * read)} to read and encode, {seconds(whole)} to cluster"
    facts.append(("time", text))
    facts.append(("", f"from a fit to {trial.rows:,} rows: {seconds(trial.seconds)}"))
    voice.facts(facts)


def _sample_size(method: Method) -> int:
    """Rows to try: fewer where all pairs are compared, but many for each cluster."""
    most = _EXACT if method.method == "exact" else _SAMPLE
    return max(most, _PER_CLUSTER * method.k)


class Sample:
    """A table of a share of the rows of another, each as likely as any other."""

    def __init__(self, table: Any, share: float, seed: int) -> None:
        self._table, self._share, self._seed = table, share, seed
        self.n_rows = None
        self.matrix = table.matrix
        self.target = table.target
        if self.matrix is not None:
            rows = np.flatnonzero(self._kept(self.matrix.shape[0]))
            self.matrix = self.matrix[rows]
            self.target = None if self.target is None else self.target[rows]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """As the table's own, with fewer rows."""
        start = 0
        for batch in self._table.batches(names):
            kept = self._kept(batch.num_rows, start)
            start += batch.num_rows
            if kept.any():
                yield batch.take(np.flatnonzero(kept))

    def _kept(self, rows: int, start: int = 0) -> Any:
        rng = np.random.default_rng([self._seed, start])
        return rng.random(rows) < self._share


def _landmarks(method: Method, n: int) -> tuple[int, str]:
    """How many, and why; 0: there are none."""
    if method.method in ("exact", "diffusion"):
        return 0, ""
    asked = method.landmarks or "auto"
    if method.method == "sparse":
        text = "ten times the square root of the number of rows, but 256 to 1,000"
        m = spread.count(asked, n, method.k)
        return m, text if asked == "auto" else "as you said"
    m = landmarks.count(asked, n, method.k)
    if asked != "auto":
        return m, "as you said"
    if m == n:
        return m, "all rows, as they are few"
    least, most = landmarks.count("auto", 2**10, 1), landmarks.count("auto", 2**30, 1)
    text = f"the square root of the number of rows, but {least:,} to {most:,}"
    return m, f"{text}, and at least 4 per cluster"


def _try(estimator: Any, X: Any, m: int) -> _Trial:
    """Fit a sample with as many landmarks as all rows would have."""
    params = estimator.get_params()
    few = min(m, X.shape[0])
    named = {"n_landmarks", "n_leaders"} & set(params)
    estimator.set_params(**dict.fromkeys(named, few))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    took = time.perf_counter() - start
    start = time.perf_counter()
    estimator.predict(X)
    per_row = (time.perf_counter() - start) / X.shape[0]
    history = getattr(estimator, "history_", np.ones((1, 2)) * X.shape[0])
    passes = float(history[:, 1].sum()) / X.shape[0]
    return _Trial(X.shape[0], took, per_row, passes)


def _extrapolate(trial: _Trial, n: int, method: Method) -> float:
    """Seconds for n rows."""
    more = n - trial.rows
    if method.method == "exact":  # compares all pairs of rows
        return trial.seconds * max(1.0, n / trial.rows) ** 2
    if method.ensemble is not None:
        return trial.seconds * max(1.0, n / trial.rows)
    # What is left grows by the row: each is looked at, once more at the end.
    return trial.seconds + max(0, more) * trial.per_row * (trial.passes + 1)


def _theory(X: Any, method: Method, kernel: Any, m: int) -> str:
    """What theory says about m landmarks, from a sample, and whether to act."""
    from akkm.theory import suggest_n_landmarks

    wanted = min(X.shape[0], max(_THEORY, method.k))
    few = X[np.linspace(0, X.shape[0] - 1, wanted).astype(int)]  # a file may be sorted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = suggest_n_landmarks(
            few,
            method.k,
            kernel,
            tolerance=_TOLERANCE,
            random_state=method.seed,
            n_jobs=method.threads,
        )
    promise = f"an error within {_TOLERANCE:.0%} of that of exact kernel k-means"
    if found.bound <= _TOLERANCE and found.n_landmarks <= m:
        return f"enough: theory promises {promise} from {found.n_landmarks:,} on"
    return (
        f"theory promises {promise} only from {found.n_landmarks:,} on, which is "
        "cautious; act (more --landmarks) only if results vary with --seed"
    )


def _memory(
    n: int, X: Any, columns: int, m: int, method: Method
) -> list[tuple[str, str]]:
    """What it will take, term by term; `columns` are those of the file."""
    d = X.shape[1]
    if hasattr(X, "nnz"):
        data, reading = 8.0 * X.nnz * n / X.shape[0], 0.0
        rows = f"{n:,} x {X.nnz / X.shape[0]:.1f} entries x 8 bytes"
    else:
        data, reading = 4.0 * n * d, min(_PARSED, 8.0 * n * columns)
        rows = f"{n:,} x {d:,} x 4 bytes"
    if method.method == "exact":
        kept, beside = 0.0, 2 * 4.0 * n * method.k
        work = f"2 x {n:,} x {method.k} x 4 bytes"
    elif method.method == "sparse":
        row = _STATE + _TIED + 4 * (_PAIRS + 2 * method.k)
        kept, beside = 0.0, float(row) * n + _SQUARES * 8.0 * m * m
        work = f"{n:,} x {row} bytes + {_SQUARES} x {m:,}² x 8 bytes"
    else:
        kept = min(_CACHE, 4.0 * n * m)
        beside = _STATE * n + _SQUARES * 8.0 * m * m
        work = f"{n:,} x {_STATE} bytes + {_SQUARES} x {m:,}² x 8 bytes"
    total = _PYTHON + data + max(reading, beside + kept)
    facts = [
        ("memory", f"up to {megabytes(total)}, of which {megabytes(_PYTHON)} Python"),
        ("", f"the rows: {rows} = {megabytes(data)}"),
    ]
    if reading:
        text = f"while reading, columns as parsed: up to {megabytes(reading)}"
        facts.append(("", text))
    facts.append(("", f"while clustering: {work} = {megabytes(beside)}"))
    if kept:
        text = f"and up to {megabytes(kept)} of kernel values of rows in doubt"
        facts.append(("", text))
    return facts
