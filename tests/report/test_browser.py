"""The report in a browser: layout, pictures, keyboard, touch and print."""

import json
import os
import re
import shutil

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans, SparseKernelKMeans
from akkm.report import Report, report, report_changes
from report.page_parts import ALWAYS, HOSTILE


def first_cluster(view):
    """Return the cluster of the first point of the map."""
    return json.loads(view.locator("#data").text_content())["map"]["cluster"][0]


def browser_path():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if browser_path() is None:
        pytest.skip("Chromium was not found; install it to test the report")
    # Chromium's sandbox does not work for root in containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=browser_path(), args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, model, blobs):
    """Reports on 3, 8, 23 and an estimated number of clusters, and a comparison."""
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
    X, y = make_blobs([60] * 8, 6, random_state=1)
    eight = ApproxKernelKMeans(8, random_state=0).fit(X)
    report(eight, X).save(folder / "eight.html")
    X, y = make_blobs([300, 300, 240], 4, random_state=1)
    estimated = SparseKernelKMeans("auto", random_state=0).fit(X)
    report(estimated, X, labels_true=y).save(folder / "estimated.html")
    goods = np.array(["toys", "books", "pens", "cars", "hats"])
    code = np.repeat(
        [0, 1, 2, 3, 4, 0, 1, 2, 3], [200, 120, 40, 20, 20, 2, 75, 180, 43]
    )
    X = np.c_[np.repeat([0.0, 9], [400, 300]), code / 1e6]
    two = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    report(
        two,
        X,
        original=lambda rows: [{"goods": goods[round(1e6 * x)]} for _, x in rows],
    ).save(folder / "goods.html")
    first = np.arange(2000) % 30
    second = np.where(np.arange(2000) % 7, first, first[::-1])
    report_changes(first, second, names=["long_name_" * 9, HOSTILE]).save(
        folder / "changes.html"
    )
    return {path.stem: path for path in folder.iterdir()}


@pytest.fixture
def opened(browser, pages):
    """Return a function that opens a report, by default in the analyst's view.

    Fail at teardown if a page logged anything or made another request.
    """
    problems, views = [], []

    def open_(name, width=1440, view_name="analyst", **options):
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
        if name != "changes":
            view.locator(f"#view-{view_name}").check()
        return view

    yield open_
    for view in views:
        view.close()
    assert problems == []


def until(view, condition):
    """Wait until a condition holds.

    The page's security policy forbids Playwright's own way of waiting.
    """
    for _ in range(200):
        if view.evaluate(condition):
            return
        view.wait_for_timeout(50)
    raise AssertionError(f"still false: {condition}")


