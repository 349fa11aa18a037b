"""Base class of estimators that accept constraints on labels."""

from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from akkm.core.threads import Threads
from akkm.estimators._base import KernelClusterer
from akkm.estimators._centers import CenterClusterer
from akkm.estimators._parameters import GuidedParameters, estimator
from akkm.guided.constraints import read_constraints
from akkm.guided.guide import Guidance, Guide
from akkm.guided.parts import GuidedParts
from akkm.guided.questions import candidate_rows, choose_questions
from akkm.guided.reading import read_known
from akkm.guided.width import choose_gamma
from akkm.kernels import Kernel, resolve
from akkm.rows import as_rows, is_dask
from akkm.typing import Array, RowsLike
from akkm.validation import require_count

# gamma="known" compares at most this many known rows.
_MOST_KNOWN = 2_000


class GuidedFit(KernelClusterer):
    """Base class of estimators whose `fit` accepts known classes and pairs of rows."""

    # Prepares walks that spread known classes to near points; see `Guidance.walks`.
    _class_walks: Callable[..., Any] | None = None

    @property
    def _guided(self) -> Any:
        """The object whose parameters say how constraints are applied."""
        return self

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
        """Cluster the rows of X, with or without constraints on their labels.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            The rows, or a precomputed kernel. `ApproxKernelKMeans`,
            `EnsembleKernelKMeans` and `DiffusionKernelKMeans` also take Dask
            collections and rows from `akkm.open_rows`.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts like two equal rows. A row of weight 0 gets a
            label, but has no influence.
        known : array of shape (n,) or mapping, optional
            Known classes: one per row, with -1, None or NaN if it is unknown; or a
            mapping from row numbers to classes. Classes may be numbers or strings.
        must_link : array of shape (p, 2) or list of groups, optional
            Rows that belong to the same cluster: pairs, or groups of several rows.
        cannot_link : array of shape (p, 2) or list of groups, optional
            Rows that belong to different clusters. In a group, no two rows may be in
            the same cluster.

        Returns
        -------
        object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from akkm import ApproxKernelKMeans
        >>> X = np.array([[0.0], [1.0], [5.0], [10.0], [11.0]])
        >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0)
        >>> model = model.fit(X, known={0: "low", 4: "high"}, must_link=[(2, 4)])
        >>> [model.label_names_[k] for k in model.labels_]
        ['low', 'low', 'high', 'high', 'high']
        """

        def read(n: int) -> Guidance | None:
            return self._read_guidance(n, known, must_link, cannot_link)

        return self._fit_guided(X, y, sample_weight, read)

    def _read_guidance(
        self, n: int, known: Any, must_link: Any, cannot_link: Any
    ) -> Guidance | None:
        """Return the constraints on n rows, or None; forget those of an earlier fit."""
        inputs = [known, must_link, cannot_link]
        for attribute in ("label_names_", "violated_"):
            self.__dict__.pop(attribute, None)
        if all(each is None for each in inputs):
            return None
        known_, must, cannot = (np.asarray(i) if is_dask(i) else i for i in inputs)
        given = self._guided
        hard = given.strength == "hard"
        found = read_constraints(n, known_, must, cannot, hard=hard)
        if found is None:
            return None
        strength = np.inf if hard else float(given.strength)
        per_class, known_weight = given.clusters_per_class, given.known_weight
        return Guidance(found, strength, per_class, known_weight, self._class_walks)

    def _cluster_rows(
        self,
        X: RowsLike,
        y: Any,
        weights: Array | None,
        guidance: Guidance | None = None,
    ) -> None:
        """Cluster validated rows, with the width that gamma="known" chooses."""
        if getattr(self, "gamma", None) != "known":
            super()._cluster_rows(X, y, weights, guidance)
            return
        self.gamma: Any = self._known_gamma(X, weights, guidance)
        try:
            super()._cluster_rows(X, y, weights, guidance)
        finally:
            self.gamma = "known"

    def _known_gamma(
        self: Any, X: RowsLike, weights: Array | None, guidance: Guidance | None
    ) -> float:
        """Return the gamma that separates the known rows best."""
        if guidance is None or not guidance.constraints.classes:
            raise ValueError(
                "gamma='known' needs known classes; pass known= to fit, or use "
                "gamma='scale'."
            )
        given = {"degree": self.degree, "coef0": self.coef0}
        given |= {"kernel_params": self.kernel_params, "sample_weight": weights}

        def kernel_of(gamma: Any) -> Kernel:
            return resolve(self.kernel, X, gamma=gamma, **given)

        first = kernel_of("scale")
        gamma = getattr(first, "gamma", None)
        if not isinstance(gamma, Real):
            raise ValueError(
                f"gamma='known' needs a kernel with a width, which {first} is not; "
                "use kernel='rbf', or leave out gamma."
            )
        found = guidance.constraints
        some = np.flatnonzero(found.known >= 0)
        if len(some) > _MOST_KNOWN:
            some = some[np.linspace(0, len(some) - 1, _MOST_KNOWN).astype(np.int64)]
        rows = as_rows(X).gather(found.rows[some])
        return choose_gamma(rows, found.known[some], float(gamma), kernel_of)

    def _describe_guide(self, guide: Guide, labels: Array) -> None:
        """Set `label_names_` and `violated_` from labels (g,) of the groups."""
        classes = guide.constraints.classes
        self.label_names_ = [classes[k] if k >= 0 else None for k in guide.owner]
        self.violated_ = guide.violations(labels)


