"""Compare the NMI, ARI and error reduction of methods, to check the paper's claims.

Some functions return comparisons; others return a function that makes comparisons from
results. `experiments.paper.claims` lists which claim needs which comparisons, and
`experiments.paper` explains the names of the methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.paper.results import LARGE, SMALL, WITHOUT_LANDMARKS, Results
from experiments.paper.verdicts import (
    Comparison,
    Comparisons,
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
OTHERS = ("diagonal", "column-norm", "k-means")  # sampling strategies except uniform
_NAMES = {"nmi": "NMI", "ari": "ARI", "reduction": "error reduction"}


def setting(data: str, m: int) -> str:
    """Return a text with the name of the data set and m."""
    return f"{SHORT[data]}, m = {m:,}"


def sizes_of(
    results: Results, data: str, least: int = 0, most: int = 10**9
) -> list[int]:
    """Return the planned m between two limits; a tiny run divides the limits by 20."""
    bounds = results.scaled(least), results.scaled(most)
    return [m for m in results.sizes(data) if bounds[0] <= m <= bounds[1]]


def value(
    results: Results,
    measure: str,
    data: str,
    method: str,
    m: int | None = None,
    name: str = "",
    **other: Any,
) -> Value:
    """Return a measure of one method; methods without landmarks ignore m."""
    size = None if method in WITHOUT_LANDMARKS else m
    spread = results.get(measure, data, method, size, **other)
    unit = " s" if measure in ("seconds", "sampling") else ""
    return Value(name or method, spread, unit)


def values(
    results: Results, measure: str, data: str, methods: Sequence[str], m: int
) -> list[Value]:
    """Return a measure of several methods."""
    return [value(results, measure, data, method, m) for method in methods]


def ari_of_images(results: Results) -> list[Comparison]:
    """Compare on images: is aKKm's ARI at m = 5,000 no worse than in the paper?"""
    m = results.scaled(5000)
    theirs = Value("the paper's", results.paper("ari", "imagenet12", "aKKm", 5000))
    ours = value(results, "ari", "imagenet12", "aKKm", m)
    return [no_worse(setting("imagenet12", m), ours, theirs)]


def equals_exact(measure: str, data: str, least: int = 0) -> Comparisons:
    """Compare: are aKKm and kernel k-means alike at every m from `least` on?"""
    return lambda results: [
        alike(
            f"{_NAMES[measure]}, {setting(data, m)}",
            *values(results, measure, data, ("aKKm", "KKm"), m),
        )
        for m in sizes_of(results, data, least)
    ]


def two_step_late(results: Results) -> list[Comparison]:
    """Compare on MNIST: are tKKm and kernel k-means alike only from m = 5,000 on?"""
    compared = []
    for m in results.sizes("mnist"):
        compare = worse if m < results.scaled(5000) else alike
        both = values(results, "nmi", "mnist", ("tKKm", "KKm"), m)
        compared.append(compare(f"NMI, m = {m:,}", *both))
    return compared


def better(measure: str, data: Sequence[str], than: str, least: int = 0) -> Comparisons:
    """Compare: is aKKm better than another method at every m from `least` on?"""
    return lambda results: [
        above(setting(d, m), *values(results, measure, d, ("aKKm", than), m))
        for d in data
        for m in sizes_of(results, d, least)
    ]


def together(*several: Comparisons) -> Comparisons:
    """Return a function that makes the comparisons of all given functions."""
    return lambda results: [one for compare in several for one in compare(results)]


def good_with_few_landmarks(results: Results) -> list[Comparison]:
    """Compare the NMI of aKKm at m = 100 with other methods, on images.

    The claim: the NMI is higher than that of tKKm at m = 1,000, and about the same as
    that of nysSC at m = 100.
    """
    few, many = results.scaled(100), results.scaled(1000)

    def nmi(method: str, m: int) -> Value:
        return value(results, "nmi", "imagenet12", method, m, f"{method} (m = {m:,})")

    return [
        above("NMI", nmi("aKKm", few), nmi("tKKm", many)),
        alike("NMI", nmi("aKKm", few), nmi("nysSC", few)),
    ]


