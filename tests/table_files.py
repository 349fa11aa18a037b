"""Files and comparisons shared by the tests of tables."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv


class Piped(io.TextIOWrapper):
    """Replacement for standard input, with the given bytes as piped data."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))


def same(a, b):
    """Assert that two encoded tables have equal rows, identifiers and labels."""
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.rows, b.rows)
    for one, other in ((a.ids, b.ids), (a.labels, b.labels)):
        assert (one is None) == (other is None)
        assert one is None or one[:].to_pylist() == other.to_pylist()


def mixed(n=3_000):
    """A table with numbers of all kinds, text, an identifier and a label."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "key": pa.array(2**53 + np.arange(n)),  # not distinct in float64
            "x": rng.normal(1e6, 1, n),
            "whole": rng.integers(-5, 5, n),
            "flag": rng.random(n) < 0.3,
            "color": rng.choice(["red", "green", "blue, dark"], n),
            "kind": rng.choice(["a", "b"], n),
        }
    )


def write_csv(table, path, delimiter=","):
    options = pa.csv.WriteOptions(delimiter=delimiter)
    pa.csv.write_csv(table, path, options)


RAMP = "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(9_000))
