"""Progress output: a line at least every two seconds, even in slow steps."""

import importlib
import itertools
import re
import time

import pytest

from akkm import ApproxKernelKMeans, DiffusionKernelKMeans
from akkm.diffusion import graph_embedding
from akkm.estimators import _heartbeat
from akkm.estimators._heartbeat import Heartbeat


def test_the_last_line_is_repeated_while_nothing_is_printed(monkeypatch):
    monkeypatch.setattr(_heartbeat, "_SECONDS", 0.05)
    lines = []
    heartbeat = Heartbeat(lines.append)
    with heartbeat.steady("first step"):
        time.sleep(0.4)
        heartbeat.say("second step")
        time.sleep(0.4)
    count = len(lines)
    assert lines[0] == "first step"
    repeated = [line for line in lines if "running for" in line]
    assert any(line.startswith("first step (") for line in repeated)
    assert any(line.startswith("second step (") for line in repeated)
    assert repeated == [line for line in lines if " step (" in line]
    time.sleep(0.2)
    assert len(lines) == count, "output after the end of the block"


def test_no_line_is_repeated_if_steps_are_short():
    lines = []
    heartbeat = Heartbeat(lines.append)
    with heartbeat.steady("first step"):
        heartbeat.say("second step")
    assert lines == ["first step", "second step"]


def test_an_error_ends_the_output(monkeypatch):
    monkeypatch.setattr(_heartbeat, "_SECONDS", 0.02)
    lines = []
    steady = Heartbeat(lines.append).steady("first step")
    with pytest.raises(ValueError, match="stop"), steady:
        raise ValueError("stop")
    time.sleep(0.1)
    assert lines == ["first step"]


def largest_gap(out):
    """Return the longest pause in seconds: between two lines or before the first."""
    seconds = [float(text) for text in re.findall(r"\] +([0-9.]+) s ", out)]
    return max(later - first for first, later in itertools.pairwise([0, *seconds]))


@pytest.mark.parametrize(
    ("module", "function", "settings"),
    [
        ("akkm.approx.algorithm2", "initial_centers", {}),
        ("akkm.approx.algorithm2", "lloyd", {"init": "random", "n_init": 2}),
    ],
)
def test_slow_starts_and_restarts_print_lines(
    module, function, settings, monkeypatch, digits, capsys
):
    monkeypatch.setattr(_heartbeat, "_SECONDS", _heartbeat._SECONDS / 2)
    original = getattr(importlib.import_module(module), function)

    def slowly(*arguments, **options):
        time.sleep(1.4)
        return original(*arguments, **options)

    monkeypatch.setattr(f"{module}.{function}", slowly)
    model = ApproxKernelKMeans(3, verbose=1, random_state=0, **settings)
    model.fit(digits[0][:300])
    out = capsys.readouterr().out
    assert largest_gap(out) < 1.1
    assert "running for" in out
    assert "300 rows, choosing landmarks, initialising" in out


def test_a_slow_graph_prints_a_line_every_two_seconds(monkeypatch, digits, capsys):
    """The test captures the output, so there is no terminal."""
    build = graph_embedding.search_for

    def slowly(*arguments, **options):
        time.sleep(3)
        return build(*arguments, **options)

    monkeypatch.setattr(graph_embedding, "search_for", slowly)
    DiffusionKernelKMeans(3, verbose=1, random_state=0).fit(digits[0])
    out = capsys.readouterr().out
    assert largest_gap(out) < 2
    for text in ("equal rows", "nearest neighbours", "shared", "eigenvectors", "plac"):
        assert text in out
    assert "running for" in out


def test_without_verbose_nothing_is_printed(digits, capsys):
    DiffusionKernelKMeans(3, random_state=0).fit(digits[0][:300])
    assert capsys.readouterr().out == ""
