"""The catalogue of data sets: load them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.kernels import RBF, Intersection, Kernel, Polynomial, Sigmoid
from experiments.datasets import originals, tiny
from experiments.datasets.files import (
    cache_folder,
    cached_arrays,
    data_folder,
    has_original,
)
from experiments.datasets.image_rows import ARCHIVE, image_classes, pyramids

Array = NDArray[Any]

_TINY = "tiny-"
# Seed of the tiny twins. It is unusual, so that no experiment uses the same seed.
_TWIN_SEED = 20140124


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, their classes, and the kernel that the paper uses for them."""

    name: str
    title: str
    X: Any  # (n, d) float32, dense or CSR
    classes: Array  # (n,) integers from 0
    kernel: Kernel
    n_clusters: int  # the number of classes
    note: str  # how the rows were made
    stand_in: bool = False  # True for a tiny twin and for the KDD stand-in


@dataclass(frozen=True)
class _About:
    """Facts about a data set that are known without loading it."""

    title: str
    kernel: Kernel
    n_clusters: int
    note: str
    original: str  # path of one of the original files
    prepared: tuple[str, ...]  # names of the files in the cache
    fetchable: bool  # whether scikit-learn can fetch the data set


_ABOUT = {
    "imagenet12": _About(
        "ImageNet, 12 synsets",
        Intersection(),
        12,
        "12,000 gray images of 224 x 224 pixels: 1,000 images from each of 12 synsets. "
        "The paper used 20,000 images from 12 synsets. Rows are spatial pyramids of "
        "four levels with 200 visual words (17,000 columns). The kernel is the pyramid "
        "match kernel.",
        ARCHIVE,
        ("pyramids.npz", "imagenet12"),
        fetchable=False,
    ),
    "mnist": _About(
        "MNIST",
        Sigmoid(gamma=0.0045, coef0=0.11),
        10,
        "Training and test images together. Pixels are divided by 255. The kernel is "
        "tanh(0.0045 x·y + 0.11).",
        "mnist/train-images-idx3-ubyte.gz",
        ("mnist.npz",),
        fetchable=True,
    ),
    "covtype": _About(
        "Cover Type",
        RBF(sigma=0.35),
        7,
        "Every column is scaled to [0, 1]. The kernel is exp(-|x - y|² / (2 sigma²)) "
        "with sigma = 0.35.",
        "covtype/covtype.data.gz",
        ("covtype.npz",),
        fetchable=True,
    ),
    "kddcup99": _About(
        "KDD Cup 99, 10 % file",
        Polynomial(gamma=1.0, degree=3, coef0=1.0),
        23,
        "Numeric columns that are not constant are scaled to [0, 1]. Protocol and flag "
        "are one-hot encoded. Service is left out. The kernel is (x·y + 1)³.",
        "kddcup99/kddcup.data_10_percent.gz",
        ("kddcup99.npz",),
        fetchable=True,
    ),
    "kddcup99-full": _About(
        "KDD Cup 99",
        Polynomial(gamma=1.0, degree=3, coef0=1.0),
        23,
        "Columns are encoded like those of the 10 % file. The kernel is (x·y + 1)³.",
        "kddcup99/kddcup.data_10_percent.gz",
        ("kddcup99-full.npz",),
        fetchable=True,
    ),
}
_STAND_IN = (
    "This stand-in consists of rows of the 10 % file. Rows of seven classes are drawn "
    "with replacement, so that the class counts are those of the full file. Time and "
    "memory are realistic, but many rows occur more than once."
)
_GENERATED = "Generated rows with the same kinds of columns as the real data."
_MAKE = {
    "mnist": originals.mnist,
    "covtype": originals.covtype,
    "kddcup99": originals.kdd_ten_percent,
    "kddcup99-full": originals.kdd_full,
}
_TWINS: dict[str, Callable[[np.random.Generator], tuple[Any, Array]]] = {
    "imagenet12": tiny.tiny_imagenet12,
    "mnist": tiny.tiny_mnist,
    "covtype": tiny.tiny_covtype,
    "kddcup99": tiny.tiny_kddcup99,
    "kddcup99-full": partial(tiny.tiny_kddcup99, copies=3),
}

NAMES = (*_ABOUT, *(_TINY + name for name in _ABOUT))


