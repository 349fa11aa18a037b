"""The command `python -m experiments bench`: one subcommand per benchmark."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

_EXAMPLES = """\b
Examples:
  AKKM_DATA=data python -m experiments bench
  python -m experiments bench speed --quick
  python -m experiments bench beyond --only digits --seeds 3
"""
_DEFAULT_SET = ("speed", "methods")


@click.group(invoke_without_command=True, epilog=_EXAMPLES)
@click.pass_context
def bench(context: click.Context) -> None:
    """Run the named benchmark, or by default the two benchmarks speed and methods.

    Some benchmarks store each result in experiments/benchmarks/results as soon as it is
    measured, do not measure it again, and write tables from the stored results. The
    others print their results. Most benchmarks need AKKM_DATA.
    """
    if context.invoked_subcommand is None:
        for name in _DEFAULT_SET:
            _run(name)


def _run(name: str, **options: Any) -> None:
    import_module(f"experiments.benchmarks.{name}").main(**options)


def _option(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, show_default=True, **settings)


def _seeds(default: int | None) -> click.Option:
    number = click.IntRange(1)
    return _option("--seeds", type=number, default=default, help="Number of seeds.")


_ONLY = _option("--only", multiple=True, help="Run only this data set or method.")
# For each benchmark: its help text and its options. The options become the arguments of
# the function `main` of the benchmark's module.
_BENCHMARKS: dict[str, tuple[str, list[click.Parameter]]] = {
    "speed": (
        "Time, memory and error, compared with other libraries.",
        [
            _option("--task", "names", multiple=True, help="Run only this task."),
            _seeds(None),
            _option("--fresh", is_flag=True, help="Discard old results."),
            _option("--quick", is_flag=True, help="Small sizes, as a smoke test."),
        ],
    ),
    "methods": ("Landmark strategies, MCLA and ensembles.", []),
    "beyond": ("NMI, processor time and memory of all methods.", [_ONLY, _seeds(10)]),
    "counting": (
        'The number of clusters found by n_clusters="auto".',
        [_ONLY, _seeds(10)],
    ),
    "unknown_k": (
        "Methods that are not told the number of clusters, on real data.",
        [_ONLY, _seeds(5)],
    ),
    "memberships": (
        "Whether memberships are calibrated: halves of real data, fitted on their own.",
        [_ONLY, _seeds(3)],
    ),
    "graphs": (
        "The neighbour graph and DiffusionKernelKMeans, up to a million rows.",
        [_ONLY, _seeds(5)],
    ),
    "many_clusters": (
        "Many clusters or columns: the time of a fit, in passes over the rows.",
        [_ONLY, _seeds(5)],
    ),
    "scaling": (
        "Growth of the time with n, d, m and C; draws docs/scaling.png (needs faiss).",
        [_ONLY],
    ),
    "known": ("Known classes and pairs: NMI, accuracy and time.", [_ONLY, _seeds(10)]),
    "known_pictures": ("Draw the pictures of docs/semi-supervised.md (a minute).", []),
    "curves": ("Draw the curves of docs/benchmarks.md from stored results.", []),
    "restarts": ("Restarts, local search and breathing in equal time.", [_seeds(5)]),
    "encoding": ("NMI of the encodings of columns of numbers (one minute).", []),
    "images": ("Features, kernel rows and quality on images.", []),
    "files": (
        "The command line, compared with a fit of an array.",
        [
            _option(
                "--rounds",
                type=click.IntRange(1),
                default=3,
                help="Number of runs of each kind; medians are printed.",
            )
        ],
    ),
    "scale": (
        "Files larger than memory, compared with an array.",
        [
            _option(
                "--rows",
                type=click.IntRange(1),
                default=50_000_000,
                help="Number of rows in the files.",
            )
        ],
    ),
    "solvers": ("Conjugate gradients, compared with steepest descent.", []),
    "stream": ("partial_fit on batches, compared with fit on all rows.", []),
    "theory": (
        "Error bounds, compared with errors; draws docs/theory.png.",
        [_option("--picture", type=click.Path(path_type=Path), help="Output file.")],
    ),
    "width": ("NMI of the rules for the kernel width (two minutes).", []),
    "workers": (
        "Two Dask workers, compared with two threads (PART overhead); memory of the "
        "client; time per row; estimated time of 10^9 rows.",
        [
            click.Argument(
                ["part"],
                type=click.Choice(["overhead", "memory", "rows", "estimate"]),
                default="overhead",
            )
        ],
    ),
    "pictures": ("Draw the pictures of docs/which-method.md (two minutes).", []),
}
for _name, (_help, _params) in _BENCHMARKS.items():
    bench.add_command(
        click.Command(_name, callback=partial(_run, _name), params=_params, help=_help)
    )
