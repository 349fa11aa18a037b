"""Progress output while a graph is built: a line at least every two seconds."""

import itertools
import re
import time

import pytest

from akkm import DiffusionKernelKMeans
from akkm.diffusion import graph_embedding
from akkm.estimators import _heartbeat
from akkm.estimators._heartbeat import steady_log


class Log:
    """Takes the place of `Progress`; records lines and when they were printed."""

    verbose = True

    def __init__(self):
        self.lines, self.times = [], []

    def log(self, text):
        self.lines.append(text)
        self.times.append(time.monotonic())


def test_the_last_line_is_repeated_while_nothing_is_printed(monkeypatch):
    monkeypatch.setattr(_heartbeat, "_SECONDS", 0.05)
    log = Log()
    with steady_log(log, "first step") as say:
        time.sleep(0.4)
        say("second step")
        time.sleep(0.4)
    count = len(log.lines)
    assert log.lines[0] == "first step"
    repeated = [line for line in log.lines if "running for" in line]
    assert any(line.startswith("first step (") for line in repeated)
    assert any(line.startswith("second step (") for line in repeated)
    assert repeated == [line for line in log.lines if " step (" in line]
    time.sleep(0.2)
    assert len(log.lines) == count, "output after the end of the block"


def test_no_line_is_repeated_if_steps_are_short():
    log = Log()
    with steady_log(log, "first step") as say:
        say("second step")
    assert log.lines == ["first step", "second step"]


def test_an_error_ends_the_output(monkeypatch):
    monkeypatch.setattr(_heartbeat, "_SECONDS", 0.02)
    log = Log()
    with pytest.raises(ValueError, match="stop"), steady_log(log, "first step"):
        raise ValueError("stop")
    time.sleep(0.1)
    assert log.lines == ["first step"]


def test_a_slow_graph_prints_a_line_every_two_seconds(monkeypatch, digits, capsys):
    """Output goes to a file here, not to a terminal."""
    build = graph_embedding.search_for

    def slowly(*arguments):
        time.sleep(3)
        return build(*arguments)

    monkeypatch.setattr(graph_embedding, "search_for", slowly)
    DiffusionKernelKMeans(3, verbose=1, random_state=0).fit(digits[0])
    out = capsys.readouterr().out
    seconds = [float(text) for text in re.findall(r"\] +([0-9.]+) s ", out)]
    gaps = [later - first for first, later in itertools.pairwise(seconds)]
    assert seconds[0] < 2
    assert max(gaps) < 2
    for text in ("equal rows", "nearest neighbours", "shared", "eigenvectors", "plac"):
        assert text in out
    assert "running for" in out


def test_without_verbose_nothing_is_printed(digits, capsys):
    DiffusionKernelKMeans(3, random_state=0).fit(digits[0][:300])
    assert capsys.readouterr().out == ""