def load(name: str) -> Dataset:
    """Load a data set by name, with the paper's kernel for it.

    Original files are read from the folder that the environment variable AKKM_DATA
    names (`mnist/`, `covtype/`, `kddcup99/`, `imagenet12/`), and their checksums are
    verified. If AKKM_DATA is not set, scikit-learn fetches the data sets that it
    offers. Prepared arrays are cached in scikit-learn's data home, or in the folder
    that AKKM_CACHE names.

    Parameters
    ----------
    name : str
        "imagenet12", "mnist", "covtype", "kddcup99" (the 10 % file) or "kddcup99-full".
        If AKKM_DATA is set and the full KDD file is not cached, "kddcup99-full" is a
        stand-in of the same size, drawn from the 10 % file. The prefix "tiny-" selects
        the tiny twin: a few hundred generated rows in four classes.

    Returns
    -------
    Dataset
        `X` (n, d), `classes` (n,), `kernel`, `n_clusters`, `title`, `note`, `stand_in`.

    Examples
    --------
    >>> from experiments.datasets import load
    >>> data = load("tiny-mnist")
    >>> data.X.shape, data.classes.shape, data.n_clusters
    ((300, 784), (300,), 4)
    >>> data.kernel
    Sigmoid(gamma=0.0045, coef0=0.11)
    """
    if name not in NAMES:
        raise ValueError(
            f"Unknown data set {name!r}; expected one of {', '.join(NAMES)}."
        )
    about = _ABOUT[name.removeprefix(_TINY)]
    stand_in, n_clusters = name.startswith(_TINY), about.n_clusters
    if stand_in:
        X, classes = _TWINS[name.removeprefix(_TINY)](np.random.default_rng(_TWIN_SEED))
        n_clusters = tiny.CLASSES
    elif name == "imagenet12":
        X, classes = pyramids(), image_classes()
    else:
        stand_in = name == "kddcup99-full" and not _has_full()
        original = "kddcup99" if stand_in else name
        arrays = cached_arrays(original, _MAKE[original])
        X, classes = arrays["X"], arrays["classes"]
        if stand_in:
            X, classes = X[arrays["stand_in"]], classes[arrays["stand_in"]]
    title, note = describe(name)
    return Dataset(name, title, X, classes, about.kernel, n_clusters, note, stand_in)


def _has_full() -> bool:
    """Whether the full KDD file is cached or can be fetched."""
    return _prepared("kddcup99-full") or data_folder() is None


def _prepared(name: str) -> bool:
    """Whether all prepared files of a data set are in the cache."""
    return all((cache_folder() / file).exists() for file in _ABOUT[name].prepared)


def describe(name: str, *, stand_in: bool | None = None) -> tuple[str, str]:
    """Describe a data set without loading it.

    Parameters
    ----------
    name : str
        As in `load`.
    stand_in : bool, optional
        Whether to describe the stand-in for "kddcup99-full". By default, the stand-in
        is described if `load` would return it.

    Returns
    -------
    title : str
        The name for readers.
    note : str
        How the rows are made.

    Examples
    --------
    >>> from experiments.datasets import describe
    >>> describe("covtype")[0]
    'Cover Type'
    """
    about = _ABOUT[name.removeprefix(_TINY)]
    if name.startswith(_TINY):
        return f"{about.title}, tiny twin", _GENERATED
    if name == "kddcup99-full" and (not _has_full() if stand_in is None else stand_in):
        return f"{about.title}, stand-in", f"{about.note} {_STAND_IN}"
    return about.title, about.note


def availability(name: str) -> tuple[bool, str]:
    """Return whether a data set can be loaded, and where it comes from.

    Parameters
    ----------
    name : str
        As in `load`.

    Returns
    -------
    available : bool
        False if `load` would fail. Data that scikit-learn can fetch count as available.
    source : str
        Where the data come from, or how to get them.

    Examples
    --------
    >>> from experiments.datasets import availability
    >>> availability("tiny-covtype")
    (True, 'generated')
    """
    if name.startswith(_TINY):
        return True, "generated"
    about = _ABOUT[name]
    stand_in = name == "kddcup99-full" and not _has_full()
    if _prepared("kddcup99" if stand_in else name):
        return True, f"cached in {cache_folder()}"
    if has_original(about.original):
        return True, f"original files in {data_folder()}"
    if about.fetchable and data_folder() is None:
        return True, "to be fetched by scikit-learn"
    return False, f"missing: set AKKM_DATA to a folder with {about.original}"
