"""The paper's tables, with our values next to the paper's.

`experiments.paper` explains the names of the methods.
"""

from __future__ import annotations

from collections.abc import Iterable

from experiments.datasets import describe
from experiments.harness.pages import Block, Paragraph, ResultTable
from experiments.paper.results import (
    LARGE,
    SMALL,
    WITH_LANDMARKS,
    WITHOUT_LANDMARKS,
    Results,
    Spread,
)

DATA = (*SMALL, *LARGE)
STRATEGIES = ("uniform", "column-norm", "diagonal", "k-means")
_NAMES = {
    "KKm": "kernel k-means",
    "k-means": "k-means",
    "lKKm": "lKKm",
    "full kernel": "all kernel values",
}


def title(results: Results, data: str) -> str:
    """Return the title of a data set. The title of a stand-in contains "stand-in"."""
    return _about(results, data)[0]


def _about(results: Results, data: str) -> tuple[str, str, str]:
    """Return title, shape and description of a data set.

    The shape is that of the first record.
    """
    for record in results.records:
        if record["cell"]["data"] == results.name(data):
            shape = f"{record['rows']:,} x {record['columns']:,}"
            title, note = describe(results.name(data), stand_in=record["stand_in"])
            return title, shape, note
    title, note = describe(results.name(data))
    return title, "not run yet", note


def seconds(spread: Spread | None, none: str = "–") -> str:
    """Format a time and its standard deviation, in seconds or milliseconds."""
    if spread is None:
        return none
    small = spread.mean < 0.0995
    value, sd = (1000 * x if small else x for x in (spread.mean, spread.sd))
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    varied = f" ± {sd:,.{digits}f}" if sd else ""
    return f"{value:,.{digits}f}{varied} {'ms' if small else 's'}"


def share(spread: Spread | None, none: str = "–") -> str:
    """Format a number from 0 to 1 and its standard deviation."""
    if spread is None:
        return none
    varied = f" ± {spread.sd:.3f}" if spread.n > 1 else ""
    return f"{spread.mean:.3f}{varied}"


def data_sets(results: Results) -> list[Block]:
    """Return Table 1: the data sets."""
    names = (*SMALL, "covtype", "kddcup99", "kddcup99-full")
    rows = [_about(results, data) for data in names]
    return [
        ResultTable(
            "Data sets (Table 1)", ["", "rows x columns", "description"], rows, True
        )
    ]


def running_time(results: Results) -> list[Block]:
    """Return Table 2, the running times, and a table of ratios between methods."""
    blocks: list[Block] = []
    for data, letter in zip(DATA, "abcd", strict=True):
        head = ["m", "runs", "kernel", "paper"]
        for method in WITH_LANDMARKS:
            head += [method, "paper"]
        rows = [_time_row(results, data, m) for m in results.table_sizes(data)]
        name = title(results, data)
        blocks.append(ResultTable(f"Table 2({letter}), {name}", head, rows))
        others = [
            [
                _NAMES[method],
                seconds(
                    results.get("seconds", data, method),
                    results.missing_reason(data, method, None),
                ),
                "more than 24 h"
                if method == "lKKm" and data in LARGE and not results.tiny
                else seconds(results.paper("seconds", data, method)),
            ]
            for method in (*WITHOUT_LANDMARKS, "full kernel")
        ]
        blocks.append(
            ResultTable(f"{name}, without landmarks", ["", "ours", "paper"], others)
        )
    faster = [] if results.tiny else [_faster_than_the_paper(results)]
    return [*blocks, *_ratios(results), *faster]


def _faster_than_the_paper(results: Results) -> Paragraph:
    """Say for how many pairs of data set and m aKKm is faster than in the paper."""
    pairs = [
        (results.get("seconds", data, "aKKm", m), paper_total(results, data, "aKKm", m))
        for data in DATA
        for m in results.sizes(data)
    ]
    known = [(a.mean, b.mean) for a, b in pairs if a is not None and b is not None]
    n_faster = sum(ours < theirs for ours, theirs in known)
    n_missing = len(pairs) - len(known)
    return Paragraph(
        f"aKKm takes less time than in the paper for {n_faster} of {len(known)} "
        "combinations of data set and m"
        + (f" ({n_missing} more are not run yet)" if n_missing else "")
        + ". The machines differ, and we have 12,000 images instead of 20,000."
    )


