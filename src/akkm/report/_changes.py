"""The page that compares two fits."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from akkm.inspect import FitComparison, compare_fits
from akkm.report._format import short
from akkm.report._report import Report
from akkm.report._templates import filled

# Order of the groups of clusters, and their headings.
_KINDS = {
    "split": "Split",
    "merged": "Merged",
    "dissolved": "Dissolved",
    "changed": "Some rows moved",
    "same": "The same rows",
}
# Maximum number of moved rows that are listed, and of pairs of clusters between which
# rows moved.
_ROWS, _MOVES = 1_000, 200
# If a fit has more clusters than this, the picture of the flow of rows is left out.
_DRAWN = 60


def report_changes(
    first: Any,
    second: Any,
    *,
    ids: Any = None,
    names: Sequence[str] = ("first fit", "second fit"),
    title: str | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """Compare two clusterings of the same rows on one HTML page.

    The page says which clusters split, merged, dissolved or are new, and lists the rows
    that moved from one cluster to another. Cluster numbers have no meaning: a cluster
    that has the same rows, but another number, has not changed.

    Parameters
    ----------
    first, second : arrays of shape (n,)
        The cluster of each row in the two fits, as numbers or names.
    ids : sequence of n values, optional
        Names of the rows. Default: their numbers.
    names : two str, optional
        Names of the two fits.
    title : str, optional
        Title of the page.
    notes : sequence of str, optional
        Further notes for readers.

    Returns
    -------
    Report
        The page.

    Raises
    ------
    ValueError
        If `first`, `second` and `ids` don't have the same length.
    ImportError
        If Jinja2 is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.report import report_changes
    >>> monday = np.array([0, 0, 0, 0, 1, 1, 1])
    >>> tuesday = np.array([0, 0, 2, 2, 1, 1, 0])
    >>> page = report_changes(monday, tuesday, names=["Monday", "Tuesday"])
    >>> "Cluster 0 (4 rows) split" in " ".join(page.html.split())
    True
    """
    found = compare_fits(first, second)
    if ids is not None and len(ids) != len(found.moved):
        raise ValueError(
            f"ids has {len(ids)} entries, but there are {len(found.moved)} rows; give "
            "one entry per row."
        )
    rows = np.flatnonzero(found.moved)
    left, right = np.asarray(first), np.asarray(second)
    listed = rows[:_ROWS]
    labels = listed if ids is None else [_text_of(ids[int(row)]) for row in listed]
    moved = [
        (short(name), str(left[row]), str(right[row]))
        for name, row in zip(labels, listed, strict=True)
    ]
    groups = {
        kind: (heading, [c for c in found.changes if c.kind == kind])
        for kind, heading in _KINDS.items()
    }
    drawn = max(found.table.shape) <= _DRAWN
    sections = {
        "changes": "What became of the clusters",
        "flow": "Rows from cluster to cluster" if drawn else "",
        "moved": "Rows that moved" if len(rows) else "",
        "agreement": "Technical details",
    }
    page = filled(
        "comparison.html",
        ("draw.js", "changes.js"),
        title=short(title or f"{names[0]} compared with {names[1]}"),
        found=found,
        groups=groups,
        names=[short(name) for name in names],
        sections={id: heading for id, heading in sections.items() if heading},
        analyst=(),
        n_rows=len(found.moved),
        n_moved=len(rows),
        moved=moved,
        moves=_moves(found),
        notes=notes,
        data={"flow": _flow(found, names)} if drawn else {},
    )
    return Report(page)


def _text_of(value: Any) -> str:
    return str(value.as_py() if hasattr(value, "as_py") else value)


def _moves(found: FitComparison) -> list[tuple[str, str, int]]:
    """Pairs of clusters with the number of rows that moved, most rows first."""
    moves = _continuing(found)
    counts = np.where(moves, 0, found.table)
    order = np.argsort(-counts, axis=None, kind="stable")[:_MOVES]
    pairs = (np.unravel_index(at, counts.shape) for at in order)
    return [
        (found.first[i], found.second[j], int(counts[i, j]))
        for i, j in pairs
        if counts[i, j]
    ]


def _continuing(found: FitComparison) -> Any:
    """Boolean table: entry (i, j) is True if cluster j continues cluster i.

    Here i is a cluster of the first fit, and j a cluster of the second fit.
    """
    continues = np.zeros(found.table.shape, dtype=bool)
    places = {name: j for j, name in enumerate(found.second)}
    for i, change in enumerate(found.changes):
        if change.kind != "dissolved":
            continues[i, [places[name] for name in change.targets]] = True
    return continues


def _flow(found: FitComparison, names: Sequence[str]) -> dict[str, Any]:
    """The data for the picture of the flow of rows, for JSON."""
    moves = ~_continuing(found)
    links = [
        [int(i), int(j), int(found.table[i, j]), bool(moves[i, j])]
        for i, j in zip(*np.nonzero(found.table), strict=True)
    ]
    # Clusters of the second fit are sorted by the mean position of the clusters that
    # their rows come from, so that few bands cross.
    place = found.table.T @ np.arange(len(found.first)) / found.table.sum(axis=0)
    return {
        "names": list(names),
        "first": [short(name) for name in found.first],
        "second": [short(name) for name in found.second],
        "order": np.argsort(place, kind="stable").tolist(),
        "links": links,
    }
