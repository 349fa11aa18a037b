"""Rows in files: labels equal those in memory; unnecessary batches are not read."""

import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from sklearn.base import clone
from sklearn.datasets import make_blobs

import akkm
from akkm import ApproxKernelKMeans
from akkm.approx import prepared_parts
from akkm.rows import mapped
from akkm.rows.batches import DiskRows

N = 30_000


@pytest.fixture(scope="module")
def X():
    X, _ = make_blobs(N, 6, centers=5, cluster_std=2.5, random_state=3)
    return X.astype(np.float32)


@pytest.fixture(scope="module")
def table(X):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


def as_memory_map(X, table, folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def as_npy(X, table, folder):
    np.save(folder / "x.npy", X)
    return akkm.open_rows(folder / "x.npy")


def as_parquet(X, table, folder):
    parquet.write_table(table, folder / "x.parquet", row_group_size=7_000)
    return akkm.open_rows(folder / "x.parquet")


def as_folder(X, table, folder):
    for i, start in enumerate(range(0, N, 11_000)):
        part = table.slice(start, 11_000)
        parquet.write_table(part, folder / f"{i}.parquet", row_group_size=5_000)
    return akkm.open_rows(str(folder))


def as_arrow(X, table, folder):
    feather.write_feather(table, folder / "x.arrow", "lz4", chunksize=6_000)
    return akkm.open_rows(folder / "x.arrow")


FORMS = [as_memory_map, as_npy, as_parquet, as_folder, as_arrow]
STORED = FORMS[1:]


@pytest.fixture(params=FORMS, ids=lambda f: f.__name__)
def rows(request, X, table, tmp_path):
    return request.param(X, table, tmp_path)


@pytest.fixture(
    scope="module",
    params=[
        {"kernel": "rbf"},
        {"kernel": "sigmoid", "gamma": 0.0005},
        {"kernel": "rbf", "gamma": "median", "init": "random", "cache_size": 0},
        {"kernel": "polynomial", "landmarks": np.arange(0, N, 100)},
    ],
    ids=lambda s: "-".join(str(v)[:8] for v in s.values()),
)
def expected(request, X):
    """A fit in memory, with each of the settings in turn."""
    settings = {"n_landmarks": 100, "random_state": 0, **request.param}
    return ApproxKernelKMeans(5, **settings).fit(X)


def test_labels_equal_those_of_an_array(expected, rows, X):
    found = clone(expected).fit(rows)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.landmarks_, expected.landmarks_)
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=1e-5)
    assert found.n_iter_ == expected.n_iter_
    np.testing.assert_array_equal(found.predict(rows), found.labels_)
    np.testing.assert_allclose(
        found.transform(rows)[::100], expected.transform(X[::100]), rtol=1e-3, atol=1e-5
    )


@pytest.mark.parametrize("form", STORED, ids=lambda f: f.__name__)
def test_rows_equal_those_of_the_array(form, X, table, tmp_path, rng):
    rows = form(X, table, tmp_path)
    assert isinstance(rows, DiskRows)
    assert rows.shape == X.shape
    assert rows.dtype == np.float32
    picked = rng.integers(N, size=500)
    for index in (slice(None), slice(6_990, 7_010), slice(9, 9), picked, picked[:0]):
        np.testing.assert_array_equal(rows[index], X[index])
    np.testing.assert_array_equal(rows[X[:, 0] > 3], X[X[:, 0] > 3])
    np.testing.assert_array_equal(rows[::777], X[::777])
    assert not rows[:10].flags.writeable  # because it may be a view of a shared batch
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows))[5:9], X[5:9])


