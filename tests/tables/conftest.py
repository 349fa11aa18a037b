"""Fixtures that write files and encode tables."""

import pytest

from akkm.tables import TableEncoder, open_table


@pytest.fixture
def write(tmp_path):
    """Function that writes a file and returns its path."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return str(path)

    return write


@pytest.fixture
def encode(write):
    """Function that encodes CSV text, parsing `block` bytes at a time."""

    def encode(text, name="x.csv", block=4 << 20, **params):
        table = open_table(write(name, text), block=block)
        encoder = TableEncoder(**params).fit(table)
        return encoder, encoder.encode(table)

    return encode
