"""Benchmarks: akkm compared with other libraries and methods, and how akkm scales.

Each benchmark measures one thing. It writes its tables from stored records in
`results/`, or only prints them. Tests of correctness and the paper's own experiments do
not belong here.
"""

from pathlib import Path

RESULTS = Path(__file__).parent / "results"
CACHE = Path(__file__).parent / ".cache"
DOCS = Path(__file__).parents[2] / "docs"
