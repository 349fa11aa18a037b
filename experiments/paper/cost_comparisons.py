"""Compare the time and memory of methods, to check the paper's claims.

`experiments.paper` explains the names of the methods.
"""

from __future__ import annotations

import numpy as np

from experiments.paper.quality_comparisons import (
    OTHERS,
    SHORT,
    setting,
    sizes_of,
    value,
    values,
)
from experiments.paper.results import LARGE, SMALL, Results, Spread
from experiments.paper.verdicts import (
    Comparison,
    Comparisons,
    Value,
    above,
    below,
    compare_means,
    three_digits,
)

# The paper's memory limit in gigabytes.
_MEMORY_LIMIT = 40
# A time is "much longer" than another if it is more than this many times as long.
_MUCH_LONGER = 10


def kernel_time_saved(results: Results) -> list[Comparison]:
    """Compare on images: does aKKm save over 90 % of the time for kernel values?"""
    data = "imagenet12"
    full = results.get("seconds", data, "full kernel")

    def rule(part: float, full: float) -> tuple[str, bool]:
        saved = 1 - part / full
        return f"{saved:.1%} saved", saved > 0.9

    return [
        compare_means(
            setting(data, m), [results.get("seconds", data, "kernel", m), full], rule
        )
        for m in results.sizes(data)
    ]


def faster(
    data: str, other: str, most: int = 10**9, *, ours: str = "aKKm"
) -> Comparisons:
    """Compare: is the method `ours` faster than `other` at every m up to `most`?"""
    return lambda results: [
        below(setting(data, m), *values(results, "seconds", data, (ours, other), m))
        for m in sizes_of(results, data, 0, most)
    ]


def faster_than_exact(results: Results) -> list[Comparison]:
    """Compare: is aKKm faster than kernel k-means?

    On images, kernel k-means gets a precomputed kernel matrix. The time to compute this
    matrix is added to the time of kernel k-means.
    """
    compared = []
    for data in SMALL:
        exact = value(results, "seconds", data, "KKm")
        if data == "imagenet12":
            matrix = results.get("seconds", data, "full kernel")
            exact = Value("KKm and its matrix", _plus(exact.spread, matrix), " s")
        compared += [
            below(setting(data, m), value(results, "seconds", data, "aKKm", m), exact)
            for m in results.sizes(data)
        ]
    return compared


def _plus(a: Spread | None, b: Spread | None) -> Spread | None:
    """Return a + b with the standard deviation of `a`; `b` was measured only once."""
    return None if a is None or b is None else Spread(a.mean + b.mean, a.sd, a.n)


def kernel_and_clustering(data: str, *, more: str) -> Comparisons:
    """Compare the time to compute kernel values with the time of clustering.

    `more` says which of them is claimed to take longer: "kernel" or "clustering".
    """
    compare = above if more == "clustering" else below

    def comparisons(results: Results) -> list[Comparison]:
        compared = []
        for m in results.sizes(data):
            fit = results.get("seconds", data, "aKKm", m)
            kernel = results.get("seconds", data, "kernel", m)
            rest = None
            if fit is not None and kernel is not None:
                rest = Spread(fit.mean - kernel.mean, fit.sd, fit.n)
            both = Value("clustering", rest, " s"), Value("kernel", kernel, " s")
            compared.append(compare(setting(data, m), *both))
        return compared

    return comparisons


def faster_with_few_landmarks(data: str, ours: str, other: str) -> Comparisons:
    """Compare: is `ours` with 100 landmarks faster than `other` with 1,000?"""

    def comparisons(results: Results) -> list[Comparison]:
        sizes = {ours: results.scaled(100), other: results.scaled(1000)}
        both = (
            value(results, "seconds", data, method, m, f"{method} (m = {m:,})")
            for method, m in sizes.items()
        )
        return [below(SHORT[data], *both)]

    return comparisons


def spectral_grows(results: Results) -> list[Comparison]:
    """Compare: does the time of nysSC grow about as fast as m³, from m = 1,000 on?

    A power m^p is fitted to the times. The claim holds if p is at least 2.5 or the p of
    the paper's times, whichever is smaller.
    """
    data = "covtype"
    sizes = sizes_of(results, data, 1000)
    ours = _power(sizes, [results.get("seconds", data, "nysSC", m) for m in sizes])
    theirs = _power(sizes, [results.paper("seconds", data, "nysSC", m) for m in sizes])
    if ours is None:
        return [Comparison(SHORT[data], None)]
    text = f"{SHORT[data]}: power {ours:.2f}"
    text += "" if theirs is None else f", in the paper {theirs:.2f}"
    return [Comparison(text, ours >= min(2.5, theirs or 2.5))]


