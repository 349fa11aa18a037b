"""Columns of numbers and text as float32 rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from akkm.rows.formats import TableError
from akkm.tables._columns import LARGEST, Encoding, feature_names
from akkm.tables._table import Table, as_option, quoted_names

Array = NDArray[Any]


class RowEncoder:
    """Encodes rows whose columns are all known.

    Parameters
    ----------
    encodings : list of dict
        The columns in the order of X.
    """

    def __init__(self, encodings: list[Encoding]):
        self.encodings = encodings
        self.numbers = [e for e in encodings if e["kind"] == "number"]
        self.texts = [e for e in encodings if e["kind"] == "text"]
        starts, self.width = {}, 0
        for encoding in encodings:
            starts[encoding["name"]] = self.width
            self.width += len(feature_names(encoding))
        at = [starts[e["name"]] for e in self.numbers]
        # Writing to a slice is faster than to a list of columns.
        together = at == list(range(at[0], at[0] + len(at))) if at else False
        self._at: Any = slice(at[0], at[-1] + 1) if together else at
        self._shift, self._scale, self._mean = (
            np.array([[e[key]] for e in self.numbers])
            for key in ("shift", "scale", "mean")
        )
        self._text_starts = [starts[e["name"]] for e in self.texts]
        self._codes_of = [
            {value: i for i, value in enumerate(e["values"])} for e in self.texts
        ]
        self._unseen: dict[str, Counter[str]] = {}
        self._peaks = np.zeros(len(self.numbers))  # largest absolute values

    def encode(self, V: Array, texts: list[pa.DictionaryArray], X: Array) -> None:
        """Write rows to X (b, width), which is 0; V (d, b) is overwritten."""
        if V.size:
            self._encode_numbers(V, X)
        for i, text in enumerate(texts):
            codes = self._codes(i, text)
            rows = np.flatnonzero(codes >= 0)
            X[rows, self._text_starts[i] + codes[rows]] = 1

    def require_single_precision(self, table: Table) -> None:
        """Raise TableError if a number was too large for float32."""
        if (self._peaks > LARGEST).any():
            name = self.numbers[int(self._peaks.argmax())]["name"]
            raise TableError(
                f"{table.name}: column {name!r} has numbers too large for single "
                f"precision ({self._peaks.max():.3g} after scaling); rescale it or "
                f"leave it out ({as_option('--drop', name)})"
            )

    def notes(self) -> tuple[str, ...]:
        """Which values were not known."""
        return tuple(
            f"{name}: {unseen.total():,} rows with values that were not there in "
            f"training ({quoted_names(sorted(unseen))}), encoded as zeros"
            for name, unseen in self._unseen.items()
        )

    def _encode_numbers(self, V: Array, X: Array) -> None:
        if np.isnan(V.max(axis=1)).any():
            V = np.where(np.isnan(V), self._mean, V)
        with np.errstate(over="ignore", invalid="ignore"):
            V -= self._shift
            V /= self._scale
            self._peaks = np.fmax(self._peaks, np.fmax(V.max(axis=1), -V.min(axis=1)))
            X[:, self._at] = V.T

    def _codes(self, i: int, text: pa.DictionaryArray) -> Array:
        """The category of each row (b,), -1 for none."""
        known, encoding = self._codes_of[i], self.texts[i]
        other = known["other"] if encoding["pooled"] else -1
        # The last entry is for missing values.
        values = [*text.dictionary.to_pylist(), "missing"]
        code_of = np.array([known.get(value, other) for value in values])
        indices = text.indices.fill_null(len(values) - 1).to_numpy()
        codes = code_of[indices]
        if (codes < 0).any():
            unseen = self._unseen.setdefault(encoding["name"], Counter())
            counts = np.bincount(indices[codes < 0], minlength=len(values))
            for j in np.flatnonzero(counts):
                unseen[values[j]] += int(counts[j])
        return codes
