"""Every bad file raises a TableError with a one-line message."""

import gzip
import io
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse

from akkm.tables import TableEncoder, TableError, open_table
from table_files import RAMP, Piped


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
    """Text of a CSV file with the given cells in column x and numbers in column y."""
    return "x,y\n" + "".join(f'"{cell}",{i % 5}\n' for i, cell in enumerate(cells))


MANY = range(1, 31)
ERROR = {"missing": "error"}
SPARSE = sparse.csr_array(np.eye(3))
PARTS = {"format": b"csr", "shape": SPARSE.shape, "data": SPARSE.data}
# Each entry: file name, content, encoder parameters, pattern of the error message.
BAD = [
    ("x.csv", "", {}, "the file is empty"),
    ("x.csv", "\n\n", {}, "there are no rows"),
    ("x.csv", "a,b\n", {}, "there are no rows"),
    ("x.csv", "  \n", {}, "there are no rows"),
    ("x.csv", "a,b", {}, "there are no rows"),
    ("x.csv", "a,b\n1,2\n1,2,3\n", {}, "row 2 of the data has 3 fields, expected 2"),
    ("x.csv", RAMP + "1\n", {}, "row 9,001 of the data has 1 field.*expected 2"),
    ("x.csv", "a;b\n1;2\n", {}, "separated by ';'; add --delimiter ';'"),
    ("x.csv", "a\tb\n1\t2\n", {}, "separated by 'tab'; add --delimiter 'tab'"),
    ("x.tsv", "a,b\n1,2\n", {}, "separated by ','"),
    ("x.csv", "a,b,a\n1,2,3\n", {}, "duplicate column names: 'a'; .*--no-header"),
    ("x.csv", bytes(range(256)), {}, "so it is binary"),
    ("x.csv", parquet(a=[1]), {}, "contains NUL bytes, so it is binary"),
    ("x.csv", "a\n1\n".encode("utf-16"), {}, "contains NUL bytes.*UTF-16"),
    ("x.csv", b"a\xe4,b\n1,2\n", {}, "not UTF-8 text; convert it"),
    (
        "x.csv",
        b"a,b\n1,x\n2,\xe4\n",
        {},
        "not UTF-8 text in row 2 of the data, column 'b'; convert it",
    ),
    ("x.csv.gz", gzip.compress(RAMP.encode())[:-9], {}, "compressed file is cut off"),
    (
        "x.csv.gz",
        gzip.compress(RAMP.encode())[:90] + b"\0" * 99,
        {},
        "compressed file is cut off or damaged",
    ),
    ("x.csv", "a,b\n1,inf\n2,-inf\n3,1\n", {}, r"2 in 'b' \(first in row 1 of"),
    ("x.csv", "a,b\n1,Infinity\n2,3\n", {}, "infinite values: 1 in 'b'"),
    (
        "x.csv",
        "a,b\n1,\nNA,2\nnan,null\n",
        ERROR,
        "2 in 'b', 2 in 'a'|2 in 'a', 2 in 'b'",
    ),
    ("x.csv", "a,b\n1,\n,2\n", {"missing": "drop"}, "every row has a missing value"),
    ("x.csv", "a,b\n1,x\n1,x\n", {}, "nothing to cluster by"),
    (
        "x.csv",
        "a,b\n1,2\n",
        {},
        "nothing to cluster by in 1 rows; left out, as all values are equal: a, b",
    ),
    ("x.csv", "a\n1e308\n-1e308\n", {}, "too large to scale"),
    ("x.csv", "a\n1e300\n2\n", {"scale": "none"}, "too large for single precision"),
    ("x.csv", RAMP, {"columns": ["B"]}, "--columns 'B': .* did you mean 'b'"),
    ("x.csv", RAMP, {"drop": ["zz"]}, "--drop 'zz': .* expected one of 'a', 'b'"),
    ("x.csv", RAMP, {"id": "aa"}, "--id 'aa': there is no such column"),
    ("x.csv", RAMP, {"label": "aa"}, "--label 'aa': there is no such column"),
    ("x.csv", RAMP, {"text": ["aa"]}, "--text 'aa': there is no such column"),
    ("x.csv", RAMP, {"drop": ["a"], "id": "b"}, "no columns are left"),
    (
        "x.csv",
        column(*(f"{i},065" for i in MANY)),
        {},
        r"thousands separators .*\(or, if ',' is a decimal comma, add --decimal ','\)",
    ),
    (
        "x.csv",
        column(*(f"${i}.50" for i in MANY), "free"),
        {},
        "column 'x' looks like numbers with a sign .*--drop x",
    ),
    (
        "x.csv",
        "x\n" + "$1.50\n$2.50\n" * 6_000 + "free\n",
        {},
        "amounts of money, but row 12,001 .* has 'free'; .*--na free.*--text x",
    ),
    ("x.csv", "sep=;\na;b\n1;2\n", {}, "'sep=', is meant for spreadsheets"),
    ("x.csv", "a b c\n1 2 x\n3 4 y\n", {}, "separated by spaces; .*--delimiter ' '"),
    ("x.csv", "1  2\n3  4\n", {}, "separated by spaces; .*tr -s ' ' ','"),
    (
        "x.csv",
        '"a ""b"", c"\nx1\n' + "".join(f"y{i}\n" for i in MANY),
        {},
        r"nothing to cluster by in 31 rows; left out, as identifiers \(--columns .*c'$",
    ),
    ("x.csv", "a,b\n1,\n2,3\n", ERROR, r"\(of 2 rows; empty cells, NA, .* see --na\)"),
    ("x.parquet", parquet(a=[1, 2], y=[[1], [2]]), {"label": "y"}, "--label 'y' is of"),
    ("x.parquet", parquet(a=[1, 2], y=[{"z": 1}] * 2), {"id": "y"}, "--id 'y' is of"),
    ("x.xlsx", "PK", {}, r"unknown file format \(.xlsx\); expected .csv, .*.parquet"),
    ("x", "PK", {}, "no extension"),
    ("x.parquet.gz", "PK", {}, "decompress it first"),
    ("x.parquet", parquet(a=[1, 2])[:-20], {}, "can't be read as Parquet: .*cut off"),
    ("x.parquet", RAMP, {}, "can't be read as Parquet"),
    ("x.parquet", parquet(a=pa.array([], "int8")), {}, "there are no rows"),
    ("x.parquet", parquet(a=[[1], [2]]), {}, "column 'a' is of type list<"),
    ("x.parquet", parquet(a=[b"1", b"2"]), {}, "column 'a' is of type binary"),
    ("x.parquet", parquet(a=[1.0, np.inf]), {}, r"1 in 'a' \(first in row 2 of"),
    ("x.parquet", parquet(a=[1.0, np.nan]), ERROR, "missing values: 1 in 'a'"),
    ("x.arrow", RAMP, {}, "can't be read as Arrow"),
    ("x.arrow", arrow_twice(), {}, "duplicate column names: 'a'"),
    ("x.arrow", arrow_twice()[:-60], {}, "can't be read as Arrow"),
    ("x.feather", b"FEA1" + b"\0" * 99, {}, "Feather V1 is not supported"),
    ("x.npy", npy([[1, "a"]]), {}, "expected a 2-D array of numbers, found shape"),
    ("x.npy", npy(np.array([[1, None]])), {}, "Python objects"),
    ("x.npy", npy(np.arange(3)), {}, "found shape \\(3,\\)"),
    ("x.npy", npy(np.zeros((2, 2, 2))), {}, "found shape \\(2, 2, 2\\)"),
    ("x.npy", npy(np.zeros((0, 2))), {}, "found shape \\(0, 2\\)"),
    ("x.npy", npy(np.zeros(3, "f4,f4")), {}, "of type \\[\\('f0'"),
    ("x.npy", npy(np.zeros((9, 2), complex)), {}, "of type complex128"),
    ("x.npy", npy(np.zeros((9, 2)))[:-8], {}, "can't be read as .npy: .*cut off"),
    ("x.npy", RAMP, {}, "can't be read as .npy: .*cut off"),
    ("x.npz", npz(a=np.eye(2), b=np.eye(3)), {}, r"found 2 \(a, b\)"),
    ("x.npz", npz(a=np.eye(2))[:-30], {}, "can't be read as .npz: .*cut off"),
    ("x.npz", npz(a=np.array([[None]])), {}, "Python objects"),
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
    ("x.svm", "1 1:2\n0 1:nan\n", ERROR, "missing values: 1 in '1'"),
    ("x.svm", "1 1:nan\n", {"missing": "drop"}, "every row has a missing value"),
]