def against_k_means(
    data: str, methods: Sequence[str], *, beat: bool = True
) -> Comparisons:
    """Compare the NMI of each method with that of k-means.

    If `beat` is true, the claim is that the method is above k-means. Otherwise, the
    claim is that k-means is no worse than the method.
    """

    def comparisons(results: Results) -> list[Comparison]:
        plain = value(results, "nmi", data, "k-means")
        compared = []
        for method in methods:
            for m in [0] if method in WITHOUT_LANDMARKS else results.sizes(data):
                what = setting(data, m) if m else SHORT[data]
                other = value(results, "nmi", data, method, m)
                compared.append(
                    above(what, other, plain) if beat else no_worse(what, plain, other)
                )
        return compared

    return comparisons


def spectral_catches_up(results: Results) -> list[Comparison]:
    """Compare on Cover Type: are nysSC and aKKm alike only at the largest m?"""
    large = results.sizes("covtype")[-1]
    small = better("nmi", ["covtype"], "nysSC")(results)[:-1]
    both = values(results, "nmi", "covtype", ("aKKm", "nysSC"), large)
    return [*small, alike(setting("covtype", large), *both)]


def samplings(
    data: str, strategies: Sequence[str], least: int = 0, *, uniform: str
) -> Comparisons:
    """Compare uniform sampling with other strategies at every m from `least` on.

    `uniform` says what is claimed of uniform sampling: "above", "alike" or "no worse".
    """
    compare = {"above": above, "alike": alike, "no worse": no_worse}[uniform]
    return lambda results: [
        compare(
            f"{_NAMES[measure]}, {setting(data, m)}",
            value(results, measure, data, "aKKm", m, "uniform"),
            value(results, measure, data, "aKKm", m, other, landmarks=other),
        )
        for m in sizes_of(results, data, least)
        for other in strategies
        for measure in ("reduction", "nmi")
    ]


def _many_and_one(results: Results, data: str) -> list[tuple[int, Value, Value]]:
    """Return tuples of m, the NMI of ensembles and the NMI of single runs."""
    return [
        (
            m,
            value(results, "nmi", data, "ensemble", m),
            value(results, "nmi", data, "aKKm", m, "single"),
        )
        for m in results.sizes(data, "ensemble")
    ]


def ensembles_gain(results: Results) -> list[Comparison]:
    """Compare: is the NMI of ensembles above that of single runs?"""
    return [
        above(setting(d, m), many, one)
        for d in (*SMALL, *LARGE)
        for m, many, one in _many_and_one(results, d)
    ]


def gain_most_when_few(results: Results) -> list[Comparison]:
    """Compare: is the gain of ensembles largest at the smallest m?"""
    compared = []
    for d in (*SMALL, "covtype"):  # KDD has ensembles with one m only
        gains = [
            (m, many.spread.mean - one.spread.mean)
            for m, many, one in _many_and_one(results, d)
            if many.spread and one.spread
        ]
        if len(gains) < 2:
            compared.append(Comparison(SHORT[d], None))
            continue
        text = ", ".join(f"{gain:+.3f} at {m:,}" for m, gain in gains)
        first = gains[0][1] >= max(gain for _, gain in gains) and gains[0][1] > 0
        compared.append(Comparison(f"{SHORT[d]}: {text}", first))
    return compared


def mnist_ensemble(results: Results) -> list[Comparison]:
    """Compare the NMI of ensembles at m = 100 with that of single runs, on MNIST.

    The claim: the NMI is more than 10 % higher than that of single runs at m = 100, and
    about the same as that of single runs at m = 1,000.
    """
    few, many = results.scaled(100), results.scaled(1000)
    name = f"ensembles (m = {few:,})"
    joined = value(results, "nmi", "mnist", "ensemble", few, name)
    alone = value(results, "nmi", "mnist", "aKKm", few)
    single = value(results, "nmi", "mnist", "aKKm", many, f"single (m = {many:,})")
    gain = Comparison("gain", None)
    if joined.spread is not None and alone.spread is not None:
        more = joined.spread.mean / alone.spread.mean - 1
        gain = Comparison(f"NMI, {joined}: {more:+.1%} over single runs", more > 0.1)
    return [gain, alike("NMI", joined, single)]
