"""The chain of rows that makes constraints contradictory, for error messages."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import NoReturn

import numpy as np

from akkm.typing import Array

# Chains with more rows than this are shortened in messages.
_LONGEST = 12


def chain(pairs: Array, first: int, last: int) -> list[int]:
    """Return the shortest chain of rows from `first` to `last` along pairs (p, 2).

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.guided.contradictions import chain
    >>> chain(np.array([[0, 1], [1, 2], [2, 5]]), 5, 0)
    [5, 2, 1, 0]
    """
    neighbours: dict[int, list[int]] = {}
    for a, b in pairs.tolist():
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    came_from = {first: first}
    waiting = deque([first])
    while waiting and last not in came_from:
        row = waiting.popleft()
        for other in neighbours.get(row, []):
            if other not in came_from:
                came_from[other] = row
                waiting.append(other)
    rows = [last]
    while rows[-1] != first:
        rows.append(came_from[rows[-1]])
    return rows[::-1]


def _text(rows: Sequence[int]) -> str:
    shown = [str(row) for row in rows]
    if len(shown) > _LONGEST:
        shown = [*shown[: _LONGEST // 2], "…", *shown[-_LONGEST // 2 :]]
    return " - ".join(shown)


def refuse_joined_pair(must_link: Array, a: int, b: int) -> NoReturn:
    """Raise ValueError: must-links join two rows that must be apart."""
    raise ValueError(
        f"cannot_link separates rows {a} and {b}, but must_link joins them through "
        f"the rows {_text(chain(must_link, a, b))}; remove one of these pairs."
    )


def refuse_joined_classes(
    must_link: Array, rows: tuple[int, int], classes: tuple[Hashable, Hashable]
) -> NoReturn:
    """Raise ValueError: must-links join two rows of different classes."""
    raise ValueError(
        f"Row {rows[0]} is known as {classes[0]!r} and row {rows[1]} as "
        f"{classes[1]!r}, but must_link joins them through the rows "
        f"{_text(chain(must_link, *rows))}; correct a class, remove a pair, or give "
        "strength a number."
    )


def refuse_separated_class(
    must_link: Array, pair: Array, known: Array, groups: Array, name: Hashable
) -> NoReturn:
    """Raise ValueError: two rows of a class with one cluster must be apart.

    `pair` (2,) are the two rows. The rows of class `name` are `known` (k,), and
    `groups` is the group of each row (n,).
    """
    texts = []
    for row in pair.tolist():
        witness = int(known[np.flatnonzero(groups[known] == groups[row])[0]])
        joined = ""
        if row != witness:
            joined = f"rows {_text(chain(must_link, row, witness))} are joined, and "
        texts.append(f"{joined}row {witness} is known as {name!r}")
    raise ValueError(
        f"cannot_link separates rows {pair[0]} and {pair[1]}, but both belong to class "
        f"{name!r}, which has one cluster ({'; '.join(texts)}); remove the pair, "
        "correct a class, or raise clusters_per_class."
    )
