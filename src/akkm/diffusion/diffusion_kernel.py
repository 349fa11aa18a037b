"""The diffusion kernel of a similarity matrix: spectrum, number of clusters and t."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from akkm.diffusion.diffusion_time import diffusion_time
from akkm.diffusion.estimate_k import (
    OUTLIER_SHARE,
    Evidence,
    cut_along_eigenvectors,
    estimate_n_clusters,
)
from akkm.diffusion.spectrum import leading_eigenpairs
from akkm.typing import Array


@dataclass(frozen=True)
class DiffusionKernel:
    """What determines the kernel S^(2t), besides the eigenvectors of S."""

    eigenvalues: Array  # (r,) descending from 1
    t: float
    n_clusters: int  # as given, or estimated
    evidence: Evidence


def fit_diffusion_kernel(
    W: Any,
    component: Array,
    n_pairs: int,
    rng: np.random.Generator,
    *,
    n_clusters: int | None,
    t: float | None,
    rows: Array,
    least: float = OUTLIER_SHARE,
) -> tuple[DiffusionKernel, Array]:
    """The kernel of similarities W (n, n), CSR, and its eigenvectors (n, r).

    `component` (n,) and `n_pairs` are those of `leading_eigenpairs`; `rows` (n,) and
    `least` are weights and the least share of a cluster, as in `estimate_k`.
    """
    values, vectors = leading_eigenpairs(W, component, n_pairs, rng)
    cut = partial(cut_along_eigenvectors, W, values, vectors, rows)
    evidence = estimate_n_clusters(values, cut, least)
    n_clusters = n_clusters or evidence.n_clusters
    t = t or diffusion_time(values, n_clusters)
    return DiffusionKernel(values, float(t), n_clusters, evidence), vectors
