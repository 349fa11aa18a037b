"""Pictures of a clustering on matplotlib axes, for papers and notebooks.

Every function takes a fitted estimator of akkm, draws facts of `akkm.inspect` on `ax`
(by default on new axes) and returns the axes. The colours are those of Okabe and Ito,
which colour-blind readers can distinguish; clusters also differ in shape.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from akkm.diffusion.estimate_k import CONFIDENT_GAP
from akkm.extras import import_extra
from akkm.inspect import Inspection, sample_rows

__all__ = ["convergence", "evidence", "features", "map", "margins", "sizes"]


def __dir__() -> list[str]:
    """Public names only; otherwise, imported names would be listed."""
    return __all__


# Okabe and Ito's colours without black. The first clusters have these colours. Later
# clusters have darker shades of them, and then paler shades. With eight shapes, 168
# clusters look different.
_COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442",
)  # fmt: skip
# For each shade, the grey level that is mixed in, and the share of the colour.
_SHADES = ((0.0, 1.0), (0.0, 0.5), (1.0, 0.5))
_SHAPES = ("o", "s", "^", "D", "P", "v", "*", "X")
# A legend has space for at most this many clusters.
_MAX_LEGEND = 30


def map(model: Any, X: Any, ax: Any = None, *, n_rows: int = 5000) -> Any:
    """Draw rows on the two leading directions of the kernel's space.

    For models with an embedding, these are the directions of PCA in the embedding. For
    other models, they are the directions of kernel PCA in the span of the landmarks, or
    of sampled rows if the model has no landmarks.

    Parameters
    ----------
    model : fitted estimator of akkm
        The model to draw.
    X : array, data frame or CSR matrix of shape (n, d)
        The rows that the model was fitted to.
    ax : matplotlib axes, optional
        Where to draw. Default: new axes.
    n_rows : int, default=5000
        Maximum number of rows to draw; every cluster is represented.

    Returns
    -------
    matplotlib axes
        The axes with the picture.

    Examples
    --------
    >>> import akkm.plot
    >>> from akkm import ApproxKernelKMeans
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, random_state=0).fit(X)
    >>> ax = akkm.plot.map(model, X)
    >>> len(ax.collections)  # one per cluster
    2
    """
    facts = Inspection(model, X)
    drawn = facts.map_of(sample_rows(facts.labels, n_rows))
    labels = facts.labels[drawn.sample.rows]
    ax = _axes(ax)
    for k in facts.clusters:
        ax.scatter(*drawn.xy[labels == k].T, s=16, label=f"{k}", **_marker(k))
    if len(facts.clusters) <= _MAX_LEGEND:
        ax.legend(
            title="cluster",
            ncols=-(-len(facts.clusters) // 15),
            fontsize="small",
            loc="center left",
            bbox_to_anchor=(1.01, 0.5),
        )
    ax.set(
        xlabel="first kernel direction",
        ylabel="second kernel direction",
        title=f"{len(labels):,} of {facts.n_rows:,} rows, "
        f"{drawn.share:.0%} of the variance",
    )
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def sizes(model: Any, X: Any = None, ax: Any = None) -> Any:
    """Draw the number of rows of each cluster as bars.

    Parameters
    ----------
    model : fitted estimator of akkm
        The model to draw.
    X : array, data frame or CSR matrix of shape (n, d), optional
        The rows that the model was fitted to. They are validated, but not drawn.
    ax : matplotlib axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib axes
        The axes with the picture.

    Examples
    --------
    >>> import akkm.plot
    >>> from akkm import ApproxKernelKMeans
    >>> model = ApproxKernelKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> ax = akkm.plot.sizes(model)
    >>> sorted(int(bar.get_width()) for bar in ax.patches)
    [1, 2]
    """
    facts = Inspection(model, X)
    counts = facts.sizes[: facts.clusters.max(initial=-1) + 1]
    ax = _axes(ax)
    bars = ax.barh(np.arange(len(counts)), counts, color=_COLOURS[0])
    if len(counts) <= _MAX_LEGEND:
        shares = [f"{count:,} ({count / facts.n_rows:.1%})" for count in counts]
        ax.bar_label(bars, shares, padding=3, fontsize="small")
        ax.set_yticks(np.arange(len(counts)))
        ax.margins(x=0.25)
    ax.invert_yaxis()
    outliers = f" ({facts.n_outliers:,} outliers not shown)" if facts.n_outliers else ""
    ax.set(xlabel=f"rows{outliers}", ylabel="cluster")
    return ax


def convergence(model: Any, X: Any = None, ax: Any = None) -> Any:
    """Draw how many labels changed and how many rows were evaluated, by iteration.

    For an ensemble, draw only the number of labels changed, with one line per member.

    Parameters
    ----------
    model : fitted estimator of akkm
        The model to draw.
    X : array, data frame or CSR matrix of shape (n, d), optional
        The rows that the model was fitted to. They are validated, but not drawn.
    ax : matplotlib axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib axes
        The axes with the picture.

    Examples
    --------
    >>> import akkm.plot
    >>> from akkm import ApproxKernelKMeans
    >>> model = ApproxKernelKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> ax = akkm.plot.convergence(model)
    >>> [line.get_label() for line in ax.lines]
    ['labels changed', 'rows evaluated']
    """
    course = Inspection(model, X).convergence
    if course is None:
        raise ValueError(
            f"This {type(model).__name__} has no history_ of its iterations; fit it."
        )
    ax = _axes(ax)
    runs = course.histories
    style: dict[str, Any] = {"marker": "o", "markersize": 3, "color": _COLOURS[0]}
    style["alpha"] = 1 if len(runs) == 1 else 0.5
    for i, run in enumerate(runs):
        name = None if i else "labels changed"
        ax.plot(np.arange(1, len(run) + 1), run[:, 0], label=name, **style)
    if len(runs) == 1:
        style |= {"marker": "s", "color": _COLOURS[1], "linestyle": "--"}
        at = np.arange(1, len(runs[0]) + 1)
        ax.plot(at, runs[0][:, 1], label="rows evaluated", **style)
    # A logarithmic axis can't show 0, the number of labels that change in the last
    # iteration of a run that converged.
    ax.set_yscale("symlog", linthresh=1)
    ax.set_ylim(bottom=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="iteration")
    ax.legend()
    return ax


def evidence(model: Any, X: Any = None, ax: Any = None) -> Any:
    """Draw the evidence for each number of clusters: gaps in the spectrum, 0 to 1.

    The best and the second best number are marked. Data without clusters may have gaps
    up to the dotted line.

    Parameters
    ----------
    model : fitted SparseKernelKMeans or DiffusionKernelKMeans
        The model to draw.
    X : array, data frame or CSR matrix of shape (n, d), optional
        The rows that the model was fitted to. They are validated, but not drawn.
    ax : matplotlib axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib axes
        The axes with the picture.

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
    found = Inspection(model, X).evidence
    if found is None:
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
    """Draw how many standard deviations each cluster's mean is from the overall mean.

    If the means hardly differ in any column, as for a disc inside a ring, the picture
    shows the clusters' standard deviations, divided by the standard deviation of all
    rows.

    Parameters
    ----------
    model : fitted estimator of akkm
        The model to draw.
    X : array, data frame or CSR matrix of shape (n, d)
        The rows that the model was fitted to.
    ax : matplotlib axes, optional
        Where to draw. Default: new axes.
    feature_names : sequence of d str, optional
        Names of the columns. Default: those of the data frame that was fitted.
    n_features : int, default=20
        Maximum number of columns; those that differ most between clusters are drawn.

    Returns
    -------
    matplotlib axes
        The axes with the picture.

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
    found = Inspection(model, X, feature_names=feature_names).columns
    if found is None:
        raise ValueError(
            "There are no columns to draw: their means and spreads are equal in all "
            "clusters, or the kernel is precomputed."
        )
    z, middle, reach = found.z[:, :n_features], 0.0, 2.5  # (C, f)
    unit = "standard deviations"
    if not found.means_differ:
        z, middle, reach = found.spread[:, :n_features], 1.0, 1.0
        unit = "standard deviation, relative to that of all rows"
    ax = _axes(ax)
    limits = {"vmin": middle - reach, "vmax": middle + reach}
    image = ax.imshow(z.T, cmap="PuOr_r", aspect="auto", **limits)
    ax.set_yticks(np.arange(z.shape[1]), found.names[:n_features])
    ax.set_xticks(np.arange(z.shape[0]))
    ax.set(xlabel="cluster")
    if z.size <= 400:
        for place, value in np.ndenumerate(z):
            shade = "white" if abs(value - middle) > 0.72 * reach else "black"
            text = f"{value:.1f}".replace("-0.0", "0.0")
            ax.text(*place, text, ha="center", va="center", color=shade, size="x-small")
    ax.figure.colorbar(image, ax=ax, label=unit)
    return ax


def margins(model: Any, X: Any, ax: Any = None) -> Any:
    """Draw a histogram of how certain the labels are.

    The value of a row is its certainty: 0 on the border to the next cluster, and 1 at
    the center of its own cluster. For an ensemble, the value is `agreement_`, the share
    of members that agree with the label. The second colour shows rows near a border, or
    rows on which fewer than 60 % of the members agree.

    Parameters
    ----------
    model : fitted estimator of akkm
        The model to draw.
    X : array, data frame or CSR matrix of shape (n, d)
        The rows that the model was fitted to.
    ax : matplotlib axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib axes
        The axes with the picture.

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
    found = Inspection(model, X).certainty
    if found is None:
        raise ValueError(
            "There are no margins to draw: they are defined for two or more clusters, "
            "and computed from k(x, x), which a precomputed kernel strip does not "
            "contain."
        )
    counts, uncertain, edges = found.histogram()
    ax = _axes(ax)
    style = {"align": "edge", "edgecolor": "white"}
    width = np.diff(edges)
    ax.bar(edges[:-1], uncertain, width, color=_COLOURS[1], **style)
    ax.bar(edges[:-1], counts - uncertain, width, uncertain, color=_COLOURS[0], **style)
    name = "certainty: 0 at the border, 1 at the center"
    ax.set(
        xlabel="agreement of members" if found.from_votes else name,
        ylabel="rows",
        xlim=(0, edges[-1]),
    )
    return ax


def _axes(ax: Any) -> Any:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    pyplot = import_extra("matplotlib.pyplot", "Pictures need matplotlib", "plot")
    return pyplot.subplots(layout="constrained")[1]


def _marker(cluster: int) -> dict[str, Any]:
    """Colour and shape of a cluster."""
    hue = _COLOURS[cluster % len(_COLOURS)]
    mixed, share = _SHADES[cluster // len(_COLOURS) % len(_SHADES)]
    parts = (int(hue[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return {
        "color": tuple(share * part + (1 - share) * mixed for part in parts),
        "marker": _SHAPES[cluster % len(_SHAPES)],
        "edgecolors": "0.2",
        "linewidths": 0.3,
    }
