"""`descending` yields blocks of row numbers, sorted by the values of the rows.

The largest value comes first. Rows with negative values are left out.
"""

import numpy as np
import pytest

from akkm.core.bounds import descending


@pytest.mark.parametrize("size", [1, 5, 700, 5_000])
def test_blocks_contain_values_in_descending_order(size, rng):
    values = rng.integers(-3, 40, size).astype(np.float32)
    values[rng.random(size) < 0.01] = np.inf
    order = np.argsort(-values, kind="stable")
    expected = order[values[order] >= 0]
    parts = list(descending(values, 32))
    assert max(map(len, parts), default=0) <= 32
    np.testing.assert_array_equal(np.concatenate([expected[:0], *parts]), expected)
