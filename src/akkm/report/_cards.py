"""Cards: one per cluster, with its name, share, traits, typical rows and certainty."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.inspect import ColumnProfile, cluster_names
from akkm.report import _sentences
from akkm.report._format import json_number, json_value, percent, short, value_text
from akkm.report._sentences import Line
from akkm.report._shown import Shown

# Maximum number of cards; the largest clusters are shown.
MAX_CARDS = 300
# All cards are open at first if there are at most this many.
OPEN_CARDS = 12
# Maximum numbers of lines and of typical rows on a card, and of values of each row.
_LINES, _ROWS, _VALUES = 11, 3, 6
# After this many lines, a column is left out if it contains the same information as an
# earlier column.
_MANY = 8
# Typical rows are chosen from the rows nearest to the center of a cluster:
# _CANDIDATES divided by the number of clusters, but at least _CENTRAL.
_CENTRAL, _CANDIDATES = 50, 2_000
# Maximum number of characters of a typical text.
_LONGEST = 300
# Maximum number of columns in the comparison of two clusters, and of categories in each
# column.
_COMPARED, _CATEGORIES = 30, 40


@dataclass(frozen=True)
class Card:
    """What a card says about one cluster."""

    cluster: int
    name: str
    size: int
    share: float
    lines: list[Line]
    typical: list[tuple[str, list[str]]]  # a column, and its value in each typical row
    quotes: list[tuple[str, list[str]]]  # the same for columns of texts
    rows: list[str]  # names of the typical rows
    clear: float | None  # share of rows whose label is certain
    next: int | None  # the cluster whose center is most often the second nearest

    @property
    def text(self) -> str:
        """The card's text for the search box of the page, in lower case."""
        lines = (f"{line.name} {line.value}" for line in self.lines)
        return " ".join([str(self.cluster), self.name, *lines]).lower()


