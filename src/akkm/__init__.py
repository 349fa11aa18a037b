"""akkm: kernel clustering of data sets that are too large for a kernel matrix."""

from typing import Any

from akkm import consensus, images, inspect, kernels, landmarks, metrics, plot, theory
from akkm.diffusion.graph_export import neighbor_graph
from akkm.estimators import (
    ApproxKernelKMeans,
    ClusterLayers,
    ConsensusKernelKMeans,
    DiffusionKernelKMeans,
    EnsembleKernelKMeans,
    KernelKMeans,
    LeadersKernelKMeans,
    NystroemSpectralClustering,
    SparseKernelKMeans,
    TwoStepKernelKMeans,
)
from akkm.extras import import_extra as _import_extra
from akkm.model_file import load_model
from akkm.report import report, report_changes
from akkm.rows.open import open_rows
from akkm.version import __version__

__all__ = [
    "ApproxKernelKMeans",
    "ClusterLayers",
    "ConsensusKernelKMeans",
    "DiffusionKernelKMeans",
    "EnsembleKernelKMeans",
    "KernelKMeans",
    "LeadersKernelKMeans",
    "NystroemSpectralClustering",
    "SparseKernelKMeans",
    "TwoStepKernelKMeans",
    "__version__",
    "cluster",
    "consensus",
    "images",
    "inspect",
    "kernels",
    "landmarks",
    "load_model",
    "metrics",
    "neighbor_graph",
    "open_rows",
    "plot",
    "report",
    "report_changes",
    "theory",
]


def __getattr__(name: str) -> Any:
    """Import `akkm.cluster` when it is first used, because it needs pyarrow."""
    if name == "cluster":
        clustering = _import_extra(
            "akkm.clustering", "akkm.cluster needs pyarrow", "cli"
        )
        return clustering.cluster
    raise AttributeError(f"module 'akkm' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names only; otherwise, imported internal modules would be listed."""
    return __all__
