"""Steps that commands share: open, encode, write labels, score, report."""

import copy
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from akkm.cli._console import Printer, megabytes, printable, silenced_libraries
from akkm.cli._labels import label_batches, write_batches
from akkm.cli._method import is_layered
from akkm.cli._options import Encoding, Method, Output, Source
from akkm.cli._outputs import OutputFile, open_outputs
from akkm.cli._progress import Phases
from akkm.cli._run import Run
from akkm.cli._write import write_table
from akkm.clustering import certainty_of_rows
from akkm.inspect import sample_rows
from akkm.metrics import nmi_from_counts
from akkm.model_file import SavedModel, write_model
from akkm.report import report
from akkm.tables import MISSING, Table, TableEncoder, balance, open_table
from akkm.typing import Array

# Maximum number of clusters whose sizes are printed; the largest clusters are chosen.
_SHOWN = 30
# Number of sampled rows that a report describes if the rows are on disk.
_REPORTED = 20_000


@dataclass(frozen=True)
class Job:
    """A running command: its printer, its progress bars and its output files."""

    run: Run
    printer: Printer
    phases: Phases
    outputs: Mapping[str, OutputFile]
    started: float  # from time.perf_counter


@contextmanager
def start(run: Run, output: Output, inputs: Mapping[str, str]) -> Iterator[Job]:
    """Open the output files, which appear only if the block succeeds."""
    printer = Printer(output.quiet)
    opened = open_outputs(output.paths, inputs, run.written)
    with opened as outputs, Phases(printer.shows_progress) as phases:
        yield Job(run, printer, phases, outputs, time.perf_counter())


def describe(data: str) -> str:
    """The name by which messages refer to the data."""
    name = os.path.basename(os.path.normpath(data))
    return "standard input" if data == "-" else printable(name)


def open_source(source: Source, about: Mapping[str, Any] | None = None) -> Table:
    """Open the data; options not given are taken from a model's `about`."""
    about = about or {}
    header = about.get("header") if source.header is None else source.header
    return open_table(
        source.data,
        header=header is not False,
        delimiter=source.delimiter or about.get("delimiter") or ",",
        decimal=source.decimal or about.get("decimal") or ".",
        missing=(*MISSING, *(source.na or about.get("na", ()))),
    )


def fit_encoder(
    source: Source, encoding: Encoding, phases: Phases
) -> tuple[Table, TableEncoder]:
    """Open the table and fit an encoder to it, in one pass over the table."""
    table = open_source(source)
    columns = encoding.columns or None
    encoder = TableEncoder(**{**asdict(encoding), "columns": columns})
    with phases.phase("reading", table.n_rows) as phase:
        encoder.fit(phase.watch(table))
    return table, encoder


def require_enough(n: int, method: Method) -> None:
    """Raise ValueError if there are fewer rows than clusters or landmarks."""
    least = method.k[0] if isinstance(method.k, tuple) else method.k
    if isinstance(least, int) and n < least:
        raise ValueError(f"-k {least} with {n:,} rows; expected at most {n:,}.")
    if isinstance(method.landmarks, int) and n < method.landmarks:
        raise ValueError(
            f"--landmarks {method.landmarks} with {n:,} rows; expected at most {n:,} "
            "or auto."
        )


def require_memory(encoder: TableEncoder, method: Method, allowed: float) -> None:
    """Raise ValueError if a method that holds all rows needs more than `allowed` MB."""
    n, d = encoder.n_rows_, len(encoder.feature_names_)
    needed = 4 * n * d
    alone = method.ensemble is None and not is_layered(method)
    reads_from_disk = method.method == "approx" and alone
    if reads_from_disk or encoder.matrix_ or needed <= allowed * 2**20:
        return
    name = f"--method {method.method}"
    if not method.method_given:
        name += ", the default if no number of clusters is given,"
    if method.ensemble is not None:
        name = f"--ensemble {method.ensemble}"
    elif is_layered(method):
        name = "--layers" if method.layers else "A range for -k"
    raise ValueError(
        f"{name} needs all rows in memory: {n:,} rows x {d:,} features x 4 bytes = "
        f"{megabytes(needed)}, but --memory allows {allowed:g} MB. Allow "
        f"more (--memory {math.ceil(needed / 2**20)}), cluster a random sample "
        "(--sample N), or use --method approx alone, which reads rows from disk."
    )


