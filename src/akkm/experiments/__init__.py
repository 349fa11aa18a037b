"""The paper's experiments: what is run, what came out, and what that says."""

from akkm.experiments._plan import Cell, Experiment, experiments
from akkm.experiments._report import write_report
from akkm.experiments._run import Progress, run

__all__ = ["Cell", "Experiment", "Progress", "experiments", "run", "write_report"]
