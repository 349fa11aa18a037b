"""Label files: the cluster of each row, its distance to the center, its margin."""

import io
from collections.abc import Iterable, Iterator
from csv import writer as csv_writer
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from akkm.estimators import LeadersKernelKMeans
from akkm.tables import TableError, open_table, quoted_names
from akkm.typing import Array

# Number of rows that are assigned and written at a time.
BATCH_ROWS = 2**17
_COLUMNS = ("cluster", "distance", "margin", "agreement")


def label_batches(
    estimator: Any, X: Any, key: str, keys: Any, *, fitted: bool
) -> Iterator[Any]:
    """Assign the rows X (n, d) to clusters; yield tables for a label file, in batches.

    `keys` (n,) are the ids or numbers of the rows, and `key` is the name of their
    column. `fitted` says whether X are the training rows.
    """
    for start in range(0, X.shape[0], BATCH_ROWS):
        rows = slice(start, min(start + BATCH_ROWS, X.shape[0]))
        clusters: Any = estimator.labels_[rows] if fitted else None
        if not hasattr(estimator, "members_"):
            clusters, measures = _distances(estimator, X[rows], clusters)
        elif fitted:
            measures = {"agreement": estimator.agreement_[rows]}
        else:
            votes = estimator._votes(X[rows])
            clusters, measures = votes.labels, {"agreement": votes.agreement}
        # A margin is missing if there is only one center.
        columns = {
            name: pa.array(values, mask=~np.isfinite(values))
            for name, values in measures.items()
        }
        clusters = clusters.astype(np.int32)
        yield pa.table({key: keys[rows], "cluster": clusters, **columns})


def _distances(
    estimator: Any, X: Any, clusters: Array | None
) -> tuple[Array, dict[str, Array]]:
    """Clusters (b,), and a dict of distances and margins (b,).

    The distance of a row is that to the center of its cluster. The margin is the
    distance to the nearest other center minus this distance.
    """
    if clusters is None and isinstance(estimator, LeadersKernelKMeans):
        clusters = estimator.predict(X)  # the leader's cluster, not the nearest center
    nearest, distances = estimator._nearest(X)
    clusters = nearest if clusters is None else clusters
    rows = np.arange(len(clusters))
    own = distances[rows, clusters].copy()
    distances[rows, clusters] = np.inf
    return clusters, {"distance": own, "margin": distances.min(axis=1) - own}


def write_batches(batches: Iterable[Any], file: BinaryIO, path: str) -> Iterator[Any]:
    """Write tables to a Parquet or CSV file, depending on `path`, and yield them."""
    writer: Any = None
    for batch in batches:
        if writer is None:
            writer = _open_writer(file, path, batch.schema)
        writer.write_table(batch)
        yield batch
    if writer is not None:
        writer.close()


def _open_writer(file: BinaryIO, path: str, schema: Any) -> Any:
    if Path(path).suffix.lower() != ".csv":
        return parquet.ParquetWriter(file, schema, compression="zstd")
    # pyarrow would quote all column names.
    names = io.StringIO()
    csv_writer(names, lineterminator="\n").writerow(schema.names)
    file.write(names.getvalue().encode())
    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    return csv.CSVWriter(file, schema, write_options=options)


def require_name(id: str | None) -> None:
    """Raise ValueError if label files have another column with the id's name."""
    if id in _COLUMNS:
        raise ValueError(
            f"--id {id}: label files have another column of this name; rename the "
            "column in the data, or leave out --id."
        )


def require_writable(path: str, ids: Any) -> None:
    """Raise ValueError if the label file `path` can't contain ids (n,) of this type."""
    if not str(ids.type).endswith("binary"):  # any binary value may be invalid UTF-8
        ids = ids[:1]
    try:
        list(write_batches([pa.table({"id": ids})], io.BytesIO(), path))
    except pa.ArrowException as error:
        raise ValueError(
            f"--id is a column of type {ids.type}, which {path} can't contain; write "
            ".parquet, or leave out --id."
        ) from error


def read_labels(path: str) -> tuple[str, Any, Any]:
    """Read a file that `akkm cluster --labels` or `akkm predict` wrote.

    Returns the name of the column that identifies rows, this column, and the clusters.
    """
    table = open_table(path, missing=())  # the text NA is a valid id
    names = [column.name for column in table.columns]
    if "cluster" not in names[1:]:
        raise TableError(
            f"{path} has the columns {quoted_names(names)}; expected an id or row "
            "number first, and 'cluster', as 'akkm cluster --labels' writes them."
        )
    columns = [names[0], "cluster"]
    table.read_as_text(columns)
    content = pa.Table.from_batches(list(table.batches(columns)))
    keys, clusters = (content.column(name).combine_chunks() for name in columns)
    if clusters.null_count:
        raise TableError(
            f"{path} has rows without a cluster; expected a cluster in each row."
        )
    if keys.null_count and pa.types.is_string(keys.type):
        keys = keys.fill_null("")  # as in a CSV file
    if len(keys.unique()) < len(keys):
        raise TableError(
            f"{path} has some values of {names[0]!r} twice; expected unique ids. Write "
            "labels with another --id, or without --id."
        )
    return names[0], keys, clusters
