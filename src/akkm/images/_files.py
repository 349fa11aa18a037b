"""Read images from files or arrays as grayscale, and make thumbnails."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from akkm.extras import import_extra
from akkm.limits import PIXELS
from akkm.typing import Array

# Extensions of image files: formats that OpenCV reads, and some that it may not read.
_EXTENSIONS = (
    ".avif", ".bmp", ".dib", ".exr", ".gif", ".hdr", ".heic", ".heif", ".jp2", ".jpe",
    ".jpeg", ".jpg", ".jxl", ".pbm", ".pfm", ".pgm", ".pic", ".png", ".pnm", ".ppm",
    ".pxm", ".ras", ".sr", ".tif", ".tiff", ".webp",
)  # fmt: skip
# First bytes of images: JPEG, PNG, GIF, TIFF, WebP.
_SIGNATURES = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n|GIF8|II\*\0|MM\0\*|RIFF.{4}WEBP", re.DOTALL
)
# Images need at least this many pixels along the shorter side to show anything.
_MIN_SIDE = 16
# Environment variable that limits the number of pixels. OpenCV refuses larger images
# before it decodes them.
_OPENCV_LIMIT = "OPENCV_IO_MAX_IMAGE_PIXELS"
_JPEG_QUALITY = 75


class ImageError(ValueError):
    """Error for an image that can't be read; the one-line message contains its name."""


def opencv() -> Any:
    """Return the module cv2; raise ImportError with advice if it is not installed."""
    os.environ.setdefault(_OPENCV_LIMIT, str(PIXELS.value))  # cv2 reads it on import
    return import_extra("cv2", "Images need OpenCV", "images")


def find_files(folder: str | os.PathLike[str]) -> list[str]:
    """List the image files in a folder and its subfolders.

    Parameters
    ----------
    folder : str or path-like
        Name of the folder.

    Returns
    -------
    list of str
        Sorted paths. A file is listed if its name has the extension of an image format
        or its first bytes are those of an image; its content may still be damaged.
        Files and folders whose names begin with a dot are left out. Symbolic links to
        files outside the folder, and all symbolic links to folders, are also left out.

    Raises
    ------
    ImageError
        If the folder does not exist or contains no images.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.images import find_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "b.png").touch()
    ...     Path(folder, "a").mkdir()
    ...     Path(folder, "a", "c.png").touch()
    ...     Path(folder, "notes.txt").touch()
    ...     [Path(path).name for path in find_files(folder)]
    ['c.png', 'b.png']
    """
    if not os.path.isdir(folder):
        what = "is a file" if os.path.exists(folder) else "does not exist"
        raise ImageError(f"{folder} {what}; expected a folder with images.")
    root = Path(folder).resolve()
    files = [
        str(path)
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and (not path.is_symlink() or path.resolve().is_relative_to(root))
        and _seems_image(path)
    ]
    if not files:
        raise ImageError(
            f"{folder} contains no images; expected a folder with images. Links to "
            "files outside the folder don't count."
        )
    return files


