"""Image descriptors, pyramids, the intersection kernel, and folders of images."""

import os
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import akkm
from akkm.cli._app import app
from akkm.images import ImageError, SpatialPyramid, find_files, read_image, thumbnail
from akkm.images._descriptors import dense_sift
from akkm.images._pyramid import level_weights, pyramid_histogram
from akkm.images._vocabulary import nearest_words
from akkm.kernels import Intersection
from akkm.metrics import adjusted_rand_index
from akkm.model_file import load_model
from akkm.report import report

cv2 = pytest.importorskip("cv2")


def textures(rng, each, shape=(64, 80)):
    """Return 3 * `each` gray images: stripes, checks and discs in turn."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    found = []
    for _ in range(each):
        a, b = rng.uniform(0, 20, size=2)
        stripes = np.sin((x + a) / 2)
        checks = np.sin((x + a) / 3) * np.sin((y + b) / 3)
        discs = np.tanh(4 - np.hypot((x + a) % 20 - 10, (y + b) % 20 - 10))
        found += [stripes, checks, discs]
    return [
        (image / 2.5 + 0.5 + rng.normal(0, 0.02, shape)).clip(0, 1) for image in found
    ]


@pytest.fixture(scope="module")
def described():
    """36 images, their kinds, the fitted SpatialPyramid, and the encoded rows."""
    images = textures(np.random.default_rng(0), 12)
    kinds = np.arange(36) % 3
    steps = SpatialPyramid(30, 3, n_samples=3000, random_state=0)
    return images, kinds, steps, steps.fit_transform(images)


def slow_sift(gray, cx, cy, size):
    """Compute one SIFT descriptor pixel by pixel, as Lowe and OpenCV define it."""
    blurred = cv2.GaussianBlur(gray.astype(np.float32), (0, 0), 1.5)
    down, right = np.gradient(blurred.astype(np.float64))
    bins = np.zeros((4, 4, 8))
    for y in range(gray.shape[0]):
        for x in range(gray.shape[1]):
            u, v = (x - cx) / (size / 4), (y - cy) / (size / 4)
            strength = np.hypot(right[y, x], down[y, x])
            strength *= np.exp(-(u * u + v * v) / 8)
            turn = np.arctan2(-down[y, x], right[y, x]) / (2 * np.pi) * 8 % 8
            for r in range(4):
                for c in range(4):
                    share = max(0, 1 - abs(v - (r - 1.5)))
                    share *= max(0, 1 - abs(u - (c - 1.5)))
                    low = int(turn)
                    bins[r, c, low % 8] += strength * share * (1 - turn + low)
                    bins[r, c, (low + 1) % 8] += strength * share * (turn - low)
    whole = bins.ravel() / np.linalg.norm(bins)
    whole = np.minimum(whole, 0.2)
    return whole / np.linalg.norm(whole)


def test_dense_sift_equals_a_direct_implementation(rng):
    gray = cv2.GaussianBlur(rng.random((37, 45)).astype(np.float32), (0, 0), 2)
    found = dense_sift(gray, step=5, patch_size=16)
    assert found.values.shape == (5 * 6, 128)
    height, width = gray.shape
    for i in (0, 13, 29):
        cx, cy = found.places[i] * (width, height) - 0.5
        expected = slow_sift(gray, cx, cy, 16)
        np.testing.assert_allclose(found.values[i], expected, atol=1e-4)


def test_dense_sift_is_close_to_that_of_opencv(rng):
    pixels = cv2.GaussianBlur(rng.random((80, 90)), (0, 0), 2)
    pixels = (255 * (pixels - pixels.min()) / np.ptp(pixels)).astype(np.uint8)
    # In an image of 80 x 89 pixels, patch centers have integer coordinates.
    found = dense_sift(read_image(pixels[:80, :89]), step=9, patch_size=16)
    at = found.places * (89, 80) - 0.5
    np.testing.assert_allclose(at, at.round(), atol=1e-9)
    # In OpenCV, a bin is 1.5 times as wide as the keypoint size.
    points = [cv2.KeyPoint(float(x), float(y), 16 / 4 / 1.5, 0) for x, y in at]
    _, theirs = cv2.SIFT_create().compute(pixels[:80, :89], points)
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    similar = (theirs * found.values).sum(axis=1)
    assert similar.min() > 0.995


def test_the_descriptor_of_a_patch_without_contrast_is_zero():
    assert not dense_sift(np.full((32, 32), 0.3, np.float32), 4, 16).values.any()


def test_level_weights_are_those_of_the_2006_paper():
    """Lazebnik, Schmid and Ponce introduced spatial pyramids in 2006."""
    assert level_weights(1).tolist() == [1]
    assert level_weights(3).tolist() == [1 / 4, 1 / 4, 1 / 2]
    assert level_weights(4).tolist() == [1 / 8, 1 / 8, 1 / 4, 1 / 2]


def test_the_pyramid_match_equals_a_result_computed_by_hand():
    # Each image has two patches, one per word. Word 0 is in the upper left quarter of
    # both images, but in different sixteenths. Word 1 is in different quarters.
    words = np.array([0, 1])
    first = pyramid_histogram(np.array([[0.1, 0.1], [0.9, 0.9]]), words, 2, 3)
    second = pyramid_histogram(np.array([[0.4, 0.1], [0.9, 0.1]]), words, 2, 3)
    assert first.shape == (21 * 2,)
    assert np.flatnonzero(first).tolist() == [0, 1, 2, 9, 10, 41]
    assert first[[0, 2, 10]].tolist() == [1 / 8, 1 / 8, 1 / 4]
    # The shares of matching patches at levels 0, 1 and 2 are I⁰ = 1, I¹ = 1/2 and
    # I² = 0. Equation 3 of the 2006 paper is I² + (I¹ - I²) / 2 + (I⁰ - I¹) / 4.
    expected = 0 + (1 / 2 - 0) / 2 + (1 - 1 / 2) / 4
    kernel = Intersection()(first[None], second[None])
    assert kernel.item() == expected == 3 / 8


def test_each_descriptor_gets_the_nearest_word(rng):
    values, vocabulary = rng.random((5000, 128)), rng.random((7, 128))
    distances = ((values[:, None] - vocabulary) ** 2).sum(axis=2)
    np.testing.assert_array_equal(
        nearest_words(values, vocabulary), distances.argmin(1)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "m", "d"), [(1, 1, 1), (5, 127, 255), (9, 129, 257), (40, 300, 700)]
)
def test_intersection_equals_the_sum_of_minima(rng, n, m, d, dtype):
    X, Z = (rng.random((count, d)).astype(dtype) for count in (n, m))
    X[X < 0.7], Z[Z < 0.5] = 0, 0
    expected = np.array([[np.minimum(x, z).sum(dtype=float) for z in Z] for x in X])
    K = Intersection()(X, Z)
    assert K.dtype == dtype
    np.testing.assert_allclose(K, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(Intersection()(sparse.csr_array(X), Z), K)
    np.testing.assert_array_equal(Intersection()(X, sparse.csr_array(Z)), K)
    # Kernel values do not depend on which other rows are in the block.
    np.testing.assert_array_equal(Intersection()(X[n // 2 :], Z), K[n // 2 :])


def test_intersection_sums_duplicate_and_unsorted_sparse_entries():
    twice = sparse.csr_array(
        (np.array([0.5, 0.25, 0.25]), np.array([1, 0, 1]), np.array([0, 3]))
    )
    K = Intersection()(twice, np.array([[1.0, 0.5]]))
    assert K.item() == 0.75
    assert twice.nnz == 3  # the caller's matrix is unchanged


def test_intersection_is_positive_semi_definite(rng):
    X = rng.dirichlet(np.full(50, 0.2), size=80)
    assert np.linalg.eigvalsh(Intersection()(X)).min() > -1e-12


def test_rows_sum_to_one_for_any_image_size(described, rng):
    _, _, steps, X = described
    assert sparse.issparse(X)
    assert (X.format, X.dtype, X.shape) == ("csr", np.float32, (36, 21 * 30))
    wide = steps.transform(textures(rng, 1, shape=(50, 170)))
    for rows in (X, wide):
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(Intersection().diag(X), 1, rtol=1e-5)
    names = steps.get_feature_names_out()
    assert len(names) == steps.n_features_out_ == X.shape[1]
    assert names[[0, 30 + 5]].tolist() == [
        "word 0",
        "word 5 in row 0, column 0 of 2 x 2",
    ]


def test_rows_do_not_depend_on_threads_or_batches(described):
    images, _, steps, X = described
    again = clone(steps).set_params(n_jobs=1).fit_transform(images)
    np.testing.assert_array_equal(again.toarray(), X.toarray())
    several = clone(steps).set_params(n_jobs=3).fit_transform(images)
    np.testing.assert_array_equal(several.toarray(), X.toarray())
    some = steps.transform(images[5:9])
    np.testing.assert_array_equal(some.toarray(), X[5:9].toarray())


@pytest.mark.parametrize(
    "model",
    [
        akkm.ApproxKernelKMeans(3, n_landmarks=20),
        akkm.KernelKMeans(3),
        akkm.TwoStepKernelKMeans(3, n_landmarks=20),
        akkm.EnsembleKernelKMeans(3, n_members=3, n_landmarks=20),
        akkm.NystroemSpectralClustering(3, n_landmarks=20),
        akkm.LeadersKernelKMeans(3, n_leaders=15),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_estimator_clusters_pyramids(described, model):
    _, kinds, _, X = described
    model = clone(model).set_params(kernel="intersection", random_state=0, n_jobs=2)
    labels = model.fit_predict(X)
    assert adjusted_rand_index(kinds, labels) > 0.9
    np.testing.assert_array_equal(model.predict(X), labels)


def test_a_pipeline_clusters_detected_keypoints(rng):
    shapes = [np.zeros((90, 90)) for _ in range(12)]
    for i, image in enumerate(shapes):
        for _ in range(12):
            x, y = (int(v) for v in rng.integers(10, 80, size=2))
            if i % 2:
                cv2.circle(image, (x, y), 5, 1, -1)
            else:
                cv2.rectangle(image, (x - 9, y - 2), (x + 9, y + 2), 1, -1)
    both = make_pipeline(
        SpatialPyramid(10, 1, keypoints="detected", random_state=0),
        akkm.ApproxKernelKMeans(2, kernel="intersection", random_state=0),
    )
    labels = both.fit_predict(shapes)
    assert adjusted_rand_index(np.arange(12) % 2, labels) == 1
    # An image without keypoints gives an empty row.
    assert both[0].transform([np.zeros((20, 20))]).nnz == 0


def test_bit_depth_and_colour_do_not_change_the_gray_image(tmp_path):
    gray = textures(np.random.default_rng(1), 1)[1]
    expected = read_image(gray)
    eight = np.rint(gray * 255).astype(np.uint8)
    sixteen = np.rint(gray * 65535).astype(np.uint16)
    colour = np.dstack([eight] * 3)
    for name, pixels in {"8.png": eight, "16.png": sixteen, "c.tiff": colour}.items():
        assert cv2.imwrite(str(tmp_path / name), pixels)
        for source in (tmp_path / name, pixels):
            np.testing.assert_allclose(read_image(source), expected, atol=0.005)
    clear = np.dstack([colour, eight])
    np.testing.assert_allclose(read_image(clear), expected, atol=0.005)
    assert read_image(colour, max_size=40).shape == (32, 40)
    small = cv2.imdecode(np.frombuffer(thumbnail(colour, 20), np.uint8), 1)
    assert small.shape == (16, 20, 3)


@pytest.mark.parametrize(
    ("images", "params", "message"),
    [
        ([np.zeros((20, 20)), np.zeros((1, 1))], {}, "is 1 x 1 pixels; expected at"),
        ([np.zeros((20, 90))], {"patch_size": 32}, "expected at least patch_size=32"),
        ([np.zeros((20, 20, 2))], {}, "is not an image; expected numbers of shape"),
        ([np.full((20, 20), np.nan)], {}, "contains NaN or infinity"),
        ([np.zeros((20, 20))], {}, "n_words=200, but there are 0 descriptors"),
        (["nowhere.png"], {}, "nowhere.png can't be read: No such file"),
        ([], {}, "X has no images"),
        ([np.zeros((20, 20))], {"step": 0}, "'step' parameter .* must be an int"),
        (
            [np.zeros((20, 20))],
            {"keypoints": "all"},
            "'keypoints' parameter .*'detected'",
        ),
        (
            [np.zeros((20, 20))],
            {"unreadable": "hide"},
            "'unreadable' parameter .*'skip'",
        ),
    ],
)
def test_bad_images_and_parameters_are_refused(images, params, message):
    with pytest.raises(ValueError, match=message):
        SpatialPyramid(**params).fit(images)


def test_a_single_file_name_is_refused():
    with pytest.raises(TypeError, match="X is a str; expected a list of file names"):
        SpatialPyramid().fit("photo.jpg")


def test_changing_n_words_after_the_fit_is_refused(described):
    images, _, steps, _ = described
    changed = clone(steps).set_params(n_words=5).fit(images[:3]).set_params(n_words=6)
    with pytest.raises(ValueError, match="n_words=6, but 5 words were learned"):
        changed.transform(images)


def test_without_opencv_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[images\]'"):
        SpatialPyramid().fit([np.zeros((20, 20))])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder with readable images of two kinds and unreadable files."""
    monkeypatch.chdir(tmp_path)
    inside = tmp_path / "pictures" / "more"
    inside.mkdir(parents=True)
    made = textures(np.random.default_rng(2), 8)
    for i, image in enumerate(made):
        if i % 3 < 2:
            at = inside if i % 3 else inside.parent
            name = f"{('stripes', 'checks')[i % 3]}{i // 3}.png"
            assert cv2.imwrite(str(at / name), (image * 255).astype(np.uint8))
    where = inside.parent
    whole = (where / "stripes0.png").read_bytes()
    (where / "cut.png").write_bytes(whole[: len(whole) // 2])
    (where / "empty.jpg").touch()
    (where / "notes.txt").write_text("Not an image.")
    (where / ".hidden").write_text("Ignored.")
    assert cv2.imwrite(str(where / "one.png"), np.zeros((1, 1), np.uint8))
    colour = np.dstack([(made[1] * 200).astype(np.uint8)] * 2 + [np.zeros((64, 80))])
    assert cv2.imwrite(str(where / "checks-colour.bmp"), colour)
    deep = (made[0] * 4095).astype(np.uint16)
    assert cv2.imwrite(str(where / "stripes-deep.png"), deep)
    return where


BAD = {
    "cut.png": "is damaged, or not an image",
    "empty.jpg": "is an empty file",
    "one.png": "is 1 x 1 pixels; expected at least 16 x 16",
}


def test_unreadable_files_are_named_and_refused_or_skipped(folder):
    files = find_files(folder)
    assert len(files) == 18 + len(BAD)
    with pytest.raises(ImageError, match=r"cut\.png is damaged, or not an image"):
        SpatialPyramid(20).fit(files)
    steps = SpatialPyramid(20, 2, unreadable="skip", random_state=0)
    with pytest.warns(UserWarning, match="3 of 21 images were left out.*cut.png"):
        X = steps.fit(files).transform(files)
    found = steps.describe(files)
    assert X.shape[0] == len(found.rows) == 18
    for text, (name, reason) in zip(found.unreadable, BAD.items(), strict=True):
        assert name in text
        assert reason in text
    with pytest.raises(ImageError, match=r"None of 1 images could be read.*notes\.txt"):
        steps.transform([str(folder / "notes.txt")])


def test_find_files_lists_images_only(folder):
    """A file counts as an image because of its extension or its first bytes."""
    whole = (folder / "stripes0.png").read_bytes()
    (folder / "more" / "scan").write_bytes(whole)
    (folder / "UPPER.PNG").write_bytes(whole)
    (folder / "Thumbs.db").write_bytes(b"MZ")
    (folder / "photo.heic").write_bytes(b"not read by OpenCV")
    names = {os.path.basename(path) for path in find_files(folder)}
    assert {"scan", "UPPER.PNG", "photo.heic", "cut.png"} <= names
    assert not {"notes.txt", "Thumbs.db", ".hidden"} & names
    for path in (*BAD, "photo.heic"):
        (folder / path).unlink(missing_ok=True)
    assert SpatialPyramid(20, 2).fit_transform(find_files(folder)).shape[0] == 20


def test_a_folder_without_images_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("Not an image.")
    with pytest.raises(ImageError, match="contains no images; expected a folder"):
        find_files(tmp_path)


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_the_command_line_clusters_a_folder(folder):
    words = ["--words", 20, "--levels", 2]
    files = ["--labels", "l.csv", "--model", "m.skops", "--report", "r.html"]
    result = run("images", "pictures", "-k", 2, *words, *files)
    assert (result.exit_code, result.stderr) == (0, "")
    for name, reason in BAD.items():
        assert f"{name} {reason}" in result.stdout
    lines = (folder.parent / "l.csv").read_text().splitlines()
    assert lines[0] == "path,cluster,distance,margin"
    cells = [line.replace('"', "").split(",") for line in lines[1:]]
    assert len(cells) == 18
    clusters = {("stripes" in cell[0], cell[1]) for cell in cells}
    assert len(clusters) == 2
    assert "more/checks3.png" in {cell[0] for cell in cells}

    page = (folder.parent / "r.html").read_text()
    assert page.count('<img src="data:image/jpeg;base64,') == 18
    assert 'alt="more/checks3.png"' in page
    assert "Cluster differences" not in page

    again = run("predict", "m.skops", "pictures/more", "--labels", "new.csv")
    assert (again.exit_code, again.stderr) == (0, "")
    new = (folder.parent / "new.csv").read_text().splitlines()[1:]
    known = {cell[0]: cell[1:] for cell in cells}
    for line in new:
        path, *rest = line.replace('"', "").split(",")
        np.testing.assert_allclose(
            np.float64(rest), np.float64(known[f"more/{path}"]), atol=1e-5
        )
    assert "a folder of images" in run("info", "m.skops").stdout
    assert isinstance(load_model("m.skops").encoder, SpatialPyramid)


def test_errors_of_the_command_line_are_one_line(folder):
    for args, message in (
        (["pictures", "--unreadable", "error"], "cut.png is damaged, or not an image"),
        (["nowhere"], "nowhere does not exist; expected a folder with images"),
        (["pictures/notes.txt"], "is a file; expected a folder with images"),
        (["pictures", "--words", 10, "-k", 99], "-k 99 with 18 rows"),
    ):
        result = run("images", "-k", 2, *args)
        assert result.exit_code == 2
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("method", ["sparse", "diffusion"])
def test_images_are_clustered_only_by_methods_with_a_kernel(method):
    result = run("images", "pictures", "-k", 2, "--method", method)
    assert result.exit_code == 2
    assert f"'{method}' is not one of 'approx', 'exact', 'two-step'" in result.stderr
    assert "--kernel" not in result.stderr
    listed = run("images", "--help").stdout
    assert method not in listed


def test_advice_about_ensembles_does_not_name_the_method_sparse():
    result = run("images", "x", "-k", 2, "--method", "exact", "--ensemble", 3)
    assert "sparse" not in result.stderr
    assert "leave out one of the two" in result.stderr


def test_the_report_needs_one_image_per_row(described):
    images, _, _, X = described
    model = akkm.EnsembleKernelKMeans(3, kernel="intersection", random_state=0).fit(X)
    page = report(model, X, images=images).html
    # Each of the three clusters has twelve images, and the page shows all of them: ten
    # as typical images and two more.
    assert page.count("<img") == 36
    with pytest.raises(ValueError, match="images has 35 entries, but X has 36 rows"):
        report(model, X, images=images[1:])
