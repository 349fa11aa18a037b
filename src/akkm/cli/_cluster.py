"""`akkm cluster`: cluster the rows of a file; write labels, a model and a report."""

import datetime
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from akkm.cli import _work
from akkm.cli._console import seconds, short_kernel
from akkm.cli._known import constraint_notes, read_constraints
from akkm.cli._labels import require_name, require_writable
from akkm.cli._method import (
    build,
    method_for_table,
    require_checkpoint,
    require_guided,
    require_some_default,
    with_number,
)
from akkm.cli._options import (
    Encoding,
    Method,
    Source,
    TableOutput,
    checkpoint_option,
    known_option,
    memory_option,
    pairs_option,
    sample_option,
    strength_option,
)
from akkm.cli._progress import Iterations, Phases
from akkm.cli._records import options_of
from akkm.cli._run import Run
from akkm.cli._work import Job
from akkm.cli._write import require_writable_table
from akkm.model_file import SavedModel
from akkm.version import __version__

_EXAMPLES = """\b
Examples:
  akkm cluster flowers.csv -k 3 --label species --report flowers.html
  akkm cluster shapes.csv -k auto --method sparse --report shapes.html
  akkm cluster log.parquet -k 8 --id session --labels out.parquet --model m.skops
  akkm cluster folder-of-parquet -k 20 --memory 2000 --labels out.parquet
  akkm cluster rows.csv -k 12 --known answers.csv --pairs pairs.csv
  zcat data.csv.gz | akkm cluster - -k 5 --gamma median --labels out.csv
"""


@click.command(epilog=_EXAMPLES)
@options_of("source", Source)
@options_of("method", Method)
@options_of("encoding", Encoding)
@sample_option
@memory_option
@checkpoint_option
@known_option
@pairs_option
@strength_option
@options_of("output", TableOutput)
@click.pass_obj
def cluster(
    run: Run,
    source: Source,
    method: Method,
    encoding: Encoding,
    sample: int | None,
    memory: float,
    checkpoint: str | None,
    known: str | None,
    pairs: str | None,
    strength: float | None,
    output: TableOutput,
) -> None:
    """Cluster the rows of DATA.

    DATA is CSV (also .gz), Parquet, Arrow or Feather, .npy, .npz, LIBSVM, or a folder
    of Parquet or Arrow files; - is CSV on standard input. Text columns are one-hot
    encoded, and numeric columns are scaled. With --method approx, DATA may be larger
    than memory. Output files appear only when all of them are complete.
    """
    require_some_default(method, encoding.scale)  # before DATA is read
    if output.labels is not None:
        require_name(encoding.id)
    guided = known is not None or pairs is not None
    require_guided(method, sample, checkpoint, guided, strength)
    files = {"DATA": source.data, "--known": known, "--pairs": pairs}
    inputs = {name: path for name, path in files.items() if path is not None}
    with _work.start(run, output, inputs) as job:
        table, encoder = _work.fit_encoder(source, encoding, job.phases)
        method = method_for_table(method, encoder)
        if checkpoint is not None:
            require_checkpoint(method, sample)
        if sample is None:
            _work.require_memory(encoder, method, memory)
        if output.write is not None:
            require_writable_table(table, output.write)
        with job.phases.phase("encoding", encoder.n_rows_) as phase:
            encoded = encoder.encode(phase.watch(table), memory * 2**20)
        n, rows = encoded.X.shape[0], None
        if sample is not None and sample < n:
            rows = _work.draw_rows(n, sample, method.seed)
        _work.require_enough(n if rows is None else len(rows), method)
        if output.labels is not None and encoded.ids is not None:
            require_writable(output.labels, encoded.ids)
        key, keys = encoding.id, encoded.ids
        if keys is None or key is None:
            key, keys = "row", encoded.rows
        given = read_constraints(known, pairs, key, keys)
        classes = set(given.get("known", {}).values())
        method, found = with_number(method, encoder, encoded.X, len(classes))
        unsure = []
        if found is not None and isinstance(method.k, int):
            unsure = [found.warning(method.k)]
        estimator = build(method, encoding.scale)
        if checkpoint is not None:
            estimator.set_params(checkpoint=checkpoint)
        if strength is not None:
            estimator.set_params(strength=strength)
        if encoded.on_disk and rows is None:
            estimator.set_params(cache_size=min(estimator.cache_size, memory / 2))
        about = asdict(source) | {
            "data": _work.describe(source.data),
            "notes": [
                *encoder.notes_,
                *_work.storage_notes(encoded, memory),
                *constraint_notes(given, n),
            ],
            "doubts": unsure,
            "layers": method.layers,
        }
        model = SavedModel(encoder, estimator, about)
        warned = cluster_rows(job, model, encoded, encoding.id, rows, table, given)
    summarise(job, model, [*unsure, *warned])


