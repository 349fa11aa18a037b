"""What was checked before a result is trusted, how it came out, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from akkm.inspect._certainty import AGREEMENT
from akkm.inspect._facts import Facts
from akkm.report._html import percent, short

# How a check comes out.
FINE, LOOK, DOUBT = "fine", "look closer", "doubt"

_NEGATIVE = 0.1  # share of the eigenvalues
_FEWEST = 5  # rows per cluster, on average
_NEARLY_ALL = 0.9  # of the rows in one cluster, of the variance in one column
_SINGLE = 1 / 4  # of the clusters have a single row
_TINY = 0.001  # of the rows in a cluster
_NARROW, _WIDE = 0.05, 0.99  # similarity of rows
# Beyond the first of each a look is due, beyond the second a doubt.
_UNSURE = (0.1, 1 / 3)
_CAPTURED = (0.8, 0.5)
_MAPPED = 0.1
# Clusters that are named one by one.
_NAMED = 8


@dataclass(frozen=True)
class Check:
    """A question to the result."""

    name: str  # what was looked at
    found: str  # the answer in a few words
    grade: str = FINE
    advice: str = ""  # what a grade other than fine means, and what to do


def checks(facts: Facts) -> list[Check]:
    """All that can be asked of a clustering; what makes no sense for it is left out."""
    found = [*_settled(facts)]
    if not facts.new_rows:  # these may be few, and of any cluster
        found += [
            *_clusters(facts),
            *_counted(facts),
            *_average(facts),
            *_largest(facts),
        ]
        found += _smallest(facts)
    return [
        *found,
        *_columns(facts),
        *_width(facts),
        *_definite(facts),
        *_covered(facts),
        *_sure(facts),
        *_mapped(facts),
    ]


def _settled(facts: Facts) -> Iterator[Check]:
    course = facts.convergence
    if course is None:
        return
    runs = len(course.histories)
    name = "Labels settled in the fit" if facts.new_rows else "Labels settled"
    if not course.unsettled:
        longest = max(map(len, course.histories))
        yield Check(name, f"within {longest:,} iterations")
        return
    who = "the run" if runs == 1 else f"{course.unsettled} of {runs} runs"
    yield Check(
        name,
        "no" if runs == 1 else f"{runs - course.unsettled} of {runs} runs",
        DOUBT,
        f"Not converged: {who} stopped at max_iter = {course.max_iter:,} while labels "
        "were still changing. Raise max_iter.",
    )


def _clusters(facts: Facts) -> Iterator[Check]:
    asked, found = facts.model._wanted, len(facts.clusters)
    fewer = found < asked
    yield Check(
        "Clusters found",
        f"{found:,} of {asked:,}",
        DOUBT if fewer else FINE,
        f"Fewer clusters than asked for: {found} instead of {asked}. There may be "
        "fewer distinct rows than clusters; ask for fewer.",
    )


def _counted(facts: Facts) -> Iterator[Check]:
    evidence = facts.evidence
    if evidence is None or facts.model.n_clusters != "auto":
        return
    sure = "sure" if evidence.sure else "unsure"
    yield Check(
        "Number of clusters, counted",
        f"{evidence.n_clusters}, {sure}",
        FINE if evidence.sure else DOUBT,
        f"Unsure of {evidence.n_clusters} clusters: {evidence.why}. "
        "Look at the curve below, and give a number that you have a reason for.",
    )


def _average(facts: Facts) -> Iterator[Check]:
    mean = facts.n / max(1, len(facts.clusters))
    yield Check(
        "Rows per cluster, on average",
        f"{mean:,.0f}" if mean >= 10 else f"{mean:.1f}",
        DOUBT if mean < _FEWEST else FINE,
        f"So many clusters that each has {mean:.1f} rows on average: groups so small "
        "come out of any data. Ask for fewer clusters.",
    )


def _largest(facts: Facts) -> Iterator[Check]:
    if len(facts.clusters) < 2:
        return
    k = int(facts.sizes.argmax())
    share = float(facts.sizes[k] / facts.n)
    yield Check(
        "Largest cluster",
        f"{percent(share)} of the rows",
        DOUBT if share > _NEARLY_ALL else FINE,
        f"Nearly all rows are in one cluster: cluster {k} has {percent(share)} of "
        "them. The others may be a few outliers, or the kernel too narrow. Look at "
        "these rows; leave outliers out, scale the columns or try a smaller gamma.",
    )


def _smallest(facts: Facts) -> Iterator[Check]:
    sizes = facts.sizes[facts.clusters]
    if len(sizes) < 2:
        return
    single = int((sizes == 1).sum())
    name, found = "Smallest cluster", f"{sizes.min():,} rows"
    if single:
        found = f"{single:,} of {len(sizes):,} have a single row"
    if single > _SINGLE * len(sizes):
        yield Check(
            name,
            found,
            DOUBT,
            f"{single:,} of {len(sizes):,} clusters have a single row: outliers, not "
            "groups. Ask for fewer clusters, leave outliers out, or try a smaller "
            "gamma.",
        )
        return
    tiny = [k for k in facts.clusters if facts.sizes[k] < _TINY * facts.n]
    tiny = tiny or [k for k in facts.clusters if facts.sizes[k] == 1]
    named = ", ".join(map(str, tiny[:_NAMED])) + (" …" if len(tiny) > _NAMED else "")
    these = f"Cluster {named} has" if len(tiny) == 1 else f"Clusters {named} have"
    few = "a single row" if single == len(tiny) else f"less than {percent(_TINY)}"
    few += "" if single == len(tiny) else " of the rows"
    advice = f"{these} {few}: outliers perhaps, rather than groups."
    yield Check(name, found, LOOK if tiny else FINE, advice)


def _columns(facts: Facts) -> Iterator[Check]:
    if facts.features is None or facts.d < 2:
        return
    widest, share = short(facts.features.widest), facts.features.widest_share
    yield Check(
        "Widest column",
        f"{widest}: {percent(share)} of the variance",
        DOUBT if share > _NEARLY_ALL else FINE,
        f"One column drowns the others: {widest} has {percent(share)} of the variance "
        "of all columns, so that distances say little else. Scale the columns "
        "(scikit-learn's StandardScaler, or --scale standard).",
    )


def _width(facts: Facts) -> Iterator[Check]:
    alike = facts.similarity
    if alike is None:
        return
    name = "Similarity of rows (k = 1: equal)"
    found = f"{alike.pairs:.2f} typically, {alike.nearest:.2f} to the nearest"
    gamma = hasattr(facts.model.kernel_, "gamma")
    like = ", such as gamma='median', or leave it at its default" if gamma else ""
    if alike.nearest < _NARROW:
        cure = "a smaller gamma" if gamma else "a wider kernel"
        yield Check(
            name,
            found,
            DOUBT,
            "The kernel is too narrow: most rows resemble no other row at all, so that "
            f"no groups can be seen. Take {cure}{like}.",
        )
    elif alike.least > _WIDE:
        cure = "a larger gamma" if gamma else "a narrower kernel"
        yield Check(
            name,
            found,
            DOUBT,
            "The kernel is too wide: to it nearly all rows are alike, so that it sees "
            f"no more than k-means does. Take {cure}{like}.",
        )
    else:
        yield Check(name, found)


def _definite(facts: Facts) -> Iterator[Check]:
    mass = facts.landmarks.negative_mass if facts.landmarks else None
    if mass is None or facts.model.kernel_.psd:
        return
    yield Check(
        "Negative part of the kernel",
        percent(mass),
        DOUBT if mass > _NEGATIVE else FINE,
        f"The kernel is far from positive definite: {percent(mass)} of its "
        "eigenvalues' absolute sum is negative, so distances mean little. Choose "
        "other kernel parameters or another kernel.",
    )


def _covered(facts: Facts) -> Iterator[Check]:
    marks = facts.landmarks
    if marks is None or marks.captured is None:
        return
    share = percent(marks.captured)
    text = (
        f"The landmarks see only {share} of the data as the kernel sees them. Take "
        "more landmarks or a wider kernel (smaller gamma)"
    )
    grade = _grade(-marks.captured, *(-limit for limit in _CAPTURED))
    if grade == LOOK:
        text += ", and see whether clusters change"
    yield Check("Covered by the landmarks", share, grade, f"{text}.")


def _sure(facts: Facts) -> Iterator[Check]:
    if facts.certainty is None:
        return
    unsure = facts.certainty.unsure()
    grade = _grade(unsure, *_UNSURE)
    share = percent(unsure)
    if facts.agreement:
        yield Check(
            "Rows on which members disagree",
            share,
            grade,
            f"Members disagree: for {share} of the rows fewer than "
            f"{percent(AGREEMENT)} of them share the verdict. Take more landmarks, or "
            "another number of clusters.",
        )
        return
    text = f"{share} of the rows are nearly between two clusters. "
    if grade == DOUBT:
        text = f"Borders run through dense regions: {text}"
    yield Check(
        "Rows nearly between two clusters",
        share,
        grade,
        f"{text}Another number of clusters, another kernel or width may separate them "
        "better, or there are no clusters.",
    )


def _mapped(facts: Facts) -> Iterator[Check]:
    share = percent(facts.plane.share)
    yield Check(
        "Shown by the map",
        f"{share} of the variance",
        LOOK if facts.plane.share < _MAPPED else FINE,
        f"The map shows {share} of how rows differ; do not judge clusters by it.",
    )


def _grade(value: float, look: float, doubt: float) -> str:
    return DOUBT if value > doubt else LOOK if value > look else FINE


def tally(found: list[Check]) -> str:
    """How many checks came out how, in a sentence."""
    grades = [check.grade for check in found]
    parts = [f"{grades.count(FINE)} fine"]
    for grade, text in ((LOOK, "to look at more closely"), (DOUBT, "with a doubt")):
        if count := grades.count(grade):
            parts.append(f"{count} {text}")
    return f"{len(found)} checks: {', '.join(parts)}."
