"""The code that the paper's experiments and the benchmarks share.

It stores records, runs measurements and writes tables as Markdown and HTML.
What is measured and what the tables contain is decided in `paper` and `benchmarks`.
"""