def storage_notes(encoded: Any, megabytes_allowed: float) -> list[str]:
    """A list with the reason why rows stay on disk; empty if they are in memory."""
    if not encoded.on_disk:
        return []
    n, d = encoded.X.shape
    return [storage_note(n, d, megabytes_allowed)]


def storage_note(n: int, d: int, megabytes_allowed: float) -> str:
    """The reason why n rows of d features stay on disk."""
    return (
        f"rows stay on disk: encoded, they need {megabytes(4.0 * n * d)}, more than "
        f"--memory {megabytes_allowed:g} MB"
    )


def balance_lines(encoder: TableEncoder) -> list[str]:
    """A list with one line: how much each kind of column adds to squared distances.

    The list is empty if all columns are of the same kind.
    """
    facts = encoder.facts()
    if len({fact.role for fact in facts}) < 2:
        return []
    shares = f"{balance(facts)} of squared distances"
    return [f"{shares} (--weight COLUMN=2 changes these shares)"]


def draw_rows(n: int, size: int, seed: int) -> Array:
    """Row numbers of at most `size` random rows, in ascending order."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n, min(n, size), replace=False))


def write_results(
    job: Job,
    model: SavedModel,
    encoded: Any,
    key: str | None,
    *,
    fitted: bool,
    table: Any = None,
) -> None:
    """Write the output files; add sizes, scores and time to `model.about`.

    `key` is the column that identifies rows. `fitted` says whether the encoded rows are
    the training rows. `table` contains the rows before encoding; `--write` needs it.
    """
    estimator, about = model.estimator, model.about
    started = time.perf_counter()
    *assigned, certainty = _write_labels(job, model, encoded, key, fitted=fitted)
    about.setdefault("seconds", time.perf_counter() - started)
    about |= {"command": job.run.command, "rows": encoded.X.shape[0]}
    inside = assigned[0][assigned[0] >= 0]
    sizes = np.bincount(inside, minlength=estimator._n_clusters)
    about["sizes"] = sizes.tolist()
    if encoded.labels is not None:
        about["scores"] = score(encoded.labels, assigned[0])
    if "--model" in job.outputs:
        with job.phases.phase("model"):
            write_model(model, job.outputs["--model"].file)
    if "--write" in job.outputs:
        file = job.outputs["--write"]
        with job.phases.phase("table", about["rows"]) as phase:
            write_table(table, model, encoded, assigned[0], certainty, file, phase)
    if "--report" in job.outputs:
        _write_report(job, model, encoded, None if fitted else assigned, table)


def _write_labels(
    job: Job, model: SavedModel, encoded: Any, key: str | None, *, fitted: bool
) -> tuple[Array, Any, Any]:
    """Write labels, if requested.

    Returns three values: the clusters (n,); the agreement (n,), or None without an
    ensemble; and the certainty (n,) of the labels, or None if no output file needs it.
    """
    estimator, about = model.estimator, model.about
    file = job.outputs.get("--labels")
    if file is None and fitted and "--write" not in job.outputs:
        return estimator.labels_, getattr(estimator, "agreement_", None), None
    keys = encoded.ids
    if keys is None or key is None:
        key, keys = "row", encoded.rows
    layered = bool(about.get("layers"))
    batches = label_batches(
        estimator, encoded.X, key, keys, fitted=fitted, layered=layered
    )
    if file is not None:
        batches = write_batches(batches, file.file, file.path)
    names = ["cluster", "agreement"]
    if "--write" in job.outputs:
        names += ["distance", "margin"]
    parts: dict[str, list[Array]] = {name: [] for name in names}
    with job.phases.phase("labels", encoded.X.shape[0]) as phase:
        for batch in batches:
            for name in parts.keys() & batch.column_names:
                parts[name].append(batch[name].to_numpy())
            phase.advance(batch.num_rows)
    found = {name: np.concatenate(part) for name, part in parts.items() if part}
    certainty = None
    if "--write" in job.outputs:
        certainty = certainty_of_rows(estimator, encoded.X, found)
    return found["cluster"], found.get("agreement"), certainty


def score(labels: Any, clusters: Array) -> dict[str, Any]:
    """NMI and ARI of clusters (n,) and labels (n,), over the rows that have both.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from akkm.cli._work import score
    >>> score(pa.array(["a", "a", "b", None]), np.array([1, 1, 0, 0]))
    {'unlabelled': 1, 'nmi': 1.0, 'ari': 1.0}
    """
    # An array with the class number of every row might not fit in memory. Arrow counts
    # the pairs without such an array.
    pairs = pa.table({"label": labels, "cluster": clusters})
    counts = pairs.group_by(["label", "cluster"]).aggregate([([], "count_all")])
    known = counts.filter(pc.invert(pc.is_null(counts["label"], nan_is_null=True)))
    n = pc.sum(known["count_all"]).as_py() or 0
    scores: dict[str, Any] = {"unlabelled": len(labels) - n}
    known = known.filter(pc.greater_equal(known["cluster"], 0))
    n_inside = pc.sum(known["count_all"]).as_py() or 0
    if n_inside < n:
        scores["unclustered"] = n - n_inside
    if n_inside:
        classes = known["label"].combine_chunks().dictionary_encode().indices
        places = classes.to_numpy(), known["cluster"].to_numpy()
        table = sparse.coo_array((known["count_all"].to_numpy(), places))
        scores |= {"nmi": nmi_from_counts(table), "ari": _rand_index(table)}
    return scores


def _rand_index(counts: Any) -> float:
    """The adjusted Rand index of a sparse contingency table, as in scikit-learn."""
    n, both = int(counts.sum()), int((counts.data**2).sum())
    first, second = (int((counts.sum(axis=i) ** 2).sum()) for i in (1, 0))
    a, b, c = both - n, first - both, second - both
    d = n * n - n - a - b - c
    if b == c == 0:
        return 1.0
    return 2.0 * (a * d - b * c) / ((a + b) * (b + d) + (a + c) * (c + d))


def _write_report(
    job: Job,
    model: SavedModel,
    encoded: Any,
    assigned: Sequence[Any] | None,
    table: Any,
) -> None:
    """Write the HTML report.

    `assigned` has the clusters and the agreement of new rows. It is None if the rows
    are the training rows. `table` contains the free text of the rows.
    """
    encoder, estimator, about = model.encoder, model.estimator, model.about
    notes = list(about["notes"])
    rows = None
    if encoded.on_disk:
        clusters = estimator.labels_ if assigned is None else assigned[0]
        rows = sample_rows(np.asarray(clusters), _REPORTED).rows
        encoded = encoded.take(rows)
        rows = rows if len(rows) < len(clusters) else None
    if assigned is not None:
        estimator = copy.copy(estimator)
        estimator.labels_ = assigned[0]
        if assigned[1] is not None:
            estimator.agreement_ = assigned[1]
    labels = encoded.labels
    if labels is not None and pc.all(pc.is_null(labels, nan_is_null=True)).as_py():
        labels = None
    with job.phases.phase("report"), silenced_libraries():
        page = report(
            estimator,
            encoded.X,
            encoder=encoder if model.of_table else None,
            texts=encoder.free_text(table, encoded.rows) if model.of_table else None,
            images=None if model.of_table else encoded.files,
            ids=encoded.rows if encoded.ids is None else encoded.ids,
            labels_true=labels,
            title=about["data"],
            command=about["command"],
            notes=[*(encoder.describe() if model.of_table else ()), *notes],
            doubts=about.get("doubts", ()),
            seconds=about["seconds"],
            new_rows=assigned is not None,
            rows=rows,
        )
        job.outputs["--report"].file.write(page.html.encode())


def print_clusters(
    printer: Printer, facts: Mapping[str, str | Sequence[str]], sizes: Sequence[int]
) -> None:
    """Print facts and the sizes of the clusters."""
    printer.facts(facts)
    if not sizes:
        return
    printer.say()
    counts = np.asarray(sizes)
    total = max(int(counts.sum()), 1)
    shown = np.sort(np.argsort(-counts, kind="stable")[:_SHOWN])
    printer.table(
        ("cluster", "rows", "share"),
        [(str(i), f"{counts[i]:,}", f"{counts[i] / total:.1%}") for i in shown],
    )
    if len(counts) > _SHOWN:
        printer.say(f"... and {len(counts) - _SHOWN} smaller clusters.")


def score_lines(scores: dict[str, Any] | None) -> list[str]:
    """A list with one line of scores; an empty list if there are no labels."""
    if scores is None:
        return []
    known = [f"{n.upper()} {scores[n]:.4f}" for n in ("nmi", "ari") if n in scores]
    if not known:
        return ["no row has a label"]
    left_out = [
        f"{scores[name]:,} rows without a {thing}"
        for name, thing in (("unlabelled", "label"), ("unclustered", "cluster"))
        if scores.get(name)
    ]
    text = ", ".join(known)
    return [f"{text} ({' and '.join(left_out)} left out)" if left_out else text]