def cluster_rows(
    job: Job,
    model: SavedModel,
    encoded: Any,
    key: str | None,
    rows: Any = None,
    table: Any = None,
    constraints: Mapping[str, Any] | None = None,
) -> list[str]:
    """Fit the estimator, write the output files, and return the texts of warnings.

    `rows` (s,) are the numbers of the rows to fit; None means all rows. `key` is the
    column that identifies rows, and `table` contains the rows before encoding.
    `constraints` are further arguments of `fit`. Results are added to `model.about`.
    """
    estimator, about = model.estimator, model.about
    started = time.perf_counter()
    X = encoded.X if rows is None else encoded.X[rows]
    warned = fit(estimator, X, job.phases, **(constraints or {}))
    about |= {
        "seconds_reading": round(started - job.started, 3),
        "seconds": round(time.perf_counter() - started, 3),
        "akkm": __version__,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "features": encoded.X.shape[1],
        "k": estimator._n_clusters,
        "layers": about.get("layers", False),
        "settings": setting_facts(estimator),
        "notes": [*about["notes"], *warned],
    }
    if rows is not None:
        about["sample"] = len(rows)
    _work.write_results(job, model, encoded, key, fitted=rows is None, table=table)
    return warned


def fit(estimator: Any, X: Any, phases: Phases, **constraints: Any) -> list[str]:
    """Fit the estimator and return the messages of its warnings."""
    members = getattr(estimator, "n_members", None)
    catching = warnings.catch_warnings(record=True, action="always")
    with catching as caught, phases.phase("clustering") as phase:
        estimator._observer = Iterations(phase, members)
        phase.show(estimator._preparation)
        estimator.fit(X, **constraints)
        del estimator._observer
    return list(dict.fromkeys(str(warning.message) for warning in caught))


def setting_facts(estimator: Any) -> dict[str, str]:
    """Settings and results of a fitted estimator, as names and texts to print."""
    facts = {"method": f"{type(estimator).__name__}, seed {estimator.random_state}"}
    finest = getattr(estimator, "estimator_", estimator)
    if estimator is not finest:
        facts["method"] += f", of {type(finest).__name__}"
        numbers = map(str, estimator.layer_numbers_)
        facts["layers"] = f"{', '.join(numbers)} clusters"
    if not isinstance(estimator.n_clusters, int):
        facts["clusters"] = estimator._number_text
    if getattr(estimator, "coverage", 1) != 1:
        facts["coverage"] = (
            f"{(estimator.labels_ >= 0).mean():.1%} of the rows have a cluster; the "
            f"others, with a certainty below {estimator.certainty_limit_:.3g}, get -1"
        )
    if hasattr(estimator, "label_names_"):
        names = enumerate(estimator.label_names_)
        named = [f"{k}: {name}" for k, name in names if name is not None]
        violated = sum(map(len, estimator.violated_.values()))
        facts["classes"] = ", ".join(named) or "no class is known"
        facts["violated"] = f"{violated:,} constraints"
    facts["kernel"] = short_kernel(estimator._kernel_text)
    member = getattr(estimator, "members_", [finest])[0]
    if hasattr(member, "landmarks_"):
        facts["landmarks"] = f"{member.landmarks_.shape[0]:,} ({member.landmarks})"
        if hasattr(finest, "rank_"):
            facts["landmarks"] += f", rank {finest.rank_:,}"
    if hasattr(finest, "leader_indices_"):
        facts["leaders"] = f"{len(finest.leader_indices_):,}"
    if hasattr(estimator, "members_"):
        agreement = f"{estimator.agreement_.mean():.1%} of their votes agree"
        facts["members"] = f"{len(estimator.members_)}, {agreement} with the labels"
    facts["iterations"] = str(finest.n_iter_)
    if hasattr(finest, "inertia_"):
        facts["error"] = f"{finest.inertia_:.6g}"
    return facts


def summarise(job: Job, model: SavedModel, warned: list[str]) -> None:
    """Print settings, results, warnings and the names of written files."""
    printer, about = job.printer, model.about
    sample, reading = about.get("sample"), seconds(about["seconds_reading"])
    assigned = "random rows; the others were assigned to the clusters found"
    facts = {
        "data": about["data"],
        "rows": f"{about['rows']:,}",
        "clustered": f"{sample:,} {assigned}" if sample else (),
        "features": f"{about['features']:,}",
        "columns": model.encoder.describe() if model.of_table else (),
        "balance": _work.balance_lines(model.encoder) if model.of_table else (),
        "notes": [note for note in about["notes"] if note not in warned],
        **about["settings"],
        "time": f"{reading} reading, {seconds(about['seconds'])} clustering",
        "scores": _work.score_lines(about.get("scores")),
    }
    _work.print_clusters(printer, facts, about["sizes"])
    for text in warned:
        printer.say(f"Warning: {text}", style="yellow")
    printer.say()
    printer.facts({"written": job.run.written})
    if not job.run.written:
        printer.say("Nothing was written; --labels FILE saves the clusters.")
