"""The harness of paper experiments and benchmarks: store, runner, costs and pages.

It knows how to keep records, run measurements and write tables as Markdown and HTML.
What is measured, and what the tables say, belongs in `paper` and `benchmarks`.
"""
