"""`akkm predict`: assign new rows to the clusters of a model."""

import copy
import time
from typing import Any

import click
import numpy as np

from akkm.cli import _work
from akkm.cli._console import Printer, seconds
from akkm.cli._folder import KEY, read_folder
from akkm.cli._labels import require_name, require_writable
from akkm.cli._options import Encoding, Output, Run, Source, memory_option
from akkm.cli._outputs import open_outputs
from akkm.cli._progress import Phases
from akkm.cli._records import COUNT, option_of, options_of

_EXAMPLES = """\b
Example:
  akkm predict flowers.skops new.csv --labels new-clusters.parquet
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL")
@options_of(source=Source)
@option_of(Encoding, "drop")
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "mean"]),
    help="What to do with missing values: stop, leave the row out, or fill in. "
    "[default: as the model was made]",
)
@click.option(
    "--labels", metavar="FILE", required=True, help="Write clusters: .parquet or .csv."
)
@option_of(Output, "report")
@memory_option
@click.option("--threads", type=COUNT, help="[default: all]")
@option_of(Output, "quiet")
@click.pass_obj
def predict(
    run: Run,
    model: str,
    source: Source,
    drop: list[str],
    missing: str | None,
    labels: str,
    report: str | None,
    memory: float,
    threads: int | None,
    quiet: bool,
) -> None:
    """Assign the rows of DATA to the clusters of MODEL.

    DATA has the columns that the model was made with, in any order, and may be larger
    than memory. For a model of images it is a folder.
    """
    from akkm.model_file import load_model

    printer = Printer(quiet)
    wanted = {"--labels": labels, "--report": report}
    inputs = {"MODEL": model, "DATA": source.data}
    with open_outputs(wanted, inputs, run.written) as outputs:
        saved = load_model(model)
        encoder, about = saved.encoder, saved.about
        key = encoder.id if saved.of_table else KEY
        require_name(key)
        estimator = copy.copy(saved.estimator).set_params(n_jobs=threads)
        with Phases(printer.shows_progress) as shown:
            if saved.of_table:
                table = _work.open_source(source, about)
                _adapt(encoder, table, drop, missing)
                with shown.phase("reading", table.n_rows) as phase:
                    encoded = encoder.transform(phase.watch(table), memory * 2**20)
            else:
                encoder.set_params(n_jobs=threads)
                encoded = read_folder(encoder, source.data, shown, fit=False)
            notes = [*encoded.notes, *_work.storage_notes(encoded, memory)]
            if encoded.ids is not None:
                require_writable(labels, encoded.ids)
            started = time.perf_counter()
            assigned = _work.write_labels(
                outputs, estimator, encoded, key, shown, fitted=False
            )
            clusters = assigned[0]
            took = time.perf_counter() - started
            if report is not None:
                described = {
                    "data": f"{_work.describe(source.data)} by {_work.describe(model)}",
                    "command": run.command,
                    "notes": notes,
                    "seconds": took,
                }
                _work.write_report(
                    outputs, estimator, encoder, encoded, shown, described, assigned
                )
    facts = [
        ("model", f"{model}, of {about.get('data', 'unknown data')}"),
        ("data", _work.describe(source.data)),
        ("rows", f"{len(clusters):,}"),
        *_work.listed("notes", notes),
        ("time", seconds(took)),
    ]
    if encoded.labels is not None:
        scores = _work.score(encoded.labels, clusters)
        facts.append(("scores", _work.score_text(scores)))
    printer.facts(facts)
    printer.say()
    sizes = np.bincount(clusters, minlength=estimator._n_clusters)
    _work.say_sizes(printer, sizes.tolist())
    printer.say()
    printer.facts(_work.listed("written", run.written))


def _adapt(encoder: Any, table: Any, drop: list[str], missing: str | None) -> None:
    """Let an encoder ignore more columns, and treat missing values differently."""
    from akkm.tables import require_columns

    require_columns(table, drop, "--drop")
    needed = [e["name"] for e in encoder.columns_ if e["how"] != "left out"]
    for name in drop:
        if name in needed:
            raise ValueError(
                f"--drop {name}: the model was made with this column and needs it; "
                "leave out --drop, or cluster again without the column."
            )
    encoder.ignored_ = [*encoder.ignored_, *drop]
    if missing is not None:
        encoder.set_params(missing=missing)
