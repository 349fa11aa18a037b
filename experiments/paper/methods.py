"""The methods that are compared: each is a function of prepared data and a cell.

`experiments.paper` explains the names of the methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from akkm import (
    ApproxKernelKMeans,
    EnsembleKernelKMeans,
    KernelKMeans,
    LeadersKernelKMeans,
    NystroemSpectralClustering,
    TwoStepKernelKMeans,
)
from akkm.consensus import mcla
from experiments.harness.costs import Costs, costs
from experiments.paper.plan import Cell
from experiments.paper.prepared import PreparedData

Array = NDArray[Any]

# Number of members of an ensemble.
_N_MEMBERS = 10
# Limit of cached kernel values in megabytes. The paper used up to 40 GB of memory.
_CACHE_SIZE = 8192


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a cell."""

    costs: Costs  # of the fit alone
    labels: Array | None = None  # (n,)
    n_iter: int | None = None
    inertia: float | None = None  # the method's own clustering error at the end
    seconds: dict[str, float] = field(default_factory=dict)  # steps other than the fit


def fit(prepared: PreparedData, cell: Cell) -> Outcome:
    """Run one cell."""
    return METHODS[cell.method](prepared, cell)


def _exact(prepared: PreparedData, cell: Cell) -> Outcome:
    X, kernel = prepared.exact_input
    start = prepared.start(cell.seed)
    return _timed_fit(KernelKMeans(prepared.n_clusters, kernel=kernel, init=start), X)


def _approximate(prepared: PreparedData, cell: Cell) -> Outcome:
    options = dict(cell.settings)
    for name, _ in cell.variation:
        del options[name]
    rows, took = _landmarks(prepared, cell, options.pop("landmarks", "uniform"))
    init = options.pop("init", prepared.start(cell.seed))
    model = ApproxKernelKMeans(
        prepared.n_clusters,
        kernel=prepared.data.kernel,
        landmarks=rows,
        init=init,
        cache_size=_CACHE_SIZE,
        random_state=cell.seed,
        **options,
    )
    return _timed_fit(model, prepared.data.X, sampling=took)


def _two_step(prepared: PreparedData, cell: Cell) -> Outcome:
    rows, took = _landmarks(prepared, cell)
    model = TwoStepKernelKMeans(
        prepared.n_clusters,
        kernel=prepared.data.kernel,
        landmarks=rows,
        init=prepared.start(cell.seed),
        random_state=cell.seed,
    )
    return _timed_fit(model, prepared.data.X, sampling=took)


def _spectral(prepared: PreparedData, cell: Cell) -> Outcome:
    # k-means on the eigenvectors has one k-means++ start, not the random labels of
    # `prepared.start`.
    rows, took = _landmarks(prepared, cell)
    model = NystroemSpectralClustering(
        prepared.n_clusters,
        kernel=prepared.data.kernel,
        landmarks=rows,
        n_init=1,
        random_state=cell.seed,
    )
    return _timed_fit(model, prepared.data.X, sampling=took)


def _leaders(prepared: PreparedData, cell: Cell) -> Outcome:
    model = LeadersKernelKMeans(
        prepared.n_clusters,
        kernel=prepared.data.kernel,
        threshold=prepared.threshold,
        init=prepared.start(cell.seed),
        random_state=cell.seed,
    )
    return _timed_fit(model, prepared.data.X)


def _k_means(prepared: PreparedData, cell: Cell) -> Outcome:
    # One run that starts from random rows, as MATLAB's k-means did by default.
    C, seed = prepared.n_clusters, cell.seed
    model = KMeans(C, init="random", n_init=1, random_state=seed)
    return _timed_fit(model, prepared.data.X)


def _ensemble(prepared: PreparedData, cell: Cell) -> Outcome:
    assert cell.m is not None
    model = EnsembleKernelKMeans(
        prepared.n_clusters,
        n_members=_N_MEMBERS,
        kernel=prepared.data.kernel,
        n_landmarks=cell.m,
        init="random",
        cache_size=_CACHE_SIZE,
        random_state=cell.seed,
    )
    outcome = _timed_fit(model, prepared.data.X)
    # Repeat the consensus step to time it alone.
    labelings = [member.labels_ for member in model.members_]
    begin = perf_counter()
    mcla(labelings, prepared.n_clusters, random_state=cell.seed)
    outcome.seconds["consensus"] = perf_counter() - begin
    return outcome


def _kernel_pass(prepared: PreparedData, cell: Cell) -> Outcome:
    rows, _ = _landmarks(prepared, cell)
    with costs() as spent:
        prepared.kernel_pass(rows)
    return Outcome(spent)


def _full_kernel_pass(prepared: PreparedData, cell: Cell) -> Outcome:
    with costs() as spent:
        prepared.kernel_pass(np.arange(prepared.n))
    return Outcome(spent)


METHODS: dict[str, Callable[[PreparedData, Cell], Outcome]] = {
    "KKm": _exact,
    "aKKm": _approximate,
    "tKKm": _two_step,
    "nysSC": _spectral,
    "lKKm": _leaders,
    "k-means": _k_means,
    "ensemble": _ensemble,
    "kernel": _kernel_pass,
    "full kernel": _full_kernel_pass,
}


def _landmarks(
    prepared: PreparedData, cell: Cell, strategy: str = "uniform"
) -> tuple[Array, float]:
    assert cell.m is not None
    return prepared.landmarks(strategy, cell.m, cell.seed)


def _timed_fit(model: Any, X: Any, **seconds: float) -> Outcome:
    with costs() as spent:
        model.fit(X)
    inertia = getattr(model, "inertia_", None)
    return Outcome(
        spent,
        model.labels_,
        int(model.n_iter_),
        None if inertia is None else float(inertia),
        seconds,
    )