@pytest.mark.parametrize("strategy", ["k-means", "diagonal", "leverage"])
def test_landmarks_are_chosen_among_few_rows_of_positive_weight(strategy, X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    w = np.zeros(len(X))
    w[::100] = 1
    rows = akkm.open_rows(tmp_path / "x.npy")
    model = ApproxKernelKMeans(3, n_landmarks=50, landmarks=strategy, random_state=0)
    model.fit(rows, sample_weight=w)
    np.testing.assert_array_equal(model.landmark_indices_ % 100, 0)


def test_weighted_fits_give_the_same_labels_as_for_an_array(X, table, tmp_path, rng):
    w = rng.integers(0, 3, N).astype(float)
    rows = as_parquet(X, table, tmp_path)
    a = ApproxKernelKMeans(5, n_landmarks=60, random_state=1).fit(X, sample_weight=w)
    b = ApproxKernelKMeans(5, n_landmarks=60, random_state=1).fit(rows, sample_weight=w)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert b.score(rows, sample_weight=w) == pytest.approx(-b.inertia_, rel=1e-5)


@pytest.mark.parametrize("strategy", ["k-means", "rpcholesky", "diagonal"])
def test_landmarks_of_each_strategy_are_distinct_rows(strategy, X, table, tmp_path):
    rows = as_parquet(X, table, tmp_path)
    model = ApproxKernelKMeans(5, landmarks=strategy, n_landmarks=40, random_state=0)
    model.fit(rows)
    np.testing.assert_array_equal(model.landmarks_, X[model.landmark_indices_])
    assert len(set(model.landmark_indices_)) == 40


def test_only_batches_with_unproved_labels_are_read(X, table, tmp_path):
    # The first 15,000 rows are far from the border between the two clusters. Many of
    # the other rows are near it.
    far = np.sort(np.r_[np.zeros(7_500), np.ones(7_500)]).astype(np.float32) * 1000
    near = np.random.default_rng(0).normal(500, 300, 15_000).astype(np.float32)
    table = pa.table({"x": np.concatenate([far, near])})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=1_000)
    rows = akkm.open_rows(tmp_path / "x.parquet")
    read = []
    batches, once = rows._batches, type(rows._batches).read
    batches.read = lambda b: (read.append(b), once(batches, b))[1]
    model = ApproxKernelKMeans(
        2,
        kernel="linear",
        landmarks=np.array([[1.0], [2.0]], dtype=np.float32),
        init=(np.arange(30_000) % 7 == 0).astype(int),
        cache_size=0,
        n_jobs=1,
    )
    model.fit(rows)
    full = np.count_nonzero(model.history_[:, 1] > 1_000) + 1  # plus the initial pass
    assert model.n_iter_ > full
    assert sorted(read[: 30 * full]) == sorted([*range(30)] * full)
    later = read[30 * full :]
    assert later
    assert min(later) >= 15
    assert len(later) < model.history_[:, 1][full - 1 :].sum() + 1


def test_samples_are_read_in_one_pass(X, table, tmp_path):
    """One pass reads landmarks and initial sample. The next pass is iteration 1."""
    rows = as_parquet(X, table, tmp_path)
    read = []
    batches = rows._batches
    for name in ("some", "read"):
        once = getattr(batches, name)
        setattr(
            batches,
            name,
            lambda b, *which, once=once, name=name: (
                read.append((name, b)),
                once(b, *which),
            )[1],
        )
    model = ApproxKernelKMeans(5, gamma=0.02, n_landmarks=50, random_state=0, n_jobs=1)
    model.fit(rows)
    assert sorted(read[:5]) == [("some", b) for b in range(5)]
    assert sorted(read[5:10]) == [("read", b) for b in range(5)]
    assert ("some", 0) not in read[5:]


def test_prefetched_rows_are_read_in_the_same_pass(X, table, tmp_path):
    rows = as_parquet(X, table, tmp_path)
    later, now = np.array([29_999, 3, 8_000]), np.array([5, 3, 20_000])
    rows.prefetch_gather(later)
    np.testing.assert_array_equal(rows.gather(now), X[now])
    rows._batches.some = None  # fails if prefetched rows are read again
    np.testing.assert_array_equal(rows.gather(later[:2]), X[later[:2]])
    del rows._batches.some
    np.testing.assert_array_equal(rows.gather(later), X[later])
    rows.prefetch_gather(later)
    np.testing.assert_array_equal(rows.gather(later), X[later])
    np.testing.assert_array_equal(rows.gather(now), X[now])


