"""The paper's experiments: the plan, the runs, the comparison with the paper's claims.

Every table and figure is computed from stored records. Storing, measuring costs and
writing pages belong in `experiments.harness`, data in `experiments.datasets`.
"""

from experiments.paper.plan import Cell, Experiment, experiments
from experiments.paper.report import write_report
from experiments.paper.run import Progress, run

__all__ = ["Cell", "Experiment", "Progress", "experiments", "run", "write_report"]
