"""How a claim is judged: comparisons of numbers over seeds, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from scipy.stats import t

from experiments._results import Results, Spread

# Numbers from 0 to 1 that are as near as this are alike, however sure we are of them;
# so near, and by such a share of the larger one.
_ALIKE, _SHARE = 0.02, 0.05
RULE = (
    "A number is above another if their means over seeds differ by more than chance "
    "would have it (Welch's test, 5 %; one seed alone is no measurement). Two numbers "
    "(NMI, ARI, error reduction) are alike if they don't, or if they differ by no more "
    f"than {_ALIKE} and {_SHARE:.0%} of the larger one: with many seeds a number may "
    "well be above another and alike. A claim holds if all comparisons that it makes "
    "come out so, in part if some do."
)
HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold here"
OPEN, SO_FAR = "not measured yet", " so far"
# Comparisons that come out as claimed; all that do not are shown.
_SHOWN = 6


@dataclass(frozen=True)
class Check:
    """One comparison."""

    text: str  # of what, and the numbers
    holds: bool | None  # None: a number is missing


Checks = Callable[[Results], Sequence[Check]]


@dataclass(frozen=True)
class Claim:
    """Something the paper says that a measurement can check."""

    place: str  # in the paper
    words: str  # ours
    checks: Checks
    why: str = ""  # what is meant, or why it came out as it did on the real data


@dataclass(frozen=True)
class Verdict:
    """What measurements say about a claim."""

    claim: Claim
    verdict: str
    figures: str


def judge(claim: Claim, results: Results) -> Verdict:
    """The verdict, from stored results."""
    checks = claim.checks(results)
    found = [check for check in checks if check.holds is not None]
    good = sum(bool(check.holds) for check in found)
    missing = len(checks) - len(found)
    if not found:
        verdict = OPEN
    else:
        verdict = HOLDS if good == len(found) else PARTLY if good else FAILS
        verdict += SO_FAR if missing and not results.complete else ""
    parts = [f"{good} of {len(found)}"] if len(found) > 1 else []
    if missing:
        parts.append(f"{missing} {'without a number' if results.complete else OPEN}")
    parts += [f"✗ {check.text}" for check in found if not check.holds]
    parts += [f"✓ {check.text}" for check in found if check.holds][:_SHOWN]
    parts += [f"✓ {good - _SHOWN} more"] if good > _SHOWN else []
    return Verdict(claim, verdict, "; ".join(parts))


def noise(a: Spread, b: Spread) -> float:
    """The difference of two means that chance makes in one of twenty cases."""
    errors = a.sd**2 / a.n, b.sd**2 / b.n
    if not sum(errors):
        return 0.0
    freedom = sum(errors) ** 2 / (
        errors[0] ** 2 / (a.n - 1) + errors[1] ** 2 / (b.n - 1)
    )
    return float(t.ppf(0.975, freedom)) * sqrt(sum(errors))


@dataclass(frozen=True)
class Value:
    """A number of a method, as a comparison shows it."""

    of: str
    spread: Spread | None
    unit: str = ""

    def __str__(self) -> str:
        assert self.spread is not None
        return f"{self.of} {number(self.spread)}{self.unit}"


def above(what: str, a: Value, b: Value) -> Check:
    """Whether a is above b."""
    return _compared(what, a, b, lambda x, y: x.mean - y.mean > noise(x, y))


def below(what: str, a: Value, b: Value) -> Check:
    """Whether a is below b."""
    return _compared(what, a, b, lambda x, y: y.mean - x.mean > noise(x, y))


def alike(what: str, a: Value, b: Value) -> Check:
    """Whether a and b, from 0 to 1, are about the same."""
    return _compared(what, a, b, _near)


def worse(what: str, a: Value, b: Value) -> Check:
    """Whether a is below b, and not alike."""
    return _compared(what, a, b, lambda x, y: x.mean < y.mean and not _near(x, y))


def no_worse(what: str, a: Value, b: Value) -> Check:
    """Whether a is above b or alike."""
    return _compared(what, a, b, lambda x, y: x.mean >= y.mean or _near(x, y))


def _near(a: Spread, b: Spread) -> bool:
    little = min(_ALIKE, _SHARE * max(abs(a.mean), abs(b.mean)))
    return abs(a.mean - b.mean) <= max(noise(a, b), little)


def _compared(
    what: str, a: Value, b: Value, holds: Callable[[Spread, Spread], bool]
) -> Check:
    if any(x.spread is None or x.spread.n < 2 for x in (a, b)):
        return Check(what, None)
    assert a.spread is not None
    assert b.spread is not None
    return Check(f"{what}: {a}, {b}", holds(a.spread, b.spread))


def number(spread: Spread) -> str:
    """Three digits."""
    value = spread.mean
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
