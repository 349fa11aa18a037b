"""`Clustering`: labels, model, report and labelled frame of one call."""

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from akkm.clustering._measures import certainty_of_rows, measures
from akkm.guided.reading import read_known
from akkm.inspect import Inspection, cluster_names
from akkm.model_file import SavedModel, save_model
from akkm.report import Report, report
from akkm.tables import Encoded, TableEncoder
from akkm.typing import Array

# Number of rows whose distances are computed at a time.
_BLOCK_ROWS = 2**16
# Maximum number of clusters that are listed.
_SHOWN = 30
_COLUMNS = ("cluster", "certainty", "cluster_name")


@dataclass(frozen=True, eq=False, repr=False)
class Clustering:
    """The clusters of the rows of a table.

    The parameters are attributes, too. For example,
    `akkm.plot.features(found.estimator, found.encoded.X,
    feature_names=found.encoder.get_feature_names_out())` draws the result of
    `found = akkm.cluster(frame)`.

    Parameters
    ----------
    encoder : TableEncoder
        Encodes rows of the table.
    estimator : KernelClusterer
        The fitted estimator.
    encoded : Encoded
        The encoded rows.
    data : data frame or Table
        The table.
    notes : tuple of str
        Notes of the encoder and the estimator about the data.
    doubts : tuple of str
        Warnings that the report shows first.
    seconds : float
        How long encoding and clustering took.

    Examples
    --------
    >>> import akkm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1, 2, 1, 8, 9, 8], "town": ["Ulm", "Bonn"] * 3})
    >>> found = akkm.cluster(frame, 2)
    >>> found.labels
    array([1, 1, 1, 0, 0, 0], dtype=int32)
    >>> found.predict(pd.DataFrame({"size": [8], "town": ["Ulm"]}))
    array([0], dtype=int32)
    """

    encoder: TableEncoder
    estimator: Any
    encoded: Encoded
    data: Any
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    seconds: float | None = None

    @property
    def labels(self) -> Array:
        """The cluster of each row that was clustered, of shape (n,)."""
        return np.asarray(self.estimator.labels_)

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.estimator._n_clusters)

    @property
    def sizes(self) -> Array:
        """The number of rows of each cluster, of shape (C,)."""
        inside = self.labels[self.labels >= 0]
        return np.bincount(inside, minlength=self.n_clusters)

    @cached_property
    def certainty(self) -> Array:
        """How certain the label of each row is, from 0 to 1, of shape (n,).

        The method `certainty` of the estimator has the formula.
        """
        if hasattr(self.estimator, "agreement_"):
            return np.asarray(self.estimator.agreement_)
        X, parts = self.encoded.X, []
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            _, found = measures(self.estimator, X[rows], self.labels[rows])
            parts.append(found)
        every = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
        return certainty_of_rows(self.estimator, X, every)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each cluster, made from the columns in which it differs most."""
        facts = Inspection(self.estimator, self.encoded.X, encoder=self.encoder)
        return tuple(cluster_names(facts))

    @cached_property
    def frame(self) -> Any:
        """The table with the columns cluster, certainty and cluster_name.

        It is a data frame of the same library as the given frame. For files, it is an
        Arrow table. Rows that were left out because of missing values have no cluster.
        If the table already has a column of the same name, the new column gets the
        prefix "akkm_".
        """
        if hasattr(self.data, "read_as_text"):
            self.data.read_as_text(())
            names = [column.name for column in self.data.columns]
            native: Any = pa.Table.from_batches(list(self.data.batches(names)))
        else:
            native = self.data
        frame = nw.from_native(native, eager_only=True)
        added = labelled_columns(
            self.labels, self.certainty, self.names, self.encoded.rows, len(frame)
        )
        backend = frame.implementation
        series = [
            nw.from_native(
                nw.from_arrow(pa.table({name: column}), backend=backend).to_native()
            )[name]
            for name, column in with_free_names(added, frame.columns).items()
        ]
        return frame.with_columns(*series).to_native()

    def predict(self, data: Any) -> Array:
        """Assign the rows of another table to the clusters.

        Parameters
        ----------
        data : data frame or Table
            A table with the same columns.

        Returns
        -------
        int array of shape (n,)
            The cluster of each row.
        """
        return np.asarray(self.estimator.predict(self.encoder.encode(data).X))

    def suggest(self, n: int = 10, known: Any = None) -> Array:
        """Choose rows whose classes would help most.

        Look at these rows of the table, and pass their classes to `akkm.cluster` as
        `known`.

        Parameters
        ----------
        n : int, default=10
            Number of rows to choose.
        known : mapping or array, optional
            Classes that are known already, as in `akkm.cluster`. These rows are not
            chosen.

        Returns
        -------
        int array of shape (n,)
            Row numbers in the table, the most useful first.

        Examples
        --------
        >>> import akkm
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"size": [1, 2, 1, 8, 9, 8]})
        >>> rows = akkm.cluster(frame, 2).suggest(2)
        >>> sorted(frame["size"].iloc[rows] > 5)
        [False, True]
        >>> answers = {row: frame["size"][row] > 5 for row in rows.tolist()}
        >>> akkm.cluster(frame, 2, known=answers)
        <Clustering: 6 rows in 2 clusters; rows per cluster: 3, 3>
        """
        if not hasattr(self.estimator, "suggest"):
            raise ValueError(
                f"{type(self.estimator).__name__} can't suggest rows; cluster with "
                "method='approx', 'sparse', 'diffusion' or 'exact', and without a "
                "range for n_clusters."
            )
        if known is not None:
            known = known_rows(self.encoded, self.encoder.n_rows_, known)
        rows = self.estimator.suggest(self.encoded.X, n, known=known)
        return np.asarray(self.encoded.rows)[rows]

    def report(self, **options: Any) -> Report:
        """Describe the clusters on one HTML page.

        Parameters
        ----------
        **options : options of `akkm.report`
            Such as `title`.

        Returns
        -------
        Report
            The page; it has a method `save`.
        """
        encoded, encoder = self.encoded, self.encoder
        given = {
            "encoder": encoder,
            "texts": encoder.free_text(self.data, encoded.rows),
            "ids": encoded.rows if encoded.ids is None else encoded.ids,
            "labels_true": encoded.labels,
            "notes": [*encoder.describe(), *self.notes],
            "doubts": self.doubts,
            "seconds": self.seconds,
        }
        return report(self.estimator, encoded.X, **{**given, **options})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which `akkm predict` and `akkm.load_model` read.

        Parameters
        ----------
        path : str or path-like
            The name of the file, usually ending in .skops.
        """
        about = {"rows": len(self.labels), "k": self.n_clusters}
        save_model(SavedModel(self.encoder, self.estimator, about), path)

    def __repr__(self) -> str:
        sizes = [f"{size:,}" for size in self.sizes[:_SHOWN].tolist()]
        n_more = self.n_clusters - _SHOWN
        if n_more > 0:
            sizes.append(f"and {n_more} more cluster{'s' * (n_more > 1)}")
        clusters = "cluster" if self.n_clusters == 1 else "clusters"
        return (
            f"<Clustering: {len(self.labels):,} rows in {self.n_clusters} {clusters}; "
            f"rows per cluster: {', '.join(sizes)}>"
        )

    def _repr_html_(self) -> str:
        """Return a table of the clusters, for notebooks."""
        n, sizes = max(len(self.labels), 1), self.sizes
        order = np.argsort(-sizes, kind="stable")[:_SHOWN]
        rows = [
            f"<tr><td>{i}</td><td style='text-align:left'>{html.escape(self.names[i])}"
            f"</td><td>{sizes[i]:,}</td><td>{sizes[i] / n:.1%}</td>"
            f"<td>{self._mean_certainty(int(i)):.2f}</td></tr>"
            for i in order
        ]
        head = "".join(
            f"<th>{name}</th>"
            for name in ("cluster", "name", "rows", "share", "certainty")
        )
        more = self.n_clusters - len(order)
        after = f"<p>… and {more} smaller clusters</p>" if more > 0 else ""
        texts = (*self.doubts, *self.notes)
        notes = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
        after += f"<ul>{notes}</ul>" if notes else ""
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>{after}"

    def _mean_certainty(self, cluster: int) -> float:
        inside = self.certainty[self.labels == cluster]
        return float(inside.mean()) if len(inside) else 0.0


