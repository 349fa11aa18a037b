"""Fixtures that write and encode files."""

import pytest

from akkm.tables import TableEncoder, open_table


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return str(path)

    return write


@pytest.fixture
def encode(write):
    """Encode the text of a CSV file; `block` bytes are parsed at a time."""

    def encode(text, name="x.csv", block=4 << 20, **params):
        table = open_table(write(name, text), block=block)
        encoder = TableEncoder(**params).fit(table)
        return encoder, encoder.transform(table)

    return encode
