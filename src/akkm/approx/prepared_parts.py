"""The rows of a fit, prepared for the loop in this process or on their workers."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from akkm.approx.factored import Factored
from akkm.core.parts import Part
from akkm.core.remote_parts import RemoteParts
from akkm.core.threads import Threads
from akkm.rows import mapped
from akkm.typing import Array

# For data with fewer columns than this, recomputing cheap kernel values is faster than
# caching them.
_WIDE = 256
# If the rows are not in memory and there are more rows than this, their labels and
# bounds (over 1 GB) are kept in files.
MANY_ROWS = 2**26


def prepare_parts(
    factored: Factored,
    engine: Threads,
    labels: Any,
    weights: Array | None,
    cache_bytes: float,
    folder: Path | None = None,
) -> Part | RemoteParts:
    """Prepare the strip's rows for the loop, in this process or on their workers.

    If the rows are not in memory and there are very many of them, their labels and
    bounds are kept in files in `folder`.
    """
    strip, gram, partitions = factored.strip, factored.gram, factored.strip.X.partitions
    if partitions is not None:
        return RemoteParts(
            partitions,
            strip,
            gram,
            labels=labels,
            weights=weights,
            cache_bytes=cache_bytes,
        )
    narrow = strip.kernel.cheap and strip.X.shape[1] < _WIDE
    if strip.nbytes <= cache_bytes and not narrow:
        strip.compute_all(engine)
    strip.use_cache(cache_bytes)
    in_file = not strip.X.in_memory and strip.n > MANY_ROWS
    full = partial(mapped.full, folder=folder) if in_file else np.full
    return Part.of(strip, gram, engine, labels=labels, weights=weights, full=full)
