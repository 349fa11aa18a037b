"""How a claim is judged: comparisons of numbers over seeds, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from akkm.experiments._results import Results, Spread

# Numbers from 0 to 1 that are as near as this are alike, however sure we are of them.
_ALIKE = 0.02
RULE = (
    "A number is above another if the difference of the means over seeds is more than "
    "two standard errors of that difference; two numbers (NMI, ARI, error reduction) "
    f"are alike if they differ by no more than that, or by no more than {_ALIKE}. A "
    "claim holds if all comparisons that it makes come out so, in part if some do."
)
HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold here"
OPEN, SO_FAR = "not measured yet", "holds so far"


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
    why: str = ""  # background that is true whatever the verdict


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
    if not found:
        verdict = OPEN
    elif good == len(found):
        whole = results.complete or good == len(checks)
        verdict = HOLDS if whole else SO_FAR
    else:
        verdict = PARTLY if good else FAILS
    parts = [f"{good} of {len(found)}"] if len(found) > 1 else []
    if len(found) < len(checks):
        parts.append(f"{len(checks) - len(found)} not measured yet")
    first = sorted(found, key=lambda check: bool(check.holds))  # what fails
    parts += [f"{'✓' if check.holds else '✗'} {check.text}" for check in first]
    return Verdict(claim, verdict, "; ".join(parts))


def noise(a: Spread, b: Spread) -> float:
    """Two standard errors of the difference of two means."""
    return 2 * sqrt(a.sd**2 / a.n + b.sd**2 / b.n)


def above(what: str, a: Spread | None, b: Spread | None) -> Check:
    """Whether a is above b."""
    if a is None or b is None:
        return Check(what, None)
    holds = a.mean - b.mean > noise(a, b)
    return Check(f"{what}: {number(a)} against {number(b)}", holds)


def below(what: str, a: Spread | None, b: Spread | None) -> Check:
    """Whether a is below b."""
    check = above(what, b, a)
    if a is None or b is None:
        return check
    return Check(f"{what}: {number(a)} against {number(b)}", check.holds)


def alike(what: str, a: Spread | None, b: Spread | None) -> Check:
    """Whether a and b, from 0 to 1, are about the same."""
    if a is None or b is None:
        return Check(what, None)
    holds = abs(a.mean - b.mean) <= max(noise(a, b), _ALIKE)
    return Check(f"{what}: {number(a)} against {number(b)}", holds)


def no_worse(what: str, a: Spread | None, b: Spread | None) -> Check:
    """Whether a is above b or alike."""
    check = alike(what, a, b)
    return Check(check.text, check.holds or above(what, a, b).holds)


def number(spread: Spread) -> str:
    """Three digits."""
    value = spread.mean
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
