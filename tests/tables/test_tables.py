"""Tables: every format gives the same rows, every bad file one clear line."""

import bz2
import datetime
import gzip
import io
import os
import re
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import skops.io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from akkm.tables import TableError, _csv, open_table
from akkm.tables._csv import MISSING
from akkm.tables._encoder import TableEncoder
from akkm.tables._summary import Moments


class Piped(io.TextIOWrapper):
    """What standard input is when something is piped into it."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return str(path)

    return write


@pytest.fixture
def encode(write):
    """Encode the text of a CSV file."""

    def encode(text, name="x.csv", **params):
        table = open_table(write(name, text))
        encoder = TableEncoder(**params).fit(table)
        return encoder, encoder.transform(table)

    return encode


def same(a, b):
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.rows, b.rows)
    for one, other in ((a.ids, b.ids), (a.labels, b.labels)):
        assert (one is None) == (other is None)
        assert one is None or one.to_pylist() == other.to_pylist()


def mixed(n=3_000):
    """A table with numbers of all kinds, text, an identifier and a label."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "key": pa.array(2**53 + np.arange(n)),  # float64 could not tell them apart
            "x": rng.normal(1e6, 1, n),
            "whole": rng.integers(-5, 5, n),
            "flag": rng.random(n) < 0.3,
            "color": rng.choice(["red", "green", "blue, dark"], n),
            "kind": rng.choice(["a", "b"], n),
        }
    )


def write_csv(table, path, delimiter=","):
    options = pa.csv.WriteOptions(delimiter=delimiter)
    pa.csv.write_csv(table, path, options)


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)


def write_file(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=1_100)


def packed(table, path, pack):
    sink = io.BytesIO()
    write_csv(table, sink)
    path.write_bytes(pack(sink.getvalue()))


FORMATS = {
    "x.csv": write_csv,
    "x.csv.gz": lambda t, p: packed(t, p, gzip.compress),
    "x.data_all.gz": lambda t, p: packed(t, p, gzip.compress),
    "x.csv.bz2": lambda t, p: packed(t, p, bz2.compress),
    "x.tsv": lambda t, p: write_csv(t, p, "\t"),
    "x.parquet": lambda t, p: pa.parquet.write_table(t, p, row_group_size=1_300),
    "x.arrow": write_file,
    "x.ipc": write_stream,
    "x.feather": pa.feather.write_feather,
}


