"""Rows encoded on disk equal rows encoded in memory, for every format."""

import glob
import io
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from akkm.tables import TableEncoder, open_table
from table_files import Piped, mixed, same, write_csv

ROWS = 3_000


def table_with_gaps():
    table = mixed(ROWS)
    gaps = np.arange(ROWS) % 7 == 3
    return table.set_column(1, "x", pa.array(table["x"].to_numpy(), mask=gaps))


def write_npy(table, path):
    names = ["key", "x", "whole"]
    np.save(path, np.column_stack([table[name].to_numpy() for name in names]))


def write_npz(table, path):
    np.savez(path, table["whole"].to_numpy()[:, None] * [1.0, 2.0, 0.5])


def write_folder(table, path):
    path.mkdir()
    for i in range(3):
        part = table.slice(1_000 * i, 1_000)
        pa.parquet.write_table(part, path / f"{i}.parquet", row_group_size=300)


def write_stream(table, path):
    colors = table["color"].combine_chunks().dictionary_encode()
    table = table.set_column(4, "color", colors)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)


FORMATS = {
    "x.csv": write_csv,
    "x.parquet": lambda t, p: pa.parquet.write_table(t, p, row_group_size=500),
    "large-groups.parquet": pa.parquet.write_table,
    "folder": write_folder,
    "x.arrow": lambda t, p: pa.feather.write_feather(t, p, chunksize=400),
    "stream.arrow": write_stream,
}


def encodings(path, memory=0, **params):
    """Encode a file in memory and on disk; return both results."""
    table = open_table(str(path))
    encoder = TableEncoder(**params).fit(table)
    loaded = encoder.encode(table)
    stored = encoder.encode(open_table(str(path)), memory=memory)
    assert stored.on_disk
    assert not loaded.on_disk
    assert stored.notes == loaded.notes
    return loaded, stored


def assert_same_rows(loaded, stored, rng):
    n = len(loaded.X)
    assert stored.X.shape == loaded.X.shape
    same(loaded, stored.take(np.arange(n)))
    few = rng.choice(n, 50)
    same(loaded.take(few), stored.take(few))
    np.testing.assert_array_equal(stored.X.gather(few), loaded.X[few])
    np.testing.assert_array_equal(stored.rows[5:900], loaded.rows[5:900])


@pytest.mark.parametrize("missing", ["drop", "mean"])
@pytest.mark.parametrize("name", FORMATS)
def test_rows_on_disk_equal_rows_in_memory(name, missing, tmp_path, rng):
    FORMATS[name](table_with_gaps(), tmp_path / name)
    params = {"id": "key", "label": "kind", "missing": missing}
    loaded, stored = encodings(tmp_path / name, **params)
    assert_same_rows(loaded, stored, rng)
    assert stored.ids.type == loaded.ids.type == pa.int64()
    assert stored.ids[10:20].to_pylist() == loaded.ids[10:20].to_pylist()


@pytest.mark.parametrize(
    ("name", "writer"), [("x.npy", write_npy), ("x.npz", write_npz)]
)
def test_numpy_rows_on_disk_equal_rows_in_memory(name, writer, tmp_path, rng):
    writer(mixed(ROWS), tmp_path / name)
    loaded, stored = encodings(tmp_path / name)
    assert_same_rows(loaded, stored, rng)


def test_ids_that_are_not_integers_stay_text(tmp_path):
    table = mixed(ROWS)
    keys = [f"{i:04}" for i in range(ROWS)]
    write_csv(table.set_column(0, "key", pa.array(keys)), tmp_path / "x.csv")
    loaded, stored = encodings(tmp_path / "x.csv", id="key", label="kind")
    assert stored.ids[:].to_pylist() == loaded.ids.to_pylist() == keys


def test_standard_input_on_disk_equals_rows_in_memory(monkeypatch, rng):
    sink = io.BytesIO()
    write_csv(mixed(ROWS), sink)
    monkeypatch.setattr(sys, "stdin", Piped(sink.getvalue()))
    table = open_table("-")
    encoder = TableEncoder(id="key", label="kind").fit(table)
    assert_same_rows(encoder.encode(table), encoder.encode(table, 0), rng)


@pytest.mark.parametrize("name", ["x.parquet", "x.csv"])
@pytest.mark.parametrize("spare", [-1, 0])
def test_rows_stay_on_disk_if_they_exceed_the_memory(name, spare, tmp_path):
    """For CSV, the size is known only after the whole file has been read."""
    FORMATS[name](mixed(ROWS), tmp_path / name)
    path = str(tmp_path / name)
    encoder = TableEncoder(id="key").fit(open_table(path))
    needed = 4 * ROWS * len(encoder.feature_names_)
    assert encoder.encode(open_table(path), needed + spare).on_disk == (spare < 0)


def test_temporary_files_are_deleted_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    write_csv(mixed(ROWS), tmp_path / "x.csv")
    _, stored = encodings(tmp_path / "x.csv", id="key")
    assert len(glob.glob(f"{tmp_path}/akkm-*")) == 1
    del stored
    assert glob.glob(f"{tmp_path}/akkm-*") == []


def test_row_groups_without_complete_rows_are_skipped(tmp_path, rng):
    x = np.arange(1_000.0)
    gaps = (x >= 200) & (x < 400)
    table = pa.table({"x": pa.array(x, mask=gaps), "y": rng.normal(size=1_000)})
    pa.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=200)
    loaded, stored = encodings(tmp_path / "x.parquet", missing="drop")
    assert_same_rows(loaded, stored, rng)
    assert len(list(stored.X.map_blocks(lambda rows, which: len(rows)))) == 4
