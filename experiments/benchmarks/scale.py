"""Files larger than memory: `python -m experiments.benchmarks.scale [rows]`.

Writes a mixture of 20 Gaussians in 100 columns as Parquet, a file per million rows
(what is there is not written again), clusters all of it at m = 500, and as many of its
rows as fit in memory from an array. Each in its own process; prints time per row, the
processor's and that of the clock, and peak memory. The folder is AKKM_SCALE, by
default one beside the benchmark's cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from experiments.benchmarks.data import CACHE

_WIDTH, _CLUSTERS, _FILE, _GROUP = 100, 20, 1_000_000, 65_536
_SETTINGS = "n_clusters=20, gamma=0.0025, n_landmarks=500, random_state=0, verbose=1"
_RUN = f"""
import resource, sys, time
import numpy as np
import akkm
rows = akkm.open_rows(sys.argv[1])
where, n = sys.argv[2], int(sys.argv[3])
if where == "memory":
    rows = rows[:n]
start, busy = time.perf_counter(), time.process_time()
model = akkm.ApproxKernelKMeans({_SETTINGS}, cache_size=256).fit(rows)
took, busy = time.perf_counter() - start, time.process_time() - busy
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
passes = model.history_[:, 1].sum() / rows.shape[0]
n = rows.shape[0]
print(f"| {{where}} | {{n:,}} | {{n * 4e-7:.1f}} | {{took:.1f}} |", end=" ")
print(f"{{1e6 * took / n:.2f}} | {{1e6 * busy / n:.2f}} |", end=" ")
print(f"{{passes:.2f}} | {{peak / 1e6:,.0f}} |", flush=True)
"""


def write(folder: Path, n: int) -> None:
    """The files that are not there yet."""
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
        # Numbers of no pattern: nothing to gain from dictionaries or compression.
        parquet.write_table(
            table,
            hidden,
            row_group_size=_GROUP,
            use_dictionary=False,
            compression="none",
        )
        hidden.rename(path)


def main() -> None:
    """Write, measure, print."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000
    folder = Path(os.environ.get("AKKM_SCALE", CACHE / "scale"))
    write(folder, n)
    on_disk = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    print(f"{n:,} x {_WIDTH} float32, {on_disk / 1e9:.1f} GB of Parquet")
    print(
        "| rows from | rows | GB | seconds | µs per row | µs of the processors |",
        end="",
    )
    print(" passes | peak memory, MB |")
    print("|---" * 8 + "|", flush=True)
    for where in ("memory", "disk", "memory"):  # what the clock says varies
        command = [
            sys.executable,
            "-c",
            _RUN,
            str(folder),
            where,
            str(min(n, 4_000_000)),
        ]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
