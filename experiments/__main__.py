"""`python -m experiments`: the paper's experiments and the benchmarks."""

from experiments.cli import app

app(prog_name="python -m experiments")
