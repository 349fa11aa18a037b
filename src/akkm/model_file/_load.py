"""Read model files, and check them before they are used."""

import json
import os
import re
import zipfile
from typing import Any, BinaryIO

from akkm.estimators import KernelClusterer
from akkm.model_file._archive import (
    FORMAT,
    HEADER,
    SCHEMA,
    checksum,
    require_size,
    require_trusted,
)
from akkm.model_file._checks import require_consistent
from akkm.model_file._description import unprintable
from akkm.model_file._types import ModelFileError, SavedModel, trusted_types
from akkm.version import __version__


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a file that `save_model` or `akkm cluster --model` wrote.

    Nothing in the file is executed: it contains numbers, plain values and names of
    trusted types.

    Parameters
    ----------
    path : str or path-like
        Name of the file.

    Returns
    -------
    SavedModel
        Its `encoder` turns a table or images into rows, and its `estimator` assigns
        rows to clusters.

    Raises
    ------
    ModelFileError
        If the file can't be read, is damaged, was not written by akkm, was written by a
        version of akkm that this version can't read, or contains a type that is not
        trusted.

    Examples
    --------
    >>> from akkm import load_model
    >>> from akkm.tables import open_table
    >>> model = load_model("flowers.skops")  # doctest: +SKIP
    >>> X = model.encoder.transform(open_table("new.csv"))  # doctest: +SKIP
    >>> labels = model.estimator.predict(X)  # doctest: +SKIP
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            return _read(name, file)
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(
            f"{name} can't be read: {error.strerror}; expected a model file."
        ) from error
    except Exception as error:  # a damaged file may cause exceptions of any type
        raise _damaged(name) from error


def _read(name: str, file: BinaryIO) -> SavedModel:
    """Check the header, the types and the checksum; load; then check the model."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        raise _damaged(name) if file.read(2) == b"PK" else _foreign(name)
    with zipfile.ZipFile(file) as archive:
        if not {HEADER, SCHEMA} <= set(archive.namelist()):
            raise _foreign(name)
        require_size(name, archive)
        header = json.loads(archive.read(HEADER))
        _require_readable_version(name, header)
        require_trusted(name, archive)
        if header.pop("sha256", None) != checksum(archive, header):
            raise _damaged(name)

    # The imports take longer than the checks above.
    import skops.io

    from akkm.tables import TableEncoder

    file.seek(0)
    parts = skops.io.load(file, trusted=trusted_types())
    encoder, estimator, about = parts["encoder"], parts["estimator"], header["about"]
    # A checksum proves nothing about a file that someone has changed on purpose.
    if not isinstance(estimator, KernelClusterer):
        raise _damaged(name)
    encoder.require_valid()
    require_consistent(estimator)
    of_table = isinstance(encoder, TableEncoder)
    width = len(encoder.feature_names_) if of_table else encoder.n_features_out_
    if width != estimator.n_features_in_ or unprintable(dict(about)):
        raise _damaged(name)
    return SavedModel(encoder, estimator, about)


def _require_readable_version(name: str, header: dict[str, Any]) -> None:
    """Raise ModelFileError if this version of akkm can't read the file's version."""
    theirs = str(header["akkm"])
    there, here = _major_minor(theirs), _major_minor(__version__)
    if header["format"] != FORMAT or there[0] != here[0] or there > here:
        raise ModelFileError(
            f"{name} was written by akkm {theirs}, but this is akkm {__version__}, "
            f"which can't read it; use akkm {theirs}, or cluster again."
        )


def _major_minor(version: str) -> tuple[int, int]:
    """Major and minor version; -1 if they can't be parsed."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else (-1, -1)


def _damaged(name: str) -> ModelFileError:
    return ModelFileError(
        f"{name} is damaged: it differs from what akkm wrote; copy it again, or "
        "cluster again."
    )


def _foreign(name: str) -> ModelFileError:
    return ModelFileError(
        f"{name} is not a model of akkm; expected a file from 'akkm cluster --model'."
    )
