"""Valid files of each format, functions that read them, and random changes."""

import gzip
import io
import json
import tempfile
import traceback
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
from click.testing import CliRunner
from scipy import sparse

import akkm
from akkm import open_rows
from akkm.cli._app import app
from akkm.cli._labels import read_labels
from akkm.model_file import ModelFileError, SavedModel, _archive, load_model, save_model
from akkm.tables import TableEncoder, TableError, open_table

SOURCE = str(Path(akkm.__file__).parent)


@dataclass(frozen=True)
class Target:
    """A format: valid files, and a function that reads a file with given content."""

    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes, Path], None]


def is_own(error: BaseException) -> bool:
    """Whether an exception is an error that akkm itself raises, with a message."""
    if not str(error):
        return False
    if isinstance(error, TableError | ModelFileError):
        return True
    *_, frame = traceback.extract_tb(error.__traceback__)
    return isinstance(error, ValueError) and frame.filename.startswith(SOURCE)


def attempt(read, *args) -> None:
    """Call a function; ignore errors that akkm itself raises."""
    try:
        read(*args)
    except Exception as error:
        if not is_own(error):
            raise


def numbers(n: int = 24) -> np.ndarray:
    return np.random.default_rng(0).random((n, 3)).round(3)


def table() -> pa.Table:
    """A small table with columns of all kinds."""
    n = 24
    columns = {
        "x": numbers(n)[:, 0],
        "whole": pa.array(range(n), pa.int16()),
        "color": pa.array(["red", "green", None] * (n // 3)),
        "kind": pa.array(["a", "b"] * (n // 2)).dictionary_encode(),
        "flag": pa.array([True, False] * (n // 2)),
        "day": pa.array(range(n), pa.date32()),
        "long": pa.array(["é"] * n, pa.large_string()),
        "list": pa.array([[1, 2]] * n),
        "cluster": pa.array([0, 1] * (n // 2)),
    }
    return pa.table(columns)


def read_table(path: Path) -> None:
    """Encode all columns that can be encoded, in memory and on disk."""
    opened = open_table(str(path))
    drop = [column.name for column in opened.columns if column.kind == "other"]
    encoder = TableEncoder(missing="mean", drop=drop[:100])
    encoded = encoder.fit(opened).encode(opened)
    encoder.describe()
    encoder.original(encoded.X[:2])
    on_disk = encoder.encode(open_table(str(path)), 1.0)
    on_disk.X[:]


def read_rows(path: Path) -> None:
    open_rows(path)[:]


def reader(suffix: str, *functions: Callable[[Path], object]):
    """Return a function that writes bytes to a file and reads it in several ways."""

    def read(data: bytes, folder: Path) -> None:
        ending = ".npz" if suffix == ".npy" and data[:2] == b"PK" else suffix
        path = folder / f"x{ending}"
        path.write_bytes(data)
        for function in functions:
            if function is not read_rows or ending != ".npz":
                attempt(function, path)

    return read


def csv_seeds() -> list[bytes]:
    sink = io.BytesIO()
    pa.csv.write_csv(table().drop_columns(["list"]), sink)
    text = sink.getvalue()
    empty = b"a,b\n,1\n,\n3,x\n"
    return [text, gzip.compress(text), b"\n\n" + text.replace(b"\n", b"\r\n"), empty]


def npy_seeds() -> list[bytes]:
    files = []
    for array in (numbers(), np.asfortranarray(numbers()).astype(">f4"), numbers() > 1):
        files.append(io.BytesIO())
        np.save(files[-1], array)
    for X in map(sparse.csr_array, (numbers() > 0.5, numbers())):
        for form in ("csr", "csc", "coo", "bsr", "dia"):
            files.append(io.BytesIO())
            sparse.save_npz(files[-1], X.asformat(form), compressed=form == "csr")
    files.append(io.BytesIO())
    np.savez_compressed(files[-1], numbers())
    return [file.getvalue() for file in files]


def libsvm_seeds() -> list[bytes]:
    lines = [
        f"{i % 2} " + " ".join(f"{j}:{x}" for j, x in enumerate(row, 1))
        for i, row in enumerate(numbers())
    ]
    text = "\n".join(lines).encode()
    return [text, gzip.compress(text), b"1 qid:3 1:2 # comment\n0,1 2:1\n"]


def arrow_seeds() -> list[bytes]:
    files = []
    for compression in ("uncompressed", "lz4", "zstd"):
        files.append(io.BytesIO())
        pa.feather.write_feather(table(), files[-1], compression, chunksize=16)
    plain = pa.table({"a": numbers()[:, 0], "b": numbers()[:, 1]})
    for new, content in ((pa.ipc.new_file, plain), (pa.ipc.new_stream, table())):
        files.append(io.BytesIO())
        with new(files[-1], content.schema) as writer:
            writer.write_table(content, 16)
    return [file.getvalue() for file in files]


@cache
def models() -> list[dict[str, bytes]]:
    """The members of model files of different estimators and kernels."""
    X = numbers().astype(np.float32)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        data, path = Path(folder, "x.npy"), Path(folder, "m.skops")
        np.save(data, X)
        encoder = TableEncoder(scale="minmax").fit(open_table(str(data)))
        for estimator, rows in (
            (akkm.ApproxKernelKMeans(3, kernel="laplacian", n_landmarks=9), X),
            (akkm.ApproxKernelKMeans(3, kernel="intersection"), sparse.csr_array(X)),
            (akkm.ApproxKernelKMeans(3, kernel="sigmoid", n_landmarks=9), X),
            (akkm.EnsembleKernelKMeans(3, n_members=2, n_landmarks=6), X),
            (akkm.LeadersKernelKMeans(3, n_leaders=9), X),
            (akkm.NystroemSpectralClustering(3, n_landmarks=9), X),
            (akkm.DiffusionKernelKMeans(2), X),
            (akkm.SparseKernelKMeans(2), sparse.csr_array(X)),
            (akkm.ConsensusKernelKMeans(2, n_members=2), X),
        ):
            estimator.set_params(random_state=0).fit(rows)
            about = {"data": "x.npy", "rows": 24, "sizes": [8, 8, 8], "notes": ["n"]}
            save_model(SavedModel(encoder, estimator, about), path)
            with zipfile.ZipFile(path) as archive:
                found.append({name: archive.read(name) for name in archive.namelist()})
    return found


def pack(members: dict[str, bytes]) -> bytes:
    """A model file with these members; its checksum is valid if the header is JSON."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            if name != "akkm.json":
                archive.writestr(name, content)
        header = members.get("akkm.json", b"")
        try:
            fields = json.loads(header)
            fields.pop("sha256", None)
            fields["sha256"] = _archive.checksum(archive, fields)
            header = json.dumps(fields).encode()
        except (ValueError, AttributeError, TypeError, RecursionError):
            pass
        archive.writestr("akkm.json", header)
    return file.getvalue()


def edited_model(data: bytes) -> bytes:
    """Return a model file after the edits that are encoded in `data`.

    The first byte chooses a model. Each edit then consists of a member, a place, the
    number of bytes to remove there, and the text to insert, preceded by its length. The
    edited file has a valid checksum.
    """
    all_models = models()
    members = dict(all_models[data[0] % len(all_models)]) if data else {}
    names, at = list(members), 1
    while at + 5 <= len(data) and names:
        member, place, cut, size = (
            data[at], int.from_bytes(data[at + 1 : at + 3]), data[at + 3], data[at + 4]
        )  # fmt: skip
        text, at = data[at + 5 : at + 5 + size % 32], at + 5 + size % 32
        name = names[member % len(names)]
        old = members[name]
        place %= len(old) + 1
        members[name] = old[:place] + text + old[place + cut % 64 :]
    return pack(members)


def model_seeds() -> list[bytes]:
    return [bytes([i]) for i in range(len(models()))] + [bytes([0, 3, 0, 9, 1, 1, 7])]


def read_model_edits(data: bytes, folder: Path) -> None:
    use_model(edited_model(data), folder)


def use_model(data: bytes, folder: Path) -> None:
    """Load a model; run `info` and `predict` with it. Both must exit with 0 or 2."""
    model, rows = folder / "m.skops", folder / "new.npy"
    model.write_bytes(data)
    try:
        load_model(model)
    except ModelFileError:
        return
    if not rows.exists():
        np.save(rows, numbers(5))
    predict = ["predict", str(model), str(rows), "--labels", str(folder / "l.csv")]
    for command in (["info", str(model)], [*predict, "--threads", "1"]):
        result = CliRunner().invoke(app, ["--debug", *command])
        code = result.exit_code
        assert code in (0, 2), f"{command[0]} exits with {code}: {result.stderr}"


TARGETS = {
    "csv": Target(csv_seeds, reader(".csv", read_table, lambda p: read_labels(str(p)))),
    "npy": Target(npy_seeds, reader(".npy", read_table, read_rows)),
    "libsvm": Target(libsvm_seeds, reader(".svm", read_table)),
    "arrow": Target(
        arrow_seeds,
        reader(".arrow", read_table, read_rows, lambda p: read_labels(str(p))),
    ),
    "model": Target(model_seeds, read_model_edits),
}


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes after some were changed, deleted, inserted or repeated."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(len(changed) + 1))
        size = int(rng.integers(1, 9))
        match rng.integers(6):
            case 0 if place < len(changed):
                changed[place] ^= 1 << int(rng.integers(8))
            case 1:
                del changed[place : place + size]
            case 2:
                changed[place:place] = rng.bytes(size)
            case 3:
                changed[place : place + size] = rng.choice(
                    [b"\xff" * size, b"\0" * size, b"\x7f" + b"\xff" * (size - 1)]
                )
            case 4:
                changed[place:place] = changed[place : place + 20 * size]
            case 5 if rng.random() < 0.2:
                del changed[place:]
    return bytes(changed)
