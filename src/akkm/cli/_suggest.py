"""`akkm suggest`: the rows whose classes a user should give, as a file to fill in."""

import io
from typing import Any

import click
import numpy as np
import pyarrow as pa

from akkm.cli import _work
from akkm.cli._known import read_constraints
from akkm.cli._labels import without_dictionary, write_batches
from akkm.cli._options import Source
from akkm.cli._outputs import open_outputs
from akkm.cli._records import COUNT, options_of
from akkm.cli._run import Run
from akkm.model_file import load_model
from akkm.typing import Array

_EXAMPLES = """\b
Example:
  akkm suggest model.skops rows.csv -n 20 > questions.csv
  akkm cluster rows.csv -k 12 --known questions.csv --model model.skops
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL")
@options_of("source", Source)
@click.option("-n", "count", type=COUNT, default=20, help="Number of rows.")
@click.option(
    "--known", metavar="FILE", help="Classes that are known already, as for cluster."
)
@click.option(
    "--output", metavar="FILE", help="Write this .csv file instead of printing."
)
@click.pass_obj
def suggest(
    run: Run,
    model: str,
    source: Source,
    count: int,
    known: str | None,
    output: str | None,
) -> None:
    """Print the rows of DATA whose classes would help most, as CSV.

    Fill in the column "label" and pass the file to 'akkm cluster --known'. Rows
    without a label stay unknown.
    """
    if output is not None and not output.lower().endswith(".csv"):
        raise ValueError(f"--output {output}: expected a name that ends in .csv.")
    inputs = {"MODEL": model, "DATA": source.data}
    with open_outputs({"--output": output}, inputs, run.written) as outputs:
        page = _questions(model, source, count, known)
        if output is not None:
            outputs["--output"].file.write(page)
    if output is None:
        click.echo(page.decode(), nl=False)


def _questions(model: str, source: Source, count: int, known: str | None) -> bytes:
    """Return the CSV file of questions."""
    saved = load_model(model)
    if not saved.of_table:
        raise ValueError(f"{model} is a model of images; expected a model of a table.")
    if not hasattr(saved.estimator, "suggest"):
        raise ValueError(
            f"{model} contains {type(saved.estimator).__name__}, which takes no known "
            "classes; cluster with another --method, and without --ensemble, --layers "
            "or a range for -k."
        )
    table = _work.open_source(source, saved.about)
    encoder = saved.encoder
    encoded = encoder.encode(table)
    key, keys = encoder.id, encoded.ids
    if keys is None or key is None:
        key, keys = "row", encoded.rows
    answers = read_constraints(known, None, key, keys).get("known")
    rows = saved.estimator.suggest(encoded.X, count, known=answers)
    chosen = encoded.take(rows)
    clusters = saved.estimator.predict(chosen.X)
    certainty = saved.estimator.certainty(chosen.X)
    found = {
        key: pa.array(keys).take(pa.array(rows)),
        "label": pa.array([""] * len(rows)),
        "cluster": clusters,
        "certainty": certainty.round(3),
    }
    names = getattr(saved.estimator, "label_names_", None)
    if names is not None:
        texts = [None if names[k] is None else str(names[k]) for k in clusters]
        found["class_name"] = pa.array(texts, pa.string())
    cells = _cells(table, np.asarray(encoded.rows)[rows], {*found, key})
    file = io.BytesIO()
    list(write_batches([pa.table({**found, **cells})], file, "questions.csv"))
    return file.getvalue()


def _cells(table: Any, rows: Array, taken: set[str]) -> dict[str, Any]:
    """The cells (m,) of some rows (m,) of the table, by column."""
    if table.matrix is not None:
        return {}
    names = [column.name for column in table.columns if column.name not in taken]
    if not names:
        return {}
    table.read_as_text(names)
    order = np.argsort(rows, kind="stable")
    parts, start = [], 0
    for batch in table.batches(names):
        stop = start + batch.num_rows
        own = rows[order][slice(*np.searchsorted(rows[order], [start, stop]))]
        parts.append(pa.Table.from_batches([batch]).take(pa.array(own - start)))
        start = stop
    merged = pa.concat_tables(parts, promote_options="permissive")
    content = merged.take(pa.array(np.argsort(order, kind="stable")))
    return {
        name: without_dictionary(content.column(name).combine_chunks())
        for name in names
    }
