"""Real texts that ship with scikit-learn: descriptions of its classes and functions."""

import inspect
import re

from sklearn.utils.discovery import all_estimators, all_functions


def descriptions():
    """Return the names of scikit-learn's classes and functions, and their texts."""
    found = {}
    for name, value in [*all_estimators(), *all_functions()]:
        parts = re.split(r"\n(Parameters|Examples)\n", inspect.getdoc(value) or "")
        text = re.sub(r"`[^`]*sphx_glr[^`]*`", " ", parts[0])  # links to examples
        text = re.sub(r"[^A-Za-z]+", " ", text)
        if len(text) > 150:
            found[name] = text
    return list(found), list(found.values())
