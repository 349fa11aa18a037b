"""Model files as zip archives: header, schema, checksum and size."""

import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from typing import Any

from akkm.limits import MEMBERS, require_ratio
from akkm.model_file._types import ModelFileError, trusted_types

# Increase when older versions of akkm can't read new files, or when this version can't
# read older files.
FORMAT = 1
HEADER = "akkm.json"
SCHEMA = "schema.json"

# The node types of skops that load trusted types. None of these node types calls a
# function that is named in the file.
_LOADERS = (
    *("DTypeNode", "DictNode", "JsonNode", "ListNode", "NdArrayNode", "ObjectNode"),
    *("RandomStateNode", "SparseMatrixNode", "TupleNode", "TypeNode"),
)


def checksum(archive: zipfile.ZipFile, header: dict[str, Any]) -> str:
    """SHA-256 of the header without its checksum, and of all other archive members."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for member in sorted(set(archive.namelist()) - {HEADER}):
        content = archive.read(member)
        digest.update(f"{member} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def require_size(name: str, archive: zipfile.ZipFile) -> None:
    """Raise ModelFileError if a small file would unpack to a large one."""
    members = archive.infolist()
    MEMBERS.require(len(members), name, ModelFileError)
    packed = _packed(archive)
    unpacked = sum(member.file_size for member in members)
    require_ratio(unpacked, packed, name, ModelFileError)
    for member in members:
        if member.filename.endswith(".npz"):  # a sparse matrix
            with archive.open(member) as file, zipfile.ZipFile(file) as inner:
                unpacked += sum(part.file_size for part in inner.infolist())
    require_ratio(unpacked, packed, name, ModelFileError)


def require_trusted(name: str, archive: zipfile.ZipFile) -> None:
    """Raise ModelFileError if loading would create a type that is not trusted.

    Also raise it if very many arrays would be created from few archive members.
    """
    seen: set[Any] = set()
    unpacked = 0
    for node in nodes(json.loads(archive.read(SCHEMA))):
        kind = f"{node['__module__']}.{node['__class__']}"
        if kind not in trusted_types() or node["__loader__"] not in _LOADERS:
            raise ModelFileError(
                f"{name} contains the type {kind:.100}, which no model of akkm has; "
                "the file was not loaded."
            )
        # skops creates one object for all nodes with the same id.
        if "file" in node and node["__id__"] not in seen:
            seen.add(node["__id__"])
            unpacked += archive.getinfo(node["file"]).file_size
    require_ratio(unpacked, _packed(archive), name, ModelFileError)


def nodes(state: Any) -> Iterator[dict[str, Any]]:
    """All parts of a schema that name a type."""
    if isinstance(state, dict):
        if "__loader__" in state:
            yield state
        state = list(state.values())
    if isinstance(state, list):
        for inner in state:
            yield from nodes(inner)


def _packed(archive: zipfile.ZipFile) -> int:
    """Return the size of an opened archive in bytes."""
    assert archive.fp is not None
    return os.fstat(archive.fp.fileno()).st_size
