"""akkm: kernel clustering of data sets too large for kernel methods."""

from akkm import kernels, metrics
from akkm.estimators import ApproxKernelKMeans, KernelKMeans, TwoStepKernelKMeans

__version__ = "0.1.0"

__all__ = [
    "ApproxKernelKMeans",
    "KernelKMeans",
    "TwoStepKernelKMeans",
    "__version__",
    "kernels",
    "metrics",
]
