"""Optional dependencies: import them, or say how to install them."""

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
        What the module is needed for, as the subject of the error message.
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
            f"{purpose}, which is not installed. Install it with: pip install "
            f"'akkm[{extra}]'"
        ) from error
