"""Checkpoints: an interrupted fit resumes, but only with equal data and settings."""

import errno
import shutil

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans
from akkm.approx import checkpoint, fingerprint, seeding
from tests.fuzz import kills

SETTINGS = {
    "n_clusters": 8,
    "n_landmarks": 40,
    "gamma": 0.02,
    "random_state": 0,
    "init": "random",
}


@pytest.fixture(scope="module")
def X():
    X, _ = make_blobs(11_000, 5, centers=6, cluster_std=4, random_state=1)
    return X.astype(np.float32)


@pytest.fixture(scope="module")
def expected(X):
    return ApproxKernelKMeans(**SETTINGS).fit(X)


class Stop(Exception):
    """Raised to simulate a killed process."""


class StopAt:
    """Observer that raises Stop at a given iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def on_step(self, step):
        if step.iteration == self.iteration:
            raise Stop


def interrupt(X, folder, iteration, weights=None, **settings):
    model = ApproxKernelKMeans(**{**SETTINGS, "checkpoint": folder, **settings})
    model._observer = StopAt(iteration)
    with pytest.raises(Stop):
        model.fit(X, sample_weight=weights)


@pytest.fixture(scope="module")
def stopped(X, tmp_path_factory):
    """Folder with the checkpoint of an interrupted fit; tests must not change it."""
    folder = tmp_path_factory.mktemp("stopped")
    interrupt(X, folder, 2)
    return folder


def first_rows_apart(n):
    """Initial labels: clusters 1 to 3 have one row each, cluster 0 has all others."""
    labels = np.zeros(n, dtype=int)
    labels[:3] = [1, 2, 3]
    return labels


RESUMED = {
    "default": {},
    "random": {"init": "random"},
    "float64": {"dtype": np.float64},
    "weights": {"weights": True},
    "float64, weights": {"dtype": np.float64, "weights": True, "init": "random"},
    "empty clusters": {"init": first_rows_apart(11_000)},
    "clip": {"kernel": "sigmoid", "coef0": 0.1},
    "pinv": {"kernel": "sigmoid", "indefinite": "pinv", "max_iter": 12},
    "gradient": {"solver": "gradient", "init": "random", "max_iter": 12},
    "kernel rows in memory": {"kernel": "cubic"},
    "tolerance": {"init": "random", "tol": 1e-3},
    "few kernel rows in memory": {"kernel": "cubic", "cache_size": 0.5},
}


def cubic(X, Y):
    return (0.01 * X @ Y.T + 1) ** 3


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", RESUMED)
def test_a_resumed_fit_gives_the_same_result_bit_for_bit(
    case, X, tmp_path, monkeypatch
):
    monkeypatch.setattr(checkpoint, "_EVERY", -1.0)
    # With the usual sample, the initial labels would already be the final labels.
    monkeypatch.setattr(seeding, "_SAMPLE", 500)
    more = dict(RESUMED[case])
    X = X.astype(more.pop("dtype", np.float32))
    weights = np.arange(len(X)) % 7 / 3 if more.pop("weights", False) else None
    if more.get("kernel") == "cubic":
        more["kernel"] = cubic
    settings = {**SETTINGS, "init": "k-means++", "max_iter": 40, **more}

    def fit(**places):
        return ApproxKernelKMeans(**settings, **places).fit(X, sample_weight=weights)

    expected = fit()
    last = expected.n_iter_
    assert last > 4
    for iteration in (1, 2, last // 2, last):
        interrupt(X, tmp_path, iteration, weights, **settings)
    model = fit(checkpoint=tmp_path)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.inertia_ == expected.inertia_
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.history_[:, 0], expected.history_[:, 0])


def test_a_short_fit_writes_only_one_checkpoint(X, tmp_path, monkeypatch, expected):
    written = []
    once = checkpoint.Checkpoint.write
    monkeypatch.setattr(
        checkpoint.Checkpoint, "write", lambda *args: (written.append(1), once(*args))
    )
    monkeypatch.setattr(checkpoint, "_EVERY", 1e9)
    ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(X)
    assert len(written) == 1  # the checkpoint after the initialisation


@pytest.mark.parametrize(
    "other",
    [{"n_clusters": 7}, {"gamma": 0.03}, {"random_state": 1}, {"max_iter": 7}],
    ids=str,
)
def test_a_checkpoint_of_other_settings_is_refused(other, X, stopped):
    model = ApproxKernelKMeans(**{**SETTINGS, "checkpoint": stopped, **other})
    with pytest.raises(ValueError, match="other data or settings"):
        model.fit(X)


def test_a_checkpoint_of_other_data_is_refused(X, stopped):
    with pytest.raises(ValueError, match="other data or settings"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=stopped).fit(X + 1)
    with pytest.raises(ValueError, match="other data or settings"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=stopped).fit(X, None, np.ones(len(X)))


def test_a_checkpoint_is_refused_if_rows_were_replaced_or_changed_places(X, stopped):
    """Only rows that are not landmarks change; the number of rows stays the same."""
    expected = ApproxKernelKMeans(**SETTINGS).fit(X)
    others = np.setdiff1d(np.arange(len(X)), expected.landmark_indices_)
    replaced, swapped, negated = X.copy(), X.copy(), X.copy()
    replaced[others] += 1
    swapped[others[:2]] = X[others[1::-1]]
    negated[others[7], 2] *= -1
    for changed in (replaced, swapped, negated):
        with pytest.raises(ValueError, match="other data or settings"):
            ApproxKernelKMeans(**SETTINGS, checkpoint=stopped).fit(changed)


def test_a_checkpoint_of_other_weights_or_initial_labels_is_refused(X, tmp_path):
    labels, weights = np.arange(len(X)) % 8, np.ones(len(X))
    interrupt(X, tmp_path, 1, weights, init=labels)
    swapped = labels.copy()
    swapped[:2] = labels[1::-1]
    heavy = weights.copy()
    heavy[5000] = 2
    for init, weight in ((swapped, weights), (labels, heavy)):
        settings = {**SETTINGS, "init": init, "checkpoint": tmp_path}
        with pytest.raises(ValueError, match="other data or settings"):
            ApproxKernelKMeans(**settings).fit(X, sample_weight=weight)


def test_a_checkpoint_of_an_older_version_is_refused(X, stopped, tmp_path):
    name = "akkm-checkpoint.npz"
    with np.load(stopped / name) as file:
        old = {key: file[key] for key in ("mark", "history", "beta", "alpha", "norms")}
    np.savez(tmp_path / name, **old)
    with pytest.raises(ValueError, match="was written by another version of akkm; rem"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(X)


def test_arrays_of_other_shapes_in_a_checkpoint_are_refused(X, stopped, tmp_path):
    name = "akkm-checkpoint.npz"
    with np.load(stopped / name) as file:
        saved = {key: file[key] for key in file}
    np.savez(tmp_path / name, **{**saved, "alpha": saved["alpha"][:, :-1]})
    with pytest.raises(ValueError, match=r"damaged \(alpha has shape"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(X)


def test_a_fingerprint_ignores_memory_addresses_but_no_digit_of_an_array():
    def kernel():
        def same_name():
            pass

        return same_name

    assert fingerprint({"f": kernel()}) == fingerprint({"f": kernel()})
    many = np.arange(2000) / 7
    other = many.copy()
    other[1000] += 1e-13
    assert fingerprint({"a": many}) != fingerprint({"a": other})


def test_n_jobs_and_cache_size_may_change_between_fits(X, stopped, tmp_path, expected):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    model = ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path, n_jobs=1, cache_size=0)
    np.testing.assert_array_equal(model.fit(X).labels_, expected.labels_)


def test_a_damaged_checkpoint_is_refused(X, tmp_path):
    (tmp_path / "akkm-checkpoint.npz").write_bytes(b"PK nonsense")
    with pytest.raises(ValueError, match="is not a checkpoint, or is damaged"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(X)


def test_a_file_given_as_checkpoint_folder_is_refused(X, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="can't be used as a folder"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path / "file").fit(X)


def test_settings_that_cannot_be_resumed_are_refused(X, tmp_path):
    with pytest.raises(ValueError, match="needs an integer"):
        ApproxKernelKMeans(3, checkpoint=tmp_path).fit(X)
    with pytest.raises(ValueError, match="n_init=1"):
        ApproxKernelKMeans(
            3, checkpoint=tmp_path, random_state=0, init="random", n_init=3
        ).fit(X)


def test_a_full_disk_leaves_the_previous_checkpoint(X, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
    interrupt(X, tmp_path, 2)
    before = (tmp_path / "akkm-checkpoint.npz").read_bytes()

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        ApproxKernelKMeans(**SETTINGS, checkpoint=tmp_path).fit(X)
    assert [p.name for p in tmp_path.iterdir()] == ["akkm-checkpoint.npz"]
    assert (tmp_path / "akkm-checkpoint.npz").read_bytes() == before


@pytest.mark.parametrize("engine", kills.ENGINES)
def test_killed_fits_resume_bit_for_bit(engine):
    seed = kills.ENGINES.index(engine)
    try:
        assert kills.check_seed(seed).problems == []
    finally:
        kills.stop_cluster()
