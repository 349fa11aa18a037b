"""The paper's experiments: what is run, what came out, and what that says."""

from experiments._plan import Cell, Experiment, experiments
from experiments._report import write_report
from experiments._run import Progress, run

__all__ = ["Cell", "Experiment", "Progress", "experiments", "run", "write_report"]
