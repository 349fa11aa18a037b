"""`akkm compare`: the agreement of two labelings, and what changed between them."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.compute as pc

from akkm.cli._console import Printer
from akkm.cli._labels import read_labels, write_batches
from akkm.cli._outputs import open_outputs
from akkm.cli._run import Run
from akkm.inspect import FitComparison, compare_fits
from akkm.report import report_changes
from akkm.typing import Array

# Maximum number of clusters for which the contingency table is printed.
_MAX_CLUSTERS = 25

_EXAMPLES = """\b
Examples:
  akkm compare monday.parquet tuesday.csv
  akkm compare monday.parquet tuesday.parquet --report changes.html --moved moved.csv
"""


@click.command(epilog=_EXAMPLES)
@click.argument("first", metavar="LABELS")
@click.argument("second", metavar="LABELS")
@click.option(
    "--report",
    metavar="FILE",
    help="Write a page about the clusters that changed and the rows that moved: .html.",
)
@click.option(
    "--moved", metavar="FILE", help="Write the rows that moved: .parquet or .csv."
)
@click.pass_obj
def compare(
    run: Run, first: str, second: str, report: str | None, moved: str | None
) -> None:
    """Compare two label files: NMI, ARI and how many rows each pair of clusters shares.

    Rows are matched by id, or by row number. Cluster numbers have no meaning: a cluster
    that has the same rows, but another number, has not changed.
    """
    printer = Printer()
    inputs = {"the second LABELS": second}
    if os.path.realpath(first) != os.path.realpath(second):
        inputs["the first LABELS"] = first
    paths = {"--report": report, "--moved": moved}
    with open_outputs(paths, inputs, run.written) as outputs:
        key, keys, clusters = read_labels(first)
        other_key, other_keys, other_clusters = read_labels(second)
        if key != other_key:
            raise ValueError(
                f"{first} identifies rows by {key!r}, but {second} identifies them by "
                f"{other_key!r}; write both files with the same --id, or both without "
                "--id."
            )
        places = _places(keys, other_keys)
        shared = places >= 0
        if not shared.any():
            raise ValueError(f"{first} and {second} have no {key} in common.")
        keys_in_both = keys.filter(pa.array(shared))
        left = _as_numbers(clusters.filter(pa.array(shared)))
        right = _as_numbers(other_clusters.take(pa.array(places[shared])))
        found = compare_fits(left, right)
        only = [f"{len(rows) - len(left):,}" for rows in (keys, other_keys)]
        if "--report" in outputs:
            page = report_changes(
                left,
                right,
                ids=keys_in_both,
                names=(Path(first).name, Path(second).name),
                notes=[
                    f"{only[0]} rows are only in {first}, and {only[1]} only in "
                    f"{second}; they are not compared"
                ],
            )
            outputs["--report"].file.write(page.html.encode())
        if "--moved" in outputs:
            rows = pa.table(
                {key: keys_in_both, "first": pa.array(left), "second": pa.array(right)}
            ).filter(pa.array(found.moved))
            list(
                write_batches([rows], outputs["--moved"].file, outputs["--moved"].path)
            )
    printer.facts(
        {
            "rows in both": f"{len(left):,}, by {key}",
            "only in one file": f"{only[0]} in the first, {only[1]} in the second",
            "NMI": f"{found.nmi:.4f}",
            "ARI": f"{found.ari:.4f}",
            "clusters": _changes(found),
            "rows moved": f"{found.moved.sum():,}",
            "written": run.written,
        }
    )
    if max(found.table.shape) > _MAX_CLUSTERS:
        printer.say(f"\nNo table of shared rows: more than {_MAX_CLUSTERS} clusters.")
        return
    printer.say(f"\nShared rows, by cluster in {first} (down) and {second} (across):")
    cells = [[f"{n:,}" for n in row] for row in found.table]
    lines = map(lambda n, row: [n, *row], found.first, cells)
    printer.table(["", *found.second], lines)


def _changes(found: FitComparison) -> str:
    """How many clusters split, merged and so on, as text."""
    kinds: list[str] = [change.kind for change in (*found.changes, *found.new)]
    named = {
        "same": "with the same rows",
        "changed": "that lost or gained rows",
        "split": "split",
        "merged": "merged",
        "dissolved": "dissolved",
        "new": "new",
    }
    counts = ((kinds.count(kind), text) for kind, text in named.items())
    return ", ".join(f"{n} {text}" for n, text in counts if n)


def _places(keys: Any, others: Any) -> Array:
    """The position (n,) of each key in `others`, or -1 if `others` does not have it."""
    if keys.type != others.type:  # numbers from a CSV file are text
        keys, others = keys.cast(pa.string()), others.cast(pa.string())
    return pc.index_in(keys, value_set=others).fill_null(-1).to_numpy()


def _as_numbers(clusters: Any) -> Array:
    """Clusters (n,) as numbers if possible, because the text 10 sorts before 2."""
    with suppress(pa.ArrowInvalid):
        clusters = clusters.cast(pa.int64())
    return clusters.to_numpy(zero_copy_only=False)
