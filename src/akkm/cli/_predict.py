"""`akkm predict`: assign new rows to the clusters of a model."""

import copy
from typing import Any

import click

from akkm.cli import _work
from akkm.cli._console import seconds
from akkm.cli._folder import KEY, read_folder
from akkm.cli._labels import require_name, require_writable
from akkm.cli._options import Encoding, Output, Source, TableOutput, memory_option
from akkm.cli._records import COUNT, option_of, options_of
from akkm.cli._run import Run
from akkm.cli._write import require_writable_table
from akkm.model_file import SavedModel, load_model
from akkm.tables import require_columns

_EXAMPLES = """\b
Example:
  akkm predict flowers.skops new.csv --labels new-clusters.parquet
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL")
@options_of("source", Source)
@option_of(Encoding, "drop")
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "mean"]),
    help="If values are missing: stop, drop the row, or fill in a value. "
    "[default: as in the model]",
)
@click.option(
    "--labels", metavar="FILE", required=True, help="Write clusters: .parquet or .csv."
)
@option_of(TableOutput, "write")
@option_of(Output, "report")
@memory_option
@click.option("--threads", type=COUNT, help="Number of threads. [default: all]")
@option_of(Output, "quiet")
@click.pass_obj
def predict(
    run: Run,
    model: str,
    source: Source,
    drop: list[str],
    missing: str | None,
    labels: str,
    write: str | None,
    report: str | None,
    memory: float,
    threads: int | None,
    quiet: bool,
) -> None:
    """Assign the rows of DATA to the clusters of MODEL.

    DATA must have the columns that the model was made with, in any order. It may be
    larger than memory. For a model of images, DATA is a folder.
    """
    data = _work.describe(source.data)
    output = TableOutput(labels, None, report, quiet, write=write)
    inputs = {"MODEL": model}
    with _work.start(run, output, inputs | {"DATA": source.data}) as job:
        saved = load_model(model)
        encoder = saved.encoder
        key = encoder.id if saved.of_table else KEY
        require_name(key)
        estimator = copy.copy(saved.estimator).set_params(n_jobs=threads)
        if saved.of_table:
            table = _work.open_source(source, saved.about)
            _adapt(encoder, table, drop, missing)
            if write is not None:
                require_writable_table(table, write)
            with job.phases.phase("reading", table.n_rows) as phase:
                encoded = encoder.encode(phase.watch(table), memory * 2**20)
        else:
            if write is not None:
                raise ValueError(
                    f"--write {write}: a folder of images is not a table; use --labels "
                    "instead."
                )
            table = None
            encoder.set_params(n_jobs=threads)
            encoded = read_folder(encoder, source.data, job.phases, fit=False)
        if encoded.ids is not None:
            require_writable(labels, encoded.ids)
        about: dict[str, Any] = {
            "data": f"{data}, clustered by {_work.describe(model)}",
            "notes": [*encoded.notes, *_work.storage_notes(encoded, memory)],
            "layers": saved.about.get("layers", False),
        }
        applied = SavedModel(encoder, estimator, about)
        _work.write_results(job, applied, encoded, key, fitted=False, table=table)
    facts = {
        "model": f"{model}, fitted to {saved.about.get('data', 'unknown data')}",
        "data": data,
        "rows": f"{about['rows']:,}",
        "notes": about["notes"],
        "time": seconds(about["seconds"]),
        "scores": _work.score_lines(about.get("scores")),
    }
    _work.print_clusters(job.printer, facts, about["sizes"])
    job.printer.say()
    job.printer.facts({"written": run.written})


def _adapt(encoder: Any, table: Any, drop: list[str], missing: str | None) -> None:
    """Apply --drop and --missing to the encoder of a model."""
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
