"""A model as a file: how rows are encoded, the fitted estimator, and where it is from.

The file is a zip archive in the format of skops: arrays in NumPy's own format and a
schema that names types, no pickle. Beside them lies `akkm.json`, which says what wrote
the file; it is read first, and has a checksum of all the rest. Only the types listed
here are ever made from a file.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

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
    "write_model",
]

# Rises when files of this version can't be read by the last one, or the reverse.
FORMAT = 1
_HEADER = "akkm.json"

# What a fit says about each of its rows: long, and not needed for new ones.
_OF_ROWS = ("labels_", "agreement_", "embedding_", "outlying_")
# Where it writes: places on this machine, which may be of a type of their own.
_OF_FIT = {"checkpoint", "labels_file"}
# What belongs to the process in which it was fitted.
_OF_PROCESS = ("_heard", "_skl_callbacks", "_reservoir", "_stream", "_due")

# All that fitted models are made of.
TYPES = (
    "akkm.tables._encoder.TableEncoder",
    "akkm.estimators._approx.ApproxKernelKMeans",
    "akkm.estimators._consensus.ConsensusKernelKMeans",
    "akkm.estimators._diffusion.DiffusionKernelKMeans",
    "akkm.estimators._ensemble.EnsembleKernelKMeans",
    "akkm.estimators._exact.KernelKMeans",
    "akkm.estimators._leaders.LeadersKernelKMeans",
    "akkm.estimators._sparse.SparseKernelKMeans",
    "akkm.estimators._spectral.NystroemSpectralClustering",
    "akkm.estimators._two_step.TwoStepKernelKMeans",
    "akkm.core.model.Model",
    "akkm.core.nearest.View",
    "akkm.core.gram.Gram",
    "akkm.images._transformer.SpatialPyramid",
    "akkm.methods.spectral.Embedding",
    "akkm.diffusion.landmark_embedding.LandmarkEmbedding",
    "akkm.diffusion.estimate_k.Evidence",
    "akkm.methods.leaders.Heads",
    "akkm.diffusion.graph_embedding.GraphEmbedding",
    "akkm.diffusion.neighbour_graph.Neighbours",
    "akkm.consensus._votes.MetaClusters",
    "akkm.kernels._additive.AdditiveChi2",
    "akkm.kernels._additive.Chi2",
    "akkm.kernels._additive.Intersection",
    "akkm.kernels._additive.Laplacian",
    "akkm.kernels._base.Constant",
    "akkm.kernels._base.Product",
    "akkm.kernels._base.Sum",
    "akkm.kernels._dot.Cosine",
    "akkm.kernels._dot.Linear",
    "akkm.kernels._dot.Polynomial",
    "akkm.kernels._dot.Sigmoid",
    "akkm.kernels._given.Precomputed",
    "akkm.kernels._given.PrecomputedStrip",
    "akkm.kernels._rbf.RBF",
    "numpy.ndarray",
    "numpy.dtype",
    "numpy.bool",
    "numpy.float32",
    "numpy.float64",
    "numpy.int32",
    "numpy.int64",
    "numpy.random.mtrand.RandomState",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "builtins.dict",
    "builtins.list",
    "builtins.str",
    "builtins.tuple",
)
# The ways in which skops makes them; none calls a function that a file could name.
_LOADERS = (
    "DTypeNode",
    "DictNode",
    "JsonNode",
    "ListNode",
    "NdArrayNode",
    "ObjectNode",
    "RandomStateNode",
    "SparseMatrixNode",
    "TupleNode",
    "TypeNode",
)


class ModelFileError(ValueError):
    """A model file that can't be written or read; the message is one line."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a model file holds.

    Attributes
    ----------
    encoder : TableEncoder or SpatialPyramid
        From a table or images to rows of numbers, as they were clustered.
    estimator : a fitted estimator of akkm
        Without what it says of each training row (`labels_`, `agreement_`,
        `embedding_`), once it has been in a file.
    about : dict
        Plain values: version, command, data, numbers of rows and clusters, scores.
    """

    encoder: Any
    estimator: Any
    about: dict[str, Any]

    @property
    def of_table(self) -> bool:
        """Whether rows come from a table, not from images."""
        return hasattr(self.encoder, "columns_")


def save_model(model: SavedModel, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that is there completely or not at all.

    Parameters
    ----------
    model : SavedModel
        Its estimator is fitted, with any kernel but a function.
    path : str or path
        The name usually ends in .skops. An existing file is replaced.

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
    """Write a model to an open file, which can be read too (mode "w+b")."""
    import skops.io

    require_savable(model.estimator.kernel)
    check_is_fitted(model.estimator)
    parts = {"encoder": model.encoder, "estimator": _bare(model.estimator)}
    header = {"format": FORMAT, "akkm": __version__, "about": model.about}
    skops.io.dump(parts, file)
    with zipfile.ZipFile(file, "a") as archive:
        header["sha256"] = _digest(archive, header)
        archive.writestr(_HEADER, json.dumps(header, indent=2))


def require_savable(kernel: Any) -> None:
    """Raise ModelFileError if a kernel can't be saved: a function of the user.

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
        return
    given = callable(kernel) and not isinstance(kernel, Kernel)
    if given or isinstance(kernel, Function):
        raise ModelFileError(
            "The kernel is a Python function, which a model file can't hold; use a "
            "kernel by name or from akkm.kernels."
        )


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model that `save_model` or `akkm cluster --model` wrote.

    Nothing in the file is executed: it holds numbers, names of akkm's own types and
    plain values. Whatever is wrong with it ends in a `ModelFileError`.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SavedModel
        `encoder` turns a table into rows, `estimator` puts them into clusters.

    Examples
    --------
    >>>     >>> from akkm.tables import open_table
    >>> model = akkm.load_model("flowers.skops")  # doctest: +SKIP
    >>> X = model.encoder.transform(open_table("new.csv")).X  # doctest: +SKIP
    >>> labels = model.estimator.predict(X)  # doctest: +SKIP
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            return _read(name, file)
    except ModelFileError:
        raise
    except FileNotFoundError as error:
        raise ModelFileError(f"{name}: there is no such model file.") from error
    except IsADirectoryError as error:
        raise ModelFileError(
            f"{name} is a directory; expected a model file."
        ) from error
    except OSError as error:
        raise ModelFileError(f"{name} can't be read: {error.strerror}.") from error
    except MemoryError as error:
        raise ModelFileError(f"{name} does not fit into memory.") from error
    except Exception as error:  # whatever NumPy, SciPy and skops make of damage
        raise _damaged(name) from error


