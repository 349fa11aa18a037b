"""Unusual or invalid files: headers, names, cells, links, label files."""

import os
import struct

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from tests.cli.commands import output_of, run


def npy(shape, kind="'<f8'", content=bytes(480)):
    """Bytes of a .npy file whose header has the given shape and type."""
    text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def rows(path, n=30):
    X = np.random.default_rng(0).random((n, 2)).round(3)
    path.write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in X))


class TestBadInputIsNoBug:
    """Exit code 1 and "this is a bug in akkm" are reserved for bugs."""

    @pytest.mark.parametrize(
        "shape",
        ["(-3, 2)", "(3, -2)", "(-3, -2)", f"({2**63}, 2)", "(True, 2)", "(3, 2", "()"],
    )
    def test_npy_files_with_an_impossible_shape_are_refused(self, shape, tmp_path):
        path = tmp_path / "x.npy"
        path.write_bytes(npy(shape))
        result = run("plan", path, "-k", 2)
        assert result.exit_code == 2, result.output
        assert "x.npy: " in result.stderr

    @pytest.mark.parametrize(
        "kind", ["'<f8'*3", "'<q9'", "'|O'", "'V0'", "{}", "'<M8'"]
    )
    def test_npy_files_with_an_impossible_type_are_refused(self, kind, tmp_path):
        path = tmp_path / "x.npy"
        path.write_bytes(npy("(3, 2)", kind))
        result = run("plan", path, "-k", 2)
        assert result.exit_code == 2, result.output

    @pytest.mark.parametrize("index", [2**31 - 1, 2**31, 2**32, 2**63, 2**64, -1])
    def test_libsvm_indices_outside_the_limits_are_refused(self, index, tmp_path):
        path = tmp_path / "x.svm"
        path.write_text(f"1 1:2 {index}:3\n0 1:1\n1 2:5\n0 2:4\n")
        result = run("plan", path, "-k", 2)
        assert result.exit_code == 2, result.output
        assert "x.svm: " in result.stderr

    @pytest.mark.parametrize("wrong", ["row", "cluster"])
    @pytest.mark.parametrize(
        "values",
        [[[1], [2]], [{"a": 1}, {"a": 2}], [b"\xff", b"\xfe"]],
        ids=["list", "struct", "binary"],
    )
    def test_columns_that_compare_cannot_use_are_refused(self, wrong, values, tmp_path):
        good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
        table = {"row": pa.array([0, 1]), "cluster": pa.array([0, 1])}
        parquet.write_table(pa.table(table), good)
        parquet.write_table(pa.table({**table, wrong: pa.array(values)}), bad)
        for files in ((good, bad), (bad, good)):
            result = run("compare", *files)
            assert result.exit_code == 2, result.output
            assert "expected numbers or text" in result.stderr

    def test_compare_accepts_dates_and_categories(self, tmp_path):
        path = tmp_path / "l.parquet"
        days, names = pa.array([0, 1], pa.date32()), pa.array(["a", "b"])
        table = pa.table({"day": days, "cluster": names.dictionary_encode()})
        parquet.write_table(table, path)
        csv.write_csv(table.set_column(1, "cluster", names), tmp_path / "l.csv")
        assert "2, by day" in output_of("compare", path, tmp_path / "l.csv")
        parquet.write_table(table.set_column(1, "cluster", days), path)
        assert "2, by day" in output_of("compare", path, path)


@pytest.mark.parametrize("cell", ["", "  ", '""'])
def test_compare_refuses_rows_without_a_cluster(cell, tmp_path):
    path = tmp_path / "l.csv"
    path.write_text(f"row,cluster\n0,1\n1,{cell}\n")
    result = run("compare", path, path)
    assert result.exit_code == 2, result.output
    assert "rows without a cluster" in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="file names on Windows are Unicode")
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "npy"])
def test_file_names_that_are_not_utf8_are_accepted(ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).random((30, 2))
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    if ending == "csv":
        csv.write_csv(table, "x")
    elif ending == "parquet":
        parquet.write_table(table, "x")
    elif ending == "arrow":
        feather.write_feather(table, "x")
    else:
        np.save("x.npy", X)
        os.rename("x.npy", "x")
    data = os.fsdecode(b"caf\xe9." + ending.encode())
    os.rename("x", data)
    labels, model, report = (f"{data}.{e}" for e in ("csv", "skops", "html"))
    files = ("--labels", labels, "--model", model, "--report", report)
    assert f"caf?.{ending}" in output_of("cluster", data, "-k", 2, *files)
    assert f"caf?.{ending}" in output_of("info", model)
    output_of("predict", model, data, "--labels", "new.parquet")
    assert "30, by row" in output_of("compare", labels, "new.parquet")
    missing = run("plan", f"no{data}", "-k", 2)
    assert missing.exit_code == 2
    assert f"nocaf?.{ending}: there is no such file" in missing.stderr


