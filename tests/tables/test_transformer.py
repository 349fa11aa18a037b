"""Laws of `TableEncoder` as a scikit-learn transformer of data frames."""

import copy
import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import skops.io
from pyarrow import csv, parquet
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from akkm import ApproxKernelKMeans
from akkm.tables import TableEncoder, TableError, open_table

N = 500


@pytest.fixture
def table(rng):
    """Columns of every kind, without missing values."""
    return pa.table(
        {
            "size": rng.normal(1e3, 20, N).round(2),
            "year": rng.integers(1_900, 2_020, N),
            "small": pa.array(rng.integers(0, 90, N), pa.uint8()),
            "day": pa.array(rng.integers(0, 9_000, N).astype("M8[D]")),
            "seen": pa.array(rng.integers(0, 10**6, N).astype("M8[s]")),
            "there": pa.array(
                rng.integers(0, 10**6, N), pa.timestamp("s", tz="Europe/Berlin")
            ),
            "price": pa.array(rng.integers(0, 10**4, N)).cast(pa.decimal128(21, 2)),
            "took": pa.array(rng.integers(0, 10**4, N).astype("m8[s]")),
            "town": rng.choice(["Ulm", "Bonn", "Jena"], N),
            "flag": rng.random(N) < 0.5,
        }
    )


def as_frame(table, library):
    if library == "pandas":
        return table.to_pandas().set_index(pd.Index(range(N, 2 * N)))
    return pl.DataFrame(table) if library == "polars" else table


LIBRARIES = pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])


@LIBRARIES
@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_inverse_transform_restores_the_frame(library, scale, table):
    frame = as_frame(table, library)
    encoder = TableEncoder(scale=scale)
    decoded = encoder.inverse_transform(encoder.fit_transform(frame))
    assert type(decoded) is type(frame)
    decoded = decoded if library == "pyarrow" else pa.table(decoded)
    assert decoded.column_names == table.column_names
    for name in table.column_names:
        ours, theirs = (t[name].to_pylist() for t in (decoded, table))
        if name == "size":
            ours, theirs = (np.round(values, 1) for values in (ours, theirs))
            np.testing.assert_allclose(ours, theirs, atol=0.11)
        else:
            assert ours == theirs, name


def test_inverse_transform_restores_the_types(table):
    encoder = TableEncoder()
    X = encoder.fit_transform(table)
    assert encoder.inverse_transform(X).schema.types == table.schema.types


@LIBRARIES
def test_frames_give_the_same_encoding_as_files(library, table, tmp_path):
    X = TableEncoder().fit_transform(as_frame(table, library))
    parquet.write_table(table, tmp_path / "x.parquet")
    opened = open_table(str(tmp_path / "x.parquet"))
    np.testing.assert_array_equal(X, TableEncoder().fit_transform(opened))
    stored = TableEncoder().fit(opened).encode(opened, memory=0)
    assert stored.on_disk
    np.testing.assert_array_equal(X, stored.X[np.arange(N)])
    csv.write_csv(table.drop(["took"]), tmp_path / "x.csv")
    opened = open_table(str(tmp_path / "x.csv"))
    X = TableEncoder(drop=["took"]).fit_transform(as_frame(table, library))
    np.testing.assert_array_equal(X, TableEncoder().fit_transform(opened))


@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        lambda e: pickle.loads(pickle.dumps(e)),
        lambda e: skops.io.loads(
            skops.io.dumps(e), trusted=["akkm.tables._encoder.TableEncoder"]
        ),
    ],
    ids=["copy", "pickle", "skops"],
)
def test_copies_are_equivalent(copied, table):
    frame = as_frame(table, "pandas")
    encoder = TableEncoder(drop=["year"], text=["small"]).fit(frame)
    other = copied(encoder)
    X = encoder.transform(frame)
    np.testing.assert_array_equal(other.transform(frame), X)
    pd.testing.assert_frame_equal(
        other.inverse_transform(X), encoder.inverse_transform(X)
    )
    other.require_valid()


def test_a_clone_has_the_same_parameters_and_is_not_fitted(table):
    encoder = TableEncoder(drop=["year"], scale="minmax").fit(table)
    other = clone(encoder)
    assert other.get_params() == encoder.get_params()
    assert not hasattr(other, "columns_")
    np.testing.assert_array_equal(other.fit_transform(table), encoder.transform(table))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_chooses_the_kind_of_frame(library, table):
    frame = as_frame(table, library)
    plain = TableEncoder().fit_transform(frame)
    encoder = TableEncoder().set_output(transform=library)
    output = encoder.fit_transform(frame)
    assert type(output) is type(frame)
    assert list(output.columns) == encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(output.to_numpy(), plain)
    decoded = encoder.inverse_transform(output)
    if library == "pandas":
        assert output.index.equals(frame.index)
        assert decoded.index.equals(frame.index)
    assert list(decoded["town"]) == list(frame["town"])