class TestBrowser:
    @pytest.mark.parametrize("name", ["three", "many", "estimated"])
    @pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
    def test_page_fits_the_screen_and_is_complete(self, opened, name, width, scheme):
        view = opened(name, width, color_scheme=scheme)
        view.evaluate(
            "for (const box of document.querySelectorAll('details')) box.open = true"
        )
        until(view, "document.querySelector('#map-table tbody tr') !== null")
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for id_ in [*ALWAYS, "landmarks", "scores"]:
            assert view.locator(f"section#{id_} h2").is_visible()
        n_points = int(view.locator("#map-picture").get_attribute("data-points"))
        assert n_points == (2000 if name == "many" else 840)
        assert view.locator("#map-picture svg .mark").count() == n_points
        assert view.locator("#map-table tbody tr").count() == n_points
        for picture in view.locator(".picture").all():
            assert picture.locator("> svg").bounding_box()["height"] > 40
        paper = view.evaluate(
            "getComputedStyle(document.documentElement).backgroundColor"
        )
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (
            scheme == "dark"
        )  # fmt: skip

    @pytest.mark.parametrize("name", ["three", "many", "estimated", "changes"])
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

    @pytest.mark.parametrize("width", [390, 1440])
    def test_the_overview_shows_cards_and_no_technical_sections(self, opened, width):
        view = opened("three", width, "overview")
        shown = [
            section.get_attribute("id")
            for section in view.locator("section").all()
            if section.is_visible()
        ]
        assert shown == ["clusters", "compare", "map", "scores", "summary"]
        assert view.locator("nav a:visible").count() == 5
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert view.locator(".cluster .traits").first.is_visible()
        assert not view.locator("#technical dl").is_visible()
        # A link to a section of the analyst's view opens this view.
        view.evaluate("location.hash = '#certainty'")
        until(view, "document.getElementById('view-analyst').checked")
        until(view, "document.querySelector('#certainty-picture > svg') !== null")
        assert view.locator("#technical dl").is_visible()

    def test_cards_are_searched_sorted_and_opened(self, opened):
        view = opened("many", view_name="overview")
        cards = view.locator(".cluster")
        assert view.locator(".cluster details[open]").count() == 0
        view.locator("#card-fold").click()
        assert view.locator(".cluster details[open]").count() == 23
        view.locator("#card-sort").select_option("cluster")
        order = [int(card.get_attribute("data-cluster")) for card in cards.all()]
        assert order == list(range(23))
        view.locator("#card-sort").select_option("clear")
        clear = [float(card.get_attribute("data-clear")) for card in cards.all()]
        assert clear == sorted(clear)
        wanted = cards.nth(4).get_attribute("data-text")
        view.locator("#card-search").fill(wanted.upper())
        assert view.locator(".cluster:visible").count() == 1
        assert view.locator("#card-count").text_content() == "1 of 23 clusters"
        view.locator("#card-search").fill("no such words")
        assert view.locator(".cluster:visible").count() == 0

    def test_two_clusters_are_compared_side_by_side(self, opened):
        view = opened("eight", 390, "overview")
        view.locator("#compare-b").select_option("5")
        head = view.locator("#compare-table thead th").all_inner_texts()
        names = view.locator("#compare-b option").all_inner_texts()
        assert head[2].strip() in names[5]
        numbers = view.locator("#compare-table tbody td").all_inner_texts()
        assert len(numbers) >= 2
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def test_the_comparison_shows_frequent_categories_and_the_sum_of_the_others(
        self, opened
    ):
        cells = opened("goods", 390).locator("#compare-table tbody td")
        first, second = (
            text.replace("\xa0", " ")
            for text in cells.all_inner_texts()
            if "toys" in text
        )
        assert first == "50 % toys, 30 % books, 10 % pens, 10 % others"
        assert second == "60 % pens, 25 % books, below 1 % toys, 14 % others"

    @pytest.mark.parametrize("width", [390, 1440])
    def test_moved_rows_in_the_comparison_of_two_fits_can_be_searched(
        self, opened, width
    ):
        view = opened("changes", width)
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert view.locator("#flow-picture .band.moved").count() > 0
        rows = view.locator("#moved-rows tbody tr")
        name = rows.nth(3).locator("th").inner_text()
        view.locator("#row-search").fill(name)
        assert 1 <= view.locator("#moved-rows tbody tr:visible").count() < rows.count()

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
        assert "<script>" in card.inner_text()  # shown as text, not run
        first = card.get_attribute("data-row")
        box = view.locator("#map-picture .mark").nth(700).bounding_box()
        view.touchscreen.tap(box["x"] + 4, box["y"] + 4)
        assert card.get_attribute("data-row") != first
        assert view.evaluate("window.hacked") is None

    def test_arrow_keys_move_between_rows(self, opened):
        view = opened("three")  # the mouse is not used
        card = view.locator("#map-row")
        view.locator("#compare-table").focus()
        view.keyboard.press("Tab")
        inside = "document.activeElement.closest('#map-picture') !== null"
        assert view.evaluate(inside)
        # Chromium focuses any SVG with a focus listener. Other browsers need tabindex.
        assert view.locator("#map-picture > svg").get_attribute("tabindex") == "0"
        seen = [card.get_attribute("data-row")]
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "End", "ArrowLeft"):
            view.keyboard.press(key)
            seen.append(card.get_attribute("data-row"))
        assert None not in seen
        assert len(set(seen)) == 6

    def test_legend_button_dims_the_other_clusters(self, opened):
        view = opened("three")
        button = view.locator("#map-legend button").nth(1)
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        dim = view.locator("#map-picture .dim").count()
        size = int(view.locator("#sizes td").nth(2).text_content())  # size of cluster 1
        assert dim == 840 - size
        button.click()
        assert view.locator("#map-picture .dim").count() == 0

    def test_rotating_the_phone_redraws_the_map(self, opened):
        view = opened("many", 390)
        view.set_viewport_size({"width": 844, "height": 390})
        until(
            view,
            "document.querySelector('#map-picture > svg').viewBox.baseVal.width > 500",
        )
        assert view.locator("#map-picture .mark").count() == 2000

    @pytest.mark.parametrize("name", ["three", "many"])
    def test_the_printed_page_is_white_and_complete(self, opened, name):
        """The page is printed while the browser is in dark mode."""
        view = opened(name, 718, color_scheme="dark")
        view.evaluate("dispatchEvent(new Event('beforeprint'))")
        view.emulate_media(media="print", color_scheme="dark")
        style = "getComputedStyle(document.querySelector('{}')).{}"
        for element, part, expected in (
            ("html", "backgroundColor", "rgb(255, 255, 255)"),
            ("html", "color", "rgb(0, 0, 0)"),
            (".c0.r0", "fill", "rgb(0, 114, 178)"),
        ):
            assert view.evaluate(style.format(element, part)) == expected
        assert view.locator("#map-legend button").count() == (
            3 if name == "three" else 23
        )
        assert view.locator("#map-legend").is_visible()
        assert view.locator("#summary table").last.is_visible()  # unfolded for printing
        assert not view.locator(
            "#sizes table"
        ).is_visible()  # its picture is shown instead
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
        assert view.locator("section > details.again[open]").count() == 0

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
        # The map uses the same shapes and colours as the legend.
        mark = view.locator("#map-picture .mark").first
        cluster = first_cluster(view)
        assert mark.get_attribute("d") == looks[cluster][0]
        assert mark.evaluate("m => getComputedStyle(m).fill") == looks[cluster][1]

    def test_wide_tables_on_a_phone_show_that_they_scroll(self, opened):
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

    @pytest.mark.parametrize("width", [390, 1300, 1440])
    @pytest.mark.parametrize("name", ["three", "eight"])
    def test_typical_rows_of_few_clusters_are_not_cut_off(self, opened, name, width):
        box = opened(name, width).locator(".scroll:has(.typical)")
        tall, shown = box.evaluate("box => [box.scrollHeight, box.clientHeight]")
        assert tall <= shown + 1

    @pytest.mark.parametrize("width", [390, 1300])
    def test_tall_tables_show_that_they_scroll(self, opened, width):
        box = opened("many", width).locator(".scroll:has(.typical)")
        tall, shown = box.evaluate("box => [box.scrollHeight, box.clientHeight]")
        assert tall > shown  # the table has 23 clusters
        mask = "box => getComputedStyle(box).maskImage"
        assert "to top" in box.evaluate(mask)
        box.evaluate("box => { box.scrollTop = box.scrollHeight; }")
        until(
            box.page,
            "!document.querySelector('.scroll:has(.typical)').matches('.below')",
        )
        assert "to top" not in box.evaluate(mask)

    def test_the_page_works_in_the_frame_of_a_notebook(self, browser, pages):
        page = Report(pages["three"].read_text(encoding="utf-8"))
        view = browser.new_page()
        view.set_content(page._repr_html_())
        frame = view.frame_locator("iframe")
        frame.locator("#map-picture .mark").first.wait_for()
        assert frame.locator(".cluster").count() == 3
        view.close()

    def test_tables_are_shown_without_javascript(self, browser, pages):
        context = browser.new_context(java_script_enabled=False)
        view = context.new_page()
        view.goto(pages["three"].as_uri())
        assert view.locator("#sizes table").count() == 1
        assert "need JavaScript" in view.locator("main").inner_text()
        context.close()

    def test_interactive_elements_have_a_name_and_a_focus_ring(self, opened):
        view = opened("three", view_name="overview")
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
