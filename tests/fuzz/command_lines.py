"""Random command lines: `python -m tests.fuzz.command_lines --count 1000`.

Every command gets random options, some of them wrong, and random files, some of them
damaged. A command must succeed and write the requested files, or print a short message
and leave all files as they were. `--seed 123` runs only the case with this seed. The
list of options is read from the commands, so that new options are tested, too.
"""

import contextlib
import itertools
import os
import pathlib
import random as random_module
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback

import click
from click.testing import CliRunner

from akkm.cli._app import app
from akkm.cli._records import NumberOr
from tests.fuzz.hostile_files import (
    ENDINGS,
    damaged,
    write_images,
    write_labels,
    write_table,
)
from tests.fuzz.runner import Outcome, main

# One in this many cases runs its command in a new process.
_PROCESS_EVERY = 50
# Maximum length of a message, in characters.
_MESSAGE = 1100

COMMANDS = ["cluster"] * 9 + ["predict"] * 4 + ["compare"] * 3 + ["plan"] * 2
COMMANDS += ["info", "images", "other"]

WRONG = ["", " ", "-1", "0", "nan", "inf", "1e999", "abc", "٣", "1.5", "a,b", ",", "-"]
WRONG += ["--", "None", "auto", "99999999999999999999", "x" * 5000, "=1+1", "💥", "'"]
WRONG += ['"', "\n", "../..", "/", "/dev/null", "~", "*", "%s", "{}", "\udcff", "None"]
COLUMNS = ["x0", "x1", "x0,x1", "name", "color", "id", "0", "row", "nothing", '"a,b"']
# Probabilities that an option is given, if they differ from the default in `_chance`.
# Options that cause an error for most files are rare.
_CHANCES = {"threads": 0.4, "method": 0.3, "kernel": 0.2, "missing": 0.5}
_CHANCES |= {"columns": 0.02, "drop": 0.02, "id": 0.03, "label": 0.03, "text": 0.02}
_CHANCES |= {"delimiter": 0.02, "header": 0.02, "decimal": 0.02, "degree": 0.02}
OUTPUTS = {
    "labels": ["out.csv", "out.parquet", "out.CSV"],
    "model": ["model.skops"],
    "report": ["report.html"],
}


def check_seed(seed):
    """Draw the command line of a seed, run it and check what it did."""
    own_process = seed % _PROCESS_EVERY == 7
    return check_in_new_folder(random_module.Random(seed), own_process)


def check_in_new_folder(random, own_process=False):
    """Draw a command line in a new folder, run it there and check what it did."""
    with (
        tempfile.TemporaryDirectory(prefix="akkm-fuzz-") as name,
        contextlib.chdir(name),
    ):
        return check(random, own_process)


def check(random, own_process):
    """Draw a command line and its files, run it in the current folder and check it."""
    args, stdin = draw_command_line(random)
    if own_process:
        args = [arg for arg in args if "\x00" not in arg]
    before = _contents()
    run = _run_in_process if own_process else _run_here
    code, out, err, leaked = run(args, stdin)
    kind = {0: "succeeded", 2: "refused"}.get(code, f"exit code {code}")
    shown = [arg if len(arg) < 60 else arg[:57] + "..." for arg in args]
    case = shlex.join(["akkm", *shown]).encode(errors="replace").decode()
    outcome = Outcome(case, kind, message=err.strip()[-500:])
    _check_exit(outcome, args, code, out, err, leaked)
    _check_files(outcome, args, code, before)
    return outcome


def draw_command_line(random):
    """Draw the arguments, and the bytes on standard input."""
    name = random.choice(COMMANDS)
    if name == "other":
        return _draw_other(random), b""
    wrong = random.choice([0.0, 0.1])
    inputs, stdin = _INPUTS[name](random, wrong)
    command = app.get_command(click.Context(app), name)
    options = _draw_options(random, command, wrong)
    args = [*inputs, *options]
    if random.random() < 0.1:  # options may come first
        args = [*options, *inputs]
    if random.random() < wrong / 3:
        args.remove(random.choice(args))
    return [name, *args], stdin


def _draw_other(random):
    """Draw one of several short command lines. Most are incomplete or wrong."""
    number = random.choice(["--rows", "--seed"])
    return random.choice(
        [
            [],
            ["--version"],
            ["--help"],
            ["--debug"],
            ["cluster"],
            ["cluster", "--help"],
            [random.choice(WRONG)],
            ["demo", number, random.choice(WRONG)],
            ["info", random.choice(WRONG)],
            ["--nothing"],
            ["Cluster", "a.csv"],
        ]
    )


