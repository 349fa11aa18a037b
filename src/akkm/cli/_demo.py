"""`akkm demo`: cluster a disc inside a ring, and a table of customers."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import click
import numpy as np

from akkm.cli._console import Printer, megabytes
from akkm.cli._demo_customers import customers
from akkm.cli._outputs import open_outputs
from akkm.cli._run import Run
from akkm.clustering import cluster
from akkm.estimators import ApproxKernelKMeans
from akkm.metrics import adjusted_rand_index, nmi
from akkm.report import report
from akkm.typing import Array

_PICTURE, _PAGE = "akkm-demo.png", "akkm-demo.html"
_CUSTOMERS_PAGE = "akkm-demo-customers.html"
# Number of generated customers.
_CUSTOMERS = 20_000
_NO_PICTURE = "none; drawing needs matplotlib: pip install '.[plot]'"
_DRAWN_POINTS = 5_000
_COLOURS = np.array(["#0072b2", "#e69f00"])

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
    help="Number of points.",
)
@click.pass_obj
def demo(run: Run, rows: int) -> None:
    """Cluster points that k-means can't separate, and customers; write two reports.

    All data are generated. The points form a disc and a ring around it; a picture shows
    them, too. The table of customers has five segments.
    """
    from sklearn.cluster import KMeans

    printer = Printer()
    picture = None if find_spec("matplotlib") is None else _PICTURE
    paths = {"--report": _PAGE, "customers": _CUSTOMERS_PAGE, "picture": picture}
    with open_outputs(paths, {}, run.written) as outputs:
        rng = np.random.default_rng(0)
        X, y = disc_in_ring(rows, rng)
        printer.say(f"{rows:,} points in the plane: a disc and a ring around it.")
        full = megabytes(4.0 * rows**2)
        printer.say(f"Their kernel matrix would take {full} in float32.\n")
        model = ApproxKernelKMeans(2, random_state=0)
        labels, lines = {}, []
        for name, method in (("k-means", KMeans(2, random_state=0)), ("akkm", model)):
            start = time.perf_counter()
            labels[name] = method.fit_predict(X)
            took = time.perf_counter() - start
            scores = adjusted_rand_index(y, labels[name]), nmi(y, labels[name])
            lines.append((name, *(f"{score:.3f}" for score in scores), f"{took:.2f}"))
        printer.table(("", "ARI", "NMI", "seconds"), lines)
        page = report(
            model,
            X,
            feature_names=["x", "y"],
            labels_true=np.array(["disc", "ring"], dtype=object)[y],
            title="A disc in a ring",
            command=run.command,
            seconds=took,
        )
        outputs["--report"].file.write(page.html.encode())
        if "picture" in outputs:
            draw_labels(X, labels, model.landmarks_, outputs["picture"].file)
        found = cluster(customers(min(rows, _CUSTOMERS), rng), 5, id="customer")
        page = found.report(title="Customers (generated)", command=run.command)
        outputs["customers"].file.write(page.html.encode())
    printer.say(f"\nakkm compared all points with {len(model.landmarks_)} of them.")
    printer.say(f"\n{len(found.labels):,} customers in {found.n_clusters} clusters:\n")
    order = np.argsort(-found.sizes, kind="stable")
    shares = found.sizes / len(found.labels)
    printer.table(
        ("name", "share"), [(found.names[k], f"{shares[k]:.1%}") for k in order]
    )
    printer.say()
    printer.facts(
        {
            "picture": picture or _NO_PICTURE,
            "reports": [str(Path(p).resolve()) for p in (_PAGE, _CUSTOMERS_PAGE)],
        }
    )


def disc_in_ring(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Points X (n, 2), and y (n,): 0 for points in a disc, 1 in a ring around it."""
    y = rng.integers(2, size=n)
    radius = y + rng.normal(scale=0.12, size=n)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    return X.astype(np.float32), y


def draw_labels(
    X: Array, labels: dict[str, Array], landmarks: Array, file: BinaryIO
) -> None:
    """Draw two labelings of X (n, 2) as PNG, the second one with the landmarks."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.08)
    figure = Figure(figsize=(9, 4.8), layout=layout)
    shown = slice(_DRAWN_POINTS)
    for axes, (name, codes) in zip(figure.subplots(1, 2), labels.items(), strict=True):
        axes.scatter(*X[shown].T, s=3, c=_COLOURS[codes[shown]], linewidths=0)
        axes.set(title=name, aspect="equal", xticks=[], yticks=[])
    axes.set_title(f"akkm, {len(landmarks)} landmarks of {len(X):,} points")
    axes.scatter(*landmarks.T, s=5, c="black", linewidths=0, label="landmarks")
    axes.legend(loc="upper right", markerscale=3, framealpha=0.9)
    figure.savefig(file, dpi=130, format="png")
