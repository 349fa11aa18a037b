"""Model files: loaded models predict the same labels, and bad files are refused."""

import io
import json
import pickle
import subprocess
import sys
import textwrap
import zipfile
from functools import partial

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.cluster import KMeans

import akkm
from akkm import (
    ApproxKernelKMeans,
    DiffusionKernelKMeans,
    EnsembleKernelKMeans,
    KernelKMeans,
    model_file,
)
from akkm.diffusion import graph_embedding, neighbour_search
from akkm.images import SpatialPyramid
from akkm.kernels import KERNEL_NAMES, RBF, Cosine, Linear
from akkm.model_file import (
    ModelFileError,
    SavedModel,
    load_model,
    save_model,
    trusted_types,
)
from akkm.model_file._archive import nodes
from akkm.tables import TableEncoder, open_table
from registry import ESTIMATORS, accepted

KERNELS = [
    *(name for name in KERNEL_NAMES if name not in ("precomputed", "polynomial")),
    RBF(gamma=2.0) + 0.5 * Linear(),
    RBF(sigma=1.0) * Cosine(),
]
MODELS = [
    *((Estimator, {}) for Estimator in ESTIMATORS),
    *((ApproxKernelKMeans, {"kernel": kernel}) for kernel in KERNELS),
    *((EnsembleKernelKMeans, {"kernel": kernel}) for kernel in KERNELS[-2:]),
]
ABOUT = {"rows": 150, "scores": {"nmi": 0.5}, "notes": ["one", "two"]}


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    """A fitted encoder and its encoded rows, which have no negative values."""
    path = tmp_path_factory.mktemp("points") / "points.npy"
    np.save(path, np.random.default_rng(0).random((150, 4)))
    encoder = TableEncoder(scale="none").fit(open_table(str(path)))
    return encoder, encoder.transform(open_table(str(path)))


@pytest.fixture
def saved(points, tmp_path):
    """A model and its file."""
    encoder, X = points
    model = ApproxKernelKMeans(3, random_state=0).fit(X)
    path = tmp_path / "m.skops"
    save_model(SavedModel(encoder, model, ABOUT), path)
    return model, path


def types_inside(path):
    schema = json.loads(zipfile.ZipFile(path).read("schema.json"))
    return {f"{n['__module__']}.{n['__class__']}" for n in nodes(schema)}


