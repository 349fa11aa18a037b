"""Compare means over seeds, and combine the comparisons into a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from scipy.stats import t

from experiments.paper.results import Results, Spread

# Numbers from 0 to 1 are alike if their difference is not significant, or if it is at
# most _ALIKE and at most the share _ALIKE_SHARE of the larger number.
_ALIKE, _ALIKE_SHARE = 0.02, 0.05
RULE = (
    "A number is above another if its mean over seeds is significantly larger by "
    "Welch's test at the 5 % level. A single seed is not enough for this test. Two "
    "values of NMI, ARI or error reduction are alike if they don't differ "
    f"significantly. They are also alike if they differ by at most {_ALIKE} and by at "
    f"most {_ALIKE_SHARE:.0%} of the larger value. So with many seeds, two numbers can "
    "be alike although one is above the other. Claims say 'as good as', 'equals' or "
    "'the same' for numbers that are alike. A claim holds if all of its comparisons "
    "hold. It holds in part if only some of them hold."
)
HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold here"
OPEN, SO_FAR = "not measured yet", " so far"
# Of the comparisons that hold, at most this many are shown. Comparisons that do not
# hold are always shown.
_MOST_SHOWN = 6


@dataclass(frozen=True)
class Comparison:
    """One comparison of measured numbers, and whether it holds."""

    text: str  # what is compared, with the numbers
    holds: bool | None  # None if a number is missing


Comparisons = Callable[[Results], Sequence[Comparison]]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper that a measurement can check."""

    place: str  # section, table or figure of the paper
    text: str  # in our words
    comparisons: Comparisons
    remark: str = ""  # what the claim means, or why the verdict is as it is


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, and the numbers that support it."""

    claim: Claim
    verdict: str
    figures: str


def judge(claim: Claim, results: Results) -> Verdict:
    """Return the verdict on a claim from stored results."""
    comparisons = claim.comparisons(results)
    measured = [c for c in comparisons if c.holds is not None]
    n_hold = sum(bool(c.holds) for c in measured)
    n_missing = len(comparisons) - len(measured)
    if not measured:
        verdict = OPEN
    else:
        verdict = HOLDS if n_hold == len(measured) else PARTLY if n_hold else FAILS
        verdict += SO_FAR if n_missing and not results.complete else ""
    parts = [f"{n_hold} of {len(measured)}"] if len(measured) > 1 else []
    if n_missing:
        reason = "without a number" if results.complete else OPEN
        parts.append(f"{n_missing} {reason}")
    parts += [f"✗ {c.text}" for c in measured if not c.holds]
    parts += [f"✓ {c.text}" for c in measured if c.holds][:_MOST_SHOWN]
    parts += [f"✓ {n_hold - _MOST_SHOWN} more"] if n_hold > _MOST_SHOWN else []
    return Verdict(claim, verdict, "; ".join(parts))


def significant_difference(a: Spread, b: Spread) -> float:
    """Return the difference of two means above which Welch's test is significant."""
    errors = a.sd**2 / a.n, b.sd**2 / b.n
    if not sum(errors):
        return 0.0
    freedom = sum(errors) ** 2 / (
        errors[0] ** 2 / (a.n - 1) + errors[1] ** 2 / (b.n - 1)
    )
    return float(t.ppf(0.975, freedom)) * sqrt(sum(errors))


@dataclass(frozen=True)
class Value:
    """A method's number in a comparison, and how to print it."""

    name: str
    spread: Spread | None
    unit: str = ""

    def __str__(self) -> str:
        assert self.spread is not None
        return f"{self.name} {three_digits(self.spread.mean)}{self.unit}"


def above(what: str, a: Value, b: Value) -> Comparison:
    """Compare: is `a` significantly above `b`?"""
    return _compare(what, a, b, _exceeds)


def below(what: str, a: Value, b: Value) -> Comparison:
    """Compare: is `a` significantly below `b`?"""
    return _compare(what, a, b, lambda x, y: _exceeds(y, x))


def alike(what: str, a: Value, b: Value) -> Comparison:
    """Compare: are `a` and `b`, numbers from 0 to 1, alike as defined in `RULE`?"""
    return _compare(what, a, b, _is_alike)


def worse(what: str, a: Value, b: Value) -> Comparison:
    """Compare: is the mean of `a` below that of `b`, and are they not alike?"""
    return _compare(what, a, b, lambda x, y: x.mean < y.mean and not _is_alike(x, y))


def no_worse(what: str, a: Value, b: Value) -> Comparison:
    """Compare: is the mean of `a` at least that of `b`, or are they alike?"""
    return _compare(what, a, b, lambda x, y: x.mean >= y.mean or _is_alike(x, y))


def _exceeds(a: Spread, b: Spread) -> bool:
    return a.mean - b.mean > significant_difference(a, b)


def _is_alike(a: Spread, b: Spread) -> bool:
    tolerance = min(_ALIKE, _ALIKE_SHARE * max(abs(a.mean), abs(b.mean)))
    return abs(a.mean - b.mean) <= max(significant_difference(a, b), tolerance)


def _compare(
    what: str, a: Value, b: Value, holds: Callable[[Spread, Spread], bool]
) -> Comparison:
    if any(x.spread is None or x.spread.n < 2 for x in (a, b)):
        return Comparison(what, None)
    assert a.spread is not None
    assert b.spread is not None
    return Comparison(f"{what}: {a}, {b}", holds(a.spread, b.spread))


def compare_means(
    what: str, spreads: Sequence[Spread | None], rule: Callable[..., tuple[str, bool]]
) -> Comparison:
    """Compare means by a rule that returns a text and whether the comparison holds."""
    means = [spread.mean for spread in spreads if spread is not None]
    if len(means) < len(spreads):
        return Comparison(what, None)
    text, holds = rule(*means)
    return Comparison(f"{what}: {text}", holds)


def three_digits(value: float) -> str:
    """Format a number with three digits; from 100 on, as a whole number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