@pytest.mark.parametrize("form", STORED, ids=lambda f: f.__name__)
def test_state_and_labels_can_be_kept_in_files(form, X, table, tmp_path, monkeypatch):
    monkeypatch.setattr(prepared_parts, "MANY_ROWS", 0)
    made = []
    full = mapped.full
    monkeypatch.setattr(
        mapped,
        "full",
        lambda *args, **more: (made.append(more), full(*args, **more))[1],
    )
    (tmp_path / "rows").mkdir()
    rows = form(X, table, tmp_path / "rows")
    settings = {"n_landmarks": 100, "init": "random", "random_state": 0}
    expected = ApproxKernelKMeans(5, **settings).fit(X).labels_
    assert not made  # for rows in memory, the state is in memory, too
    settings |= {"checkpoint": tmp_path / "c", "labels_file": tmp_path / "labels.npy"}
    model = ApproxKernelKMeans(5, **settings).fit(rows)
    assert made == [{"folder": tmp_path / "c"}] * 4
    assert isinstance(model.labels_, np.memmap)
    np.testing.assert_array_equal(model.labels_, expected)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).labels_, expected)
    names = {path.name for path in tmp_path.rglob("*") if path.parent.name != "rows"}
    assert names == {"rows", "c", "akkm-checkpoint.npz", "labels.npy"}


# Limit of the size of a file, and the expected message.
FULL = {
    "labels": (60_000, r"labels\.npy: labels can't be written: File too large\."),
    "checkpoint": (4_000, r"The checkpoint in .* can't be written: File too large"),
    "state": (60_000, r"the state of 30,000 rows can't be written there: File "),
}

# This program imports akkm once. Then it fits in a child process for each limit, and
# prints the child's exit code and messages. Messages are sent through pipes, to which
# the limit does not apply.
PROGRAM = """
import json, os, resource, sys, tempfile, traceback
import numpy as np
import akkm
from akkm.approx import prepared_parts

def fit(folder, where, size):
    tempfile.tempdir = folder
    rows = akkm.open_rows(folder + "/x.npy")
    prepared_parts.MANY_ROWS = 0 if where == "state" else np.inf
    more = {"checkpoint": folder} if where == "checkpoint" else {}
    if where == "labels":
        more = {"labels_file": folder + "/labels.npy"}
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    settings = {"n_landmarks": 100, "random_state": 0, "verbose": 1}
    akkm.ApproxKernelKMeans(5, **settings, **more).fit(rows)

for where, size in json.loads(sys.argv[1]):
    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if not child:
        for number, (_, end) in enumerate(pipes, 1):
            os.dup2(end, number)
        code = 0
        try:
            fit(os.path.abspath(where), where, size)
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    for _, end in pipes:
        os.close(end)
    texts = [open(start).read() for start, _ in pipes]
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([code, *texts]), flush=True)
"""


@pytest.fixture(scope="module")
def full_disks(X, tmp_path_factory):
    """Folder, exit code, output and errors of fits whose disk is full."""
    pytest.importorskip("resource")
    base = tmp_path_factory.mktemp("full")
    for where in FULL:
        (base / where).mkdir()
        np.save(base / where / "x.npy", X)
        (base / where / "labels.npy").write_bytes(b"old")
    limits = json.dumps([(where, size) for where, (size, _) in FULL.items()])
    command = [sys.executable, "-c", PROGRAM, limits]
    done = subprocess.run(command, cwd=base, capture_output=True, text=True, check=True)
    found = map(json.loads, done.stdout.splitlines())
    return {
        where: (base / where, *each) for where, each in zip(FULL, found, strict=True)
    }


@pytest.mark.parametrize("where", FULL)
def test_a_full_disk_is_reported_in_one_error(where, full_disks):
    """The error names the file, and no partial file is left."""
    folder, code, out, err = full_disks[where]
    assert code == 1
    assert re.search(FULL[where][1], err.strip().splitlines()[-1]), err
    assert "During handling" not in err
    assert "landmarks" in out or where == "labels"
    assert "iteration" not in out  # disk space is reserved before iteration 1
    assert {path.name for path in folder.iterdir()} == {"x.npy", "labels.npy"}
    assert (folder / "labels.npy").read_bytes() == b"old"


