"""`akkm compare`: the agreement of two labelings."""

from contextlib import suppress
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from akkm.cli._console import Printer
from akkm.cli._labels import read_labels
from akkm.metrics import adjusted_rand_index, nmi
from akkm.typing import Array

# Maximum number of clusters for which the contingency table is printed.
_MAX_CLUSTERS = 25

_EXAMPLES = """\b
Example:
  akkm compare monday.parquet tuesday.csv
"""


@click.command(epilog=_EXAMPLES)
@click.argument("first", metavar="LABELS")
@click.argument("second", metavar="LABELS")
def compare(first: str, second: str) -> None:
    """Compare two label files: NMI, ARI and how many rows each pair of clusters shares.

    Rows are matched by id, or by row number.
    """
    key, keys, clusters = read_labels(first)
    other_key, other_keys, other_clusters = read_labels(second)
    if key != other_key:
        raise ValueError(
            f"{first} identifies rows by {key!r}, but {second} identifies them by "
            f"{other_key!r}; write both files with the same --id, or both without --id."
        )
    places = _places(keys, other_keys)
    shared = places >= 0
    if not shared.any():
        raise ValueError(f"{first} and {second} have no {key} in common.")
    left, names_left = _codes(clusters.filter(pa.array(shared)))
    right, names_right = _codes(other_clusters.take(pa.array(places[shared])))
    printer = Printer()
    only = [f"{len(rows) - len(left):,}" for rows in (keys, other_keys)]
    printer.facts(
        {
            "rows in both": f"{len(left):,}, by {key}",
            "only in one file": " and ".join(only),
            "NMI": f"{nmi(left, right):.4f}",
            "ARI": f"{adjusted_rand_index(left, right):.4f}",
        }
    )
    if max(len(names_left), len(names_right)) > _MAX_CLUSTERS:
        printer.say(f"\nNo table of shared rows: more than {_MAX_CLUSTERS} clusters.")
        return
    counts = np.zeros((len(names_left), len(names_right)), dtype=np.int64)
    np.add.at(counts, (left, right), 1)
    printer.say(f"\nShared rows, by cluster in {first} (down) and {second} (across):")
    cells = [[f"{n:,}" for n in row] for row in counts]
    printer.table(["", *names_right], map(lambda n, row: [n, *row], names_left, cells))


def _places(keys: Any, others: Any) -> Array:
    """The position (n,) of each key in `others`, or -1 if `others` does not have it."""
    if keys.type != others.type:  # numbers from a CSV file are text
        keys, others = keys.cast(pa.string()), others.cast(pa.string())
    return pc.index_in(keys, value_set=others).fill_null(-1).to_numpy()


def _codes(clusters: Any) -> tuple[Array, list[str]]:
    """Clusters (n,) as indices into the sorted list of their names, and this list."""
    with suppress(pa.ArrowInvalid):  # as text, 10 would come before 2
        clusters = clusters.cast(pa.int64())
    plain = clusters.to_numpy(zero_copy_only=False)
    values, codes = np.unique(plain, return_inverse=True)
    return codes, [str(value) for value in values.tolist()]
