"""Where a result should not be trusted, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from akkm.report._facts import Facts
from akkm.report._html import percent

# Beyond these, a result is worth a word of warning.
_NEGATIVE = 0.1
_TINY = 0.001
_UNSURE = 1 / 3
_CAPTURED = 0.5
# Rows below are nearly between two clusters; members of an ensemble that agree.
BORDER = 1 / 3
AGREEMENT = 0.6
# Clusters that are named one by one.
_NAMED = 8


def doubts(facts: Facts) -> list[str]:
    """One sentence or two for each reason to doubt a clustering."""
    return [
        *_unsettled(facts),
        *_fewer(facts),
        *_negative(facts),
        *_unsure(facts),
        *_uncaptured(facts),
        *_tiny(facts),
    ]


def unsure_share(facts: Facts) -> float:
    """Share of the rows that are nearly between two clusters."""
    assert facts.certainty is not None
    limit = AGREEMENT if facts.agreement else BORDER
    low = facts.certainty < limit
    return float(np.average(low, weights=facts.certainty_weights))


def _unsettled(facts: Facts) -> Iterator[str]:
    course = facts.convergence
    if course is None or not course.unsettled:
        return
    runs = len(course.histories)
    who = "the run" if runs == 1 else f"{course.unsettled} of {runs} runs"
    yield (
        f"Not converged: {who} stopped at max_iter = {course.max_iter:,} while labels "
        "were still changing. Raise max_iter."
    )


def _fewer(facts: Facts) -> Iterator[str]:
    asked, found = facts.model.n_clusters, len(facts.clusters)
    if found < asked:
        yield (
            f"Fewer clusters than asked for: {found} instead of {asked}. There may be "
            "fewer distinct rows than clusters; ask for fewer."
        )


def _negative(facts: Facts) -> Iterator[str]:
    mass = facts.landmarks.negative_mass if facts.landmarks else None
    if mass is not None and mass > _NEGATIVE:
        yield (
            f"The kernel is far from positive definite: {percent(mass)} of its "
            "eigenvalues' absolute sum is negative, so distances mean little. Choose "
            "other kernel parameters or another kernel."
        )


def _unsure(facts: Facts) -> Iterator[str]:
    if facts.certainty is None or (share := unsure_share(facts)) <= _UNSURE:
        return
    if facts.agreement:
        yield (
            f"Members disagree: for {percent(share)} of the rows fewer than "
            f"{percent(AGREEMENT)} of them share the verdict. Take more landmarks, or "
            "another number of clusters."
        )
    else:
        yield (
            f"Borders run through dense regions: {percent(share)} of the rows are "
            "nearly between two clusters. Another number of clusters, another kernel "
            "or width may separate them better, or there are no clusters."
        )


def _uncaptured(facts: Facts) -> Iterator[str]:
    marks = facts.landmarks
    if marks is None or marks.captured is None or marks.captured >= _CAPTURED:
        return
    yield (
        f"The landmarks see only {percent(marks.captured)} of the data as the kernel "
        "sees them. Take more landmarks or a wider kernel (smaller gamma)."
    )


def _tiny(facts: Facts) -> Iterator[str]:
    tiny = [k for k in facts.clusters if facts.sizes[k] < _TINY * facts.n]
    if not tiny:
        return
    named = ", ".join(map(str, tiny[:_NAMED])) + (" …" if len(tiny) > _NAMED else "")
    these = f"Cluster {named} has" if len(tiny) == 1 else f"Clusters {named} have"
    yield (
        f"{these} less than {percent(_TINY)} of the rows: outliers perhaps, rather "
        "than groups."
    )
