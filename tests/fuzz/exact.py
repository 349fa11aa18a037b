"""Kernel values and clustering errors from their definitions, in float64."""

import numpy as np

from akkm.kernels import Constant, Function, Precomputed, Product, Sum

_FORMULAS = {
    "RBF": lambda k, A, B: np.exp(-k.rate * ((A - B) ** 2).sum(-1)),
    "Laplacian": lambda k, A, B: np.exp(-k.gamma * np.abs(A - B).sum(-1)),
    "Chi2": lambda k, A, B: np.exp(-k.gamma * _chi2(A, B)),
    "AdditiveChi2": lambda k, A, B: -_chi2(A, B),
    "Intersection": lambda k, A, B: np.minimum(A, B).sum(-1),
    "Linear": lambda k, A, B: (A * B).sum(-1),
    "Polynomial": lambda k, A, B: (k.gamma * (A * B).sum(-1) + k.coef0) ** k.degree,
    "Sigmoid": lambda k, A, B: np.tanh(k.gamma * (A * B).sum(-1) + k.coef0),
    "Cosine": lambda k, A, B: _cosine(A, B),
}


def exact_kernel(kernel, X, Y):
    """Kernel matrix (n, m) of dense rows, in float64."""
    if isinstance(kernel, Sum | Product):
        values = [exact_kernel(part, X, Y) for part in (kernel.first, kernel.second)]
        return np.add(*values) if isinstance(kernel, Sum) else np.multiply(*values)
    if isinstance(kernel, Constant):
        return np.full((len(X), len(Y)), float(kernel.value))
    if isinstance(kernel, Precomputed):
        return X[:, Y]
    if isinstance(kernel, Function):
        return np.asarray(kernel.function(X, Y, **kernel.params), dtype=np.float64)
    formula = _FORMULAS[type(kernel).__name__]
    return formula(kernel, X[:, None], Y[None])


def _chi2(A, B):
    total = np.where(A + B > 0, A + B, 1)
    return ((A - B) ** 2 / total).sum(-1)


def _cosine(A, B):
    return (_unit(A) * _unit(B)).sum(-1)


def _unit(A):
    """The vectors along the last axis, scaled to unit length; zeros stay zero."""
    largest = np.abs(A).max(-1, keepdims=True)
    A = A / np.where(largest > 0, largest, 1)  # so squares don't underflow
    lengths = np.sqrt((A * A).sum(-1, keepdims=True))
    return A / np.where(lengths > 0, lengths, 1)


def error_of_centers(K, K_landmarks, diagonal, alpha, labels, weights):
    """Weighted sum of squared distances to centers given by α, the paper's eq. 6."""
    alpha = alpha.astype(np.float64)
    norms = np.einsum("kj,ji,ki->k", alpha, K_landmarks, alpha)
    own = np.einsum("ij,ij->i", K, alpha[labels])
    return float(weights @ (diagonal - 2 * own + norms[labels]))


def error_of_labels(K, labels, weights):
    """Weighted sum of squared distances to the means of the clusters."""
    total = float(weights @ K.diagonal())
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        w = weights[rows]
        if w.sum() > 0:
            total -= w @ K[np.ix_(rows, rows)] @ w / w.sum()
    return total
