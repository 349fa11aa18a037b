"""akkm: kernel clustering of data sets that are too large for a kernel matrix."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from akkm.extras import import_extra as _import_extra

# `akkm.report` is a function, but there is also a package of this name. The function is
# imported here, because importing the package later would replace it.
from akkm.report import report
from akkm.version import __version__

if TYPE_CHECKING:
    from akkm import (
        consensus,
        images,
        inspect,
        kernels,
        landmarks,
        metrics,
        plot,
        theory,
    )
    from akkm.clustering import cluster
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
    from akkm.model_file import load_model
    from akkm.report import report_changes
    from akkm.rows.open import open_rows

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

_MODULES = {
    "load_model": "akkm.model_file",
    "neighbor_graph": "akkm.diffusion.graph_export",
    "open_rows": "akkm.rows.open",
    "report_changes": "akkm.report",
}


def __getattr__(name: str) -> Any:
    """Import the module of a public name when the name is first used."""
    value: Any
    if name not in __all__:
        raise AttributeError(f"module 'akkm' has no attribute {name!r}")
    if name == "cluster":
        module = _import_extra("akkm.clustering", "akkm.cluster needs pyarrow", "cli")
        value = module.cluster
    elif name in _MODULES:
        value = getattr(_import_module(_MODULES[name]), name)
    elif name[0].isupper():
        value = getattr(_import_module("akkm.estimators"), name)
    else:
        value = _import_module(f"akkm.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names only; otherwise, imported internal modules would be listed."""
    return __all__
