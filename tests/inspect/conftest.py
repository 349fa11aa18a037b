"""Fixtures that the tests of inspect and of the report share."""

from inspected_models import blobs, fitted, model, wine

__all__ = ["blobs", "fitted", "model", "wine"]
