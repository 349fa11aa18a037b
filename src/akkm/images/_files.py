"""Images from files or arrays, in gray, and small pictures of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Pixels along the shorter side, below which nothing is to be seen.
_SMALLEST = 16
# The larger a JPEG's quality, the larger the file.
_QUALITY = 75


class ImageError(ValueError):
    """An image that can't be read; the message is one line and names it."""


def opencv() -> Any:
    """The module cv2; ImportError with the cure, if it is not there."""
    try:
        import cv2
    except ImportError as error:
        raise ImportError(
            "Images need OpenCV, which is not installed. Install it with: pip install "
            "'akkm[images]'"
        ) from error
    return cv2


def find_files(folder: str | os.PathLike[str]) -> list[str]:
    """Paths of all files in a folder and the folders in it, in order.

    Hidden ones, whose names begin with a dot, are left out. Whether a file is an image
    is found out by reading it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.images import find_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "b.png").touch()
    ...     Path(folder, "a").mkdir()
    ...     Path(folder, "a", "c.png").touch()
    ...     [Path(path).name for path in find_files(folder)]
    ['c.png', 'b.png']
    """
    if not os.path.isdir(folder):
        what = "is a file" if os.path.exists(folder) else "does not exist"
        raise ImageError(f"{folder} {what}; expected a folder with images.")
    found = [
        str(path)
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise ImageError(f"{folder} has no files; expected a folder with images.")
    return found


def read_image(source: Any, max_size: int | None = None) -> Array:
    """An image in gray, from 0 (black) to 1: float32 array of shape (height, width).

    Parameters
    ----------
    source : str, path or array of shape (height, width) or (height, width, channels)
        A file of any kind that OpenCV reads, or pixels: integers from 0 to the largest
        of their type, or floating-point numbers from 0 to 1; three channels are red,
        green and blue, a fourth one is ignored.
    max_size : int, optional
        Scale down to so many pixels along the longer side, if there are more.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.images import read_image
    >>> white = np.full((40, 80, 3), 255, dtype=np.uint8)
    >>> gray = read_image(white, max_size=60)
    >>> gray.shape, float(gray.max())
    ((30, 60), 1.0)
    """
    cv2 = opencv()
    name = called(source)
    if isinstance(source, str | os.PathLike):
        pixels = _decoded(source, cv2.IMREAD_GRAYSCALE | cv2.IMREAD_ANYDEPTH)
    else:
        pixels = _checked(np.asarray(source), name)
    height, width = pixels.shape[:2]
    if min(height, width) < _SMALLEST:
        raise ImageError(
            f"{name} is {width} x {height} pixels; expected at least {_SMALLEST} x "
            f"{_SMALLEST}."
        )
    gray = pixels.astype(np.float32)
    if pixels.dtype.kind in "iu":
        gray *= np.float32(1 / np.iinfo(pixels.dtype).max)
    if gray.ndim == 3:
        gray = cv2.cvtColor(np.ascontiguousarray(gray[..., :3]), cv2.COLOR_RGB2GRAY)
    return gray if max_size is None else _smaller(gray, max_size)


def thumbnail(source: Any, size: int = 128) -> bytes:
    r"""A small picture in colour, as a JPEG file's bytes.

    Parameters
    ----------
    source : str, path or array
        As in `read_image`.
    size : int, default=128
        Pixels along the longer side, at most.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.images import thumbnail
    >>> thumbnail(np.zeros((50, 50)))[:2]
    b'\xff\xd8'
    """
    cv2 = opencv()
    if isinstance(source, str | os.PathLike):
        pixels = _decoded(source, cv2.IMREAD_COLOR)
    else:
        pixels = read_image(source) * 255
    small = _smaller(np.asarray(pixels), size).clip(0, 255).astype(np.uint8)
    _, data = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return bytes(data)


def called(source: Any) -> str:
    """What an image is called in messages."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return f"an array of shape {np.shape(source)}"


@contextmanager
def silence() -> Iterator[None]:
    """Keep OpenCV from writing to standard error about files that it can't read."""
    logging = opencv().utils.logging
    level = logging.getLogLevel()
    logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        logging.setLogLevel(level)


def _decoded(path: str | os.PathLike[str], flags: int) -> Array:
    cv2 = opencv()
    name = os.fspath(path)
    try:
        data = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise ImageError(f"{name} can't be read: {error.strerror}.") from error
    if not data.size:
        raise ImageError(f"{name} is an empty file; expected an image.")
    try:
        pixels = cv2.imdecode(data, flags)
    except cv2.error:  # too many pixels, for instance
        pixels = None
    if pixels is None:
        raise ImageError(f"{name} is damaged, or no image of a kind that OpenCV reads.")
    return np.asarray(pixels)


def _checked(pixels: Array, name: str) -> Array:
    sound = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))
    if not sound or pixels.dtype.kind not in "iuf":
        raise ImageError(
            f"{name} and type {pixels.dtype} is no image; expected numbers of shape "
            "(height, width) or (height, width, 3)."
        )
    if not np.isfinite(pixels).all():
        raise ImageError(f"{name} has pixels that are NaN or infinite.")
    return pixels


def _smaller(pixels: Array, size: int) -> Array:
    cv2 = opencv()
    height, width = pixels.shape[:2]
    scale = size / max(height, width)
    if scale >= 1:
        return pixels
    shape = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(pixels, shape, interpolation=cv2.INTER_AREA))
