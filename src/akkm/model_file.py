"""Save fitted models to files and load them again.

A model file holds the encoder that turns a table or images into rows, the fitted
estimator, and a description. It is a zip archive in the format of skops. It contains
arrays in NumPy's format and a schema that names types, but no pickles. The member
`akkm.json` states the version that wrote the file and a checksum of all other members.
Only the types that `trusted_types` lists are ever created from a file.
"""

import copy
import hashlib
import json
import os
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from akkm.atomic_file import AtomicFile
from akkm.estimators import KernelClusterer
from akkm.kernels import Function, Kernel, Product, Sum
from akkm.version import __version__

__all__ = [
    "ModelFileError",
    "SavedModel",
    "load_model",
    "require_savable",
    "save_model",
    "trusted_types",
    "write_model",
]

# Increase when older versions of akkm can't read new files, or when this version can't
# read older files.
FORMAT = 1
_HEADER = "akkm.json"

# Fitted attributes with one entry per training row. Prediction does not need them.
_PER_ROW = ("labels_", "agreement_", "embedding_", "outlying_")
# Attributes that only make sense in the process that fitted the model.
_OF_PROCESS = ("_warnings", "_skl_callbacks", "_reservoir", "_stream", "_refit_at")
# Parameters that name files on this machine.
_FILES = {"checkpoint", "labels_file"}

# Packages whose estimators and frozen dataclasses may be part of a model.
_PACKAGES = re.compile(r"akkm\.(consensus|core|diffusion|estimators|kernels|methods)\.")
_LIBRARY_TYPES = (
    *(dict, list, str, tuple),
    *(np.ndarray, np.dtype, np.bool, np.float32, np.float64, np.int32, np.int64),
    *(np.random.RandomState, sparse.csr_array, sparse.csr_matrix),
)
# The node types of skops that load these types. None of them calls a function that is
# named in the file.
_LOADERS = (
    *("DTypeNode", "DictNode", "JsonNode", "ListNode", "NdArrayNode", "ObjectNode"),
    *("RandomStateNode", "SparseMatrixNode", "TupleNode", "TypeNode"),
)


class ModelFileError(ValueError):
    """Raised when a model file can't be written or read; the message is one line."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The content of a model file.

    Parameters
    ----------
    encoder : TableEncoder or SpatialPyramid
        Turns a table or images into the rows that the estimator expects.
    estimator : KernelClusterer
        A fitted estimator of akkm. A loaded estimator has no attributes with an entry
        per training row (`labels_`, `agreement_`, `embedding_`, `outlying_`).
    about : dict
        Plain values: version, command, data, numbers of rows and clusters, scores.
    """

    encoder: Any
    estimator: Any
    about: dict[str, Any]

    @property
    def of_table(self) -> bool:
        """Whether rows come from a table rather than from images."""
        return hasattr(self.encoder, "columns_")


@cache
def trusted_types() -> tuple[str, ...]:
    """Full names of all types that a model file may contain.

    Returns
    -------
    tuple of str
        The estimators, the kernels except Python functions, the encoders, the frozen
        dataclasses of the numerical packages, and a few types of NumPy, SciPy and
        Python.

    Examples
    --------
    >>> from akkm.model_file import trusted_types
    >>> "akkm.kernels._rbf.RBF" in trusted_types()
    True
    >>> "builtins.eval" in trusted_types()
    False
    """
    from akkm.images import SpatialPyramid
    from akkm.tables import TableEncoder

    types: set[Any] = {SpatialPyramid, TableEncoder, *_LIBRARY_TYPES}
    for name, module in list(sys.modules.items()):
        if _PACKAGES.match(name):
            types |= set(filter(_is_model_part, vars(module).values()))
    types.discard(Function)
    return tuple(sorted(f"{c.__module__}.{c.__qualname__}" for c in types))


