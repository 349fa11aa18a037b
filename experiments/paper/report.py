"""Write the report: tables, figures and claims, from all records so far."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from experiments.harness.pages import (
    Block,
    Folded,
    Heading,
    Paragraph,
    Picture,
    ResultTable,
    html_page,
    markdown,
    write_file,
)
from experiments.paper import tables
from experiments.paper.claims import verdicts
from experiments.paper.figure1 import figure1
from experiments.paper.figures import figures
from experiments.paper.plan import Experiment, experiments
from experiments.paper.prepared import ERROR_ROWS
from experiments.paper.results import Results
from experiments.paper.store import Store
from experiments.paper.verdicts import RULE

_TITLE = "The paper's experiments, run again"
_PAPER = (
    "R. Chitta, R. Jin, T. C. Havens, A. K. Jain: *Scalable Kernel Clustering: "
    "Approximate Kernel k-means*, 2014."
)


def write_report(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    tiny: bool = False,
) -> list[Path]:
    """Write README.md, figures and one HTML page about all runs so far.

    The report marks cells that were not run, so it can be written at any time. It needs
    matplotlib: `pip install '.[plot]'`.

    Parameters
    ----------
    folder : str or path
        The folder with the records of `run`.
    out : str or path, optional
        The folder to write to; `folder` by default.
    tiny : bool, default=False
        Whether the records are from a run with `--tiny`.

    Returns
    -------
    list of Path
        The files that were written.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "matplotlib is not installed, and figures need it. Install it with: pip "
            "install '.[plot]'"
        ) from error
    results = Results(Store(folder), experiments(tiny=tiny), tiny=tiny)
    blocks = _blocks(results)
    contents: dict[str, str | bytes] = {
        "README.md": markdown(_TITLE, blocks),
        "index.html": html_page(_TITLE, blocks),
    }
    contents |= {b.name: b.png for b in blocks if isinstance(b, Picture)}
    target = Path(folder if out is None else out)
    target.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_file(target / name, content)
    return [target / name for name in contents]


def _blocks(results: Results) -> list[Block]:
    drawn = figures(results)
    return [
        Paragraph(
            f"This page repeats every table and figure of {_PAPER} It was written by "
            "`python -m experiments paper report` from the raw records in its folder "
            "(`*.jsonl`). Values are means and standard deviations over seeds. Columns "
            "named *paper* contain the paper's values, from ten runs in MATLAB on a "
            "2.8 GHz processor."
        ),
        Paragraph(
            "Methods have the paper's names. KKm is exact kernel k-means. aKKm is "
            "approximate kernel k-means. tKKm is two-step kernel k-means. nysSC is "
            "spectral clustering with Nyström's method. lKKm is leaders kernel "
            "k-means. MCLA is the meta-clustering algorithm that combines the labels "
            "of an ensemble. m is the number of landmarks. A cell is one run of one "
            "method."
        ),
        _about_the_run(results),
        Heading("Claims"),
        *_claims(results),
        Heading("Data sets"),
        *tables.data_sets(results),
        Heading("Running time"),
        Paragraph(
            "Each time is for a whole fit, from rows to labels. The kernel column is "
            "the time to compute the kernel values of all rows with m landmarks, "
            "measured alone. The times of the methods include the time for kernel "
            "values. The only exception is kernel k-means on images: it gets a "
            "precomputed kernel matrix, whose time is shown separately (all kernel "
            "values). aKKm may cache up to 8 GB of kernel values."
        ),
        Paragraph(
            "For aKKm and tKKm, the paper's column is the sum of the paper's kernel "
            "time and its clustering time. The paper's times of nysSC include the "
            "kernel time, except on images: there, the printed time is below the "
            "kernel time, so we add the kernel time. The paper's times of kernel "
            "k-means do not include the kernel time. The machines differ, so only "
            "ratios between methods are comparable. The last table of this section "
            "shows these ratios."
        ),
        *tables.running_time(results),
        Heading("Agreement with kernel k-means"),
        Paragraph(
            "The tables show the adjusted Rand index of the labels of aKKm and tKKm "
            "with the labels of exact kernel k-means. All three methods start from the "
            "same random labels. The paper does not say whether its methods also had "
            "the same start. From different starts, the labels may agree less."
        ),
        *tables.agreement(results),
        Heading("aKKm and tKKm step by step"),
        figure1(),
        Heading("Error reduction and NMI"),
        Paragraph(
            "Error reduction is the share by which a method reduces the clustering "
            "error of its random start. Errors are measured with the exact kernel, on "
            f"the same {ERROR_ROWS:,} rows for all methods. Smaller data sets are used "
            "as a whole."
        ),
        drawn["3"],
        drawn["4"],
        Heading("Sampling strategies"),
        Paragraph(
            "The tables show the time to choose landmarks. Column norms depend on "
            "neither m nor the seed. They are computed once, from n x 10,000 kernel "
            "values. Each line includes the whole time of this computation. The paper "
            "takes the norms from an existing kernel matrix. Diagonal sampling draws "
            "rows with probabilities proportional to k(x, x). Column-norm sampling "
            "draws rows with probabilities proportional to the squared column norms. "
            "In the paper, rows are sorted by these numbers, and the first m rows are "
            "taken. In the paper's LaTeX source, Figure 5 comes before Figures 3 and "
            "4. So the numbers of the figures may differ between versions of the paper."
        ),
        *tables.sampling(results),
        drawn["5"],
        Heading("Ensembles"),
        Paragraph(
            "An ensemble combines ten runs of aKKm by MCLA. MCLA is also timed alone. "
            "Each run starts from random labels and has its own landmarks. An ensemble "
            "takes ten times as long as a single run. So m is at most 1,000; on Cover "
            "Type it is at most 200, and on KDD it is 100."
        ),
        *tables.consensus(results),
        drawn["6"],
        Heading("Choices"),
        Paragraph(
            "The paper leaves some details open. The tables show the choices made here "
            "and the effect of other choices."
        ),
        *tables.choices(results),
        *_warnings(results),
    ]


