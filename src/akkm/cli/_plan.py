"""`akkm plan`: what `akkm cluster` would do, and what it would take."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np

from akkm.cli import _work
from akkm.cli._console import Voice, brief, seconds
from akkm.cli._costs import extrapolate, memory, try_out
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
from akkm.diffusion.graph_embedding import max_graph_rows
from akkm.diffusion.landmark_positions import resolve_n_landmarks
from akkm.landmarks import number_of_landmarks

# Rows that are looked at more closely, and fewer of them where time grows faster than
# their number does, and for what theory says.
_SAMPLE, _FEW, _THEORY = 20_000, 4_000, 2_000
# Rows of the sample per cluster, at least.
_PER_CLUSTER = 10
# A share of the error that landmarks may add.
_TOLERANCE = 0.05
_WIDTHS = {
    "scale": "1 / (number of features x variance), the spread of all values",
    "median": "from the median distance of 1,000 sampled rows",
    "neighbors": "from distances to near neighbours among sampled rows: narrow",
    "none": "1 / number of features",
}

_EXAMPLES = """\b
Examples:
  akkm plan log.parquet -k 8 --landmarks 1000
  akkm plan log.parquet -k auto --method sparse
"""


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
        if method.method == "diffusion" and n > max_graph_rows(d):
            method = replace(method, method="sparse")  # as the estimator does
            estimator = build(method, encoding.scale)
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
            trial = try_out(estimator, X, wanted)
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
    if method.k == "auto":
        facts.append(("clusters", str(estimator.evidence_)))
        facts.append(("", f"counted on {trial.rows:,} of {n:,} rows"))
    facts += memory(n, X, len(table.columns), wanted, method, estimator)
    whole = extrapolate(trial, n, method)
    text = f"about {seconds(2 * read)} to read and encode, {seconds(whole)} to cluster"
    facts.append(("time", text))
    facts.append(("", f"from a fit to {trial.rows:,} rows: {seconds(trial.seconds)}"))
    voice.facts(facts)


def _sample_size(method: Method) -> int:
    """Rows to try: fewer where that takes long, but many for each cluster."""
    most = _FEW if method.method in ("exact", "diffusion") else _SAMPLE
    return max(most, _PER_CLUSTER * _least(method))


def _least(method: Method) -> int:
    """The number of clusters, or where it is to be counted that of which one knows."""
    return 1 if isinstance(method.k, str) else method.k


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
        text = "a quarter of the rows, at most 1,000, and at least 8 per cluster"
        wanted = method.k if isinstance(method.k, int) else None
        if wanted is None:
            text = "a sixth of the rows, at most 1,000"
        m = resolve_n_landmarks(asked, n, wanted)
        return m, text if asked == "auto" else "as you said"
    m = number_of_landmarks(asked, n, _least(method))
    if asked != "auto":
        return m, "as you said"
    if m == n:
        return m, "all rows, as they are few"
    least, most = (
        number_of_landmarks("auto", 2**10, 1),
        number_of_landmarks("auto", 2**30, 1),
    )
    text = f"the square root of the number of rows, but {least:,} to {most:,}"
    return m, f"{text}, and at least 4 per cluster"


def _theory(X: Any, method: Method, kernel: Any, m: int) -> str:
    """What theory says about m landmarks, from a sample, and whether to act."""
    from akkm.theory import suggest_n_landmarks

    wanted = min(X.shape[0], max(_THEORY, _least(method)))
    few = X[np.linspace(0, X.shape[0] - 1, wanted).astype(int)]  # a file may be sorted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = suggest_n_landmarks(
            few,
            _least(method),
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