def _is_model_part(value: Any) -> bool:
    """Whether a value is an estimator class or frozen dataclass of these packages."""
    if not isinstance(value, type) or not _PACKAGES.match(value.__module__):
        return False
    settings = getattr(value, "__dataclass_params__", None)
    return issubclass(value, KernelClusterer) or bool(settings and settings.frozen)


def save_model(model: SavedModel, path: str | os.PathLike[str]) -> None:
    """Write a model file; it appears complete or not at all.

    Parameters
    ----------
    model : SavedModel
        The model. Its estimator must be fitted, and its kernel must not be a Python
        function.
    path : str or path-like
        Name of the file, usually ending in .skops. An existing file is replaced.

    Raises
    ------
    ModelFileError
        If the kernel is a Python function.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.model_file import SavedModel, load_model, save_model
    >>> from akkm.tables import TableEncoder, open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data, file = Path(folder, "points.npy"), Path(folder, "m.skops")
    ...     np.save(data, np.random.default_rng(0).random((50, 2)))
    ...     encoder = TableEncoder().fit(open_table(str(data)))
    ...     X = encoder.transform(open_table(str(data))).X
    ...     model = ApproxKernelKMeans(3, random_state=0).fit(X)
    ...     save_model(SavedModel(encoder, model, {"rows": 50}), file)
    ...     loaded = load_model(file)
    >>> loaded.about
    {'rows': 50}
    >>> bool((loaded.estimator.predict(X) == model.labels_).all())
    True
    """
    with AtomicFile(path) as file:
        write_model(model, file)


def write_model(model: SavedModel, file: BinaryIO) -> None:
    """Write a model to an open file.

    Parameters
    ----------
    model : SavedModel
        As for `save_model`.
    file : BinaryIO
        Open for writing and reading (mode "w+b").

    Raises
    ------
    ModelFileError
        If the kernel is a Python function.
    """
    import skops.io

    require_savable(model.estimator.kernel)
    check_is_fitted(model.estimator)
    parts = {
        "encoder": model.encoder,
        "estimator": _without_training_state(model.estimator),
    }
    header = {"format": FORMAT, "akkm": __version__, "about": model.about}
    skops.io.dump(parts, file)
    with zipfile.ZipFile(file, "a") as archive:
        header["sha256"] = _checksum(archive, header)
        archive.writestr(_HEADER, json.dumps(header, indent=2))


def require_savable(kernel: Any) -> None:
    """Raise ModelFileError if a kernel contains a Python function.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A kernel, as passed to an estimator.

    Raises
    ------
    ModelFileError
        If the kernel, or a part of a sum or product, is a Python function.

    Examples
    --------
    >>> from akkm.kernels import RBF
    >>> from akkm.model_file import require_savable
    >>> require_savable("rbf")
    >>> require_savable(RBF(gamma=2.0))
    """
    if isinstance(kernel, Sum | Product):
        require_savable(kernel.first)
        require_savable(kernel.second)
    elif isinstance(kernel, Function) or (
        callable(kernel) and not isinstance(kernel, Kernel)
    ):
        raise ModelFileError(
            "The kernel is a Python function, which can't be saved; expected the name "
            "of a kernel or an object from akkm.kernels."
        )


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
        Its `encoder` turns a table into rows, and its `estimator` assigns them to
        clusters.

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
    >>> X = model.encoder.transform(open_table("new.csv")).X  # doctest: +SKIP
    >>> labels = model.estimator.predict(X)  # doctest: +SKIP
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            return _read(name, file)
    except (ModelFileError, MemoryError):
        raise
    except OSError as error:
        raise ModelFileError(
            f"{name} can't be read: {error.strerror}; expected a model file."
        ) from error
    except Exception as error:  # libraries raise anything if a file is damaged
        raise _damaged(name) from error


