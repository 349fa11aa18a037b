"""Experiments next to the library: the paper's results, its data sets and benchmarks.

They use only public names of `akkm` and are not part of the wheel. What a user of
`akkm` needs does not belong here. Start with `python -m experiments --help`.
"""
