"""The code that the paper's experiments and the benchmarks share.

It stores records, runs measurements and writes tables as Markdown and HTML.
What is measured, and what the tables say, belongs in `paper` and `benchmarks`.
"""