@pytest.mark.filterwarnings("ignore:.*kernel is far from positive definite")
@pytest.mark.filterwarnings("ignore:.*rows have no similarity to the others")
@pytest.mark.filterwarnings("ignore:Stopped at max_iter")  # sigmoid does not converge
@pytest.mark.parametrize(("Estimator", "params"), MODELS, ids=str)
def test_a_loaded_model_predicts_the_same_bits(Estimator, params, points, tmp_path):
    encoder, X = points
    # Few members save time. A consensus keeps its default estimator here.
    params = {**accepted(Estimator, n_members=3), **params}
    model = Estimator(3, random_state=0, **params).fit(X)
    save_model(SavedModel(encoder, model, ABOUT), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    new = np.random.default_rng(1).random((40, 4)).astype(np.float32)
    same = loaded.estimator
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    np.testing.assert_array_equal(same.predict(new), model.predict(new))
    if hasattr(model, "transform"):
        np.testing.assert_array_equal(same.transform(new), model.transform(new))
    assert loaded.about == ABOUT
    if hasattr(model, "kernel_"):
        assert str(same.kernel_) == str(model.kernel_)
    assert str(same.get_params()) == str(model.get_params())
    assert loaded.encoder.feature_names_ == encoder.feature_names_


@pytest.mark.filterwarnings("ignore:.*kernel is far from positive definite")
def test_every_saved_type_is_trusted(points, tmp_path):
    """The types include those that only images or certain kernels need."""
    encoder, X = points
    K = X @ X.T + 1
    seen = set()
    few = {"random_state": 0, "n_members": 3}
    models = [E(3, **accepted(E, **few)).fit(X) for E in ESTIMATORS]
    models += [
        ApproxKernelKMeans(3, kernel=kernel, random_state=0).fit(X)
        for kernel in (*KERNELS, "poly", 2.0 * RBF())
    ]
    models.append(ApproxKernelKMeans(3, kernel="precomputed").fit(K))
    strip = ApproxKernelKMeans(3, kernel="precomputed", landmarks=np.arange(50))
    models.append(strip.fit(K[:, :50]))
    for i, model in enumerate(models):
        save_model(SavedModel(encoder, model, {}), tmp_path / f"{i}.skops")
        seen |= types_inside(tmp_path / f"{i}.skops")
    images = np.random.default_rng(0).random((6, 20, 20))
    steps = SpatialPyramid(4, 2, random_state=0)
    model = ApproxKernelKMeans(2, kernel="intersection", random_state=0)
    model.fit(steps.fit_transform(images))
    save_model(SavedModel(steps, model, {}), tmp_path / "images.skops")
    seen |= types_inside(tmp_path / "images.skops")
    assert load_model(tmp_path / "images.skops").encoder.levels == 2
    save_model(SavedModel(steps.set_params(levels=3), model, {}), tmp_path / "no.skops")
    with pytest.raises(ModelFileError, match="damaged"):  # number of columns differs
        load_model(tmp_path / "no.skops")
    assert seen <= set(trusted_types())


def test_no_trusted_type_runs_code_when_it_is_created():
    hooks = {"__new__", "__setstate__", "__reduce__", "__del__"}
    for name in trusted_types():
        module, _, kind = name.rpartition(".")
        if module.startswith("akkm."):
            assert not hooks & vars(getattr(sys.modules[module], kind)).keys()
    for forbidden in ("akkm.kernels._given.Function", "builtins.print", "os.system"):
        assert forbidden not in trusted_types()


def test_models_of_sparse_rows_can_be_saved(points, tmp_path):
    encoder, X = points
    X = sparse.csr_array(X * (X > 0.5))
    for Estimator in ESTIMATORS:
        few = accepted(Estimator, random_state=0, n_members=3)
        model = Estimator(3, **few).fit(X)
        save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
        loaded = load_model(tmp_path / "m.skops").estimator
        np.testing.assert_array_equal(loaded.predict(X), model.labels_)


@pytest.mark.parametrize(
    ("storage", "metric"), [(np.asarray, "manhattan"), (sparse.csr_array, "euclidean")]
)
def test_models_with_a_search_by_cells_can_be_saved(
    storage, metric, rng, tmp_path, monkeypatch
):
    search = partial(neighbour_search.search_for, exact_rows=100)
    monkeypatch.setattr(graph_embedding, "search_for", search)
    X = rng.normal(size=(1500, 70)) + 3 * rng.integers(3, size=(1500, 1))
    np.save(tmp_path / "rows.npy", X)
    encoder = TableEncoder(scale="none").fit(open_table(str(tmp_path / "rows.npy")))
    X = storage(X * (rng.random(X.shape) < 0.5))
    model = DiffusionKernelKMeans(3, metric=metric, random_state=0).fit(X[:1400])
    save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
    assert "akkm.diffusion.cell_search.Cells" in types_inside(tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    np.testing.assert_array_equal(loaded.predict(X[:1400]), model.labels_)
    np.testing.assert_array_equal(loaded.predict(X[1400:]), model.predict(X[1400:]))


def test_another_process_predicts_the_same_bits(points, tmp_path):
    encoder, X = points
    models = [
        Estimator(3, n_landmarks=20, random_state=0).fit(X)
        for Estimator in (ApproxKernelKMeans, EnsembleKernelKMeans)
    ]
    for i, model in enumerate(models):
        save_model(SavedModel(encoder, model, {}), tmp_path / f"{i}.skops")
    np.save(tmp_path / "new.npy", X[::-1])
    program = """
        import sys
        import numpy as np
        from akkm.model_file import load_model
        first, second = (load_model(f"{i}.skops").estimator for i in range(2))
        X = np.load("new.npy")
        for result in (first.predict(X), first.transform(X), second.predict(X)):
            sys.stdout.buffer.write(result.tobytes())
    """
    output = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    ).stdout
    first, second = models
    X = X[::-1]
    expected = (first.predict(X), first.transform(X), second.predict(X))
    assert output == b"".join(result.tobytes() for result in expected)


def test_attributes_per_training_row_are_left_out(points, tmp_path):
    encoder, X = points
    model = EnsembleKernelKMeans(3, n_landmarks=9, n_members=3, random_state=0).fit(X)
    model._observer, model._skl_callbacks = object(), [object()]
    save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    for part in (loaded, *loaded.members_):
        assert not hasattr(part, "labels_")
        assert not {"_observer", "_skl_callbacks"} & vars(part).keys()
    assert len(model.labels_) == 150  # the model itself is unchanged


@pytest.mark.parametrize("known", [None, {0: "a", 1: "b"}], ids=["plain", "known"])
def test_models_of_partial_fit_can_be_saved(known, points, tmp_path):
    encoder, X = points
    model = ApproxKernelKMeans(3, random_state=0).partial_fit(X, known=known)
    save_model(SavedModel(encoder, model, ABOUT), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_file_names_of_the_fit_are_left_out(points, tmp_path):
    encoder, X = points
    places = {"checkpoint": tmp_path / "c", "labels_file": tmp_path / "labels.npy"}
    model = ApproxKernelKMeans(3, random_state=0, **places).fit(X)
    save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    assert loaded.checkpoint is loaded.labels_file is None
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    assert model.checkpoint == tmp_path / "c"


def test_a_loaded_random_state_continues_the_sequence(points, tmp_path):
    encoder, X = points
    model = ApproxKernelKMeans(3, random_state=np.random.RandomState(7)).fit(X)
    save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    assert loaded.random_state.randint(1000) == model.random_state.randint(1000)


@pytest.mark.parametrize(
    "kernel", [lambda X, Y: X @ Y.T, RBF() + akkm.kernels.Function(np.inner)]
)
def test_a_kernel_that_is_a_python_function_is_refused(kernel, points, tmp_path):
    encoder, X = points
    with pytest.raises(ModelFileError, match="is a Python function"):
        model_file.require_savable(kernel)
    model = KernelKMeans(2, kernel=kernel, random_state=0).fit(X)
    with pytest.raises(ModelFileError, match="is a Python function"):
        save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file(saved, points, monkeypatch):
    model, path = saved
    before = path.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(skops.io, "dump", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(SavedModel(points[0], model, {}), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def rewrite(path, change):
    """Rewrite a zip archive with changed members and valid zip checksums."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def with_header(**changes):
    def change(members):
        header = json.loads(members["akkm.json"])
        members["akkm.json"] = json.dumps({**header, **changes}).encode()

    return lambda path: rewrite(path, change)


def without(name):
    return lambda path: rewrite(path, lambda members: members.pop(name))


def holding(value):
    """Return a function that replaces the estimator in a model file by `value`."""

    def change(path):
        def swap(members):
            foreign = io.BytesIO(skops.io.dumps({"encoder": 1, "estimator": value}))
            with zipfile.ZipFile(foreign) as archive:
                for name in archive.namelist():
                    members[name] = archive.read(name)

        rewrite(path, swap)

    return change


def schema_with(old, new):
    def change(members):
        schema = members["schema.json"].decode()
        assert old in schema
        members["schema.json"] = schema.replace(old, new).encode()

    return lambda path: rewrite(path, change)


class Foreign:
    pass


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.unlink(), "can't be read: No such file"),
        (lambda p: (p.unlink(), p.mkdir()), "can't be read: Is a directory"),
        (lambda p: p.write_text(""), "is not a model of akkm"),
        (lambda p: p.write_text("row,cluster\n1,2\n"), "is not a model of akkm"),
        (lambda p: p.write_bytes(pickle.dumps({"a": 1})), "is not a model of akkm"),
        (lambda p: p.write_bytes(skops.io.dumps(KMeans())), "is not a model of akkm"),
        (without("schema.json"), "is not a model of akkm"),
        (without("akkm.json"), "is not a model of akkm"),
        (with_header(akkm="1.0.0"), "by akkm 1.0.0, but this is akkm 0.*use akkm 1.0"),
        (with_header(akkm="0.99.1"), r"was written by akkm 0.99.1, .* cluster again"),
        (with_header(akkm="new"), "was written by akkm new"),
        (with_header(format=2), "was written by akkm 0"),
        (with_header(akkm=None), "was written by akkm None"),
        (lambda p: rewrite(p, lambda m: m.update({"akkm.json": b"[]"})), "is damaged"),
        (lambda p: rewrite(p, lambda m: m.update({"schema.json": b"}"})), "is damaged"),
        (holding(KMeans()), "contains the type sklearn.cluster._kmeans.KMeans"),
        (holding(Foreign()), r"Foreign, which no model of akkm has"),
        (holding(print), "contains the type builtins.print"),
        (holding(np.add), r"contains the type numpy[\w.]*\.add"),
        (holding(RBF().diag), "contains the type akkm.kernels._rbf.RBF"),
        (holding(3), "is damaged"),
        (schema_with('"akkm.core.nearest"', '"os"'), "contains the type os.Scorer"),
        (
            schema_with('"Scorer"', '"Vista"'),
            "contains the type akkm.core.nearest.Vista",
        ),
        (schema_with("_model", "_mode"), "is damaged"),
    ],
)
def test_bad_files_are_refused_with_a_one_line_message(change, message, saved):
    _, path = saved
    change(path)
    with pytest.raises(ModelFileError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_changed_member_is_detected(saved):
    """The changed zip archive is valid, and so are the checksums of the zip format."""
    _, path = saved
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = archive.namelist()
    assert len(members) > 5
    for member in members:

        def change(contents, member=member):
            at = contents[member].rfind(b"1" if member.endswith(".json") else b"\0")
            old = contents[member]
            contents[member] = old[:at] + b"2" + old[at + 1 :]

        path.write_bytes(whole)
        rewrite(path, change)
        with pytest.raises(ModelFileError, match="is damaged"):
            load_model(path)
    path.write_bytes(whole)
    rewrite(path, lambda contents: contents.update(more=b"1"))
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(path)


def test_a_truncated_file_is_refused(saved):
    _, path = saved
    whole = path.read_bytes()
    for size in [1, 2, 100, *range(500, len(whole), len(whole) // 40), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError, match=r"is damaged|is not a model"):
            load_model(path)


def test_a_changed_byte_is_detected_or_irrelevant(saved, points):
    model, path = saved
    X = points[1]
    whole = path.read_bytes()
    noticed = 0
    places = np.random.default_rng(0).integers(len(whole), size=80)
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        try:
            loaded = load_model(path).estimator
        except ModelFileError:
            noticed += 1
        else:  # an irrelevant byte, such as a date in the archive
            np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    assert noticed > 50


def test_sparse_indices_out_of_range_are_refused(points, tmp_path):
    """With indices out of range, SciPy would read beyond the end of its arrays."""
    encoder, X = points
    model = ApproxKernelKMeans(3, random_state=0).fit(sparse.csr_array(X))
    model._model.points.indices[5] = 10**6
    save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(tmp_path / "m.skops")


def test_an_encoder_that_does_not_match_the_estimator_is_refused(points, tmp_path):
    encoder, X = points
    model = ApproxKernelKMeans(3, random_state=0).fit(X[:, :3])
    save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(tmp_path / "m.skops")
