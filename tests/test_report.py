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
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

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
from akkm.report import Report, report
from akkm.report._doubts import doubts
from akkm.report._facts import gather
from akkm.report._nearness import typical
from akkm.report._sample import draw

ALWAYS = ["summary", "map", "sizes", "features", "certainty", "convergence"]
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror=alert(1)>\"'&"


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([500, 300, 40], 4, random_state=3, cluster_std=1.5)


@pytest.fixture(scope="module")
def model(blobs):
    return ApproxKernelKMeans(3, random_state=0).fit(blobs[0])


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
            (SparseKernelKMeans, ["landmarks"]),
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

    def test_samples_stand_for_all_rows(self, rng):
        labels = np.repeat([0, 1, 3], [9000, 990, 10])
        sample = draw(labels, most=500, least=20)
        assert len(sample.rows) == 500
        for k, size in ((0, 9000), (1, 990), (3, 10)):
            inside = labels[sample.rows] == k
            assert sample.weights[inside].sum() == pytest.approx(size)
        assert (labels[sample.rows] == 3).sum() == 10


class TestDoubts:
    def said(self, fitted, X):
        return " ".join(doubts(gather(fitted, X)))

    def test_a_clear_result_raises_none(self, model, blobs):
        assert self.said(model, blobs[0]) == ""
        assert "None of the checks" in report(model, blobs[0]).html

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
        X = np.vstack([rng.normal(size=(3000, 2)), [[60.0, 60.0]]])
        far = (np.arange(3001) == 3000).astype(int)
        fitted = ApproxKernelKMeans(2, kernel="linear", init=far).fit(X)
        assert "Cluster 1 has less than 0.10 %" in self.said(fitted, X)

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

    def test_pages_of_many_rows_stay_small(self, rng):
        X = rng.normal(size=(5000, 3)).astype(np.float32)
        fitted = ApproxKernelKMeans(100, random_state=0, max_iter=1000).fit(X)
        page = report(fitted, X)
        assert len(page.html) < 600_000
        assert len(inlined(page)["map"]["x"]) == 2000
        assert "The 60 largest of 100 clusters" in page.html


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
    """Files of reports: of three clusters with hostile names, and of 23."""
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


class TestBrowser:
    @pytest.mark.parametrize("name", ["three", "many"])
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
        assert promised == (840 if name == "three" else 2000)
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

    @pytest.mark.parametrize("name", ["three", "many"])
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
        view.wait_for_function(
            "document.querySelector('#map-picture > svg').viewBox.baseVal.width > 500"
        )
        assert view.locator("#map-picture .mark").count() == 2000

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
