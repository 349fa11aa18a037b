"""The content of a model file, and the types that may be in it."""

import re
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from akkm.estimators import KernelClusterer
from akkm.kernels import Function

if TYPE_CHECKING:
    from skops.card import Card

# Packages whose estimators and frozen dataclasses may be part of a model.
_PACKAGES = re.compile(
    r"akkm\.(consensus|core|diffusion|estimators|kernels|layers|methods)\."
)
_LIBRARY_TYPES = (
    *(dict, list, str, tuple),
    *(np.ndarray, np.dtype, np.bool, np.float32, np.float64, np.int32, np.int64),
    *(np.random.RandomState, sparse.csr_array, sparse.csr_matrix),
)


class ModelFileError(ValueError):
    """Raised when a model file can't be written or read; the message is one line."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The content of a model file.

    Parameters
    ----------
    encoder : TableEncoder or SpatialPyramid
        Turns a table or images into the rows that the estimator expects.
    estimator : KernelClusterer
        A fitted estimator of akkm. A loaded estimator lacks `violated_` and the
        attributes that have one entry per training row, such as `labels_` and
        `embedding_`.
    about : dict
        Plain values: version, command, data, numbers of rows and clusters, scores.
    """

    encoder: Any
    estimator: Any
    about: dict[str, Any]

    @property
    def of_table(self) -> bool:
        """Whether rows come from a table rather than from images."""
        return hasattr(self.encoder, "columns_")

    def card(self, name: str = "model.skops") -> "Card":
        """Describe the model as a model card of skops.

        The card says what the model is for, how to use it, and what it was fitted to.
        Edit it like any `skops.card.Card`, and write it with ``card.save("card.md")``.

        Parameters
        ----------
        name : str, default="model.skops"
            The name of the model's file, for the example on the card.

        Returns
        -------
        skops.card.Card
            The card.

        Examples
        --------
        >>> import pandas as pd, akkm
        >>> found = akkm.cluster(pd.DataFrame({"x": [0, 0.1, 5, 5.1] * 9}), 2)
        >>> found.save("groups.skops")  # doctest: +SKIP
        >>> card = akkm.load_model("groups.skops").card()  # doctest: +SKIP
        >>> card.save("card.md")  # doctest: +SKIP
        """
        from akkm.model_file._card import model_card

        return model_card(self, name)


@cache
def trusted_types() -> tuple[str, ...]:
    """Full names of all types that a model file may contain.

    Returns
    -------
    tuple of str
        The estimators, the kernels except Python functions, the encoders, the frozen
        dataclasses of the numerical packages, and a few types of NumPy, SciPy and
        Python.

    Examples
    --------
    >>> from akkm.model_file import trusted_types
    >>> "akkm.kernels._rbf.RBF" in trusted_types()
    True
    >>> "builtins.eval" in trusted_types()
    False
    """
    from akkm.images import SpatialPyramid
    from akkm.tables import TableEncoder

    types: set[Any] = {SpatialPyramid, TableEncoder, *_LIBRARY_TYPES}
    for name, module in list(sys.modules.items()):
        if _PACKAGES.match(name):
            types |= set(filter(_is_model_part, vars(module).values()))
    types.discard(Function)
    return tuple(sorted(f"{c.__module__}.{c.__qualname__}" for c in types))


def _is_model_part(value: Any) -> bool:
    """Whether a value is an estimator class or frozen dataclass of these packages."""
    if not isinstance(value, type) or not _PACKAGES.match(value.__module__):
        return False
    settings = getattr(value, "__dataclass_params__", None)
    return issubclass(value, KernelClusterer) or bool(settings and settings.frozen)
