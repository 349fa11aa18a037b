"""Free text: read it for reports, or encode it by its words."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import linalg
from sklearn.feature_extraction.text import TfidfVectorizer

from akkm.rows.formats import TableError
from akkm.tables._columns import Encoding, left_out
from akkm.tables._summary import Counts
from akkm.tables._table import Column, Table, as_option
from akkm.typing import Array

# Number of characters of a text that are read.
_LONGEST = 1_000
# Number of distinct texts from which words are learned: the first ones of the table.
_LEARNED = 20_000
# Maximum number of words, and of coordinates that encode a text.
_WORDS, _COORDINATES = 1_000, 20
# Minimum number of texts that contain a word.
_TEXTS = 2
# Variance of all coordinates together; a column of numbers has variance 1.
_VARIANCE = 2.0


def read_texts(table: Table, names: Sequence[str], rows: Array) -> dict[str, Any]:
    """Return columns of text, of the given rows (b,) in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from akkm.tables._frame import as_table
    >>> from akkm.tables._prose import read_texts
    >>> table = as_table(pd.DataFrame({"answer": ["good", "bad"]}))
    >>> read_texts(table, ["answer"], np.array([1]))["answer"].to_pylist()
    ['bad']
    """
    table.read_as_text(names)
    parts: dict[str, list[pa.Array]] = {name: [] for name in names}
    start = 0
    for batch in table.batches(names):
        stop = start + batch.num_rows
        own = rows[slice(*np.searchsorted(rows, [start, stop]))] - start
        for name, column in zip(names, batch.columns, strict=True):
            texts = column.take(pa.array(own)).cast(pa.large_string())
            parts[name].append(pc.utf8_slice_codeunits(texts, 0, _LONGEST))
        start = stop
    return {
        name: pa.chunked_array(chunks, pa.large_string())
        for name, chunks in parts.items()
    }


def words_encoding(
    column: Column, counts: Counts, weight: float, table: Table
) -> Encoding:
    """Return the encoding of a text column by its words.

    The TF-IDF weights of the words are projected onto their leading principal
    components. The encoding depends on the first distinct texts of the column, and not
    on how the table is cut into batches.
    """
    texts = list(islice(counts.values, _LEARNED))
    few = min(_TEXTS, len(texts))
    weigh = TfidfVectorizer(max_features=_WORDS, min_df=few, dtype=np.float64)
    try:
        T = weigh.fit_transform(texts)
    except ValueError as error:
        raise TableError(
            f"{table.name}: column {column.name!r} has no words that occur in several "
            f"texts; leave it out ({as_option('--drop', column.name)})"
        ) from error
    mean = np.asarray(T.mean(axis=0)).ravel()
    covariance = (T.T @ T).toarray() / len(texts) - np.outer(mean, mean)
    variances, axes = linalg.eigh(covariance)
    chosen = np.argsort(-variances)[:_COORDINATES]
    chosen = chosen[variances[chosen] > 1e-9]
    encoding = left_out(column, "text", "equal") | {"as_text": True, "pooled": False}
    if not len(chosen):
        return encoding
    size = (_VARIANCE * weight / variances[chosen].sum()) ** 0.5
    axes = axes[:, chosen].T * size
    # The sign of a principal component is arbitrary: make its largest entry positive.
    largest = np.abs(axes).argmax(axis=1)
    axes *= np.sign(axes[np.arange(len(axes)), largest])[:, None]
    return encoding | {
        "how": "words",
        "role": "prose",
        "weight": weight,
        "distance": 2 * _VARIANCE * weight,
        "values": [],
        "words": weigh.get_feature_names_out().tolist(),
        "idf": weigh.idf_.tolist(),
        "mean": mean.tolist(),
        # Rounded, because the last digits depend on the number of threads.
        "axes": axes.round(7).tolist(),
    }


class WordEncoder:
    """Encodes texts by their words.

    Parameters
    ----------
    encoding : dict
        The encoding of the column, from `words_encoding`.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._weigh = TfidfVectorizer(vocabulary=encoding["words"], dtype=np.float64)
        self._weigh.idf_ = np.array(encoding["idf"])
        self._axes = np.array(encoding["axes"]).T
        self._origin = np.array(encoding["mean"]) @ self._axes

    def encode(self, text: pa.DictionaryArray, X: Array) -> None:
        """Write the coordinates of texts (b,) to X (b, k), which must contain zeros.

        Rows of missing texts are not changed: zeros are the mean of all texts.
        """
        there = np.flatnonzero(text.is_valid().to_numpy(zero_copy_only=False))
        codes = text.indices.take(pa.array(there)).to_numpy()
        used, place = np.unique(codes, return_inverse=True)
        if len(used):
            texts = text.dictionary.take(pa.array(used)).to_pylist()
            coordinates = self._weigh.transform(texts) @ self._axes - self._origin
            X[there] = coordinates[place]
