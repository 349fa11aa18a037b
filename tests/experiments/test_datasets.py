"""Loading of tiny twins, and of original data from files, scikit-learn or a cache."""

import gzip
import hashlib
import io
import tarfile

import numpy as np
import pytest
from scipy import sparse

from akkm.kernels import RBF, Intersection, Polynomial, Sigmoid
from experiments.datasets import (
    NAMES,
    availability,
    describe,
    files,
    image_rows,
    load,
    originals,
)

TWINS = {
    "tiny-imagenet12": (Intersection, 850),
    "tiny-mnist": (Sigmoid, 784),
    "tiny-covtype": (RBF, 54),
    "tiny-kddcup99": (Polynomial, 50),
    "tiny-kddcup99-full": (Polynomial, 50),
}


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Paths of an empty folder for original files, and of a cache not yet created."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("AKKM_DATA", str(data))
    monkeypatch.setenv("AKKM_CACHE", str(cache))
    return data, cache


@pytest.fixture
def put(folders, monkeypatch):
    """Function that writes an original file.

    If `right` is true, the checksum of the file becomes the expected checksum.
    """

    def put(place, raw, right=True):
        path = folders[0] / place
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
        if right:
            digest = hashlib.sha256(raw).hexdigest()
            monkeypatch.setitem(files.CHECKSUMS, place, digest)
        return path

    return put


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_kernel_the_columns_and_the_range_of_the_originals(name):
    data = load(name)
    kernel, columns = TWINS[name]
    assert isinstance(data.kernel, kernel)
    assert data.X.dtype == np.float32
    assert data.X.shape == (len(data.classes), columns)
    assert sparse.issparse(data.X) == (name == "tiny-imagenet12")
    assert data.X.min() >= 0
    assert data.X.max() <= 1
    assert len(np.unique(data.classes)) == data.n_clusters
    assert data.stand_in
    assert "twin" in data.title
    again = load(name)
    assert abs(data.X - again.X).max() == 0
    np.testing.assert_array_equal(data.classes, again.classes)


def test_every_data_set_has_a_twin_and_a_description():
    assert {name for name in NAMES if name.startswith("tiny-")} == set(TWINS)
    for name in NAMES:
        title, note = describe(name)
        assert title
        assert note


@pytest.mark.parametrize("stand_in", [True, False])
def test_only_a_stand_in_is_described_as_a_stand_in(stand_in):
    title, note = describe("kddcup99-full", stand_in=stand_in)
    assert ("stand-in" in title) == ("stand-in" in note) == stand_in


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown data set 'iris'.*mnist"):
        load("iris")


def idx(values, header):
    return gzip.compress(bytes(header) + values.astype(np.uint8).tobytes())


def test_mnist_joins_training_and_test_images_and_is_cached(put, folders, rng):
    pixels = rng.integers(256, size=(5, 784))
    digits = np.array([3, 1, 4, 1, 5])
    for part, rows in (("train", slice(0, 3)), ("t10k", slice(3, 5))):
        put(f"mnist/{part}-images-idx3-ubyte.gz", idx(pixels[rows], 16))
        last = put(f"mnist/{part}-labels-idx1-ubyte.gz", idx(digits[rows], 8))
    assert availability("mnist") == (True, f"original files in {folders[0]}")
    data = load("mnist")
    np.testing.assert_allclose(data.X, pixels / 255, rtol=1e-6)
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.classes, digits)
    assert not data.stand_in
    last.unlink()
    assert availability("mnist") == (True, f"cached in {folders[1]}")
    np.testing.assert_array_equal(load("mnist").X, data.X)
    assert not list(folders[1].glob(".*"))


def test_cover_type_is_scaled_column_by_column(put, rng):
    table = rng.integers(100, size=(6, 55))
    table[:, 7] = 5  # a constant column
    table[:, 54] = [2, 1, 2, 7, 7, 1]
    text = io.StringIO()
    np.savetxt(text, table, "%d", delimiter=",")
    put("covtype/covtype.data.gz", gzip.compress(text.getvalue().encode()))
    data = load("covtype")
    low, high = table[:, :54].min(axis=0), table[:, :54].max(axis=0)
    span = np.where(high > low, high - low, 1)
    np.testing.assert_allclose(data.X, (table[:, :54] - low) / span, atol=1e-6)
    np.testing.assert_array_equal(data.classes, [1, 0, 1, 2, 2, 0])


def kdd_table(rng, n=60):
    """Return a table in the format of KDD Cup 99.

    It has 3 protocols, 11 flags, 36 columns of varying numbers and 2 constant columns.
    """
    table = np.array(rng.integers(10, size=(n, 42)), dtype=object)
    table[0, :41], table[1, :41] = 0, 9
    table[:, [7, 20]] = 0
    table[:, 1] = [f"p{i % 3}" for i in range(n)]
    table[:, 2] = "http"
    table[:, 3] = [f"S{i % 11}" for i in range(n)]
    table[:, 41] = ["normal." if i % 2 else "rare." for i in range(n)]
    return table


