"""`akkm paper`: the paper's experiments, listed, run and reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from akkm.cli._console import Voice, seconds

_STOPPED = 130

_EXAMPLES = """\b
Examples:
  akkm paper list
  akkm paper run --all --tiny --folder tiny
  AKKM_DATA=data akkm paper run --all
  AKKM_DATA=data akkm paper run table3
  akkm paper report
"""


@click.group(epilog=_EXAMPLES)
def paper() -> None:
    """Run the paper's experiments again: every table and figure.

    Data sets are read from the folder that AKKM_DATA names, or fetched.
    """


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of all three."""
    command = click.option(
        "--tiny",
        is_flag=True,
        help="Generated twins of the data, small enough for a minute.",
    )(command)
    return click.option(
        "--folder",
        metavar="FOLDER",
        default="paper-results",
        show_default=True,
        type=click.Path(file_okay=False),
        help="Where records are kept.",
    )(command)


@paper.command("list", epilog="\b\nExample:\n  akkm paper list --folder docs/results")
@_shared
def list_(folder: str, tiny: bool) -> None:
    """List experiments, how far they are, and whether their data are there."""
    from experiments import experiments
    from experiments._report import done_of
    from experiments._store import Store
    from experiments.datasets import whereabouts

    voice = Voice()
    store, plan = Store(folder), experiments(tiny=tiny)
    rows = []
    for experiment in plan:
        done, failed = done_of([experiment], store)
        rows.append(
            (
                experiment.name,
                f"{done} of {len(experiment.cells)}",
                str(failed),
                f"{experiment.place}: {experiment.title}",
            )
        )
    done, failed = done_of(plan, store)
    total = len({cell for e in plan for cell in e.cells})
    rows.append(("all, each once", f"{done} of {total}", str(failed), ""))
    voice.table(("experiment", "cells done", "failed", "what"), rows)
    voice.say()
    names = dict.fromkeys(cell.data for e in plan for cell in e.cells)
    voice.facts((name, whereabouts(name)[1]) for name in names)


@paper.command(
    "run", epilog="\b\nExample:\n  akkm paper run table3 --tiny --folder tiny"
)
@click.argument("names", nargs=-1, metavar="[EXPERIMENT]...")
@click.option("--all", "everything", is_flag=True, help="All experiments.")
@click.option("--data", metavar="NAME", multiple=True, help="Only on this data set.")
@_shared
def run_(
    names: tuple[str, ...],
    everything: bool,
    data: tuple[str, ...],
    folder: str,
    tiny: bool,
) -> None:
    """Run the cells of experiments that were not run yet.

    Each is kept as soon as it is done. Started again, it goes on where it was. Several
    processes can share a folder if each has data sets of its own (--data).
    """
    from experiments import Progress, experiments
    from experiments import run as run_cells
    from experiments.datasets import whereabouts

    plan = {experiment.name: experiment for experiment in experiments(tiny=tiny)}
    unknown = [name for name in names if name not in plan]
    if unknown or not (names or everything):
        what = f"Unknown experiment {unknown[0]!r}." if unknown else "Nothing to run."
        raise click.UsageError(f"{what} Name some of {', '.join(plan)}, or use --all.")
    chosen = plan.values() if everything else [plan[name] for name in names]
    cells = {cell for experiment in chosen for cell in experiment.cells}
    sets = sorted({cell.data for cell in cells})
    strange = [name for name in data if name not in sets]
    if strange:
        raise click.UsageError(
            f"Nothing to run on {strange[0]!r}. Name some of {', '.join(sets)}."
        )
    cells = {cell for cell in cells if not data or cell.data in data}
    found = {name: whereabouts(name) for name in sorted({c.data for c in cells})}
    gone = {name: where for name, (there, where) in found.items() if not there}
    voice = Voice()

    def tell(progress: Progress) -> None:
        record = progress.record
        took = record.get("failed") or seconds(record["seconds"]["fit"])
        left = progress.seconds_left
        rest = "" if left is None else f", about {seconds(left)} left"
        count = f"{progress.done} of {progress.todo}{rest}"
        voice.say(f"{progress.cell}: {took}  [{count}]")

    there = [cell for cell in cells if cell.data not in gone]
    try:
        count = run_cells(there, folder, tell)
    except KeyboardInterrupt:
        text = "akkm: stopped; what was done is kept, and run again it goes on there."
        click.echo(text, err=True)
        raise click.exceptions.Exit(_STOPPED) from None
    voice.say(f"{count} cells were run, {len(there) - count} were there already.")
    if gone:
        left = "; ".join(f"{name}: {where}" for name, where in gone.items())
        raise click.ClickException(f"Left out, {left}.")


@paper.command("report", epilog="\b\nExample:\n  akkm paper report --out page")
@click.option("--out", metavar="FOLDER", help="Where to write.  [default: --folder]")
@_shared
def report_(out: str | None, folder: str, tiny: bool) -> None:
    """Write README.md, figures and index.html about what was run so far."""
    from experiments import write_report

    written = write_report(folder, out, tiny=tiny)
    Voice().facts([("written", str(path)) for path in written])
