"""Altered model files are refused if attributes contradict each other.

The checksum in a model file is not secret, so it can't protect against deliberate
changes. If shapes or indices were wrong, native code would read and write beyond the
end of arrays.
"""

import io
import itertools
import json
import zipfile

import numpy as np
import pytest
from scipy import sparse

import akkm
from akkm import ApproxKernelKMeans
from akkm.images import SpatialPyramid
from akkm.model_file import ModelFileError, SavedModel, load_model, save_model
from akkm.tables import TableEncoder, open_table
from registry import ESTIMATORS
from tests.fuzz.readers.targets import pack, use_model

X = np.random.default_rng(0).random((40, 4)).astype(np.float32)
K = X @ X.T + 1
STRIP = {"kernel": "precomputed", "landmarks": np.arange(20)}
FITS = {
    **{Estimator.__name__: (Estimator(3), X) for Estimator in ESTIMATORS},
    "sparse": (ApproxKernelKMeans(3, kernel="intersection"), sparse.csr_array(X)),
    "laplacian": (ApproxKernelKMeans(3, kernel="laplacian"), X),
    "indefinite": (ApproxKernelKMeans(3, kernel="sigmoid"), X),
    "precomputed": (ApproxKernelKMeans(3, kernel="precomputed"), K),
    "strip": (ApproxKernelKMeans(3, **STRIP), K[:, :20]),
    "marks": (akkm.DiffusionKernelKMeans(3, outliers="mark"), X),
}


@pytest.fixture(scope="module")
def members_of(tmp_path_factory):
    """Return a function that fits a model and returns the members of its file."""
    folder = tmp_path_factory.mktemp("models")

    def write(name):
        estimator, rows = FITS[name]
        estimator.set_params(random_state=0)
        if hasattr(estimator, "n_members"):
            estimator.set_params(n_members=2)
        dense = rows.toarray() if sparse.issparse(rows) else rows
        np.save(folder / "x.npy", dense)
        encoder = TableEncoder(scale="none").fit(open_table(str(folder / "x.npy")))
        save_model(SavedModel(encoder, estimator.fit(rows), {}), folder / "m.skops")
        return members(folder / "m.skops")

    return write


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def alterations(array, number):
    """Half of the possible alterations, to save time; the half depends on `number`."""
    return list(all_alterations(array))[number % 2 :: 2]


def all_alterations(array):
    """Yield the names of changes of shape, type or values, and the changed arrays."""
    yield "shorter", array[:-1]
    yield "longer", np.concatenate([array, array[:1]])
    if array.ndim == 2:
        yield "narrower", array[:, :-1]
        yield "flat", array.ravel()
    if array.ndim == 1:
        yield "text", array.astype("U8")
    else:
        yield "complex", array.astype(complex)
    if array.dtype.kind == "f":
        yield "NaN", np.where(np.arange(array.size).reshape(array.shape), array, np.nan)


def refuses(path, content):
    path.write_bytes(content)
    try:
        load_model(path)
    except ModelFileError as error:
        assert "is damaged" in str(error)  # noqa: PT017
        return True
    return False


# Arrays whose number of rows or columns is arbitrary.
FREE = ("history_", "landmark_indices_", "eigenvalues", "eigenvalues_", "indices")
# Arrays that prediction does not use.
UNUSED = ("landmarks", "_ranks")


@pytest.mark.filterwarnings("ignore:.*kernel is far from positive definite")
@pytest.mark.filterwarnings("ignore:.*rows have no similarity to the others")
@pytest.mark.parametrize("name", FITS)
def test_altered_arrays_are_refused(name, members_of, tmp_path):
    original = members_of(name)
    free, unused = (members_with(original, names) for names in (FREE, UNUSED))
    path = tmp_path / "m.skops"
    assert not refuses(path, pack(original))
    count = 0
    shift = list(FITS).index(name)
    for number, (member, content) in enumerate(original.items(), shift):
        if not member.endswith(".npy") or member in unused:
            continue
        array = np.load(io.BytesIO(content))
        if array.ndim == 0 or not array.size:
            continue
        for change, altered in alterations(array, number):
            if member in free and change in ("shorter", "longer", "narrower"):
                continue
            file = pack({**original, member: npy(altered)})
            assert refuses(path, file), f"{change}: {array.shape} {array.dtype}"
            count += 1
    assert count > 10


def members_with(original, names):
    """Names of the members that contain the arrays with the given names."""
    schema = json.loads(original["schema.json"])
    found = set()

    def visit(node, name=""):
        if isinstance(node, dict):
            if name in names and "file" in node:
                found.add(node["file"])
            for key, value in node.items():
                visit(value, key if key != "content" else name)
        elif isinstance(node, list):
            for value in node:
                visit(value, name)

    visit(schema)
    return found


