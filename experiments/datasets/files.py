"""Original files with their checksums, and the cache of prepared arrays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from akkm.atomic_file import AtomicFile

Array = NDArray[Any]

# SHA-256 of the original files, by their path in the folder that AKKM_DATA names.
CHECKSUMS = {
    "mnist/train-images-idx3-ubyte.gz": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
    ),
    "mnist/train-labels-idx1-ubyte.gz": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
    ),
    "mnist/t10k-images-idx3-ubyte.gz": (
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
    ),
    "mnist/t10k-labels-idx1-ubyte.gz": (
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
    ),
    "covtype/covtype.data.gz": (
        "cebd9363878f17513a2bccacfa5c5825cc934317957d7cb5b2469ec44838b067"
    ),
    "kddcup99/kddcup.data_10_percent.gz": (
        "8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561"
    ),
    "imagenet12/imagenet12.tar.gz": (
        "0754cd1304acee48437dc722d308d3c7b1686c99e9c4fb8faa4a91863fa4a716"
    ),
}


def data_folder() -> Path | None:
    """Return the folder with original files, or None if AKKM_DATA is not set."""
    name = os.environ.get("AKKM_DATA")
    if not name:
        return None
    if not Path(name).is_dir():
        raise FileNotFoundError(
            f"AKKM_DATA={name} is not a folder. Set AKKM_DATA to the folder that "
            "contains mnist/, covtype/, kddcup99/ and imagenet12/, or unset AKKM_DATA."
        )
    return Path(name)


def cache_folder() -> Path:
    """Return the folder of prepared arrays; create it if it does not exist.

    AKKM_CACHE names the folder. By default, it is `akkm` in scikit-learn's data home.
    """
    from sklearn.datasets import get_data_home

    name = os.environ.get("AKKM_CACHE")
    folder = Path(name) if name else Path(get_data_home()) / "akkm"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def has_original(place: str) -> bool:
    """Whether an original file exists in the folder that AKKM_DATA names."""
    folder = data_folder()
    return folder is not None and (folder / place).exists()


def original(place: str) -> Path:
    """Return the path of an original file after verifying its checksum."""
    folder = data_folder()
    if folder is None or not (folder / place).exists():
        given = (
            "AKKM_DATA is not set"
            if folder is None
            else f"AKKM_DATA={folder} does not contain this file"
        )
        raise FileNotFoundError(
            f"{place} is needed, but {given}. Set AKKM_DATA to a folder that contains "
            "the file."
        )
    path = folder / place
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != CHECKSUMS[place]:
        raise ValueError(
            f"{path} has the sha256 {digest[:12]}…, expected {CHECKSUMS[place][:12]}…. "
            "The file is incomplete or another version. Download it again, or unset "
            "AKKM_DATA to let scikit-learn fetch it."
        )
    return path


def cached_arrays(name: str, make: Callable[[], dict[str, Array]]) -> dict[str, Array]:
    """Return arrays from the cache. If they are missing, make and cache them."""
    path = cache_folder() / f"{name}.npz"
    if not path.exists():
        arrays = make()
        with AtomicFile(path) as file:
            np.savez(file, allow_pickle=False, **arrays)
        return arrays
    with naming_broken_file(path), path.open("rb") as file, np.load(file) as saved:
        return {key: saved[key] for key in saved.files}


@contextmanager
def naming_broken_file(path: Path) -> Iterator[None]:
    """Add the path of a cache file to errors that occur while it is read."""
    try:
        yield
    except (ValueError, EOFError, BadZipFile) as error:
        raise ValueError(
            f"{path} can't be read ({error}). Remove the file; it will be created "
            "again."
        ) from None
