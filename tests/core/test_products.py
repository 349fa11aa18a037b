"""Products of kernel matrices, computed in blocks."""

import numpy as np
import pytest
from scipy import sparse

from akkm.core.products import KernelProduct
from akkm.kernels import RBF, PrecomputedStrip


@pytest.mark.parametrize("block", [1, 7, 64, 1024])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_any_block_size_gives_the_same_product(kind, block, rng):
    X, Z, S = rng.random((90, 3)), rng.random((50, 3)), rng.random((50, 4))
    kernel = RBF(gamma=2.0)
    product = KernelProduct(kernel, kind(Z), S, np.float64, block=block)
    np.testing.assert_allclose(product(kind(X)), kernel(X, Z) @ S, atol=1e-12)


@pytest.mark.parametrize("block", [7, 1024])
def test_blocks_of_a_precomputed_strip_give_the_same_product(block, rng):
    K, S = rng.random((90, 50)), rng.random((50, 4))
    product = KernelProduct(
        PrecomputedStrip(), np.arange(50), S, np.float64, block=block
    )
    np.testing.assert_allclose(product(K), K @ S, atol=1e-12)
