"""Output and exit codes of `python -m experiments`."""

import re
import sys

import pytest
from click.testing import CliRunner

from experiments.cli import app
from experiments.paper import run as run_cells

run_module = sys.modules[run_cells.__module__]


def call(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_list_shows_progress_and_data(tiny_folder, all_cells):
    out = call("paper", "list", "--tiny", "--folder", tiny_folder).stdout
    n = len(all_cells)
    assert re.search(rf"all \(distinct cells\) +{n} of {n} +0", out)
    assert re.search(r"tiny-mnist +generated", out)


def test_list_works_before_the_first_run(tmp_path):
    out = call("paper", "list", "--folder", tmp_path).stdout
    assert re.search(r"table3 +0 of \d+ +0 +Table 3: Agreement", out)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("paper", "run"),
            "Nothing to run. Expected some of choices, .*table2.*or use --all.",
        ),
        (("paper", "run", "table9"), "Unknown experiment 'table9'. Expected some of"),
        (
            ("paper", "run", "table3", "--data", "iris"),
            "on 'iris'. Expected some of imagenet12, mnist",
        ),
        (("bench", "nothing"), "No such command 'nothing'"),
        (("bench", "speed", "--task", "nothing"), "Unknown task 'nothing'. Expected"),
    ],
)
def test_errors_are_one_line(args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*args)
    assert result.exit_code == 2
    assert re.search(message, result.stderr)
    assert result.stderr.count("\n") == 1


def test_run_can_be_limited_to_a_data_set(tmp_path):
    where = ("--tiny", "--folder", tmp_path)
    result = call("paper", "run", "table3", "--data", "tiny-mnist", *where)
    assert result.exit_code == 0
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["tiny-mnist.jsonl"]
    assert re.search(r"seed 1: .* s  \[\d+ of 14, about .* left\]", result.stdout)
    assert "14 cells were run, 0 were done before." in result.stdout
    result = call("paper", "run", "table3", "--data", "tiny-mnist", *where)
    assert result.stdout == "0 cells were run, 14 were done before.\n"


def test_run_names_missing_data_sets_at_the_end(tmp_path, monkeypatch):
    for name in ("AKKM_DATA", "AKKM_CACHE"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    result = call("paper", "run", "table3", "--folder", tmp_path / "out")
    assert result.exit_code == 2
    assert re.search(r"imagenet12: missing.*mnist: missing", result.stderr)
    assert "0 cells were run" in result.stdout


def test_report_prints_the_written_files(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "experiments.paper.write_report", lambda *_, **__: [tmp_path / "index.html"]
    )
    out = call("paper", "report", "--tiny", "--folder", tiny_folder).stdout
    assert str(tmp_path / "index.html") in out


def test_ctrl_c_exits_with_code_130(tmp_path, monkeypatch):
    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "fit", stop)
    result = call("paper", "run", "table3", "--tiny", "--folder", tmp_path)
    assert result.exit_code == 130
    assert "Finished measurements are stored" in result.stderr


def test_help_lists_every_benchmark():
    out = call("bench", "--help").stdout
    for name in ("speed", "methods", "beyond", "counting", "theory", "workers"):
        assert re.search(rf"^  {name} ", out, re.M)


def test_benchmarks_that_need_data_say_so(monkeypatch):
    monkeypatch.delenv("AKKM_DATA", raising=False)
    monkeypatch.delenv("AKKM_CACHE", raising=False)
    for name in ("methods", "images", "files"):
        result = call("bench", name)
        assert result.exit_code == 2, name
        assert "AKKM_DATA is not set" in result.stderr
