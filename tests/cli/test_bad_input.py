"""Bad input gives one line on standard error, exit code 2, and no output file."""

import errno
import json
import os
import pickle
import re
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.cli.commands import output_of, run


def garbage(size=5000):
    return np.random.default_rng(0).bytes(size)


def numbers(path, rows=30, columns=("a", "b"), end=""):
    X = np.random.default_rng(0).random((rows, len(columns))).round(3)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in X)]
    path.write_text("\n".join(lines) + "\n" + end)


def made(name, content=None, end=""):
    """Return a function that writes a file.

    The file contains `content`. If `content` is None, the file contains a table of
    numbers, followed by `end`.
    """

    def make(here):
        if content is None:
            numbers(here / name, end=end)
        elif isinstance(content, bytes):
            (here / name).write_bytes(content)
        else:
            (here / name).write_text(content)

    return make


def truncated(name):
    """Return a function that writes the first half of a Parquet or gzip file."""

    def make(here):
        table = pa.table({"a": np.arange(5000.0), "b": np.arange(5000.0) ** 2 % 7})
        if name.endswith(".parquet"):
            parquet.write_table(table, name)
        else:
            with pa.output_stream(name, compression="gzip") as stream:
                csv.write_csv(table, stream)
        whole = (here / name).read_bytes()
        (here / name).write_bytes(whole[: len(whole) // 2])

    return make


def modelled(change=None, data=None):
    """Return a function that writes d.csv and its model m.skops, and may alter both."""

    def make(here):
        numbers(here / "d.csv")
        output_of("cluster", "d.csv", "-k", 2, "--model", "m.skops", "--quiet")
        if change is not None:
            change(here / "m.skops")
        if data is not None:
            (here / "d.csv").write_text(data)

    return make


def with_version(version):
    """Return a function that sets the akkm version in a model file."""

    def change(path):
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        header = json.loads(members["akkm.json"])
        members["akkm.json"] = json.dumps({**header, "akkm": version}).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    return change


def foreign(path):
    """Replace the kernel type in a model file with an unknown type."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = members["schema.json"].replace(b'"RBF"', b'"Bomb"')
    members["schema.json"] = schema
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def labelled(first, second):
    """Return a function that writes the label files a.csv and b.csv."""

    def make(here):
        (here / "a.csv").write_text(first)
        (here / "b.csv").write_text(second)

    return make


def tall(here):
    """Write a CSV file with a text cell after 400,000 rows of numbers."""
    X = np.random.default_rng(0).random((400_100, 1)).round(4).astype(str)
    X[400_000] = "oops"
    (here / "d.csv").write_text("a,b\n" + "\n".join(f"{x},1" for (x,) in X) + "\n")


D = made("d.csv")
CLUSTER = "cluster d.csv -k 2 --labels out.csv --model out.skops --report out.html "
STRICT = f"{CLUSTER} --missing error"
PREDICT = "predict m.skops d.csv --labels out.csv --report out.html "
BAD = {
    "no such file": (None, CLUSTER, "there is no such file"),
    "a directory": (lambda p: (p / "d.csv").mkdir(), CLUSTER, "folder"),
    "empty file": (made("d.csv", ""), CLUSTER, "empty"),
    "header only": (made("d.csv", "a,b\n"), CLUSTER, "no rows"),
    "ragged rows": (made("d.csv", end="1,2,3\n"), CLUSTER, "row 31 of the data"),
    "wrong delimiter": (made("d.csv", "a;b\n1;2\n3;4\n"), CLUSTER, "--delimiter"),
    "missing values": (made("d.csv", end=",0.5\n"), STRICT, "missing"),
    "NaN": (made("d.csv", end="NaN,0.5\n"), STRICT, "missing"),
    "infinity": (made("d.csv", end="inf,0.5\n"), CLUSTER, "infinit"),
    "minus infinity": (made("d.csv", end="0.5,-inf\n"), CLUSTER, "infinit"),
    "text far down": (tall, CLUSTER, "oops"),
    "duplicate columns": (made("d.csv", "a,a\n1,2\n3,4\n"), CLUSTER, "duplicate"),
    "binary garbage": (made("d.csv", garbage()), CLUSTER, "d.csv"),
    "not UTF-8": (made("d.csv", b"a,b\n\xff\xfe,1\n2,3\n"), CLUSTER, "UTF-8"),
    "truncated gzip": (
        truncated("d.csv.gz"),
        CLUSTER.replace("d.csv", "d.csv.gz"),
        "d.csv.gz",
    ),
    "truncated parquet": (
        truncated("d.parquet"),
        CLUSTER.replace("d.csv", "d.parquet"),
        "d.parquet",
    ),
    "CSV named .parquet": (
        made("d.parquet", "a,b\n1,2\n"),
        CLUSTER.replace("d.csv", "d.parquet"),
        "d.parquet",
    ),
    "unknown extension": (
        made("d.xlsx", "a"),
        CLUSTER.replace("d.csv", "d.xlsx"),
        "unknown file format",
    ),
    "npy of objects": (
        lambda p: np.save(p / "d.npy", np.array([[{}], [None]])),
        CLUSTER.replace("d.csv", "d.npy"),
        "d.npy",
    ),
    "npy in one dimension": (
        lambda p: np.save(p / "d.npy", np.arange(9.0)),
        CLUSTER.replace("d.csv", "d.npy"),
        "d.npy",
    ),
    "npz of several arrays": (
        lambda p: np.savez(p / "d.npz", a=np.eye(3), b=np.eye(3)),
        CLUSTER.replace("d.csv", "d.npz"),
        "d.npz",
    ),
    "LIBSVM garbage": (
        made("d.svm", "1 a:b\n"),
        CLUSTER.replace("d.csv", "d.svm"),
        "d.svm",
    ),
    "unknown column": (D, f"{CLUSTER} --columns a,c", "'c'"),
    "unknown column to drop": (D, f"{CLUSTER} --drop bb", "'bb'"),
    "unknown id column": (D, f"{CLUSTER} --id nobody", "'nobody'"),
    "unknown label column": (D, f"{CLUSTER} --label truth", "'truth'"),
    "all columns dropped": (D, f"{CLUSTER} --drop a,b", "column"),
    "an empty name": (D, f"{CLUSTER} --columns a,,b", "empty name"),
    "k larger than n": (D, CLUSTER.replace("-k 2", "-k 31"), "-k 31 with 30 rows"),
    "k is 0": (D, CLUSTER.replace("-k 2", "-k 0"), "'-k'"),
    "k is text": (D, CLUSTER.replace("-k 2", "-k few"), "'few' is neither"),
    "unknown option": (D, f"{CLUSTER} --clusters 3", "--clusters"),
    "unknown command": (D, "clusters d.csv", "clusters"),
    "unknown kernel": (D, f"{CLUSTER} --kernel gauss", "'gauss'"),
    "precomputed kernel": (D, f"{CLUSTER} --kernel precomputed", "'precomputed'"),
    "negative gamma": (D, f"{CLUSTER} --gamma -1", "neither a positive number nor"),
    "gamma is text": (D, f"{CLUSTER} --gamma wide", "neither a positive number nor"),
    "half a landmark": (D, f"{CLUSTER} --landmarks 0.5", "neither a positive number"),
    "too few landmarks": (D, f"{CLUSTER} --landmarks 1", "less than -k 2"),
    "too many landmarks": (D, f"{CLUSTER} --landmarks 31", "31 with 30 rows"),
    "chi2 kernel without scaling": (D, f"{CLUSTER} --kernel chi2", "--scale minmax"),
    "exact ensemble": (D, f"{CLUSTER} --ensemble 3 --method exact", "--ensemble"),
    "exact landmarks": (D, f"{CLUSTER} --landmarks 9 --method exact", "no effect on"),
    "degree of the RBF kernel": (D, f"{CLUSTER} --degree 2", "no degree"),
    "negative seed": (D, f"{CLUSTER} --seed -1", "'--seed'"),
    "long delimiter": (D, f"{CLUSTER} --delimiter ;;", "expected one character"),
    "decimal commas": (
        made("d.csv", "a;b\n" + "1,250;2\n2,500;3\n" * 9),
        f"{CLUSTER} --delimiter ;",
        "add --decimal ','",
    ),
    "unknown decimal separator": (D, f"{CLUSTER} --decimal x", "'--decimal'"),
    "decimal is the delimiter": (D, f"{CLUSTER} --decimal ,", "not the delimiter"),
    "labels in .txt": (D, "cluster d.csv -k 2 --labels out.txt", ".parquet or .csv"),
    "report in .txt": (D, f"{CLUSTER} --report out.txt", ".html or .htm"),
    "model in .pkl": (D, f"{CLUSTER} --model out.pkl", "ends in .skops"),
    "no output folder": (D, f"{CLUSTER} --labels no/out.csv", "there is no folder"),
    "output is a folder": (
        lambda p: (numbers(p / "d.csv"), (p / "out.csv").mkdir()),
        "cluster d.csv -k 2 --model out.skops --labels out.csv",
        "is not a regular file",
    ),
    "output is a device": (
        lambda p: (numbers(p / "d.csv"), (p / "x.skops").symlink_to("/dev/null")),
        "cluster d.csv -k 2 --model x.skops",
        "is not a regular file",
    ),
    "labels that are lists": (
        lambda p: parquet.write_table(
            pa.table({"a": [1, 2, 3], "y": [[1], [2], [3]]}), p / "d.parquet"
        ),
        CLUSTER.replace("d.csv", "d.parquet") + " --label y",
        "--label 'y' is of type list",
    ),
    "ids that CSV can't hold": (
        lambda p: parquet.write_table(
            pa.table({"a": [1, 2, 3], "y": [b"1", b"2", b"\xff"]}), p / "d.parquet"
        ),
        CLUSTER.replace("d.csv", "d.parquet") + " --id y",
        "--id is a column of type binary, which out.csv can't contain",
    ),
    "output is an input": (D, "cluster d.csv -k 2 --labels d.csv", "are the same file"),
    "two outputs in one file": (
        lambda p: (numbers(p / "d.csv"), (p / "out.html").symlink_to("out.csv")),
        CLUSTER,
        "are the same file",
    ),
    "id with a reserved name": (
        made("d.csv", "cluster,b\n1,2\n3,4\n5,7\n"),
        f"{CLUSTER} --id cluster",
        "rename",
    ),
    "no such model": (D, PREDICT, "m.skops can't be read: No such file"),
    "model is a folder": (
        lambda p: (numbers(p / "d.csv"), (p / "m.skops").mkdir()),
        PREDICT,
        "Is a directory",
    ),
    "model is a pickle": (
        modelled(lambda p: p.write_bytes(pickle.dumps([1]))),
        PREDICT,
        "is not a model of akkm",
    ),
    "model is text": (
        modelled(lambda p: p.write_text("hello")),
        PREDICT,
        "is not a model of akkm",
    ),
    "model is truncated": (
        modelled(lambda p: p.write_bytes(p.read_bytes()[:-200])),
        PREDICT,
        "is damaged",
    ),
    "model is changed": (
        modelled(lambda p: p.write_bytes(p.read_bytes().replace(b"gamma", b"gummy"))),
        PREDICT,
        "is damaged",
    ),
    "model of another version": (
        modelled(with_version("7.1.0")),
        PREDICT,
        "written by akkm 7.1.0",
    ),
    "model with a foreign type": (modelled(foreign), PREDICT, "RBF|Bomb"),
    "info of a foreign file": (D, "info d.csv", "is not a model of akkm"),
    "a column of the model is missing": (modelled(data="a\n1\n2\n"), PREDICT, "'b'"),
    "column not in the model": (modelled(data="a,b,c\n1,2,3\n4,5,6\n"), PREDICT, "'c'"),
    "text for numbers": (modelled(data="a,b\nx,2\ny,3\n"), PREDICT, "'a'"),
    "predict no rows": (modelled(data="a,b\n"), PREDICT, "no rows"),
    "compare nonexistent files": (None, "compare a.csv b.csv", "there is no such file"),
    "no cluster column": (
        labelled("row,x\n1,2\n", "row,cluster\n1,2\n"),
        "compare a.csv b.csv",
        "expected an id or row",
    ),
    "different id columns": (
        labelled("row,cluster\n1,2\n", "id,cluster\n1,2\n"),
        "compare a.csv b.csv",
        "identifies rows by 'row'",
    ),
    "no row in common": (
        labelled("row,cluster\n1,2\n", "row,cluster\n2,2\n"),
        "compare a.csv b.csv",
        "no row in common",
    ),
    "duplicate rows": (
        labelled("row,cluster\n1,2\n1,3\n", "row,cluster\n1,2\n"),
        "compare a.csv b.csv",
        "some values of 'row' twice",
    ),
    "plan for a nonexistent file": (None, "plan d.csv -k 3", "there is no such file"),
    "plan with too many clusters": (D, "plan d.csv -k 99", "-k 99 with 30 rows"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gives_one_line_and_no_output(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, command, message = BAD[name]
    if make is not None:
        make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = run(*command.split())
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.match(r"akkm: error: .+\n\Z", result.stderr), result.stderr
    assert re.search(message, result.stderr), result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def refuse(path, *args, **kwargs):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("akkm.tables._open.open", "d.csv: can't be read (Permission"),
        (
            "akkm.cli._outputs.OutputFile",
            "--labels out.csv can't be written: Permission",
        ),
    ],
)
def test_missing_permissions_are_reported(function, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    D(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(function, refuse, raising=False)
        result = run(*CLUSTER.split())
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"akkm: error: {message}")
    assert os.listdir() == ["d.csv"]
