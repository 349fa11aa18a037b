"""Random data files: tables in all formats, some of them strange or damaged."""

import gzip
import io
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.csv
from pyarrow import feather, parquet
from scipy import sparse

ENDINGS = [".csv"] * 6 + [".csv.gz", ".parquet", ".parquet", ".arrow", ".feather"]
ENDINGS += [".npy", ".npz", ".libsvm", ".svm", "folder"]


def write_table(random, path, wrong):
    """Write a random table to `path`, whose ending gives the format.

    The higher `wrong` is, the more mistakes the table has, such as strange columns.
    """
    rng = np.random.default_rng(random.randrange(2**32))
    table = draw_table(random, rng, wrong)
    name = path.name
    if name.endswith((".csv", ".gz")):
        data = _csv(random, table, wrong)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    elif name.endswith(".parquet"):
        size = random.choice([7, 1000])
        parquet.write_table(table, path, row_group_size=size)
    elif name.endswith((".arrow", ".feather")):
        kind = random.choice(["uncompressed", "lz4", "zstd"])
        feather.write_feather(table, path, compression=kind, chunksize=16)
    elif name.endswith(".npy"):
        np.save(path, _array(random, rng), allow_pickle=True)
    elif name.endswith(".npz"):
        _write_npz(random, rng, path)
    elif name.endswith("folder"):
        path.mkdir()
        parquet.write_table(table, path / "a.parquet")
        other = table if random.random() < 0.7 else draw_table(random, rng, wrong)
        parquet.write_table(other, path / "b.parquet")
    else:
        path.write_bytes(_libsvm(random, rng))
    if random.random() < 2 * wrong and path.is_file():
        path.write_bytes(damaged(random, path.read_bytes()))


def draw_table(random, rng, wrong):
    """Draw a table of numbers and text; if `wrong` > 0, also with strange columns."""
    n = random.choice([30, 60, 100])
    if random.random() < 2 * wrong:
        n = random.choice([0, 1, 2, 5, 12])
    numbers = random.choice([1, 2, 3, 4]) if random.random() > wrong else 0
    columns = {f"x{j}": rng.normal(size=n) for j in range(numbers)}
    for _ in range(random.choice([0, 1, 2])):
        kind = random.choice(sorted(_COLUMNS) if wrong else USUAL)
        columns[random.choice(_NAMES)] = _COLUMNS[kind](n, random, rng)
    columns = {name: _as_array(values) for name, values in columns.items()}
    if random.random() < wrong:
        columns = {name: _with_missing(v, rng) for name, v in columns.items()}
    return pa.table(columns)


USUAL = ["integers", "scaled", "flags", "colors", "scripts", "constant"]
USUAL += ["formulas", "categories", "half", "large integers"]
_NAMES = ["name", "color", "a,b", "=1+1", "x" * 300, "", " ", "0", "row", "cluster"]
_NAMES += ["zażółć", 'quo"te', "new\nline", "x0 ", "id", "label", "<b>bold</b>", "💥"]


def _text(*values):
    return lambda n, random, rng: rng.choice(values, n).tolist()


_COLUMNS = {
    "integers": lambda n, random, rng: rng.integers(-5, 5, n),
    "large integers": lambda n, random, rng: 2**62 + rng.integers(0, 9, n),
    "small": lambda n, random, rng: rng.normal(size=n) * 1e-300,
    "large": lambda n, random, rng: rng.normal(size=n) * 1e300,
    "scaled": lambda n, random, rng: (
        rng.normal(size=n) * 10.0 ** random.uniform(-8, 12)
    ),
    "not finite": lambda n, random, rng: rng.choice([1.0, np.inf, np.nan], n),
    "constant": lambda n, random, rng: np.ones(n),
    "flags": lambda n, random, rng: rng.random(n) < 0.5,
    "keys": lambda n, random, rng: [f"k{i}" for i in range(n)],
    "colors": _text("red", "green", "blue"),
    "formulas": _text("=1+1", "+2", "-3", "@x", "=cmd|' /C calc'!A0"),
    "scripts": _text("<script>alert(1)</script>", "&amp;", "'\"`"),
    "money": _text("$1,234.50", "$7.00", "€ 3"),
    "percentages": _text("10%", "20 %"),
    "yes and no": _text("yes", "no", "YES"),
    "long text": _text("word " * 200, "w" * 5000, ""),
    "unicode": _text("é", "e\u0301", "\u202e", "\ufeff", "日本", "\u0000x"),
    "dates as text": _text("2020-01-01", "2021-02-30", "yesterday"),
    "mixed": _text("1", "2.5", "three", "1e400", "0x10", "nan", "1_000"),
    "empty": lambda n, random, rng: pa.nulls(n),
    "empty text": _text(""),
    "dates": lambda n, random, rng: pa.array(
        rng.integers(0, 9, n).astype(np.int32), pa.date32()
    ),
    "times": lambda n, random, rng: pa.array(rng.integers(0, 9, n), pa.timestamp("s")),
    "durations": lambda n, random, rng: pa.array(
        rng.integers(0, 9, n), pa.duration("s")
    ),
    "lists": lambda n, random, rng: pa.array([[1.0, 2.0]] * n, pa.list_(pa.float64())),
    "records": lambda n, random, rng: pa.array(
        [{"a": 1}] * n, pa.struct([("a", pa.int64())])
    ),
    "decimals": lambda n, random, rng: pa.array(range(n), pa.decimal128(20, 2)),
    "bytes": lambda n, random, rng: pa.array([b"\xff\x00"] * n, pa.binary()),
    "half": lambda n, random, rng: rng.random(n).astype(np.float16),
    "categories": lambda n, random, rng: pa.array(
        rng.choice(["a", "b"], n).tolist(), pa.string()
    ).dictionary_encode(),
}


