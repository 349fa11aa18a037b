"""The paper's bounds as numbers for given data: how many landmarks are enough.

This package computes bounds on the clustering error and on the kernel approximation,
and the spectrum they need. docs/theory.md explains the bounds and lists where they
differ from the paper. Fitting models does not belong here.
"""

from akkm.theory._bounds import (
    RelativeBound,
    SpectralBound,
    expected_error_bound,
    relative_error_bound,
    spectral_error_bound,
)
from akkm.theory._nystroem import NystroemError, nystroem_error
from akkm.theory._spectrum import Spectrum, spectrum
from akkm.theory._suggest import Suggestion, suggest_n_landmarks

__all__ = [
    "NystroemError",
    "RelativeBound",
    "SpectralBound",
    "Spectrum",
    "Suggestion",
    "expected_error_bound",
    "nystroem_error",
    "relative_error_bound",
    "spectral_error_bound",
    "spectrum",
    "suggest_n_landmarks",
]
