"""`akkm predict`: new rows into the clusters of a model."""

from __future__ import annotations

import copy
import shlex
import time

import click

from akkm.cli import _work
from akkm.cli._console import Voice, seconds
from akkm.cli._folder import KEY, read_folder
from akkm.cli._labels import require_kind
from akkm.cli._options import Source, quiet_option, source_options
from akkm.cli._outputs import Outputs
from akkm.cli._progress import Phases

_EXAMPLES = """\b
Example:
  akkm predict flowers.skops new.csv --labels new-clusters.parquet
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL")
@source_options
@click.option(
    "--labels", metavar="FILE", required=True, help="Write clusters: .parquet or .csv."
)
@click.option("--report", metavar="FILE", help="Write an HTML page to look at.")
@click.option("--threads", type=click.IntRange(min=1), help="[default: all]")
@quiet_option
@click.pass_obj
def predict(
    given: list[str],
    model: str,
    source: Source,
    labels: str,
    report: str | None,
    threads: int | None,
    quiet: bool,
) -> None:
    """Put the rows of DATA into the clusters of MODEL.

    DATA has the columns that the model was made with, in any order, and is encoded in
    the same way; for a model of images it is a folder.
    """
    from akkm.model_file import load_model

    require_kind(labels, None)
    voice = Voice(quiet)
    saved = load_model(model)
    encoder, about = saved.encoder, saved.about
    key = encoder.id if saved.of_table else KEY
    require_kind(labels, key)
    estimator = copy.copy(saved.estimator).set_params(n_jobs=threads)
    wanted = {"--labels": labels, "--report": report}
    with Outputs(wanted, source.data) as outputs, Phases(voice.shows_progress) as shown:
        if saved.of_table:
            table = _work.open_source(source, about)
            with shown.phase("reading") as phase:
                encoded = encoder.transform(phase.watch(table))
        else:
            encoder.set_params(n_jobs=threads)
            encoded = read_folder(encoder, source.data, shown, fit=False)
        made = encoder.notes_ if saved.of_table else []
        started = time.perf_counter()
        clusters, agreement = _work.write_labels(
            outputs, labels, estimator, encoded, key, shown, fitted=False
        )
        took = time.perf_counter() - started
        estimator.labels_ = clusters  # as if it had been fitted to these rows
        if agreement is not None:
            estimator.agreement_ = agreement
        if report is not None:
            told = {
                "data": f"{_work.describe(source.data)} by {_work.describe(model)}",
                "command": shlex.join(["akkm", *given]),
                "notes": [*made, *encoded.notes],
                "seconds": took,
            }
            _work.write_report(outputs, estimator, encoder, encoded, shown, told)
        outputs.publish()
    facts = [
        ("model", f"{model}, of {about.get('data', 'unknown data')}"),
        ("data", _work.describe(source.data)),
        ("rows", f"{len(clusters):,}"),
        *(("note", note) for note in encoded.notes),
        ("time", seconds(took)),
    ]
    if encoded.labels is not None:
        scores = _work.score(encoded.labels, clusters)
        facts.append(("scores", _work.told(scores)))
    voice.facts(facts)
    voice.say()
    _work.say_sizes(voice, clusters, estimator.n_clusters)
    voice.say()
    voice.facts(
        [("" if i else "written", path) for i, path in enumerate(outputs.paths)]
    )
