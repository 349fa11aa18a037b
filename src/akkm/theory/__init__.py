"""Promise: what the paper proves about m landmarks, as numbers for the data at hand.

How many landmarks are enough, and what do they cost in clustering error? The bounds are
those of the paper's analysis; docs/theory.md says what each one means, and where what
is implemented departs from what is printed.
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