def test_kdd_has_fifty_columns_and_a_stand_in(put, rng, monkeypatch):
    table = kdd_table(rng)
    lines = "\n".join(",".join(map(str, row)) for row in table)
    put("kddcup99/kddcup.data_10_percent.gz", gzip.compress(lines.encode()))
    monkeypatch.setattr(originals, "_KDD_COUNTS", {"normal.": 100})
    few = load("kddcup99")
    numbers = [i for i in range(41) if i not in (1, 2, 3, 7, 20)]
    X = table[:, numbers].astype(float) / 9
    protocol = [[i % 3 == j for j in range(3)] for i in range(60)]
    flags = sorted({f"S{j}" for j in range(11)})
    flag = [[f"S{i % 11}" == name for name in flags] for i in range(60)]
    np.testing.assert_allclose(few.X, np.hstack([X, protocol, flag]), atol=1e-6)
    assert not few.stand_in
    full = load("kddcup99-full")
    assert full.stand_in
    assert "stand-in" in full.title
    assert "stand-in" in full.note
    # The stand-in has all 30 rows of the rare class, and 100 rows of the other class.
    assert np.bincount(full.classes).tolist() == [100, 30]
    rows = {row.tobytes() for row in few.X}
    assert all(row.tobytes() in rows for row in full.X)


def test_kdd_with_other_columns_is_refused(put, rng):
    table = kdd_table(rng)
    table[:, 5] = 1  # one more constant column
    lines = "\n".join(",".join(map(str, row)) for row in table)
    put("kddcup99/kddcup.data_10_percent.gz", gzip.compress(lines.encode()))
    with pytest.raises(ValueError, match="gave 49 columns, expected 50"):
        load("kddcup99")


def test_a_damaged_file_in_the_cache_is_named(folders):
    folders[1].mkdir()
    half = b"PK\3\4 half of it"
    for name, text, read in (
        ("mnist.npz", b"", lambda: load("mnist")),
        ("covtype.npz", half, lambda: load("covtype")),
        ("pyramids.npz", half, image_rows.pyramids),
        ("kernel.npy", b"half of it", image_rows.image_kernel),
    ):
        (folders[1] / name).write_bytes(text)
        with pytest.raises(
            ValueError, match=rf"{name} can't be read .*Remove the file"
        ):
            read()


def test_cached_data_are_available(folders):
    cache = folders[1]
    cache.mkdir()
    (cache / "pyramids.npz").touch()
    # The classes are missing: they are the names of the folders of images.
    assert not availability("imagenet12")[0]
    (cache / "imagenet12").mkdir()
    assert availability("imagenet12") == (True, f"cached in {cache}")
    assert not availability("kddcup99-full")[0]
    (cache / "kddcup99.npz").touch()  # the stand-in is drawn from this file
    assert availability("kddcup99-full") == (True, f"cached in {cache}")


def test_files_with_a_wrong_checksum_are_refused(put):
    path = put("covtype/covtype.data.gz", b"half of it", right=False)
    with pytest.raises(ValueError, match=r"has the sha256 .* expected cebd.*Download"):
        load("covtype")
    assert path.exists()


def test_missing_files_are_named(folders, monkeypatch):
    available, reason = availability("mnist")
    assert not available
    assert "mnist/train-images" in reason
    with pytest.raises(FileNotFoundError, match=r"mnist/train-images.* Set AKKM_DATA"):
        load("mnist")
    monkeypatch.delenv("AKKM_DATA")
    assert availability("mnist") == (True, "to be fetched by scikit-learn")
    assert not availability("imagenet12")[0]
    with pytest.raises(FileNotFoundError, match="AKKM_DATA is not set"):
        load("imagenet12")
    monkeypatch.setenv("AKKM_DATA", "nowhere")
    with pytest.raises(FileNotFoundError, match="AKKM_DATA=nowhere is not a folder"):
        load("mnist")


def test_scikit_learn_fetches_data_if_no_folder_is_set(folders, monkeypatch, rng):
    monkeypatch.delenv("AKKM_DATA")
    pixels = rng.integers(256, size=(4, 784)).astype(float)
    digits = np.array(["3", "1", "4", "1"], dtype=object)
    calls = []

    def fetch_openml(*args, **options):
        calls.append((args, options))
        return pixels, digits

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    data = load("mnist")
    np.testing.assert_allclose(data.X, pixels / 255, rtol=1e-6)
    np.testing.assert_array_equal(data.classes, [3, 1, 4, 1])
    load("mnist")
    assert len(calls) == 1
    assert calls[0][0] == ("mnist_784",)

    table = kdd_table(rng)
    words = [1, 2, 3, 41]
    table[:, words] = np.vectorize(str.encode)(table[:, words].astype(str))
    fetched = (table[:, :41], table[:, 41])
    monkeypatch.setattr("sklearn.datasets.fetch_kddcup99", lambda **_: fetched)
    full = load("kddcup99-full")
    assert full.X.shape == (60, 50)
    assert not full.stand_in

    def offline(**options):
        raise OSError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_covtype", offline)
    with pytest.raises(FileNotFoundError, match=r"fetch_covtype .*\(no route\)"):
        load("covtype")


def test_pyramids_of_images_are_computed_once_and_cached(put, folders, rng):
    cv2 = pytest.importorskip("cv2")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for i in range(6):
            image = rng.integers(256, size=(48, 48)).astype(np.uint8)
            raw = cv2.imencode(".png", image)[1].tobytes()
            entry = tarfile.TarInfo(f"imagenet12/n{i // 3}/{i}.png")
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    put("imagenet12/imagenet12.tar.gz", packed.getvalue())
    import experiments.datasets.image_rows as images

    small = images.SpatialPyramid(n_words=5, levels=2, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "SpatialPyramid", lambda **_: small)
        data = load("imagenet12")
    np.testing.assert_array_equal(data.classes, [0, 0, 0, 1, 1, 1])
    assert data.X.shape == (6, 25)
    np.testing.assert_allclose(data.X.sum(axis=1), 1, rtol=1e-5)
    K = images.image_kernel()
    np.testing.assert_allclose(K, Intersection()(data.X, data.X), rtol=1e-5)
    # The second call reads the cache.
    np.testing.assert_array_equal(load("imagenet12").X.toarray(), data.X.toarray())
