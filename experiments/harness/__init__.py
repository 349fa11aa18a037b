"""The code that the paper's experiments and the benchmarks share.

It stores records, runs measurements and writes tables as Markdown and HTML.
`experiments.paper` and `experiments.benchmarks` decide what is measured, and what the
tables contain.
"""