def test_failed_fit_leaves_no_labels_file(X, tmp_path):
    X = X.copy()
    X[29_999, 0] = np.nan  # detected in the first iteration
    np.save(tmp_path / "x.npy", X)
    model = ApproxKernelKMeans(
        5, gamma=0.02, n_landmarks=50, random_state=0, labels_file=tmp_path / "l.npy"
    )
    with pytest.raises(ValueError, match="row 29,999, column 0 is nan"):
        model.fit(akkm.open_rows(tmp_path / "x.npy"))
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_bad_labels_files_are_refused(X, tmp_path):
    for bad, message in [("labels.csv", "ends in .npy"), ("no/x.npy", "No such file")]:
        model = ApproxKernelKMeans(5, n_landmarks=50, labels_file=tmp_path / bad)
        with pytest.raises((ValueError, OSError), match=message):
            model.fit(X)
    with pytest.raises(ValueError, match="partial_fit does not support checkpoint"):
        ApproxKernelKMeans(5, labels_file=tmp_path / "l.npy").partial_fit(X)


def test_an_ensemble_gives_the_same_labels_as_for_an_array(X, table, tmp_path):
    settings = {"n_members": 3, "n_landmarks": 50, "random_state": 0}
    expected = akkm.EnsembleKernelKMeans(5, **settings).fit(X)
    rows = as_parquet(X, table, tmp_path)
    model = akkm.EnsembleKernelKMeans(5, **settings).fit(rows)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(rows), expected.labels_)


def test_column_names_are_stored_and_checked_by_predict(X, table, tmp_path):
    rows = as_parquet(X, table, tmp_path)
    model = ApproxKernelKMeans(5, n_landmarks=50, random_state=0).fit(rows)
    assert list(model.feature_names_in_) == [f"x{j}" for j in range(6)]
    two = akkm.open_rows(tmp_path / "x.parquet", columns=["x3", "x1"])
    np.testing.assert_array_equal(two[:5], X[:5, [3, 1]])
    with pytest.raises(ValueError, match="X has 2 features, but Approx"):
        model.predict(two)
    reordered = akkm.open_rows(
        tmp_path / "x.parquet", columns=[f"x{5 - j}" for j in range(6)]
    )
    with pytest.raises(ValueError, match="in the same order"):
        model.predict(reordered)


def test_dtype_is_that_of_the_file_unless_given(tmp_path):
    table = pa.table({"a": pa.array([1, 2], pa.int16()), "b": pa.array([0.5, 1.5])})
    parquet.write_table(table, tmp_path / "x.parquet")
    assert akkm.open_rows(tmp_path / "x.parquet").dtype == np.float64
    assert akkm.open_rows(tmp_path / "x.parquet", columns=["a"]).dtype == np.float32
    rows = akkm.open_rows(tmp_path / "x.parquet", dtype="float32")
    assert rows[:].dtype == np.float32


def test_kernel_errors_name_the_file(X, table, tmp_path):
    rows = as_folder(X, table, tmp_path)
    with pytest.raises(ValueError, match=r"\.parquet: Negative values"):
        ApproxKernelKMeans(5, kernel="intersection", n_landmarks=40).fit(rows)


def test_an_estimator_that_needs_rows_in_memory_refuses_files(X, table, tmp_path):
    rows = as_parquet(X, table, tmp_path)
    with pytest.raises(
        TypeError, match=r"KernelKMeans got DiskRows.* needs its rows in memory"
    ):
        akkm.KernelKMeans(3).fit(rows)


