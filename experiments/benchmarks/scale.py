"""Compare a fit of Parquet files larger than memory with a fit of an array.

The benchmark writes rows of 20 Gaussians in 100 columns as Parquet files, with a
million rows per file. Existing files are kept. One fit reads all rows from the files.
Another fit gets the first 4 million rows as an array. Each fit has 500 landmarks and
its own process. The benchmark prints elapsed time and processor time per row, peak
memory, and passes: the number of evaluations divided by the number of rows. The files
are in the folder that AKKM_SCALE names, by default in the benchmarks' cache.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from experiments.benchmarks import CACHE
from experiments.harness.costs import costs
from experiments.harness.pages import markdown_table
from experiments.harness.runner import in_new_process
from experiments.harness.store import Record

# Number of columns and number of clusters.
_WIDTH, _CLUSTERS = 100, 20
# Number of rows per file and per row group.
_FILE, _GROUP = 1_000_000, 65_536
# Number of rows that are clustered as an array.
_IN_MEMORY = 4_000_000


def write_parquet(folder: Path, n: int) -> None:
    """Write the Parquet files that do not exist yet."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    means = np.random.default_rng(1).normal(0, 1.2, (_CLUSTERS, _WIDTH))
    for number in range(-(-n // _FILE)):
        path = folder / f"{number:05d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng([2, number])
        count = min(_FILE, n - number * _FILE)
        X = rng.standard_normal((count, _WIDTH), dtype=np.float32)
        X += means[rng.integers(_CLUSTERS, size=count)].astype(np.float32)
        table = pa.table({f"x{j}": X[:, j] for j in range(_WIDTH)})
        hidden = path.with_suffix(".part")
        # Random numbers gain nothing from dictionaries or compression.
        parquet.write_table(
            table,
            hidden,
            row_group_size=_GROUP,
            use_dictionary=False,
            compression="none",
        )
        hidden.rename(path)


def measure(folder: str, n_in_memory: int | None) -> Record:
    """Measure a fit of all rows from the files, or of the first rows as an array."""
    import akkm

    rows: Any = akkm.open_rows(folder)
    if n_in_memory is not None:
        rows = rows[:n_in_memory]
    model = akkm.ApproxKernelKMeans(
        _CLUSTERS, gamma=0.0025, n_landmarks=500, random_state=0, cache_size=256
    )
    with costs() as spent:
        model.fit(rows)
    return {
        "rows": rows.shape[0],
        "seconds": spent.seconds,
        "cpu_seconds": spent.cpu_seconds,
        "passes": float(model.history_[:, 1].sum() / rows.shape[0]),
        "peak_bytes": spent.peak_bytes,
    }


def main(rows: int = 50_000_000) -> None:
    """Write the files, measure, and print a table."""
    folder = Path(os.environ.get("AKKM_SCALE", CACHE / "scale"))
    write_parquet(folder, rows)
    on_disk = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    print(f"{rows:,} x {_WIDTH} float32, {on_disk / 1e9:.1f} GB of Parquet")
    cells = []
    for source in ("memory", "disk", "memory"):  # memory twice, because the time varies
        n_in_memory = min(rows, _IN_MEMORY) if source == "memory" else None
        record = in_new_process(measure, folder=str(folder), n_in_memory=n_in_memory)
        if "failed" in record:
            raise ValueError(f"The fit from {source} failed: {record['failed']}")
        per_row = 1e6 / record["rows"]
        cells.append(
            [
                source,
                f"{record['rows']:,}",
                f"{record['rows'] * 4 * _WIDTH / 1e9:.1f}",
                f"{record['seconds']:.1f}",
                f"{record['seconds'] * per_row:.2f}",
                f"{record['cpu_seconds'] * per_row:.2f}",
                f"{record['passes']:.2f}",
                f"{record['peak_bytes'] / 1e6:,.0f}",
            ]
        )
    head = ["rows from", "rows", "GB", "seconds", "µs per row", "processor µs per row"]
    print(markdown_table([*head, "passes", "peak memory, MB"], cells))
