"""The page names rows, shows their values, escapes text, and can be saved."""

import os
import re
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from akkm import ApproxKernelKMeans
from akkm.report import Report, _templates, report
from report.page_parts import HOSTILE, Outline, picture_data, text_of


class TestRows:
    def test_ids_and_classes_may_be_columns_of_any_library(self, model, blobs):
        pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
        X, y = blobs
        names = np.array(["a", "b", None], dtype=object)[y]
        ids = [f"id{i}" for i in range(840)]

        def chunked(values):
            return arrow.chunked_array([values[:100], values[100:]])

        pages = [
            report(model, X, ids=convert(ids), labels_true=convert(names.tolist()))
            for convert in (list, pandas.Series, arrow.array, chunked)
        ]
        assert len({page.html for page in pages}) == 1
        assert picture_data(pages[0])["map"]["name"][:2] == ["id0", "id1"]
        assert "40 rows have no class" in pages[0].html

    @pytest.mark.parametrize("name", ["ids", "images"])
    def test_ids_and_images_need_one_entry_per_row(self, name, model, blobs):
        with pytest.raises(ValueError, match=f"{name} has 1 entries, but X has 840"):
            report(model, blobs[0], **{name: ["a"]})

    def test_values_are_shown_before_encoding(self, blobs):
        X, y = blobs
        towns = np.array(["Ulm", "Bonn", "Köln"])
        names = ["year", "4", *(f"town={town}" for town in towns)]
        encoded = np.hstack([X[:, :2], np.eye(3)[y]])

        def original(rows):
            return [
                {"year": 500 * row[0] + 2000, "town": towns[row[2:].argmax()]}
                for row in rows
            ]

        fitted = ApproxKernelKMeans(3, random_state=0).fit(encoded)
        page = report(fitted, encoded, feature_names=names, original=original)
        points = picture_data(page)["map"]
        assert sorted(points["features"]) == ["town", "year"]
        for i in (0, 500, 839):
            shown = dict(zip(points["features"], points["values"][i], strict=True))
            assert shown["town"] == towns[y[i]]
            assert shown["year"] == pytest.approx(500 * X[i, 0] + 2000, rel=1e-5)
        text = text_of(page)
        assert "with their values before encoding" in text
        table = re.search(r'<table class="typical">.*?</table>', text)[0]
        assert "<td>Ulm</td>" in table
        assert "town=Ulm" in text  # the heat map shows encoded columns

    def test_values_are_shown_as_clustered(self, blobs):
        fitted = ApproxKernelKMeans(3, random_state=0).fit(blobs[0])
        text = text_of(report(fitted, blobs[0], feature_names=list("0123")))
        assert "values as they were clustered (after any scaling)" in text
        assert re.search("(low|high) column 3", text)

    def test_a_pipeline_shows_rows_before_its_steps(self, blobs):
        X, y = blobs
        X = X * [1, 1, 1, 1000]
        pipe = make_pipeline(StandardScaler(), ApproxKernelKMeans(3, random_state=0))
        points = picture_data(report(pipe.fit(X), X, labels_true=y))["map"]
        columns = [int(name.removeprefix("column ")) for name in points["features"]]
        expected = [pytest.approx(value, rel=1e-4) for value in X[7, columns]]
        assert points["values"][7] == expected


class TestPage:
    def test_hostile_names_and_notes_are_escaped(self, model, blobs):
        X, y = blobs
        page = report(
            model,
            X,
            feature_names=[HOSTILE] * 4,
            ids=[HOSTILE] * 840,
            labels_true=[HOSTILE + str(label) for label in y],
            title=HOSTILE,
            command=HOSTILE,
            notes=[HOSTILE],
        )
        outline = Outline(page.html)
        assert not outline.open
        kinds = [kind for kind, _ in outline.tags]
        assert kinds.count("script") == 2
        assert "img" not in kinds
        for _, attributes in outline.tags:
            assert None not in attributes.values()  # every attribute has a value
            assert not any(name.startswith("on") for name in attributes)

    def test_hostile_original_values_are_escaped(self, model, blobs):
        page = report(
            model, blobs[0], original=lambda rows: [{HOSTILE: HOSTILE} for _ in rows]
        )
        outline = Outline(page.html)
        assert not outline.open
        assert [kind for kind, _ in outline.tags].count("script") == 2

    def test_the_policy_allows_only_the_page_style_and_script(self, model, blobs):
        html = report(model, blobs[0]).html
        policy = Outline(html).tags[3][1]["content"]
        assert policy.startswith(
            "default-src 'none'; img-src data:; style-src 'sha256-"
        )
        style = re.search("<style>(.*?)</style>", html, re.DOTALL)[1]
        script = re.search("<script>(.*?)</script>", html, re.DOTALL)[1]
        for text in (style, script):
            assert f"'{_templates.digest(text)}'" in policy

    def test_notes_may_be_a_single_string(self, model, blobs):
        assert "<li>scaled</li>" in report(model, blobs[0], notes="scaled").html

    def test_without_jinja_the_error_names_the_extra(self, model, blobs, monkeypatch):
        _templates.environment.cache_clear()
        monkeypatch.setitem(sys.modules, "jinja2", None)
        with pytest.raises(ImportError, match=r"pip install '\.\[report\]'"):
            report(model, blobs[0])


def test_a_notebook_shows_the_page_in_a_frame():
    page = Report('<p class="a">R & D</p>')
    assert page._repr_html_().startswith(
        '<iframe srcdoc="&lt;p class=&quot;a&quot;&gt;R &amp; D&lt;/p&gt;"'
    )


class TestSave:
    def test_a_failed_write_leaves_the_file_unchanged(self, tmp_path, monkeypatch):
        path = tmp_path / "r.html"
        Report("one").save(path)
        assert path.read_text() == "one"

        def full(*args):
            raise OSError("No space left on device")

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            Report("two").save(path)
        assert path.read_text() == "one"
        assert os.listdir(tmp_path) == ["r.html"]

    def test_a_missing_folder_is_named(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no folder \S*gone; create it"):
            Report("one").save(tmp_path / "gone" / "r.html")

    def test_errors_name_the_file_instead_of_its_temporary_file(self, tmp_path):
        (tmp_path / "r.html").mkdir()
        with pytest.raises(OSError, match=r"r\.html'") as caught:
            Report("one").save(tmp_path / "r.html")
        assert str(os.getpid()) not in str(caught.value)
        assert os.listdir(tmp_path) == ["r.html"]
