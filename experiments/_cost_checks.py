"""Comparisons of time and memory."""

from __future__ import annotations

import numpy as np

from experiments._checks import OTHERS, SHORT, at, sizes_of, value
from experiments._results import LARGE, SMALL, Results, Spread
from experiments._verdicts import Check, Checks, Value, above, below, number

# The paper's limit of memory.
_GIGABYTES = 40
# A way to sample takes much longer if it takes this many times as long.
_MUCH = 10


def kernel_time_saved(results: Results) -> list[Check]:
    data, found = "imagenet12", []
    whole = results.get("seconds", data, "full kernel")
    for m in results.sizes(data):
        part = results.get("seconds", data, "kernel", m)
        if whole is None or part is None:
            found.append(Check(at(data, m), None))
            continue
        saved = 1 - part.mean / whole.mean
        found.append(Check(f"{at(data, m)}: {saved:.1%} saved", saved > 0.9))
    return found


def faster(data: str, other: str, most: int = 10**9, *, ours: str = "aKKm") -> Checks:
    """Whether aKKm is faster than another method, up to some m."""

    def checks(results: Results) -> list[Check]:
        return [
            below(
                at(data, m),
                *(value(results, "seconds", data, x, m) for x in (ours, other)),
            )
            for m in sizes_of(results, data, 0, most)
        ]

    return checks


def faster_than_exact(results: Results) -> list[Check]:
    """Kernel k-means is given the kernel matrix of images, which takes its time."""
    found = []
    for data in SMALL:
        exact = value(results, "seconds", data, "KKm")
        if data == "imagenet12":
            matrix = results.get("seconds", data, "full kernel")
            exact = Value("KKm and its matrix", _plus(exact.spread, matrix), " s")
        found += [
            below(at(data, m), value(results, "seconds", data, "aKKm", m), exact)
            for m in results.sizes(data)
        ]
    return found


def _plus(a: Spread | None, b: Spread | None) -> Spread | None:
    """The sum, where b is measured once."""
    return None if a is None or b is None else Spread(a.mean + b.mean, a.sd, a.n)


def kernel_and_clustering(data: str, *, more: str) -> Checks:
    """Which takes longer, computing "kernel" values or "clustering"."""
    compare = above if more == "clustering" else below

    def checks(results: Results) -> list[Check]:
        found = []
        for m in results.sizes(data):
            fit = results.get("seconds", data, "aKKm", m)
            kernel = results.get("seconds", data, "kernel", m)
            rest = None
            if fit is not None and kernel is not None:
                rest = Spread(fit.mean - kernel.mean, fit.sd, fit.n)
            both = Value("clustering", rest, " s"), Value("kernel", kernel, " s")
            found.append(compare(at(data, m), *both))
        return found

    return checks


def few_against_many(data: str, ours: str, other: str) -> Checks:
    """Whether a method with 100 landmarks is faster than another with 1,000."""

    def checks(results: Results) -> list[Check]:
        both = (
            value(results, "seconds", data, method, m, f"{method} at {m:,}")
            for method, m in ((ours, results.at(100)), (other, results.at(1000)))
        )
        return [below(SHORT[data], *both)]

    return checks


def spectral_grows(results: Results) -> list[Check]:
    """The slope of log time over log m, from 1,000 landmarks on."""
    data = "covtype"
    sizes = sizes_of(results, data, 1000)
    ours = _power(sizes, [results.get("seconds", data, "nysSC", m) for m in sizes])
    theirs = _power(sizes, [results.paper("seconds", data, "nysSC", m) for m in sizes])
    if ours is None:
        return [Check(SHORT[data], None)]
    text = f"{SHORT[data]}: m to the power {ours:.2f}"
    text += "" if theirs is None else f", the paper's {theirs:.2f}"
    return [Check(text, ours >= min(2.5, theirs or 2.5))]


def _power(sizes: list[int], times: list[Spread | None]) -> float | None:
    there = [(m, t.mean) for m, t in zip(sizes, times, strict=True) if t]
    if len(there) < 2:
        return None
    log_m, log_time = np.log(np.array(there)).T
    return float(np.polyfit(log_m, log_time, 1)[0])


def crossing(results: Results) -> list[Check]:
    """Whether nysSC is the faster one for the smallest m, aKKm for the largest."""
    data, sizes = "covtype", results.sizes("covtype")
    return [
        compare(
            at(data, m),
            *(value(results, "seconds", data, x, m) for x in ("aKKm", "nysSC")),
        )
        for compare, m in ((above, sizes[0]), (below, sizes[-1]))
    ]


def less_than_the_matrix(results: Results) -> list[Check]:
    """Memory, beside all pairs of rows in double precision."""
    found = []
    for data in ("mnist", *LARGE):
        for m in results.sizes(data):
            used = results.get("peak", data, "aKKm", m)
            matrix = results.get("matrix", data, "aKKm", m)
            if used is None or matrix is None:
                found.append(Check(at(data, m), None))
                continue
            text = f"{used.mean / 1e9:.1f} of {matrix.mean / 1e9:,.0f} GB"
            found.append(Check(f"{at(data, m)}: {text}", used.mean < matrix.mean))
    return found


def little_memory(results: Results) -> list[Check]:
    found = []
    for data in LARGE:
        for m in results.sizes(data):
            peak = results.get("peak", data, "aKKm", m)
            text = at(data, m)
            if peak is None:
                found.append(Check(text, None))
            else:
                used = peak.mean / 1e9
                found.append(Check(f"{text}: {used:.1f} GB", used < _GIGABYTES))
    return found


def leaders_too_slow(results: Results) -> list[Check]:
    found = []
    for data in LARGE:
        took = results.get("seconds", data, "lKKm")
        if took is None:
            found.append(Check(SHORT[data], None))
        else:
            text = f"{SHORT[data]}: {number(took)} s with about 1,000 leaders"
            found.append(Check(text, took.mean > 24 * 3600))
    return found


def uniform_is_cheapest(results: Results) -> list[Check]:
    return [
        below(
            at(d, m),
            value(results, "sampling", d, "aKKm", m, "uniform"),
            value(results, "sampling", d, "aKKm", m, other, landmarks=other),
        )
        for d in SMALL
        for m in results.sizes(d)
        for other in OTHERS
    ]


def costly_samplings(results: Results) -> list[Check]:
    found = []
    for d in SMALL:
        for m in results.sizes(d):
            cheap = results.get("sampling", d, "aKKm", m, landmarks="diagonal")
            for strategy in ("column-norm", "k-means"):
                slow = results.get("sampling", d, "aKKm", m, landmarks=strategy)
                text = f"{at(d, m)}, {strategy}"
                if cheap is None or slow is None:
                    found.append(Check(text, None))
                    continue
                ratio = slow.mean / cheap.mean
                text += f": {ratio:,.0f} times diagonal's"
                found.append(Check(text, ratio > _MUCH))
    return found


def consensus_is_quick(results: Results) -> list[Check]:
    found = []
    for d in (*SMALL, *LARGE):
        for m in results.sizes(d, "ensemble"):
            took, all_ = (
                results.get(x, d, "ensemble", m) for x in ("consensus", "seconds")
            )
            if took is None or all_ is None:
                found.append(Check(at(d, m), None))
                continue
            share = took.mean / all_.mean
            found.append(Check(f"{at(d, m)}: {share:.1%} of the time", share < 0.1))
    return found  # fmt: skip