def _table(random, wrong):
    """Return the name of a table, and the bytes on standard input.

    The table is on standard input if the name is "-". Otherwise there are no bytes.
    """
    if random.random() < wrong / 3:
        return random.choice(["missing.csv", "/dev/null", ".", "", "a\udcffb.csv"]), b""
    if random.random() < 0.08:
        path = pathlib.Path("stdin.csv")
        write_table(random, path, wrong)
        data = path.read_bytes()
        path.unlink()
        return "-", data
    path = pathlib.Path("data" + random.choice(ENDINGS))
    write_table(random, path, wrong)
    if random.random() < wrong / 2 and path.is_file():  # change the ending
        path = path.rename("data" + random.choice(ENDINGS[:-1]))
    return str(path), b""


def _inputs_of_table(random, wrong):
    name, stdin = _table(random, wrong)
    return [name], stdin


def _inputs_of_predict(random, wrong):
    model = _model(random, wrong)
    if random.random() < 0.8:
        shutil.copy(_models() / "iris.csv", "new.csv")
        return [model, "new.csv"], b""
    name, stdin = _table(random, wrong)
    return [model, name], stdin


def _inputs_of_info(random, wrong):
    return [_model(random, wrong)], b""


def _inputs_of_compare(random, wrong):
    names = []
    for stem in ("a", "b"):
        path = pathlib.Path(stem + random.choice([".csv", ".parquet"]))
        write_labels(random, path, wrong)
        names.append(str(path))
    if random.random() < wrong:
        names[1] = random.choice(["missing.csv", "a.csv", "-", ".", *WRONG])
    return names, b""


def _inputs_of_images(random, wrong):
    write_images(random, pathlib.Path("photos"))
    return ["photos" if random.random() > wrong else random.choice(WRONG)], b""


_INPUTS = {
    "cluster": _inputs_of_table,
    "plan": _inputs_of_table,
    "predict": _inputs_of_predict,
    "info": _inputs_of_info,
    "compare": _inputs_of_compare,
    "images": _inputs_of_images,
}


def _model(random, wrong):
    """Copy a model, perhaps damaged, to this folder; return its name or a wrong one."""
    source = random.choice(sorted(_models().glob("*.skops")))
    data = source.read_bytes()
    if random.random() < 4 * wrong:
        data = damaged(random, data)
    pathlib.Path("m.skops").write_bytes(data)
    return "m.skops" if random.random() > wrong else random.choice(WRONG)


_made = []


def _models():
    """Return a folder with iris.csv and fitted models; the first call makes it."""
    if not _made:
        from sklearn.datasets import load_iris

        folder = tempfile.TemporaryDirectory(prefix="akkm-fuzz-models-")
        _made.append(folder)
        here = pathlib.Path(folder.name)
        frame = load_iris(as_frame=True).frame.sample(60, random_state=0)
        frame["target"] = frame["target"].map(["red", "green", "blue"].__getitem__)
        frame.to_csv(here / "iris.csv", index=False)
        options = {
            "approx": [],
            "laplacian": ["--kernel", "laplacian", "--missing", "mean"],
            "ensemble": ["--ensemble", "3"],
            "leaders": ["--method", "leaders", "--label", "target"],
            "diffusion": ["--method", "diffusion", "--scale", "minmax"],
        }
        for name, extra in options.items():
            args = ["cluster", str(here / "iris.csv"), "-k", "3", *extra]
            result = CliRunner().invoke(
                app, [*args, "--model", str(here / f"{name}.skops")]
            )
            assert result.exit_code == 0, result.output
    return pathlib.Path(_made[0].name)


def _draw_options(random, command, wrong):
    """Draw options of a command, with values that are mostly valid."""
    args = []
    for option in command.params:
        if not isinstance(option, click.Option) or option.name == "help":
            continue
        if random.random() > _chance(option):
            continue
        name = random.choice([*option.opts, *option.secondary_opts])
        args.append(name)
        if not option.is_flag:
            args.append(_draw_value(random, option, wrong))
    if random.random() < wrong / 5:
        args.append(random.choice(["--nothing", "-x", *WRONG]))
    return args


def _chance(option):
    """The probability that an option is given."""
    if option.required:
        return 0.98
    if option.name in OUTPUTS:
        return 0.3
    return _CHANCES.get(option.name, 0.05)