def read_image(source: Any, max_size: int | None = None) -> Array:
    """Read an image as grayscale.

    Parameters
    ----------
    source : str, path-like or array of shape (height, width[, channels])
        A file in any format that OpenCV reads, or pixels: integers from 0 to the
        largest value of their type, or floating-point numbers from 0 to 1. Three
        channels are red, green and blue; a fourth channel is ignored.
    max_size : int, optional
        Larger images are scaled down to this many pixels along the longer side.

    Returns
    -------
    float32 array of shape (height, width)
        Values from 0 (black) to 1 (white).

    Raises
    ------
    ImageError
        If the file can't be read, or the array is not an image.

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
    name = image_name(source)
    if isinstance(source, str | os.PathLike):
        pixels = _decode(source, cv2.IMREAD_GRAYSCALE | cv2.IMREAD_ANYDEPTH)
    else:
        pixels = _require_image(np.asarray(source), name)
    height, width = pixels.shape[:2]
    if min(height, width) < _MIN_SIDE:
        raise ImageError(
            f"{name} is {width} x {height} pixels; expected at least {_MIN_SIDE} x "
            f"{_MIN_SIDE}."
        )
    gray = pixels.astype(np.float32)
    if pixels.dtype.kind in "iu":
        gray *= np.float32(1 / np.iinfo(pixels.dtype).max)
    if gray.ndim == 3:
        gray = cv2.cvtColor(np.ascontiguousarray(gray[..., :3]), cv2.COLOR_RGB2GRAY)
    return gray if max_size is None else _scale_down(gray, max_size)


def thumbnail(source: Any, size: int = 128) -> bytes:
    r"""Make a small JPEG image.

    Parameters
    ----------
    source : str, path-like or array
        As in `read_image`. Images from files keep their colours; arrays become gray.
    size : int, default=128
        Largest number of pixels along the longer side.

    Returns
    -------
    bytes
        The content of a JPEG file.

    Raises
    ------
    ImageError
        If the file can't be read, or the array is not an image.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.images import thumbnail
    >>> thumbnail(np.zeros((50, 50)))[:2]
    b'\xff\xd8'
    """
    cv2 = opencv()
    if isinstance(source, str | os.PathLike):
        pixels = _decode(source, cv2.IMREAD_COLOR)
    else:
        pixels = read_image(source) * 255
    small = _scale_down(pixels, size).clip(0, 255).astype(np.uint8)
    _, data = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    return bytes(data)


def _seems_image(path: Path) -> bool:
    """Return whether a file is an image by its extension or by its first bytes."""
    if path.suffix.lower() in _EXTENSIONS:
        return True
    try:
        with path.open("rb") as file:
            return _SIGNATURES.match(file.read(12)) is not None
    except OSError:
        return False


def image_name(source: Any) -> str:
    """Return the name of an image for messages."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return f"an array of shape {np.shape(source)}"


@contextmanager
def silenced_opencv() -> Iterator[None]:
    """Keep OpenCV from printing messages about files that it can't read."""
    cv2 = opencv()
    logging = getattr(cv2.utils, "logging", cv2)  # the functions moved in OpenCV 5
    level = logging.getLogLevel()
    logging.setLogLevel(0)  # LOG_LEVEL_SILENT
    try:
        yield
    finally:
        logging.setLogLevel(level)


def _decode(path: str | os.PathLike[str], flags: int) -> Array:
    """Return the pixels of a file.

    NumPy reads the file, because OpenCV can't open all paths.
    """
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
    except cv2.error as error:
        if "CV_IO_MAX_IMAGE" in str(error):
            limit = int(os.environ[_OPENCV_LIMIT])
            raise ImageError(
                f"{name} has more than {limit:,} pixels; {PIXELS.cure}."
            ) from None
        pixels = None
    if pixels is None:
        raise ImageError(f"{name} is damaged, or not an image that OpenCV reads.")
    return np.asarray(pixels)


def _require_image(pixels: Array, name: str) -> Array:
    """Return the array itself; raise ImageError if it is not an image."""
    valid = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))
    if not valid or pixels.dtype.kind not in "iuf":
        raise ImageError(
            f"{name} and type {pixels.dtype} is not an image; expected numbers of "
            "shape (height, width) or (height, width, 3)."
        )
    if not np.isfinite(pixels).all():
        raise ImageError(f"{name} contains NaN or infinity; expected finite pixels.")
    return pixels


def _scale_down(pixels: Array, size: int) -> Array:
    """Scale an image so that its longer side has at most `size` pixels."""
    cv2 = opencv()
    height, width = pixels.shape[:2]
    scale = size / max(height, width)
    if scale >= 1:
        return pixels
    shape = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(pixels, shape, interpolation=cv2.INTER_AREA))