@estimator
class GuidedClusterer(GuidedParameters, GuidedFit, CenterClusterer):
    """Base class of estimators with centers that accept constraints."""

    def suggest(self, X: Any, n: int = 10, known: Any = None) -> Array:
        """Choose rows to ask about: those whose classes would help most.

        The chosen rows are spread over the data, and typical of regions in which
        clusters are uncertain. Pass their classes to `fit` as `known`.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (m, d)
            Rows; usually those of the fit.
        n : int, default=10
            Number of rows to choose.
        known : array of shape (m,) or mapping, optional
            Classes that are known already, as in `fit`. These rows are not chosen, and
            regions near them need no question.

        Returns
        -------
        int array of shape (n,)
            Row numbers, the most useful first. There are fewer than n if fewer rows
            have an unknown class.

        Examples
        --------
        >>> import numpy as np
        >>> from akkm import ApproxKernelKMeans
        >>> X = np.repeat([[0.0], [5.0], [10.0]], 5, axis=0)
        >>> model = ApproxKernelKMeans(3, kernel="linear", random_state=0).fit(X)
        >>> sorted((model.suggest(X, 3) // 5).tolist())
        [0, 1, 2]
        """
        require_count("n", n)
        if is_dask(X):
            raise TypeError(
                "suggest got a Dask collection; expected rows in memory, such as a "
                "sample: X[:10_000].compute()."
            )
        X = self._new_rows(X)
        known_rows = np.empty(0, dtype=np.int64)
        if known is not None:
            known_rows = read_known(known, X.shape[0])[0]
        with Threads(self.n_jobs) as engine:
            points = self._embed(X, engine)
            blocks = self._model.compare(points, engine)
            squared = np.concatenate([block.squared for block in blocks])
            rows = candidate_rows(X.shape[0], known_rows)
            distances = np.sqrt(squared[rows].clip(0))
            if hasattr(self, "_embedding"):
                coordinates = points[rows]
            else:
                coordinates = self._coordinates(as_rows(X).gather(rows), engine)
        if coordinates is None:
            coordinates = distances
        at = np.searchsorted(rows, known_rows)
        return rows[choose_questions(distances, coordinates, n, at)]

    def _coordinates(self, X: RowsLike, engine: Threads) -> Array | None:
        """Return coordinates (b, q) of rows; None if they have only distances."""
        return None

    def _describe_constraints(self, parts: Any) -> None:
        """Set `label_names_` and `violated_` after a fit with constraints."""
        if isinstance(parts, GuidedParts):
            assert parts.group_labels is not None
            self._describe_guide(parts.guide, parts.group_labels)
