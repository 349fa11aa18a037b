"""The scikit-learn face: estimators validate, call, and set attributes."""

from akkm.estimators._approx import ApproxKernelKMeans
from akkm.estimators._exact import KernelKMeans, TwoStepKernelKMeans

__all__ = ["ApproxKernelKMeans", "KernelKMeans", "TwoStepKernelKMeans"]
