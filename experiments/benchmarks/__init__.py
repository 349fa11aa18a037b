"""Benchmarks of akkm against other libraries and methods, and of how akkm scales.

Each module measures one thing and writes its tables from stored records in `results/`.
Tests of correctness and the paper's own experiments do not belong here.
"""

from pathlib import Path

RESULTS = Path(__file__).parent / "results"
CACHE = Path(__file__).parent / ".cache"
DOCS = Path(__file__).parents[2] / "docs"
