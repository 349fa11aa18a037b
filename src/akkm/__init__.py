"""akkm: kernel clustering of data sets too large for kernel methods."""

from akkm import consensus, images, inspect, kernels, landmarks, metrics, plot, theory
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
from akkm.model_file import load_model
from akkm.report import report
from akkm.rows.open import open_rows
from akkm.version import __version__

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
    "images",
    "inspect",
    "kernels",
    "landmarks",
    "load_model",
    "metrics",
    "open_rows",
    "plot",
    "report",
    "theory",
]


def __dir__() -> list[str]:
    """Public names only; otherwise, imported internal modules would be listed."""
    return __all__
