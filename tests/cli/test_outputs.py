"""Output files and exit codes."""

import errno
import os
import re
import shutil

import pytest

from akkm.model_file import load_model
from tests.cli.commands import cluster_iris, output_of, run

CLUSTER = ("cluster", "iris.csv", "-k", 2, "--drop", "name", "--labels")


def test_existing_files_are_replaced(here):
    (here / "out.csv").write_text("old")
    output_of(*CLUSTER, "out.csv")
    assert (here / "out.csv").read_text().startswith("row,cluster,distance,margin\n0,")


def test_symbolic_links_are_followed(here):
    (here / "real.csv").write_text("old")
    (here / "link.csv").symlink_to("real.csv")
    output_of(*CLUSTER, "link.csv")
    assert (here / "link.csv").is_symlink()
    assert (here / "real.csv").read_text() != "old"


def test_the_summary_names_replaced_files(here):
    (here / "l.csv").write_text("old")
    out = output_of(*CLUSTER, "l.csv", "--model", "m.skops")
    assert out.endswith("written  l.csv (replaced)\n         m.skops\n")


def test_an_input_is_not_overwritten(here):
    cluster_iris()
    shutil.move("m.skops", "m.html")
    args = ("--labels", "l.csv", "--report", "./m.html")
    result = run("predict", "m.html", "iris.csv", *args)
    assert result.exit_code == 2
    assert "--report and MODEL are the same file" in result.stderr
    load_model("m.html")


def test_ctrl_c_after_writing_names_the_written_files(here, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("akkm.cli._cluster.summarise", interrupt)
    result = run(*CLUSTER, "l.csv")
    assert result.exit_code == 130
    assert result.stderr.strip() == "akkm: stopped; written: l.csv."
    assert (here / "l.csv").exists()


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError(), 2, "akkm: error: not enough memory"),
        (PermissionError(13, "Permission denied", "x"), 2, "x: Permission denied."),
        (ImportError("needs numba"), 2, "akkm: error: needs numba"),
        (ValueError("two\nlines"), 2, "akkm: error: two lines"),
        (KeyError("x"), 1, "this is a bug in akkm (KeyError: 'x')"),
        (KeyboardInterrupt(), 130, "akkm: stopped; no file was written."),
    ],
)
def test_every_error_is_reported_in_one_line(error, code, message, here, monkeypatch):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("akkm.cli._cluster.fit", fail)
    result = run(*CLUSTER, "l.csv")
    assert result.exit_code == code
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert os.listdir() == ["iris.csv"]
    if code != 130:
        assert "Traceback" in run("--debug", *CLUSTER, "l.csv").stderr


@pytest.mark.parametrize("size", [1_000, 20_000, 60_000])
def test_no_file_is_written_if_the_disk_is_full(size, here):
    """The disk becomes full while labels, model or report are written."""
    resource = pytest.importorskip("resource")
    (here / "out.csv").write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        result = run(*CLUSTER, "out.csv", "--model", "m.skops", "--report", "r.html")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert result.exit_code == 2
    message = r"akkm: error: .*ile too large.*; no file was written\. Make room.*\n"
    assert re.fullmatch(message, result.stderr), result.stderr
    assert sorted(os.listdir()) == ["iris.csv", "out.csv"]
    assert (here / "out.csv").read_text() == "old"


def test_a_full_disk_at_standard_output_names_the_written_files(here, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("akkm.cli._console.click.secho", fail)
    result = run(*CLUSTER, "l.csv")
    assert result.exit_code == 2
    assert result.stderr == (
        "akkm: error: standard output: No space left on device; written: l.csv. "
        "Make room, or write elsewhere.\n"
    )
    assert (here / "l.csv").exists()
