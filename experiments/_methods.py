"""Who is compared: each method is a function of a subject and a cell."""

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
from experiments._costs import Costs, costs
from experiments._plan import Cell
from experiments._subject import Subject

Array = NDArray[Any]

_MEMBERS = 10
# Megabytes of kernel values to keep, where that saves time: the paper's were all in
# memory, up to 40 GB of them.
_KEPT = 8192


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a cell gives."""

    costs: Costs  # of the fit alone
    labels: Array | None = None  # (n,)
    n_iter: int | None = None
    inertia: float | None = None  # the method's own objective at the end
    seconds: dict[str, float] = field(default_factory=dict)  # of other steps


def fit(subject: Subject, cell: Cell) -> Outcome:
    """Run one cell."""
    return METHODS[cell.method](subject, cell)


def _exact(subject: Subject, cell: Cell) -> Outcome:
    X, kernel = subject.exact_input
    start = subject.start(cell.seed)
    return _fitted(KernelKMeans(_C(subject), kernel=kernel, init=start), X)


def _approximate(subject: Subject, cell: Cell) -> Outcome:
    options = dict(cell.settings)
    for name, _ in cell.variation:
        del options[name]
    rows, took = _landmarks(subject, cell, options.pop("landmarks", "uniform"))
    init = options.pop("init", subject.start(cell.seed))
    model = ApproxKernelKMeans(
        _C(subject),
        kernel=subject.data.kernel,
        landmarks=rows,
        init=init,
        cache_size=_KEPT,
        random_state=cell.seed,
        **options,
    )
    return _fitted(model, subject.data.X, sampling=took)


def _two_step(subject: Subject, cell: Cell) -> Outcome:
    rows, took = _landmarks(subject, cell)
    model = TwoStepKernelKMeans(
        _C(subject),
        kernel=subject.data.kernel,
        landmarks=rows,
        init=subject.start(cell.seed),
        random_state=cell.seed,
    )
    return _fitted(model, subject.data.X, sampling=took)


def _spectral(subject: Subject, cell: Cell) -> Outcome:
    # Random labels mean nothing to k-means of eigenvectors; one start, as for others.
    rows, took = _landmarks(subject, cell)
    model = NystroemSpectralClustering(
        _C(subject),
        kernel=subject.data.kernel,
        landmarks=rows,
        n_init=1,
        random_state=cell.seed,
    )
    return _fitted(model, subject.data.X, sampling=took)


def _leaders(subject: Subject, cell: Cell) -> Outcome:
    model = LeadersKernelKMeans(
        _C(subject),
        kernel=subject.data.kernel,
        threshold=subject.threshold,
        init=subject.start(cell.seed),
        random_state=cell.seed,
    )
    return _fitted(model, subject.data.X)


def _k_means(subject: Subject, cell: Cell) -> Outcome:
    # One start from random rows, which was MATLAB's default.
    model = KMeans(_C(subject), init="random", n_init=1, random_state=cell.seed)
    return _fitted(model, subject.data.X)


def _ensemble(subject: Subject, cell: Cell) -> Outcome:
    assert cell.m is not None
    model = EnsembleKernelKMeans(
        _C(subject),
        n_members=_MEMBERS,
        kernel=subject.data.kernel,
        n_landmarks=cell.m,
        init="random",
        cache_size=_KEPT,
        random_state=cell.seed,
    )
    outcome = _fitted(model, subject.data.X)
    # The last step, alone, once more.
    labelings = [member.labels_ for member in model.members_]
    begin = perf_counter()
    mcla(labelings, _C(subject), random_state=cell.seed)
    outcome.seconds["consensus"] = perf_counter() - begin
    return outcome


def _kernel_pass(subject: Subject, cell: Cell) -> Outcome:
    rows, _ = _landmarks(subject, cell)
    with costs() as spent:
        subject.pass_over(rows)
    return Outcome(spent)


def _full_pass(subject: Subject, cell: Cell) -> Outcome:
    with costs() as spent:
        subject.pass_over(np.arange(subject.n))
    return Outcome(spent)


METHODS: dict[str, Callable[[Subject, Cell], Outcome]] = {
    "KKm": _exact,
    "aKKm": _approximate,
    "tKKm": _two_step,
    "nysSC": _spectral,
    "lKKm": _leaders,
    "k-means": _k_means,
    "ensemble": _ensemble,
    "kernel": _kernel_pass,
    "full kernel": _full_pass,
}


def _C(subject: Subject) -> int:
    return subject.data.n_clusters


def _landmarks(
    subject: Subject, cell: Cell, strategy: str = "uniform"
) -> tuple[Array, float]:
    assert cell.m is not None
    return subject.landmarks(strategy, cell.m, cell.seed)


def _fitted(model: Any, X: Any, **seconds: float) -> Outcome:
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