@pytest.mark.parametrize("name", ["LeadersKernelKMeans", "DiffusionKernelKMeans"])
def test_indices_out_of_range_are_refused(name, members_of, tmp_path):
    original = members_of(name)
    refused = 0
    for member, content in original.items():
        if not member.endswith(".npy"):
            continue
        array = np.load(io.BytesIO(content))
        if array.dtype.kind == "i" and array.size:
            for index in (-1, 10**6):
                altered = array.copy()
                altered.flat[-1] = index
                file = pack({**original, member: npy(altered)})
                refused += refuses(tmp_path / "m.skops", file)
    assert refused >= 2


def test_attributes_of_another_type_are_refused_or_unused(members_of, tmp_path):
    """Each number or text in the schema is replaced by a value of another type."""
    original = members_of("laplacian")
    schema = json.loads(original["schema.json"])
    nodes = list(json_nodes(schema))
    contents = itertools.cycle(("null", "[]", '"text"', "-1", "1e999", "{}", "2.5"))
    refused = 0
    for node in nodes:
        before = node["content"]
        node["content"] = next(contents)
        changed = {**original, "schema.json": json.dumps(schema).encode()}
        if refuses(tmp_path / "m.skops", pack(changed)):
            refused += 1
        else:
            use_model(pack(changed), tmp_path)  # requires exit code 0 or 2
        node["content"] = before
    # Other changes have no effect: skops reads only one of several nodes with equal id.
    assert refused > 0.3 * len(nodes) > 15


def json_nodes(state):
    if isinstance(state, dict):
        if state.get("__loader__") == "JsonNode":
            yield state
        state = list(state.values())
    if isinstance(state, list):
        for inner in state:
            yield from json_nodes(inner)


def test_an_altered_vocabulary_is_refused(tmp_path):
    images = np.random.default_rng(0).random((6, 20, 20))
    pyramid = SpatialPyramid(4, 2, random_state=0)
    model = ApproxKernelKMeans(2, kernel="intersection", random_state=0)
    model.fit(pyramid.fit_transform(images))
    pyramid.vocabulary_ = pyramid.vocabulary_[:, :100]
    save_model(SavedModel(pyramid, model, {}), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.columns_[0].pop("scale"),
        lambda e: e.columns_[0].update(scale=0.0),
        lambda e: e.columns_[0].update(mean=None),
        lambda e: e.columns_[0].update(kind="list"),
        lambda e: e.columns_[1].update(values=["a", 3]),
        lambda e: e.columns_[1].update(values=["a", "a"]),
        lambda e: e.columns_.pop(),
        lambda e: e.feature_names_.reverse(),
        lambda e: setattr(e, "missing", "never"),
        lambda e: setattr(e, "drop", 3),
        lambda e: setattr(e, "ignored_", [3]),
        lambda e: delattr(e, "notes_"),
    ],
)
def test_an_altered_encoder_is_refused(change, tmp_path):
    (tmp_path / "x.csv").write_text("x,y\n" + "1,a\n2,b\n3,b\n" * 9)
    table = open_table(str(tmp_path / "x.csv"))
    encoder = TableEncoder()
    model = ApproxKernelKMeans(2, random_state=0).fit(encoder.fit_transform(table))
    encoder.require_valid()
    change(encoder)
    save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize(
    "entry", [{"width": 2}, {"columns": np.array([1, 0])}, {"scale": np.zeros(3)}]
)
def test_an_altered_encoder_of_sparse_tables_is_refused(entry, tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(X[:, :3]))
    table = open_table(str(tmp_path / "x.npz"))
    encoder = TableEncoder()
    model = ApproxKernelKMeans(2, random_state=0).fit(encoder.fit_transform(table))
    encoder.require_valid()
    encoder.matrix_.update(entry)
    save_model(SavedModel(encoder, model, {}), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(tmp_path / "m.skops")


def test_descriptions_that_commands_cannot_print_are_refused(members_of, tmp_path):
    original = members_of("ApproxKernelKMeans")
    header = json.loads(original["akkm.json"])
    entries = {"rows": "many", "sizes": 3, "notes": [3], "scores": {"nmi": "x"}}
    for name, value in entries.items():
        changed = json.dumps({**header, "about": {name: value}}).encode()
        assert refuses(tmp_path / "m.skops", pack({**original, "akkm.json": changed}))
    encoder = TableEncoder().fit(open_table(str(saved_rows(tmp_path))))
    model = ApproxKernelKMeans(3, random_state=0).fit(X)
    with pytest.raises(ModelFileError, match=r"about\['rows'\] is 'many'"):
        save_model(SavedModel(encoder, model, {"rows": "many"}), tmp_path / "n.skops")


def saved_rows(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"