def _as_array(values):
    return values if isinstance(values, pa.Array) else pa.array(values)


def _with_missing(values, rng):
    if pa.types.is_null(values.type) or pa.types.is_dictionary(values.type):
        return values
    kept = rng.random(len(values)) > 0.1
    return pa.array(
        [v if k else None for v, k in zip(values.to_pylist(), kept, strict=True)],
        values.type,
    )


def _csv(random, table, wrong):
    """Return CSV bytes, perhaps with a strange delimiter or encoding, or a mistake."""
    columns = {}
    for name, values in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
            values = pa.array([str(v) for v in values.to_pylist()])
        if pa.types.is_dictionary(values.type):
            values = values.cast(pa.string())
        if pa.types.is_float16(values.type):
            values = values.cast(pa.float32())
        columns[name] = values
    stream = io.BytesIO()
    delimiter = random.choice(";\t| ") if random.random() < wrong else ","
    header = random.random() > wrong / 2
    options = pa.csv.WriteOptions(include_header=header, delimiter=delimiter)
    pa.csv.write_csv(pa.table(columns), stream, options)
    data = stream.getvalue()
    if random.random() < 2 * wrong:
        data = random.choice(_CSV_CHANGES)(data)
    return data


_CSV_CHANGES = [
    lambda data: data.replace(b"\n", b"\r\n"),
    lambda data: data.replace(b"\n", b"\r"),
    lambda data: b"\xef\xbb\xbf" + data,
    lambda data: data.decode().encode("utf-16"),
    lambda data: data.decode().encode("latin-1", "replace") + b"\xe9,\xe9\n",
    lambda data: data + b'"never closed\n1,2,3\n',
    lambda data: data + b"1\n1,2,3,4,5,6,7,8,9\n",
    lambda data: data + b",,,,\n" * 5,
    lambda data: data + b"\n\n\n",
    lambda data: data.replace(b",", b",,"),
    lambda data: data.replace(b"1", b"\x00"),
    lambda data: data.replace(b".", b","),
    lambda data: data.split(b"\n")[0] + b"\n",
    lambda data: b"\n" + data,
    lambda data: b"# comment\n" + data,
    lambda data: data.rstrip(b"\n"),
    lambda data: b'"' + data,
]


def _array(random, rng):
    n, d = random.choice([0, 1, 5, 30, 60]), random.choice([0, 1, 2, 3])
    X = rng.normal(size=(n, d))
    return random.choice(
        [
            X,
            X,
            X.astype(np.float32),
            np.asfortranarray(X),
            X.astype(">f8"),
            X.astype(int),
            X > 0,
            X.astype(np.float16),
            X.astype(np.longdouble),
            X[:, :1].ravel(),
            X[None],
            X + 1j,
            X.astype(object),
            X.astype(str),
            X * np.nan,
            np.array(3.0),
            np.zeros(n, dtype=[("a", float), ("b", int)]),
            np.zeros((n, 2), dtype="datetime64[s]"),
        ]
    )


def _write_npz(random, rng, path):
    X = rng.normal(size=(random.choice([1, 30]), 3)) * (rng.random(3) < 0.6)
    S = sparse.csr_array(X)
    kind = random.choice(["csr", "csr", "csc", "coo", "dense", "two", "wrong", "large"])
    if kind in ("csr", "csc", "coo"):
        sparse.save_npz(path, S.asformat(kind))
    elif kind == "dense":
        np.savez(path, X=X)
    elif kind == "two":
        np.savez(path, X=X, y=np.zeros(len(X)))
    else:
        indptr, indices, shape = S.indptr, S.indices, np.array(S.shape)
        if kind == "large":
            shape = np.array([2, 2**40])
        else:
            indices = indices + random.choice([-1, 5, 10**6])
        np.savez(
            path,
            format=b"csr",
            data=S.data,
            indices=indices,
            indptr=indptr,
            shape=shape,
        )


