"""`akkm demo`: a disc inside a ring, told apart."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np

from akkm.cli._console import Voice, megabytes
from akkm.cli._options import Run
from akkm.cli._outputs import Outputs
from akkm.estimators import ApproxKernelKMeans

_PICTURE, _PAGE = "akkm-demo.png", "akkm-demo.html"
_NO_PICTURE = "none, as it needs matplotlib: pip install 'akkm[plot]'"

_EXAMPLES = """\b
Example:
  akkm demo
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--rows",
    type=click.IntRange(min=1000),
    default=200_000,
    show_default=True,
    help="How many points.",
)
@click.pass_obj
def demo(run: Run, rows: int) -> None:
    """Cluster points that k-means can't, and write a picture and a report.

    The points are made here: a disc and a ring around it.
    """
    from sklearn.cluster import KMeans

    from akkm.demo import disc_in_ring, draw, timed
    from akkm.metrics import adjusted_rand_index, nmi
    from akkm.report import report

    voice = Voice()
    wanted = {"--report": _PAGE}
    if find_spec("matplotlib") is not None:
        wanted["picture"] = _PICTURE
    with Outputs(wanted, {}, run.written) as outputs:
        X, y = disc_in_ring(rows, np.random.default_rng(0))
        voice.say(f"{rows:,} points in the plane: a disc and a ring around it.")
        full = megabytes(4.0 * rows**2)
        voice.say(f"Their kernel matrix would take {full} in float32.\n")
        straight, slow = timed(KMeans(2, random_state=0), X)
        model = ApproxKernelKMeans(2, random_state=0)
        curved, took = timed(model, X)
        voice.table(
            ("", "ARI", "NMI", "seconds"),
            [
                (
                    name,
                    f"{adjusted_rand_index(y, labels):.3f}",
                    f"{nmi(y, labels):.3f}",
                    f"{seconds:.2f}",
                )
                for name, labels, seconds in (
                    ("k-means", straight, slow),
                    ("akkm", curved, took),
                )
            ],
        )
        page = report(
            model,
            X,
            feature_names=["x", "y"],
            labels_true=np.array(["disc", "ring"], dtype=object)[y],
            title="A disc in a ring",
            command=run.command,
            seconds=took,
        )
        outputs["--report"].write(page.html.encode())
        if "picture" in outputs:
            draw(X, straight, curved, model.landmarks_, outputs["picture"])
        outputs.publish()
    voice.say(f"\nakkm compared the points with {len(model.landmarks_)} of them.")
    picture = _PICTURE if "picture" in outputs else _NO_PICTURE
    voice.facts([("picture", picture), ("report", str(Path(_PAGE).resolve()))])
