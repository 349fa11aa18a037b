"""`--write`: the table with each row's cluster, certainty and cluster name."""

import copy
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from akkm.cli._labels import without_dictionary, write_batches
from akkm.cli._outputs import OutputFile
from akkm.cli._progress import Phase
from akkm.clustering import labelled_columns, with_free_names
from akkm.inspect import Inspection, cluster_names, sample_rows
from akkm.model_file import SavedModel
from akkm.tables import Table
from akkm.typing import Array

# Number of sampled rows from which clusters are named if the rows are on disk.
_NAMED = 20_000


def require_writable_table(table: Table, path: str) -> None:
    """Raise ValueError if the file `path` can't contain the columns of the table."""
    if table.matrix is not None:
        raise ValueError(
            f"--write {path}: {table.name} is a sparse table, which has no columns to "
            "write; use --labels instead."
        )
    _read_unchanged(table)
    names = [column.name for column in table.columns]
    batch = next(table.batches(names)).slice(0, 1)
    try:
        list(write_batches([pa.Table.from_batches([batch])], io.BytesIO(), path))
    except pa.ArrowException as error:
        raise ValueError(
            f"--write {path}: some columns of {table.name} can't be written to this "
            f"format ({str(error).splitlines()[0][:100]}); write .parquet, or use "
            "--labels instead."
        ) from error


def write_table(
    table: Table,
    model: SavedModel,
    encoded: Any,
    clusters: Array,
    certainty: Array,
    file: OutputFile,
    phase: Phase,
) -> None:
    """Write all rows of the table, in order, with three more columns."""
    _read_unchanged(table)
    names = _names(model, encoded, clusters)
    batches = _labelled(table, np.asarray(encoded.rows), clusters, certainty, names)
    for batch in write_batches(batches, file.file, file.path):
        phase.advance(batch.num_rows)


def _read_unchanged(table: Table) -> None:
    """Read the cells of a CSV file as text. Other files keep their own types."""
    table.read_as_text([column.name for column in table.columns])


def _names(model: SavedModel, encoded: Any, clusters: Array) -> tuple[str, ...]:
    """Name the clusters as the report does.

    If the rows are on disk, the names are made from a sample of the rows.
    """
    X, chosen = encoded.X, None
    if encoded.on_disk:
        chosen = sample_rows(clusters, _NAMED).rows
        X = encoded.take(chosen).X
        chosen = chosen if len(chosen) < len(clusters) else None
    estimator = copy.copy(model.estimator)
    estimator.labels_ = clusters
    facts = Inspection(estimator, X, encoder=model.encoder, rows=chosen)
    return cluster_names(facts)


def _labelled(
    table: Table, rows: Array, clusters: Array, certainty: Array, names: tuple[str, ...]
) -> Iterator[pa.Table]:
    """Yield the batches of the table, each with the labels of its rows."""
    start, taken = 0, [column.name for column in table.columns]
    for batch in table.batches(taken):
        stop = start + batch.num_rows
        own = slice(*np.searchsorted(rows, [start, stop]))
        added = labelled_columns(
            clusters[own], certainty[own], names, rows[own] - start, batch.num_rows
        )
        # The dictionary of a column may differ between batches.
        plain = map(without_dictionary, batch.columns)
        columns = dict(zip(taken, plain, strict=True))
        yield pa.table({**columns, **with_free_names(added, taken)})
        start = stop