class Cards:
    """The cards of a page, the largest cluster first."""

    def __init__(self, shown: Shown) -> None:
        self._shown, self.facts = shown, shown.facts
        # Clusters of images are not named after columns: visual words mean nothing to
        # readers.
        self.names = (
            cluster_names(self.facts)
            if shown.images is None
            else tuple(f"cluster {k}" for k in range(self.facts.n_clusters))
        )
        self.profiles = self.facts.profiles
        self._texts = set(self.facts.text_columns)
        clusters, sizes = self.facts.clusters, self.facts.sizes
        order = np.argsort(-sizes[clusters], kind="stable")[:MAX_CARDS]
        self.clusters = [int(k) for k in clusters[order]]

    @property
    def are_open(self) -> bool:
        """Whether all cards are open at first."""
        return len(self.clusters) <= OPEN_CARDS

    def __iter__(self) -> Any:
        return map(self.card, self.clusters)

    def title(self, cluster: int) -> str:
        """The name of a cluster, beginning with a capital letter."""
        name = self.names[cluster]
        return name[:1].upper() + name[1:]

    def card(self, cluster: int) -> Card:
        """The card of one cluster."""
        size, clear, following = int(self.facts.sizes[cluster]), None, None
        if self.facts.certainty is not None and self.facts.distances is not None:
            _, uncertain, following = self._shown.certainty_of_cluster(cluster)
            clear = 1 - uncertain
        found = self.profiles
        traits = found.traits(cluster) if found and self._shown.images is None else []
        described = self._described(traits)
        lines = [_sentences.line(column, cluster) for column in described]
        rows, typical = self._typical(cluster, traits)
        texts = {c.title for c in traits if c.kind == "text"}
        quotes = [cells for cells in typical if cells[0] in texts]
        typical = [cells for cells in typical if cells[0] not in texts]
        share = size / max(self.facts.n_rows, 1)
        return Card(
            cluster, self.title(cluster), size, share, lines, typical, quotes, rows,
            clear, following,
        )  # fmt: skip

    def _described(self, traits: list[ColumnProfile]) -> list[ColumnProfile]:
        """The columns that a card shows: the first ones, and one column of text."""
        alike = self.profiles.alike if self.profiles else frozenset()
        lines: list[ColumnProfile] = []
        for column in traits:
            same = any((column.name, other.name) in alike for other in lines)
            is_text = column.kind == "text"
            first_text = is_text and all(other.kind != "text" for other in lines)
            if first_text or len(lines) < (_MANY if same else _LINES):
                lines.append(column)
        return lines

    def _typical(
        self, cluster: int, traits: list[ColumnProfile]
    ) -> tuple[list[str], list[tuple[str, list[str]]]]:
        found, reader = self.facts.distances, self._shown.all_values
        if found is None or reader is None or self._shown.images is not None:
            return [], []
        n_candidates = max(_CENTRAL, _CANDIDATES // len(self.clusters))
        rows = found.sample.rows[found.typical(cluster, n_candidates)]
        values = reader.of(rows)
        known = self.profiles.columns if self.profiles else ()
        named = {column.name: column for column in (*traits, *known)}
        columns = [named.get(name) for name in reader.names]
        described = self._described(traits)
        # Among the rows near the center, prefer those with the values that the card
        # describes. Even a row at the center may have an unusual value.
        usual = [
            sum(
                _sentences.is_usual(_python_value(value), column, cluster)
                for value, column in zip(row, columns, strict=True)
                if column in described
            )
            for row in values
        ]
        best = np.argsort(-np.array(usual), kind="stable")[:_ROWS]
        rows, values = rows[best], [values[i] for i in best]
        at = [reader.names.index(name) for name in named if name in reader.names]
        rest = [j for j in range(len(reader.names)) if j not in at]
        cells = []
        shown = [j for j in [*at, *rest] if reader.names[j] not in self._texts][
            :_VALUES
        ]
        spoken = [c.name for c in described if c.name in self._texts]
        shown += [reader.names.index(name) for name in spoken if name in reader.names]
        for j in shown:
            name = reader.names[j]
            title = named[name].title if name in named else name
            texts = [self._cell(row[j], named.get(name)) for row in values]
            cells.append((title, texts))
        return [short(name) for name in self._shown.names(rows)], cells

    def _cell(self, value: Any, column: ColumnProfile | None) -> str:
        plain = _python_value(value)
        if column is None:
            return short(value_text(json_value(plain, 6)))
        if column.kind == "text":
            text = " ".join(str(plain).split())
            return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        return short(_sentences.single(plain, column))

    def comparison(self) -> dict[str, Any]:
        """The data for the comparison of two clusters, for JSON."""
        columns = self.profiles.columns[:_COMPARED] if self.profiles else ()
        return {
            "clusters": self.clusters,
            "names": [short(self.title(k)) for k in self.clusters],
            "shares": [
                percent(self.facts.sizes[k] / self.facts.n_rows) for k in self.clusters
            ],
            "columns": [self._compared(column) for column in columns],
        }

    def _compared(self, column: ColumnProfile) -> dict[str, Any]:
        at, found = self.clusters, {"name": short(column.title)}
        if column.kind == "category":
            top = self._categories(column)
            shares = [[json_number(s) for s in column.shares[k][top]] for k in at]
            return found | {
                "values": [short(column.values[j]) for j in top],
                "shares": shares,
            }
        texts = {"texts": [_sentences.value_of(column, k) for k in at]}
        if column.kind == "text":
            return found | texts
        places = np.stack([column.positions, column.distances])[:, at]
        ranks = {
            "positions": [json_number(p) for p in places[0]],
            "distances": [json_number(p) for p in places[1]],
        }
        return found | texts | ranks | {"range": column.kind != "boolean"}

    def _categories(self, column: ColumnProfile) -> list[int]:
        """The categories that are frequent in clusters, the most distinctive first."""
        more = np.abs(column.shares - column.overall_shares).max(axis=0)
        chosen = {j for k in self.clusters for j in column.top_values(k, 3)}
        chosen |= {j for k in self.clusters for j in column.frequent_values(k, 2)}
        return sorted(chosen, key=lambda j: -more[j])[:_CATEGORIES]


def _python_value(value: Any) -> Any:
    """A value of NumPy as a value of Python."""
    return value.item() if isinstance(value, np.generic) else value
