"""Comparisons that claims are judged by; `claims` says which claim makes which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from akkm.experiments._results import LARGE, SMALL, Results, Spread
from akkm.experiments._verdicts import (
    Check,
    Checks,
    above,
    alike,
    below,
    no_worse,
    number,
)

_SHORT = {
    "imagenet12": "images",
    "mnist": "MNIST",
    "covtype": "Cover Type",
    "kddcup99-full": "KDD",
}
# The paper's limit of memory.
_GIGABYTES = 40
# A way to sample takes much longer if it takes this many times as long.
_MUCH = 10


def _at(data: str, m: int) -> str:
    return f"{_SHORT[data]}, m = {m:,}"


def _sizes(results: Results, data: str, least: int = 0, most: int = 10**9) -> list[int]:
    """Sizes between two of the paper's."""
    bounds = results.at(least), results.at(most)
    return [m for m in results.sizes(data) if bounds[0] <= m <= bounds[1]]


def ari_above(results: Results) -> list[Check]:
    get = results.get
    return [
        above(_at(d, m), get("ari", d, "aKKm", m), get("ari", d, "tKKm", m))
        for d in SMALL
        for m in results.sizes(d)
    ]


def mnist_equals_exact(results: Results) -> list[Check]:
    exact = results.get("nmi", "mnist", "KKm")
    return [
        alike(f"NMI, m = {m:,}", results.get("nmi", "mnist", "aKKm", m), exact)
        for m in _sizes(results, "mnist", 500)
    ]


def two_step_late(results: Results) -> list[Check]:
    exact = results.get("nmi", "mnist", "KKm")
    checks = [
        below(f"NMI, m = {m:,}", results.get("nmi", "mnist", "tKKm", m), exact)
        for m in _sizes(results, "mnist", 0, 2000)
    ]
    late = [
        alike(f"NMI, m = {m:,}", results.get("nmi", "mnist", "tKKm", m), exact)
        for m in _sizes(results, "mnist", 5000)
    ]
    return checks + late


def reduction_equals_exact(data: str, least: int) -> Checks:
    def checks(results: Results) -> list[Check]:
        exact = results.get("reduction", data, "KKm")
        return [
            alike(_at(data, m), results.get("reduction", data, "aKKm", m), exact)
            for m in _sizes(results, data, least)
        ]

    return checks


def better(measure: str, data: Sequence[str], than: str, least: int = 0) -> Checks:
    """Whether aKKm is above another method, at every m."""

    def checks(results: Results) -> list[Check]:
        found = []
        for d in data:
            for m in _sizes(results, d, least):
                flat = than in ("lKKm", "k-means")
                other = results.get(measure, d, than, None if flat else m)
                ours = results.get(measure, d, "aKKm", m)
                found.append(above(f"{_at(d, m)}, {than}", ours, other))
        return found

    return checks


def together(*several: Checks) -> Checks:
    return lambda results: [check for checks in several for check in checks(results)]


def few_against_many(results: Results) -> list[Check]:
    few = results.get("nmi", "imagenet12", "aKKm", results.at(100))
    many = results.get("nmi", "imagenet12", "tKKm", results.at(1000))
    spectral = results.get("nmi", "imagenet12", "nysSC", results.at(100))
    return [
        above("NMI, aKKm at 100, tKKm at 1,000", few, many),
        alike("NMI, aKKm and nysSC at 100", few, spectral),
    ]


def kernels_beat_k_means(data: str, methods: Sequence[str]) -> Checks:
    def checks(results: Results) -> list[Check]:
        plain = results.get("nmi", data, "k-means")
        found = []
        for method in methods:
            sizes = [None] if method in ("KKm", "lKKm") else _sizes(results, data, 500)
            for m in sizes:
                what = method if m is None else f"{method}, m = {m:,}"
                found.append(above(what, results.get("nmi", data, method, m), plain))
        return found

    return checks


def kernel_time_saved(results: Results) -> list[Check]:
    found = []
    for data in SMALL:
        whole = results.get("seconds", data, "full kernel")
        for m in results.sizes(data):
            part = results.get("seconds", data, "kernel", m)
            if whole is None or part is None:
                found.append(Check(_at(data, m), None))
                continue
            saved = 1 - part.mean / whole.mean
            found.append(Check(f"{_at(data, m)}: {saved:.1%} saved", saved > 0.9))
    return found


