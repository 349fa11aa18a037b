"""A fit that was killed goes on where it was, and only the same fit does."""

import errno
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans
from akkm.approx import checkpoint

SETTINGS = {"n_clusters": 12, "n_landmarks": 80, "gamma": 0.02, "random_state": 0}


@pytest.fixture(scope="module")
def X():
    X, _ = make_blobs(20_000, 5, centers=6, cluster_std=4, random_state=1)
    return X.astype(np.float32)


@pytest.fixture(scope="module")
def expected(X):
    return ApproxKernelKMeans(**SETTINGS).fit(X)


class Stop(Exception):
    """As if killed."""


class StopAt:
    """A callback that ends a fit in the middle."""

    def __init__(self, iteration):
        self.iteration = iteration

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_step(self, step):
        if step.iteration == self.iteration:
            raise Stop

    def on_fit_task_end(self, estimator, context):
        return False

    def teardown(self, estimator, context):
        pass


def interrupted(X, folder, iteration, **settings):
    model = ApproxKernelKMeans(**{**SETTINGS, "checkpoint": folder, **settings})
    model.set_callbacks(StopAt(iteration))
    with pytest.raises(Stop):
        model.fit(X)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_it_goes_on_from_there(init, X, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
    expected = ApproxKernelKMeans(**SETTINGS, init=init).fit(X)
    half = expected.n_iter_ // 2
    for iteration in sorted({1, min(2, half), half}):
        interrupted(X, tmp_path, iteration, init=init)
    model = ApproxKernelKMeans(**SETTINGS, init=init, checkpoint=tmp_path).fit(X)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.n_iter_ == expected.n_iter_
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-9)
    # What had been done was not done again, but for a pass each time.
    passed = np.flatnonzero(model.history_[:, 0] != expected.history_[:, 0])
    assert set(passed) <= {0, min(2, half) - 1, half - 1}
    again = ApproxKernelKMeans(**SETTINGS, init=init, checkpoint=tmp_path).fit(X)
    np.testing.assert_array_equal(again.labels_, expected.labels_)


def test_it_is_written_now_and_then(X, tmp_path, monkeypatch, expected):
    written = []
    once = checkpoint.Checkpoint.write
    monkeypatch.setattr(
        checkpoint.Checkpoint, "write", lambda *args: (written.append(1), once(*args))
    )
    monkeypatch.setattr(checkpoint, "_EVERY", 1e9)
    ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(X)
    assert len(written) == 1  # after the start


@pytest.mark.parametrize(
    "other",
    [{"n_clusters": 11}, {"gamma": 0.03}, {"random_state": 1}, {"max_iter": 7}],
    ids=str,
)
def test_other_settings_are_refused(other, X, tmp_path):
    interrupted(X, tmp_path, 2)
    model = ApproxKernelKMeans(**{**SETTINGS, "checkpoint": tmp_path, **other})
    with pytest.raises(ValueError, match="other data or settings"):
        model.fit(X)


def test_other_data_are_refused(X, tmp_path):
    interrupted(X, tmp_path, 2)
    with pytest.raises(ValueError, match="other data or settings"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(X + 1)
    with pytest.raises(ValueError, match="other data or settings"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(
            X, None, np.ones(20_000)
        )


def test_what_does_not_matter_may_change(X, tmp_path, expected):
    interrupted(X, tmp_path, 2)
    model = ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path, n_jobs=1, cache_size=0)
    np.testing.assert_array_equal(model.fit(X).labels_, expected.labels_)


def test_damaged(X, tmp_path):
    (tmp_path / "akkm-checkpoint.npz").write_bytes(b"PK nonsense")
    with pytest.raises(ValueError, match="is not a checkpoint, or is damaged"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(X)


def test_not_a_folder(X, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="can't be used as a folder"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path / "file").fit(X)


def test_settings_that_have_no_checkpoint(X, tmp_path):
    with pytest.raises(ValueError, match="needs an integer"):
        ApproxKernelKMeans(3, checkpoint=tmp_path).fit(X)
    with pytest.raises(ValueError, match="n_init=1"):
        ApproxKernelKMeans(
            3, checkpoint=tmp_path, random_state=0, init="random", n_init=3
        ).fit(X)


def test_no_space_left(X, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
    interrupted(X, tmp_path, 2)
    before = (tmp_path / "akkm-checkpoint.npz").read_bytes()

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(X)
    assert [p.name for p in tmp_path.iterdir()] == ["akkm-checkpoint.npz"]
    assert (tmp_path / "akkm-checkpoint.npz").read_bytes() == before


SCRIPT = """
import sys, numpy as np
from akkm import ApproxKernelKMeans
from akkm.approx import checkpoint
checkpoint._EVERY = 0.0
X = np.load(sys.argv[1], mmap_mode="r")
model = ApproxKernelKMeans(40, n_landmarks=100, gamma=0.02, random_state=0,
                           init="random", checkpoint=sys.argv[2], n_jobs=1)
print("begun", flush=True)
np.save(sys.argv[3], model.fit(X).labels_)
"""


def test_killed_at_ten_random_moments(tmp_path, rng):
    X, _ = make_blobs(20_000, 5, centers=6, cluster_std=4, random_state=1)
    np.save(tmp_path / "x.npy", X.astype(np.float32))

    def start(folder, out):
        command = [sys.executable, "-c", SCRIPT, tmp_path / "x.npy", folder, out]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        with process.stdout as said:
            said.readline()
        return process, time.perf_counter()

    process, begun = start(tmp_path / "whole", tmp_path / "whole.npy")
    assert process.wait() == 0
    took = time.perf_counter() - begun
    killed = 0
    for share in rng.uniform(0.05, 0.4, size=10):
        process, _ = start(tmp_path / "parts", tmp_path / "parts.npy")
        try:
            process.wait(share * took)
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    process, _ = start(tmp_path / "parts", tmp_path / "parts.npy")
    assert process.wait() == 0
    assert killed >= 2
    np.testing.assert_array_equal(
        np.load(tmp_path / "parts.npy"), np.load(tmp_path / "whole.npy")
    )
