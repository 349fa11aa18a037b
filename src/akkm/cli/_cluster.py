"""`akkm cluster`: from a file to clusters, a model and a report."""

from __future__ import annotations

import datetime
import time
import warnings
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from akkm.cli import _work
from akkm.cli._console import Printer, seconds, short_kernel
from akkm.cli._labels import require_name
from akkm.cli._method import build
from akkm.cli._options import (
    Encoding,
    Method,
    Run,
    Source,
    encoding_options,
    memory_option,
    method_options,
    quiet_option,
    source_options,
)
from akkm.cli._outputs import Outputs
from akkm.cli._progress import Iterations, Phases
from akkm.version import __version__

_EXAMPLES = """\b
Examples:
  akkm cluster flowers.csv -k 3 --label species --report flowers.html
  akkm cluster shapes.csv -k auto --method sparse --report shapes.html
  akkm cluster log.parquet -k 8 --id session --labels out.parquet --model m.skops
  akkm cluster folder-of-parquet -k 20 --memory 2000 --labels out.parquet
  zcat data.csv.gz | akkm cluster - -k 5 --gamma median --labels out.csv
"""


@click.command(epilog=_EXAMPLES)
@source_options
@method_options
@encoding_options
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cluster N random rows, then assign all rows to their clusters.",
)
@memory_option
@click.option("--labels", metavar="FILE", help="Write clusters: .parquet or .csv.")
@click.option("--model", metavar="FILE", help="Write the model: .skops.")
@click.option("--report", metavar="FILE", help="Write a report: .html.")
@quiet_option
@click.pass_obj
def cluster(
    run: Run,
    source: Source,
    method: Method,
    encoding: Encoding,
    sample: int | None,
    memory: float,
    labels: str | None,
    model: str | None,
    report: str | None,
    quiet: bool,
) -> None:
    """Cluster the rows of DATA.

    DATA is CSV (also .gz), Parquet, Arrow or Feather, .npy, .npz, LIBSVM, or a folder
    of Parquet or Arrow files; - is CSV on standard input. Text columns are one-hot
    encoded and numbers scaled. With --method approx, DATA may be larger than memory.
    Output files appear when all of them are complete.
    """
    from akkm.model_file import SavedModel, write_model

    estimator = build(method, encoding.scale)
    if labels is not None:
        require_name(encoding.id)
    printer = Printer(quiet)
    wanted = {"--labels": labels, "--model": model, "--report": report}
    outputs = Outputs(wanted, {"DATA": source.data}, run.written)
    with outputs, Phases(printer.shows_progress) as shown:
        started = time.perf_counter()
        table = _work.open_source(source)
        encoder = _work.encoder_of(encoding)
        with shown.phase("reading", table.n_rows) as phase:
            encoder.fit(phase.watch(table))
        if sample is None:
            _work.require_memory(encoder, method, memory)
        with shown.phase("encoding", encoder.n_rows_) as phase:
            encoded = encoder.transform(phase.watch(table), memory * 2**20)
        n, d = encoded.X.shape
        rows = None
        if sample is not None and sample < n:
            rows = _work.draw_rows(n, sample, method.seed)
        _work.require_enough(n if rows is None else len(rows), method)
        if labels is not None:
            _work.require_writable_ids(labels, encoded)
        notes = [*encoder.notes_, *_work.storage_notes(encoded, memory)]
        read = time.perf_counter() - started
        if encoded.on_disk and "cache_size" in estimator.get_params():
            estimator.set_params(cache_size=min(estimator.cache_size, memory / 2))
        warned = fit(estimator, encoded.X if rows is None else encoded.X[rows], shown)
        fitted = time.perf_counter() - started - read
        assigned = _work.write_labels(
            outputs, labels, estimator, encoded, encoding.id, shown, fitted=rows is None
        )
        clusters = assigned[0]
        about: dict[str, Any] = {
            "akkm": __version__,
            "command": run.command,
            "data": _work.describe(source.data),
            "header": source.header,
            "delimiter": source.delimiter,
            "decimal": source.decimal,
            "na": list(source.na),
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "rows": n,
            "features": d,
            "k": estimator._n_clusters,
            "sizes": np.bincount(clusters, minlength=estimator._n_clusters).tolist(),
            "settings": settings(estimator),
            "seconds": round(fitted, 3),
            "seconds_reading": round(read, 3),
            "notes": [*notes, *warned],
        }
        if rows is not None:
            about["sample"] = len(rows)
        if encoded.labels is not None:
            about["scores"] = _work.score(encoded.labels, clusters)
        if model is not None:
            with shown.phase("model"):
                saved = SavedModel(encoder, estimator, about)
                write_model(saved, outputs["--model"])
        if report is not None:
            _work.write_report(
                outputs,
                estimator,
                encoder,
                encoded,
                shown,
                about,
                assigned=None if rows is None else assigned,
            )
        outputs.publish()
    summarise(printer, about, encoder.describe(), notes, warned, run)


