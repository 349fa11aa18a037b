"""The methods of the command line and of `akkm.cluster`, by name."""

from numbers import Integral
from typing import Any

from akkm.estimators import (
    ApproxKernelKMeans,
    DiffusionKernelKMeans,
    KernelKMeans,
    LeadersKernelKMeans,
    NystroemSpectralClustering,
    SparseKernelKMeans,
    TwoStepKernelKMeans,
)

ESTIMATORS: dict[str, Any] = {
    "approx": ApproxKernelKMeans,
    "exact": KernelKMeans,
    "two-step": TwoStepKernelKMeans,
    "spectral": NystroemSpectralClustering,
    "leaders": LeadersKernelKMeans,
    "sparse": SparseKernelKMeans,
    "diffusion": DiffusionKernelKMeans,
}


def default_method(
    n_clusters: int | str | tuple[int, int], categories: bool = False
) -> str:
    """Return the method that is used if the user names none.

    Parameters
    ----------
    n_clusters : int, "auto" or pair of int
        The number of clusters; "auto" or a range if it is to be estimated.
    categories : bool, default=False
        Whether the table has columns of categories. Then the nearest neighbours of a
        row are rows with the same categories, and the method "sparse" would make a
        cluster of each frequent combination.

    Returns
    -------
    str
        A key of `ESTIMATORS`.

    Examples
    --------
    >>> from akkm.clustering import default_method
    >>> default_method(5), default_method("auto")
    ('approx', 'sparse')
    >>> default_method("auto", categories=True)
    'approx'
    """
    return "approx" if isinstance(n_clusters, Integral) or categories else "sparse"
