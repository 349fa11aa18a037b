"""Data frames as tables; money, free text and identifiers in columns of text."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from akkm.tables import TableEncoder, TableError, open_table

N = 60
NUMBERS = np.linspace(1, 9_000, N)
TABLE = pa.table(
    {
        "key": [f"r{i}" for i in range(N)],
        "size": NUMBERS,
        "town": ["Ulm", "Bonn", "Jena"] * 20,
        "flag": [True, False] * 30,
    }
)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "categories"])
def test_frames_are_encoded_like_files(library, tmp_path):
    parquet.write_table(TABLE, tmp_path / "t.parquet")
    table = open_table(str(tmp_path / "t.parquet"))
    expected = TableEncoder(id="key").fit(table)
    frame = TABLE
    if library == "polars":
        frame = pytest.importorskip("polars").DataFrame(TABLE.to_pydict())
    elif library != "pyarrow":
        frame = TABLE.to_pandas().set_index(pd.Index(range(N, 2 * N), name="index"))
    if library == "categories":
        frame = frame.astype({"town": "category"})
    encoder = TableEncoder(id="key").fit(frame)
    assert encoder.feature_names_ == expected.feature_names_
    encoded = encoder.encode(frame)
    np.testing.assert_array_equal(encoded.X, expected.encode(table).X)
    assert encoded.ids.to_pylist() == TABLE["key"].to_pylist()
    np.testing.assert_array_equal(expected.encode(frame).X, encoded.X)


def test_a_frame_in_pieces_is_encoded_completely():
    chunks = pa.concat_tables([TABLE.slice(0, 7), TABLE.slice(7, 0), TABLE.slice(7)])
    one, two = (TableEncoder(id="key").fit(t).encode(t) for t in (TABLE, chunks))
    np.testing.assert_array_equal(one.X, two.X)


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (np.zeros((3, 2)), TypeError, "X is a ndarray; expected .* data frame"),
        ([{"a": 1}], TypeError, "X is a list; expected"),
        (pd.DataFrame({"a": [1, "x", None]}), TableError, "the data frame: .*column a"),
        (pd.DataFrame({"a": []}), TableError, "the data frame: there are no rows"),
        (pd.DataFrame(index=[1, 2]), TableError, "the data frame: there are no column"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), TableError, "unique column"),
        (pd.DataFrame({"a": [1, 2], "b": [[1], [2]]}), TableError, "'b' is of type"),
    ],
)
def test_other_objects_are_refused(frame, error, message):
    with pytest.raises(error, match=message):
        TableEncoder().fit(frame)


# Columns of distinct amounts of money. Each key shows the notation.
ODD = {
    "$1,234.50": [f"${x:,.2f}" for x in NUMBERS],
    "-$1,234.50": [f"-${x:,.2f}" for x in NUMBERS],
    "($1,234.50)": [f"(${x:,.2f})" for x in NUMBERS],
    "1,234.50 €": [f"{x:,.2f} €" for x in NUMBERS],
    "EUR 1,234.50": [f"EUR {x:,.2f}" for x in NUMBERS],
    "1,234.50 USD": [f"{x:,.2f} USD" for x in NUMBERS],
}
WORDS = ["we", "like", "the", "product", "but", "it", "came", "late", "and", "wet"]
PROSE = [" ".join(np.roll(WORDS, i)[: 4 + i // 10]) for i in range(N)]
CODES = [f"user{i}@example.org" for i in range(N)]


@pytest.fixture(params=["csv", "parquet", "frame"])
def tabulate(request, tmp_path):
    """Function that returns a table with NUMBERS and a column of the given texts."""

    def tabulate(values):
        table = pa.table({"size": NUMBERS, "x": pa.array(values, pa.string())})
        if request.param == "frame":
            return table.to_pandas()
        writer = csv.write_csv if request.param == "csv" else parquet.write_table
        path = str(tmp_path / f"t.{request.param}")
        writer(table, path)
        return open_table(path)

    return tabulate


def message_of(table, **params):
    with pytest.raises(TableError) as error:
        TableEncoder(**params).fit(table)
    return str(error.value)


@pytest.mark.parametrize("values", ODD.values(), ids=ODD)
def test_amounts_of_money_are_numbers(values, tabulate):
    table = tabulate(values)
    encoder = TableEncoder().fit(table)
    assert encoder.feature_names_ == ["size", "x"]
    assert encoder.facts()[1].role == "money"
    expected = TableEncoder().fit_transform(pa.table({"size": NUMBERS.round(2)}))
    sign = -1 if "-" in values[0] or "(" in values[0] else 1
    X = encoder.transform(table)
    np.testing.assert_allclose(X[:, 1], sign * expected[:, 0], atol=1e-6)


def test_free_text_is_left_out(tabulate):
    encoder = TableEncoder().fit(tabulate(PROSE))
    assert encoder.feature_names_ == ["size"]
    assert encoder.describe()[-1].startswith("left out, as free text")


def test_identifiers_are_left_out(tabulate):
    encoder = TableEncoder().fit(tabulate(CODES))
    assert encoder.feature_names_ == ["size"]
    assert encoder.describe()[-1].startswith("left out, as identifiers")


class TestEmptyColumns:
    @pytest.mark.parametrize("missing", ["error", "drop", "mean"])
    def test_an_empty_column_is_left_out(self, missing, tabulate):
        table = tabulate([None] * N)
        encoder = TableEncoder(missing=missing).fit(table)
        assert encoder.feature_names_ == ["size"]
        assert encoder.describe()[1:] == ["left out, as all values are missing: x"]
        assert encoder.notes_ == []
        encoded = encoder.encode(table)
        assert encoded.X.shape == (N, 1)
        assert encoded.X.std() == pytest.approx(1)
        assert encoder.encode(pa.table({"size": [1.0]})).X.shape == (1, 1)

    def test_other_missing_values_are_still_reported(self):
        table = pa.table({"a": [1.0, None, 3.0], "b": pa.nulls(3), "c": [1, 2, 3]})
        message = message_of(table, missing="error")
        assert "missing values: 1 in 'a' (of 3 rows)" in message
        encoder = TableEncoder(missing="drop").fit(table)
        assert encoder.feature_names_ == ["a", "c"]
        assert encoder.n_rows_ == 3
        assert encoder.encode(table).rows.tolist() == [0, 2]

    def test_a_table_of_empty_columns_is_refused(self):
        message = message_of(pa.table({"a": pa.nulls(3), "b": pa.nulls(3)}))
        assert "nothing to cluster by in 3 rows" in message

    @pytest.mark.parametrize("missing", ["error", "drop"])
    def test_advice_for_new_rows_with_an_empty_column_works(self, missing):
        encoder = TableEncoder(missing=missing)
        encoder.fit(pa.table({"a": [1.0, 2.0], "b": [1.0, 2.0]}))
        new = pa.table({"a": [1.0, 2.0], "b": pa.nulls(2, pa.float64())})
        with pytest.raises(TableError, match="--missing mean") as error:
            encoder.encode(new)
        assert "drop" not in str(error.value)
        filled = encoder.set_params(missing="mean").transform(new)
        assert filled[:, 1].tolist() == [0, 0]
