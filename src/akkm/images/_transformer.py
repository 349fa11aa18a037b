"""`SpatialPyramid`, which turns images into sparse rows."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from akkm.core.threads import Threads
from akkm.documentation import DocumentationLink
from akkm.images._descriptors import Descriptors, dense_sift, detected_sift
from akkm.images._files import ImageError, image_name, read_image, silenced_opencv
from akkm.images._pyramid import n_cells, pyramid_histogram
from akkm.images._vocabulary import learn_words, nearest_words
from akkm.typing import Array
from akkm.user_warnings import warn_user
from akkm.validation import generator, require_count

# The vocabulary is learned from at most this many images.
_MAX_IMAGES = 2_000
# A warning names at most this many unreadable files.
_MAX_NAMED = 5
_COUNT = Interval(Integral, 1, None, closed="left")


@dataclass(frozen=True, eq=False)
class DescribedImages:
    """Images as rows, and the images that could not be read.

    Parameters
    ----------
    X : CSR array of shape (n, n_cells * n_words)
        The histograms, float32.
    rows : int array of shape (n,)
        The position of each row's image in the list of given images.
    unreadable : tuple of str
        A message for each image that could not be read.
    """

    X: Any
    rows: Array
    unreadable: tuple[str, ...]


@dataclass(eq=False, repr=False, match_args=False)
class SpatialPyramid(DocumentationLink, TransformerMixin, BaseEstimator):
    """Histograms of visual words in the cells of a spatial pyramid.

    Each patch of an image is described by SIFT and replaced by the nearest of `n_words`
    visual words. Words are counted in each of 1 + 4 + 16 + ... cells, and counts are
    weighted by the level of the cell (Lazebnik, Schmid, Ponce 2006). The histogram
    intersection of two rows is the pyramid match kernel, so use
    `kernel="intersection"`. The kernel of an image with itself is 1.

    Parameters
    ----------
    n_words : int, default=200
        Number of visual words.
    levels : int, default=4
        Number of levels of the pyramid. Level l has 4^l cells, with l from 0.
    step : int, default=4
        Distance between neighbouring patches on the grid, in pixels.
    patch_size : int, default=16
        Side of a patch in pixels.
    keypoints : {"grid", "detected"}, default="grid"
        Which patches to describe: upright patches on a grid, or the keypoints that
        OpenCV's SIFT detects, with their scale and rotation.
    max_size : int, default=300
        Larger images are scaled down to this many pixels along the longer side.
    n_samples : int, default=200_000
        Number of descriptors from which the vocabulary is learned. They come from at
        most 2,000 images.
    unreadable : {"error", "skip"}, default="error"
        How to treat files that are not images, and images smaller than a patch: raise
        an error, or skip them with a warning that names them.
    random_state : int, RandomState or None, default=None
        Determines the sampled descriptors and the initialisation of k-means.
    n_jobs : int, optional
        Number of threads, all by default. The results do not depend on it.

    Attributes
    ----------
    vocabulary_ : float32 array of shape (n_words, 128)
        The descriptors of the visual words.
    n_features_out_ : int
        Number of columns of the histograms.

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

    n_words: int = 200
    levels: int = 4
    _: KW_ONLY
    step: int = 4
    patch_size: int = 16
    keypoints: str = "grid"
    max_size: int = 300
    n_samples: int = 200_000
    unreadable: str = "error"
    random_state: Any = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{key: [_COUNT] for key in ("n_words", "levels", "step", "n_samples")},
        "patch_size": [Interval(Integral, 4, None, closed="left")],
        "keypoints": [StrOptions({"grid", "detected"})],
        "unreadable": [StrOptions({"error", "skip"})],
    }

    def fit(self, X: Sequence[Any], y: Any = None) -> "SpatialPyramid":
        """Learn the visual words.

        Parameters
        ----------
        X : sequence of n images
            File names, or arrays as in `read_image`.
        y : None
            Ignored.

        Returns
        -------
        SpatialPyramid
            The fitted transformer.
        """
        _warn_of_skipped(self.learn(X), len(X))
        return self

    def transform(self, X: Sequence[Any]) -> Any:
        """Describe images by the learned words.

        Parameters
        ----------
        X : sequence of n images
            File names, or arrays as in `read_image`.

        Returns
        -------
        CSR array of shape (n, n_cells * n_words)
            The histograms, float32; each row adds up to one. Skipped images have no
            row; `describe` returns which images were skipped.
        """
        described = self.describe(X)
        _warn_of_skipped(described.unreadable, len(X))
        return described.X

    def learn(
        self, X: Sequence[Any], progress: Callable[[int], None] | None = None
    ) -> tuple[str, ...]:
        """Learn the visual words as `fit` does, but without warnings.

        Parameters
        ----------
        X : sequence of n images
            File names, or arrays as in `read_image`.
        progress : callable, optional
            Called with the number of images that were read since the last call.

        Returns
        -------
        tuple of str
            A message for each image that could not be read.
        """
        self._check_params()
        images = _require_sequence(X)
        rng = generator(self.random_state)
        if len(images) > _MAX_IMAGES:
            chosen = rng.choice(len(images), _MAX_IMAGES, replace=False)
            images = [images[i] for i in np.sort(chosen)]
        per_image = -(-self.n_samples // len(images))  # rounded up
        seeds = rng.integers(2**63, size=len(images))

        def sample(item: tuple[Any, int]) -> Array:
            values = self._descriptors(item[0]).values
            useful = np.flatnonzero(values.any(axis=1))  # patches with contrast
            rng = np.random.default_rng(item[1])
            chosen = rng.choice(useful, min(per_image, len(useful)), replace=False)
            return values[np.sort(chosen)]

        items = list(zip(images, seeds, strict=True))
        _, samples, unreadable = self._map(sample, items, progress)
        self.vocabulary_ = learn_words(np.concatenate(samples), self.n_words, rng)
        return unreadable

    def describe(
        self, X: Sequence[Any], progress: Callable[[int], None] | None = None
    ) -> DescribedImages:
        """Describe images as `transform` does, and list those that could not be read.

        Parameters
        ----------
        X : sequence of n images
            File names, or arrays as in `read_image`.
        progress : callable, optional
            Called with the number of images that were read since the last call.

        Returns
        -------
        DescribedImages
            The histograms, the positions of their images in X, and a message for each
            image that could not be read.
        """
        check_is_fitted(self)
        self._check_params()
        if self.vocabulary_.shape != (self.n_words, 128):
            raise ValueError(
                f"n_words={self.n_words}, but {len(self.vocabulary_)} words were "
                "learned; fit again."
            )
        images = _require_sequence(X)
        rows, histograms, unreadable = self._map(self._histogram, images, progress)
        return DescribedImages(sparse.vstack(histograms, "csr"), rows, unreadable)

    def require_valid(self) -> None:
        """Raise an exception if the fitted attributes contradict the parameters.

        This may happen if the transformer was loaded from a damaged file.

        Raises
        ------
        ValueError
            If a parameter is not valid, or if the vocabulary has a type or a shape that
            `fit` never gives it.
        """
        check_is_fitted(self)
        self._check_params()
        words = self.vocabulary_
        if words.shape != (self.n_words, 128) or words.dtype != np.float32:
            raise ValueError(f"There are not {self.n_words} visual words.")
        if not np.isfinite(words).all():
            raise ValueError("Visual words are not finite.")

    @property
    def n_features_out_(self) -> int:
        """Number of columns of the histograms."""
        return n_cells(self.levels) * len(self.vocabulary_)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return names of columns, such as "word 3 in row 0, column 1 of 2 x 2".

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        array of str
            One name per column.
        """
        check_is_fitted(self)
        cells = [
            f" in row {row}, column {column} of {side} x {side}" if side > 1 else ""
            for side in 2 ** np.arange(self.levels)
            for row in range(side)
            for column in range(side)
        ]
        names = [f"word {word}{cell}" for cell in cells for word in range(self.n_words)]
        return np.array(names, dtype=object)

    def _map(
        self,
        function: Callable[[Any], Any],
        items: Sequence[Any],
        progress: Callable[[int], None] | None,
    ) -> tuple[Array, list[Any], tuple[str, ...]]:
        """Return positions and results of readable items, and messages for the rest."""

        def attempt(item: Any) -> Any:
            try:
                return function(item)
            except ImageError as error:
                if self.unreadable == "error":
                    raise
                return error

        results: dict[int, Any] = {}
        unreadable: list[str] = []
        with silenced_opencv(), Threads(self.n_jobs) as threads:
            for i, result in enumerate(threads.map(attempt, items)):
                if isinstance(result, ImageError):
                    unreadable.append(str(result))
                else:
                    results[i] = result
                if progress is not None:
                    progress(1)
        if not results:
            raise ImageError(
                f"None of {len(items):,} images could be read. {unreadable[0]}"
            )
        return np.array(list(results)), list(results.values()), tuple(unreadable)

    def _descriptors(self, source: Any) -> Descriptors:
        gray = read_image(source, self.max_size)
        if self.keypoints == "detected":
            return detected_sift(gray)
        if min(gray.shape) < self.patch_size:
            height, width = gray.shape
            raise ImageError(
                f"{image_name(source)} is {width} x {height} pixels; expected at least "
                f"patch_size={self.patch_size} pixels along each side."
            )
        return dense_sift(gray, self.step, self.patch_size)

    def _histogram(self, source: Any) -> Any:
        """Return an image's histogram: float32 CSR array (1, n_cells * n_words)."""
        patches = self._descriptors(source)
        words = nearest_words(patches.values, self.vocabulary_)
        row = pyramid_histogram(patches.places, words, self.n_words, self.levels)
        return sparse.csr_array(row[None].astype(np.float32))

    def _check_params(self) -> None:
        self._validate_params()
        require_count("max_size", self.max_size, self.patch_size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _require_sequence(X: Any) -> Sequence[Any]:
    """Return X itself; raise an error if X is empty or not a sequence of images."""
    if isinstance(X, str) or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise TypeError(
            f"X is a {type(X).__name__}; expected a list of file names or of images."
        )
    if not len(X):
        raise ValueError("X has no images; expected at least one.")
    return X


def _warn_of_skipped(unreadable: tuple[str, ...], n: int) -> None:
    if unreadable:
        more = f" And {len(unreadable) - _MAX_NAMED:,} more."
        warn_user(
            f"{len(unreadable):,} of {n:,} images were left out. "
            + " ".join(unreadable[:_MAX_NAMED])
            + (more if len(unreadable) > _MAX_NAMED else ""),
            UserWarning,
        )
