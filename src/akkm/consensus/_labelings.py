"""Labelings: labels of any type, checked and encoded as small integers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.typing import Array

# If integer labels have a range of at most this many values, they are encoded by
# counting, which is faster than sorting.
_NARROW = 2**16
# With more members than this, and more members than rows, the array is probably
# transposed.
_MANY_MEMBERS = 1000


@dataclass(frozen=True, eq=False)
class Labeling:
    """The partition of one member."""

    values: Array  # (C_q,) the C_q distinct labels of member q, sorted
    codes: Array  # (n,) position of each row's label in `values`; unsigned integers


def check_labelings(labelings: Any) -> list[Array]:
    """The members as a list of arrays (n,) without missing labels."""
    if getattr(labelings, "ndim", 1) == 2:
        labelings = np.asarray(labelings)
    members = [np.asarray(member) for member in labelings]
    if not members:
        raise ValueError(
            "labelings is empty; expected at least one array of labels. Give one array "
            "of shape (n,) per partition."
        )
    n = members[0].shape[0] if members[0].ndim else 0
    for q, labels in enumerate(members):
        if labels.shape != (n,) or n == 0:
            raise ValueError(
                f"labelings[{q}] has shape {labels.shape}; expected one label per row, "
                f"shape {(n,) if n else '(n,)'}. Give every member's labels of the "
                "same rows: a list of 1-D arrays, or an array with a row per member."
            )
        if _any_missing(labels):
            raise ValueError(
                f"labelings[{q}] has missing labels (NaN or None); expected a label "
                "for every row. Remove these rows, or give them a label of their own."
            )
    if len(members) > max(n, _MANY_MEMBERS):
        raise ValueError(
            f"labelings has {len(members):,} members of {n:,} rows; expected few "
            "members of many rows. Give an array with a row per member: labelings.T?"
        )
    return members


def _any_missing(labels: Array) -> bool:
    """Whether any label is NaN, NaT or None."""
    if labels.dtype.kind == "O":
        return any(label is None or label != label for label in labels)
    return labels.dtype.kind in "fcmM" and bool((labels != labels).any())


def encode(labels: Array) -> Labeling:
    """The distinct values of labels (n,), and the position of each label among them.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.consensus._labelings import encode
    >>> encode(np.array([7, -1, 7])).codes
    array([1, 0, 1], dtype=uint8)
    """
    if labels.dtype.kind in "biu":
        low, high = int(labels.min()), int(labels.max())
        if high - low < _NARROW and high <= np.iinfo(np.intp).max:
            shifted = np.subtract(labels, low, dtype=np.intp)
            present = np.bincount(shifted) > 0
            values = np.flatnonzero(present)
            position = (np.cumsum(present) - 1).astype(smallest_dtype(len(values)))
            return Labeling((values + low).astype(labels.dtype), position.take(shifted))
    values, codes = np.unique(labels, return_inverse=True)
    return Labeling(values, codes.astype(smallest_dtype(len(values))))


def recode(q: int, labels: Array, values: Array) -> Array:
    """Positions (n,) of new rows' labels among the known values of member q."""
    new = encode(labels)
    known = {value: code for code, value in enumerate(values.tolist())}
    unseen = [value for value in new.values.tolist() if value not in known]
    if unseen:
        raise ValueError(
            f"labelings[{q}] has labels that did not exist when the meta-clusters "
            f"were made: {str(unseen[:5])[1:-1]}{', ...' if unseen[5:] else ''}. "
            "Give the members in the same order, with labels of the same meaning."
        )
    position = [known[value] for value in new.values.tolist()]
    return np.array(position, dtype=smallest_dtype(len(values)))[new.codes]


def smallest_dtype(largest: int) -> np.dtype[Any]:
    """The smallest dtype that holds 0 .. largest."""
    return np.min_scalar_type(largest)