def paper_total(results: Results, data: str, method: str, m: int) -> Spread | None:
    """Return the paper's time, in seconds, for kernel values and clustering together.

    The paper's times of aKKm and tKKm do not include the time of kernel values, so this
    time is added. The paper's time of nysSC includes it, except on images: there, the
    time of nysSC is below the time of kernel values alone, so this time is added, too.
    """
    kernel, clustering = (
        results.paper("seconds", data, x, m) for x in ("kernel", method)
    )
    if clustering is None or (method == "nysSC" and data != "imagenet12"):
        return clustering
    assert kernel is not None
    sd = (kernel.sd**2 + clustering.sd**2) ** 0.5
    return Spread(kernel.mean + clustering.mean, sd, 10)


def _time_row(results: Results, data: str, m: int) -> list[str]:
    columns = ("kernel", *WITH_LANDMARKS)
    shown = {x: results.get("seconds", data, x, m) for x in columns}
    row = [f"{m:,}", number_of_runs(shown.values())]
    for method, ours in shown.items():
        theirs = (
            results.paper("seconds", data, method, m)
            if method == "kernel"
            else paper_total(results, data, method, m)
        )
        row += [seconds(ours, results.missing_reason(data, method, m)), seconds(theirs)]
    return row


def number_of_runs(shown: Iterable[Spread | None]) -> str:
    """Return the number of runs over which the numbers of a row are averaged."""
    counts = {spread.n for spread in shown if spread is not None}
    ends = sorted({min(counts), max(counts)}) if counts else ["–"]
    return " to ".join(map(str, ends))


def _ratios(results: Results) -> list[Block]:
    """Return a table of times relative to the time of aKKm on the same machine."""
    rows = []
    for data in DATA:
        for m in results.sizes(data):
            ours = results.get("seconds", data, "aKKm", m)
            theirs = paper_total(results, data, "aKKm", m)
            row = [f"{title(results, data)}, m = {m:,}"]
            for method in ("tKKm", "nysSC", "k-means"):
                size = None if method == "k-means" else m
                a = results.get("seconds", data, method, size)
                b = (
                    results.paper("seconds", data, method)
                    if size is None
                    else paper_total(results, data, method, m)
                )
                cell = (method, size) if ours else ("aKKm", m)
                row += [
                    _ratio(a, ours, results.missing_reason(data, *cell)),
                    _ratio(b, theirs, "–"),
                ]
            rows.append(row)
    head = ["", "tKKm", "paper", "nysSC", "paper", "k-means", "paper"]
    return [ResultTable("Time relative to aKKm on the same machine", head, rows)]


def _ratio(a: Spread | None, b: Spread | None, none: str) -> str:
    if a is None or b is None:
        return none
    ratio = a.mean / b.mean
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def agreement(results: Results) -> list[Block]:
    """Return Table 3: agreement with exact kernel k-means."""
    blocks: list[Block] = []
    for data in SMALL:
        rows = []
        for m in results.sizes(data):
            shown = {x: results.get("ari", data, x, m) for x in ("aKKm", "tKKm")}
            row = [f"{m:,}", number_of_runs(shown.values())]
            for method, ours in shown.items():
                theirs = results.paper("ari", data, method, m)
                row.append(share(ours, results.missing_reason(data, method, m)))
                row.append(
                    "–" if theirs is None else f"{theirs.mean:.2f} ± {theirs.sd:.2f}"
                )
            rows.append(row)
        head = ["m", "runs", "aKKm", "paper", "tKKm", "paper"]
        blocks.append(ResultTable(f"Table 3, {title(results, data)}", head, rows))
    return blocks


