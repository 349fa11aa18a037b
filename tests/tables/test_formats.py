"""All file formats give the same encoded rows."""

import bz2
import datetime
import functools
import gzip
import io
import os
import pickle
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from akkm.tables import MISSING, TableEncoder, TableError, open_table
from akkm.tables._files import TemporaryPath
from table_files import Piped, mixed, same, write_csv


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
        return encoder.encode(table)

    @pytest.mark.parametrize("block", [1 << 14, 1 << 22])
    @pytest.mark.parametrize("name", FORMATS)
    def test_formats_give_the_same_rows(self, name, block, expected, tmp_path):
        FORMATS[name](mixed(), tmp_path / name)
        encoded = self.encoded(str(tmp_path / name), block=block)
        same(encoded, expected)
        assert encoded.ids.type == pa.int64()
        assert encoded.X.dtype == np.float32
        assert encoded.X.flags.c_contiguous

    @pytest.mark.parametrize("kept", [0, 1 << 30])
    def test_standard_input_gives_the_same_rows(self, kept, expected, monkeypatch):
        sink = io.BytesIO()
        write_csv(mixed(), sink)
        monkeypatch.setattr(sys, "stdin", Piped(sink.getvalue()))
        same(self.encoded("-", kept=kept), expected)

    def test_the_share_of_the_file_that_was_read_rises_to_one(self, tmp_path):
        packed(mixed(20_000), tmp_path / "x.csv.gz", gzip.compress)
        table = open_table(str(tmp_path / "x.csv.gz"), block=1 << 12)
        shares = [table.share for _ in table.batches(["x", "color"])]
        assert shares == sorted(shares)
        assert 0 < shares[0] < 0.9
        assert shares[-1] == 1

    def test_the_temporary_file_is_deleted_with_its_table(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", Piped(b"a,b\n1,2\n3,4\n"))
        table = open_table("-")
        path = str(table.path)
        assert os.path.exists(path)
        del table
        assert not os.path.exists(path)

    def test_a_pickled_temporary_path_does_not_delete_the_file(self):
        path = TemporaryPath()
        copy = pickle.loads(pickle.dumps(path))
        assert copy == path
        del copy
        assert os.path.exists(path)

    def test_parsed_rows_are_cached_for_one_transform(self, tmp_path, monkeypatch):
        write_csv(mixed(), tmp_path / "x.csv")
        table = open_table(str(tmp_path / "x.csv"))
        parsed = []
        parse = table._parse
        monkeypatch.setattr(table, "_parse", lambda t: parsed.append(1) or parse(t))
        encoder = TableEncoder(id="key").fit(table)
        assert len(parsed) == 3  # twice for the first rows, once for all rows
        first = encoder.encode(table)
        assert len(parsed) == 3
        same(encoder.encode(table), first)
        assert len(parsed) == 4

    def test_quoted_text_may_contain_delimiters_and_line_breaks(self, encode):
        encoder, _ = encode('a,b\n1,"x,\ny"\n2,z\n')
        assert encoder.feature_names_ == ["a", "b=x,\ny", "b=z"]

    @pytest.mark.parametrize("order", "CF")
    @pytest.mark.parametrize(
        "dtype", ["f2", "f4", ">f8", "i1", "u1", "i4", "u8", "?", "g"]
    )
    def test_numpy_arrays_give_the_same_rows_as_csv(self, dtype, order, tmp_path, rng):
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
            found[name] = TableEncoder(drop=["1"]).fit(table).encode(table)
        for other in found.values():
            same(other, found["x.csv"])

    def test_columns_without_a_header_are_numbered(self, write):
        path = write("x.csv", "1,a\n2,b\n")
        table = open_table(path, header=False)
        encoder = TableEncoder().fit(table)
        assert encoder.feature_names_ == ["0", "1=a", "1=b"]
        assert encoder.n_rows_ == 2

    def test_leading_blank_lines_and_a_byte_order_mark_are_skipped(self, encode):
        for start in ("\n\n", "\ufeff"):
            encoder, encoded = encode(start + "a,b\n1,2\n3,5\n", scale="none")
            assert encoder.feature_names_ == ["a", "b"]
            np.testing.assert_array_equal(encoded.X, [[1, 2], [3, 5]])

    def test_a_column_without_a_name_gets_its_number(self, encode):
        encoder, _ = encode(",a\n7,2\n3,5\n")
        assert encoder.feature_names_ == ["0", "a"]

    def test_arrow_types_are_converted_to_numbers_or_text(self, tmp_path):
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
        X = dict(zip(encoder.feature_names_, encoder.encode(opened).X.T, strict=True))
        assert X["half"].tolist() == [1, 2]
        assert X["decimal"].tolist() == [1.5, 2.5]
        assert X["codes"].tolist() == [3, 4]
        for name in ("words", "large", "view"):
            assert X[f"{name}=u"].tolist() == [1, 0]
        assert X["date"].tolist() == X["time"].tolist() == [86_400, 0]
        assert X["clock"].tolist() == X["span"].tolist() == [5, 0]
        held = TableEncoder(columns=["half"], id="view").fit(opened).encode(opened)
        assert held.ids.type == pa.large_string()
        assert encoder.describe()[1:4] == [
            "date, time: dates, as they are",
            "clock: times of the day, as they are",
            "span: durations in seconds, as they are",
        ]
        with pytest.raises(TableError, match=r"'list' is of type list<.*--drop list"):
            TableEncoder().fit(opened)

    def test_dates_in_csv_are_converted_to_seconds(self, encode):
        _, encoded = encode("a\n1970-01-01\n1970-01-02\n", scale="none")
        assert encoded.X.ravel().tolist() == [0, 86_400]

    def test_null_values_in_a_dictionary_are_missing_values(self, tmp_path):
        places = pa.array([0, 1, 2, 0], pa.int32())
        words = pa.DictionaryArray.from_arrays(places, ["u", None, "v"])
        codes = pa.DictionaryArray.from_arrays(places, [3.0, None, 5.0])
        table = pa.table({"t": words, "a": codes, "y": words})
        pa.feather.write_feather(table, tmp_path / "x.arrow")
        opened = open_table(str(tmp_path / "x.arrow"))
        with pytest.raises(TableError, match=r"missing values: 1 in '[at]', 1 in"):
            TableEncoder(missing="error").fit(opened)
        encoder = TableEncoder(missing="drop", label="y", scale="none").fit(opened)
        encoded = encoder.encode(opened)
        np.testing.assert_array_equal(encoded.X, [[1, 0, 3], [0, 1, 5], [1, 0, 3]])
        assert encoded.labels.to_pylist() == ["u", "v", "u"]

    def test_a_long_cell_is_read_completely(self, encode):
        long = "x" * 200_000
        encoder, _ = encode(f"a,t\n1,{long}\n2,y\n")
        assert encoder.feature_names_ == ["a", f"t={long}", "t=y"]

    @pytest.mark.parametrize("decimal", [",", "."])
    def test_numbers_are_parsed_with_the_decimal_mark(self, decimal, write):
        text = "a;b\n1.5;\n-2e1;7.25\n".replace(".", decimal)
        path = write("x.csv", text)
        table = open_table(path, delimiter=";", decimal=decimal)
        encoded = TableEncoder(scale="none", missing="mean").fit(table).encode(table)
        np.testing.assert_array_equal(encoded.X, [[1.5], [-20]])

    def test_texts_for_missing_values_can_be_chosen(self, write):
        words = ("", "NA", "n/a", "None", "null", "NaN", "?")
        path = write("x.csv", "a,b\n1,2\n" + "".join(f"{w},3\n" for w in words))
        table = open_table(path, missing=(*MISSING, "?"))
        encoder = TableEncoder(missing="mean").fit(table)
        assert encoder.notes_[0].endswith("7 in 'a'")
        as_text = TableEncoder().fit(open_table(path, missing=()))
        assert [f"a={w}" for w in sorted((*words, "1"))] == as_text.feature_names_[:8]


class TestTypesInCsv:
    """The first block with values of a column decides: numbers or text.

    Later blocks must match.
    """

    @pytest.fixture
    def encode(self, encode):
        return functools.partial(encode, block=1_000)

    @pytest.fixture
    def open_table(self):
        return functools.partial(open_table, block=1_000)

    def test_integers_may_be_followed_by_fractions(self, encode):
        _, encoded = encode("a\n" + "1\n" * 2_000 + "2.5\n", scale="none")
        assert encoded.X[-1, 0] == 2.5

    @pytest.mark.parametrize(
        ("late", "features"), [("7", ["a", "b"]), ("u", ["a", "b=u", "b=v"])]
    )
    def test_a_column_may_be_empty_in_the_first_block(self, late, features, encode):
        text = (
            "a,b\n" + "1,\n2,\n" * 1_000 + f"1,{late}\n1,{'v' if late == 'u' else 8}\n"
        )
        encoder, encoded = encode(text, missing="drop")
        assert encoder.feature_names_ == features[1:]  # a is constant in the kept rows
        assert encoded.rows.tolist() == [2_000, 2_001]

    def test_late_text_in_a_number_column_names_the_row(self, write, open_table):
        path = write("x.csv", "a,b\n" + "1,2\n3,4\n" * 1_000 + "1,oops\n")
        with pytest.raises(TableError) as error:
            TableEncoder().fit(open_table(path))
        message = "'b' holds numbers, but there is 'oops' in row 2,001 of the data; if"
        assert message in str(error.value)
        with pytest.raises(
            TableError, match="column 'b' holds numbers, but there is 'oops'"
        ):
            TableEncoder(drop=["a"]).fit(open_table(path))
        encoder = TableEncoder(text=["b"]).fit(open_table(path))
        assert encoder.feature_names_ == ["a", "b=2", "b=4", "b=oops"]
        assert TableEncoder(drop=["b"]).fit(open_table(path)).feature_names_ == ["a"]

    def test_early_text_in_a_number_column_suggests_na(self, write, open_table):
        path = write("x.csv", "a,b\n" + "1,2\n3,4\n" * 20 + "1,?\n")
        with pytest.raises(
            TableError, match=r"but there is '\?' in 1 of 41 rows; .* --na '\?'"
        ):
            TableEncoder().fit(open_table(path))

    def test_blank_lines_do_not_count_as_rows(self, write, open_table):
        text = "\n\na,b\n1,2\n\n\n" + '3,"4"\n' * 1_000 + "5,oops\n"
        for params in ({}, {"text": ["a"]}):
            with pytest.raises(TableError, match=r"'oops' in row 1,002 of the data"):
                TableEncoder(**params).fit(open_table(write("x.csv", text)))

    def test_ids_and_labels_keep_leading_zeros(self, encode):
        _, encoded = encode("a,b,c\n007,1,7\n8,2,08\n", id="a", label="c")
        assert encoded.ids.to_pylist() == ["007", "8"]
        assert encoded.labels.to_pylist() == ["7", "08"]

    def test_a_line_longer_than_a_block_is_refused(self, write, open_table):
        with pytest.raises(TableError, match=r"a line is longer than .* not closed"):
            open_table(write("x.csv", 'a,b\n1,"2\n' + "1,2\n" * 1_000))
