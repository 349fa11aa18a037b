"""Reports about rows in files, on workers and in samples; reports about texts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import akkm
from akkm import ApproxKernelKMeans, EnsembleKernelKMeans
from akkm.inspect import Inspection
from akkm.report import report

NOTE = "this page describes a random sample of 200 of 840 rows"


@pytest.fixture
def few(monkeypatch):
    """Limit samples from files and workers to 200 rows."""
    monkeypatch.setattr("akkm.inspect._fitted._READ", 200)


def stored(kind, X, tmp_path, request):
    """The rows X in a file, or as a Dask frame with or without worker processes."""
    if kind == "file":
        np.save(tmp_path / "x.npy", X)
        return akkm.open_rows(tmp_path / "x.npy")
    dd = pytest.importorskip("dask.dataframe")
    if kind == "workers":
        request.getfixturevalue("client")
    frame = pd.DataFrame(X, columns=list("abcd"))
    return dd.from_pandas(frame, npartitions=3)


class TestStoredRows:
    @pytest.mark.parametrize(
        ("kind", "Estimator"),
        [
            ("file", EnsembleKernelKMeans),
            ("dask", ApproxKernelKMeans),
            ("dask", EnsembleKernelKMeans),
            ("workers", ApproxKernelKMeans),
        ],
    )
    def test_the_page_describes_a_sample_and_says_so(
        self, kind, Estimator, blobs, few, tmp_path, request
    ):
        rows = stored(kind, blobs[0], tmp_path, request)
        model = Estimator(3, random_state=0).fit(rows)
        page = report(model, rows, labels_true=blobs[1], ids=np.arange(840) + 5000)
        assert NOTE in page.html
        assert (
            "everything else is estimated from a random sample of 200 rows" in page.html
        )
        assert "840 rows in 3 clusters" in page.html
        assert "new rows" not in page.html.lower()

    def test_sizes_count_all_rows_not_only_the_sample(self, blobs, few, tmp_path):
        rows = stored("file", blobs[0], tmp_path, None)
        model = ApproxKernelKMeans(3, random_state=0).fit(rows)
        facts = Inspection(model, rows)
        assert facts.sizes.tolist() == np.bincount(model.labels_).tolist()
        assert facts.n_rows == 840
        assert facts.X.shape == (200, 4)
        numbers, n = facts.sampled
        assert n == 840
        np.testing.assert_array_equal(facts.X, blobs[0][numbers])
        np.testing.assert_array_equal(facts.labels, model.labels_[numbers])
        # The sample has many rows of the smallest cluster, which has 40 of 840 rows.
        assert np.bincount(facts.labels).min() >= 20

    def test_sampled_rows_have_their_own_numbers_or_ids(self, blobs, few, tmp_path):
        rows = stored("file", blobs[0], tmp_path, None)
        model = ApproxKernelKMeans(3, random_state=0).fit(rows)
        numbers = Inspection(model, rows).sampled.rows
        page = report(model, rows).html
        assert f"row {numbers[-1]}" in page
        ids = [f"id-{i}" for i in range(840)]
        assert f"id-{numbers[-1]}" in report(model, rows, ids=ids).html
        with pytest.raises(ValueError, match="ids has 7 entries, but X has 840 rows"):
            report(model, rows, ids=ids[:7])

    def test_new_rows_are_predicted(self, blobs, few, tmp_path):
        model = ApproxKernelKMeans(3, random_state=0).fit(blobs[0])
        rows = stored("file", blobs[0] + 0.01, tmp_path, None)
        facts = Inspection(model, rows, new_rows=True)
        np.testing.assert_array_equal(facts.labels, model.predict(facts.X))
        assert facts.n_rows == 200
        page = report(model, rows, new_rows=True).html
        assert NOTE in page
        assert "200 new rows" in page

    def test_few_rows_are_all_described(self, blobs, tmp_path):
        rows = stored("file", blobs[0], tmp_path, None)
        model = ApproxKernelKMeans(3, random_state=0).fit(rows)
        assert Inspection(model, rows).sampled is None
        assert "random sample" not in report(model, rows).html

    def test_another_number_of_rows_is_refused(self, blobs, few, tmp_path):
        model = ApproxKernelKMeans(3, random_state=0).fit(blobs[0][:500])
        rows = stored("file", blobs[0], tmp_path, None)
        with pytest.raises(ValueError, match=r"X has 840 rows, but .* fitted to 500"):
            report(model, rows)


class TestGivenSample:
    rows = np.arange(0, 840, 4)

    def test_a_page_about_a_sample_of_an_array_says_so(self, model, blobs):
        page = report(model, blobs[0][self.rows], rows=self.rows).html
        assert "a random sample of 210 of 840 rows" in page
        assert "row 836" in page

    @pytest.mark.parametrize(
        "rows", [np.arange(800, 1010), np.zeros((2, 105), int), np.ones(210)]
    )
    def test_invalid_row_numbers_are_refused(self, rows, model, blobs):
        with pytest.raises(ValueError, match="rows has"):
            report(model, blobs[0][self.rows], rows=rows)


TEXTS = ["a red apple", "green apples", "the car stops", "a fast car", "red cars"] * 9


class TestTexts:
    @pytest.mark.parametrize(
        "container", [list, np.array, pd.Series, pl.Series, tuple], ids=str
    )
    def test_texts_are_shown_as_they_are(self, container):
        texts = container(TEXTS)
        pipe = make_pipeline(
            TfidfVectorizer(), ApproxKernelKMeans(3, kernel="cosine", random_state=0)
        ).fit(texts)
        page = report(pipe, texts).html
        assert "the car stops" in page
        assert "high car" in page
        shown = Inspection(pipe, texts).row_values()
        assert shown.names == ("text",)
        assert shown.of(np.array([2])) == [["the car stops"]]

    def test_words_are_not_taken_for_column_numbers(self):
        texts = ["x2 2020", "x2 2020 car", "car red", "red"] * 9
        pipe = make_pipeline(
            TfidfVectorizer(), ApproxKernelKMeans(2, kernel="cosine", random_state=0)
        ).fit(texts)
        names = Inspection(pipe, texts).columns.names
        assert set(names) == {"x2", '"2020"', "car", "red"}

    def test_the_name_of_a_series_is_shown(self):
        texts = pd.Series(TEXTS, name="review", index=np.arange(45) + 100)
        pipe = make_pipeline(
            TfidfVectorizer(), ApproxKernelKMeans(3, kernel="cosine", random_state=0)
        ).fit(texts)
        assert Inspection(pipe, texts).row_values().names == ("review",)