def known_rows(encoded: Encoded, n: int, known: Any) -> dict[int, Any]:
    """Return known classes by the number of the encoded row.

    Parameters
    ----------
    encoded : Encoded
        The encoded rows of a table of n rows.
    n : int
        The number of rows of the table.
    known : mapping or array of shape (n,)
        Classes of rows of the table, as in `akkm.cluster`. Rows that were left out
        because of missing values are ignored.

    Returns
    -------
    dict
        The class of each known row, by its number among the encoded rows.
    """
    rows, classes = read_known(known, n)
    place = np.full(n, -1, dtype=np.int64)
    place[encoded.rows] = np.arange(len(encoded.rows))
    found = zip(place[rows].tolist(), classes, strict=True)
    return {row: name for row, name in found if row >= 0}


def labelled_columns(
    labels: Array, certainty: Array, names: Sequence[str], rows: Array, n: int
) -> dict[str, pa.Array]:
    """Return the columns that label a table of n rows.

    Parameters
    ----------
    labels : int array of shape (c,)
        The clusters; -1 for rows without a cluster.
    certainty : float array of shape (c,)
        How certain the labels are.
    names : sequence of str
        The names of the clusters.
    rows : int array of shape (c,)
        The numbers of the rows that were clustered.
    n : int
        The number of all rows.

    Returns
    -------
    dict
        The columns "cluster", "certainty" and "cluster_name", each of length n.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.clustering import labelled_columns
    >>> columns = labelled_columns(
    ...     np.array([1, 0]), np.array([0.9, 0.5]), ["low", "high"], np.array([0, 2]), 3
    ... )
    >>> columns["cluster"].to_pylist(), columns["cluster_name"].to_pylist()
    ([1, None, 0], ['high', None, 'low'])
    """
    place = np.full(n, -1, dtype=np.int64)
    place[rows] = np.arange(len(labels))
    at = pa.array(np.maximum(place, 0), mask=place < 0)
    clusters = pa.array(labels.astype(np.int32)).take(at)
    # Rows without a cluster, with label -1, have no name.
    named = pa.array([*names, None], pa.string()).take(
        pa.array(np.where(labels < 0, len(names), labels))
    )
    values = (clusters, pa.array(np.asarray(certainty, float)).take(at), named.take(at))
    return dict(zip(_COLUMNS, values, strict=True))


def with_free_names(columns: dict[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Return the columns, with the prefix "akkm_" where a name is taken.

    Parameters
    ----------
    columns : dict
        Columns by name.
    taken : sequence of str
        Names that the columns must not have.

    Returns
    -------
    dict
        The columns by their new names.

    Examples
    --------
    >>> from akkm.clustering import with_free_names
    >>> with_free_names({"cluster": [0], "certainty": [0.5]}, ["cluster", "age"])
    {'akkm_cluster': [0], 'certainty': [0.5]}
    """
    return {
        next(n for n in (name, *_prefixed(name)) if n not in taken): column
        for name, column in columns.items()
    }


def _prefixed(name: str) -> list[str]:
    return [f"{'akkm_' * i}{name}" for i in range(1, 10)]
