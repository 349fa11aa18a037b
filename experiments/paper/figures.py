"""Figures 3 to 6: means and spreads of measures against the number of landmarks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiments.harness.pages import Picture
from experiments.paper.results import SMALL, Results
from experiments.paper.tables import DATA, STRATEGIES, sampling_settings, title

# Colours of Okabe and Ito, and marker shapes for readers who can't see colours.
_STYLES = {
    "aKKm": ("#0072b2", "o"),
    "tKKm": ("#e69f00", "s"),
    "nysSC": ("#009e73", "^"),
    "KKm": ("#000000", ""),
    "lKKm": ("#cc79a7", ""),
    "k-means": ("#d55e00", ""),
    "uniform": ("#0072b2", "o"),
    "column-norm": ("#d55e00", "v"),
    "diagonal": ("#009e73", "^"),
    "k-means sampling": ("#cc79a7", "D"),
    "single runs": ("#0072b2", "o"),
    "ensembles of ten": ("#d55e00", "D"),
}
# Lines are shifted sideways so that their error bars don't overlap. To shift a line,
# its values of m are multiplied by a power of this factor.
_SHIFT = 1.1
_DASHES = {"KKm": "-", "lKKm": ":", "k-means": "--"}
_LONG_NAMES = {"KKm": "kernel k-means"}


@dataclass(frozen=True)
class Line:
    """The values of one method in a panel."""

    name: str
    method: str
    settings: dict[str, str]
    flat: bool = False  # the method has no landmarks, so m has no effect


@dataclass(frozen=True)
class Panel:
    """A plot of one measure on one data set."""

    data: str
    measure: str
    label: str
    lines: Sequence[Line]


def figures(results: Results) -> dict[str, Picture]:
    """Return Figures 3 to 6 by their number."""
    both = [Line(name, name, {}) for name in ("aKKm", "tKKm")]
    spectral = Line("nysSC", "nysSC", {})
    flat = {
        name: Line(name, name, {}, flat=True) for name in ("KKm", "k-means", "lKKm")
    }
    reduction = [
        Panel(d, "reduction", "error reduction", [*both, flat["KKm"]]) for d in DATA
    ]
    scored = [
        Panel(d, "nmi", "NMI with the classes", [*both, spectral, *flat.values()])
        for d in DATA
    ]
    strategies = [
        Line(f"{s} sampling" if s == "k-means" else s, "aKKm", sampling_settings(s))
        for s in STRATEGIES
    ]
    measures = {"reduction": "error reduction", "nmi": "NMI with the classes"}
    sampled = [
        Panel(d, measure, label, strategies)
        for d in SMALL
        for measure, label in measures.items()
    ]
    members = [
        Line("single runs", "aKKm", {}),
        Line("ensembles of ten", "ensemble", {}),
    ]
    ensembles = [Panel(d, "nmi", "NMI with the classes", members) for d in DATA]
    captions = {
        "3": "Error reduction against the number of landmarks. A higher reduction "
        "means more compact clusters. Bars and bands",
        "4": "Normalised mutual information of clusters and classes. Bars and bands",
        "5": "aKKm with four strategies to sample landmarks. Bars",
        "6": "Single runs of aKKm and ensembles of ten. Bars",
    }
    panels = {"3": reduction, "4": scored, "5": sampled, "6": ensembles}
    return {
        number: _picture(
            results,
            f"figure{number}.png",
            panels[number],
            f"Figure {number}. {caption} show the standard deviation over seeds.",
        )
        for number, caption in captions.items()
    }


def _picture(
    results: Results, name: str, panels: Sequence[Panel], caption: str
) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.9), layout="constrained")
    handles: dict[str, Any] = {}
    for axes, panel in zip(figure.subplots(1, len(panels)), panels, strict=True):
        _plot_panel(results, axes, panel, handles)
    if handles:
        figure.legend(
            handles.values(), handles.keys(), loc="outside upper center",
            ncols=len(handles), frameon=False,
        )  # fmt: skip
    file = io.BytesIO()
    figure.savefig(file, dpi=130, format="png")
    return Picture(name, caption, file.getvalue())


def _plot_panel(
    results: Results, axes: Any, panel: Panel, handles: dict[str, Any]
) -> None:
    sizes = results.sizes(panel.data)
    middle = (sum(not line.flat for line in panel.lines) - 1) / 2
    for number, line in enumerate(panel.lines):
        colour, shape = _STYLES[line.name]
        if line.flat:
            spread = results.get(panel.measure, panel.data, line.method)
            if spread is None:
                continue
            low, high = spread.mean - spread.sd, spread.mean + spread.sd
            axes.axhspan(low, high, color=colour, alpha=0.1, linewidth=0)
            drawn = axes.axhline(
                spread.mean, color=colour, linestyle=_DASHES[line.name], linewidth=1.3
            )
        else:
            row = panel.measure, panel.data, line.method
            spreads = [(m, results.get(*row, m, **line.settings)) for m in sizes]
            points = [(m, spread) for m, spread in spreads if spread is not None]
            if not points:
                continue
            drawn = axes.errorbar(
                [m * _SHIFT ** (number - middle) for m, _ in points],
                [spread.mean for _, spread in points],
                [spread.sd for _, spread in points],
                color=colour, marker=shape, markersize=4.5, capsize=3, linewidth=1.3,
            )  # fmt: skip
        handles.setdefault(_LONG_NAMES.get(line.name, line.name), drawn)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{m:,}" for m in sizes], rotation=40)
    axes.minorticks_off()
    axes.set_xlim(sizes[0] / 1.35, sizes[-1] * 1.35)
    axes.set(xlabel="landmarks m", ylabel=panel.label)
    axes.set_title(title(results, panel.data), fontsize=10.5)
    axes.grid(axis="y", alpha=0.3)
    if not axes.has_data():
        axes.text(0.5, 0.5, "not run yet", ha="center", transform=axes.transAxes)
