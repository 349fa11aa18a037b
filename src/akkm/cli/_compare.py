"""`akkm compare`: how much two labelings have in common."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from akkm.cli._console import Voice
from akkm.cli._labels import Labels, read_labels

Array = NDArray[Any]

# A larger contingency table is not for reading.
_SHOWN = 25

_EXAMPLES = """\b
Example:
  akkm compare monday.parquet tuesday.csv
"""


@click.command(epilog=_EXAMPLES)
@click.argument("first", metavar="LABELS")
@click.argument("second", metavar="LABELS")
def compare(first: str, second: str) -> None:
    """Compare two files of labels: NMI, ARI and which clusters share which rows.

    Rows are matched by id, or by row number.
    """
    from akkm.metrics import adjusted_rand_index, nmi

    voice = Voice()
    a, b = read_labels(first), read_labels(second)
    if a.key != b.key:
        raise ValueError(
            f"{first} names its rows by {a.key!r} and {second} by {b.key!r}; expected "
            "the same. Write both with the same --id, or without."
        )
    places = match(a, b)
    shared = places >= 0
    if not shared.any():
        raise ValueError(f"{first} and {second} have no {a.key} in common.")
    left, names_left = _codes(a.clusters.filter(pa.array(shared)))
    right, names_right = _codes(b.clusters.take(pa.array(places[shared])))
    only = f"{len(a.keys) - len(left):,} and {len(b.keys) - len(left):,}"
    voice.facts(
        [
            ("rows in both", f"{len(left):,}, by {a.key}"),
            ("in one only", only),
            ("NMI", f"{nmi(left, right):.4f}"),
            ("ARI", f"{adjusted_rand_index(left, right):.4f}"),
        ]
    )
    if max(len(names_left), len(names_right)) > _SHOWN:
        voice.say(f"\nMore than {_SHOWN} clusters: no table of which share which rows.")
        return
    counts = np.zeros((len(names_left), len(names_right)), dtype=np.int64)
    np.add.at(counts, (left, right), 1)
    voice.say(f"\nRows of {first} (down) and {second} (across):")
    lines = zip(names_left, counts, strict=True)
    voice.table(
        ["", *names_right], [[name, *(f"{n:,}" for n in row)] for name, row in lines]
    )


def match(a: Labels, b: Labels) -> Array:
    """Where in b each row of a is, -1: nowhere; (n,)."""
    keys, others = a.keys, b.keys
    if keys.type != others.type:  # a CSV file does not tell 7 and "7" apart
        keys, others = keys.cast(pa.string()), others.cast(pa.string())
    places = pc.index_in(keys, value_set=others)
    return places.fill_null(-1).to_numpy()


def _codes(clusters: Any) -> tuple[Array, list[str]]:
    """Clusters as places (n,) in the sorted list of their names."""
    with suppress(pa.ArrowInvalid):  # text in CSV, where 10 would come before 2
        clusters = clusters.cast(pa.int64())
    plain = clusters.to_numpy(zero_copy_only=False)
    values, codes = np.unique(plain, return_inverse=True)
    return codes, [str(value) for value in values.tolist()]