class TestRoundTrips:
    @pytest.fixture
    def expected(self, tmp_path):
        path = tmp_path / "first.parquet"
        pa.parquet.write_table(mixed(), path)
        return self.encoded(str(path))

    def encoded(self, path, **options):
        table = open_table(path, **options)
        encoder = TableEncoder(id="key", label="kind").fit(table)
        assert encoder.n_rows_ == 3_000
        return encoder.transform(table)

    @pytest.mark.parametrize("block", [1 << 14, 1 << 22])
    @pytest.mark.parametrize("name", FORMATS)
    def test_formats_agree(self, name, block, expected, tmp_path, monkeypatch):
        monkeypatch.setattr(_csv, "BLOCK", block)
        FORMATS[name](mixed(), tmp_path / name)
        encoded = self.encoded(str(tmp_path / name))
        same(encoded, expected)
        assert encoded.ids.type == pa.int64()
        assert encoded.X.dtype == np.float32
        assert encoded.X.flags.c_contiguous

    @pytest.mark.parametrize("keep", [0, 1 << 30])
    def test_standard_input(self, keep, expected, monkeypatch):
        monkeypatch.setattr(_csv, "KEEP", keep)  # parsed twice, or kept
        sink = io.BytesIO()
        write_csv(mixed(), sink)
        monkeypatch.setattr(sys, "stdin", Piped(sink.getvalue()))
        same(self.encoded("-"), expected)

    def test_how_much_was_read_is_known(self, tmp_path, monkeypatch):
        monkeypatch.setattr(_csv, "BLOCK", 1 << 12)
        packed(mixed(20_000), tmp_path / "x.csv.gz", gzip.compress)
        table = open_table(str(tmp_path / "x.csv.gz"))
        shares = [table.share for _ in table.batches(["x", "color"])]
        assert shares == sorted(shares)
        assert 0 < shares[0] < 0.9
        assert shares[-1] == 1

    def test_a_temporary_file_goes_with_its_table(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", Piped(b"a,b\n1,2\n3,4\n"))
        table = open_table("-")
        path = table._path
        assert os.path.exists(path)
        del table
        assert not os.path.exists(path)

    def test_parsed_rows_are_kept_for_one_transform(self, tmp_path, monkeypatch):
        write_csv(mixed(), tmp_path / "x.csv")
        table = open_table(str(tmp_path / "x.csv"))
        parsed = []
        reader = table._reader
        monkeypatch.setattr(table, "_reader", lambda t: parsed.append(1) or reader(t))
        encoder = TableEncoder(id="key").fit(table)
        first = encoder.transform(table)
        assert len(parsed) == 1
        same(encoder.transform(table), first)
        assert len(parsed) == 2

    def test_a_quote_spares_a_delimiter_and_a_line(self, encode):
        encoder, _ = encode('a,b\n1,"x,\ny"\n2,z\n')
        assert encoder.feature_names_ == ["a", "b=x,\ny", "b=z"]

    @pytest.mark.parametrize("order", "CF")
    @pytest.mark.parametrize(
        "dtype", ["f2", "f4", ">f8", "i1", "u1", "i4", "u8", "?", "g"]
    )
    def test_numpy(self, dtype, order, tmp_path, rng):
        X = np.array(rng.integers(0, 2, (500, 3)), dtype=dtype, order=order)
        np.save(tmp_path / "x.npy", X)
        np.savez(tmp_path / "x.npz", X)
        np.savez_compressed(tmp_path / "y.npz", X)
        pa.csv.write_csv(
            pa.table([c.astype(float) for c in X.T.astype("f8")], names=list("012")),
            tmp_path / "x.csv",
        )
        found = {}
        for name in ("x.npy", "x.npz", "y.npz", "x.csv"):
            table = open_table(str(tmp_path / name))
            found[name] = TableEncoder(drop=["1"]).fit_transform(table)
        for other in found.values():
            same(other, found["x.csv"])

    def test_without_header(self, write):
        path = write("x.csv", "1,a\n2,b\n")
        table = open_table(path, header=False)
        encoder = TableEncoder().fit(table)
        assert encoder.feature_names_ == ["0", "1=a", "1=b"]
        assert encoder.n_rows_ == 2

    def test_leading_blank_lines_and_a_byte_order_mark(self, encode):
        for start in ("\n\n", "\ufeff"):
            encoder, encoded = encode(start + "a,b\n1,2\n3,5\n", scale="none")
            assert encoder.feature_names_ == ["a", "b"]
            np.testing.assert_array_equal(encoded.X, [[1, 2], [3, 5]])

    def test_a_column_without_a_name(self, encode):
        encoder, _ = encode(",a\n7,2\n3,5\n")
        assert encoder.feature_names_ == ["0", "a"]

    def test_types_of_arrow(self, tmp_path):
        day = datetime.datetime(1970, 1, 2)
        table = pa.table(
            {
                "half": pa.array(np.array([1, 2], np.float16)),
                "decimal": pa.array([Decimal("1.50"), Decimal("2.50")]),
                "words": pa.array(["u", "v"]).dictionary_encode(),
                "codes": pa.array([3, 4]).dictionary_encode(),
                "large": pa.array(["u", "v"], pa.large_string()),
                "view": pa.array(["u", "v"], pa.string_view()),
                "date": pa.array([day.date(), datetime.date(1970, 1, 1)]),
                "time": pa.array([day, None], pa.timestamp("us")).fill_null(0),
                "clock": pa.array([5_000, 0], pa.time32("ms")),
                "span": pa.array([5_000, 0], pa.duration("ms")),
                "list": [[1], [2]],
            }
        )
        pa.feather.write_feather(table, tmp_path / "x.arrow")
        opened = open_table(str(tmp_path / "x.arrow"))
        encoder = TableEncoder(drop=["list"], scale="none").fit(opened)
        X = dict(
            zip(encoder.feature_names_, encoder.transform(opened).X.T, strict=True)
        )
        assert X["half"].tolist() == [1, 2]
        assert X["decimal"].tolist() == [1.5, 2.5]
        assert X["codes"].tolist() == [3, 4]
        for name in ("words", "large", "view"):
            assert X[f"{name}=u"].tolist() == [1, 0]
        assert X["date"].tolist() == X["time"].tolist() == [86_400, 0]
        assert X["clock"].tolist() == X["span"].tolist() == [5, 0]
        held = TableEncoder(columns=["half"], id="view").fit_transform(opened)
        assert held.ids.type == pa.large_string()
        assert "date, time, clock, span: times in seconds, as they are" in (
            encoder.describe()
        )
        with pytest.raises(TableError, match=r"'list' is of type list<.*--drop list"):
            TableEncoder().fit(opened)

    def test_dates_in_csv(self, encode):
        _, encoded = encode("a\n1970-01-01\n1970-01-02\n", scale="none")
        assert encoded.X.ravel().tolist() == [0, 86_400]

    def test_nothing_among_the_values_of_a_dictionary(self, tmp_path):
        places = pa.array([0, 1, 2, 0], pa.int32())
        words = pa.DictionaryArray.from_arrays(places, ["u", None, "v"])
        codes = pa.DictionaryArray.from_arrays(places, [3.0, None, 5.0])
        table = pa.table({"t": words, "a": codes, "y": words})
        pa.feather.write_feather(table, tmp_path / "x.arrow")
        opened = open_table(str(tmp_path / "x.arrow"))
        with pytest.raises(TableError, match=r"missing values: 1 in '[at]', 1 in"):
            TableEncoder().fit(opened)
        encoder = TableEncoder(missing="drop", label="y", scale="none").fit(opened)
        encoded = encoder.transform(opened)
        np.testing.assert_array_equal(encoded.X, [[1, 0, 3], [0, 1, 5], [1, 0, 3]])
        assert encoded.labels.to_pylist() == ["u", "v", "u"]

    def test_a_long_cell(self, encode):
        long = "x" * 200_000
        encoder, _ = encode(f"a,t\n1,{long}\n2,y\n")
        assert encoder.feature_names_ == ["a", f"t={long}", "t=y"]

    @pytest.mark.parametrize("decimal", [",", "."])
    def test_decimals(self, decimal, write):
        text = "a;b\n1.5;\n-2e1;7.25\n".replace(".", decimal)
        path = write("x.csv", text)
        table = open_table(path, delimiter=";", decimal=decimal)
        encoded = TableEncoder(scale="none", missing="mean").fit_transform(table)
        np.testing.assert_array_equal(encoded.X, [[1.5], [-20]])

    def test_what_stands_for_missing(self, write):
        words = ("", "NA", "n/a", "None", "null", "NaN", "?")
        path = write("x.csv", "a,b\n1,2\n" + "".join(f"{w},3\n" for w in words))
        table = open_table(path, missing=(*MISSING, "?"))
        encoder = TableEncoder(missing="mean").fit(table)
        assert encoder.notes_[0].endswith("7 in 'a'")
        as_text = TableEncoder().fit(open_table(path, missing=()))
        assert [f"a={w}" for w in sorted((*words, "1"))] == as_text.feature_names_[:8]


class TestTypesInCsv:
    """The first block decides, and what it can't know is found out."""

    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch):
        monkeypatch.setattr(_csv, "BLOCK", 1_000)

    def test_whole_numbers_first_then_others(self, encode):
        _, encoded = encode("a\n" + "1\n" * 2_000 + "2.5\n", scale="none")
        assert encoded.X[-1, 0] == 2.5

    @pytest.mark.parametrize(
        ("late", "features"), [("7", ["a", "b"]), ("u", ["a", "b=u", "b=v"])]
    )
    def test_empty_first(self, late, features, encode):
        text = (
            "a,b\n" + "1,\n2,\n" * 1_000 + f"1,{late}\n1,{'v' if late == 'u' else 8}\n"
        )
        encoder, encoded = encode(text, missing="drop")
        assert encoder.feature_names_ == features[1:]  # a is 1 where b is there
        assert encoded.rows.tolist() == [2_000, 2_001]

    def test_text_in_a_number_column(self, write):
        path = write("x.csv", "a,b\n" + "1,2\n3,4\n" * 1_000 + "1,oops\n")
        with pytest.raises(TableError) as error:
            TableEncoder().fit(open_table(path))
        said = "column 'b' holds numbers, but 'oops' in row 2,001 of the data; if it"
        assert said in str(error.value)
        with pytest.raises(TableError, match="column 'b' holds numbers, but 'oops'"):
            TableEncoder(drop=["a"]).fit(open_table(path))
        encoder = TableEncoder(text=["b"]).fit(open_table(path))
        assert encoder.feature_names_ == ["a", "b=2", "b=4", "b=oops"]
        assert TableEncoder(drop=["b"]).fit(open_table(path)).feature_names_ == ["a"]

    def test_text_in_a_number_column_early(self, write):
        path = write("x.csv", "a,b\n" + "1,2\n3,4\n" * 20 + "1,?\n")
        with pytest.raises(TableError, match=r"but '\?' in row 41 of .* --na '\?'"):
            TableEncoder().fit(open_table(path))

    def test_blank_lines_do_not_count(self, write):
        text = "\n\na,b\n1,2\n\n\n" + '3,"4"\n' * 1_000 + "5,oops\n"
        for params in ({}, {"text": ["a"]}):
            with pytest.raises(TableError, match=r"'oops' in row 1,002 of the data"):
                TableEncoder(**params).fit(open_table(write("x.csv", text)))

    def test_identifiers_keep_their_zeros(self, encode):
        _, encoded = encode("a,b,c\n007,1,7\n8,2,08\n", id="a", label="c")
        assert encoded.ids.to_pylist() == ["007", "8"]
        assert encoded.labels.to_pylist() == ["7", "08"]

    def test_a_line_longer_than_a_block(self, write):
        with pytest.raises(TableError, match=r"a line is longer than .* not closed"):
            open_table(write("x.csv", 'a,b\n1,"2\n' + "1,2\n" * 1_000))


