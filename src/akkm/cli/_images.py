"""`akkm images`: cluster a folder of images."""

import os
import time
from typing import Any

import click

from akkm.cli import _work
from akkm.cli._cluster import cluster_rows, summarise
from akkm.cli._console import Printer
from akkm.cli._folder import KEY, read_folder
from akkm.cli._method import build
from akkm.cli._options import (
    Method,
    Run,
    choice,
    count,
    output_options,
    pyramid_method_options,
    quiet_option,
)
from akkm.cli._outputs import Outputs
from akkm.cli._progress import Phases

_EXAMPLES = """\b
Examples:
  akkm images photos -k 12 --report photos.html
  akkm images photos -k 12 --labels photos.csv --model photos.skops
  akkm predict photos.skops new-photos --labels new.csv --report new.html
"""


@click.command(epilog=_EXAMPLES)
@click.argument("folder", metavar="FOLDER")
@pyramid_method_options
@count("--words", 200, "Number of visual words.")
@count("--levels", 4, "Levels of the spatial pyramid.", most=6)
@choice("--keypoints", ("grid", "detected"), "Which patches of an image are described.")
@choice(
    "--unreadable", ("skip", "error"), "Files that are not images: skip them, or stop."
)
@output_options
@quiet_option
@click.pass_obj
def images(
    run: Run,
    folder: str,
    method: Method,
    words: int,
    levels: int,
    keypoints: str,
    unreadable: str,
    labels: str | None,
    model: str | None,
    report: str | None,
    quiet: bool,
) -> None:
    """Cluster the images in FOLDER and the folders in it.

    Reads all image formats that OpenCV knows. Each image becomes histograms of visual
    words in the cells of a spatial pyramid; the pyramid match kernel compares them. The
    report shows the most typical and the least certain images of each cluster.
    """
    from akkm.images import SpatialPyramid

    estimator = build(method, "none")
    printer = Printer(quiet)
    pyramid = SpatialPyramid(
        words,
        levels,
        keypoints=keypoints,
        unreadable=unreadable,
        random_state=method.seed,
        n_jobs=method.threads,
    )
    paths = {"--labels": labels, "--model": model, "--report": report}
    outputs = Outputs(paths, {"FOLDER": folder}, run.written)
    with outputs, Phases(printer.shows_progress) as phases:
        started = time.perf_counter()
        rows = read_folder(pyramid, folder, phases, fit=True)
        _work.require_enough(rows.X.shape[0], method)
        about: dict[str, Any] = {
            "command": run.command,
            "data": os.path.basename(os.path.abspath(folder)),
            "notes": list(rows.notes),
            "seconds_reading": round(time.perf_counter() - started, 3),
        }
        warned = cluster_rows(estimator, pyramid, rows, about, outputs, phases, KEY)
        outputs.publish()
    summarise(printer, about, (), warned, run)
