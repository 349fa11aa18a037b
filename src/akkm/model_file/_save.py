"""Write model files."""

import copy
import json
import os
import zipfile
from typing import Any, BinaryIO

from sklearn.utils.validation import check_is_fitted

from akkm.atomic_file import AtomicFile
from akkm.kernels import Function, Kernel, Product, Sum
from akkm.model_file._archive import FORMAT, HEADER, checksum
from akkm.model_file._description import unprintable
from akkm.model_file._types import ModelFileError, SavedModel
from akkm.version import __version__

# Fitted attributes that describe training rows. Prediction does not need them.
_PER_ROW = (
    *("labels_", "agreement_", "embedding_", "outlying_", "violated_"),
    *("layers_", "certainty_", "exemplars_"),
)
# Attributes that only make sense in the process that fitted the model.
_OF_PROCESS = (
    *("_warnings", "_observer", "_skl_callbacks"),
    *("_reservoir", "_stream", "_schedule", "_answers", "_answer_labels"),
)
# Parameters that name files on this machine.
_FILES = {"checkpoint", "labels_file"}


def save_model(model: SavedModel, path: str | os.PathLike[str]) -> None:
    """Write a model file; the file appears complete or not at all.

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
    ...     X = encoder.transform(open_table(str(data)))
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
        If the kernel is a Python function, or if an entry of `about` that commands
        print has an unexpected type.
    """
    import skops.io

    require_savable(model.estimator.kernel)
    for entry in unprintable(model.about):
        raise ModelFileError(
            f"about[{entry!r}] is {model.about[entry]!r:.60}, which the commands of "
            "akkm can't print; give the entry another name."
        )
    check_is_fitted(model.estimator)
    parts = {
        "encoder": model.encoder,
        "estimator": _without_training_state(model.estimator),
    }
    header = {"format": FORMAT, "akkm": __version__, "about": model.about}
    skops.io.dump(parts, file)
    with zipfile.ZipFile(file, "a") as archive:
        header["sha256"] = checksum(archive, header)
        archive.writestr(HEADER, json.dumps(header, indent=2))


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


def _without_training_state(estimator: Any) -> Any:
    """Return a copy without per-row attributes, process attributes and file names."""
    bare = copy.copy(estimator)
    for attribute in (*_PER_ROW, *_OF_PROCESS):
        bare.__dict__.pop(attribute, None)
    for parameter in _FILES & bare.__dict__.keys():
        setattr(bare, parameter, None)
    if hasattr(bare, "estimator_"):
        bare.estimator_ = _without_training_state(bare.estimator_)
    if hasattr(bare, "members_"):
        bare.members_ = [_without_training_state(member) for member in bare.members_]
    return bare