def test_messages_about_long_names_are_short(tmp_path):
    path, name = tmp_path / "x.csv", "n" * 5_000
    path.write_text(f"{name},b\n" + "".join(f"word {i},{i % 3}\n" for i in range(50)))
    for options in (
        ("--columns", name),
        ("--drop", name + "x"),
        ("--columns", "n" * 4_999),
    ):
        result = run("cluster", path, "-k", 2, *options)
        assert result.exit_code == 2
        assert len(result.stderr) < 1_100


class TestSpreadsheets:
    """Spreadsheets run texts that begin with =, +, -, @ or a tab as formulas."""

    FORMULAS = ("=1+2", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "\tx")
    HARMLESS = ("-5", "+", "a=b", "'q")
    IDS = FORMULAS + HARMLESS

    @pytest.fixture
    def data(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        x = np.random.default_rng(0).random(len(self.IDS))
        parquet.write_table(pa.table({"=id": self.IDS, "x": x}), "d.parquet")
        return "d.parquet"

    def test_formulas_get_an_apostrophe_in_csv(self, data):
        output_of("cluster", data, "-k", 2, "--id", "=id", "--labels", "l.csv")
        table = csv.read_csv("l.csv")
        assert table.column_names[0] == "'=id"
        assert table[0].to_pylist() == [
            *(f"'{f}" for f in self.FORMULAS),
            *self.HARMLESS,
        ]

    def test_parquet_and_comparisons_keep_the_ids(self, data):
        for labels in ("l.csv", "l.parquet"):
            output_of("cluster", data, "-k", 2, "--id", "=id", "--labels", labels)
        assert parquet.read_table("l.parquet")["=id"].to_pylist() == list(self.IDS)
        shown = output_of("compare", "l.csv", "l.parquet")
        assert f"{len(self.IDS)}, by =id" in shown
        assert "0 in the first, 0 in the second" in shown


class TestImageFolders:
    cv2 = pytest.importorskip("cv2")

    @pytest.fixture
    def folder(self, tmp_path):
        rng = np.random.default_rng(0)
        for place in (tmp_path / "in", tmp_path / "out"):
            place.mkdir()
            for i in range(4):
                pixels = rng.integers(0, 255, (40, 40), dtype=np.uint8)
                self.cv2.imwrite(str(place / f"{i}.png"), pixels)
        return tmp_path / "in"

    def test_links_out_of_the_folder_are_not_followed(self, folder):
        from akkm.images import ImageError, find_files

        (folder / "inside.png").symlink_to(folder / "0.png")
        (folder / "outside.png").symlink_to(folder.parent / "out" / "1.png")
        (folder / "all").symlink_to(folder.parent / "out")
        names = [os.path.basename(path) for path in find_files(folder)]
        assert names == ["0.png", "1.png", "2.png", "3.png", "inside.png"]
        links = folder.parent / "links"
        links.mkdir()
        (links / "a.png").symlink_to(folder / "0.png")
        with pytest.raises(ImageError, match=r"Links to files outside .* don't count"):
            find_files(links)

    def test_libpng_prints_nothing(self, folder, capfd):
        whole = (folder / "0.png").read_bytes()
        (folder / "damaged.png").write_bytes(whole[:200] + b"\0" * 50 + whole[250:])
        report = folder.parent / "r.html"
        run("images", folder, "-k", 2, "--words", 9, "--quiet", "--report", report)
        assert report.exists()
        assert capfd.readouterr().err == ""
