"""Import optional dependencies; if one is missing, say how to install it."""

from importlib import import_module
from typing import Any

__all__ = ["import_extra"]


def import_extra(module: str, purpose: str, extra: str) -> Any:
    """Import a module that needs an optional dependency.

    Parameters
    ----------
    module : str
        The module to import.
    purpose : str
        Start of the error message, such as "Pictures need matplotlib".
    extra : str
        The extra of akkm that installs the dependency.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        If the dependency is not installed; the message says how to install it.

    Examples
    --------
    >>> from akkm.extras import import_extra
    >>> import_extra("numpy", "Arrays need NumPy", "numpy").__name__
    'numpy'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose}, which is not installed. In a clone of akkm, run: pip install "
            f"'.[{extra}]'"
        ) from error
