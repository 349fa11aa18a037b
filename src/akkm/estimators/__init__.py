"""The scikit-learn interface: parameters, validation, attributes and warnings.

Estimators validate user input and call lower-level packages, with one line per step of
their algorithm. Formulas and loops over rows do not belong here.
"""

from akkm.estimators._approx import ApproxKernelKMeans
from akkm.estimators._base import KernelClusterer
from akkm.estimators._consensus import ConsensusKernelKMeans
from akkm.estimators._diffusion import DiffusionKernelKMeans
from akkm.estimators._ensemble import EnsembleKernelKMeans
from akkm.estimators._exact import KernelKMeans
from akkm.estimators._layers import ClusterLayers
from akkm.estimators._leaders import LeadersKernelKMeans
from akkm.estimators._sparse import SparseKernelKMeans
from akkm.estimators._spectral import NystroemSpectralClustering
from akkm.estimators._two_step import TwoStepKernelKMeans

__all__ = [
    "ApproxKernelKMeans",
    "ClusterLayers",
    "ConsensusKernelKMeans",
    "DiffusionKernelKMeans",
    "EnsembleKernelKMeans",
    "KernelClusterer",
    "KernelKMeans",
    "LeadersKernelKMeans",
    "NystroemSpectralClustering",
    "SparseKernelKMeans",
    "TwoStepKernelKMeans",
]
