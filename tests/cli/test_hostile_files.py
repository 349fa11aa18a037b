"""Small files that would need gigabytes are refused before memory is used up."""

import bz2
import gzip
import json
import re
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest
from scipy import sparse

# Limit on the peak memory of a refused run, in MB. Importing all libraries takes half
# of this memory.
MOST = 500


def commas(path):
    path.write_bytes(gzip.compress(b"," * 4_000_000))


def many_columns(path):
    rows = [",".join(f"{i + j}" for i in range(20_000)) for j in range(5)]
    path.write_text("\n".join(rows))


def endless_rows(path):
    block = bz2.compress(b"1,2\n" * 2**20)
    path.write_bytes(bz2.compress(b"a,b\n") + block * 100)


def wide_matrix(path):
    places = np.array([0, 5]), np.array([0, 1, 2])
    sparse.save_npz(path, sparse.csr_array((np.ones(2), *places), shape=(2, 2**40)))


def tall_matrix(path):
    places = np.array([0, 5]), np.array([0, 1])
    sparse.save_npz(path, sparse.coo_array((np.ones(2), places), shape=(2**33, 2)))


def zipped_zeros(path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**25, 2)}
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x.npy", "w", force_zip64=True) as file,
    ):
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(2**5):
            file.write(bytes(2**24))


def high_index(path):
    path.write_text("1 1:2 200000000:3\n0 1:1\n")


def endless_line(path):
    with gzip.open(path, "wb") as file:
        file.write(b"1 1:2 ")
        for _ in range(2**5):
            file.write(b"3" * 2**23)


def large_member(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("akkm.json", "{}")
        archive.writestr("schema.json", "{}")
        with archive.open("a.npy", "w", force_zip64=True) as file:
            for _ in range(2**5):
                file.write(bytes(2**24))


def large_picture(path):
    """Write a folder with one PNG: 16,000 x 16,000 black pixels, 1.1 MB."""
    path.mkdir()
    packer = zlib.compressobj(1)
    rows = [packer.compress(bytes(16_001 * 1000)) for _ in range(16)]
    header = struct.pack(">IIBBBBB", 16_000, 16_000, 8, 0, 0, 0, 0)
    parts = (
        (b"IHDR", header),
        (b"IDAT", b"".join(rows) + packer.flush()),
        (b"IEND", b""),
    )
    png = b"\x89PNG\r\n\x1a\n"
    for kind, data in parts:
        check = struct.pack(">I", zlib.crc32(kind + data))
        png += struct.pack(">I", len(data)) + kind + data + check
    (path / "large.png").write_bytes(png)


COLUMNS = r"more than 10,000 columns; .* set the environment variable AKKM_MAX_COLUMNS"
SPARSE = r"more than 1,000,000 columns; .* AKKM_MAX_COLUMNS"
RATIO = r"more than 200 times its size when unpacked; .* AKKM_MAX_RATIO"
PIXELS = r"more than 120,000,000 pixels; .* AKKM_MAX_PIXELS"
PLAN, INFO = ("plan", "-k", "2"), ("info",)
IMAGES = ("images", "-k", "2", "--unreadable", "error")
HOSTILE = {
    "x.csv.gz": (commas, PLAN, COLUMNS),
    "wide.csv": (many_columns, PLAN, COLUMNS),
    "x.csv.bz2": (endless_rows, PLAN, RATIO),
    "wide.npz": (wide_matrix, PLAN, SPARSE),
    "tall.npz": (tall_matrix, PLAN, RATIO),
    "zeros.npz": (zipped_zeros, PLAN, RATIO),
    "x.svm": (high_index, PLAN, SPARSE),
    "x.svm.gz": (endless_line, PLAN, RATIO),
    "m.skops": (large_member, INFO, RATIO),
    "pictures": (large_picture, IMAGES, PIXELS),
}


# This program imports akkm once. Then it runs each command in a child process of its
# own, and prints exit code, messages and peak memory of each run.
PROGRAM = """
import json, os, pathlib, re, sys, tempfile
from akkm.cli import main
import akkm.cli._app, akkm.images, pyarrow.csv

def run(command, out):
    os.dup2(out, 2)
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as end:
        status = pathlib.Path("/proc/self/status").read_text()
        peak = int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
        os.write(out, f"{end.code} {peak // 1024}".encode())
    os._exit(0)

for command in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile() as out:
        child = os.fork()
        if not child:
            run(command, out.fileno())
        os.waitpid(child, 0)
        out.seek(0)
        print(json.dumps(out.read().decode()))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Exit code, messages and peak memory in MB of a command for each hostile file."""
    folder = tmp_path_factory.mktemp("hostile")
    commands = []
    for name, (make, (command, *options), _) in HOSTILE.items():
        path = folder / name
        make(path)
        assert path.is_dir() or path.stat().st_size < 3 * 2**20
        commands.append([command, str(path), *options])
    words = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    found = {}
    for name, line in zip(HOSTILE, done.stdout.splitlines(), strict=True):
        text, _, last = json.loads(line).rpartition("\n")
        code, memory = map(int, last.split())
        found[name] = code, text, memory
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
@pytest.mark.parametrize("name", HOSTILE)
def test_small_files_cannot_exhaust_memory(name, runs):
    code, text, memory = runs[name]
    assert code == 2, text
    *progress, text = text.splitlines()
    assert all(re.fullmatch(r"akkm: \w+(, .+)? \(\d+ s\)", line) for line in progress)
    assert memory < MOST
    assert re.search(HOSTILE[name][2], text), text


def test_users_can_raise_a_limit(tmp_path, monkeypatch):
    from akkm.tables import TableError, open_table

    path = tmp_path / "x.csv"
    path.write_text(",".join(f"c{i}" for i in range(200)) + "\n" + "1," * 199 + "1\n")
    monkeypatch.setenv("AKKM_MAX_COLUMNS", "100")
    with pytest.raises(TableError, match="more than 100 columns"):
        open_table(str(path))
    monkeypatch.setenv("AKKM_MAX_COLUMNS", "200")
    assert len(open_table(str(path)).columns) == 200
    monkeypatch.setenv("AKKM_MAX_COLUMNS", "many")
    with pytest.raises(ValueError, match="AKKM_MAX_COLUMNS is 'many'; expected a pos"):
        open_table(str(path))
