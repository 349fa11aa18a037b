"""The report: tables, figures and claims, from whatever has been run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from akkm.atomic_file import AtomicFile
from experiments import _tables as tables
from experiments._document import (
    Block,
    Heading,
    Picture,
    Table,
    Text,
    markdown,
    page,
)
from experiments._figure1 import figure1
from experiments._figures import figures
from experiments._plan import Experiment, experiments
from experiments._results import Results
from experiments._store import Store
from experiments._subject import ERROR_ROWS
from experiments._verdicts import RULE
from experiments.claims import verdicts

_TITLE = "The paper's experiments, run again"
_PAPER = (
    "R. Chitta, R. Jin, T. C. Havens, A. K. Jain: *Scalable Kernel Clustering: "
    "Approximate Kernel k-means*, 2014."
)
PAGE, TEXT = "index.html", "README.md"


def write_report(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    tiny: bool = False,
) -> list[Path]:
    """Write README.md, figures and one HTML page about what was run.

    Cells that were not run are marked, so that it can be written at any time. Needs
    matplotlib: `pip install 'akkm[plot]'`.

    Parameters
    ----------
    folder : str or path
        With the records of `run`.
    out : str or path, optional
        Where to write; the same folder, by default.
    tiny : bool, default=False
        About a run on tiny twins.

    Returns
    -------
    paths : list of Path
        The files that were written.

    Examples
    --------
    >>> import tempfile
    >>> from experiments import write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_report(folder)][:2]
    ['README.md', 'index.html']
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Figures need matplotlib, which is not installed. Install it with: pip "
            "install 'akkm[plot]'"
        ) from error
    results = Results(Store(folder), experiments(tiny=tiny), tiny=tiny)
    blocks = _blocks(results)
    written: dict[str, bytes] = {
        TEXT: markdown(_TITLE, blocks).encode(),
        PAGE: page(_TITLE, blocks).encode(),
    }
    written |= {b.name: b.png for b in blocks if isinstance(b, Picture)}
    target = Path(folder if out is None else out)
    target.mkdir(parents=True, exist_ok=True)
    for name, content in written.items():
        with AtomicFile(target / name) as file:
            file.write(content)
    return [target / name for name in written]


def _blocks(results: Results) -> list[Block]:
    drawn = figures(results)
    return [
        Text(
            f"Every table and figure of {_PAPER} Written by `akkm paper report` from "
            "the raw records beside it (`*.jsonl`), not by hand. Values are means and "
            "standard deviations over seeds; *paper* is the paper's, of ten runs on a "
            "2.8 GHz processor in MATLAB."
        ),
        *_how(results),
        Heading("Claims"),
        *_claims(results),
        Heading("Data sets"),
        *tables.data_sets(results),
        Heading("Running time"),
        Text(
            "Seconds from rows to labels. The kernel column is one bare pass over the "
            "kernel values of all rows with m landmarks, measured alone; it is part of "
            "the other columns (but not of kernel k-means on images, which gets the "
            "matrix). aKKm may keep up to 8 GB of kernel values. The paper's columns "
            "for aKKm and tKKm are its kernel and clustering times together, and so is "
            "nysSC's on images, where it is below the kernel's; those of kernel "
            "k-means are without the kernel. The "
            "machines differ: ratios between methods, which follow, are what can be "
            "compared."
        ),
        *tables.running_time(results),
        Heading("Agreement with kernel k-means"),
        Text(
            "Adjusted Rand index of aKKm's and tKKm's labels with those of exact "
            "kernel k-means. All three start from the same random labels; whether "
            "the paper's did it does not say, and from others they may agree less."
        ),
        *tables.agreement(results),
        Heading("Step by step"),
        figure1(),
        Heading("Error reduction and NMI"),
        Text(
            "Error reduction is the share of the clustering error of the random start "
            "that is gone at the end. Errors are those of the exact kernel, on the "
            f"same {ERROR_ROWS:,} rows for all methods (all rows, if there are fewer)."
        ),
        drawn["3"],
        drawn["4"],
        Heading("Ways to sample"),
        Text(
            "Time to choose landmarks. Column norms depend on neither m nor seed: they "
            "are computed once, kernel values included (n times 10,000 of them), and "
            "that time is counted in full in every row. The paper's are from a kernel "
            "matrix that is there already. Diagonal and column-norm sampling draw rows "
            "in proportion to these numbers; the paper speaks of sorting them and "
            "taking the first m. In its source the figure that follows stands before "
            "the last two, and may be numbered so."
        ),
        *tables.sampling(results),
        drawn["5"],
        Heading("Ensembles"),
        Text(
            "Ten runs of aKKm from random labels, with landmarks of their own, "
            "combined by MCLA, which is timed alone as well; up to m = 1,000, on Cover "
            "Type up to 200 and on KDD with 100, as each takes ten times as long as a "
            "single run."
        ),
        *tables.consensus(results),
        drawn["6"],
        Heading("Choices"),
        Text(
            "Where the paper does not say how it was done, this is what was chosen, "
            "and what another choice changes."
        ),
        *tables.choices(results),
        *_warnings(results),
    ]


