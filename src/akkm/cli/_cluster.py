"""`akkm cluster`: from a file to clusters, a model and a report."""

import datetime
import time
import warnings
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from akkm.cli import _work
from akkm.cli._console import Printer, seconds, short_kernel
from akkm.cli._labels import require_name, require_writable
from akkm.cli._method import build
from akkm.cli._options import (
    Encoding,
    Method,
    Run,
    Source,
    encoding_options,
    memory_option,
    method_options,
    output_options,
    quiet_option,
    source_options,
)
from akkm.cli._outputs import Outputs
from akkm.cli._progress import Iterations, Phases
from akkm.typing import Array
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
@output_options
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
    estimator = build(method, encoding.scale)
    if labels is not None:
        require_name(encoding.id)
    printer = Printer(quiet)
    paths = {"--labels": labels, "--model": model, "--report": report}
    outputs = Outputs(paths, {"DATA": source.data}, run.written)
    with outputs, Phases(printer.shows_progress) as phases:
        started = time.perf_counter()
        table = _work.open_source(source)
        encoder = _work.encoder_of(encoding)
        with phases.phase("reading", table.n_rows) as phase:
            encoder.fit(phase.watch(table))
        if sample is None:
            _work.require_memory(encoder, method, memory)
        with phases.phase("encoding", encoder.n_rows_) as phase:
            encoded = encoder.transform(phase.watch(table), memory * 2**20)
        n, rows = encoded.X.shape[0], None
        if sample is not None and sample < n:
            rows = _work.draw_rows(n, sample, method.seed)
        _work.require_enough(n if rows is None else len(rows), method)
        if labels is not None and encoded.ids is not None:
            require_writable(labels, encoded.ids)
        if encoded.on_disk and rows is None:
            estimator.set_params(cache_size=min(estimator.cache_size, memory / 2))
        about = {
            "command": run.command,
            "data": _work.describe(source.data),
            "header": source.header,
            "delimiter": source.delimiter,
            "decimal": source.decimal,
            "na": list(source.na),
            "notes": [*encoder.notes_, *_work.storage_notes(encoded, memory)],
            "seconds_reading": round(time.perf_counter() - started, 3),
        }
        warned = cluster_rows(
            estimator, encoder, encoded, about, outputs, phases, encoding.id, rows
        )
        outputs.publish()
    summarise(printer, about, encoder.describe(), warned, run)


def cluster_rows(
    estimator: Any,
    encoder: Any,
    encoded: Any,
    about: dict[str, Any],
    outputs: Outputs,
    phases: Phases,
    key: str | None,
    rows: Array | None = None,
) -> list[str]:
    """Fit to all rows or to some (s,), write all files, and return warnings.

    `key` is the column that identifies rows. Results are added to `about`.
    """
    from akkm.model_file import SavedModel, write_model

    started = time.perf_counter()
    warned = fit(estimator, encoded.X if rows is None else encoded.X[rows], phases)
    fitted = time.perf_counter() - started
    assigned = _work.write_labels(
        outputs, estimator, encoded, key, phases, fitted=rows is None
    )
    k = estimator._n_clusters
    about |= {
        "akkm": __version__,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "rows": encoded.X.shape[0],
        "features": encoded.X.shape[1],
        "k": k,
        "sizes": np.bincount(assigned[0], minlength=k).tolist(),
        "settings": settings(estimator),
        "seconds": round(fitted, 3),
        "notes": [*about["notes"], *warned],
    }
    if rows is not None:
        about["sample"] = len(rows)
    if encoded.labels is not None:
        about["scores"] = _work.score(encoded.labels, assigned[0])
    if "--model" in outputs:
        with phases.phase("model"):
            write_model(SavedModel(encoder, estimator, about), outputs["--model"])
    if "--report" in outputs:
        new = None if rows is None else assigned
        _work.write_report(outputs, estimator, encoder, encoded, phases, about, new)
    return warned


def fit(estimator: Any, X: Any, phases: Phases) -> list[str]:
    """Fit, and return the messages of warnings."""
    members = getattr(estimator, "n_members", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with phases.phase("clustering") as phase:
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
    member = getattr(estimator, "members_", [estimator])[0]
    if hasattr(member, "landmarks_"):
        chosen["landmarks"] = member.landmarks_.shape[0]
        chosen["sampling"] = member.landmarks
    if hasattr(estimator, "leader_indices_"):
        chosen["leaders"] = len(estimator.leader_indices_)
    if hasattr(estimator, "members_"):
        chosen["members"] = len(estimator.members_)
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
        *_work.listed("notes", [note for note in about["notes"] if note not in warned]),
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
