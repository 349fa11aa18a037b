"""Labels of any kind, checked, as small numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.strip import chunks

Array = NDArray[Any]

# Integers within so narrow a range are counted, which is faster than to sort them.
_COUNTED = 2**16
# More members than this, and than rows, are most likely rows.
_MANY_MEMBERS = 1000


@dataclass(frozen=True, eq=False)
class Labeling:
    """The partition of one member."""

    values: Array  # (C_q,) its labels, sorted
    codes: Array  # (n,) where in `values` each row's label is, smallest unsigned dtype


def check_labelings(labelings: Any) -> list[Array]:
    """Members as a list of arrays (n,), each without missing labels."""
    if getattr(labelings, "ndim", 1) == 2:
        labelings = np.asarray(labelings)
    members = [_check_member(q, member) for q, member in enumerate(labelings)]
    if not members:
        raise ValueError(
            "labelings is empty; expected at least one array of labels. Give one array "
            "of shape (n,) per partition."
        )
    lengths = [len(member) for member in members]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"labelings have {lengths} labels; expected as many in each. Give every "
            "member's labels of the same rows, in the same order."
        )
    if len(members) > max(lengths[0], _MANY_MEMBERS):
        raise ValueError(
            f"labelings has {len(members):,} members of {lengths[0]:,} rows; expected "
            "few members of many rows. Give an array of shape (r, n): labelings.T?"
        )
    return members


def _check_member(q: int, member: Any) -> Array:
    labels = np.asarray(member)
    if labels.ndim != 1 or not len(labels):
        raise ValueError(
            f"labelings[{q}] has shape {labels.shape}; expected one label per row, "
            "shape (n,). Give a list of 1-D arrays, or one array of shape (r, n)."
        )
    if _any_missing(labels):
        raise ValueError(
            f"labelings[{q}] has missing labels (NaN or None); expected a label for "
            "every row. Leave such rows out or give them a label of their own."
        )
    return labels


def _any_missing(labels: Array) -> bool:
    if labels.dtype.kind == "O":
        return any(label is None or label != label for label in labels)
    return labels.dtype.kind in "fcmM" and bool((labels != labels).any())


def check_weights(sample_weight: Any, n: int) -> Array | None:
    """Weights (n,) in float64, or None."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; expected one weight per row, "
            f"shape ({n},)."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            "sample_weight must be finite and not negative, and at least one weight "
            f"positive; the smallest is {weights.min()}, the largest {weights.max()}."
        )
    return weights


def encode(labels: Array) -> Labeling:
    """The distinct labels of labels (n,), and each row's place among them.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.consensus._labelings import encode
    >>> encode(np.array([7, -1, 7])).codes
    array([1, 0, 1], dtype=uint8)
    """
    if labels.dtype.kind in "biu":
        low, high = int(labels.min()), int(labels.max())
        if high - low < _COUNTED and high <= np.iinfo(np.intp).max:
            return _encode_counted(labels, low, high)
    values, codes = np.unique(labels, return_inverse=True)
    return Labeling(values, codes.astype(smallest(len(values))))


def _encode_counted(labels: Array, low: int, high: int) -> Labeling:
    count = np.zeros(high - low + 1, dtype=np.intp)
    for rows in chunks(len(labels)):
        count += np.bincount(labels[rows].astype(np.intp) - low, minlength=len(count))
    there = count > 0
    values = (np.flatnonzero(there) + low).astype(labels.dtype)
    place = (np.cumsum(there) - 1).astype(smallest(len(values)))
    codes = np.empty(len(labels), dtype=place.dtype)
    for rows in chunks(len(labels)):
        shifted = labels[rows].astype(np.intp) - low
        codes[rows] = shifted if there.all() else place[shifted]
    return Labeling(values, codes)


def recode(q: int, labels: Array, values: Array) -> Array:
    """Codes (n,) of new rows' labels among the values that member q had."""
    new = encode(labels)
    known = {value: code for code, value in enumerate(values.tolist())}
    unseen = [value for value in new.values.tolist() if value not in known]
    if unseen:
        raise ValueError(
            f"labelings[{q}] has labels that were not there when the meta-clusters "
            f"were made: {str(unseen[:5])[1:-1]}{', ...' if unseen[5:] else ''}. "
            "Members must be given in the same order, with labels of the same meaning."
        )
    place = [known[value] for value in new.values.tolist()]
    return np.array(place, dtype=smallest(len(values)))[new.codes]


def smallest(count: int) -> np.dtype[Any]:
    """The smallest dtype that holds 0 .. count."""
    return np.min_scalar_type(count)
