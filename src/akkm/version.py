"""The version of akkm, for every module that writes it to a file."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("akkm")
except PackageNotFoundError:  # src is on the path, but akkm is not installed
    __version__ = "0.1.0.dev0"
