"""Experiments next to the library: the paper's results, its data sets and benchmarks.

They use only public names of `akkm` and are not part of the wheel. Code that
users of `akkm` need belongs in `src/akkm`. Start with `python -m experiments --help`.
"""
