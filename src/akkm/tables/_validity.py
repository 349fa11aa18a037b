"""Checks of an encoder that was loaded from a file."""

import math
from collections.abc import Sequence
from typing import Any

from akkm.tables._columns import (
    REASONS,
    ROLES,
    SCALES,
    Encoding,
    describe_text,
    feature_names,
    is_left_out,
)
from akkm.tables._distribution import PARTS
from akkm.tables._frame import LIBRARIES
from akkm.tables._sparse import require_valid_matrix
from akkm.tables._text_numbers import TextFormat, parse, write


def require_valid_encoder(encoder: Any, held_out: list[str]) -> None:
    """Raise an exception if the attributes of a fitted encoder contradict each other.

    `held_out` has the names of the id and label columns.
    """
    names = (*held_out, *encoder.ignored_, *encoder.notes_, *encoder.text)
    given = (*encoder.drop, *encoder.feature_names_in_)
    if not all(isinstance(n, str) for n in (*names, *given)):
        raise ValueError("The names of columns are not text.")
    if encoder.n_features_in_ != len(encoder.feature_names_in_):
        raise ValueError(
            "The number of column names differs from the number of columns."
        )
    if encoder.library_ not in LIBRARIES:
        raise ValueError(f"The library {encoder.library_!r} is not known.")
    if encoder.matrix_ is not None:
        features = require_valid_matrix(encoder.matrix_, held_out)
    else:
        features = require_valid(encoder.columns_)
        known = {e["name"] for e in encoder.columns_} | {*encoder.ignored_}
        if known != {*encoder.feature_names_in_}:
            raise ValueError("The table has other columns than the encodings.")
    if encoder.feature_names_ != features or not features:
        raise ValueError("The encodings of columns don't fit their names.")


def require_valid(encodings: Sequence[Encoding]) -> list[str]:
    """Return the names of all features; raise an error if an encoding is not valid."""
    for encoding in encodings:
        _require_valid(encoding)
    return [name for encoding in encodings for name in feature_names(encoding)]


def _require_valid(encoding: Encoding) -> None:
    """Raise an exception if the encoding of a column is not valid."""
    for key in ("name", "kind", "how", "type", "unit"):
        if not isinstance(encoding[key], str):
            raise ValueError(f"{key} is {encoding[key]!r}; expected text.")
    for key in ("time", "as_text"):
        if not isinstance(encoding[key], bool):
            raise ValueError(f"{key} is {encoding[key]!r}; expected a boolean.")
    if encoding["kind"] not in ("number", "text"):
        raise ValueError(f"A column can't be of kind {encoding['kind']!r}.")
    if encoding["role"] not in ROLES:
        raise ValueError(f"A column can't have the role {encoding['role']!r}.")
    if is_left_out(encoding):
        if encoding["reason"] not in REASONS:
            raise ValueError(f"A column can't be left out for {encoding['reason']!r}.")
        return
    if not 0 < float(encoding["weight"]) < math.inf:
        raise ValueError(f"A column can't have the weight {encoding['weight']!r}.")
    if not 0 <= float(encoding["distance"]) < math.inf:
        raise ValueError("The mean distance in a column is not a number.")
    if encoding["kind"] == "number":
        shift, scale, mean = (float(encoding[k]) for k in ("shift", "scale", "mean"))
        if not (math.isfinite(shift) and math.isfinite(mean) and 0 < scale < math.inf):
            raise ValueError("A column can't be scaled by these numbers.")
        if encoding["how"] not in SCALES:
            raise ValueError(f"A column can't be scaled as {encoding['how']!r}.")
        _require_valid_facts(encoding)
        return
    values, pooled = encoding["values"], encoding["pooled"]
    if not all(isinstance(value, str) for value in values) or not values:
        raise ValueError("The values of a column of text are not text.")
    if len(set(values)) < len(values) or (pooled and values[-1] != "other"):
        raise ValueError("The values of a column of text are not distinct.")
    if pooled:
        describe_text(encoding)


def _require_valid_facts(encoding: Encoding) -> None:
    """Raise an exception if facts about a column of numbers are not valid."""
    center, width = float(encoding["center"]), float(encoding["width"])
    if not (math.isfinite(center) and 0 < width < math.inf):
        raise ValueError("A column can't be scaled by these numbers.")
    parts, means = encoding["parts"], [float(m) for m in encoding["part_means"]]
    if not {*parts} <= PARTS.keys() or len(means) != 2 * len(parts):
        raise ValueError(f"Dates don't have the parts {parts!r}.")
    if not all(map(math.isfinite, [*means, *map(float, encoding["sentinels"])])):
        raise ValueError("The facts about a column are not finite numbers.")
    if not isinstance(encoding["whole"], bool):
        raise ValueError(f"whole is {encoding['whole']!r}; expected a boolean.")
    if encoding["format"] is not None:
        form = TextFormat(**encoding["format"])
        texts = (form.role, form.prefix, form.suffix, form.group, form.pattern)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("The format of a column is not text.")
        if form.decimal not in (".", ",") or not 0 <= int(form.places) < 30:
            raise ValueError("The format of a column is not known.")
        write(parse(["1", "-1"], form)[:0], form)
        if not 0 < float(form.factor) < math.inf:
            raise ValueError("The format of a column has an unknown unit.")