class TestBadInput:
    @pytest.mark.parametrize(
        ("name", "content", "params", "pattern"),
        BAD,
        ids=[f"{i}-{case[0]}" for i, case in enumerate(BAD)],
    )
    def test_message_is_one_line_with_path(self, name, content, params, pattern, write):
        path = write(name, content)

        def read():
            TableEncoder(**params).fit_transform(open_table(path))

        with pytest.raises(TableError) as error:
            read()
        message = str(error.value)
        assert re.search(pattern, message), message
        assert message.startswith(path)
        assert "\n" not in message
        assert len(message) < 500 + len(path)

    def test_words_that_contain_digits_are_text(self, encode):
        values = ["1,5 m", "v2", "A-3", "10.1.2", "03/04/21", "x"]
        encoder, _ = encode(column(*values * 9))
        assert [f"x={value}" for value in sorted(values)] == [
            name for name in encoder.feature_names_ if name[0] == "x"
        ]

    def test_a_single_column_name_may_contain_a_quoted_delimiter(self, encode):
        encoder, _ = encode('"size, m"\n1\n2\n')
        assert encoder.feature_names_ == ["size, m"]

    def test_a_single_column_may_contain_spaces(self, encode):
        encoder, _ = encode("full name\nJo May\nAl Fox\n" + "Jo May\n" * 20)
        assert encoder.feature_names_ == ["full name=Al Fox", "full name=Jo May"]

    def test_a_missing_file_suggests_similar_names(self, write, tmp_path):
        write("people.csv", "a\n1\n")
        with pytest.raises(
            TableError, match=r"no such file; did you mean 'people.csv'"
        ):
            open_table(str(tmp_path / "peple.csv"))
        with pytest.raises(TableError, match=r"no such file$"):
            open_table(str(tmp_path / "no" / "x.csv"))

    def test_a_folder_without_tables_is_refused(self, tmp_path):
        with pytest.raises(TableError, match="or a folder of Parquet or Arrow files"):
            open_table(str(tmp_path))

    def test_missing_read_permission_is_reported(self, write, monkeypatch):
        path = write("x.csv", "a\n1\n")

        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        with monkeypatch.context() as patched:
            patched.setattr("builtins.open", refuse)
            with pytest.raises(TableError, match=r"can't be read \(Permission denied"):
                open_table(path)

    @pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n"])
    def test_a_delimiter_must_be_one_character(self, delimiter):
        with pytest.raises(TableError, match="expected one character"):
            open_table("x.csv", delimiter=delimiter)

    @pytest.mark.parametrize("delimiter", ["tab", "\\t", "\t", ";"])
    def test_the_tab_delimiter_may_be_given_by_name(self, delimiter, write):
        mark = ";" if delimiter == ";" else "\t"
        table = open_table(write("x.txt", f"a{mark}b\n1{mark}2\n"), delimiter=delimiter)
        assert [column.name for column in table.columns] == ["a", "b"]

    @pytest.mark.parametrize("decimal", [";", ","])
    def test_the_decimal_mark_must_differ_from_the_delimiter(self, decimal):
        with pytest.raises(TableError, match=r"expected '\.' or ',', and not the"):
            open_table("x.csv", decimal=decimal, delimiter=",")

    def test_empty_or_interactive_standard_input_is_refused(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", Piped(b""))
        with pytest.raises(TableError, match="standard input: it is empty"):
            open_table("-")
        piped = Piped(b"")
        monkeypatch.setattr(piped, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdin", piped)
        with pytest.raises(TableError, match="nothing is piped into it"):
            open_table("-")

    def test_a_full_disk_while_copying_standard_input_is_reported(self, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(sys, "stdin", Piped(b"a\n1\n"))
        monkeypatch.setattr("shutil.copyfileobj", full)
        with pytest.raises(TableError, match=r"No space left on device\); .*TMPDIR"):
            open_table("-")

    @pytest.mark.parametrize(
        "params", [{"scale": "log"}, {"missing": "skip"}, {"most_values": 1}]
    )
    def test_invalid_encoder_parameters_are_refused(self, params, write):
        with pytest.raises(ValueError, match="parameter of TableEncoder must be"):
            TableEncoder(**params).fit(open_table(write("x.csv", RAMP)))

    def test_a_header_of_numbers_suggests_no_header(self, encode):
        encoder, _ = encode("5.1,3.5\n4.9,3.0\n4.7,3.2\n")
        assert "add --no-header" in encoder.notes_[0]
        encoder, _ = encode("0,1\n4.9,3.0\n4.7,3.2\n")
        assert encoder.notes_ == []
