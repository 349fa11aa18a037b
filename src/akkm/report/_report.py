"""akkm.report: from a fitted model to a page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from akkm.atomic_file import AtomicFile
from akkm.inspect._facts import gather
from akkm.inspect._pipeline import unwrap
from akkm.report._page import About, page


@dataclass(frozen=True)
class Report:
    """A page about a clustering: one HTML file that needs nothing else.

    Attributes
    ----------
    html : str
        The page.

    Examples
    --------
    >>> from akkm.report import Report
    >>> Report("<p>Hello").save("hello.html")  # doctest: +SKIP
    """

    html: str = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page. Whatever happens, there is all of it or nothing.

        Parameters
        ----------
        path : str or path
            A file that exists is replaced.
        """
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"{path} can't be written: there is no folder {path.parent}; make it "
                "first, or choose another."
            )
        try:
            with AtomicFile(path) as file:
                file.write(self.html.encode())
        except OSError as error:
            if error.filename is not None:
                error.filename = str(path)  # the name that the user knows
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
    seconds: float | None = None,
    original: Callable[[Any], list[dict[str, Any]]] | None = None,
    new_rows: bool = False,
    images: Sequence[Any] | None = None,
) -> Report:
    """A page about a clustering: what was done, a map, sizes, features, and doubts.

    It is one HTML file that opens in any browser, offline. Parts that a model has
    nothing to say about are left out. It takes a few seconds and little memory however
    many rows there are: distances of at most some 100,000 rows are looked at if more
    would take long, and 2,000 rows are drawn.

    Parameters
    ----------
    model : fitted estimator of akkm, or a scikit-learn Pipeline that ends in one
    X : array, data frame or CSR matrix of shape (n, d)
        The rows that it was fitted to. Of a pipeline, as it takes them; single rows are
        then shown as they are here, and clusters are compared after its steps.
    feature_names : sequence of d str, optional
        Names of the columns; by default those of the data frame that was fitted.
    ids : sequence of n values, optional
        What the rows are called; by default their numbers.
    labels_true : sequence of n values, optional
        Known classes to compare clusters with. Rows of class None or NaN are left out.
    title : str, optional
    command : str, optional
        The command that does all of this again.
    notes : sequence of str, optional
        What else a reader should know, such as how the data were prepared.
    seconds : float, optional
        How long the clustering took.
    original : callable, optional
        From a few rows of X (b, d) to a dict name -> value for each: what single rows
        are shown as, where X was encoded. By default values are shown as in X.
    new_rows : bool, default=False
        Whether X are other rows than those of the fit. They are put into its clusters.
        A model that was read from a file does not know its rows, so all are new to it.
    images : sequence of n images, optional
        What the rows describe: file names or arrays, as in `akkm.images.read_image`.
        The page then has a contact sheet: the most typical images of each cluster, and
        the least certain.

    Returns
    -------
    Report

    Examples
    --------
    >>> import numpy as np
    >>> import akkm
    >>> X = np.random.default_rng(0).normal(size=(300, 4)) + 4 * np.eye(4)[:3].repeat(
    ...     100, axis=0
    ... )
    >>> model = akkm.ApproxKernelKMeans(3, random_state=0).fit(X)
    >>> from akkm.report import report
    >>> page = report(model, X, title="Three groups")
    >>> "Three groups" in page.html
    True
    >>> page.save("groups.html")  # doctest: +SKIP
    """
    records = None
    if isinstance(model, Pipeline):
        taken = unwrap(model, X, feature_names)
        model, X, feature_names = taken.model, taken.X, taken.feature_names
        records = None if original is not None else taken.records
    facts = gather(
        model,
        X,
        feature_names=feature_names,
        ids=ids,
        labels_true=labels_true,
        records=records,
        original=original,
        new_rows=new_rows,
    )
    if isinstance(notes, str):
        notes = [notes]
    if images is not None and len(images) != facts.n:
        raise ValueError(
            f"images has {len(images)} entries, but X has {facts.n} rows; give one "
            "each."
        )
    return Report(page(facts, About(title, command, tuple(notes), seconds, images)))
