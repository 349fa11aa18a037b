"""Kernel functions k(x, y), evaluated for blocks of rows and a set of points.

Each kernel is a small immutable object whose docstring has the formula. Landmarks,
clusters and the loop over all rows don't belong here.
"""

from akkm.kernels._additive import AdditiveChi2, Chi2, Intersection, Laplacian
from akkm.kernels._base import (
    Constant,
    Fill,
    Kernel,
    Product,
    Sum,
    narrow_indices,
    to_dense,
)
from akkm.kernels._dot import Cosine, Linear, Polynomial, Sigmoid
from akkm.kernels._given import Function, Precomputed, PrecomputedStrip
from akkm.kernels._rbf import RBF
from akkm.kernels._resolve import KERNEL_NAMES, KernelSettings, resolve

__all__ = [
    "KERNEL_NAMES",
    "RBF",
    "AdditiveChi2",
    "Chi2",
    "Constant",
    "Cosine",
    "Fill",
    "Function",
    "Intersection",
    "Kernel",
    "KernelSettings",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "PrecomputedStrip",
    "Product",
    "Sigmoid",
    "Sum",
    "narrow_indices",
    "resolve",
    "to_dense",
]
