"""Kernels: one small immutable object each, its formula its docstring.

They compose: `RBF(gamma=2) + 0.5 * Linear()`, `RBF(sigma=1) * Cosine()`.
"""

from akkm.kernels._additive import AdditiveChi2, Chi2, Intersection, Laplacian
from akkm.kernels._base import Constant, Fill, Kernel, Product, Sum, to_dense
from akkm.kernels._dot import Cosine, Linear, Polynomial, Sigmoid
from akkm.kernels._given import Function, Precomputed, PrecomputedStrip
from akkm.kernels._rbf import RBF
from akkm.kernels._resolve import KERNEL_NAMES, resolve

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
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "PrecomputedStrip",
    "Product",
    "Sigmoid",
    "Sum",
    "resolve",
    "to_dense",
]
