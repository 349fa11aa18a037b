"""The report: its numbers, its escaping, and the page as a browser shows it."""

import json
import os
import re
import shutil
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from akkm import (
    ApproxKernelKMeans,
    ConsensusKernelKMeans,
    EnsembleKernelKMeans,
    KernelKMeans,
    LeadersKernelKMeans,
    NystroemSpectralClustering,
    SparseKernelKMeans,
    TwoStepKernelKMeans,
)
from akkm.inspect._checks import DOUBT, LOOK, checks
from akkm.inspect._facts import gather
from akkm.inspect._nearness import typical
from akkm.inspect._sample import draw
from akkm.inspect._scores import scores
from akkm.report import Report, report

ALWAYS = ["summary", "map", "sizes", "features", "certainty", "convergence"]
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror=alert(1)>\"'&"


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([500, 300, 40], 4, random_state=3, cluster_std=1.5)


@pytest.fixture(scope="module")
def model(blobs):
    return ApproxKernelKMeans(3, random_state=0).fit(blobs[0])


@pytest.fixture(scope="module")
def wine():
    X = load_wine().data
    return (X - X.mean(axis=0)) / X.std(axis=0)


def sections(page):
    return re.findall(r'<section id="(\w+)"', page.html)


def inlined(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>',
                      page.html)  # fmt: skip
    return json.loads(found[1])


