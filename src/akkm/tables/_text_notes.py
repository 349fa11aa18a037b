"""Notes about columns of text that the user may want to be read in another way."""

from collections import Counter

from akkm.tables._csv_errors import is_number
from akkm.tables._summary import Counts
from akkm.tables._table import Table, as_option, quoted_names

# A note says that a text column contains numbers if at least this share of its rows
# are numbers, and more than _NUMBERS of these numbers are distinct.
_SHARE, _NUMBERS = 0.5, 10
# Number of distinct values that are compared.
_COMPARED = 1_000


def text_notes(name: str, counts: Counts, table: Table, *, is_code: bool) -> list[str]:
    """Return notes about a column that is used as categories.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from akkm.tables._summary import Counts
    >>> from akkm.tables._table import Table
    >>> from akkm.tables._text_notes import text_notes
    >>> counts = Counts()
    >>> counts.add(pa.array(["no", "No", "yes"]).dictionary_encode())
    >>> print(text_notes("paid", counts, Table(), is_code=False)[0])
    paid: values that differ only in case or spaces, such as 'no' and 'No', are
    different categories
    """
    if is_code:
        return [
            f"{name}: numbers used as categories, as they seem to be codes (from the "
            "name or leading zeros); to use numbers, name the column in --columns"
        ]
    notes = []
    values = counts.values
    if len(values) <= _COMPARED:
        by_core: dict[str, list[str]] = {}
        for value in values:
            by_core.setdefault(" ".join(value.lower().split()), []).append(value)
        alike = next((group for group in by_core.values() if len(group) > 1), None)
        if alike:
            first, second = (repr(value[:40]) for value in alike[:2])
            notes.append(
                f"{name}: values that differ only in case or spaces, such as {first} "
                f"and {second}, are different categories"
            )
    texts = Counter(
        {v: n for v, n in values.items() if not is_number(v, table.decimal)}
    )
    share = 1 - texts.total() / max(values.total(), 1)
    if texts and share >= _SHARE and len(values) - len(texts) > _NUMBERS:
        common = [value for value, _ in texts.most_common(3)]
        option = ""
        if not table.typed and len(texts) <= len(common):
            options = " ".join(as_option("--na", value) for value in common)
            option = f"; {options} reads numbers, and counts these as missing"
        notes.append(
            f"{name}: {share:.0%} of the values are numbers, but the column is used as "
            f"categories because of {quoted_names(common, 3)}{option}"
        )
    return notes
