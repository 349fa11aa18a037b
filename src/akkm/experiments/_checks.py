"""Comparisons of quality; `claims` says which claim makes which."""

from __future__ import annotations

from collections.abc import Sequence

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

SHORT = {
    "imagenet12": "images",
    "mnist": "MNIST",
    "covtype": "Cover Type",
    "kddcup99-full": "KDD",
}


def at(data: str, m: int) -> str:
    return f"{SHORT[data]}, m = {m:,}"


def sizes_of(
    results: Results, data: str, least: int = 0, most: int = 10**9
) -> list[int]:
    """Sizes between two of the paper's."""
    bounds = results.at(least), results.at(most)
    return [m for m in results.sizes(data) if bounds[0] <= m <= bounds[1]]


def ari_above(results: Results) -> list[Check]:
    get = results.get
    return [
        above(at(d, m), get("ari", d, "aKKm", m), get("ari", d, "tKKm", m))
        for d in SMALL
        for m in results.sizes(d)
    ]


def mnist_equals_exact(results: Results) -> list[Check]:
    exact = results.get("nmi", "mnist", "KKm")
    return [
        alike(f"NMI, m = {m:,}", results.get("nmi", "mnist", "aKKm", m), exact)
        for m in sizes_of(results, "mnist", 500)
    ]


def two_step_late(results: Results) -> list[Check]:
    exact = results.get("nmi", "mnist", "KKm")
    checks = [
        below(f"NMI, m = {m:,}", results.get("nmi", "mnist", "tKKm", m), exact)
        for m in sizes_of(results, "mnist", 0, 2000)
    ]
    late = [
        alike(f"NMI, m = {m:,}", results.get("nmi", "mnist", "tKKm", m), exact)
        for m in sizes_of(results, "mnist", 5000)
    ]
    return checks + late


def reduction_equals_exact(data: str, least: int) -> Checks:
    def checks(results: Results) -> list[Check]:
        exact = results.get("reduction", data, "KKm")
        return [
            alike(at(data, m), results.get("reduction", data, "aKKm", m), exact)
            for m in sizes_of(results, data, least)
        ]

    return checks


def better(measure: str, data: Sequence[str], than: str, least: int = 0) -> Checks:
    """Whether aKKm is above another method, at every m."""

    def checks(results: Results) -> list[Check]:
        found = []
        for d in data:
            for m in sizes_of(results, d, least):
                flat = than in ("lKKm", "k-means")
                other = results.get(measure, d, than, None if flat else m)
                ours = results.get(measure, d, "aKKm", m)
                found.append(above(f"{at(d, m)}, {than}", ours, other))
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
            sizes = (
                [None] if method in ("KKm", "lKKm") else sizes_of(results, data, 500)
            )
            for m in sizes:
                what = method if m is None else f"{method}, m = {m:,}"
                found.append(above(what, results.get("nmi", data, method, m), plain))
        return found

    return checks


def spectral_catches_up(results: Results) -> list[Check]:
    get = results.get
    large = results.sizes("covtype")[-1]
    checks = better("nmi", ["covtype"], "nysSC")(results)
    ours, theirs = (get("nmi", "covtype", x, large) for x in ("aKKm", "nysSC"))
    return [*checks[:-1], alike(at("covtype", large), ours, theirs)]


def samplings(
    data: str, strategies: Sequence[str], least: int, *, worse: bool = False
) -> Checks:
    """Uniform sampling beside others: the others are worse, or alike."""
    compare = above if worse else alike

    def checks(results: Results) -> list[Check]:
        return [
            compare(
                f"{at(data, m)}, {measure}, {strategy}",
                results.get(measure, data, "aKKm", m),
                results.get(measure, data, "aKKm", m, landmarks=strategy),
            )
            for m in sizes_of(results, data, least)
            for strategy in strategies
            for measure in ("reduction", "nmi")
        ]

    return checks


def uniform_is_enough(results: Results) -> list[Check]:
    get = results.get
    return [
        no_worse(
            f"{at(d, m)}, {strategy}",
            get("nmi", d, "aKKm", m),
            get("nmi", d, "aKKm", m, landmarks=strategy),
        )
        for d in SMALL
        for m in sizes_of(results, d, 1000)
        for strategy in ("diagonal", "column-norm", "k-means")
    ]


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
        above(at(d, m), many, one) for d in data for m, many, one in _gains(results, d)
    ]


def gain_most_when_few(results: Results) -> list[Check]:
    found = []
    for d in (*SMALL, *LARGE):
        gains = [(m, a.mean - b.mean) for m, a, b in _gains(results, d) if a and b]
        if len(gains) < 2:
            found.append(Check(SHORT[d], None))
            continue
        text = ", ".join(f"{gain:+.3f} at {m:,}" for m, gain in gains)
        first = gains[0][1] >= max(gain for _, gain in gains)
        found.append(Check(f"{SHORT[d]}: {text}", first))
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
