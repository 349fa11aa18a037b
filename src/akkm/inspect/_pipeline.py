"""A scikit-learn pipeline that ends in an estimator of akkm."""

import re
from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from akkm.inspect._values import Records, records_of


def split_pipeline(
    pipeline: Pipeline, X: Any, feature_names: Sequence[str] | None
) -> tuple[Any, Any, Sequence[str] | None, Records]:
    """The estimator, its rows (n, d), names of their columns, and original values."""
    check_is_fitted(pipeline)
    steps, model = pipeline[:-1], pipeline[-1]
    given = getattr(X, "columns", feature_names)
    columns = None if given is None else [str(name) for name in given]
    if not len(steps):
        return model, X, columns, records_of(X, columns)
    names = _names_after(steps, columns, words=_are_texts(X))
    return model, steps.transform(X), names, records_of(X, columns)


def table_encoder(pipeline: Pipeline) -> Any:
    """The `TableEncoder` of a pipeline, or None unless it is the only transformer."""
    steps = pipeline[:-1]
    decodes = len(steps) == 1 and hasattr(steps[0], "original_table")
    return steps[0] if decodes else None


def _are_texts(X: Any) -> bool:
    """Whether X is a list, a 1-D array or a Series of texts."""
    one_dimensional = len(getattr(X, "shape", (0,))) == 1
    return one_dimensional and isinstance(next(iter(X), None), str)


def _names_after(
    steps: Pipeline, columns: list[str] | None, *, words: bool
) -> list[str] | None:
    """Names of the columns after the steps; None if the steps do not give any.

    `words` says whether the input consists of texts. If so, the names are words, and a
    word that is a number gets quotes.
    """
    try:
        names = steps.get_feature_names_out(columns)
    except (AttributeError, ValueError):
        return None
    if words:
        return [f'"{name}"' if str(name).isdigit() else str(name) for name in names]
    if columns is not None:
        return [str(name) for name in names]
    # scikit-learn calls columns without names x0, x1 and so on.
    return [re.sub(r"(^|__)x(\d+)(?=$|_)", r"\1column \2", str(name)) for name in names]
