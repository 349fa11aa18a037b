"""Pictures of a clustering on matplotlib axes: the report's, for papers and notebooks.

Every function takes a fitted estimator of akkm and an `ax`, or makes one, and returns
it. Colours are those of Okabe and Ito, which colour-blind people can tell apart, and
clusters differ in shape as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.diffusion.estimate_k import CONFIDENT_GAP
from akkm.inspect._certainty import certainty
from akkm.inspect._features import features as telling_features
from akkm.inspect._features import names_for
from akkm.inspect._nearness import nearness
from akkm.inspect._quality import convergence as course_of
from akkm.inspect._sample import draw
from akkm.inspect._space import plane_of
from akkm.inspect._subject import checked_model, subject

Array = NDArray[Any]

__all__ = ["convergence", "evidence", "features", "map", "margins", "sizes"]

# Okabe and Ito's colours without black, which become darker, then paler in each next
# round. With eight shapes 168 clusters look different.
_COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442",
)  # fmt: skip
_SHADES = ((0.0, 1.0), (0.0, 0.5), (1.0, 0.5))  # mixed with black or white: how much
_SHAPES = ("o", "s", "^", "D", "P", "v", "*", "X")
# Clusters named in a legend; more would not fit.
_NAMED = 30


def map(model: Any, X: Any, ax: Any = None, *, n_rows: int = 5000) -> Any:
    """Rows on the two leading directions of the kernel's space.

    Kernel PCA in the span of the model's landmarks (of some rows, if it has none);
    PCA of the embedding, for models that have one.

    Parameters
    ----------
    model : fitted estimator of akkm
    X : array, data frame or CSR matrix of shape (n, d)
        The rows that it was fitted to.
    ax : matplotlib axes, optional
    n_rows : int, default=5000
        Most rows that are drawn; every cluster is among them.

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import akkm.plot
    >>> from akkm import ApproxKernelKMeans
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, random_state=0).fit(X)
    >>> ax = akkm.plot.map(model, X)
    >>> len(ax.collections)  # a cluster each
    2
    """
    model, X = subject(model, X)
    labels = model.labels_
    sample = draw(labels, most=n_rows)
    seen = plane_of(model, X, sample)
    ax = _axes(ax)
    clusters = np.unique(labels)
    for k in clusters:
        points = seen.xy[labels[sample.rows] == k]
        ax.scatter(*points.T, s=16, label=f"{k}", **_look(k))
    _legend(ax, len(clusters))
    ax.set(
        xlabel="first kernel direction",
        ylabel="second kernel direction",
        title=f"{len(sample.rows):,} of {len(labels):,} rows, "
        f"{seen.share:.0%} of the variance",
    )
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def sizes(model: Any, X: Any = None, ax: Any = None) -> Any:
    """Rows of each cluster, as bars.

    Parameters
    ----------
    model : fitted estimator of akkm
    X : array, data frame or CSR matrix of shape (n, d), optional
        The rows that it was fitted to; not needed.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import akkm.plot
    >>> from akkm import ApproxKernelKMeans
    >>> model = ApproxKernelKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> ax = akkm.plot.sizes(model)
    >>> sorted(int(bar.get_width()) for bar in ax.patches)
    [1, 2]
    """
    if X is not None:
        model, X = subject(model, X)
    elif not hasattr(checked_model(model), "labels_"):
        raise ValueError(
            f"This {type(model).__name__} has no labels_, as it was read from a file; "
            "give the rows to count too."
        )
    counts = np.bincount(model.labels_)
    ax = _axes(ax)
    bars = ax.barh(np.arange(len(counts)), counts, color=_COLOURS[0])
    if len(counts) <= _NAMED:
        shares = [f"{count:,} ({count / counts.sum():.1%})" for count in counts]
        ax.bar_label(bars, shares, padding=3, fontsize="small")
        ax.set_yticks(np.arange(len(counts)))
        ax.margins(x=0.25)
    ax.invert_yaxis()
    ax.set(xlabel="rows", ylabel="cluster")
    return ax


def convergence(model: Any, X: Any = None, ax: Any = None) -> Any:
    """Labels that changed and rows that were looked at, in each iteration.

    Of an ensemble, the labels that changed in each of its members.

    Parameters
    ----------
    model : fitted estimator of akkm
    X : array, data frame or CSR matrix of shape (n, d), optional
        The rows that it was fitted to; not needed.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import akkm.plot
    >>> from akkm import ApproxKernelKMeans
    >>> model = ApproxKernelKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> ax = akkm.plot.convergence(model)
    >>> [line.get_label() for line in ax.lines]
    ['labels changed', 'rows looked at']
    """
    course = course_of(checked_model(model))
    if X is not None:
        subject(model, X)
    if course is None:
        raise ValueError(
            f"This {type(model).__name__} has no history_ of its iterations; fit it."
        )
    ax = _axes(ax)
    runs = course.histories
    look: dict[str, Any] = {"color": _COLOURS[0], "marker": "o", "markersize": 3}
    for i, run in enumerate(runs):
        at = np.arange(1, len(run) + 1)
        name = "labels changed" if not i else None
        ax.plot(at, run[:, 0], label=name, alpha=1 if len(runs) == 1 else 0.5, **look)
    if len(runs) == 1:
        look = {"color": _COLOURS[1], "linestyle": "--", "marker": "s", "markersize": 3}
        ax.plot(at, runs[0][:, 1], label="rows looked at", **look)
    # The last number of a run that settled is zero.
    ax.set_yscale("symlog", linthresh=1)
    ax.set_ylim(bottom=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="iteration")
    ax.legend()
    return ax


def evidence(model: Any, X: Any = None, ax: Any = None) -> Any:
    """What speaks for each number of clusters: a bar each, 1 being as clear as can be.

    Marked are the number that speaks loudest and the next best; bars below the dotted
    line are no wider than rows without clusters may have.

    Parameters
    ----------
    model : fitted SparseKernelKMeans or DiffusionKernelKMeans
    X : array, data frame or CSR matrix of shape (n, d), optional
        The rows that it was fitted to; not needed.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import akkm.plot
    >>> from akkm import SparseKernelKMeans
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(500, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = SparseKernelKMeans("auto", random_state=0).fit(X)
    >>> akkm.plot.evidence(model).get_title()
    '3 clusters, sure'
    """
    found = getattr(checked_model(model), "evidence_", None)
    if X is not None:
        subject(model, X)
    if found is None or not len(found.numbers):
        raise ValueError(
            f"This {type(model).__name__} has no evidence_ to draw; fit "
            "SparseKernelKMeans or DiffusionKernelKMeans to more than two rows."
        )
    ax = _axes(ax)
    shades = dict.fromkeys(found.numbers.tolist(), "0.7")
    shades |= {found.second: _COLOURS[1], found.n_clusters: _COLOURS[0]}
    colours = [shades[k] for k in found.numbers.tolist()]
    bars = ax.bar(found.numbers, found.gaps, color=colours)
    names = [f"{k}" if shades[k] != "0.7" else "" for k in found.numbers.tolist()]
    ax.bar_label(bars, names, padding=2)
    ax.axhline(CONFIDENT_GAP, color="0.4", linestyle=":")
    ax.xaxis.get_major_locator().set_params(integer=True)
    sure = "sure" if found.sure else "unsure"
    ax.set(
        xlabel="number of clusters",
        ylabel="gap in the spectrum",
        xlim=(1, max(20, found.n_clusters + 5, (found.second or 0) + 5)),
        ylim=(0, 1.1),
        title=f"{found.n_clusters} clusters, {sure}",
    )
    return ax


def features(
    model: Any,
    X: Any,
    ax: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    n_features: int = 20,
) -> Any:
    """Heat map of the clusters' means, in standard deviations from the overall mean.

    Parameters
    ----------
    model : fitted estimator of akkm
    X : array, data frame or CSR matrix of shape (n, d)
        The rows that it was fitted to.
    ax : matplotlib axes, optional
    feature_names : sequence of d str, optional
    n_features : int, default=20
        Most columns that are shown; the most telling ones, first.

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import akkm.plot
    >>> from akkm import ApproxKernelKMeans
    >>> X = [[0.0, 1.0], [1.0, 2.0], [10.0, 1.0], [11.0, 2.0]]
    >>> model = ApproxKernelKMeans(2, random_state=0).fit(X)
    >>> ax = akkm.plot.features(model, X, feature_names=["height", "noise"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['height']
    """
    model, X = subject(model, X)
    names = names_for(model, feature_names, X.shape[1])
    found = telling_features(X, model.labels_, names, n_features)
    ax = _axes(ax)
    image = ax.imshow(found.z.T, cmap="PuOr_r", vmin=-2.5, vmax=2.5, aspect="auto")
    ax.set_yticks(np.arange(len(found.names)), found.names)
    ax.set_xticks(np.arange(len(found.z)))
    ax.set(xlabel="cluster")
    if found.z.size <= 400:
        for (k, j), z in np.ndenumerate(found.z):
            shade = "white" if abs(z) > 1.8 else "black"
            text = f"{z:.1f}".replace("-0.0", "0.0")
            ax.text(k, j, text, ha="center", va="center", color=shade, size="x-small")
    ax.figure.colorbar(image, ax=ax, label="standard deviations")
    return ax


def margins(model: Any, X: Any, ax: Any = None) -> Any:
    """How sure assignments are, as a histogram.

    A row is at 0 on the border to the next cluster, at 1 as far from it as the center
    of its own: with distances d to its center and d' to the next it is at d'² - d², in
    units of the mean of that over its cluster. For `EnsembleKernelKMeans` it is
    `agreement_`, the share of members that agree.

    Parameters
    ----------
    model : fitted estimator of akkm
    X : array, data frame or CSR matrix of shape (n, d)
        The rows that it was fitted to.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import akkm.plot
    >>> from akkm import ApproxKernelKMeans
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, random_state=0).fit(X)
    >>> ax = akkm.plot.margins(model, X)
    >>> sum(bar.get_height() for bar in ax.patches)
    np.float64(4.0)
    """
    model, X = subject(model, X)
    near = None
    if not hasattr(model, "agreement_"):
        near = nearness(model, X, model.labels_)
    found = certainty(model, near)
    if found is None:
        raise ValueError(
            "There are no margins: they need two clusters, and k(x, x) of the rows, "
            "which a precomputed strip does not hold."
        )
    counts, edges = found.histogram()
    ax = _axes(ax)
    ax.bar(
        edges[:-1],
        counts,
        np.diff(edges),
        align="edge",
        color=_COLOURS[0],
        edgecolor="white",
    )
    ax.axvline(found.limit, color="0.4", linestyle=":")
    name = "0: at the border, 1: at the center"
    ax.set(
        xlabel="agreement of members" if found.agreement else name,
        ylabel="rows",
        xlim=(0, found.top),
    )
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Pictures need matplotlib: pip install 'akkm[plot]'"
        ) from error
    return pyplot.subplots(layout="constrained")[1]


def _look(k: int) -> dict[str, Any]:
    """Colour and shape of a cluster."""
    hue = _COLOURS[k % len(_COLOURS)]
    mixed, share = _SHADES[k // len(_COLOURS) % len(_SHADES)]
    parts = (int(hue[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return {
        "color": tuple(share * part + (1 - share) * mixed for part in parts),
        "marker": _SHAPES[k % len(_SHAPES)],
        "edgecolors": "0.2",
        "linewidths": 0.3,
    }


def _legend(ax: Any, n_clusters: int) -> None:
    if n_clusters <= _NAMED:
        columns = -(-n_clusters // 15)
        ax.legend(
            title="cluster",
            ncols=columns,
            fontsize="small",
            loc="center left",
            bbox_to_anchor=(1.01, 0.5),
        )
