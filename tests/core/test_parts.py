"""Blocks of rows in descending order of their values, and sums over clusters."""

import numpy as np
import pytest

from akkm.core.bounds import descending
from akkm.core.parts import Part, Stats
from akkm.core.threads import Threads
from akkm.kernels import RBF
from core.loop import prepare


@pytest.mark.parametrize("size", [1, 5, 700, 5_000])
def test_blocks_contain_values_in_descending_order(size, rng):
    """The largest value comes first; rows with negative values are left out."""
    values = rng.integers(-3, 40, size).astype(np.float32)
    values[rng.random(size) < 0.01] = np.inf
    order = np.argsort(-values, kind="stable")
    expected = order[values[order] >= 0]
    parts = list(descending(values, 32))
    assert max(map(len, parts), default=0) <= 32
    np.testing.assert_array_equal(np.concatenate([expected[:0], *parts]), expected)


def test_sums_of_given_labels_do_not_depend_on_blocks_of_rows(rng):
    """Centers of random labels hardly differ: rounding errors would decide labels."""
    X = rng.random((5_000, 3), dtype=np.float32)
    labels = rng.integers(4, size=len(X))
    f = prepare(X, RBF(gamma=0.5), np.arange(50))
    with Threads(1) as engine:
        sums = [
            Part.of(f.strip.subset(rows), f.gram, engine, labels=labels[rows])
            .label_stats(4)
            .sums
            for rows in np.split(np.arange(len(X)), [777, 1_800, 4_100])
        ]
        whole = Part.of(f.strip, f.gram, engine, labels=labels).label_stats(4).sums
    np.testing.assert_allclose(sum(sums), whole, rtol=1e-13)


def test_sums_of_many_equal_rows_are_exact():
    """In float32, rounding errors of equal summands add up."""
    phi = np.full((1_000, 3), np.float32(0.1))
    stats = Stats.zeros(1, 3)
    stats.add_rows(phi, np.zeros(len(phi), dtype=int), None)
    np.testing.assert_allclose(stats.sums, 1_000 * float(phi[0, 0]), rtol=1e-14)
