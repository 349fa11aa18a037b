"""Warnings that point at the user's code, not at a line of akkm or scikit-learn."""

import sys
import warnings
from types import FrameType

__all__ = ["warn_user"]

# Packages whose functions may be between the user's code and the line that warns.
_LIBRARIES = {"akkm", "joblib", "sklearn"}


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called akkm.

    The line is the same for `fit`, `fit_predict`, `partial_fit` and a call through a
    pipeline: it is in the innermost function outside akkm and scikit-learn.

    Parameters
    ----------
    text : str
        The message.
    category : type
        A subclass of `Warning`.

    Examples
    --------
    >>> import warnings
    >>> from akkm.user_warnings import warn_user
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("the rows are equal", UserWarning)
    >>> str(caught[0].message)
    'the rows are equal'
    """
    frame = _user_frame(sys._getframe(1))
    warnings.warn_explicit(
        text,
        category,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _user_frame(frame: FrameType) -> FrameType:
    """The innermost frame outside the libraries, or the outermost if all are inside."""
    while frame.f_back is not None and _package_of(frame) in _LIBRARIES:
        frame = frame.f_back
    return frame


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
