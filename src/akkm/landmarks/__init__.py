"""Step 1, choose: which points span the space in which the centers live."""

from akkm.landmarks._choose import STRATEGIES, choose, named
from akkm.landmarks._pool import Pool, count

__all__ = ["STRATEGIES", "Pool", "choose", "count", "named"]