def fit(estimator: Any, X: Any, shown: Phases) -> list[str]:
    """Fit, and return the messages of warnings."""
    members = getattr(estimator, "n_members", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with shown.phase("clustering") as phase:
            estimator.set_callbacks(Iterations(phase, members))
            phase.show("choosing landmarks and where to start")
            estimator.fit(X)
            estimator.set_callbacks()
    return list(dict.fromkeys(str(warning.message) for warning in caught))


def settings(estimator: Any) -> dict[str, Any]:
    """Settings and results as plain values, for model files."""
    chosen = {
        "method": type(estimator).__name__,
        "kernel": str(estimator.kernel_),
        "seed": estimator.random_state,
    }
    if estimator.n_clusters == "auto":
        chosen["counted"] = str(estimator.evidence_)
    if hasattr(estimator, "landmarks_"):
        chosen["landmarks"] = estimator.landmarks_.shape[0]
        chosen["sampling"] = estimator.landmarks
    if hasattr(estimator, "leader_indices_"):
        chosen["leaders"] = len(estimator.leader_indices_)
    if hasattr(estimator, "members_"):
        chosen["members"] = len(estimator.members_)
        first = estimator.members_[0]
        if hasattr(first, "landmarks_"):
            chosen["landmarks"] = first.landmarks_.shape[0]
            chosen["sampling"] = first.landmarks
        chosen["agreement"] = float(estimator.agreement_.mean())
    if hasattr(estimator, "rank_"):
        chosen["rank"] = int(estimator.rank_)
    chosen["iterations"] = int(estimator.n_iter_)
    if hasattr(estimator, "inertia_"):
        chosen["error"] = float(estimator.inertia_)
    return chosen


def setting_facts(chosen: dict[str, Any]) -> list[tuple[str, str]]:
    """Settings and results as text."""
    facts = [("method", f"{chosen['method']}, seed {chosen['seed']}")]
    if "counted" in chosen:
        facts.append(("clusters", chosen["counted"]))
    facts.append(("kernel", short_kernel(chosen["kernel"])))
    if "landmarks" in chosen:
        text = f"{chosen['landmarks']:,} ({chosen['sampling']})"
        text += f", rank {chosen['rank']:,}" if "rank" in chosen else ""
        facts.append(("landmarks", text))
    if "leaders" in chosen:
        facts.append(("leaders", f"{chosen['leaders']:,}"))
    if "members" in chosen:
        text = f"{chosen['members']}, {chosen['agreement']:.1%} of their votes agree"
        facts.append(("members", text))
    facts.append(("iterations", str(chosen["iterations"])))
    if "error" in chosen:
        facts.append(("error", f"{chosen['error']:.6g}"))
    return facts


def summarise(
    printer: Printer,
    about: dict[str, Any],
    columns: Sequence[str],
    notes: Sequence[str],
    warned: list[str],
    run: Run,
) -> None:
    """Print what was done, and the results."""
    facts = [
        ("data", about["data"]),
        ("rows", f"{about['rows']:,}"),
        *_sample_facts(about),
        ("features", f"{about['features']:,}"),
        *_work.listed("columns", columns),
        *_work.listed("notes", notes),
        *setting_facts(about["settings"]),
        (
            "time",
            f"{seconds(about['seconds_reading'])} reading, "
            f"{seconds(about['seconds'])} clustering",
        ),
    ]
    if "scores" in about:
        facts.append(("scores", _work.score_text(about["scores"])))
    printer.facts(facts)
    printer.say()
    _work.say_sizes(printer, about["sizes"])
    for text in warned:
        printer.say(f"Warning: {text}", style="yellow")
    printer.say()
    if run.written:
        printer.facts(_work.listed("written", run.written))
    else:
        printer.say("Nothing was written; --labels FILE saves the clusters.")


def _sample_facts(about: dict[str, Any]) -> list[tuple[str, str]]:
    if "sample" not in about:
        return []
    text = (
        f"{about['sample']:,} random rows; the others were assigned to their clusters"
    )
    return [("clustered", text)]
