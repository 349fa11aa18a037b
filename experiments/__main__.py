"""`python -m experiments`: the paper's experiments, listed, run and reported."""

from experiments.cli import paper

paper(prog_name="python -m experiments")