def sampling(results: Results) -> list[Block]:
    """Return Table 4: the time to choose landmarks."""
    blocks: list[Block] = []
    for data, letter in zip(SMALL, "ab", strict=True):
        head = ["m", "runs"]
        for strategy in STRATEGIES:
            head += [strategy, "paper"]
        rows = []
        for m in results.sizes(data):
            shown = {
                x: results.get("sampling", data, "aKKm", m, **sampling_settings(x))
                for x in STRATEGIES
            }
            row = [f"{m:,}", number_of_runs(shown.values())]
            for strategy, ours in shown.items():
                gap = results.missing_reason(
                    data, "aKKm", m, **sampling_settings(strategy)
                )
                row.append(seconds(ours, gap))
                row.append(seconds(results.paper("sampling", data, strategy, m)))
            rows.append(row)
        blocks.append(
            ResultTable(f"Table 4({letter}), {title(results, data)}", head, rows)
        )
    return blocks


def sampling_settings(strategy: str) -> dict[str, str]:
    """Return the settings of cells with a sampling strategy; uniform is the default."""
    return {} if strategy == "uniform" else {"landmarks": strategy}


def consensus(results: Results) -> list[Block]:
    """Return Table 5: the time of the consensus of ten partitions."""
    rows = []
    for data in DATA:
        row = [title(results, data)]
        sizes = results.sizes(data, "ensemble")
        spreads = [results.get("consensus", data, "ensemble", m) for m in sizes]
        known = [spread for spread in spreads if spread is not None]
        # MCLA sees only labels, so its time does not depend on m.
        spread = known[0] if known else None
        gap = results.missing_reason(data, "ensemble", sizes[0] if sizes else None)
        row.append(seconds(spread, gap))
        row.append(seconds(results.paper("consensus", data)))
        ensemble = results.get("seconds", data, "ensemble", sizes[0])
        row.append(seconds(ensemble, gap))
        rows.append(row)
    head = ["", "MCLA of ten partitions", "paper", "whole ensemble"]
    return [ResultTable("Table 5, at the smallest m", head, rows)]


_CHOICES = {
    "mnist": "pixels from 0 to 1; random start; negative eigenvalues dropped",
    "covtype": "columns from 0 to 1; exp(-|x-y|²/(2σ²)); random start",
    "kddcup99": "columns from 0 to 1; (x·y + 1)³; random start",
    "imagenet12": "random start",
}
_OTHER = {
    "gamma": "exp(-|x-y|²/σ²) instead of exp(-|x-y|²/(2σ²))",
    "coef0": "(x·y)³ instead of (x·y + 1)³",
    "indefinite": "negative eigenvalues: {}",
    "rows": "rows: {}",
    "init": "start: {}, with restarts on a sample",
}


def choices(results: Results) -> list[Block]:
    """Return tables that show the effect of choices that the paper leaves open."""
    plan = next(e for e in results.plan if e.name == "choices")
    kinds = dict.fromkeys(
        (c.data.removeprefix("tiny-"), c.m, c.settings)
        for c in sorted(plan.cells, key=lambda cell: len(cell.settings))
    )
    blocks: list[Block] = []
    for data, usual in _CHOICES.items():
        rows = []
        for of, m, settings in kinds:
            if of != data:
                continue
            other = dict(settings)
            texts = [_OTHER[name].format(value) for name, value in settings]
            gap = results.missing_reason(data, "aKKm", m, **other)
            row = ["; ".join(texts) or f"default: {usual}"]
            for measure in ("nmi", "ari", "reduction"):
                spread = results.get(measure, data, "aKKm", m, **other)
                none = gap
                if results.get("nmi", data, "aKKm", m, **other) is not None:
                    few = data in SMALL
                    none = "constant kernel" if few else "too many rows"
                row.append(share(spread, none))
            row.append(seconds(results.get("seconds", data, "aKKm", m, **other), gap))
            rows.append(row)
            size = m
        head = ["", "NMI with classes", "ARI with kernel k-means", "error reduction"]
        caption = f"{title(results, data)}, aKKm, m = {size:,}"
        blocks.append(ResultTable(caption, [*head, "time"], rows, True))
    return [
        Paragraph(
            "Every ARI compares aKKm with exact kernel k-means, which always uses the "
            "choices of the first row of the table. The tanh kernel of MNIST has "
            "negative eigenvalues. By default (clip), they are dropped. Positive "
            "eigenvalues up to the absolute value of the most negative one are "
            "dropped, too. With flip, negative eigenvalues are replaced by their "
            "absolute values. With pinv, they are inverted like positive eigenvalues, "
            "as in the paper."
        ),
        *blocks,
    ]
