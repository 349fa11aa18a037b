"""The facts that the page shows, limited to what fits on a page."""

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from akkm.images import thumbnail
from akkm.inspect import ClassComparison, Inspection, RowValues
from akkm.report import _format
from akkm.typing import Array

# Maximum number of clusters, and of classes, in pictures and tables.
MAX_CLUSTERS = 60
# Tables have one column per cluster, but one row per cluster if there are more clusters
# than this.
_TURNED = 25
# Maximum number of columns in the heat map.
_MAX_COLUMNS = 20
# Gaps in the spectrum are shown for numbers of clusters up to this number.
_MAX_NUMBERS = 20
# Gaps are also shown for this many numbers after the estimate, after the second best
# number, and after the model's number of clusters.
_NUMBERS_AFTER = 5
# A fit of at most this many iterations is described in a sentence, not a picture.
_FEW_ITERATIONS = 3
# Number of columns from which the values on cards are chosen.
_CARD_COLUMNS = 60
# Number of typical rows that are shown for each cluster.
_TYPICAL_ROWS = 3
# Number of columns that describe a cluster in words.
_WORDS = 3
# Number of significant digits of encoded values.
_ENCODED_DIGITS = 4
# Number of significant digits of values before encoding.
_ORIGINAL_DIGITS = 6
# Number of typical images, and of uncertain images, of each cluster.
_TYPICAL_IMAGES = 10
_UNCERTAIN_IMAGES = 5
# Pixels of the longer side of an image. The images of 60 clusters then take 5 MB.
_PIXELS = 96


