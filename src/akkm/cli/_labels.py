"""Label files: which cluster each row is in, how far from its center, how surely."""

from __future__ import annotations

import io
from collections.abc import Iterator
from csv import writer
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from akkm.estimators import LeadersKernelKMeans

Array = NDArray[Any]

# Rows that are compared and written at a time.
_ROWS = 2**17
_RESERVED = ("cluster", "distance", "margin", "agreement")


@dataclass(frozen=True)
class Assigned:
    """Some rows and their clusters."""

    clusters: Array  # (b,) int32
    measures: dict[str, Array]  # distance and margin, or agreement: (b,)


def assign(estimator: Any, X: Any, *, fitted: bool) -> Iterator[Assigned]:
    """Batches of rows X with their clusters; `fitted`: they are the training rows."""
    ensemble = hasattr(estimator, "members_")
    for start in range(0, X.shape[0], _ROWS):
        rows = slice(start, min(start + _ROWS, X.shape[0]))
        if ensemble and fitted:
            measures = {"agreement": estimator.agreement_[rows]}
            yield Assigned(estimator.labels_[rows], measures)
        elif ensemble:
            votes = estimator._votes(X[rows])
            yield Assigned(votes.labels, {"agreement": votes.agreement})
        else:
            known = estimator.labels_[rows] if fitted else None
            yield _measure(estimator, X[rows], known)


def _measure(estimator: Any, X: Any, clusters: Array | None) -> Assigned:
    """Distance to the own center, and how much farther the next one is."""
    if clusters is None and isinstance(estimator, LeadersKernelKMeans):
        clusters = estimator.predict(X)  # the labels of leaders, not of centers
    nearest, distances = estimator._nearest(X)
    clusters = nearest if clusters is None else clusters
    rows = np.arange(len(clusters))
    own = distances[rows, clusters].copy()
    distances[rows, clusters] = np.inf
    margin = distances.min(axis=1) - own
    return Assigned(clusters, {"distance": own, "margin": margin})


def require_name(id: str | None) -> None:
    """Raise ValueError if the id column is called as another one will be."""
    if id in _RESERVED:
        raise ValueError(
            f"The id column is called {id!r}, as a column of the labels will be; "
            "rename it in the file, or leave out --id."
        )


def require_writable(path: str, ids: Any) -> None:
    """Raise ValueError if ids (n,) are of a type that such a file can't hold."""
    if not str(ids.type).endswith("binary"):  # of bytes, each may be no text
        ids = ids[:1]
    try:
        writer = LabelWriter(io.BytesIO(), path, "id")
        writer.write(ids, Assigned(np.zeros(len(ids), np.int32), {}))
        writer.close()
    except pa.ArrowException as error:
        raise ValueError(
            f"--id is a column of type {ids.type}, which {path} can't hold; write "
            ".parquet, or leave out --id."
        ) from error


class LabelWriter:
    """Writes batches of rows to a Parquet or CSV file, by the extension of its name."""

    def __init__(self, file: BinaryIO, path: str, key: str) -> None:
        self._file, self._key = file, key
        self._csv = Path(path).suffix.lower() == ".csv"
        self._writer: Any = None

    def write(self, keys: Any, assigned: Assigned) -> None:
        """Rows with their ids or numbers (b,)."""
        # k = 1: there is no next center.
        columns = {
            name: pa.array(values, mask=~np.isfinite(values))
            for name, values in assigned.measures.items()
        }
        batch = pa.table(
            {self._key: keys, "cluster": assigned.clusters.astype(np.int32), **columns}
        )
        if self._writer is None:
            self._writer = self._open(batch.schema)
        self._writer.write_table(batch)

    def close(self) -> None:
        """All rows were written."""
        if self._writer is not None:
            self._writer.close()

    def _open(self, schema: Any) -> Any:
        if self._csv:
            from pyarrow import csv

            # pyarrow puts quotes around all names, needed or not.
            names = io.StringIO()
            writer(names, lineterminator="\n").writerow(schema.names)
            self._file.write(names.getvalue().encode())
            options = csv.WriteOptions(include_header=False, quoting_style="needed")
            return csv.CSVWriter(self._file, schema, write_options=options)
        from pyarrow import parquet

        return parquet.ParquetWriter(self._file, schema, compression="zstd")


@dataclass(frozen=True)
class Labels:
    """What a label file says."""

    key: str  # what names the rows
    keys: Any  # pyarrow array (n,)
    clusters: Any  # pyarrow array (n,)


def read_labels(path: str) -> Labels:
    """Read a file that `akkm cluster --labels` or `akkm predict` wrote."""
    from akkm.tables import TableError, open_table, quoted_names

    table = open_table(path, missing=())  # somebody may be called NA
    names = [column.name for column in table.columns]
    if "cluster" not in names or names[0] == "cluster":
        raise TableError(
            f"{path} has the columns {quoted_names(names)}; expected an id or row "
            "number first, and 'cluster', as 'akkm cluster --labels' writes them."
        )
    wanted = [names[0], "cluster"]
    table.read_as_text(wanted)
    found = pa.Table.from_batches(list(table.batches(wanted)))
    keys, clusters = (found.column(name).combine_chunks() for name in wanted)
    if clusters.null_count:
        raise TableError(f"{path} has rows without a cluster.")
    if keys.null_count and pa.types.is_string(keys.type):
        keys = keys.fill_null("")  # as CSV has it
    if len(keys.unique()) < len(keys):
        raise TableError(
            f"{path} names some rows twice in {names[0]!r}; rows can't be told apart. "
            "Write labels with an --id that is unique, or without."
        )
    return Labels(names[0], keys, clusters)
