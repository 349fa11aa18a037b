"""Real texts that ship with scikit-learn: descriptions of its classes and functions."""

import inspect
import re

from sklearn.utils.discovery import all_estimators, all_functions

# Links to the user guide and to examples, formulas, directives and names of roles.
_MARKUP = r"Read more in[^`]*`[^`]*`|`[^`]*sphx_glr[^`]*`|:math:`[^`]*`|\.\. .*|:\w+:"


def descriptions():
    """Return the names of scikit-learn's classes and functions, and their texts."""
    found = {}
    for name, value in [*all_estimators(), *all_functions()]:
        parts = re.split(r"\n(Parameters|Examples)\n", inspect.getdoc(value) or "")
        text = re.sub(_MARKUP, " ", parts[0])
        text = re.sub(r"[^A-Za-z]+", " ", text)
        if len(text) > 150:
            found[name] = text
    return list(found), list(found.values())