@dataclass(frozen=True)
class Shown:
    """The facts that the page shows, and the names of the rows."""

    facts: Inspection
    names: Callable[[Array], list[str]]  # row numbers (b,) -> names
    comparison: ClassComparison | None = None
    images: Sequence[Any] | None = None

    @cached_property
    def clusters(self) -> list[int]:
        """The clusters that are shown: all, or the largest ones."""
        clusters, sizes = self.facts.clusters, self.facts.sizes
        largest = np.argsort(-sizes[clusters], kind="stable")[:MAX_CLUSTERS]
        return [int(k) for k in np.sort(clusters[largest])]

    @property
    def turned(self) -> bool:
        """Whether tables have one row per cluster, because there are many clusters."""
        return len(self.clusters) > _TURNED

    @property
    def heat(self) -> list[tuple[str, float, list[tuple[str, str]]]]:
        """For each column: its name, the share explained, and one cell per cluster.

        The share explained is the share of the column's variance that lies between
        clusters.
        """
        found = self.facts.columns
        assert found is not None
        return [
            (
                _format.short(found.names[j]),
                found.explained[j],
                [_format.heat_cell(z) for z in found.z[self.clusters, j]],
            )
            for j in self._without_opposites
        ]

    @cached_property
    def _without_opposites(self) -> list[int]:
        """The columns of the heat map, without opposites.

        A column is left out if it is the opposite of one of the last two columns that
        were kept. For example, of the columns "yes" and "no", only the first is kept.
        """
        found, kept = self.facts.columns, list[int]()
        assert found is not None
        for j in range(len(found.names)):
            before = found.z[:, kept[-2:]]
            opposite = np.isclose(before, -found.z[:, [j]], atol=1e-6).all(axis=0)
            if not opposite.any():
                kept.append(j)
            if len(kept) == _MAX_COLUMNS:
                break
        return kept

    @property
    def spreads(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """For each column of the data: its name, and one cell per cluster.

        The list is empty if all spreads are about equal.
        """
        found = self.facts.columns
        assert found is not None
        spread = found.spread[self.clusters, :_MAX_COLUMNS]
        if not (np.abs(_format.doublings(spread)) >= _format.HEAT_STEPS[0]).any():
            return []
        names = map(_format.short, found.names)
        return [
            (name, [_format.spread_cell(s) for s in column])
            for name, column in zip(names, spread.T, strict=False)
        ]

    @cached_property
    def row_values(self) -> RowValues | None:
        """An object that reads the values of rows; None if no values are shown."""
        return self.facts.row_values()

    @cached_property
    def all_values(self) -> RowValues | None:
        """An object that reads rows' values in all columns that cards may show."""
        return self.facts.row_values(_CARD_COLUMNS)

    def values(self, rows: Array) -> list[list[Any]]:
        """Values (b, f) of single rows, for JSON."""
        assert self.row_values is not None
        digits = _ORIGINAL_DIGITS if self.row_values.original else _ENCODED_DIGITS
        return [
            [_known(_format.json_value(value, digits)) for value in row]
            for row in self.row_values.of(rows)
        ]

    def typical_rows(self, cluster: int) -> Iterator[tuple[str, float, list[Any]]]:
        """Name, distance to the center and values of each typical row of a cluster."""
        found = self.facts.distances
        assert found is not None
        places = found.typical(cluster, _TYPICAL_ROWS)
        rows = found.sample.rows[places]
        return zip(self.names(rows), found.own[places], self.values(rows), strict=True)

    def description(self, cluster: int) -> str:
        """The columns in which a cluster differs most, in words."""
        found = self.facts.columns
        assert found is not None
        columns, below, above = self._without_opposites, "low", "high"
        z = found.z[cluster, columns]
        if not found.means_differ:
            columns = list(range(min(_MAX_COLUMNS, len(found.names))))
            z = _format.doublings(found.spread[cluster, columns])
            below, above = "small spread of", "large spread of"
        return ", ".join(
            f"{below if z[i] < 0 else above} {_format.short(found.names[columns[i]])}"
            for i in np.argsort(-np.abs(z), kind="stable")[:_WORDS]
            if abs(z[i]) >= _format.HEAT_STEPS[0]
        )

    def certainty_of_cluster(self, cluster: int) -> tuple[float, float, int]:
        """Median certainty, share of uncertain rows, and nearest other cluster.

        The nearest other cluster may differ between rows; the result is the most
        frequent one.
        """
        found, certainty = self.facts.distances, self.facts.certainty
        assert found is not None
        assert certainty is not None
        inside = found.labels == cluster
        at = certainty.places(found.sample.rows[inside])
        uncertain = float(certainty.uncertain[at].mean())
        following = int(np.bincount(found.next_cluster[inside]).argmax())
        return float(np.median(certainty.values[at])), uncertain, following

    @property
    def evidence(self) -> list[tuple[int, float, float]]:
        """One tuple per number of clusters: the number, its gap, its diffusion time."""
        found = self.facts.evidence
        if found is None:
            return []
        marked = max(found.n_clusters, found.second or 0, self.facts.n_clusters)
        shown = slice(max(_MAX_NUMBERS, marked + _NUMBERS_AFTER) - 1)
        columns = (found.numbers[shown], found.gaps[shown], found.times[shown])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    @property
    def few_iterations(self) -> bool:
        """Whether there are so few iterations that a sentence replaces the picture."""
        course = self.facts.convergence
        return course is None or max(map(len, course.histories)) <= _FEW_ITERATIONS

    def contact_sheet(self, cluster: int) -> Iterator[tuple[str, list[Any]]]:
        """Yield each caption with a list of (data URL, name), one pair per image."""
        found, certainty = self.facts.distances, self.facts.certainty
        assert found is not None
        assert certainty is not None
        rows = found.sample.rows
        typical = found.typical(cluster, _TYPICAL_IMAGES)
        others = np.setdiff1d(np.flatnonzero(found.labels == cluster), typical)
        order = np.argsort(certainty.of(rows[others]), kind="stable")
        uncertain = others[order[:_UNCERTAIN_IMAGES]]
        groups = {"most typical": rows[typical], "least certain": rows[uncertain]}
        for caption, chosen in groups.items():
            if len(chosen):
                names = self.names(chosen)
                yield caption, list(zip(map(self._source, chosen), names, strict=True))

    def _source(self, row: Any) -> str:
        """A small version of the image of a row, as a data URL."""
        assert self.images is not None
        data = base64.b64encode(thumbnail(self.images[row], _PIXELS)).decode()
        return f"data:image/jpeg;base64,{data}"


def _known(value: Any) -> Any:
    """A value for JSON, or the word "missing"."""
    return _format.MISSING if value is None else value