def _read(name: str, file: BinaryIO) -> SavedModel:
    import skops.io

    from akkm.images import SpatialPyramid
    from akkm.tables import TableEncoder

    if not zipfile.is_zipfile(file):
        file.seek(0)
        raise _damaged(name) if file.read(2) == b"PK" else _foreign(name)
    with zipfile.ZipFile(file) as archive:
        members = archive.namelist()
        if _HEADER not in members or "schema.json" not in members:
            raise _foreign(name)
        header = json.loads(archive.read(_HEADER))
        about = _about(name, header)
        _require_known(name, json.loads(archive.read("schema.json")))
        if header.pop("sha256", None) != _digest(archive, header):
            raise _damaged(name)
    file.seek(0)
    parts = skops.io.load(file, trusted=TYPES)
    encoder, estimator = parts["encoder"], parts["estimator"]
    if isinstance(encoder, SpatialPyramid):
        width = encoder.n_features_out_
    elif isinstance(encoder, TableEncoder):
        width = len(encoder.feature_names_)
    else:
        raise _damaged(name)
    if not isinstance(estimator, KernelClusterer) or width != estimator.n_features_in_:
        raise _damaged(name)
    check_is_fitted(estimator)
    for matrix in _sparse_inside(estimator):
        matrix.check_format(full_check=True)  # SciPy trusts indices that are in range
    return SavedModel(encoder, estimator, about)


def _digest(archive: zipfile.ZipFile, header: dict[str, Any]) -> str:
    """A checksum of all that a file holds; `header` is without it."""
    found = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for member in sorted(set(archive.namelist()) - {_HEADER}):
        content = archive.read(member)
        found.update(f"{member} {len(content)} ".encode())
        found.update(content)
    return found.hexdigest()


def _about(name: str, header: dict[str, Any]) -> dict[str, Any]:
    """What the file says about itself, if this version can read it."""
    theirs, ours = str(header["akkm"]), __version__
    there, here = _numbers(theirs), _numbers(ours)
    if header["format"] != FORMAT or there[0] != here[0] or there > here:
        raise ModelFileError(
            f"{name} was written by akkm {theirs}, which this akkm {ours} can't read; "
            "use that version, or cluster again."
        )
    return dict(header["about"])


def _numbers(version: str) -> tuple[int, int]:
    """Major and minor version."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (-1, -1)


def _require_known(name: str, schema: Any) -> None:
    """Raise ModelFileError if a file would make anything but what models are of."""
    for node in _nodes(schema):
        kind = f"{node['__module__']}.{node['__class__']}"
        if kind not in TYPES or node["__loader__"] not in _LOADERS:
            raise ModelFileError(
                f"{name} holds a {kind}, which no model of akkm is made of; it was not "
                "loaded."
            )


def _nodes(state: Any) -> Iterator[dict[str, Any]]:
    """The parts of a schema that say what to make."""
    if isinstance(state, dict):
        if "__loader__" in state:
            yield state
        state = list(state.values())
    if isinstance(state, list):
        for inner in state:
            yield from _nodes(inner)


def _bare(estimator: Any) -> Any:
    """A copy with what new rows need, without what training rows or threads had."""
    bare = copy.copy(estimator)
    for attribute in (*_OF_ROWS, *_OF_PROCESS):
        bare.__dict__.pop(attribute, None)
    for name in _OF_FIT & bare.__dict__.keys():
        setattr(bare, name, None)
    if hasattr(bare, "members_"):
        bare.members_ = [_bare(member) for member in bare.members_]
    return bare


def _sparse_inside(value: Any) -> Iterator[Any]:
    """The sparse matrices that a fitted estimator holds."""
    if sparse.issparse(value):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _sparse_inside(item)
    elif type(value).__module__.startswith("akkm."):
        yield from _sparse_inside(list(vars(value).values()))


def _damaged(name: str) -> ModelFileError:
    return ModelFileError(
        f"{name} is damaged: it is not as akkm wrote it; copy or make it once more."
    )


def _foreign(name: str) -> ModelFileError:
    return ModelFileError(
        f"{name} is no model of akkm; expected a file from 'akkm cluster --model'."
    )
