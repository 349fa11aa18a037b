"""Comparisons of time and memory."""

from __future__ import annotations

import numpy as np

from akkm.experiments._checks import SHORT, at, sizes_of
from akkm.experiments._results import LARGE, SMALL, Results, Spread
from akkm.experiments._verdicts import Check, Checks, above, below, number

# The paper's limit of memory.
_GIGABYTES = 40
# A way to sample takes much longer if it takes this many times as long.
_MUCH = 10


def kernel_time_saved(results: Results) -> list[Check]:
    found = []
    for data in SMALL:
        whole = results.get("seconds", data, "full kernel")
        for m in results.sizes(data):
            part = results.get("seconds", data, "kernel", m)
            if whole is None or part is None:
                found.append(Check(at(data, m), None))
                continue
            saved = 1 - part.mean / whole.mean
            found.append(Check(f"{at(data, m)}: {saved:.1%} saved", saved > 0.9))
    return found


def faster_than_k_means(data: str, most: int) -> Checks:
    """Whether aKKm is faster than k-means, up to some m."""

    def checks(results: Results) -> list[Check]:
        plain = results.get("seconds", data, "k-means")
        return [
            below(f"s, {at(data, m)}", results.get("seconds", data, "aKKm", m), plain)
            for m in sizes_of(results, data, 0, most)
        ]

    return checks


def clustering_outweighs_kernel(results: Results) -> list[Check]:
    found = []
    for m in results.sizes("mnist"):
        fit, kernel = (
            results.get("seconds", "mnist", x, m) for x in ("aKKm", "kernel")
        )
        rest = None
        if fit is not None and kernel is not None:
            rest = Spread(fit.mean - kernel.mean, fit.sd, fit.n)
        found.append(above(f"s, {at('mnist', m)}, rest and kernel", rest, kernel))
    return found


def two_step_fastest(results: Results) -> list[Check]:
    get = results.get
    return [
        below(
            f"s, {at(d, m)}, {other}",
            get("seconds", d, "tKKm", m),
            get("seconds", d, other, m),
        )
        for d in (*SMALL, *LARGE)
        for m in results.sizes(d)
        for other in ("aKKm", "nysSC")
    ]


def spectral_grows(results: Results) -> list[Check]:
    """The slope of log time over log m, from 1,000 landmarks on."""
    found = []
    for data in (*SMALL, *LARGE):
        sizes = sizes_of(results, data, 1000)
        times = [results.get("seconds", data, "nysSC", m) for m in sizes]
        there = [(m, t.mean) for m, t in zip(sizes, times, strict=True) if t]
        if len(there) < 2:
            found.append(Check(SHORT[data], None))
            continue
        log_m, log_time = np.log(np.array(there)).T
        slope = np.polyfit(log_m, log_time, 1)[0]
        text = f"{SHORT[data]}: m to the power {slope:.2f}"
        found.append(Check(text, bool(slope >= 2.5)))
    return found


def crossing(results: Results) -> list[Check]:
    """Whether nysSC is the faster one for the smallest m, aKKm for the largest."""
    get, sizes = results.get, results.sizes("covtype")
    small, large = sizes[0], sizes[-1]
    times = {
        m: (get("seconds", "covtype", "aKKm", m), get("seconds", "covtype", "nysSC", m))
        for m in (small, large)
    }
    return [
        above(f"s, {at('covtype', small)}", *times[small]),
        below(f"s, {at('covtype', large)}", *times[large]),
    ]


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


def faster_than_spectral(results: Results) -> list[Check]:
    d, get = "kddcup99-full", results.get
    return [
        below(at(d, m), get("seconds", d, "aKKm", m), get("seconds", d, "nysSC", m))
        for m in results.sizes(d)
    ]


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
    get = results.get
    return [
        below(
            f"s, {at(d, m)}, {strategy}",
            get("sampling", d, "aKKm", m),
            get("sampling", d, "aKKm", m, landmarks=strategy),
        )
        for d in SMALL
        for m in results.sizes(d)
        for strategy in ("diagonal", "column-norm", "k-means")
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
