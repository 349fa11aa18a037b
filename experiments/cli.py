"""The command line of the experiments: `python -m experiments --help`.

An error is printed on one line, and the exit code is 2. After Ctrl-C, the exit code is
130.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from experiments.benchmarks.cli import bench

# Exit codes after an error and after Ctrl-C.
_BAD, _STOPPED = 2, 130


class _Group(click.Group):
    """A group of commands that prints errors on one line."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and exit."""
        try:
            code = super().main(args, **extra | {"standalone_mode": False})
        except click.exceptions.NoArgsIsHelpError as error:
            code = _fail(error.format_message())
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "python -m experiments"
            code = _fail(f"error: {error.format_message()} See: {command} --help")
        except click.ClickException as error:
            code = _fail(f"error: {error.format_message()}")
        except (click.Abort, KeyboardInterrupt):
            code = _fail(
                "Stopped. Finished measurements are stored; run the command again to "
                "continue.",
                _STOPPED,
            )
        except (OSError, ValueError, ImportError) as error:
            code = _fail(f"error: {' '.join(str(error).split())}")
        sys.exit(code if isinstance(code, int) else 0)


def _fail(text: str, code: int = _BAD) -> int:
    click.echo(text, err=True)
    return code


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
)
def app() -> None:
    """Run the paper's experiments and the benchmarks of akkm.

    Real data sets are read from the folder that AKKM_DATA names (mnist/, covtype/,
    kddcup99/, imagenet12/). Prepared arrays are cached in AKKM_CACHE.
    """


app.add_command(bench)

_EXAMPLES = """\b
Examples:
  python -m experiments paper list
  python -m experiments paper run --all --tiny --folder tiny
  AKKM_DATA=data python -m experiments paper run table3
  python -m experiments paper report --folder docs/results
"""


@app.group(epilog=_EXAMPLES)
def paper() -> None:
    """Repeat the paper's experiments: every table and figure.

    Without AKKM_DATA, scikit-learn fetches the data sets that it offers.
    """


def _shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that the commands `list`, `run` and `report` share."""
    command = click.option(
        "--tiny",
        is_flag=True,
        help="Use small generated data instead; all experiments take about a minute.",
    )(command)
    return click.option(
        "--folder",
        metavar="FOLDER",
        default="paper-results",
        show_default=True,
        type=click.Path(file_okay=False),
        help="Folder with the records.",
    )(command)


@paper.command("list")
@_shared_options
def list_(folder: str, tiny: bool) -> None:
    """List experiments, their progress, and where their data are.

    A cell is one run of one method.
    """
    from experiments.datasets import availability
    from experiments.paper import experiments
    from experiments.paper.report import count_done
    from experiments.paper.store import Store

    store, plan = Store(folder), experiments(tiny=tiny)
    rows = [["experiment", "cells done", "failed", "content"]]
    for experiment in plan:
        n_done, n_failed = count_done([experiment], store)
        progress = f"{n_done} of {len(experiment.cells)}"
        content = f"{experiment.place}: {experiment.title}"
        rows.append([experiment.name, progress, str(n_failed), content])
    n_done, n_failed = count_done(plan, store)
    n_cells = len({cell for e in plan for cell in e.cells})
    rows.append(["all (distinct cells)", f"{n_done} of {n_cells}", str(n_failed), ""])
    _echo_columns(rows)
    click.echo()
    names = dict.fromkeys(cell.data for e in plan for cell in e.cells)
    _echo_columns([[name, availability(name)[1]] for name in names])


def _echo_columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows as aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


@paper.command("run")
@click.argument("names", nargs=-1, metavar="[EXPERIMENT]...")
@click.option("--all", "all_", is_flag=True, help="Run all experiments.")
@click.option("--data", metavar="NAME", multiple=True, help="Use only this data set.")
@_shared_options
def run_(
    names: tuple[str, ...], all_: bool, data: tuple[str, ...], folder: str, tiny: bool
) -> None:
    """Run the given experiments.

    A cell is one run of one method. Cells that already have a record are skipped. Each
    record is stored as soon as its cell is done. After an interruption, the same
    command continues with the remaining cells. Several processes can share a folder if
    each has its own data sets (--data).
    """
    from experiments.datasets import availability
    from experiments.paper import Progress, experiments, run

    plan = {experiment.name: experiment for experiment in experiments(tiny=tiny)}
    unknown = [name for name in names if name not in plan]
    if unknown or not (names or all_):
        given = f"Unknown experiment {unknown[0]!r}." if unknown else "Nothing to run."
        raise click.UsageError(
            f"{given} Expected some of {', '.join(plan)}, or use --all."
        )
    chosen = plan.values() if all_ else [plan[name] for name in names]
    cells = {cell for experiment in chosen for cell in experiment.cells}
    data_names = sorted({cell.data for cell in cells})
    unknown = [name for name in data if name not in data_names]
    if unknown:
        raise click.UsageError(
            f"Nothing to run on {unknown[0]!r}. Expected some of "
            f"{', '.join(data_names)}."
        )
    cells = {cell for cell in cells if not data or cell.data in data}
    sources = {name: availability(name) for name in sorted({c.data for c in cells})}
    missing = {name: where for name, (exists, where) in sources.items() if not exists}

    def show(progress: Progress) -> None:
        record = progress.record
        result = record.get("failed") or duration(record["seconds"]["fit"])
        left = progress.seconds_left
        rest = "" if left is None else f", about {duration(left)} left"
        state = f"{progress.n_done} of {progress.n_cells}{rest}"
        click.echo(f"{progress.cell}: {result}  [{state}]")

    available = [cell for cell in cells if cell.data not in missing]
    n_run = run(available, folder, show)
    click.echo(f"{n_run} cells were run, {len(available) - n_run} were done before.")
    if missing:
        reasons = "; ".join(f"{name}: {where}" for name, where in missing.items())
        raise click.ClickException(f"Some data sets were left out. {reasons}.")


def duration(seconds: float) -> str:
    """Format a number of seconds as a text with units.

    Examples
    --------
    >>> from experiments.cli import duration
    >>> duration(0.0312), duration(75), duration(7320)
    ('0.031 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


@paper.command("report")
@click.option("--out", metavar="FOLDER", help="Output folder.  [default: as --folder]")
@_shared_options
def report_(out: str | None, folder: str, tiny: bool) -> None:
    """Write README.md, figures and index.html from all records so far."""
    from experiments.paper import write_report

    for path in write_report(folder, out, tiny=tiny):
        click.echo(f"written  {path}")
