"""Helpers that run Lloyd's iterations with given landmarks and initial labels."""

from akkm.approx import factored as approximate
from akkm.core.lloyd import lloyd
from akkm.core.parts import Part
from akkm.core.threads import Threads
from akkm.kernels import RBF, Polynomial, Sigmoid
from akkm.landmarks import Landmarks

KERNELS = [
    RBF(gamma=0.05),
    Polynomial(gamma=0.1, degree=3),
    Sigmoid(gamma=0.02, coef0=0.1),
]


def prepare(X, kernel, indices, indefinite="clip", dtype=None):
    chosen = Landmarks(X[indices], X[indices], indices)
    return approximate.factor(
        X, kernel, chosen, dtype=dtype or X.dtype, indefinite=indefinite
    )


def run(X, kernel, indices, labels, n_clusters, *, n_jobs=2, indefinite="clip", **more):
    f = prepare(X, kernel, indices, indefinite)
    return solve(f, labels, n_clusters, n_jobs=n_jobs, **more)


def solve(f, labels, n_clusters, *, n_jobs=2, weights=None, **more):
    with Threads(n_jobs) as engine:
        part = Part.of(f.strip, f.gram, engine, labels=labels, weights=weights)
        return lloyd(
            part, f.gram, f.probes, dtype=f.strip.dtype, n_clusters=n_clusters, **more
        )
