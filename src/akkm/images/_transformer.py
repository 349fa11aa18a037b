"""SpatialPyramid: from images to sparse rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from akkm.core.threads import Threads
from akkm.images._descriptors import Descriptors, dense_sift, detected_sift
from akkm.images._files import ImageError, called, read_image, silence
from akkm.images._pyramid import cells, pyramid
from akkm.images._vocabulary import learn_words, words_of
from akkm.validation import generator, require_count

Array = NDArray[Any]

# Images whose descriptors the vocabulary is made of, at most.
_SAMPLED = 2_000
# Names of unreadable files in a warning.
_NAMED = 5
KEYPOINTS = ("grid", "detected")
UNREADABLE = ("error", "skip")


@dataclass(frozen=True, eq=False)
class Described:
    """Images as rows, and what became of those that could not be read.

    Attributes
    ----------
    X : CSR array of shape (n, cells * n_words), float32
    rows : int array of shape (n,)
        Which of the given images they are.
    unreadable : tuple of str
        A message for each of the others.
    """

    X: Any
    rows: Array
    unreadable: tuple[str, ...]


class SpatialPyramid(TransformerMixin, BaseEstimator):
    """Images as level-weighted histograms of visual words in a spatial pyramid.

    SIFT descriptors of patches on a grid, each replaced by the nearest of `n_words`
    visual words, are counted per cell of 1 + 4 + 16 + ... cells (Lazebnik, Schmid,
    Ponce 2006). The histogram intersection of two such rows is the pyramid match
    kernel, 1 for an image with itself: use `kernel="intersection"`.

    Parameters
    ----------
    n_words : int, default=200
        Visual words.
    levels : int, default=4
        Levels of the pyramid; level l has 4^l cells.
    step : int, default=4
        Pixels from one patch of the grid to the next.
    patch_size : int, default=16
        Pixels along the side of a patch.
    keypoints : {"grid", "detected"}, default="grid"
        Patches on a grid, upright; or where OpenCV's SIFT detects keypoints, at their
        scale and rotation.
    max_size : int, default=300
        Larger images are scaled down to so many pixels along the longer side.
    n_samples : int, default=200_000
        Descriptors of which the vocabulary is made, from at most 2,000 images.
    unreadable : {"error", "skip"}, default="error"
        Files that are no images, or images smaller than a patch: refused, or left out
        with a warning that names them.
    random_state : int, RandomState or None, default=None
        Which descriptors, and where k-means starts.
    n_jobs : int, optional
        Threads, one image each; all by default. Results do not depend on it.
    verbose : int, default=0
        1 tells how many images are done.

    Attributes
    ----------
    vocabulary_ : float32 array of shape (n_words, 128)
    n_features_out_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.images import SpatialPyramid
    >>> y, x = np.mgrid[:64, :64]
    >>> shifts = range(0, 16, 2)
    >>> stripes = [np.sin((x + s) / 2) / 2 + 0.5 for s in shifts]
    >>> checks = [np.sin((x + s) / 2) * np.sin(y / 2) / 2 + 0.5 for s in shifts]
    >>> pyramid = SpatialPyramid(n_words=20, levels=3, random_state=0)
    >>> X = pyramid.fit_transform(stripes + checks)
    >>> X.shape  # 1 + 4 + 16 cells of 20 words
    (16, 420)
    >>> model = ApproxKernelKMeans(2, kernel="intersection", random_state=0).fit(X)
    >>> sorted(np.bincount(model.labels_).tolist()), len(set(model.labels_[:8]))
    ([8, 8], 1)
    """

    def __init__(
        self,
        n_words: int = 200,
        levels: int = 4,
        *,
        step: int = 4,
        patch_size: int = 16,
        keypoints: str = "grid",
        max_size: int = 300,
        n_samples: int = 200_000,
        unreadable: str = "error",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_words = n_words
        self.levels = levels
        self.step = step
        self.patch_size = patch_size
        self.keypoints = keypoints
        self.max_size = max_size
        self.n_samples = n_samples
        self.unreadable = unreadable
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Sequence[Any], y: Any = None) -> SpatialPyramid:
        """Learn the visual words.

        Parameters
        ----------
        X : sequence of n images
            File names, or arrays as in `read_image`. At most 2,000 of them are read.
        y : ignored

        Returns
        -------
        self
        """
        _warn(self.learn(X), len(X))
        return self

    def transform(self, X: Sequence[Any]) -> Any:
        """Describe images by the words learned.

        Parameters
        ----------
        X : sequence of n images

        Returns
        -------
        histograms : CSR array of shape (n, cells * n_words), float32
            Each row adds up to one. Without the images that could not be read, if those
            are skipped; `describe` says which.
        """
        found = self.describe(X)
        _warn(found.unreadable, len(X))
        return found.X

    def describe(
        self, X: Sequence[Any], watch: Callable[[int], None] | None = None
    ) -> Described:
        """Images as rows, with the numbers of those that could be read.

        Parameters
        ----------
        X : sequence of n images
        watch : function of an int, optional
            Called with the number of images that are done since it was called last.

        Returns
        -------
        Described
        """
        check_is_fitted(self)
        self._check()
        if self.vocabulary_.shape != (self.n_words, 128):
            raise ValueError(
                f"n_words={self.n_words}, but {len(self.vocabulary_)} words were "
                "learned; fit again."
            )
        images = _images(X)
        # Row by row, so that nothing larger than the result is ever in memory.
        indices: list[Array] = []
        values: list[Array] = []
        rows: list[int] = []
        unreadable: list[str] = []
        for i, found in enumerate(self._each(self._histogram, images, watch)):
            if isinstance(found, ImageError):
                unreadable.append(str(found))
            else:
                indices.append(found[0])
                values.append(found[1])
                rows.append(i)
        if not rows:
            raise ImageError(
                f"None of {len(images):,} images could be read. {unreadable[0]}"
            )
        ends = np.cumsum([0, *map(len, indices)])
        if ends[-1] < 2**31:  # what scikit-learn's own estimators take
            ends = ends.astype(np.int32)
        matrix = sparse.csr_array(
            (np.concatenate(values), np.concatenate(indices), ends),
            shape=(len(rows), self.n_features_out_),
        )
        return Described(matrix, np.array(rows), tuple(unreadable))

    @property
    def n_features_out_(self) -> int:
        """Columns of the histograms."""
        return cells(self.levels) * len(self.vocabulary_)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns, such as "word 3 in row 0, column 1 of 2 x 2"."""
        check_is_fitted(self)
        names = [
            f"word {word} in row {row}, column {column} of {2**level} x {2**level}"
            if level
            else f"word {word}"
            for level in range(self.levels)
            for row in range(2**level)
            for column in range(2**level)
            for word in range(self.n_words)
        ]
        return np.array(names, dtype=object)

    def learn(
        self, X: Sequence[Any], watch: Callable[[int], None] | None = None
    ) -> tuple[str, ...]:
        """Learn the visual words as `fit` does, without warnings.

        Parameters
        ----------
        X : sequence of n images
        watch : function of an int, optional
            As in `describe`.

        Returns
        -------
        unreadable : tuple of str
            A message for each image that was to be read and could not be.
        """
        self._check()
        images = _images(X)
        rng = generator(self.random_state)
        some = images
        if len(images) > _SAMPLED:
            chosen = rng.choice(len(images), _SAMPLED, replace=False)
            some = [images[i] for i in np.sort(chosen)]
        share = -(-self.n_samples // len(some))  # of each image, rounded up
        seeds = rng.integers(2**63, size=len(some))

        def draw(item: tuple[Any, int]) -> Array:
            values = self._descriptors(item[0]).values
            seen = np.flatnonzero(values.any(axis=1))  # patches with some contrast
            own = np.random.default_rng(item[1])
            kept = own.choice(seen, min(share, len(seen)), replace=False)
            return values[np.sort(kept)]

        drawn = list(self._each(draw, list(zip(some, seeds, strict=True)), watch))
        unreadable = tuple(str(one) for one in drawn if isinstance(one, ImageError))
        parts = [one for one in drawn if not isinstance(one, ImageError)]
        if not parts:
            raise ImageError(
                f"None of {len(some):,} images could be read. {unreadable[0]}"
            )
        self.vocabulary_ = learn_words(np.concatenate(parts), self.n_words, rng)
        return unreadable

    def _each(
        self,
        function: Callable[[Any], Any],
        items: Sequence[Any],
        watch: Callable[[int], None] | None,
    ) -> Iterator[Any]:
        """function(item), or the ImageError that it ended in, in order."""

        def tried(item: Any) -> Any:
            try:
                return function(item)
            except ImageError as error:
                if self.unreadable == "error":
                    raise
                return error

        with silence(), Threads(self.n_jobs) as engine:
            for i, result in enumerate(engine.map(tried, items), 1):
                if watch is not None:
                    watch(1)
                if self.verbose and (i % 1000 == 0 or i == len(items)):
                    print(f"{i:,} of {len(items):,} images")
                yield result

    def _descriptors(self, source: Any) -> Descriptors:
        gray = read_image(source, self.max_size)
        if self.keypoints == "detected":
            return detected_sift(gray)
        if min(gray.shape) < self.patch_size:
            height, width = gray.shape
            raise ImageError(
                f"{called(source)} is {width} x {height} pixels; expected at least "
                f"patch_size={self.patch_size} each."
            )
        return dense_sift(gray, self.step, self.patch_size)

    def _histogram(self, source: Any) -> tuple[Array, Array]:
        """The columns and values of a row."""
        found = self._descriptors(source)
        words = words_of(found.values, self.vocabulary_)
        row = pyramid(found.places, words, self.n_words, self.levels)
        columns = np.flatnonzero(row)
        return columns.astype(np.int32), row[columns].astype(np.float32)

    def _check(self) -> None:
        for name in ("n_words", "levels", "step", "n_samples"):
            require_count(name, getattr(self, name))
        require_count("patch_size", self.patch_size, 4)
        require_count("max_size", self.max_size, self.patch_size)
        for name, known in (("keypoints", KEYPOINTS), ("unreadable", UNREADABLE)):
            value = getattr(self, name)
            if value not in known:
                raise ValueError(
                    f"{name}={value!r} is not valid; expected {' or '.join(known)}."
                )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _images(X: Any) -> Sequence[Any]:
    """A sequence of images; one path, or one image, is not several."""
    if isinstance(X, str) or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise TypeError(
            f"X is a {type(X).__name__}; expected a list of file names or of images."
        )
    if not len(X):
        raise ValueError("X has no images; expected at least one.")
    return X


def _warn(unreadable: tuple[str, ...], n: int) -> None:
    if unreadable:
        more = f" And {len(unreadable) - _NAMED:,} more."
        named = " ".join(unreadable[:_NAMED])
        warnings.warn(
            f"{len(unreadable):,} of {n:,} images were left out. {named}"
            + (more if len(unreadable) > _NAMED else ""),
            UserWarning,
            stacklevel=3,
        )