def npy(array):
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=True)
    return sink.getvalue()


def npz(**arrays):
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


def parquet(**columns):
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def arrow_twice():
    sink = io.BytesIO()
    table = pa.table([[1, 2], [3, 4]], names=["a", "a"])
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def column(*cells):
    """A column x beside one of numbers."""
    return "x,y\n" + "".join(f'"{cell}",{i % 5}\n' for i, cell in enumerate(cells))


MANY = range(1, 31)
RAMP = "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(9_000))
SPARSE = sparse.csr_array(np.eye(3))
PARTS = {"format": b"csr", "shape": SPARSE.shape, "data": SPARSE.data}
# Name of the file, content, options of the encoder, what is said.
BAD = [
    ("x.csv", "", {}, "the file is empty"),
    ("x.csv", "\n\n", {}, "the file is empty"),
    ("x.csv", "a,b\n", {}, "there is a header but no rows"),
    ("x.csv", "a,b", {}, "there is a header but no rows"),
    ("x.csv", "a,b\n1,2\n1,2,3\n", {}, "row 2 of the data has 3 fields, expected 2"),
    ("x.csv", RAMP + "1\n", {}, "row 9,001 of the data has 1 field.*expected 2"),
    ("x.csv", "a;b\n1;2\n", {}, "separated by ';'; say --delimiter ';'"),
    ("x.csv", "a\tb\n1\t2\n", {}, "separated by 'tab'; say --delimiter 'tab'"),
    ("x.tsv", "a,b\n1,2\n", {}, "separated by ','"),
    ("x.csv", "a,b,a\n1,2,3\n", {}, "duplicate column names: 'a'; .*--no-header"),
    ("x.csv", bytes(range(256)), {}, "not text"),
    ("x.csv", parquet(a=[1]), {}, "this is a Parquet file; expected CSV"),
    ("x.csv", "a\n1\n".encode("utf-16"), {}, "this is UTF-16 text"),
    ("x.csv", b"a\xe4,b\n1,2\n", {}, "not UTF-8 text; convert it"),
    (
        "x.csv",
        b"a,b\n1,x\n2,\xe4\n",
        {},
        "not UTF-8 text in row 2 of the data, column 'b'; convert it",
    ),
    ("x.csv.gz", gzip.compress(RAMP.encode())[:-9], {}, "packed file is cut off"),
    (
        "x.csv.gz",
        gzip.compress(RAMP.encode())[:90] + b"\0" * 99,
        {},
        "packed file is (damaged|cut off)",
    ),
    ("x.csv", "a,b\n1,inf\n2,-inf\n3,1\n", {}, r"2 in 'b' \(first in row 1 of"),
    ("x.csv", "a,b\n1,Infinity\n2,3\n", {}, "infinite values: 1 in 'b'"),
    ("x.csv", "a,b\n1,\nNA,2\nnan,null\n", {}, "2 in 'b', 2 in 'a'|2 in 'a', 2 in 'b'"),
    ("x.csv", "a,b\n1,\n,2\n", {"missing": "drop"}, "no rows are left"),
    ("x.csv", "a,b\n1,x\n1,x\n", {}, "no column has two different values"),
    ("x.csv", "a,b\n1,2\n", {}, "no column has two different values in its 1 rows"),
    ("x.csv", "a\n1e308\n-1e308\n", {}, "too large to scale"),
    ("x.csv", "a\n1e300\n2\n", {"scale": "none"}, "too large for single precision"),
    ("x.csv", RAMP, {"columns": ["B"]}, "--columns 'B': .* did you mean 'b'"),
    ("x.csv", RAMP, {"drop": ["zz"]}, "--drop 'zz': .* there are 'a', 'b'"),
    ("x.csv", RAMP, {"id": "aa"}, "--id 'aa': there is no such column"),
    ("x.csv", RAMP, {"label": "aa"}, "--label 'aa': there is no such column"),
    ("x.csv", RAMP, {"text": ["aa"]}, "--text 'aa': there is no such column"),
    ("x.csv", RAMP, {"drop": ["a"], "id": "b"}, "no columns are left"),
    (
        "x.csv",
        RAMP,
        {"text": ["a"]},
        "9,000 different values in 9,000 .*--id a.*--drop a",
    ),
    ("x.csv", column(*(f"{i},5" for i in MANY)), {}, "a decimal comma .*--decimal ','"),
    ("x.csv", column(*("1,5", "2,25") * 15), {}, "a decimal comma .*--decimal ','"),
    ("x.csv", column(*("1", "2,5") * 15), {}, "a decimal comma .*--decimal ','"),
    ("x.csv", column(*("3",) * 29, "2,5"), {}, r"looks like numbers .*\('2,5'\)"),
    ("x.csv", column(*(f"1.{i:03},5" for i in MANY)), {}, "write them without '.' and"),
    (
        "x.csv",
        column(*(f"{i},065,000" for i in MANY)),
        {},
        "thousands separators .*; write them without, or take it as text",
    ),
    (
        "x.csv",
        column(*(f"{i},065" for i in MANY)),
        {},
        r"thousands separators .*\(or, if it is a decimal comma, say --decimal ','\)",
    ),
    ("x.csv", column(*(f"{i} 065" for i in MANY)), {}, "thousands separators"),
    ("x.csv", column(*(f"{i} %" for i in MANY)), {}, "a sign such as % or €"),
    ("x.csv", column(*(f"${i}.50" for i in MANY)), {}, "a sign such as % or €"),
    (
        "x.csv",
        column(*(f"{i}.01.2024" for i in MANY)),
        {},
        "looks like dates .*; write them as 2024-12-31",
    ),
    ("x.csv", "a\n" + "1\n" * 99 + '"2,5"\n', {}, "decimal comma"),
    (
        "x.csv",
        column(*(f"{i},065" for i in MANY), "1,000,000"),
        {},
        r"thousands separators .*\); write them without, or take",
    ),
    ("x.csv", "sep=;\na;b\n1;2\n", {}, "'sep=', is meant for spreadsheets"),
    ("x.csv", "a b c\n1 2 x\n3 4 y\n", {}, "separated by spaces; .*--delimiter ' '"),
    ("x.csv", "1  2\n3  4\n", {}, "separated by spaces; .*tr -s ' ' ','"),
    (
        "x.csv",
        '"a ""b"", c"\nx1\n' + "".join(f"y{i}\n" for i in MANY),
        {},
        """--id 'a "b", c'.*--drop '"a ""b"", c"'""",
    ),
    ("x.csv", "a,b\n1,\n2,3\n", {}, r"\(of 2 rows; empty cells, NA, .* see --na\)"),
    ("x.parquet", parquet(a=[1, 2], y=[[1], [2]]), {"label": "y"}, "--label 'y' is of"),
    ("x.parquet", parquet(a=[1, 2], y=[{"z": 1}] * 2), {"id": "y"}, "--id 'y' is of"),
    ("x.xlsx", "PK", {}, r"unknown kind of file \(.xlsx\); known are .csv, .*.parquet"),
    ("x", "PK", {}, "no extension"),
    ("x.parquet.gz", "PK", {}, "unpack this file first"),
    ("x.parquet", parquet(a=[1, 2])[:-20], {}, "can't be read as Parquet: .*cut off"),
    ("x.parquet", RAMP, {}, "can't be read as Parquet"),
    ("x.parquet", parquet(a=pa.array([], "int8")), {}, "there are no rows"),
    ("x.parquet", parquet(a=[[1], [2]]), {}, "column 'a' is of type list<"),
    ("x.parquet", parquet(a=[b"1", b"2"]), {}, "column 'a' is of type binary"),
    ("x.parquet", parquet(a=[1.0, np.inf]), {}, r"1 in 'a' \(first in row 2\)"),
    ("x.parquet", parquet(a=[1.0, np.nan]), {}, "missing values: 1 in 'a'"),
    ("x.arrow", RAMP, {}, "can't be read as Arrow"),
    ("x.arrow", arrow_twice(), {}, "duplicate column names: 'a'"),
    ("x.arrow", arrow_twice()[:-60], {}, "can't be read as Arrow"),
    ("x.feather", b"FEA1" + b"\0" * 99, {}, "Feather V1 is not read"),
    ("x.npy", npy([[1, "a"]]), {}, "expected a 2-D array of numbers, found values of"),
    ("x.npy", npy(np.array([[1, None]])), {}, "found Python objects"),
    ("x.npy", npy(np.arange(3)), {}, "found an array of 1 dimensions"),
    ("x.npy", npy(np.zeros((2, 2, 2))), {}, "found an array of 3 dimensions"),
    ("x.npy", npy(np.zeros((0, 2))), {}, "found an array without values"),
    ("x.npy", npy(np.zeros(3, "f4,f4")), {}, "found a structured array"),
    ("x.npy", npy(np.zeros((9, 2), complex)), {}, "found values of type complex128"),
    ("x.npy", npy(np.zeros((9, 2)))[:-8], {}, "not a NumPy file, or cut off"),
    ("x.npy", RAMP, {}, "not a NumPy file, or cut off"),
    ("x.npz", npz(a=np.eye(2), b=np.eye(3)), {}, r"found 2 \(a, b\)"),
    ("x.npz", npz(a=np.eye(2))[:-30], {}, "not a NumPy file, or cut off"),
    ("x.npz", npz(a=np.array([[None]])), {}, "found Python objects"),
    ("x.npz", npz(**PARTS), {}, "can't be read as a sparse matrix"),
    (
        "x.npz",
        npz(indices=[0, 9, 2], indptr=[0, 1, 2, 3], **PARTS),
        {},
        "can't be read as a sparse matrix",
    ),
    ("x.svm", "1 1:2 oops\n", {}, "can't be read as LIBSVM"),
    ("x.svm", RAMP, {}, "can't be read as LIBSVM"),
    ("x.svm.gz", gzip.compress(b"1 1:2\n" * 99)[:-9], {}, "can't be read as LIBSVM"),
    ("x.svm", "1 1:2\n0 1:inf\n", {}, "infinite values: 1 in '1' .*row 2"),
    ("x.svm", "1 1:2\n0 1:nan\n", {}, "missing values: 1 in '1'"),
    ("x.svm", "1 1:nan\n", {"missing": "drop"}, "no rows are left"),
]


