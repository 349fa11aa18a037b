"""The paper's experiments: the plan, the runs, the comparison with the paper's claims.

Every table and figure is computed from stored records. Code that stores records,
measures costs or writes pages belongs in `experiments.harness`. Code that loads data
belongs in `experiments.datasets`.

The methods have the paper's names:

* KKm: exact kernel k-means;
* aKKm: approximate kernel k-means, `ApproxKernelKMeans`;
* tKKm: two-step kernel k-means, `TwoStepKernelKMeans`;
* nysSC: spectral clustering with Nyström's method, `NystroemSpectralClustering`;
* lKKm: leaders kernel k-means, `LeadersKernelKMeans`;
* MCLA: the meta-clustering algorithm that combines the labels of an ensemble.
"""

from experiments.paper.plan import Cell, Experiment, experiments
from experiments.paper.report import write_report
from experiments.paper.run import Progress, run

__all__ = ["Cell", "Experiment", "Progress", "experiments", "run", "write_report"]
