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
    names += (*encoder.words,)
    given = (*encoder.drop, *encoder.feature_names_in_)
    if not all(isinstance(n, str) for n in (*names, *given)):
        raise ValueError("Some names of columns, or notes, are not text.")
    if encoder.n_features_in_ != len(encoder.feature_names_in_):
        raise ValueError(
            f"There are {len(encoder.feature_names_in_)} column names; expected "
            f"{encoder.n_features_in_!r:.40}."
        )
    if encoder.library_ not in LIBRARIES:
        raise ValueError(
            f"The library is {encoder.library_!r}; expected one of "
            f"{', '.join(LIBRARIES)}."
        )
    if encoder.matrix_ is not None:
        features = require_valid_matrix(encoder.matrix_, held_out)
    else:
        features = require_valid(encoder.columns_)
        known = {e["name"] for e in encoder.columns_} | {*encoder.ignored_}
        if known != {*encoder.feature_names_in_}:
            raise ValueError(
                "The encoded and ignored columns are not the columns of the fitted "
                "table."
            )
    if encoder.feature_names_ != features or not features:
        raise ValueError("The feature names are not those of the encodings.")


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
        raise ValueError(f"kind is {encoding['kind']!r}; expected number or text.")
    if encoding["role"] not in ROLES:
        raise ValueError(
            f"role is {encoding['role']!r}; expected one of {', '.join(ROLES)}."
        )
    if is_left_out(encoding):
        if encoding["reason"] not in REASONS:
            raise ValueError(
                f"The reason to leave out a column is {encoding['reason']!r}; expected "
                f"one of {', '.join(REASONS)}."
            )
        return
    if not 0 < float(encoding["weight"]) < math.inf:
        raise ValueError(
            f"weight is {encoding['weight']!r}; expected a positive finite number."
        )
    if not 0 <= float(encoding["distance"]) < math.inf:
        raise ValueError(
            f"distance is {encoding['distance']!r}; expected a finite number, zero or "
            "more."
        )
    if encoding["kind"] == "number":
        shift, scale, mean = (float(encoding[k]) for k in ("shift", "scale", "mean"))
        if not (math.isfinite(shift) and math.isfinite(mean) and 0 < scale < math.inf):
            raise ValueError(
                f"shift, scale and mean are {shift}, {scale} and {mean}; expected "
                "finite numbers and a positive scale."
            )
        if encoding["how"] not in SCALES:
            raise ValueError(
                f"how is {encoding['how']!r}; expected one of {', '.join(SCALES)}."
            )
        _require_valid_facts(encoding)
        return
    if encoding["how"] == "words":
        _require_valid_words(encoding)
        return
    values, pooled = encoding["values"], encoding["pooled"]
    if not all(isinstance(value, str) for value in values) or not values:
        raise ValueError("A column of text has no values, or values that are not text.")
    if len(set(values)) < len(values) or (pooled and values[-1] != "other"):
        raise ValueError(
            "The values of a column of text are not distinct, or values are pooled but "
            "the last value is not 'other'."
        )
    if pooled:
        describe_text(encoding)


def _require_valid_words(encoding: Encoding) -> None:
    """Raise an exception if the encoding of a text by its words is not valid."""
    words = encoding["words"]
    if not all(isinstance(word, str) for word in words) or len(set(words)) < len(words):
        raise ValueError("Some words of a column are equal, or not text.")
    rows = [encoding["idf"], encoding["mean"], *encoding["axes"]]
    if len(rows) < 3 or any(len(row) != len(words) for row in rows):
        raise ValueError(
            f"A column has {len(words)} words; expected as many weights, means and "
            "coefficients of axes."
        )
    if not all(math.isfinite(float(value)) for row in rows for value in row):
        raise ValueError("Some weights of words are not finite numbers.")


def _require_valid_facts(encoding: Encoding) -> None:
    """Raise an exception if facts about a column of numbers are not valid."""
    center, width = float(encoding["center"]), float(encoding["width"])
    if not (math.isfinite(center) and 0 < width < math.inf):
        raise ValueError(
            f"center and width are {center} and {width}; expected finite numbers and a "
            "positive width."
        )
    parts, means = encoding["parts"], [float(m) for m in encoding["part_means"]]
    if not {*parts} <= PARTS.keys() or len(means) != 2 * len(parts):
        raise ValueError(
            f"The parts of dates are {parts!r}, with {len(means)} means; expected some "
            f"of {', '.join(PARTS)}, with two means each."
        )
    if not all(map(math.isfinite, [*means, *map(float, encoding["sentinels"])])):
        raise ValueError("Some part_means or sentinels are not finite numbers.")
    if not isinstance(encoding["whole"], bool):
        raise ValueError(f"whole is {encoding['whole']!r}; expected a boolean.")
    if encoding["format"] is not None:
        form = TextFormat(**encoding["format"])
        texts = (form.role, form.prefix, form.suffix, form.group, form.pattern)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("Some fields of a column's format are not text.")
        if form.decimal not in (".", ",") or not 0 <= int(form.places) < 30:
            raise ValueError(
                f"decimal is {form.decimal!r} and places is {form.places!r}; expected "
                "'.' or ',' and a number from 0 to 29."
            )
        write(parse(["1", "-1"], form)[:0], form)
        if not 0 < float(form.factor) < math.inf:
            raise ValueError(
                f"factor is {form.factor!r}; expected a positive finite number."
            )
