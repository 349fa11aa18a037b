"""Measure `akkm cluster` on a folder of Parquet files that exceed the memory limit.

The benchmark writes Parquet files with columns of numbers and a column of words, in row
groups of 100,000 rows. It clusters the folder in a new process, and prints the size of
the folder, the time and the peak memory. Then it clusters the first file twice, once
with its rows in memory and once with its rows on disk, and compares the labels. To run
it with 8 GB of files::

    python -m experiments.benchmarks.large_folder /tmp/large --gigabytes 8
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP, GROUPS = 100_000, 10  # rows per row group, row groups per file
NUMBERS, CLUSTERS = 30, 8  # columns of numbers, clusters
_WORDS = np.array([f"word {i}" for i in range(12)])


def write_part(path: Path, number: int) -> None:
    """Write one file: Gaussian clusters, and words that depend on the cluster."""
    rng = np.random.default_rng([0, number])
    points = np.random.default_rng(0).normal(scale=2.0, size=(CLUSTERS, NUMBERS))
    writer = None
    for _ in range(GROUPS):
        kind = rng.integers(CLUSTERS, size=GROUP)
        X = points[kind] + rng.normal(size=(GROUP, NUMBERS))
        words = _WORDS[(kind + rng.integers(4, size=GROUP)) % len(_WORDS)]
        columns = {f"x{j}": X[:, j] for j in range(NUMBERS)}
        table = pa.table({**columns, "word": words, "kind": kind.astype(np.int8)})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def write_folder(folder: Path, gigabytes: float) -> int:
    """Write files until they have this total size; return the actual size in bytes.

    Files that exist are not written again. Files beyond this size are deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    size, number = 0, 0
    while size < gigabytes * 1e9:
        path = folder / f"part-{number:04}.parquet"
        if not path.exists():
            write_part(path.with_suffix(".incomplete"), number)
            path.with_suffix(".incomplete").rename(path)
        size, number = size + path.stat().st_size, number + 1
    for path in folder.glob("part-*.parquet"):
        if int(path.stem[5:]) >= number:
            path.unlink()
    return size


def cluster(data: Path, labels: Path, *options: str) -> tuple[float, float]:
    """Run `akkm cluster`; return its time in seconds and its peak memory in bytes."""
    command = [sys.executable, "-m", "akkm.cli", "cluster", str(data), "-k"]
    command += [str(CLUSTERS), "--label", "kind", "--labels", str(labels), *options]
    started = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    return time.perf_counter() - started, used.ru_maxrss * 1024


def main() -> None:
    """Measure the whole folder, then compare the labels of its first file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for the files")
    parser.add_argument(
        "--gigabytes", type=float, default=8.0, help="total size of the files"
    )
    parser.add_argument("--memory", default="1024", help="akkm's memory limit, in MB")
    given = parser.parse_args()
    size = write_folder(given.folder, given.gigabytes)
    files = sorted(given.folder.glob("part-*.parquet"))
    rows = len(files) * GROUP * GROUPS
    print(f"{len(files)} files, {rows:,} rows, {size / 1e9:.2f} GB", flush=True)
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        labels = Path(temporary, "labels.parquet")
        seconds, peak = cluster(given.folder, labels, "--memory", given.memory)
        print(f"all rows: {seconds:.0f} s, peak memory {peak / 1e9:.2f} GB", flush=True)
        found = []
        for memory in ("150", "100000"):
            seconds, peak = cluster(files[0], labels, "--memory", memory, "--quiet")
            found.append(pq.read_table(labels, columns=["cluster"]))
            where = "on disk" if memory == "150" else "in memory"
            print(
                f"{files[0].name}, rows {where}: {seconds:.0f} s, {peak / 1e9:.2f} GB"
            )
    same = found[0].equals(found[1])
    print(f"labels of rows on disk and in memory: {'equal' if same else 'differ'}")


if __name__ == "__main__":
    main()