def _libsvm(random, rng):
    lines = []
    for _ in range(random.choice([0, 1, 20, 40])):
        pairs = [f"{j + 1}:{rng.normal():.3f}" for j in range(4) if rng.random() < 0.7]
        lines.append(" ".join([str(rng.integers(2)), *pairs]))
    if random.random() < 0.4:
        lines.append(random.choice(_LIBSVM_LINES))
    return ("\n".join(lines) + "\n").encode()


_LIBSVM_LINES = ["1 0:1", "1 -3:1", "1 2147483648:1", f"1 {10**20}:1", "1 a:b"]
_LIBSVM_LINES += ["1 1:1 1:2", "1 3:1 1:2", "1 1:nan", "1 1:1e999", "# only a comment"]
_LIBSVM_LINES += ["1 1:1 # comment", "1 qid:3 1:1", "1,2 1:1", "x 1:1", "1 1:"]
_LIBSVM_LINES += ["1 200000000:1"]


def damaged(random, data):
    """Return the bytes after some were removed, changed or appended."""
    kind = random.choice(["cut", "flip", "flip", "zeros", "junk", "empty", "garbage"])
    data = bytearray(data)
    if kind == "cut":
        return bytes(data[: random.randrange(len(data) + 1)])
    if kind == "flip":
        for _ in range(random.choice([1, 3, 20])):
            if data:
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    if kind == "zeros" and data:
        start = random.randrange(len(data))
        data[start : start + 16] = bytes(len(data[start : start + 16]))
    if kind == "junk":
        data += random.randbytes(40)
    if kind == "empty":
        return b""
    if kind == "garbage":
        return random.randbytes(2000)
    return bytes(data)


def write_labels(random, path, wrong):
    """Write a label file as `akkm cluster --labels` does, perhaps with mistakes."""
    n = random.choice([0, 1, 3]) if random.random() < wrong else 20
    rng = np.random.default_rng(random.randrange(2**32))
    key = random.choice(["row", "id", "name"]) if random.random() < wrong else "row"
    table = {key: np.arange(n), "cluster": rng.integers(0, 4, n)}
    if random.random() < 3 * wrong:
        name = random.choice([key, "cluster", "distance", ""])
        strange = _COLUMNS[random.choice(sorted(_COLUMNS))](n, random, rng)
        table[name] = strange
    if random.random() < wrong:
        del table[random.choice(sorted(table))]
    columns = {name: _as_array(values) for name, values in table.items()}
    if random.random() < wrong:
        columns = {name: _with_missing(v, rng) for name, v in columns.items()}
    whole = pa.table(columns)
    if path.name.endswith(".csv"):
        path.write_bytes(_csv(random, whole, wrong))
    else:
        parquet.write_table(whole, path)
    if random.random() < wrong:
        path.write_bytes(damaged(random, path.read_bytes()))


def write_images(random, folder):
    """Write a folder with tiny images, some of them damaged, and with other files."""
    rng = np.random.default_rng(random.randrange(2**32))
    folder.mkdir()
    for i in range(random.choice([0, 1, 3, 6])):
        shape = random.choice([(24, 24), (40, 30), (1, 1), (33, 7)])
        pixels = rng.integers(0, 256, shape).astype(np.uint8)
        data = _png(pixels)
        if random.random() < 0.3:
            data = damaged(random, data)
        ending = random.choice([".png", ".png", ".jpg", ".PNG"])
        (folder / f"{i}{ending}").write_bytes(data)
    if random.random() < 0.3:
        (folder / "notes.txt").write_text("not an image")
    if random.random() < 0.2:
        (folder / "sub").mkdir()
        (folder / "sub" / "deep.png").write_bytes(_png(np.zeros((30, 30), np.uint8)))


def _png(pixels):
    """Return a grey image in the PNG format."""

    def chunk(kind, data):
        check = zlib.crc32(kind + data).to_bytes(4)
        return len(data).to_bytes(4) + kind + data + check

    height, width = pixels.shape
    size = width.to_bytes(4) + height.to_bytes(4)
    lines = b"".join(b"\x00" + line.tobytes() for line in pixels)
    parts = [
        chunk(b"IHDR", size + b"\x08\x00\x00\x00\x00"),
        chunk(b"IDAT", zlib.compress(lines)),
        chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
