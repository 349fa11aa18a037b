"""akkm: kernel clustering of data sets too large for kernel methods."""

from akkm import consensus, kernels, landmarks, metrics, theory
from akkm.estimators import (
    ApproxKernelKMeans,
    ConsensusKernelKMeans,
    DiffusionKernelKMeans,
    EnsembleKernelKMeans,
    KernelKMeans,
    LeadersKernelKMeans,
    NystroemSpectralClustering,
    SparseKernelKMeans,
    TwoStepKernelKMeans,
)
from akkm.report import report

__version__ = "0.1.0"

__all__ = [
    "ApproxKernelKMeans",
    "ConsensusKernelKMeans",
    "DiffusionKernelKMeans",
    "EnsembleKernelKMeans",
    "KernelKMeans",
    "LeadersKernelKMeans",
    "NystroemSpectralClustering",
    "SparseKernelKMeans",
    "TwoStepKernelKMeans",
    "__version__",
    "consensus",
    "kernels",
    "landmarks",
    "metrics",
    "report",
    "theory",
]
