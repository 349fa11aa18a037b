"""`akkm.report`: describe a fitted model on a page.

`import akkm` imports this module, so modules that need NumPy are imported by `report`.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akkm.atomic_file import AtomicFile

if TYPE_CHECKING:
    from akkm.typing import Array


@dataclass(frozen=True)
class Report:
    """A page about a clustering: one HTML file that needs no other file.

    Parameters
    ----------
    html : str
        The page.

    Examples
    --------
    >>> from akkm.report import Report
    >>> Report("<p>Hello").save("hello.html")  # doctest: +SKIP
    """

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own."""
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{page}" title="Report" sandbox="allow-scripts" '
            'width="100%" height="800" frameborder="0"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page atomically: if writing fails, an existing file is unchanged.

        Parameters
        ----------
        path : str or path
            The file to write; an existing file is replaced.

        Raises
        ------
        FileNotFoundError
            If the folder does not exist.
        """
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"Can't write {path}: there is no folder {path.parent}; create it, or "
                "choose another."
            )
        try:
            with AtomicFile(path) as file:
                file.write(self.html.encode())
        except OSError as error:
            if error.filename is not None:
                error.filename = str(path)  # instead of the temporary file's name
            raise


def report(
    model: Any,
    X: Any,
    *,
    feature_names: Sequence[str] | None = None,
    ids: Any = None,
    labels_true: Any = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    doubts: Sequence[str] = (),
    seconds: float | None = None,
    original: Callable[[Any], list[dict[str, Any]]] | None = None,
    encoder: Any = None,
    new_rows: bool = False,
    texts: Mapping[str, Any] | None = None,
    rows: Array | None = None,
    images: Sequence[Any] | None = None,
) -> Report:
    """Describe a clustering on one HTML page, for decision makers and for analysts.

    The page begins with a card per cluster: its name, its share of the rows, the
    columns in which it differs from all rows, typical rows, and how many rows clearly
    belong to it. Values are in original units. Two clusters can be compared side by
    side. A switch adds the analyst's sections: sizes, standardised means, certainty,
    landmarks and convergence. Checks and technical details come last.

    The page opens in any browser, offline, and in notebooks. Sections that do not apply
    to the model are left out. The report takes a few seconds and little memory for any
    number of rows. It compares only a sample of the rows with the centers: as many rows
    as it can compare in about a second, but at least 2,000. The map shows at most 2,000
    rows.

    Parameters
    ----------
    model : fitted estimator of akkm, or scikit-learn Pipeline that ends in one
        The model to describe. It is not changed.
    X : array, data frame or CSR matrix of shape (n, d)
        The rows that the model was fitted to; for a pipeline, its untransformed input.
        The page shows values of single rows as in X, and compares clusters by the
        transformed columns. If X is a Dask collection or comes from `akkm.open_rows`, a
        random sample of 20,000 rows is read, and the page says so.
    feature_names : sequence of d str, optional
        Names of the columns. Default: those of the data frame that was fitted.
    ids : sequence of n values, optional
        Names of the rows. Default: their numbers.
    labels_true : sequence of n values, optional
        Known classes to compare clusters with. Rows whose class is None or NaN are left
        out.
    title : str, optional
        Title of the page. Default: the number of rows and clusters.
    command : str, optional
        The command that repeats the clustering.
    notes : sequence of str, optional
        Further notes for readers, such as how the data were prepared.
    doubts : sequence of str, optional
        Warnings that readers should see first.
    seconds : float, optional
        How long the clustering took.
    original : callable, optional
        Function that takes rows of X, of shape (b, d), and returns one dict per row.
        The dict maps column names to the values before encoding. Default: values are
        shown as in X.
    encoder : akkm.tables.TableEncoder, optional
        The encoder that made X. It replaces `feature_names` and `original`, and gives
        the units of money, percentages and durations.
    new_rows : bool, default=False
        Whether X contains other rows than those of the fit. If so, their labels are
        predicted. Labels are also predicted if the model was read from a file, because
        such a model has no labels.
    texts : dict, optional
        Column name -> n texts (an array or Arrow array), such as the result of
        `TableEncoder.free_text`. These columns were not clustered. The page lists their
        characteristic words in each cluster, and quotes typical texts.
    rows : int array of shape (s,), optional
        If X is a sample: the numbers of its rows in the complete data. The page then
        says that it describes a sample. `ids`, `labels_true` and `images` must then
        have one entry per row of the sample.
    images : sequence of n images, optional
        The images that the rows describe: file names or arrays, as in
        `akkm.images.read_image`. The page then shows the most typical and the least
        certain images of each cluster.

    Returns
    -------
    Report
        The page.

    Raises
    ------
    ValueError
        If the length of X, `ids`, `labels_true`, `feature_names` or `images` is wrong.
    ImportError
        If Jinja2 is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.report import report
    >>> X = np.random.default_rng(0).normal(size=(300, 4)) + 4 * np.eye(4)[:3].repeat(
    ...     100, axis=0
    ... )
    >>> model = ApproxKernelKMeans(3, random_state=0).fit(X)
    >>> page = report(model, X, title="Three groups")
    >>> "Three groups" in page.html
    True
    >>> page.save("groups.html")  # doctest: +SKIP
    """
    from akkm.inspect import Inspection, compare_with_classes
    from akkm.report._page import page
    from akkm.report._shown import Shown

    facts = Inspection(
        model,
        X,
        feature_names=feature_names,
        original=original,
        encoder=encoder,
        new_rows=new_rows,
        texts=texts,
        rows=rows,
    )
    n = facts.X.shape[0]
    if facts.sampled is not None and rows is None:  # X is a sample of stored rows
        n = facts.sampled.n
    given = {"ids": ids, "labels_true": labels_true, "images": images}
    for name, values in {**given, **(texts or {})}.items():
        if values is not None and len(values) != n:
            raise ValueError(
                f"{name} has {len(values)} entries, but X has {n} rows; give one entry "
                "per row."
            )
        if values is not None and len(values) != facts.X.shape[0]:
            assert facts.sampled is not None
            given[name] = _take(values, facts.sampled.rows)
    comparison = None
    if labels_true is not None:
        comparison = compare_with_classes(given["labels_true"], facts.labels)
    names = _names_of_rows(given["ids"], facts.sampled)
    shown = Shown(facts, names, comparison, given["images"])
    notes, doubts = (
        [texts] if isinstance(texts, str) else texts for texts in (notes, doubts)
    )
    return Report(
        page(
            shown,
            title=title,
            command=command,
            notes=notes,
            doubts=doubts,
            seconds=seconds,
        )
    )


def _take(values: Any, rows: Array) -> Any:
    """Some entries (s,) of an array, a Series, an Arrow column or another sequence."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "take"):
        return values.take(rows)
    return [values[int(row)] for row in rows]


def _names_of_rows(ids: Any, sampled: Any) -> Callable[[Array], list[str]]:
    """A function that maps positions in X (b,) to ids, or to names like "row 7"."""
    if ids is None:
        if sampled is not None:
            return lambda rows: [f"row {row:,}" for row in sampled.rows[rows]]
        return lambda rows: [f"row {row:,}" for row in rows]
    if hasattr(ids, "iloc"):  # a Series is indexed by label, not position
        ids = ids.to_numpy()

    def names(rows: Array) -> list[str]:
        values = (ids[int(row)] for row in rows)
        return [str(v.as_py() if hasattr(v, "as_py") else v) for v in values]

    return names