class TestBadFiles:
    def good(self, path, **columns):
        table = pa.table(columns or {"a": [1.0, 2.0], "b": [3.0, 4.0]})
        parquet.write_table(table, path)

    def fails(self, path, message, error=ValueError, **more):
        with pytest.raises(error, match=message) as caught:
            akkm.open_rows(path, **more)[:]
        assert "\n" not in str(caught.value)

    def test_a_missing_file_and_an_empty_folder_are_refused(self, tmp_path):
        self.fails(tmp_path / "no.parquet", "there is no such", FileNotFoundError)
        (tmp_path / "empty").mkdir()
        self.fails(tmp_path / "empty", "expected a .parquet")

    def test_a_folder_of_different_schemas_is_refused(self, tmp_path):
        self.good(tmp_path / "1.parquet")
        self.good(tmp_path / "2.parquet", a=[1.0])
        self.fails(tmp_path, r"2\.parquet: column 'b' is missing, but double in")
        self.good(tmp_path / "2.parquet", a=[1.0], b=[1])
        self.fails(tmp_path, r"2\.parquet: column 'b' is int64, but double in")

    def test_a_folder_of_several_formats_is_refused(self, tmp_path):
        self.good(tmp_path / "1.parquet")
        (tmp_path / "2.arrow").write_bytes(b"")
        self.fails(tmp_path, "several formats")

    @pytest.mark.parametrize("left", [0, 20, 500, -9])
    def test_a_truncated_parquet_file_is_refused(self, left, tmp_path):
        self.good(tmp_path / "whole.parquet", a=np.arange(500.0))
        cut = (tmp_path / "whole.parquet").read_bytes()[:left]
        (tmp_path / "x.parquet").write_bytes(cut)
        self.fails(tmp_path / "x.parquet", r"x\.parquet: can't be read as Parquet")

    def test_a_file_damaged_in_the_middle_is_refused(self, tmp_path):
        table = pa.table({"a": np.random.default_rng(0).random(50_000)})
        path = tmp_path / "x.parquet"
        parquet.write_table(table, path, compression="zstd", row_group_size=10_000)
        data = bytearray(path.read_bytes())
        data[100_000:200_000] = bytes(100_000)
        path.write_bytes(data)
        self.fails(path, r"x\.parquet: can't be read as Parquet")
        model = ApproxKernelKMeans(2, n_landmarks=30, gamma=1.0, random_state=0)
        with pytest.raises(ValueError, match=r"x\.parquet: can't be read as Parquet"):
            model.fit(akkm.open_rows(path))
        assert not hasattr(model, "labels_")

    def test_text_columns_are_refused(self, tmp_path):
        self.good(tmp_path / "x.parquet", a=["x"], b=[1.0])
        self.fails(tmp_path / "x.parquet", "column 'a' is of type string")
        assert akkm.open_rows(tmp_path / "x.parquet", columns=["b"]).shape == (1, 1)

    def test_unknown_columns_are_refused(self, tmp_path):
        self.good(tmp_path / "x.parquet")
        self.fails(tmp_path / "x.parquet", r"no columns \['c'\]", columns=["c"])

    def test_errors_locate_missing_values(self, tmp_path):
        self.good(tmp_path / "x.parquet", a=[1.0, 2.0, 3.0], b=[1.0, None, 2.0])
        self.fails(tmp_path / "x.parquet", r"x\.parquet: row 1, column 'b' is nan")
        self.good(tmp_path / "x.parquet", a=[1, None, 3])
        self.fails(tmp_path / "x.parquet", r"x\.parquet: row 1, column 'a' is nan")

    def test_a_file_without_rows_is_refused(self, tmp_path):
        self.good(tmp_path / "x.parquet", a=pa.array([], pa.float64()))
        self.fails(tmp_path / "x.parquet", "there are no rows")

    def test_bad_npy_files_are_refused(self, tmp_path):
        np.save(tmp_path / "x.npy", np.arange(3))
        self.fails(tmp_path / "x.npy", "expected a 2-D array")
        (tmp_path / "x.npy").write_bytes(b"no")
        self.fails(tmp_path / "x.npy", "can't be read as .npy")
        np.save(tmp_path / "x.npy", np.array([[np.inf]]))
        self.fails(tmp_path / "x.npy", "row 0, column 0 is inf")

    def test_finite_values_whose_sum_overflows_are_accepted(self, tmp_path):
        X = np.full((4, 3), 3e38, dtype=np.float32)
        np.save(tmp_path / "x.npy", X)
        np.testing.assert_array_equal(akkm.open_rows(tmp_path / "x.npy")[:], X)


def test_the_width_of_the_chi2_kernel_is_the_same_as_in_memory(tmp_path, rng):
    X = rng.random((300, 3))
    np.save(tmp_path / "x.npy", X)
    rows = akkm.open_rows(tmp_path / "x.npy")
    for gamma in ("scale", "median"):
        settings = {"kernel": "chi2", "gamma": gamma, "random_state": 0}
        model = ApproxKernelKMeans(3, **settings).fit(rows)
        expected = ApproxKernelKMeans(3, **settings).fit(X)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.save(tmp_path / "y.npy", X - 0.5)
    with pytest.raises(ValueError, match="Negative values in data"):
        ApproxKernelKMeans(3, kernel="chi2").fit(akkm.open_rows(tmp_path / "y.npy"))
