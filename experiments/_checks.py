"""Comparisons of quality; `claims` says which claim makes which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments._results import LARGE, SINGLE, SMALL, Results
from experiments._verdicts import (
    Check,
    Checks,
    Value,
    above,
    alike,
    no_worse,
    worse,
)

SHORT = {
    "imagenet12": "images",
    "mnist": "MNIST",
    "covtype": "Cover Type",
    "kddcup99-full": "KDD",
}
OTHERS = ("diagonal", "column-norm", "k-means")  # ways to sample
_NAMES = {"nmi": "NMI", "ari": "ARI", "reduction": "error reduction"}


def at(data: str, m: int) -> str:
    return f"{SHORT[data]}, m = {m:,}"


def sizes_of(
    results: Results, data: str, least: int = 0, most: int = 10**9
) -> list[int]:
    """Sizes between two of the paper's."""
    bounds = results.at(least), results.at(most)
    return [m for m in results.sizes(data) if bounds[0] <= m <= bounds[1]]


def value(
    results: Results,
    measure: str,
    data: str,
    method: str,
    m: int | None = None,
    called: str = "",
    **other: Any,
) -> Value:
    """A method's number, of methods without landmarks whatever m is."""
    size = None if method in SINGLE else m
    spread = results.get(measure, data, method, size, **other)
    unit = " s" if measure in ("seconds", "sampling") else ""
    return Value(called or method, spread, unit)


def ari_above(results: Results) -> list[Check]:
    return [
        above(at(d, m), *(value(results, "ari", d, x, m) for x in ("aKKm", "tKKm")))
        for d in SMALL
        for m in results.sizes(d)
    ]


def ari_of_images(results: Results) -> list[Check]:
    m = results.at(5000)
    theirs = Value("the paper's", results.paper("ari", "imagenet12", "aKKm", 5000))
    ours = value(results, "ari", "imagenet12", "aKKm", m)
    return [no_worse(at("imagenet12", m), ours, theirs)]


def equals_exact(measure: str, data: str, least: int = 0) -> Checks:
    """Whether aKKm is like kernel k-means, from some m on."""

    def checks(results: Results) -> list[Check]:
        return [
            alike(
                f"{_NAMES[measure]}, {at(data, m)}",
                *(value(results, measure, data, x, m) for x in ("aKKm", "KKm")),
            )
            for m in sizes_of(results, data, least)
        ]

    return checks


def two_step_late(results: Results) -> list[Check]:
    found = []
    for m in results.sizes("mnist"):
        compare = worse if m < results.at(5000) else alike
        both = (value(results, "nmi", "mnist", x, m) for x in ("tKKm", "KKm"))
        found.append(compare(f"NMI, m = {m:,}", *both))
    return found


def better(measure: str, data: Sequence[str], than: str, least: int = 0) -> Checks:
    """Whether aKKm is above another method, at every m."""

    def checks(results: Results) -> list[Check]:
        return [
            above(at(d, m), *(value(results, measure, d, x, m) for x in ("aKKm", than)))
            for d in data
            for m in sizes_of(results, d, least)
        ]

    return checks


def together(*several: Checks) -> Checks:
    return lambda results: [check for checks in several for check in checks(results)]


def few_against_many(results: Results) -> list[Check]:
    few, many = results.at(100), results.at(1000)

    def nmi(method: str, m: int) -> Value:
        return value(results, "nmi", "imagenet12", method, m, f"{method} at {m:,}")

    return [
        above("NMI", nmi("aKKm", few), nmi("tKKm", many)),
        alike("NMI", nmi("aKKm", few), nmi("nysSC", few)),
    ]


def against_k_means(data: str, methods: Sequence[str], *, beat: bool = True) -> Checks:
    """Whether methods are above k-means, or else are not."""

    def checks(results: Results) -> list[Check]:
        plain = value(results, "nmi", data, "k-means")
        found = []
        for method in methods:
            for m in [0] if method in SINGLE else results.sizes(data):
                what = at(data, m) if m else SHORT[data]
                other = value(results, "nmi", data, method, m)
                found.append(
                    above(what, other, plain) if beat else no_worse(what, plain, other)
                )
        return found

    return checks


def spectral_catches_up(results: Results) -> list[Check]:
    large = results.sizes("covtype")[-1]
    checks = better("nmi", ["covtype"], "nysSC")(results)
    both = (value(results, "nmi", "covtype", x, large) for x in ("aKKm", "nysSC"))
    return [*checks[:-1], alike(at("covtype", large), *both)]


def samplings(
    data: str, strategies: Sequence[str], least: int = 0, *, uniform: str
) -> Checks:
    """Whether uniform sampling is "above" others, "alike", or "no worse"."""
    compare = {"above": above, "alike": alike, "no worse": no_worse}[uniform]

    def checks(results: Results) -> list[Check]:
        return [
            compare(
                f"{_NAMES[measure]}, {at(data, m)}",
                value(results, measure, data, "aKKm", m, "uniform"),
                value(results, measure, data, "aKKm", m, other, landmarks=other),
            )
            for m in sizes_of(results, data, least)
            for other in strategies
            for measure in ("reduction", "nmi")
        ]

    return checks


def _with_and_without(results: Results, data: str) -> list[tuple[int, Value, Value]]:
    """NMI of ensembles and of single runs, by m."""
    return [
        (
            m,
            value(results, "nmi", data, "ensemble", m),
            value(results, "nmi", data, "aKKm", m, "single"),
        )
        for m in results.sizes(data, "ensemble")
    ]


def ensembles_gain(results: Results) -> list[Check]:
    return [
        above(at(d, m), many, one)
        for d in (*SMALL, *LARGE)
        for m, many, one in _with_and_without(results, d)
    ]


def gain_most_when_few(results: Results) -> list[Check]:
    found = []
    for d in (*SMALL, "covtype"):  # KDD has one size
        gains = [
            (m, many.spread.mean - one.spread.mean)
            for m, many, one in _with_and_without(results, d)
            if many.spread and one.spread
        ]
        if len(gains) < 2:
            found.append(Check(SHORT[d], None))
            continue
        text = ", ".join(f"{gain:+.3f} at {m:,}" for m, gain in gains)
        first = gains[0][1] >= max(gain for _, gain in gains) and gains[0][1] > 0
        found.append(Check(f"{SHORT[d]}: {text}", first))
    return found


def mnist_ensemble(results: Results) -> list[Check]:
    few, many = results.at(100), results.at(1000)
    joined = value(results, "nmi", "mnist", "ensemble", few, f"ensembles at {few:,}")
    alone = value(results, "nmi", "mnist", "aKKm", few)
    single = value(results, "nmi", "mnist", "aKKm", many, f"single at {many:,}")
    gain = Check("gain", None)
    if joined.spread is not None and alone.spread is not None:
        more = joined.spread.mean / alone.spread.mean - 1
        gain = Check(f"NMI, {joined}: {more:+.1%} over single runs", more > 0.1)
    return [gain, alike("NMI", joined, single)]
