"""The largest eigenpairs of symmetric matrices."""

import numpy as np
import pytest
from scipy import linalg

from akkm import ConsensusKernelKMeans, DiffusionKernelKMeans
from akkm.core.eigenpairs import largest_eigenpairs


@pytest.fixture
def fast_method_fails(monkeypatch):
    """Let LAPACK's method for a few eigenpairs fail, as it does for some matrices."""
    eigh, calls = linalg.eigh, []

    def fail(A, **options):
        if "subset_by_index" in options:
            calls.append(options)
            raise linalg.LinAlgError("Internal Error.")
        return eigh(A, **options)

    monkeypatch.setattr(linalg, "eigh", fail)
    return calls


def test_the_slow_method_gives_the_same_eigenpairs(rng, fast_method_fails):
    A = rng.normal(size=(30, 30))
    A += A.T
    values, vectors = largest_eigenpairs(A, 4)
    assert fast_method_fails
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[-4:])
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-10)


def test_a_consensus_of_diffusion_fits_does_not_depend_on_the_method(
    rng, fast_method_fails, monkeypatch
):
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 20])
    model = ConsensusKernelKMeans(
        2, n_members=3, estimator=DiffusionKernelKMeans(), random_state=0
    )
    slow = model.fit_predict(X)
    assert fast_method_fails
    monkeypatch.undo()
    np.testing.assert_array_equal(slow, model.fit_predict(X))