def _how(results: Results) -> list[Block]:
    """Which part was run, where and how long it took."""
    done, failed = done_of(results.plan, results.store)
    total = len({cell for e in results.plan for cell in e.cells})
    facts = [f"{done:,} of {total:,} cells were run, {failed:,} of them failed."]
    if results.records:
        spent = sum(record.get("total_seconds", 0) for record in results.records)
        hours, minutes = divmod(round(spent / 60), 60)
        facts.append(f"One after the other they take {hours} h {minutes} min.")
        where = {(r["processor"], r["threads"]) for r in results.records}
        facts += [
            f"{name.replace(' 1 cores', ' 1 core')}; {threads} "
            f"thread{'s' * (threads > 1)}."
            for name, threads in sorted(where)
        ]
        packages = {tuple(r["versions"].items()) for r in results.records}
        for used in sorted(packages):
            facts.append(", ".join(f"{name} {version}" for name, version in used) + ".")
    facts += [] if done == total else ["The others are marked *not run yet*."]
    tiny = " --tiny" if results.tiny else ""
    command = (
        f"`AKKM_DATA=folder akkm paper run --all{tiny}`, then `akkm paper report{tiny}`"
    )
    return [Text(f"To run it again: {command}. {' '.join(facts)}")]


def _warnings(results: Results) -> list[Block]:
    """What methods complained about."""
    heard = Counter(
        (text, f"{r['title']}, {r['cell']['method']}")
        for r in results.records
        for text in r.get("warnings", ())
    )
    if not heard:
        return []
    rows = [[text, of, str(count)] for (text, of), count in heard.most_common()]
    return [
        Heading("Warnings"),
        Table("What methods said on the way", ["warning", "of", "cells"], rows, True),
    ]


def done_of(plan: Sequence[Experiment], store: Store) -> tuple[int, int]:
    """Distinct cells that were run, and those of them that failed."""
    records = [store.get(cell) for cell in {c for e in plan for c in e.cells}]
    there = [record for record in records if record is not None]
    return len(there), sum("failed" in record for record in there)


def _claims(results: Results) -> list[Block]:
    found = verdicts(results)
    counts = Counter(verdict.verdict for verdict in found)
    said = ", ".join(f"{name}: {count}" for name, count in counts.most_common())
    rows = [
        [
            v.claim.words,
            v.claim.place,
            f"**{v.verdict}**",
            v.figures,
            v.claim.why,
        ]
        for v in found
    ]
    head = ["claim", "in the paper", "verdict", "figures", "to know"]
    stand_in = any(record["stand_in"] for record in results.records)
    return [
        Text(
            f"{len(found)} claims of the paper's text ({said}). {RULE}"
            + " Those about KDD are judged on a stand-in, in which many rows occur "
            "more than once."
            * stand_in
            + " What there is to know is about the real data." * results.tiny
        ),
        Table("Claims and verdicts, computed from the records", head, rows, True),
    ]
