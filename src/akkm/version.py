"""The version of akkm, for every module that writes it to a file."""

__all__ = ["__version__"]

__version__ = "0.1.0"
