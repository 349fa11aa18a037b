"""The images of 12 ImageNet classes: files, features and kernel matrix, all cached.

ImageNet calls its classes synsets.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akkm.atomic_file import AtomicFile
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.images import SpatialPyramid, find_files
from akkm.kernels import Intersection, Kernel
from experiments.datasets.files import cache_folder, naming_broken_file, original

Array = NDArray[Any]

ARCHIVE = "imagenet12/imagenet12.tar.gz"
# Number of columns of the kernel matrix that are computed at a time.
_COLUMNS = 1000


def image_files() -> list[str]:
    """Unpack the images into the cache and return their paths, synset by synset."""
    cache = cache_folder()
    if not (cache / "imagenet12").is_dir():
        unpacked = cache / "imagenet12.unfinished"
        with tarfile.open(original(ARCHIVE)) as archive:
            archive.extractall(unpacked, filter="data")
        (unpacked / "imagenet12").rename(cache / "imagenet12")
        unpacked.rmdir()
    return find_files(cache / "imagenet12")


def image_classes() -> Array:
    """Return the synset of each image as integers (n,)."""
    names = [Path(path).parent.name for path in image_files()]
    return np.unique(names, return_inverse=True)[1].astype(np.uint8)


def pyramids() -> Any:
    """Return the images' spatial pyramids, CSR (n, 17000); the first call is slow."""
    path = cache_folder() / "pyramids.npz"
    if not path.exists():
        X = SpatialPyramid(random_state=0).fit_transform(image_files())
        with AtomicFile(path) as file:
            sparse.save_npz(file, X, compressed=False)
    with naming_broken_file(path), path.open("rb") as file:
        return sparse.csr_array(sparse.load_npz(file))


def image_kernel() -> Array:
    """Return the kernel matrix of all images: (n, n) float32."""
    path = cache_folder() / "kernel.npy"
    if not path.exists():
        K = full_kernel_matrix(pyramids(), Intersection())
        with AtomicFile(path) as file:
            np.save(file, K)
    with naming_broken_file(path):
        return np.load(path)


def full_kernel_matrix(X: Any, kernel: Kernel) -> Array:
    """Return the kernel matrix of the rows of X: (n, n) float32, symmetric."""
    n = X.shape[0]
    K = np.empty((n, n), dtype=np.float32)
    with Threads() as engine:
        for s in range(0, n, _COLUMNS):
            strip = Strip(X, kernel, X[s : s + _COLUMNS], np.float32)
            strip.compute_all(engine)
            for part, tile in strip.tiles(slice(0, n)):
                K[part, s : s + _COLUMNS] = tile
    return np.maximum(K, K.T)  # exactly symmetric despite rounding
