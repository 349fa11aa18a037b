"""Label files: the cluster of each row, its distance to the center, its margin."""

import io
import re
from collections.abc import Iterable, Iterator
from csv import writer as csv_writer
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from akkm.clustering import measures
from akkm.tables import TableError, open_table, quoted_names

# Number of rows that are assigned and written at a time.
BATCH_ROWS = 2**17
_COLUMNS = ("cluster", "distance", "margin", "agreement", "class_name")
# The apostrophe that akkm puts before a text that a spreadsheet would run as a formula.
_APOSTROPHE = re.compile(r"^'([=@+\t\r-])")
# Texts that spreadsheets run as formulas; "-" alone and "-5" are harmless.
_FORMULA = re.compile(r"^(?:[=@\t\r]|[+-].*[^\d.,])", re.DOTALL)


def label_batches(
    estimator: Any, X: Any, key: str, keys: Any, *, fitted: bool, layered: bool = False
) -> Iterator[Any]:
    """Assign the rows X (n, d) to clusters; yield tables for a label file, in batches.

    `keys` (n,) are the ids or numbers of the rows, and `key` is the name of their
    column. `fitted` says whether X are the training rows. `layered` adds a column for
    each layer of a `ClusterLayers`, from coarse to fine.
    """
    for start in range(0, X.shape[0], BATCH_ROWS):
        rows = slice(start, min(start + BATCH_ROWS, X.shape[0]))
        clusters: Any = estimator.labels_[rows] if fitted else None
        if fitted and hasattr(estimator, "agreement_"):
            found = {"agreement": estimator.agreement_[rows]}
        else:
            clusters, found = measures(estimator, X[rows], clusters)
        # A margin is missing if there is only one center.
        columns = {
            name: pa.array(values, mask=~np.isfinite(values))
            for name, values in found.items()
        }
        clusters = clusters.astype(np.int32)
        names = getattr(estimator, "label_names_", None)
        if names is not None:
            known = [None if name is None else str(name) for name in names]
            texts = [known[k] if k >= 0 else None for k in clusters]
            columns["class_name"] = pa.array(texts, pa.string())
        if layered:
            numbers = estimator.layer_numbers_
            merged = (estimator.merged(clusters, i) for i in range(len(numbers)))
            columns |= {f"layer_{n}": c for n, c in zip(numbers, merged, strict=True)}
        yield pa.table({key: keys[rows], "cluster": clusters, **columns})


def write_batches(batches: Iterable[Any], file: BinaryIO, path: str) -> Iterator[Any]:
    """Write tables to a Parquet or CSV file, depending on `path`, and yield them."""
    writer: Any = None
    for batch in batches:
        written = _for_spreadsheets(batch) if _is_csv(path) else batch
        if writer is None:
            writer = _open_writer(file, path, written.schema)
        writer.write_table(written)
        yield batch
    if writer is not None:
        writer.close()


def _open_writer(file: BinaryIO, path: str, schema: Any) -> Any:
    if not _is_csv(path):
        return parquet.ParquetWriter(file, schema, compression="zstd")
    # Write the header here, because pyarrow would quote all column names.
    names = io.StringIO()
    csv_writer(names, lineterminator="\n").writerow(schema.names)
    file.write(names.getvalue().encode())
    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    return csv.CSVWriter(file, schema, write_options=options)


def _is_csv(path: str) -> bool:
    return Path(path).suffix.lower() == ".csv"


def _for_spreadsheets(batch: Any) -> Any:
    """Put an apostrophe before texts that a spreadsheet would run as formulas."""
    names = [f"'{n}" if _FORMULA.match(n) else n for n in batch.column_names]
    for i, column in enumerate(batch.columns):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            formula = pc.match_substring_regex(column, _FORMULA.pattern)
            if pc.any(formula).as_py():
                quoted = pc.binary_join_element_wise("'", column, "")
                quoted = pc.if_else(formula, quoted, column)
                batch = batch.set_column(i, batch.column_names[i], quoted)
    return batch.rename_columns(names)


def require_name(id: str | None) -> None:
    """Raise ValueError if the id has the name of another column of label files."""
    if id in _COLUMNS or re.fullmatch(r"layer_\d+", id or ""):
        raise ValueError(
            f"--id {id}: label files have another column of this name; rename the "
            "column in the data, or leave out --id."
        )


def require_writable(path: str, ids: Any) -> None:
    """Raise ValueError if the label file `path` can't contain ids (n,) of this type."""
    # One id is enough to test most types. Binary ids are all tested, because some of
    # them may be invalid UTF-8.
    if not str(ids.type).endswith("binary"):
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
    for column in table.columns:
        if column.name in columns and not column.is_value:
            raise TableError(
                f"{path}: column {column.name!r:.80} is of type {column.type[:60]}; "
                "expected numbers or text, as 'akkm cluster --labels' writes them."
            )
    table.read_as_text(columns)
    content = pa.Table.from_batches(list(table.batches(columns)))
    plain = (without_dictionary(content.column(n).combine_chunks()) for n in columns)
    keys, clusters = (_numbers_or_text(path, column) for column in plain)
    empty = pc.is_null(clusters, nan_is_null=True)
    if pa.types.is_string(clusters.type):
        empty = pc.or_kleene(empty, pc.equal(pc.utf8_trim_whitespace(clusters), ""))
    if pc.any(empty).as_py():
        raise TableError(
            f"{path} has rows without a cluster; expected a cluster in each row."
        )
    if keys.null_count and pa.types.is_string(keys.type):
        keys = keys.fill_null("")  # in CSV files, null is empty text
    if len(keys.unique()) < len(keys):
        raise TableError(
            f"{path} has some values of {names[0]!r} twice; expected unique ids. Write "
            "labels with another --id, or without --id."
        )
    return _APOSTROPHE.sub(r"\1", names[0]), keys, clusters


def without_dictionary(column: Any) -> Any:
    """Return a column (n,) of Arrow with its values in place of a dictionary."""
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    return column


def _numbers_or_text(path: str, column: Any) -> Any:
    """Return numbers as they are, and all other values as text.

    The apostrophe before a text that looks like a formula is removed.
    """
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column
    try:
        text = column.cast(pa.string())
    except pa.ArrowException as error:
        raise TableError(
            f"{path}: a column of type {kind} can't be compared; expected numbers or "
            "text."
        ) from error
    return pc.replace_substring_regex(text, _APOSTROPHE.pattern, r"\1")