class TestBadInput:
    @pytest.mark.parametrize(
        ("name", "content", "params", "said"),
        BAD,
        ids=[f"{i}-{case[0]}" for i, case in enumerate(BAD)],
    )
    def test_one_line(self, name, content, params, said, write):
        path = write(name, content)

        def read():
            TableEncoder(**params).fit_transform(open_table(path))

        with pytest.raises(TableError) as error:
            read()
        message = str(error.value)
        assert re.search(said, message), message
        assert message.startswith(path)
        assert "\n" not in message
        assert len(message) < 500 + len(path)

    def test_words_that_look_like_numbers_are_words(self, encode):
        values = ["1,5 m", "v2", "A-3", "10.1.2", "03/04/21", "x"]
        encoder, _ = encode(column(*values * 9))
        assert [f"x={value}" for value in sorted(values)] == [
            name for name in encoder.feature_names_ if name[0] == "x"
        ]

    def test_a_quoted_delimiter_in_the_only_column(self, encode):
        encoder, _ = encode('"size, m"\n1\n2\n')
        assert encoder.feature_names_ == ["size, m"]

    def test_words_with_spaces_in_the_only_column(self, encode):
        encoder, _ = encode("full name\nJo May\nAl Fox\n" + "Jo May\n" * 20)
        assert encoder.feature_names_ == ["full name=Al Fox", "full name=Jo May"]

    def test_no_such_file(self, write, tmp_path):
        write("people.csv", "a\n1\n")
        with pytest.raises(
            TableError, match=r"no such file; did you mean 'people.csv'"
        ):
            open_table(str(tmp_path / "peple.csv"))
        with pytest.raises(TableError, match=r"no such file$"):
            open_table(str(tmp_path / "no" / "x.csv"))

    def test_a_folder(self, tmp_path):
        with pytest.raises(TableError, match="this is a folder"):
            open_table(str(tmp_path))

    def test_no_permission(self, write, monkeypatch):
        path = write("x.csv", "a\n1\n")

        def refuse(*_):
            raise PermissionError

        monkeypatch.setattr("pathlib.Path.open", refuse)
        with pytest.raises(TableError, match="no permission to read it"):
            open_table(path)

    @pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n"])
    def test_delimiter(self, delimiter):
        with pytest.raises(TableError, match="expected one character"):
            open_table("x.csv", delimiter=delimiter)

    @pytest.mark.parametrize("delimiter", ["tab", "\\t", "\t", ";"])
    def test_delimiters_by_name(self, delimiter, write):
        mark = ";" if delimiter == ";" else "\t"
        table = open_table(write("x.txt", f"a{mark}b\n1{mark}2\n"), delimiter=delimiter)
        assert [column.name for column in table.columns] == ["a", "b"]

    @pytest.mark.parametrize("decimal", [";", ","])
    def test_decimal(self, decimal):
        with pytest.raises(TableError, match=r"expected '\.' or ',', and not the"):
            open_table("x.csv", decimal=decimal, delimiter=",")

    def test_standard_input(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", Piped(b""))
        with pytest.raises(TableError, match="standard input: it is empty"):
            open_table("-")
        piped = Piped(b"")
        monkeypatch.setattr(piped, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdin", piped)
        with pytest.raises(TableError, match="nothing is piped into it"):
            open_table("-")

    def test_no_space_for_standard_input(self, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(sys, "stdin", Piped(b"a\n1\n"))
        monkeypatch.setattr("shutil.copyfileobj", full)
        with pytest.raises(TableError, match=r"No space left on device\); TMPDIR"):
            open_table("-")

    @pytest.mark.parametrize(
        "params", [{"scale": "log"}, {"missing": "skip"}, {"most_values": 1}]
    )
    def test_settings(self, params, write):
        with pytest.raises(ValueError, match="is not valid; expected"):
            TableEncoder(**params).fit(open_table(write("x.csv", RAMP)))

    def test_a_first_line_of_numbers_is_pointed_out(self, encode):
        encoder, _ = encode("5.1,3.5\n4.9,3.0\n4.7,3.2\n")
        assert "say --no-header" in encoder.notes_[0]
        encoder, _ = encode("0,1\n4.9,3.0\n4.7,3.2\n")
        assert encoder.notes_ == []


class TestEncoding:
    def test_by_hand(self, encode):
        encoder, encoded = encode("a,b,t\n1,0,v\n2,5,u\n3,5,v\n6,10,v\n", label="b")
        root = np.sqrt(3.5)  # variance of 1, 2, 3, 6, whose mean is 3
        assert encoder.feature_names_ == ["a", "t=u", "t=v"]
        expected = [[-2 / root, 0, 1], [-1 / root, 1, 0], [0, 0, 1], [3 / root, 0, 1]]
        np.testing.assert_allclose(encoded.X, expected, rtol=1e-6)
        assert encoded.labels.to_pylist() == [0, 5, 5, 10]
        assert encoded.rows.tolist() == [0, 1, 2, 3]
        assert encoded.ids is None
        assert encoder.notes_ == []
        assert encoder.describe() == [
            "a: numbers, scaled to mean 0 and standard deviation 1",
            "t: text, 2 values one-hot encoded",
            "held out: b",
        ]
        kinds = [(c["name"], c["kind"], c["how"]) for c in encoder.columns_]
        assert kinds == [("a", "number", "standard"), ("t", "text", "one-hot")]

    @pytest.mark.parametrize(
        ("scale", "theirs"), [("standard", StandardScaler), ("minmax", MinMaxScaler)]
    )
    def test_scales(self, scale, theirs, tmp_path, rng):
        X = rng.normal(1e5, 1, size=(40_000, 3)) * [1, 1e-3, 1e8]
        np.save(tmp_path / "x.npy", X)
        table = open_table(str(tmp_path / "x.npy"))
        encoded = TableEncoder(scale=scale).fit_transform(table)
        np.testing.assert_allclose(encoded.X, theirs().fit_transform(X), atol=1e-5)

    def test_moments_do_not_depend_on_batches(self, rng):
        V = rng.normal(5, 3, size=(4, 50_000))
        V[1, ::3] = np.nan
        found = []
        for size in (50_000, 777, 16_384):
            moments = Moments(4)
            for start in range(0, 50_000, size):
                moments.add(V[:, start : start + size])
            moments.finish()
            found.append(np.array([moments.mean, moments.std, moments.count]))
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_allclose(found[0][0], np.nanmean(V, axis=1))
        np.testing.assert_allclose(found[0][1], np.nanstd(V, axis=1))

    def test_rare_values_are_pooled(self, encode):
        rows = ["c"] * 5 + ["a"] * 4 + ["e"] * 2 + ["d"] * 2 + ["b"]
        encoder, encoded = encode("t\n" + "\n".join(rows) + "\n", most_values=3)
        assert encoder.feature_names_ == ["t=a", "t=c", "t=other"]
        assert encoded.X.sum(axis=0).tolist() == [4, 5, 5]
        assert encoder.describe() == [
            "t: text, 5 values, the 2 most frequent one-hot encoded, 36 % of rows "
            "pooled as 'other'"
        ]
        assert [row["t"] for row in encoder.original(encoded.X[[0, 5, 9]])] == [
            "c",
            "a",
            "(other)",
        ]
        encoder, _ = encode("t\n" + "\n".join(rows) + "\n", most_values=4)
        assert encoder.feature_names_ == ["t=a", "t=c", "t=d", "t=other"]  # d before e

    def test_a_value_called_other(self, encode):
        rows = ["other"] * 5 + ["a"] * 4 + ["b", "c"]
        encoder, encoded = encode("t\n" + "\n".join(rows) + "\n", most_values=3)
        assert encoder.feature_names_ == ["t=a", "t=other"]
        assert encoded.X.sum(axis=0).tolist() == [4, 7]

    def test_unseen_values(self, encode, write):
        new = write("new.csv", "t,a\nu,1\nw,1\nw,1\n")
        encoder, _ = encode("a,t\n0,u\n1,v\n")
        encoded = encoder.transform(open_table(new))
        np.testing.assert_array_equal(encoded.X, [[1, 1, 0], [1, 0, 0], [1, 0, 0]])
        (note,) = encoded.notes
        assert note.startswith("t: 2 rows with values that were not there in training")
        assert "'w'" in note

        encoder, _ = encode("a,t\n0,u\n1,v\n0,v\n1,x\n", most_values=2)
        encoded = encoder.transform(open_table(new))
        assert encoder.feature_names_ == ["a", "t=v", "t=other"]
        np.testing.assert_array_equal(encoded.X[:, 1:], [[0, 1]] * 3)

    def test_missing_dropped(self, encode):
        encoder, encoded = encode(
            "id,a,t\n1,1,u\n2,,u\n3,3,NA\n4,5,v\n", missing="drop", id="id"
        )
        np.testing.assert_array_equal(encoded.X, [[-1, 1, 0], [1, 0, 1]])
        assert encoded.rows.tolist() == [0, 3]
        assert encoded.ids.to_pylist() == [1, 4]
        assert encoder.n_rows_ == 4
        assert encoder.notes_[-1] == (
            "2 of 4 rows left out, as values are missing: 1 in 'a', 1 in 't'"
        )

    @pytest.mark.parametrize("missing", ["drop", "mean"])
    def test_missing_in_new_rows_is_told(self, missing, encode, write):
        encoder, _ = encode("a,t\n1,u\n2,v\n", missing=missing)
        assert encoder.notes_ == []
        new = encoder.transform(open_table(write("n.csv", "a,t\n,u\n1,u\n5,\n")))
        said = {
            "drop": "2 of 3 rows left out, as values are missing: 1 in 'a', 1 in 't'",
            "mean": "missing values filled (numbers with the mean, text as 'missing'): "
            "1 in 'a', 1 in 't'",
        }
        assert new.notes[0] == said[missing]

    def test_missing_filled(self, encode, write):
        encoder, encoded = encode(
            "a,t\n1,u\n,u\n3,\n5,v\n", missing="mean", scale="none"
        )
        assert encoder.feature_names_ == ["a", "t=missing", "t=u", "t=v"]
        expected = [[1, 0, 1, 0], [3, 0, 1, 0], [3, 1, 0, 0], [5, 0, 0, 1]]
        np.testing.assert_array_equal(encoded.X, expected)
        assert "missing values filled" in encoder.notes_[-1]
        new = encoder.transform(open_table(write("new.csv", "a,t\n,\n")))
        np.testing.assert_array_equal(new.X, [[3, 1, 0, 0]])  # the mean of training

    def test_true_and_false_weigh_as_yes_and_no(self, encode, write, tmp_path):
        flags = ["True", "False", "true"]
        encoder, encoded = encode(
            "a,f\n" + "".join(f"{i},{flags[i]}\n" for i in (0, 1, 2))
        )
        assert encoder.feature_names_ == ["a", "f=false", "f=true"]
        np.testing.assert_array_equal(encoded.X[:, 1:], [[0, 1], [1, 0], [0, 1]])
        assert encoder.describe()[1].startswith("f: true or false, as text is")
        parquet = tmp_path / "x.parquet"
        pa.parquet.write_table(
            pa.table({"a": [0, 1, 2], "f": [True, False, True]}), parquet
        )
        same(encoder.transform(open_table(str(parquet))), encoded)

    def test_true_among_other_words_is_a_word(self, encode, write):
        encoder, _ = encode("f\nTrue\nFalse\nmaybe\n")
        new = encoder.transform(open_table(write("n.csv", "f\nTrue\nFalse\n")))
        np.testing.assert_array_equal(new.X, [[0, 1, 0], [1, 0, 0]])
        assert new.notes == ()

    def test_a_column_that_is_empty(self, encode):
        encoder, _ = encode("a,b\n1,\n2,\n", missing="mean")
        assert encoder.feature_names_ == ["a"]

    def test_constant_columns(self, encode, write):
        encoder, _ = encode("a,b,t\n1,0.1,x\n2,0.1,x\n")
        assert encoder.feature_names_ == ["a"]
        assert encoder.describe()[1:] == ["left out, as all values are equal: b, t"]
        encoded = encoder.transform(open_table(write("new.csv", "a\n1\n2\n")))
        assert encoded.X.ravel().tolist() == [-1, 1]

    def test_row_numbers_are_pointed_out(self, encode):
        text = "n,a\n" + "".join(f"{i},{i % 3}\n" for i in range(100))
        encoder, _ = encode(text)
        assert encoder.notes_ == [
            "n: seems to number the rows; if so, name it as --id or --drop it"
        ]

    def test_columns_by_name(self, encode):
        text = "a,b,c,d\n1,2,3,4\n5,6,7,9\n"
        encoder, encoded = encode(
            text, columns=["c", "a", "d"], drop=["a"], label="d", scale="none"
        )
        assert encoder.feature_names_ == ["c"]
        assert encoded.X.ravel().tolist() == [3, 7]
        assert encoded.labels.to_pylist() == [4, 9]

    def test_labels_may_be_missing(self, encode):
        _, encoded = encode("a,y\n1,u\n2,\n", label="y")
        assert encoded.labels.to_pylist() == ["u", None]

    def test_an_identifier_in_a_long_file_is_found_early(self, write, monkeypatch):
        monkeypatch.setattr("akkm.tables._summary._EARLY", 100)
        monkeypatch.setattr(_csv, "BLOCK", 1_000)
        path = write("x.csv", "a\n" + "".join(f"k{i}\n" for i in range(5_000)))
        with pytest.raises(
            TableError, match=r"has \d{3} different values in \d{3} rows"
        ):
            TableEncoder().fit(open_table(path))


class TestOriginal:
    @pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
    def test_values_come_back(self, scale, tmp_path, rng):
        n = 200
        table = pa.table(
            {
                "x": rng.normal(1e3, 20, n).round(2),
                "whole": rng.integers(1_900, 2_020, n),
                "day": pa.array(rng.integers(0, 9_000, n).astype("M8[D]")),
                "seen": pa.array(rng.integers(0, 10**6, n).astype("M8[s]")),
                "clock": pa.array(rng.integers(0, 86_400, n), pa.int32()).cast(
                    pa.time32("s")
                ),
                "colour": rng.choice(["red", "green", "blue"], n),
                "flag": rng.random(n) < 0.5,
            }
        )
        pa.parquet.write_table(table, tmp_path / "x.parquet")
        encoder = TableEncoder(scale=scale)
        X = encoder.fit_transform(open_table(str(tmp_path / "x.parquet"))).X
        expected = [
            {
                **{name: row[name] for name in ("x", "whole", "colour")},
                "day": row["day"].isoformat(),
                "seen": row["seen"].isoformat(" "),
                "clock": row["clock"].isoformat(),
                "flag": str(row["flag"]).lower(),
            }
            for row in table.to_pylist()
        ]
        found = encoder.original(X)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours == {**theirs, "x": pytest.approx(theirs["x"], abs=0.003)}

    def test_text_that_was_not_seen(self, encode, write):
        encoder, _ = encode("a,t\n1,u\n2,v\n")
        X = encoder.transform(open_table(write("n.csv", "a,t\n1,w\n"))).X
        assert encoder.original(X) == [{"a": 1.0, "t": None}]

    def test_odd_names_are_quoted(self, encode):
        encoder, _ = encode('"a,b","c\nd",e\n1,2,3\n4,5,6\n')
        assert encoder.describe()[0].startswith(r"'a,b', 'c\nd', e: numbers")

    def test_a_description_of_many_columns_stays_short(self, encode):
        names = [*(f"n{i}" for i in range(40)), *(f"t{i}" for i in range(40))]
        lines = [",".join(names)]
        lines += [",".join([str(i)] * 40 + [f"v{i}"] * 40) for i in range(3)]
        encoder, _ = encode("\n".join(lines) + "\n", drop=["n1"], label="t0")
        told = encoder.describe()
        assert told[0].startswith("n0, n2, n3, n4, n5, n6, n7, n8 and 31 more: numbers")
        assert told[9] == "and 31 more columns: text, 93 values one-hot encoded"
        assert told[10:] == ["held out: t0", "left out, as you said: n1"]


class TestTransform:
    @pytest.fixture
    def encoder(self, encode):
        text = "k,a,t,y,z\n1,1,u,0,5\n2,3,v,1,5\n"
        return encode(text, id="k", label="y", drop=["z"])[0]

    def test_any_order_and_without_what_is_held_out(self, encoder, write):
        encoded = encoder.transform(open_table(write("n.csv", "t,a\nv,1\nu,3\n")))
        np.testing.assert_array_equal(encoded.X, [[-1, 0, 1], [1, 1, 0]])
        assert encoded.ids is None
        assert encoded.labels is None

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("a,y\n1,0\n", "not the columns of the model: missing are 't'"),
            ("a,t,w\n1,u,0\n", r"unknown are 'w' \(leave them out: --drop w\)"),
            ('a,t,"x,y z"\n1,u,0\n', """--drop '"x,y z"'"""),
            ("b,t\n1,u\n", "missing are 'a' .*; unknown are 'b'"),
            ("a,t\nx,u\n", "column 'a' holds text, but numbers in the model"),
            ("a,t\n1999-01-01,u\n", "column 'a' holds dates, but numbers in the model"),
            ("a,t\n1,\n", "missing values: 1 in 't'"),
            ("a,t\n1e39,u\n2,u\n", "too large for single precision"),
        ],
    )
    def test_other_columns_are_named(self, text, said, encoder, write):
        with pytest.raises(TableError, match=said):
            encoder.transform(open_table(write("n.csv", text)))

    def test_text_that_looks_like_numbers(self, encoder, write, tmp_path):
        """In CSV nobody can tell; files with types are taken at their word."""
        encoded = encoder.transform(open_table(write("n.csv", "a,t\n1,7\n")))
        assert "'7'" in encoded.notes[0]
        pa.parquet.write_table(pa.table({"a": [1], "t": [7]}), tmp_path / "n.parquet")
        with pytest.raises(
            TableError, match="'t' holds numbers, but text in the model"
        ):
            encoder.transform(open_table(str(tmp_path / "n.parquet")))

    def test_numbers_as_text(self, tmp_path):
        path = tmp_path / "x.parquet"
        pa.parquet.write_table(pa.table({"zip": [7, 8, 7], "a": [1, 2, 4]}), path)
        encoder = TableEncoder(text=["zip"]).fit(open_table(str(path)))
        encoded = encoder.transform(open_table(str(path)))
        assert encoder.feature_names_ == ["zip=7", "zip=8", "a"]
        assert encoded.X[:, 0].tolist() == [1, 0, 1]

    def test_a_table_whose_length_is_not_known(self, write, monkeypatch):
        monkeypatch.setattr(_csv, "BLOCK", 1_000)
        path = write("x.csv", RAMP)
        encoder = TableEncoder().fit(open_table(path))
        table = open_table(path)
        assert table.n_rows is None
        encoded = encoder.transform(table)
        assert encoded.X.shape == (9_000, 2)
        np.testing.assert_allclose(encoded.X.mean(axis=0), 0, atol=1e-5)
        same(encoded, encoder.transform(open_table(path)))

    def test_through_a_model_file(self, encoder, write):
        read = skops.io.loads(
            skops.io.dumps(encoder), trusted=["akkm.tables._encoder.TableEncoder"]
        )
        path = write("n.csv", "k,a,t,y\n9,1,v,1\n8,2,w,0\n")
        same(read.transform(open_table(path)), encoder.transform(open_table(path)))
        assert read.columns_ == encoder.columns_
        assert read.feature_names_ == encoder.feature_names_
        assert read.get_params() == encoder.get_params()


class TestSparse:
    @pytest.fixture
    def X(self, rng):
        X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.3)
        X[:, 3] = 0
        return sparse.csr_array(X)

    @pytest.mark.parametrize("name", ["x.npz", "x.svm", "x.svm.gz", "x.libsvm.bz2"])
    def test_formats(self, name, X, tmp_path):
        path, y = tmp_path / name, np.arange(60) % 3
        if name == "x.npz":
            sparse.save_npz(path, X.tocsc())
        else:
            sink = io.BytesIO()
            dump_svmlight_file(X, y, sink, zero_based=False)
            pack = {"gz": gzip.compress, "bz2": bz2.compress}
            data = sink.getvalue()
            path.write_bytes(pack.get(name.split(".")[-1], bytes)(data))
        table = open_table(str(path))
        encoder = TableEncoder().fit(table)
        encoded = encoder.transform(table)
        dense = X.toarray()[:, [0, 1, 2, 4, 5, 6, 7]]
        assert sparse.issparse(encoded.X)
        assert encoded.X.format == "csr"
        assert encoded.X.dtype == np.float32
        np.testing.assert_allclose(
            encoded.X.toarray(), dense / abs(dense).max(axis=0), rtol=1e-6
        )
        first = int(name != "x.npz")  # as LIBSVM files are written
        names = [str(i + first) for i in (0, 1, 2, 4, 5, 6, 7)]
        assert encoder.feature_names_ == names
        assert encoder.describe() == [
            f"{first} to {7 + first}: numbers, divided by their largest absolute "
            "value, so that zeros stay zeros",
            f"left out, as all values are equal: {3 + first}",
        ]
        there = X[[7]].toarray()[0] != 0
        (told,) = encoder.original(encoded.X[[7]])
        assert told == pytest.approx(
            {str(j + first): X[7, j] for j in np.flatnonzero(there)}, rel=1e-6
        )
        if name == "x.npz":
            assert encoded.labels is None
        else:
            assert encoded.labels.to_pylist() == y.tolist()
        read = skops.io.loads(
            skops.io.dumps(encoder), trusted=["akkm.tables._encoder.TableEncoder"]
        )
        assert (read.transform(table).X != encoded.X).nnz == 0

    def test_columns_are_called_as_they_are_written(self, write):
        """A file that begins at 0 and one that begins at 1 have the same column 2."""
        train = open_table(write("x.svm", "1 0:1 1:2 2:3\n0 0:2 1:4\n0 2:6\n"))
        encoder = TableEncoder(scale="none").fit(train)
        assert encoder.feature_names_ == ["0", "1", "2"]
        new = encoder.transform(open_table(write("n.svm", "1 1:5 2:7\n0 2:8\n")))
        np.testing.assert_array_equal(new.X.toarray(), [[0, 5, 7], [0, 0, 8]])

    def test_unscaled_and_by_name(self, X, tmp_path):
        sparse.save_npz(tmp_path / "x.npz", X)
        table = open_table(str(tmp_path / "x.npz"))
        encoder = TableEncoder(scale="none", drop=["0"], label="1", id="2")
        encoded = encoder.fit_transform(table)
        np.testing.assert_allclose(encoded.X.toarray(), X.toarray()[:, 4:], rtol=1e-6)
        np.testing.assert_allclose(encoded.labels.to_numpy(), X.toarray()[:, 1])
        np.testing.assert_allclose(encoded.ids.to_numpy(), X.toarray()[:, 2])

    def test_missing(self, write):
        path = write("x.svm", "1 1:2 2:4\n0 1:nan 2:2\n0 1:4\n")
        table = open_table(path)
        dropped = TableEncoder(missing="drop", scale="none").fit_transform(table)
        assert dropped.rows.tolist() == [0, 2]
        assert dropped.labels.to_pylist() == [1, 0]
        np.testing.assert_array_equal(dropped.X.toarray(), [[2, 4], [4, 0]])
        filled = TableEncoder(missing="mean", scale="none").fit_transform(table)
        np.testing.assert_array_equal(filled.X.toarray(), [[2, 4], [3, 2], [4, 0]])

    def test_width(self, write, tmp_path, X):
        encoder = TableEncoder(scale="none")
        encoder.fit(open_table(write("x.svm", "1 1:2 2:4\n0 2:2\n0 1:4\n")))
        narrow = encoder.transform(open_table(write("n.svm", "1 1:2\n")))
        np.testing.assert_array_equal(narrow.X.toarray(), [[2, 0]])
        assert narrow.labels is None  # all equal: no labels were known
        wide = encoder.transform(open_table(write("w.svm", "1 1:2 3:1\n0 2:1\n")))
        np.testing.assert_array_equal(wide.X.toarray(), [[2, 0], [0, 1]])
        assert wide.notes == ("columns '3' are not in the model and were left out",)
        sparse.save_npz(tmp_path / "x.npz", X)
        with pytest.raises(TableError, match="unknown are '3', '4', '5', '6', '7'"):
            encoder.transform(open_table(str(tmp_path / "x.npz")))
        with pytest.raises(TableError, match=r"a dense table, but .* a sparse one"):
            encoder.transform(open_table(write("d.csv", "0,1\n1,2\n")))


def test_text_is_counted_as_arrow_counts_it(tmp_path):
    table = mixed()
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    opened = open_table(str(tmp_path / "x.parquet"))
    encoder = TableEncoder(columns=["color"]).fit(opened)
    encoded = encoder.transform(opened)
    counts = pc.value_counts(table["color"]).to_pylist()
    expected = {f"color={c['values']}": c["counts"] for c in counts}
    found = dict(zip(encoder.feature_names_, encoded.X.sum(axis=0), strict=True))
    assert found == expected
