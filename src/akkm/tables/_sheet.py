"""Encoded rows, filled block by block."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from akkm.tables._blocks import Block
from akkm.tables._entries import Entry, feature_names
from akkm.tables._table import Table, TableError, advised, brief

Array = NDArray[Any]

LARGEST = float(np.finfo(np.float32).max)
# What a string array of Arrow can hold, in bytes.
_STRINGS = 2**31 - 1


class Sheet:
    """X, float32 (n, d), as blocks of rows come in.

    Parameters
    ----------
    used, numbers, texts : lists of entries
        The columns in the order of X, and those of either kind in the order of blocks.
    n_rows : int
        Rows to expect; there may be more or fewer.
    """

    def __init__(
        self, used: list[Entry], numbers: list[Entry], texts: list[Entry], n_rows: int
    ):
        starts, d = {}, 0
        for entry in used:
            starts[entry["name"]] = d
            d += len(feature_names(entry))
        self._names = [entry["name"] for entry in numbers]
        at = [starts[name] for name in self._names]
        # A slice, where numbers are next to each other, is faster to write to.
        together = at == list(range(at[0], at[0] + len(at))) if at else False
        self._at: Any = slice(at[0], at[-1] + 1) if together else at
        self._shift = np.array([[entry["shift"]] for entry in numbers])
        self._scale = np.array([[entry["scale"]] for entry in numbers])
        self._mean = np.array([[entry["mean"]] for entry in numbers])
        self._texts = [(entry, starts[entry["name"]]) for entry in texts]
        self._unseen: dict[str, Counter[str]] = {}
        self._peak = np.zeros(len(numbers))  # largest absolute value
        self._X = np.zeros((n_rows, d), dtype=np.float32)
        self._n = 0

    def add(self, block: Block) -> None:
        """Encode further rows; takes the block's numbers over."""
        stop = self._n + len(block.rows)
        if stop > len(self._X):
            # Memory is moved, not copied, and little of it is in vain.
            more = max(stop, len(self._X) * 9 // 8)
            self._X.resize((more, self._X.shape[1]), refcheck=False)
        X = self._X[self._n : stop]
        if len(self._names) and len(X):
            self._add_numbers(X, block.V)
        for (entry, start), text in zip(self._texts, block.texts, strict=True):
            codes = self._codes(entry, text)
            rows = np.flatnonzero(codes >= 0)
            X[rows, start + codes[rows]] = 1
        self._n = stop

    def finished(self, table: Table) -> Array:
        """All of X."""
        if (self._peak > LARGEST).any():
            name = self._names[int(self._peak.argmax())]
            raise TableError(
                f"{table.name}: column {name!r} has numbers too large for single "
                f"precision ({self._peak.max():.3g} after scaling); rescale it or "
                f"leave it out ({advised('--drop', name)})"
            )
        self._X.resize((self._n, self._X.shape[1]), refcheck=False)
        return self._X

    def notes(self) -> tuple[str, ...]:
        """What is to be said of values that `fit` did not see."""
        return tuple(
            f"{name}: {found.total():,} rows with values that were not there in "
            f"training ({brief(sorted(found))}), encoded as zeros"
            for name, found in self._unseen.items()
        )

    def _add_numbers(self, X: Array, V: Array) -> None:
        if np.isnan(V.max(axis=1)).any():
            V = np.where(np.isnan(V), self._mean, V)
        with np.errstate(over="ignore", invalid="ignore"):  # it is said in the end
            V -= self._shift
            V /= self._scale
            self._peak = np.fmax(self._peak, np.fmax(V.max(axis=1), -V.min(axis=1)))
            X[:, self._at] = V.T

    def _codes(self, entry: Entry, text: pa.DictionaryArray) -> Array:
        """The category of each row (r,), -1 for none."""
        known = {value: i for i, value in enumerate(entry["values"])}
        other = known["other"] if entry["pooled"] else -1
        # One more for what is missing.
        values = [*text.dictionary.to_pylist(), "missing"]
        code_of = np.array([known.get(value, other) for value in values])
        indices = text.indices.fill_null(len(values) - 1).to_numpy()
        codes = code_of[indices]
        if (codes < 0).any():
            found = self._unseen.setdefault(entry["name"], Counter())
            counts = np.bincount(indices[codes < 0], minlength=len(values))
            for i in np.flatnonzero(counts):
                found[values[i]] += int(counts[i])
        return codes


def joined(parts: list[pa.Array], typed: bool) -> pa.Array:
    """A column that was held out; in CSV, integers are told from text."""
    if pa.types.is_dictionary(parts[0].type):
        parts = [part.dictionary_decode() for part in parts]
    size = sum(part.nbytes for part in parts)
    kind = parts[0].type
    # Views can't be written as CSV.
    if pa.types.is_string_view(kind) or (pa.types.is_string(kind) and size > _STRINGS):
        parts = [part.cast(pa.large_string()) for part in parts]
    column = pa.concat_arrays(parts)
    return column if typed else _integers(column)


def _integers(column: pa.Array) -> pa.Array:
    """Text as integers if nothing is lost by it: "7" is 7, but "007" is not."""
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    same = pc.all(pc.equal(whole.cast(column.type), column))
    return whole if same.as_py() is not False else column
