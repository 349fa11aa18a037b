"""Graded checks for common problems of a clustering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from akkm.diffusion.estimate_k import DOMINANT_SHARE, OUTLIER_SHARE
from akkm.inspect._certainty import MIN_AGREEMENT

if TYPE_CHECKING:
    from akkm.inspect._inspection import Inspection

Grade = Literal["fine", "look closer", "doubt"]

# The grade is "doubt" if a value exceeds a maximum or is below a minimum.
_MAX_NEGATIVE = 0.1  # share of the negative eigenvalues in the sum of |eigenvalues|
_MIN_MEAN_SIZE = 5  # mean number of rows per cluster
_NEARLY_ALL = 0.9  # share of rows in one cluster, or of the variance in one column
_MAX_SINGLE = 1 / 4  # share of clusters that have a single row
_NARROW = 0.05  # minimum of `KernelSimilarity.nearest`; else the kernel is too narrow
_WIDE = 0.99  # maximum of `KernelSimilarity.low`; else the kernel is too wide
# The grade is "look closer" above the first limit, and "doubt" above the second.
_UNCERTAIN = (0.1, 1 / 3)  # share of rows whose label is uncertain
_NOT_CAPTURED = (0.2, 0.5)  # share of the kernel matrix's trace outside the span
_LARGEST = (DOMINANT_SHARE, _NEARLY_ALL)  # share of rows in one cluster
# The grade is "look closer" if a cluster has less than this share of the rows. If the
# number of clusters was estimated, the limit is OUTLIER_SHARE instead.
_TINY = 0.001
# The grade is "look closer" if the map shows less than this share of the variance.
_MIN_MAP = 0.1


@dataclass(frozen=True)
class QualityCheck:
    """A check for one common problem, and its outcome.

    Parameters
    ----------
    name : str
        What was checked, such as "largest_cluster".
    grade : {"fine", "look closer", "doubt"}
        The outcome.
    values : mapping of str to value
        The numbers and names on which the grade is based.

    Notes
    -----
    ===================== ===================================================
    name                  the grade is "doubt" (unless stated otherwise) if
    ===================== ===================================================
    converged             a run stopped at max_iter
    clusters_found        clusters are empty
    estimated_clusters    the estimated number of clusters is unsure
    rows_per_cluster      clusters have fewer than 5 rows on average
    largest_cluster       it has over 90 % of the rows (look closer: 80 %)
    smallest_cluster      over 25 % of clusters have a single row; look closer
                          if any has one row or less than 0.1 % of the rows
                          (0.5 %, if the number of clusters is estimated)
    widest_column         it has more than 90 % of the variance
    kernel_width          the kernel is too narrow or too wide
    negative_eigenvalues  they are over 10 % of the sum of |eigenvalues|
    landmark_coverage     landmarks capture less than 50 % of the kernel
                          matrix's trace (look closer: 80 %)
    certainty             over 1/3 of labels are uncertain (look closer: 10 %)
    map                   look closer if it shows less than 10 % of the
                          variance
    ===================== ===================================================

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> facts = Inspection(ApproxKernelKMeans(2, random_state=0).fit(X), X)
    >>> check = facts.checks[2]
    >>> check.name, check.grade, check.values
    ('rows_per_cluster', 'doubt', {'mean': 2.0})
    """

    name: str
    grade: Grade
    values: Mapping[str, Any]


def quality_checks(facts: Inspection) -> tuple[QualityCheck, ...]:
    """All checks that apply to the clustering."""
    checks = [_converged(facts)]
    if not facts.new_rows:  # new rows may be few, or all of one cluster
        checks += [
            _clusters_found(facts),
            _estimated_clusters(facts),
            _rows_per_cluster(facts),
            _largest_cluster(facts),
            _smallest_cluster(facts),
        ]
    checks += [
        _widest_column(facts),
        _kernel_width(facts),
        _negative_eigenvalues(facts),
        _landmark_coverage(facts),
        _certainty(facts),
        _map(facts),
    ]
    return tuple(check for check in checks if check is not None)


def _doubt_if(doubt: bool) -> Grade:
    return "doubt" if doubt else "fine"


def _graded(value: float, look: float, doubt: float) -> Grade:
    return "look closer" if look < value <= doubt else _doubt_if(value > doubt)


def _converged(facts: Inspection) -> QualityCheck | None:
    course = facts.convergence
    if course is None:
        return None
    values = {
        "n_runs": len(course.histories),
        "n_stopped": course.n_stopped,
        "n_iter": max(map(len, course.histories)),
        "max_iter": course.max_iter,
    }
    return QualityCheck("converged", _doubt_if(course.n_stopped > 0), values)


def _clusters_found(facts: Inspection) -> QualityCheck:
    values = {"found": len(facts.clusters), "requested": facts.n_clusters}
    grade = _doubt_if(values["found"] < values["requested"])
    return QualityCheck("clusters_found", grade, values)


def _estimated_clusters(facts: Inspection) -> QualityCheck | None:
    evidence = facts.evidence
    if evidence is None or facts.model.n_clusters != "auto":
        return None
    sure, why = evidence.sure, evidence.why
    values = {"n_clusters": evidence.n_clusters, "sure": sure, "why": why}
    return QualityCheck("estimated_clusters", _doubt_if(not sure), values)


def _rows_per_cluster(facts: Inspection) -> QualityCheck:
    mean = facts.n_clustered / max(1, len(facts.clusters))
    return QualityCheck(
        "rows_per_cluster", _doubt_if(mean < _MIN_MEAN_SIZE), {"mean": mean}
    )


def _largest_cluster(facts: Inspection) -> QualityCheck | None:
    if len(facts.clusters) < 2:
        return None
    k = int(facts.sizes.argmax())
    share = float(facts.sizes[k] / facts.n_rows)
    values = {"cluster": k, "share": share}
    return QualityCheck("largest_cluster", _graded(share, *_LARGEST), values)


def _smallest_cluster(facts: Inspection) -> QualityCheck | None:
    clusters, sizes = facts.clusters, facts.sizes[facts.clusters]
    if len(sizes) < 2:
        return None
    single = clusters[sizes == 1]
    limit = OUTLIER_SHARE if facts.model.n_clusters == "auto" else _TINY
    tiny = clusters[sizes < limit * facts.n_rows]
    if not len(tiny):
        tiny = single
    values = {
        "size": int(sizes.min()),
        "n_clusters": len(sizes),
        "n_single": len(single),
        "tiny": tiny.tolist(),
        "tiny_share": limit,
    }
    grade: Grade = "look closer" if len(tiny) else "fine"
    if len(single) > _MAX_SINGLE * len(sizes):
        grade = "doubt"
    return QualityCheck("smallest_cluster", grade, values)


def _widest_column(facts: Inspection) -> QualityCheck | None:
    if facts.columns is None or facts.n_columns < 2:
        return None
    share = facts.columns.widest_share
    values = {"column": facts.columns.widest, "share": share}
    return QualityCheck("widest_column", _doubt_if(share > _NEARLY_ALL), values)


def _kernel_width(facts: Inspection) -> QualityCheck | None:
    found = facts.similarity
    if found is None:
        return None
    narrow, wide = found.nearest < _NARROW, found.low > _WIDE
    values = {
        "nearest": found.nearest,
        "typical": found.typical,
        "too_narrow": narrow,
        "has_gamma": hasattr(facts.model.kernel_, "gamma"),
    }
    return QualityCheck("kernel_width", _doubt_if(narrow or wide), values)


def _negative_eigenvalues(facts: Inspection) -> QualityCheck | None:
    share = facts.landmarks.negative_mass if facts.landmarks else None
    if share is None or facts.model.kernel_.psd:
        return None
    grade = _doubt_if(share > _MAX_NEGATIVE)
    return QualityCheck("negative_eigenvalues", grade, {"share": share})


def _landmark_coverage(facts: Inspection) -> QualityCheck | None:
    if facts.landmarks is None or facts.landmarks.captured is None:
        return None
    share = facts.landmarks.captured
    grade = _graded(1 - share, *_NOT_CAPTURED)
    return QualityCheck("landmark_coverage", grade, {"share": share})


def _certainty(facts: Inspection) -> QualityCheck | None:
    if facts.certainty is None:
        return None
    share = facts.certainty.uncertain_share
    votes = facts.certainty.from_votes
    values = {"uncertain": share, "from_votes": votes, "limit": MIN_AGREEMENT}
    return QualityCheck("certainty", _graded(share, *_UNCERTAIN), values)


def _map(facts: Inspection) -> QualityCheck:
    grade: Grade = "look closer" if facts.map.share < _MIN_MAP else "fine"
    return QualityCheck("map", grade, {"share": facts.map.share})
