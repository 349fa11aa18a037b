"""`akkm images`: from a folder of images to clusters and a contact sheet."""

from __future__ import annotations

import datetime
import os
import time
from typing import Any

import click
import numpy as np

from akkm.cli import _work
from akkm.cli._cluster import fit, settings, summarise
from akkm.cli._console import Voice
from akkm.cli._folder import KEY, read_folder
from akkm.cli._method import build
from akkm.cli._options import Method, Run, pyramid_method_options, quiet_option
from akkm.cli._outputs import Outputs
from akkm.cli._progress import Phases
from akkm.version import __version__

_EXAMPLES = """\b
Examples:
  akkm images photos -k 12 --report photos.html
  akkm images photos -k 12 --labels photos.csv --model photos.skops
  akkm predict photos.skops new-photos --labels new.csv --report new.html
"""


@click.command(epilog=_EXAMPLES)
@click.argument("folder", metavar="FOLDER")
@pyramid_method_options
@click.option(
    "--words",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Visual words.",
)
@click.option(
    "--levels",
    type=click.IntRange(1, 6),
    default=4,
    show_default=True,
    help="Levels of the pyramid.",
)
@click.option(
    "--keypoints",
    type=click.Choice(["grid", "detected"]),
    default="grid",
    show_default=True,
    help="Where images are described.",
)
@click.option(
    "--unreadable",
    type=click.Choice(["skip", "error"]),
    default="skip",
    show_default=True,
    help="What to do with files that are no images: leave them out, or stop.",
)
@click.option("--labels", metavar="FILE", help="Write clusters: .parquet or .csv.")
@click.option("--model", metavar="FILE", help="Write the model: .skops.")
@click.option("--report", metavar="FILE", help="Write a page to look at: .html.")
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

    Images of any kind that OpenCV reads become histograms of visual words in the cells
    of a spatial pyramid, which are compared by the pyramid match kernel. The report
    shows the most typical images of each cluster, and the least certain.
    """
    from akkm.images import SpatialPyramid
    from akkm.model_file import SavedModel, write_model

    estimator = build(method, "none")
    voice = Voice(quiet)
    pyramid = SpatialPyramid(
        words,
        levels,
        keypoints=keypoints,
        unreadable=unreadable,
        random_state=method.seed,
        n_jobs=method.threads,
    )
    wanted = {"--labels": labels, "--model": model, "--report": report}
    outputs = Outputs(wanted, {"FOLDER": folder}, run.written)
    with outputs, Phases(voice.shows_progress) as shown:
        started = time.perf_counter()
        found = read_folder(pyramid, folder, shown, fit=True)
        _work.require_enough(found.X.shape[0], method)
        read = time.perf_counter() - started
        heard = fit(estimator, found.X, shown)
        fitted = time.perf_counter() - started - read
        clusters, _ = _work.write_labels(
            outputs, labels, estimator, found, KEY, shown, fitted=True
        )
        about: dict[str, Any] = {
            "akkm": __version__,
            "command": run.command,
            "data": os.path.basename(os.path.abspath(folder)),
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "rows": found.X.shape[0],
            "features": found.X.shape[1],
            "k": estimator._wanted,
            "sizes": np.bincount(clusters, minlength=estimator._wanted).tolist(),
            "settings": settings(estimator),
            "seconds": round(fitted, 3),
            "seconds_reading": round(read, 3),
            "notes": [*found.notes, *heard],
        }
        if model is not None:
            with shown.phase("model"):
                saved = SavedModel(pyramid, estimator, about)
                write_model(saved, outputs["--model"])
        if report is not None:
            _work.write_report(outputs, estimator, pyramid, found, shown, about)
        outputs.publish()
    summarise(voice, about, (), found.notes, heard, run)
