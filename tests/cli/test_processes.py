"""Tests that need a separate process: signals, pipes and terminals."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import click
import numpy as np
import pytest

import akkm
from akkm.cli._app import SUMMARIES, app
from akkm.model_file import load_model

AKKM = [sys.executable, "-m", "akkm.cli"]
FILES = ["--labels", "l.csv", "--model", "m.skops", "--report", "r.html"]
CLUSTER = ["cluster", "iris.csv", "-k", "2", "--drop", "name"]


@pytest.fixture
def long_command(tmp_path):
    """Command that runs for a few seconds, and its output folder."""
    rng = np.random.default_rng(0)
    X = 4 * rng.normal(size=(9, 10))[rng.integers(9, size=30_000)]
    np.save(tmp_path / "d.npy", X + rng.normal(size=X.shape))
    (tmp_path / "out").mkdir()
    outputs = ["out/l.parquet", "out/m.skops", "out/r.html"]
    options = zip(["--labels", "--model", "--report"], outputs, strict=True)
    args = [word for pair in options for word in pair]
    command = [*AKKM, "cluster", "d.npy", "-k", "9", "--threads", "1", *args]
    return command, tmp_path / "out"


def run_program(program, *args):
    """Run Python code with arguments in a new process."""
    command = [sys.executable, "-c", textwrap.dedent(program), *args]
    return subprocess.run(command, capture_output=True, text=True)


def test_an_error_exits_with_code_2_and_one_line(here):
    done = subprocess.run(
        [*AKKM, *CLUSTER[:4], "--drop", "size"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_a_stopped_run_writes_no_file(number, code, long_command):
    """Only SIGKILL leaves hidden temporary files behind."""
    command, folder = long_command
    process = subprocess.Popen(
        command,
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        text=True,
        # Background jobs ignore SIGINT, and so do their children. Restore the default.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while process.poll() is None and not list(folder.glob(".*")):
        time.sleep(0.002)
    time.sleep(0.3)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert out == ""
    assert "Traceback" not in err
    names = [path.name for path in folder.iterdir()]
    if number == signal.SIGKILL:
        assert all(re.fullmatch(r"\..+\.akkm", name) for name in names)
    else:
        assert names == []
    if number == signal.SIGINT:
        # Lines of progress may come before this line.
        assert err.splitlines()[-1] == "akkm: stopped; no file was written."


def test_files_are_complete_if_killed_between_two_renames(here):
    """Each output file is complete or absent."""
    program = """
        import os, signal
        done, replace = [], os.replace
        def replace_two(source, target):
            if len(done) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            done.append(target)
            replace(source, target)
        os.replace = replace_two
        from akkm.cli import main
        main()
    """
    assert run_program(program, *CLUSTER, *FILES).returncode == -signal.SIGKILL
    visible = sorted(path.name for path in here.glob("[!.]*"))
    assert visible == ["iris.csv", "l.csv", "m.skops"]
    assert (here / "l.csv").read_text().count("\n") == 151
    load_model("m.skops")


def test_a_closed_standard_output_is_no_error(here):
    """The reader closes the pipe, as in `akkm cluster ... | true`."""
    read, write = os.pipe()
    os.close(read)
    command = [*AKKM, *CLUSTER, "--labels", "l.csv"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
    assert (here / "l.csv").exists()


def test_ctrl_c_during_imports_exits_cleanly():
    """When NumPy is imported, the process gets SIGINT."""
    program = """
        import os, signal, sys
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "numpy":
                    os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.meta_path.insert(0, Finder())
        import akkm_start
        akkm_start.main()
    """
    done = run_program(program, "cluster", "iris.csv")
    assert done.returncode == 130
    assert done.stderr == "akkm: stopped; no file was written.\n"


def test_the_installed_script_starts_the_program():
    done = run_program("import akkm_start; akkm_start.main()", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"akkm {akkm.__version__}\n"


def test_progress_is_shown_on_a_terminal(long_command):
    pty = pytest.importorskip("pty")
    command, folder = long_command
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=folder.parent,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the program has closed its end of the terminal
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    text = shown.decode()
    for pattern in ("reading", r"iteration \d+, [\d,]+ labels changed", "rows/s"):
        assert re.search(pattern, text), pattern
    assert "\x1b[1mdata" in text  # names in the summary are bold


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_version_and_help_import_no_large_library(argument):
    program = """
        import atexit, sys
        large = {"numpy", "scipy", "sklearn", "pyarrow", "joblib", "narwhals", "rich"}
        atexit.register(lambda: print("imported:", sorted(large & sys.modules.keys())))
        import akkm_start
        akkm_start.main()
    """
    done = run_program(program, argument)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "imported: []"


def test_the_help_has_the_summary_of_each_command():
    context = click.Context(app)
    for name, summary in SUMMARIES.items():
        assert app.get_command(context, name).get_short_help_str(200) == summary
