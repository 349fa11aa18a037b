"""Compressed text files as streams of unpacked bytes."""

import io
import os
from typing import Any, BinaryIO

import pyarrow as pa

from akkm.limits import require_ratio
from akkm.rows.formats import TableError

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}


def compression_of(file: Any) -> str | None:
    """Return the compression of an open file, or None if it is not compressed.

    The first bytes show the compression. Afterwards the file is at its start again.
    """
    start = file.read(4)
    file.seek(0)
    found = (name for magic, name in _MAGIC.items() if start.startswith(magic))
    return next(found, None)


class Decompressed(io.RawIOBase):
    """The unpacked bytes of a compressed file.

    Reading raises TableError as soon as there are far more unpacked bytes than bytes in
    the compressed file.

    Parameters
    ----------
    file : pyarrow.NativeFile
        The compressed file.
    compression : str
        The name of the compression: "gzip", "bz2" or "zstd".
    name : str
        The name of the file, for messages.
    """

    def __init__(self, file: Any, compression: str, name: str) -> None:
        self._stream = pa.CompressedInputStream(file, compression)
        self._name, self._size, self._unpacked = name, file.size(), 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return self.readall()
        data: bytes = self._stream.read(size)
        self._unpacked += len(data)
        require_ratio(self._unpacked, self._size, self._name, TableError)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_unpacked(path: str) -> BinaryIO:
    """Open a file for reading; if it is compressed, read its unpacked bytes."""
    file = pa.OSFile(os.fsencode(path))
    if compression := compression_of(file):
        return io.BufferedReader(Decompressed(file, compression, path))
    file.close()
    return open(path, "rb")
