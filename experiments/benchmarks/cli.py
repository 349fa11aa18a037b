"""The command `python -m experiments bench`: one subcommand per benchmark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_EXAMPLES = """\b
Examples:
  AKKM_DATA=data python -m experiments bench
  python -m experiments bench speed --quick
  python -m experiments bench beyond --only digits --seeds 3
"""


@click.group(invoke_without_command=True, epilog=_EXAMPLES)
@click.pass_context
def bench(context: click.Context) -> None:
    """Run benchmarks; without a name, the default set: speed and methods.

    Results are stored in experiments/benchmarks/results as soon as they are measured,
    and are not measured again. The tables are written from them. Most benchmarks need
    AKKM_DATA.
    """
    if context.invoked_subcommand is None:
        context.invoke(speed)
        context.invoke(methods)


def _seeds(default: int | None) -> Callable[[Any], Any]:
    text = "Number of seeds." if default else "Number of seeds of every task."
    return click.option(
        "--seeds", type=click.IntRange(1), default=default, show_default=True, help=text
    )


@bench.command()
@click.option("--task", "names", multiple=True, help="Run only this task.")
@_seeds(None)
@click.option("--fresh", is_flag=True, help="Measure again, and forget old results.")
@click.option("--quick", is_flag=True, help="Small sizes, to see that it works.")
def speed(
    names: tuple[str, ...] = (),
    seeds: int | None = None,
    fresh: bool = False,
    quick: bool = False,
) -> None:
    """Time, memory and error next to other libraries.

    Real data sets need AKKM_DATA.
    """
    from experiments.benchmarks import speed

    speed.main(names, seeds, fresh=fresh, quick=quick)


@bench.command()
def methods() -> None:
    """Landmark strategies, MCLA and ensembles.

    Needs AKKM_DATA.
    """
    from experiments.benchmarks import methods

    methods.main()


@bench.command()
@click.option("--only", multiple=True, help="Only this data set or method.")
@_seeds(10)
def beyond(only: tuple[str, ...], seeds: int) -> None:
    """NMI, work and memory of all methods.

    Real data sets need AKKM_DATA.
    """
    from experiments.benchmarks import beyond

    beyond.main(only, seeds)


@bench.command()
@click.option("--only", multiple=True, help="Only this data set or method.")
@_seeds(10)
def counting(only: tuple[str, ...], seeds: int) -> None:
    """The number of clusters found by n_clusters="auto"."""
    from experiments.benchmarks import counting

    counting.main(only, seeds)


@bench.command()
@_seeds(5)
def restarts(seeds: int) -> None:
    """Restarts, local search and breathing in equal time.

    Real data sets need AKKM_DATA.
    """
    from experiments.benchmarks import restarts

    restarts.main(seeds)


@bench.command()
def images() -> None:
    """Features, kernel rows and quality on images.

    Needs AKKM_DATA, AKKM_CACHE.
    """
    from experiments.benchmarks import images

    images.main()


@bench.command()
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
def files(rounds: int) -> None:
    """The command line next to a fit of the array.

    Needs AKKM_DATA.
    """
    from experiments.benchmarks import files

    files.main(rounds)


@bench.command()
@click.argument("rows", type=click.IntRange(1), default=50_000_000)
def scale(rows: int) -> None:
    """Files larger than memory next to an array.

    The folder is AKKM_SCALE.
    """
    from experiments.benchmarks import scale

    scale.main(rows)


@bench.command()
def solvers() -> None:
    """Conjugate gradients next to steepest descent.

    Needs AKKM_DATA.
    """
    from experiments.benchmarks import solvers

    solvers.main()


@bench.command()
def stream() -> None:
    """Rows in batches next to all rows at once.

    Needs AKKM_DATA.
    """
    from experiments.benchmarks import stream

    stream.main()


@bench.command()
@click.option("--picture", type=click.Path(path_type=Path), help="Write the plot here.")
def theory(picture: Path | None) -> None:
    """Error bounds next to measured errors; draws docs/theory.png."""
    from experiments.benchmarks import theory

    theory.main(picture)


@bench.command()
def width() -> None:
    """NMI of the rules for the kernel width (two minutes)."""
    from experiments.benchmarks import width

    width.main()


@bench.command()
@click.argument(
    "part",
    type=click.Choice(["overhead", "memory", "rows", "estimate"]),
    default="overhead",
)
def workers(part: str) -> None:
    """Two Dask workers next to two threads.

    Needs AKKM_DATA.
    """
    from experiments.benchmarks import workers

    workers.PARTS[part]()


@bench.command()
def pictures() -> None:
    """Draw the pictures of docs/which-method.md (two minutes)."""
    from experiments.benchmarks import pictures

    pictures.main()
