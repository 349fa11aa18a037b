"""Save fitted models to files and load them again.

A model file holds the encoder that turns a table or images into rows, the fitted
estimator, and a description. It is a zip archive in the format of skops. It contains
arrays in NumPy's format and a schema that names types, but no pickles. The archive
member `akkm.json` states the version that wrote the file and a checksum of all other
archive members. Only the types that `trusted_types` lists are ever created from a file.
A loaded model is used only if all its attributes agree with each other.
"""

from akkm.model_file._load import load_model
from akkm.model_file._save import require_savable, save_model, write_model
from akkm.model_file._types import ModelFileError, SavedModel, trusted_types

__all__ = [
    "ModelFileError",
    "SavedModel",
    "load_model",
    "require_savable",
    "save_model",
    "trusted_types",
    "write_model",
]