def _power(sizes: list[int], times: list[Spread | None]) -> float | None:
    there = [(m, t.mean) for m, t in zip(sizes, times, strict=True) if t]
    if len(there) < 2:
        return None
    log_m, log_time = np.log(np.array(there)).T
    return float(np.polyfit(log_m, log_time, 1)[0])


def crossing(results: Results) -> list[Comparison]:
    """Compare the times of nysSC and aKKm.

    The claim is that nysSC is faster at the smallest m, and slower at the largest m.
    """
    data, sizes = "covtype", results.sizes("covtype")
    return [
        compare(
            setting(data, m), *values(results, "seconds", data, ("aKKm", "nysSC"), m)
        )
        for compare, m in ((above, sizes[0]), (below, sizes[-1]))
    ]


def less_than_the_matrix(results: Results) -> list[Comparison]:
    """Compare: is aKKm's peak memory below the size of a float64 kernel matrix?"""

    def rule(used: float, matrix: float) -> tuple[str, bool]:
        return f"{used / 1e9:.1f} of {matrix / 1e9:,.0f} GB", used < matrix

    return [
        compare_means(
            setting(data, m),
            [results.get(x, data, "aKKm", m) for x in ("peak", "matrix")],
            rule,
        )
        for data in ("mnist", *LARGE)
        for m in results.sizes(data)
    ]


def little_memory(results: Results) -> list[Comparison]:
    """Compare: is aKKm's peak memory on the large data sets below 40 GB?"""

    def rule(used: float) -> tuple[str, bool]:
        return f"{used / 1e9:.1f} GB", used / 1e9 < _MEMORY_LIMIT

    return [
        compare_means(setting(data, m), [results.get("peak", data, "aKKm", m)], rule)
        for data in LARGE
        for m in results.sizes(data)
    ]


def leaders_too_slow(results: Results) -> list[Comparison]:
    """Compare: does lKKm take more than 24 hours on the large data sets?"""

    def rule(took: float) -> tuple[str, bool]:
        return f"{three_digits(took)} s with about 1,000 leaders", took > 24 * 3600

    return [
        compare_means(SHORT[data], [results.get("seconds", data, "lKKm")], rule)
        for data in LARGE
    ]


def uniform_is_cheapest(results: Results) -> list[Comparison]:
    """Compare: does uniform sampling take less time than every other strategy?"""
    return [
        below(
            setting(d, m),
            value(results, "sampling", d, "aKKm", m, "uniform"),
            value(results, "sampling", d, "aKKm", m, other, landmarks=other),
        )
        for d in SMALL
        for m in results.sizes(d)
        for other in OTHERS
    ]


def costly_samplings(results: Results) -> list[Comparison]:
    """Compare the times of expensive and cheap sampling strategies.

    The claim is that column-norm and k-means sampling take more than ten times as long
    as diagonal sampling.
    """

    def rule(slow: float, cheap: float) -> tuple[str, bool]:
        ratio = slow / cheap
        return f"{ratio:,.0f} times as long as diagonal", ratio > _MUCH_LONGER

    def took(data: str, m: int, strategy: str) -> Spread | None:
        return results.get("sampling", data, "aKKm", m, landmarks=strategy)

    return [
        compare_means(
            f"{setting(data, m)}, {strategy}",
            [took(data, m, strategy), took(data, m, "diagonal")],
            rule,
        )
        for data in SMALL
        for m in results.sizes(data)
        for strategy in ("column-norm", "k-means")
    ]


def consensus_is_quick(results: Results) -> list[Comparison]:
    """Compare: does MCLA take less than a tenth of an ensemble's time?"""

    def rule(consensus: float, total: float) -> tuple[str, bool]:
        return f"{consensus / total:.1%} of the time", consensus / total < 0.1

    return [
        compare_means(
            setting(data, m),
            [results.get(x, data, "ensemble", m) for x in ("consensus", "seconds")],
            rule,
        )
        for data in (*SMALL, *LARGE)
        for m in results.sizes(data, "ensemble")
    ]
