"""`chunks` splits rows into units of work."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from akkm.rows import chunks


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 10_000_000))
def test_chunks_cover_all_rows_once_in_at_most_64_parts(n):
    parts = chunks(n)
    assert parts[0].start == 0
    assert parts[-1].stop == n
    assert all(a.stop == b.start for a, b in pairwise(parts))
    assert len(parts) <= 64
