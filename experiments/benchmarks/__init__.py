"""Benchmarks: akkm compared with other libraries and methods, and how akkm scales.

Each benchmark measures one thing. Some benchmarks store records in `results/` and write
their tables from these records. The others only print their results. Tests of
correctness and the paper's own experiments do not belong here.
"""

from pathlib import Path

RESULTS = Path(__file__).parent / "results"
CACHE = Path(__file__).parent / ".cache"
DOCS = Path(__file__).parents[2] / "docs"
