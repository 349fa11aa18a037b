"""Images as rows of numbers: reading, SIFT descriptors, visual words, spatial pyramids.

Clustering does not belong here. Estimators cluster the rows with
`kernel="intersection"`, which is the pyramid match kernel (Lazebnik, Schmid, Ponce
2006).
"""

from akkm.images._files import ImageError, find_files, read_image, thumbnail
from akkm.images._transformer import DescribedImages, SpatialPyramid

__all__ = [
    "DescribedImages",
    "ImageError",
    "SpatialPyramid",
    "find_files",
    "read_image",
    "thumbnail",
]