def test_an_encoder_can_be_the_first_step_of_a_pipeline(table):
    frame = as_frame(table, "pandas")
    pipeline = make_pipeline(TableEncoder(), ApproxKernelKMeans(3, random_state=0))
    labels = pipeline.fit_predict(frame)
    assert (pipeline.predict(frame) == labels).all()
    assert (pipeline.predict(frame[frame.columns[::-1]]) == labels).all()
    X = TableEncoder().fit_transform(frame)
    direct = ApproxKernelKMeans(3, random_state=0).fit_predict(X)
    np.testing.assert_array_equal(labels, direct)
    names = pipeline[0].feature_names_in_
    assert names.tolist() == table.column_names
    assert pipeline[0].n_features_in_ == len(names)


def test_transform_never_leaves_out_rows():
    encoder = TableEncoder(missing="drop").fit(pa.table({"a": [1.0, 2.0, 3.0]}))
    assert encoder.transform(pa.table({"a": [2.0]})).tolist() == [[0]]
    with pytest.raises(TableError, match=r"1 of 2 rows .* choose missing='mean'"):
        encoder.transform(pa.table({"a": [2.0, None]}))


def test_lazy_frames_are_refused(table):
    with pytest.raises(TypeError, match="X is a LazyFrame; expected"):
        TableEncoder().fit(pl.DataFrame(table).lazy())


def test_dates_beyond_the_calendar_are_decoded_as_numbers():
    days = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]
    encoder = TableEncoder()
    X = encoder.fit_transform(pa.table({"day": days}))
    assert encoder.inverse_transform(X)["day"].to_pylist() == days
    assert encoder.original(X * 3)[1]["day"] > 1e11


def test_sparse_tables_are_decoded_as_sparse_rows(tmp_path):
    (tmp_path / "x.svm").write_text("1 0:2 2:7\n0 1:1 2:3\n")
    opened = open_table(str(tmp_path / "x.svm"))
    encoder = TableEncoder().fit(opened)
    decoded = encoder.inverse_transform(encoder.transform(opened))
    np.testing.assert_allclose(decoded.toarray(), [[2, 0, 7], [0, 1, 3]])


@pytest.mark.parametrize("scale", ["standard", "minmax", "none", "robust"])
def test_filled_values_can_be_decoded_as_missing(scale):
    values = [1.5, None, 4.0, 9.25, 2.0, None, 3.5]
    table = pa.table(
        {"x": values, "day": pa.array([1, None, 3, 4, 5, 6, 7], pa.date32())}
    )
    encoder = TableEncoder(scale=scale, missing="mean").fit(table)
    X = encoder.transform(table)
    decoded = encoder.original_table(X, filled=False)
    missing = [value is None for value in decoded["x"].to_pylist()]
    assert missing == [value is None for value in values]
    assert decoded["day"].null_count == 1
    assert encoder.original_table(X)["x"].null_count == 0
    rows = encoder.original(X, filled=False)
    assert [row["x"] is None for row in rows] == missing
    assert [row["day"] is None for row in rows].count(True) == 1


def test_whole_numbers_equal_to_the_mean_do_not_count_as_filled():
    table = pa.table({"x": [1, 2, 3, 2], "y": [1.0, 2, 4, None]})
    encoder = TableEncoder(missing="mean").fit(table)
    decoded = encoder.original_table(encoder.transform(table), filled=False)
    assert decoded["x"].null_count == 0
    assert decoded["y"].null_count == 1


def test_free_text_is_read_from_frames_and_files(tmp_path):
    said = [f"we have seen number {i} " + "x" * 2_000 * (i == 9) for i in range(40)]
    table = pa.table({"size": pa.array(range(1, 80, 2)), "said": said})
    csv.write_csv(table, tmp_path / "x.csv")
    for data in (table, table.to_pandas(), open_table(str(tmp_path / "x.csv"))):
        encoder = TableEncoder().fit(data)
        found = encoder.free_text(data, np.array([3, 9, 39]))
        assert list(found) == ["said"]
        assert found["said"].to_pylist() == [said[3], said[9][:1_000], said[39]]
        assert encoder.free_text(table.select(["size"]), np.arange(2)) == {}