def _draw_value(random, option, wrong):
    if random.random() < wrong:
        return random.choice(WRONG)
    kind = option.type
    if option.name in OUTPUTS:
        return _draw_output(random, option.name, wrong)
    if isinstance(kind, click.Choice):
        return random.choice(list(kind.choices))
    if isinstance(kind, NumberOr):
        words = list(kind._words) if random.random() < 0.1 else []
        return random.choice(words or ["1", "2", "3", "3", "5", "20"])
    if option.name in ("rows", "sample"):
        return random.choice(["1", "5", "10", "1000"])
    if isinstance(kind, click.IntRange):
        return random.choice(["1", "2", "3"])
    if isinstance(kind, click.FloatRange) or kind is click.FLOAT:
        return random.choice(["0", "0.001", "1", "2", "3.5", "1000"])
    if option.name in ("delimiter", "na"):
        return random.choice([",", ";", "tab", "|", "?", "x"])
    return random.choice(COLUMNS)


def _draw_output(random, name, wrong):
    if random.random() > wrong:
        return random.choice(OUTPUTS[name])
    if random.random() < 0.3:  # an older file, which must survive a failure
        target = random.choice(OUTPUTS[name])
        pathlib.Path(target).write_text("older")
        return target
    wrong = ["out.txt", "nowhere/out.csv", "data.csv", "out", ".csv", "out.csv/"]
    return random.choice([*wrong, *WRONG])


def _run_here(args, stdin):
    """Run a command in this process; return exit code, stdout, stderr and leaks.

    Leaks are texts that native libraries write to the terminal directly, not through
    Python's streams.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as captured:
        os.dup2(captured.fileno(), 2)
        try:
            result = CliRunner().invoke(app, args, input=stdin)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        captured.seek(0)
        leaked = captured.read().decode(errors="replace")
    error = result.exception
    err = result.stderr
    if error is not None and not isinstance(error, SystemExit):
        err += "".join(traceback.format_exception(error))
    return result.exit_code, result.stdout, err, leaked


def _run_in_process(args, stdin):
    """Run a command in a new process; return the same values as `_run_here`."""
    done = subprocess.run(
        [sys.executable, "-c", "from akkm_start import main; main()", *args],
        input=stdin,
        capture_output=True,
        timeout=500,
        check=False,
    )
    texts = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    return done.returncode, *texts, ""


def _check_exit(outcome, args, code, out, err, leaked):
    problems = outcome.problems
    err, leaked = (_PROGRESS.sub("", text) for text in (err, leaked))
    if code not in (0, 2):
        problems.append(f"exit code {code}: {err.strip()[-300:]}")
    for word in ("Traceback", "bug in akkm"):
        if word in out + err and "--debug" not in args:
            problems.append(f"{word!r} in the output: {err.strip()[-300:]}")
    if leaked:
        problems.append(f"a library wrote to the terminal: {leaked[:300]}")
    if code == 0 and err:
        problems.append(f"success, but on standard error: {err[:300]}")
    if code == 2 and "--debug" not in args:
        lines = err.strip().splitlines()
        usage = lines[:1] and lines[0].startswith("Usage:")
        if not usage and not 1 <= len(lines) <= 2:
            problems.append(f"{len(lines)} lines on standard error: {err[:300]}")
        if not usage and len(err) > _MESSAGE:
            problems.append(f"message of {len(err)} characters: {err[:300]}")
        if not usage and lines and not lines[0].startswith("akkm: error: "):
            problems.append(f"unexpected message: {err[:300]}")


def _check_files(outcome, args, code, before):
    """Check that a success writes output files, and that a failure changes no file."""
    after = _contents()
    if code:
        if after != before:
            changed = sorted(set(after.items()) ^ set(before.items()))
            names = sorted({name for name, _ in changed})
            outcome.problems.append(f"failed, but these files changed: {names}")
        return
    pairs = itertools.pairwise(args)
    wanted = {value for name, value in pairs if name in _OUTPUT_OPTIONS}
    changed = {name for name in after if after[name] != before.get(name)}
    last = {os.path.normpath(name) for name in wanted}
    if not changed <= last:
        outcome.problems.append(f"unexpected files: {sorted(changed - last)}")
    if args and args[0] != "demo" and "--help" not in args and last and not changed:
        outcome.problems.append(f"no file was written, expected {sorted(last)}")


# A line of progress, which commands that take longer than 1.5 s write.
_PROGRESS = re.compile(r"^akkm: .* \(\d+ s\)\n", re.MULTILINE)
_OUTPUT_OPTIONS = [f"--{name}" for name in OUTPUTS]


def _contents():
    """Return the contents of all files in the current folder, by name."""
    return {
        str(path): path.read_bytes()
        for path in pathlib.Path().rglob("*")
        if path.is_file()
    }


if __name__ == "__main__":
    main("command_lines", check_seed)
