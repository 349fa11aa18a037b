"""What commands have in common: read, write labels, score them, report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from akkm.cli._console import Voice
from akkm.cli._labels import LabelWriter, assign
from akkm.cli._options import Encoding, Source
from akkm.cli._outputs import Outputs
from akkm.cli._progress import Phases

if TYPE_CHECKING:
    from akkm.encoding import TableEncoder
    from akkm.tables import Table

Array = NDArray[Any]

# So many clusters' sizes are shown, the largest.
_SHOWN = 30


def describe(data: str) -> str:
    """The data's name, for people."""
    return "standard input" if data == "-" else os.path.basename(data)


def open_source(source: Source, about: Mapping[str, Any] | None = None) -> Table:
    """The table that was named, read as the model's was where nothing is said."""
    from akkm.tables import open_table

    about = about or {}
    header = about.get("header") if source.header is None else source.header
    delimiter = source.delimiter or about.get("delimiter") or ","
    return open_table(source.data, header=header is not False, delimiter=delimiter)


def encoder_of(encoding: Encoding) -> TableEncoder:
    """The encoder that was asked for."""
    from akkm.encoding import TableEncoder

    return TableEncoder(
        columns=list(encoding.columns) or None,
        drop=list(encoding.drop),
        id=encoding.id,
        label=encoding.label,
        text=list(encoding.text),
        scale=encoding.scale,
        missing=encoding.missing,
    )


def require_enough(n: int, k: int) -> None:
    """Raise ValueError if there are fewer rows than clusters."""
    if n < k:
        raise ValueError(f"-k {k} clusters of {n:,} rows; expected at most {n:,}.")


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
    from akkm.metrics import adjusted_rand_index, nmi

    codes = labels.dictionary_encode().indices.fill_null(-1).to_numpy()
    there = codes >= 0
    if not there.any():
        return {"unlabelled": len(codes)}
    codes, clusters = codes[there], clusters[there]
    return {
        "nmi": nmi(codes, clusters),
        "ari": adjusted_rand_index(codes, clusters),
        "unlabelled": int((~there).sum()),
    }


def values(column: Any) -> Array | None:
    """A column's values as Python has them, equal ones being one object; (n,)."""
    if column is None or column.null_count == len(column):
        return None
    encoded = column.dictionary_encode()
    distinct = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    return distinct[encoded.indices.fill_null(len(distinct) - 1).to_numpy()]


def write_report(
    outputs: Outputs,
    estimator: Any,
    encoder: Any,
    encoded: Any,
    phases: Phases,
    about: dict[str, Any],
) -> None:
    """The page to look at."""
    from akkm.report import report

    images = getattr(encoded, "files", None)
    with phases.phase("report"):
        page = report(
            estimator,
            encoded.X,
            feature_names=encoder.feature_names_ if images is None else None,
            images=images,
            ids=encoded.rows if encoded.ids is None else encoded.ids,
            labels_true=values(encoded.labels),
            title=about["data"],
            command=about["command"],
            notes=about["notes"],
            seconds=about["seconds"],
        )
        outputs["--report"].write(page.html.encode())


def say_sizes(voice: Voice, clusters: Array, n_clusters: int) -> None:
    """A table of the clusters."""
    counts = np.bincount(clusters, minlength=n_clusters)
    shown = np.sort(np.argsort(-counts, kind="stable")[:_SHOWN])
    voice.table(
        ("cluster", "rows", "share"),
        [(str(i), f"{counts[i]:,}", f"{counts[i] / len(clusters):.1%}") for i in shown],
    )
    if len(counts) > _SHOWN:
        voice.say(f"... and {len(counts) - _SHOWN} smaller clusters.")


def told(scores: dict[str, Any]) -> str:
    """Scores in words."""
    if "nmi" not in scores:
        return "no row has a label"
    text = f"NMI {scores['nmi']:.4f}, ARI {scores['ari']:.4f}"
    if scores["unlabelled"]:
        text += f" ({scores['unlabelled']:,} rows without a label left out)"
    return text
