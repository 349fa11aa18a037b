"""What commands have in common: read, write labels, score them, report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from akkm.cli._console import Voice
from akkm.cli._labels import LabelWriter, assign
from akkm.cli._options import Encoding, Method, Source
from akkm.cli._outputs import Outputs
from akkm.cli._progress import Phases

if TYPE_CHECKING:
    from akkm.tables import Table, TableEncoder

Array = NDArray[Any]

# So many clusters' sizes are shown, the largest.
_SHOWN = 30


def describe(data: str) -> str:
    """The data's name, for people."""
    return "standard input" if data == "-" else os.path.basename(data)


def open_source(source: Source, about: Mapping[str, Any] | None = None) -> Table:
    """The table that was named, read as the model's was where nothing is said."""
    from akkm.tables import MISSING, open_table

    about = about or {}
    header = about.get("header") if source.header is None else source.header
    return open_table(
        source.data,
        header=header is not False,
        delimiter=source.delimiter or about.get("delimiter") or ",",
        decimal=source.decimal or about.get("decimal") or ".",
        missing=(*MISSING, *(source.na or about.get("na", ()))),
    )


def encoder_of(encoding: Encoding) -> TableEncoder:
    """The encoder that was asked for."""
    from akkm.tables import TableEncoder

    return TableEncoder(
        columns=list(encoding.columns) or None,
        drop=list(encoding.drop),
        id=encoding.id,
        label=encoding.label,
        text=list(encoding.text),
        scale=encoding.scale,
        missing=encoding.missing,
    )


def require_enough(n: int, method: Method) -> None:
    """Raise ValueError if there are fewer rows than clusters or landmarks."""
    if isinstance(method.k, int) and n < method.k:
        raise ValueError(
            f"-k {method.k} clusters of {n:,} rows; expected at most {n:,}."
        )
    if isinstance(method.landmarks, int) and n < method.landmarks:
        raise ValueError(
            f"--landmarks {method.landmarks} of {n:,} rows; expected at most {n:,}, or "
            "auto."
        )


def write_labels(
    outputs: Outputs,
    path: str | None,
    estimator: Any,
    encoded: Any,
    key: str | None,
    phases: Phases,
    *,
    fitted: bool,
) -> tuple[Array, Array | None]:
    """Clusters of all rows (n,), and agreement of an ensemble; written if wanted."""
    ensemble = hasattr(estimator, "members_")
    if path is None and fitted:
        return estimator.labels_, estimator.agreement_ if ensemble else None
    named = encoded.ids is not None and key is not None
    keys = encoded.ids if named else encoded.rows
    clusters: list[Array] = []
    agreement: list[Array] = []
    start, n = 0, encoded.X.shape[0]
    writer = None
    if path is not None:
        name = str(key) if named else "row"
        writer = LabelWriter(outputs["--labels"], path, name)
    with phases.phase("labels", n) as phase:
        for part in assign(estimator, encoded.X, fitted=fitted):
            stop = start + len(part.clusters)
            clusters.append(part.clusters)
            agreement.append(part.measures.get("agreement", np.empty(0)))
            if writer is not None:
                writer.write(keys[start:stop], part)
            phase.advance(stop - start)
            start = stop
        if writer is not None:
            writer.close()
    whole = np.concatenate(agreement) if ensemble else None
    return np.concatenate(clusters), whole


def score(labels: Any, clusters: Array) -> dict[str, Any]:
    """NMI and ARI against a column of the file, over the rows that have a label.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from akkm.cli._work import score
    >>> score(pa.array(["a", "a", "b", None]), np.array([1, 1, 0, 0]))
    {'nmi': 1.0, 'ari': 1.0, 'unlabelled': 1}
    """
    from akkm.inspect import compare_with_classes

    if not _has_labels(labels):
        return {"unlabelled": len(labels)}
    found = compare_with_classes(labels, clusters)
    return {"nmi": found.nmi, "ari": found.ari, "unlabelled": found.n_missing}


def _has_labels(labels: Any) -> bool:
    """Whether any row has one; NaN is none."""
    if labels is None:
        return False
    return bool(pc.any(pc.invert(pc.is_null(labels, nan_is_null=True))).as_py())


def write_report(
    outputs: Outputs,
    estimator: Any,
    encoder: Any,
    encoded: Any,
    phases: Phases,
    about: dict[str, Any],
    *,
    new_rows: bool = False,
) -> None:
    """The page to look at."""
    from akkm.report import report

    images = getattr(encoded, "files", None)
    of_table = images is None
    with phases.phase("report"):
        page = report(
            estimator,
            encoded.X,
            feature_names=encoder.feature_names_ if of_table else None,
            images=images,
            ids=encoded.rows if encoded.ids is None else encoded.ids,
            labels_true=encoded.labels if _has_labels(encoded.labels) else None,
            title=about["data"],
            command=about["command"],
            notes=[*(encoder.describe() if of_table else ()), *about["notes"]],
            seconds=about["seconds"],
            # Of sparse rows, most columns are zeros that nobody wrote.
            original=encoder.original if of_table and encoder.matrix_ is None else None,
            new_rows=new_rows,
        )
        outputs["--report"].write(page.html.encode())


def say_sizes(voice: Voice, sizes: Sequence[int]) -> None:
    """A table of the clusters."""
    counts = np.asarray(sizes)
    total = max(int(counts.sum()), 1)
    shown = np.sort(np.argsort(-counts, kind="stable")[:_SHOWN])
    voice.table(
        ("cluster", "rows", "share"),
        [(str(i), f"{counts[i]:,}", f"{counts[i] / total:.1%}") for i in shown],
    )
    if len(counts) > _SHOWN:
        voice.say(f"... and {len(counts) - _SHOWN} smaller clusters.")


def listed(name: str, lines: Sequence[str]) -> list[tuple[str, str]]:
    """Lines under one name."""
    return [("" if i else name, line) for i, line in enumerate(lines)]


def told(scores: dict[str, Any]) -> str:
    """Scores in words."""
    if "nmi" not in scores:
        return "no row has a label"
    text = f"NMI {scores['nmi']:.4f}, ARI {scores['ari']:.4f}"
    if scores["unlabelled"]:
        text += f" ({scores['unlabelled']:,} rows without a label left out)"
    return text
