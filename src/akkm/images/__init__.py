"""Images as rows: dense SIFT, a vocabulary of visual words, spatial pyramids.

The pyramid match kernel of two images (Lazebnik, Schmid, Ponce 2006) is the histogram
intersection of these rows: `kernel="intersection"` of every estimator.
"""

from akkm.images._files import ImageError, find_files, read_image, thumbnail
from akkm.images._transformer import Described, SpatialPyramid

__all__ = [
    "Described",
    "ImageError",
    "SpatialPyramid",
    "find_files",
    "read_image",
    "thumbnail",
]
