"""Columns of well-known tables get the right role, or a note that names --text."""

import pytest
from pyarrow import csv

from akkm.tables import TableEncoder, open_table
from known_tables import TABLES

# The expected notes, apart from notes about missing values that were filled.
NOTES = {
    "ames housing": [
        "MSSubClass: used as numbers; if these are codes, add --text MSSubClass"
    ],
    "bank marketing": [
        "pdays: most rows have the value -1, which is used like any other number; if "
        "this value means a missing value, add --na -1"
    ],
}


@pytest.mark.parametrize("source", ["frame", "csv"])
@pytest.mark.parametrize("name", TABLES)
def test_columns_get_the_right_role(name, source, tmp_path):
    table, roles = TABLES[name]()
    data = table.to_pandas()
    if source == "csv":
        csv.write_csv(table, tmp_path / "x.csv")
        data = open_table(str(tmp_path / "x.csv"))
    encoder = TableEncoder().fit(data)
    found = {
        e["name"]: e["reason"] if e["how"] == "left out" else e["role"]
        for e in encoder.columns_
    }
    assert found == roles
    notes = [note for note in encoder.notes_ if "missing values filled" not in note]
    assert notes == NOTES.get(name, [])


@pytest.mark.parametrize("name", TABLES)
def test_encoded_rows_are_decoded(name):
    table, roles = TABLES[name]()
    encoder = TableEncoder()
    decoded = encoder.inverse_transform(encoder.fit_transform(table))
    for column in decoded.column_names:
        given = table[column].to_pylist()
        pairs = zip(decoded[column].to_pylist(), given, strict=True)
        pairs = [(ours, theirs) for ours, theirs in pairs if theirs is not None]
        if roles[column] == "number":
            assert all(
                ours == pytest.approx(x, rel=1e-4, abs=1e-3) for ours, x in pairs
            )
        else:
            assert all(ours == theirs for ours, theirs in pairs), column