class Outline(HTMLParser):
    """Headings, tags that were opened, and whether each was closed in order."""

    def __init__(self, html):
        super().__init__()
        self.levels, self.open, self.tags = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)
        if re.fullmatch(r"h\d", tag):
            self.levels.append(int(tag[1]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


class TestFacts:
    @pytest.mark.parametrize(
        ("estimator", "more"),
        [
            (ApproxKernelKMeans, ["landmarks"]),
            (EnsembleKernelKMeans, ["landmarks"]),
            (KernelKMeans, []),
            (LeadersKernelKMeans, ["landmarks"]),
            (NystroemSpectralClustering, ["landmarks"]),
            (SparseKernelKMeans, ["landmarks", "counted"]),
            (ConsensusKernelKMeans, ["landmarks"]),
            (TwoStepKernelKMeans, ["landmarks"]),
        ],
    )
    def test_every_estimator_has_its_sections(self, estimator, more, blobs):
        X, y = blobs
        fitted = estimator(3, random_state=0).fit(X)
        assert sorted(sections(report(fitted, X))) == sorted(ALWAYS + more)
        page = report(fitted, X, labels_true=y)
        assert sorted(sections(page)) == sorted([*ALWAYS, *more, "scores"])
        outline = Outline(page.html)
        assert outline.levels[0] == 1
        assert max(np.diff(outline.levels)) <= 1
        assert not outline.open
        points = inlined(page)["map"]
        assert len(points["x"]) == len(points["distance"]) == 840

    def test_distances_and_certainty_against_the_definition(self, blobs):
        X, _ = blobs
        fitted = KernelKMeans(3, kernel="linear", random_state=0).fit(X)
        labels = fitted.labels_
        centers = np.array([X[labels == k].mean(0) for k in range(3)])
        d = pairwise_distances(X, centers)
        order = np.argsort(d, axis=1)
        near = gather(fitted, X).near
        np.testing.assert_allclose(near.own, d[np.arange(840), labels], atol=1e-6)
        np.testing.assert_array_equal(near.next, order[:, 1])
        own, other = centers[order[:, 0]], centers[order[:, 1]]
        # The place along the line from the border (0) to the center (1).
        middle, half = (own + other) / 2, (own - other) / 2
        place = ((X - middle) * half).sum(1) / (half**2).sum(1)
        np.testing.assert_allclose(near.certainty, place, atol=1e-6)
        nearest = typical(near, labels, 0, 3)
        inside = np.flatnonzero(labels == 0)
        expected = inside[np.argsort(d[inside, 0])[:3]]
        np.testing.assert_array_equal(near.sample.rows[nearest], expected)

    def test_sparse_rows_give_the_same_page(self, digits):
        X, _ = digits
        fitted = ApproxKernelKMeans(10, random_state=0).fit(X)
        dense = inlined(report(fitted, X))
        thin = inlined(report(fitted, sparse.csr_array(X)))
        np.testing.assert_allclose(
            thin["map"]["distance"], dense["map"]["distance"], atol=2e-4
        )
        assert thin["map"]["values"] == dense["map"]["values"]
        assert thin["certainty"] == dense["certainty"]

    def test_same_model_same_page(self, model, blobs):
        assert report(model, blobs[0]).html == report(model, blobs[0]).html

    @pytest.mark.parametrize("landmarks", ["uniform", [5, 600, 820, 830]])
    def test_precomputed_kernels(self, landmarks, model, blobs):
        K = model.kernel_(blobs[0])
        if landmarks != "uniform":
            K = K[:, landmarks]  # a strip
        fitted = ApproxKernelKMeans(
            3, kernel="precomputed", landmarks=landmarks, random_state=0
        ).fit(K)
        assert "features" not in sections(report(fitted, K))

    def test_ids_and_classes_of_any_kind(self, model, blobs):
        pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
        X, y = blobs
        names = np.array(["a", "b", None], dtype=object)[y]
        ids = [f"id{i}" for i in range(840)]

        def chunked(values):
            return arrow.chunked_array([values[:100], values[100:]])

        pages = [
            report(model, X, ids=as_ids(ids), labels_true=as_labels(names.tolist()))
            for as_ids, as_labels in (
                (list, list),
                (pandas.Series, pandas.Series),
                (arrow.array, arrow.array),
                (chunked, chunked),
            )
        ]
        assert len({page.html for page in pages}) == 1
        assert inlined(pages[0])["map"]["name"][:2] == ["id0", "id1"]
        assert "40 rows have no class" in pages[0].html

    def test_not_a_number_is_no_class(self):
        arrow = pytest.importorskip("pyarrow")
        values, labels = [1.0, float("nan"), 2.0, None], np.array([0, 0, 1, 1])
        for given in (
            values,
            arrow.array(values),
            arrow.array(values).dictionary_encode(),
            arrow.array(["1.0", None, "2.0", None]).dictionary_encode(),
        ):
            found = scores(given, labels)
            assert (found.classes, found.missing, found.ari) == (("1.0", "2.0"), 2, 1.0)

    def test_wrong_lengths_are_said(self, model, blobs):
        X, _ = blobs
        with pytest.raises(ValueError, match="ids has 1 entries, but X has 840 rows"):
            report(model, X, ids=["a"])
        with pytest.raises(ValueError, match="labels_true has 1 entries"):
            report(model, X, labels_true=["a"])
        with pytest.raises(ValueError, match="no label that is not missing"):
            report(model, X, labels_true=[None] * 840)
        with pytest.raises(ValueError, match="fitted to 840; give the rows"):
            report(model, X[:5])
        K = model.kernel_(X)
        given = ApproxKernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
        with pytest.raises(ValueError, match="through a precomputed kernel"):
            report(given, K[:5], new_rows=True)

    def test_samples_stand_for_all_rows(self, rng):
        labels = np.repeat([0, 1, 3], [9000, 990, 10])
        sample = draw(labels, most=500, least=20)
        assert len(sample.rows) == 500
        for k, size in ((0, 9000), (1, 990), (3, 10)):
            inside = labels[sample.rows] == k
            assert sample.weights[inside].sum() == pytest.approx(size)
        assert (labels[sample.rows] == 3).sum() == 10


class TestRows:
    """What is shown of single rows, and of rows that were not fitted."""

    def encoded(self, blobs):
        """Blobs as a file might have had them: numbers, and a town one-hot."""
        X, y = blobs
        shift, scale = np.array([2000.0, -5.0, 0.0, 7.5]), np.array([500, 1, 0.1, 9])
        towns = np.array(["Ulm", "Bonn", "Köln"])
        names = ["year", "b", "4", "d", *(f"town={t}" for t in towns)]

        def original(rows):
            assert rows.ndim == 2
            return [
                dict(zip(["year", "b", "4", "d"], row[:4] * scale + shift, strict=True))
                | {"town": towns[row[4:].argmax()]}
                for row in rows
            ]

        return np.hstack([X, np.eye(3)[y]]), names, original

    def test_values_as_in_the_file(self, blobs):
        X, names, original = self.encoded(blobs)
        fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
        page = report(fitted, X, feature_names=names, original=original)
        points = inlined(page)["map"]
        assert sorted(points["features"]) == ["b", "column 4", "d", "town", "year"]
        columns = [name.removeprefix("column ") for name in points["features"]]
        for i in (0, 500, 839):
            expected = original(X[[i]])[0]
            for name, value in zip(columns, points["values"][i], strict=True):
                wanted = expected[name]
                if name != "town":
                    wanted = pytest.approx(wanted, rel=1e-5)
                assert value == wanted
        assert "values as they were before they were encoded" in page.html
        table = re.search(r'<table class="typical">.*?</table>', page.html)[0]
        assert "<td>Ulm</td>" in table
        assert "as they were clustered" in report(fitted, X).html
        unnamed = report(fitted, X, feature_names=[f"{j}" for j in range(7)]).html
        assert re.search("(low|high) column 4", unnamed)
        # The heat map stays as it was clustered.
        assert "town=Ulm" in page.html

    def test_pipelines(self, blobs):
        pandas = pytest.importorskip("pandas")
        X, y = blobs
        X = X * [1, 1, 1, 1000]
        pipe = make_pipeline(StandardScaler(), ApproxKernelKMeans(3, random_state=0))
        page = report(pipe.fit(X), X, labels_true=y)
        points = inlined(page)["map"]
        at = [int(name.removeprefix("column ")) for name in points["features"]]
        assert points["values"][7] == [pytest.approx(v, rel=1e-4) for v in X[7, at]]
        named = report(pipe, X, feature_names=list("abcd"), labels_true=y)
        assert inlined(named)["map"]["features"] == ["abcd"[j] for j in at]

        frame = pandas.DataFrame(X, columns=list("pqrs"))
        frame["town"] = np.array(["Ulm", "Bonn", "Köln"], dtype=object)[y]
        both = make_column_transformer(
            (StandardScaler(), list("pqrs")), (OneHotEncoder(), ["town"])
        )
        pipe = make_pipeline(both, ApproxKernelKMeans(3, random_state=0)).fit(frame)
        page = report(pipe, frame)
        points = inlined(page)["map"]
        assert sorted(points["features"]) == ["p", "q", "r", "s", "town"]
        expected = frame.iloc[7][points["features"]].tolist()
        assert points["values"][7] == [
            v if isinstance(v, str) else pytest.approx(v, rel=1e-4) for v in expected
        ]
        assert "onehotencoder__town_Ulm" in page.html
        assert "new rows" in report(pipe, frame[:50], new_rows=True).html
        with pytest.raises(TypeError, match="expected a fitted estimator of akkm"):
            report(make_pipeline(StandardScaler()).fit(X), X)

    @pytest.mark.parametrize(
        "estimator",
        [ApproxKernelKMeans, EnsembleKernelKMeans, KernelKMeans, LeadersKernelKMeans,
         NystroemSpectralClustering, TwoStepKernelKMeans],
    )  # fmt: skip
    def test_new_rows(self, estimator, blobs):
        X, _ = blobs
        fitted = estimator(3, random_state=0).fit(X)
        new = X[::4] + 0.01
        page = report(fitted, new, new_rows=True)
        assert inlined(page)["map"]["cluster"] == fitted.predict(new).tolist()
        assert "Iterations of the fit" in page.html
        assert "Convergence of the fit" in page.html
        assert "<dt>Iterations</dt>" not in page.html
        assert "Largest cluster" not in page.html
        assert len(fitted.labels_) == 840  # left alone
        # As many rows as those of the fit are new ones all the same.
        page = report(fitted, X[::-1], new_rows=True)
        assert inlined(page)["map"]["cluster"] == fitted.labels_[::-1].tolist()
        # As it is in a model file.
        for name in ("labels_", "agreement_", "embedding_"):
            vars(fitted).pop(name, None)
        page = report(fitted, new)
        assert inlined(page)["map"]["cluster"] == fitted.predict(new).tolist()
        assert "210 new rows" in page.html
        fitted.labels_ = fitted.predict(new)
        assert inlined(report(fitted, new))["map"]["x"] == inlined(page)["map"]["x"]
        one = report(fitted, X[:1], new_rows=True)
        assert "1 of 3" in one.html

    def test_labels_that_were_found_are_used(self, blobs, monkeypatch):
        X, _ = blobs
        fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
        new = np.vstack([X, X]) + 0.01
        fitted.labels_ = fitted.predict(new)
        asked = []
        whole = ApproxKernelKMeans.predict
        monkeypatch.setattr(
            ApproxKernelKMeans,
            "predict",
            lambda self, X: asked.append(len(X)) or whole(self, X),
        )
        report(fitted, new, new_rows=True)
        assert asked == [1000]

    def test_few_iterations_are_told(self, model, blobs, digits, rng):
        page = report(model, blobs[0])
        assert len(model.history_) == 2
        assert "convergence" not in inlined(page)
        assert 'id="convergence-picture"' not in page.html
        assert "each row got a label, then no label changed in the last" in page.html
        assert "4 restarts had run on a sample" in page.html
        X, start = digits[0], rng.integers(10, size=1797)
        long = ApproxKernelKMeans(10, init=start, random_state=0).fit(X)
        page = report(long, X)
        assert len(inlined(page)["convergence"]["changed"][0]) == len(long.history_)
        assert "restarts" not in page.html


class TestChecks:
    def said(self, fitted, X, grade=DOUBT):
        found = checks(gather(fitted, X))
        return " ".join(check.advice for check in found if check.grade == grade)

    def test_a_clear_result_raises_none(self, model, blobs):
        X = blobs[0]
        assert self.said(model, X) == self.said(model, X, LOOK) == ""
        page = report(model, X).html
        assert "10 checks: 10 fine" in page
        assert "Read this first" not in page
        assert page.count('class="fine"') == 10

    def test_one_cluster_that_has_nearly_all(self, wine):
        """A kernel so narrow that every row is alone: two rows and the rest."""
        fitted = ApproxKernelKMeans(3, gamma=100.0, random_state=0).fit(wine)
        said = self.said(fitted, wine)
        assert "Nearly all rows are in one cluster" in said
        assert "have a single row" in said
        assert "too narrow" in said
        assert "do not judge clusters by it" in self.said(fitted, wine, LOOK)
        page = report(fitted, wine).html
        assert "Read this first" in page
        assert page.count('class="doubt"') == 3

    @pytest.mark.parametrize("estimator", [KernelKMeans, NystroemSpectralClustering])
    def test_widths(self, estimator, wine):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for gamma, text in ((100.0, "narrow"), (1e-6, "too wide")):
                fitted = estimator(3, gamma=gamma, random_state=0).fit(wine)
                assert text in self.said(fitted, wine)
        fitted = estimator(3, random_state=0).fit(wine)
        assert "The kernel" not in self.said(fitted, wine)

    def test_similarity_against_the_definition(self, wine):
        fitted = KernelKMeans(3, random_state=0).fit(wine)
        K = fitted.kernel_(wine)
        np.fill_diagonal(K, np.nan)
        alike = gather(fitted, wine).similarity
        assert alike.nearest == pytest.approx(np.median(np.nanmax(K, axis=1)))
        assert alike.pairs == pytest.approx(np.nanmedian(K))
        given = KernelKMeans(3, kernel="precomputed", random_state=0)
        K = fitted.kernel_(wine)
        same = gather(given.fit(K), K).similarity
        assert same.nearest == pytest.approx(alike.nearest)
        straight = KernelKMeans(3, kernel="linear", random_state=0).fit(wine)
        assert gather(straight, wine).similarity is None  # no k(x, x) in common

    def test_more_clusters_than_the_rows_can_fill(self, wine):
        fitted = ApproxKernelKMeans(100, random_state=0).fit(wine)
        assert "each has 1.8 rows on average" in self.said(fitted, wine)

    def test_a_column_that_drowns_the_others(self, wine):
        X = wine * np.array([1.0] * 12 + [60.0])
        fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
        assert "column 12 has 100 % of the variance" in self.said(fitted, X)

    def test_some_doubt_is_told_in_the_table(self, digits):
        X, _ = digits
        fitted = ApproxKernelKMeans(10, n_landmarks=60, random_state=0).fit(X)
        assert self.said(fitted, X) == ""
        said = self.said(fitted, X, LOOK)
        assert "nearly between two clusters" in said
        assert "The landmarks see only 7" in said
        page = report(fitted, X).html
        assert "<li>The landmarks see only 7" in page
        assert page.count('class="look"') == 2

    def test_not_converged(self, digits, rng):
        X, start = digits[0], rng.integers(10, size=1797)
        for estimator in (ApproxKernelKMeans, EnsembleKernelKMeans):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fitted = estimator(10, init=start, max_iter=2, random_state=0).fit(X)
            assert "Not converged" in self.said(fitted, X)

    def test_fewer_clusters(self):
        X = np.repeat([[0.0], [5.0]], 10, axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
        assert "2 instead of 3" in self.said(fitted, X)

    def test_one_cluster(self, blobs):
        X = blobs[0]
        page = report(ApproxKernelKMeans(1, random_state=0).fit(X), X)
        assert "certainty" not in sections(page)

    def test_negative_kernel(self, blobs):
        def odd(X, Y):
            return np.cos(3 * (X @ Y.T)) - 0.5

        X = blobs[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = ApproxKernelKMeans(3, kernel=odd, random_state=0).fit(X)
        assert "far from positive definite" in self.said(fitted, X)

    def test_no_structure_few_landmarks(self, rng):
        X = rng.normal(size=(2000, 50))
        fitted = ApproxKernelKMeans(8, n_landmarks=32, random_state=0).fit(X)
        assert "nearly between two clusters" in self.said(fitted, X)
        assert "landmarks see only" in self.said(fitted, X)

    def test_tiny_cluster(self, rng):
        middle = np.repeat([[0.0, 0.0], [9, 0], [0, 9], [9, 9]], 1000, axis=0)
        X = np.vstack([rng.normal(size=(4000, 2)) + middle, [[60.0, 60.0]] * 2])
        start = np.repeat([0, 1, 2, 3, 4], [1000, 1000, 1000, 1000, 2])
        fitted = ApproxKernelKMeans(5, kernel="linear", init=start).fit(X)
        assert "Cluster 4 has less than 0.10 %" in self.said(fitted, X, LOOK)

    def test_members_that_disagree(self, rng):
        X = rng.normal(size=(1000, 50))
        fitted = EnsembleKernelKMeans(8, n_landmarks=32, random_state=0).fit(X)
        assert "Members disagree" in self.said(fitted, X)


class TestPage:
    def test_nothing_is_taken_for_html(self, model, blobs):
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
        assert "default-src 'none'" in outline.tags[3][1]["content"]
        assert not any(
            name.startswith("on") for _, attributes in outline.tags
            for name in attributes
        )  # fmt: skip

    def test_a_file_is_whole_or_not_there(self, tmp_path, monkeypatch):
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

    def test_what_can_not_be_written_is_called_by_its_name(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no folder \S*gone; make it"):
            Report("one").save(tmp_path / "gone" / "r.html")
        (tmp_path / "r.html").mkdir()
        with pytest.raises(OSError, match=r"r\.html'") as caught:
            Report("one").save(tmp_path / "r.html")
        assert str(os.getpid()) not in str(caught.value)
        assert os.listdir(tmp_path) == ["r.html"]

    def test_pages_of_many_rows_stay_small(self, rng):
        X = rng.normal(size=(3000, 3)).astype(np.float32)
        fitted = ApproxKernelKMeans(100, n_landmarks=100, random_state=0).fit(X)
        page = report(fitted, X)
        assert len(page.html) < 600_000
        assert len(inlined(page)["map"]["x"]) == 2000
        assert "The 60 largest of 100 clusters" in page.html


def inlined_cluster(view):
    """The cluster of the first point of a map."""
    return json.loads(view.locator("#data").text_content())["map"]["cluster"][0]


def browser_path():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if browser_path() is None:
        pytest.skip("no Chromium to open the report with: install chromium")
    # Its sandbox does not work for root, in containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=browser_path(), args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, model, blobs):
    """Files of reports: three clusters with hostile names, 23, and counted ones."""
    folder = tmp_path_factory.mktemp("reports")
    X, y = blobs
    report(
        model,
        X,
        feature_names=["a", HOSTILE, "long_name_" * 12, "d"],
        ids=[f"{HOSTILE} {i}" for i in range(840)],
        labels_true=y,
        title="long_title_" * 20,
        command="akkm cluster " + "x" * 300,
        notes=[HOSTILE],
    ).save(folder / "three.html")
    sizes = [900] * 5 + [100] * 10 + [20] * 8
    X, y = make_blobs(sizes, 30, random_state=1, cluster_std=2.5)
    many = ApproxKernelKMeans(23, random_state=0).fit(X)
    report(many, X, labels_true=y).save(folder / "many.html")
    X, y = make_blobs([300, 300, 240], 4, random_state=1)
    counted = SparseKernelKMeans("auto", random_state=0).fit(X)
    report(counted, X, labels_true=y).save(folder / "counted.html")
    return {path.stem: path for path in folder.iterdir()}


@pytest.fixture
def opened(browser, pages):
    """Opens a report; at the end there were no errors and no requests."""
    problems, views = [], []

    def open_(name, width=1440, **options):
        view = browser.new_page(viewport={"width": width, "height": 900}, **options)
        views.append(view)
        view.on("console", lambda message: problems.append(message.text))
        view.on("pageerror", lambda error: problems.append(str(error)))
        address = pages[name].as_uri()
        view.on(
            "request",
            lambda r: problems.append(r.url) if r.url.split("#")[0] != address else 0,
        )
        view.goto(address)
        return view

    yield open_
    for view in views:
        view.close()
    assert problems == []


def until(view, condition):
    """Wait for it; the page's own policy forbids Playwright's way of waiting."""
    for _ in range(200):
        if view.evaluate(condition):
            return
        view.wait_for_timeout(50)
    raise AssertionError(f"still not so: {condition}")


class TestBrowser:
    @pytest.mark.parametrize("name", ["three", "many", "counted"])
    @pytest.mark.parametrize("width", [390, 1440])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_fits_and_is_complete(self, opened, name, width, scheme):
        view = opened(name, width, color_scheme=scheme)
        for summary in view.locator("details summary").all():
            summary.click()
        wide = "document.documentElement.scrollWidth <= innerWidth"
        assert view.evaluate(wide)
        for id_ in [*ALWAYS, "landmarks", "scores"]:
            assert view.locator(f"section#{id_} h2").is_visible()
        promised = int(view.locator("#map-picture").get_attribute("data-points"))
        assert promised == (2000 if name == "many" else 840)
        assert view.locator("#map-picture svg .mark").count() == promised
        assert view.locator("#map-table tbody tr").count() == promised
        for picture in view.locator(".picture").all():
            assert picture.locator("> svg").bounding_box()["height"] > 40
        paper = view.evaluate(
            "getComputedStyle(document.documentElement).backgroundColor"
        )
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (
            scheme == "dark"
        )  # fmt: skip

    @pytest.mark.parametrize("name", ["three", "many", "counted"])
    @pytest.mark.parametrize("width", [390, 1440])
    def test_text_in_pictures_does_not_overlap(self, opened, name, width):
        view = opened(name, width)
        overlaps = view.evaluate(
            """() => [...document.querySelectorAll(".picture > svg")].flatMap((svg) => {
              const texts = [...svg.querySelectorAll("text")];
              const boxes = texts.map((t) => t.getBoundingClientRect());
              const found = [];
              for (let i = 0; i < boxes.length; i++) {
                if (boxes[i].left < 0 || boxes[i].right > innerWidth)
                  found.push(texts[i].textContent);
                for (let j = 0; j < i; j++) {
                  const [a, b] = [boxes[i], boxes[j]];
                  if (a.left < b.right && b.left < a.right &&
                      a.top + 3 < b.bottom && b.top + 3 < a.bottom)
                    found.push(texts[i].textContent + " | " + texts[j].textContent);
                }
              }
              return found;
            })"""
        )
        assert overlaps == []

    def test_pointing_and_touching_show_a_row(self, opened):
        view = opened("three", has_touch=True)
        card = view.locator("#map-row")
        mark = view.locator("#map-picture .mark").nth(5)
        mark.scroll_into_view_if_needed()
        box = mark.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        view.mouse.move(x, y)
        assert card.locator("dt").all_inner_texts()[:2] == [
            "cluster", "distance to its center"
        ]  # fmt: skip
        assert "<script>" in card.inner_text()  # as text
        first = card.get_attribute("data-row")
        box = view.locator("#map-picture .mark").nth(700).bounding_box()
        view.touchscreen.tap(box["x"] + 4, box["y"] + 4)
        assert card.get_attribute("data-row") != first
        assert view.evaluate("window.hacked") is None

    def test_keys_go_from_row_to_row(self, opened):
        view = opened("three")  # nobody has touched the mouse
        card = view.locator("#map-row")
        view.locator("#summary summary").focus()
        view.keyboard.press("Tab")
        inside = "document.activeElement.closest('#map-picture') !== null"
        assert view.evaluate(inside)
        # Chromium would focus whatever listens for it; others need this.
        assert view.locator("#map-picture > svg").get_attribute("tabindex") == "0"
        seen = [card.get_attribute("data-row")]
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "End", "ArrowLeft"):
            view.keyboard.press(key)
            seen.append(card.get_attribute("data-row"))
        assert None not in seen
        assert len(set(seen)) == 6

    def test_a_cluster_can_be_picked(self, opened):
        view = opened("three")
        button = view.locator("#map-legend button").nth(1)
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        dim = view.locator("#map-picture .dim").count()
        size = int(view.locator("#sizes td").nth(2).text_content())  # of cluster 1
        assert dim == 840 - size
        button.click()
        assert view.locator("#map-picture .dim").count() == 0

    def test_turning_the_phone_draws_again(self, opened):
        view = opened("many", 390)
        view.set_viewport_size({"width": 844, "height": 390})
        until(
            view,
            "document.querySelector('#map-picture > svg').viewBox.baseVal.width > 500",
        )
        assert view.locator("#map-picture .mark").count() == 2000

    @pytest.mark.parametrize("name", ["three", "many"])
    def test_paper(self, opened, name):
        """From a dark screen: white, nothing on top of anything, legend and all."""
        view = opened(name, 718, color_scheme="dark")
        view.evaluate("dispatchEvent(new Event('beforeprint'))")
        view.emulate_media(media="print", color_scheme="dark")
        style = "getComputedStyle(document.querySelector('{}')).{}"
        for element, part, wanted in (
            ("html", "backgroundColor", "rgb(255, 255, 255)"),
            ("html", "color", "rgb(0, 0, 0)"),
            (".c0.r0", "fill", "rgb(0, 114, 178)"),
        ):
            assert view.evaluate(style.format(element, part)) == wanted
        assert view.locator("#map-legend button").count() == (
            3 if name == "three" else 23
        )
        assert view.locator("#map-legend").is_visible()
        assert view.locator("#summary table").last.is_visible()  # unfolded
        assert not view.locator("#sizes table").is_visible()  # the picture is there
        outside = view.evaluate(
            """() => [...document.querySelectorAll("section")].flatMap((section) => {
              const frame = section.getBoundingClientRect();
              return [...section.querySelectorAll("table, svg, p")].filter((part) => {
                const box = part.getBoundingClientRect();
                return box.bottom > frame.bottom + 1 || box.right > innerWidth + 1;
              }).map((part) => part.outerHTML.slice(0, 80));
            })"""
        )
        assert outside == []
        cut = """[...document.querySelectorAll(".scroll")].filter((box) =>
          getComputedStyle(box).maskImage !== "none").length"""
        assert view.evaluate(cut) == 0
        view.evaluate("dispatchEvent(new Event('afterprint'))")
        assert view.locator("details[open]").count() == 0

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_23_clusters_look_different(self, opened, scheme):
        view = opened("many", color_scheme=scheme)
        looks = view.evaluate(
            """() => [...document.querySelectorAll("#map-legend path")].map((path) =>
              [path.getAttribute("d"), getComputedStyle(path).fill])"""
        )
        assert len(looks) == 23
        assert len({fill for _, fill in looks}) == 21
        assert len({shape for shape, _ in looks}) == 8
        for k, (shape, fill) in enumerate(looks):
            for other_shape, other_fill in looks[:k]:
                assert fill != other_fill or shape != other_shape
        # On the map as in the legend.
        mark = view.locator("#map-picture .mark").first
        cluster = inlined_cluster(view)
        assert mark.get_attribute("d") == looks[cluster][0]
        assert mark.evaluate("m => getComputedStyle(m).fill") == looks[cluster][1]

    def test_a_phone_shows_what_there_is_and_that_there_is_more(self, opened):
        view = opened("many", 390)
        assert view.locator("#map-row").bounding_box()["height"] < 100
        box = view.locator(".scroll:has(.heat)").first
        sign = view.locator(".sideways:has(+ .scroll .heat)").first
        assert sign.is_visible()
        assert "more" in box.get_attribute("class")
        head = box.locator("thead th").nth(1)
        assert head.inner_text() == "between clusters"
        place = head.bounding_box()
        assert place["x"] + place["width"] < 390 - 48
        box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
        until(
            view,
            "!document.querySelector('.scroll:has(.heat)').classList.contains('more')",
        )
        assert not opened("three").locator(".sideways:visible").count()

    def test_without_scripts_the_tables_are_there(self, browser, pages):
        context = browser.new_context(java_script_enabled=False)
        view = context.new_page()
        view.goto(pages["three"].as_uri())
        assert view.locator("#sizes table").count() == 1
        assert "need JavaScript" in view.locator("main").inner_text()
        context.close()

    def test_everything_that_can_be_used_has_a_name_and_a_focus_ring(self, opened):
        view = opened("three")
        nameless = view.evaluate(
            """() => [...document.querySelectorAll("a, button, summary, [tabindex]")]
              .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim()))
              .length"""
        )
        assert nameless == 0
        view.keyboard.press("Tab")
        assert view.evaluate("document.activeElement.className") == "skip"
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert view.evaluate(outline) == "solid"