def faster_than_k_means(data: str, most: int) -> Checks:
    """Whether aKKm is faster than k-means, up to some m."""

    def checks(results: Results) -> list[Check]:
        plain = results.get("seconds", data, "k-means")
        return [
            below(f"s, {_at(data, m)}", results.get("seconds", data, "aKKm", m), plain)
            for m in _sizes(results, data, 0, most)
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
        found.append(above(f"s, {_at('mnist', m)}, rest and kernel", rest, kernel))
    return found


def two_step_fastest(results: Results) -> list[Check]:
    get = results.get
    return [
        below(
            f"s, {_at(d, m)}, {other}",
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
        sizes = _sizes(results, data, 1000)
        times = [results.get("seconds", data, "nysSC", m) for m in sizes]
        there = [(m, t.mean) for m, t in zip(sizes, times, strict=True) if t]
        if len(there) < 2:
            found.append(Check(_SHORT[data], None))
            continue
        log_m, log_time = np.log(np.array(there)).T
        slope = np.polyfit(log_m, log_time, 1)[0]
        text = f"{_SHORT[data]}: m to the power {slope:.2f}"
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
        above(f"s, {_at('covtype', small)}", *times[small]),
        below(f"s, {_at('covtype', large)}", *times[large]),
    ]


def spectral_catches_up(results: Results) -> list[Check]:
    get = results.get
    large = results.sizes("covtype")[-1]
    checks = better("nmi", ["covtype"], "nysSC")(results)
    ours, theirs = (get("nmi", "covtype", x, large) for x in ("aKKm", "nysSC"))
    return [*checks[:-1], alike(_at("covtype", large), ours, theirs)]


def little_memory(results: Results) -> list[Check]:
    found = []
    for data in LARGE:
        for m in results.sizes(data):
            peak = results.get("peak", data, "aKKm", m)
            text = _at(data, m)
            if peak is None:
                found.append(Check(text, None))
            else:
                used = peak.mean / 1e9
                found.append(Check(f"{text}: {used:.1f} GB", used < _GIGABYTES))
    return found


def faster_than_spectral(results: Results) -> list[Check]:
    d, get = "kddcup99-full", results.get
    return [
        below(_at(d, m), get("seconds", d, "aKKm", m), get("seconds", d, "nysSC", m))
        for m in results.sizes(d)
    ]


def leaders_too_slow(results: Results) -> list[Check]:
    found = []
    for data in LARGE:
        took = results.get("seconds", data, "lKKm")
        if took is None:
            found.append(Check(_SHORT[data], None))
        else:
            text = f"{_SHORT[data]}: {number(took)} s with about 1,000 leaders"
            found.append(Check(text, took.mean > 24 * 3600))
    return found


def uniform_is_cheapest(results: Results) -> list[Check]:
    get = results.get
    return [
        below(
            f"s, {_at(d, m)}, {strategy}",
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
                text = f"{_at(d, m)}, {strategy}"
                if cheap is None or slow is None:
                    found.append(Check(text, None))
                    continue
                ratio = slow.mean / cheap.mean
                text += f": {ratio:,.0f} times diagonal's"
                found.append(Check(text, ratio > _MUCH))
    return found


def samplings(
    data: str, strategies: Sequence[str], least: int, *, worse: bool = False
) -> Checks:
    """Uniform sampling beside others: the others are worse, or alike."""
    compare = above if worse else alike

    def checks(results: Results) -> list[Check]:
        return [
            compare(
                f"{_at(data, m)}, {measure}, {strategy}",
                results.get(measure, data, "aKKm", m),
                results.get(measure, data, "aKKm", m, landmarks=strategy),
            )
            for m in _sizes(results, data, least)
            for strategy in strategies
            for measure in ("reduction", "nmi")
        ]

    return checks


def uniform_is_enough(results: Results) -> list[Check]:
    get = results.get
    return [
        no_worse(
            f"{_at(d, m)}, {strategy}",
            get("nmi", d, "aKKm", m),
            get("nmi", d, "aKKm", m, landmarks=strategy),
        )
        for d in SMALL
        for m in _sizes(results, d, 1000)
        for strategy in ("diagonal", "column-norm", "k-means")
    ]


def consensus_is_quick(results: Results) -> list[Check]:
    found = []
    for d in (*SMALL, *LARGE):
        for m in results.sizes(d, "ensemble"):
            took, all_ = (
                results.get(x, d, "ensemble", m) for x in ("consensus", "seconds")
            )
            if took is None or all_ is None:
                found.append(Check(_at(d, m), None))
                continue
            share = took.mean / all_.mean
            found.append(Check(f"{_at(d, m)}: {share:.1%} of the time", share < 0.1))
    return found  # fmt: skip


def _gains(
    results: Results, data: str
) -> list[tuple[int, Spread | None, Spread | None]]:
    get = results.get
    return [
        (m, get("nmi", data, "ensemble", m), get("nmi", data, "aKKm", m))
        for m in results.sizes(data, "ensemble")
    ]


def ensembles_gain(data: Sequence[str]) -> Checks:
    return lambda results: [
        above(_at(d, m), many, one) for d in data for m, many, one in _gains(results, d)
    ]


def gain_most_when_few(results: Results) -> list[Check]:
    found = []
    for d in (*SMALL, *LARGE):
        gains = [(m, a.mean - b.mean) for m, a, b in _gains(results, d) if a and b]
        if len(gains) < 2:
            found.append(Check(_SHORT[d], None))
            continue
        text = ", ".join(f"{gain:+.3f} at {m:,}" for m, gain in gains)
        first = gains[0][1] >= max(gain for _, gain in gains)
        found.append(Check(f"{_SHORT[d]}: {text}", first))
    return found


def mnist_ensemble(results: Results) -> list[Check]:
    few, many = results.at(100), results.at(1000)
    joined = results.get("nmi", "mnist", "ensemble", few)
    alone = results.get("nmi", "mnist", "aKKm", few)
    single = results.get("nmi", "mnist", "aKKm", many)
    gain = Check("gain", None)
    if joined is not None and alone is not None:
        more = joined.mean / alone.mean - 1
        gain = Check(f"NMI {number(joined)}, {more:+.1%} over single runs", more > 0.1)
    return [gain, no_worse("NMI, ensembles at 100, single at 1,000", joined, single)]
