"""`akkm images`: cluster a folder of images."""

import os
from typing import Any

import click

from akkm.cli import _work
from akkm.cli._cluster import cluster_rows, summarise
from akkm.cli._folder import KEY, read_folder
from akkm.cli._method import build
from akkm.cli._options import Output, PyramidMethod
from akkm.cli._records import COUNT, options_of
from akkm.cli._run import Run
from akkm.images import SpatialPyramid
from akkm.model_file import SavedModel

_EXAMPLES = """\b
Examples:
  akkm images photos -k 12 --report photos.html
  akkm images photos -k 12 --labels photos.csv --model photos.skops
  akkm predict photos.skops new-photos --labels new.csv --report new.html
"""


@click.command(epilog=_EXAMPLES)
@click.argument("folder", metavar="FOLDER")
@options_of("method", PyramidMethod)
@click.option(
    "--words", "n_words", type=COUNT, default=200, help="Number of visual words."
)
@click.option(
    "--levels",
    type=click.IntRange(1, 6),
    default=4,
    help="Number of levels of the spatial pyramid.",
)
@click.option(
    "--keypoints",
    type=click.Choice(["grid", "detected"]),
    default="grid",
    help="Patches to describe: on a grid, or keypoints that SIFT detects.",
)
@click.option(
    "--unreadable",
    type=click.Choice(["skip", "error"]),
    default="skip",
    help="Images that can't be read: skip them, or stop.",
)
@options_of("output", Output)
@click.pass_obj
def images(
    run: Run, /, folder: str, method: PyramidMethod, output: Output, **words: Any
) -> None:
    """Cluster the images in FOLDER and its subfolders.

    All image formats that OpenCV knows are read. Each image is described by histograms
    of visual words in the cells of a spatial pyramid. The pyramid match kernel compares
    these histograms. The report shows the most typical and the least certain images of
    each cluster.
    """
    estimator = build(method, "none")
    pyramid = SpatialPyramid(**words, random_state=method.seed, n_jobs=method.threads)
    with _work.start(run, output, {"FOLDER": folder}) as job:
        rows = read_folder(pyramid, folder, job.phases, fit=True)
        _work.require_enough(rows.X.shape[0], method)
        name = os.path.basename(os.path.abspath(folder))
        about = {"data": name, "notes": rows.notes, "layers": method.layers}
        model = SavedModel(pyramid, estimator, about)
        warned = cluster_rows(job, model, rows, KEY)
    summarise(job, model, warned)
