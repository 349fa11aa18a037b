"""Facts about the columns of an encoded table, for reports."""

from collections.abc import Iterable
from dataclasses import dataclass

from akkm.tables._columns import Encoding, feature_names, is_left_out


@dataclass(frozen=True)
class ColumnFact:
    """A column of a table and the columns of X that encode it.

    Parameters
    ----------
    name : str
        The name of the column.
    role : str
        "number", "money", "percentage", "duration", "date", "time", "boolean",
        "category" or "prose".
    unit : str
        The unit of decoded values, such as "$", "%", "s" or ""; durations are decoded
        as seconds.
    features : tuple of str
        The names of the columns of X that encode the column.
    first : int
        The index in X of the first of these columns.
    weight : float
        The weight of the column in squared distances.
    share : float
        The share of the column in the mean squared distance of two rows.
    whole : bool
        Whether all values are whole numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from akkm.tables import TableEncoder
    >>> frame = pd.DataFrame(
    ...     {"price": ["$5", "$8", "$9"], "town": ["Ulm", "Ulm", "Bonn"]}
    ... )
    >>> price, town = TableEncoder().fit(frame).facts()
    >>> price.role, price.unit, town.role, town.features
    ('money', '$', 'category', ('town=Bonn', 'town=Ulm'))
    """

    name: str
    role: str
    unit: str
    features: tuple[str, ...]
    first: int
    weight: float
    share: float
    whole: bool


def column_facts(encodings: Iterable[Encoding]) -> list[ColumnFact]:
    """Return facts about the columns that are used."""
    used = [e for e in encodings if not is_left_out(e)]
    total = sum(e["distance"] for e in used) or 1.0
    facts, first = [], 0
    for encoding in used:
        features = tuple(feature_names(encoding))
        facts.append(
            ColumnFact(
                encoding["name"],
                encoding["role"],
                encoding["unit"],
                features,
                first,
                encoding["weight"],
                encoding["distance"] / total,
                encoding.get("whole", False),
            )
        )
        first += len(features)
    return facts


def balance(facts: Iterable[ColumnFact]) -> str:
    """Return the share of each kind of column in the mean squared distance of two rows.

    Parameters
    ----------
    facts : iterable of ColumnFact
        Facts from `TableEncoder.facts`.

    Returns
    -------
    str
        The shares as text.

    Examples
    --------
    >>> import pandas as pd
    >>> from akkm.tables import TableEncoder, balance
    >>> frame = pd.DataFrame({"age": [31, 35, 33, 37], "flag": [True, False] * 2})
    >>> balance(TableEncoder().fit(frame).facts())
    'numbers 67%, categories 33%'
    """
    groups = {"numbers": 0.0, "dates": 0.0, "categories": 0.0, "texts": 0.0}
    for fact in facts:
        group = {
            "date": "dates",
            "boolean": "categories",
            "category": "categories",
            "prose": "texts",
        }
        groups[group.get(fact.role, "numbers")] += fact.share
    shares = [f"{name} {share:.0%}" for name, share in groups.items() if share]
    return ", ".join(shares)