def _about_the_run(results: Results) -> Paragraph:
    """Say how many cells were run, on which machine, and how long they took."""
    n_done, n_failed = count_done(results.plan, results.store)
    n_cells = len({cell for e in results.plan for cell in e.cells})
    facts = [f"{n_done:,} of {n_cells:,} cells were run, {n_failed:,} of them failed."]
    if results.records:
        spent = sum(record.get("total_seconds", 0) for record in results.records)
        hours, minutes = divmod(round(spent / 60), 60)
        facts.append(f"Run one after the other, they took {hours} h {minutes} min.")
        machines = {(r["processor"], r["threads"]) for r in results.records}
        facts += [
            f"{name.replace(' 1 cores', ' 1 core')}; {threads} "
            f"thread{'s' * (threads > 1)}."
            for name, threads in sorted(machines)
        ]
        for used in sorted({tuple(r["versions"].items()) for r in results.records}):
            facts.append(", ".join(f"{name} {version}" for name, version in used) + ".")
    if n_done < n_cells:
        facts.append("Cells without a record are marked *not run yet*.")
    tiny = " --tiny" if results.tiny else ""
    command = "python -m experiments paper"
    return Paragraph(
        f"To repeat the runs: `AKKM_DATA=folder {command} run --all{tiny}`, then "
        f"`{command} report{tiny}`. {' '.join(facts)}"
    )


def _warnings(results: Results) -> list[Block]:
    """Return a table of the warnings that methods raised, the most frequent first."""
    counts = Counter(
        (text, f"{r['title']}, {r['cell']['method']}")
        for r in results.records
        for text in r.get("warnings", ())
    )
    if not counts:
        return []
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = [[text, where, str(count)] for (text, where), count in frequent]
    head = ["warning", "data set and method", "cells"]
    return [
        Heading("Warnings"),
        ResultTable("Warnings of the methods", head, rows, True),
    ]


def count_done(plan: Sequence[Experiment], store: Store) -> tuple[int, int]:
    """Return the number of distinct cells that were run, and of those that failed."""
    records = [store.get(cell) for cell in {c for e in plan for c in e.cells}]
    done = [record for record in records if record is not None]
    return len(done), sum("failed" in record for record in done)


def _claims(results: Results) -> list[Block]:
    judged = verdicts(results)
    counts = Counter(verdict.verdict for verdict in judged)
    summary = ", ".join(f"{name}: {count}" for name, count in counts.most_common())
    rows = [
        [
            v.claim.text,
            v.claim.place,
            f"**{v.verdict}**",
            Folded(v.figures),
            v.claim.remark,
        ]
        for v in judged
    ]
    text = f"The table lists {len(judged)} claims of the paper ({summary}). {RULE}"
    if any(record["stand_in"] for record in results.records):
        text += (
            " Claims about KDD are judged on a stand-in, in which many rows occur more "
            "than once."
        )
    if results.tiny:
        text += " Remarks refer to the real data."
    head = ["claim", "in the paper", "verdict", "figures", "remark"]
    return [
        Paragraph(text),
        ResultTable("Claims and verdicts, computed from the records", head, rows, True),
    ]