def _read(name: str, file: BinaryIO) -> SavedModel:
    """Check the header, the types and the checksum; then load."""
    import skops.io

    from akkm.tables import TableEncoder

    if not zipfile.is_zipfile(file):
        file.seek(0)
        raise _damaged(name) if file.read(2) == b"PK" else _foreign(name)
    with zipfile.ZipFile(file) as archive:
        if not {_HEADER, "schema.json"} <= set(archive.namelist()):
            raise _foreign(name)
        header = json.loads(archive.read(_HEADER))
        _require_readable_version(name, header)
        _require_trusted(name, json.loads(archive.read("schema.json")))
        if header.pop("sha256", None) != _checksum(archive, header):
            raise _damaged(name)
    file.seek(0)
    parts = skops.io.load(file, trusted=trusted_types())
    encoder, estimator = parts["encoder"], parts["estimator"]
    of_table = isinstance(encoder, TableEncoder)
    width = len(encoder.feature_names_) if of_table else encoder.n_features_out_
    if not isinstance(estimator, KernelClusterer) or width != estimator.n_features_in_:
        raise _damaged(name)
    check_is_fitted(estimator)
    for matrix in _sparse_parts(estimator):
        # SciPy's loader does not check that indices are in range.
        matrix.check_format(full_check=True)
    return SavedModel(encoder, estimator, dict(header["about"]))


def _checksum(archive: zipfile.ZipFile, header: dict[str, Any]) -> str:
    """SHA-256 of the header without its checksum, and of all other members."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for member in sorted(set(archive.namelist()) - {_HEADER}):
        content = archive.read(member)
        digest.update(f"{member} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def _require_readable_version(name: str, header: dict[str, Any]) -> None:
    """Raise ModelFileError if this version of akkm can't read the file's version."""
    theirs = str(header["akkm"])
    there, here = _major_minor(theirs), _major_minor(__version__)
    if header["format"] != FORMAT or there[0] != here[0] or there > here:
        raise ModelFileError(
            f"{name} was written by akkm {theirs}, which this akkm {__version__} can't "
            "read; use that version, or cluster again."
        )


def _major_minor(version: str) -> tuple[int, int]:
    """Major and minor version; -1 if they can't be parsed."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else (-1, -1)


def _require_trusted(name: str, schema: Any) -> None:
    """Raise ModelFileError if loading would create a type that is not trusted."""
    for node in _nodes(schema):
        kind = f"{node['__module__']}.{node['__class__']}"
        if kind not in trusted_types() or node["__loader__"] not in _LOADERS:
            raise ModelFileError(
                f"{name} contains the type {kind}, which no model of akkm has; the "
                "file was not loaded."
            )


def _nodes(state: Any) -> Iterator[dict[str, Any]]:
    """All parts of a schema that name a type."""
    if isinstance(state, dict):
        if "__loader__" in state:
            yield state
        state = list(state.values())
    if isinstance(state, list):
        for inner in state:
            yield from _nodes(inner)


def _without_training_state(estimator: Any) -> Any:
    """Return a copy that can predict, without attributes per row, process or file."""
    bare = copy.copy(estimator)
    for attribute in (*_PER_ROW, *_OF_PROCESS):
        bare.__dict__.pop(attribute, None)
    for parameter in _FILES & bare.__dict__.keys():
        setattr(bare, parameter, None)
    if hasattr(bare, "members_"):
        bare.members_ = [_without_training_state(member) for member in bare.members_]
    return bare


def _sparse_parts(value: Any) -> Iterator[Any]:
    """All sparse matrices inside a fitted estimator."""
    if sparse.issparse(value):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _sparse_parts(item)
    elif type(value).__module__.startswith("akkm."):
        yield from _sparse_parts(list(vars(value).values()))


def _damaged(name: str) -> ModelFileError:
    return ModelFileError(
        f"{name} is damaged: it differs from what akkm wrote; copy it again, or "
        "cluster again."
    )


def _foreign(name: str) -> ModelFileError:
    return ModelFileError(
        f"{name} is not a model of akkm; expected a file from 'akkm cluster --model'."
    )
