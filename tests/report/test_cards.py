"""Cards of clusters: sentences in original units, typical rows, certainty."""

import datetime
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from akkm import ApproxKernelKMeans, DiffusionKernelKMeans, EnsembleKernelKMeans
from akkm.inspect import ColumnProfile, RowSample
from akkm.inspect._profiles import cluster_profiles
from akkm.report import report
from akkm.report._sentences import amount, is_usual, line, single, value_of
from akkm.tables import TableEncoder
from report.page_parts import picture_data, section_ids, text_of

TWO = np.repeat([0, 1], 100)


def described(values, cluster=0, unit="", labels=TWO):
    """Return the value and the comparison on the card of a cluster, for one column."""
    sample = RowSample(np.arange(len(labels)), np.ones(len(labels)))
    found = cluster_profiles(
        {"x": values},
        sample,
        labels,
        labels.max() + 1,
        original=True,
        roles={"x": ("", unit)},
    )
    text = line(found.columns[0], cluster)
    return text.value, text.comparison


def test_a_value_that_most_rows_have_is_named_before_the_average():
    values = np.array([0.0] * 98 + [40, 80] + [5.0, 6.0] * 50)
    assert described(values) == (
        "mostly 0",
        "on average 1.2, 64 % less than the average of 3.35",
    )


def test_a_column_with_two_distinct_numbers_is_shown_as_quoted_categories():
    values = np.repeat([1, 2, 1, 2], [90, 10, 20, 80])
    assert described(values) == ("90 % “1”", "all rows: 55 %")
    assert described(np.array(["18-24", "65+"])[values - 1])[0] == "90 % “18-24”"


@pytest.mark.parametrize("words", [("ja", "nein"), ("Oui", "Non"), ("sí", "no")])
def test_yes_and_no_are_understood_in_several_languages(words):
    values = np.array(words)[np.repeat([0, 1, 0, 1], [90, 10, 20, 80])]
    assert described(values) == ("90 % yes", "all rows: 55 %")
    profile = ColumnProfile("x", "boolean", "", np.zeros(1))
    assert [single(word, profile) for word in words] == ["yes", "no"]


def test_missing_values_of_typical_rows_are_not_filled_with_means():
    spend = np.repeat([1.5, 9.0], 20) + np.arange(40) % 4 / 10
    frame = pd.DataFrame({"spend": spend, "age": np.repeat([22.0, 61.5], 20)})
    frame.loc[::2, "age"] = None
    encoder = TableEncoder().fit(frame)
    X = encoder.transform(frame)
    model = ApproxKernelKMeans(2, random_state=0).fit(X)
    page = report(model, X, encoder=encoder)
    drawn = picture_data(page)["map"]
    ages = [row[drawn["features"].index("age")] for row in drawn["values"]]
    assert set(ages) == {"missing", 22, 61.5}
    assert "<td>missing</td>" in page.html


def column_profile(kind, unit, overall, centers, quartiles, limits):
    """A column of one cluster, for sentences."""
    return ColumnProfile(
        "x",
        kind,
        unit,
        np.zeros(1),
        overall=overall,
        centers=np.array([centers]),
        limits=np.array(limits, dtype=float),
        quartiles=np.array([quartiles], dtype=float),
        positive=True,
        folded=np.zeros(1, dtype=bool),
    )


def test_percentages_are_compared_in_percentage_points():
    column = column_profile("number", "%", 15, 18, (14, 22), (2, 8, 20, 30))
    assert line(column, 0).comparison == (
        "3 percentage points more than the average of 15 %"
    )


def test_ranges_of_durations_name_the_unit_once():
    column = column_profile("duration", "", 900, 840, (640, 1_040), (60, 300, 900, 2e3))
    assert value_of(column, 0) == "14 minutes (10.7 to 17.3 minutes)"


def test_if_most_values_are_equal_the_card_shows_one_value_instead_of_a_range():
    column = column_profile("number", "", 80, 0.4, (-1, -1), (-1, -1, -1, 500))
    assert value_of(column, 0) == "0 (mostly −1)"


def test_dates_in_the_middle_half_are_usual():
    first, last = (datetime.date(year, 1, 1) for year in (1980, 1990))
    middle = [(day - datetime.date(1970, 1, 1)).days * 86_400 for day in (first, last)]
    column = column_profile("date", "", 0, 0, middle, (0, 1, 2, 3))
    days = ["1985-05-01", datetime.date(1985, 5, 1), "1995-05-01", None]
    assert [is_usual(day, column, 0) for day in days] == [True, True, False, False]


def test_typical_rows_have_the_values_of_the_card():
    """Rows nearest to a center are not shown if their colour is rare."""
    frame = pd.DataFrame(
        {
            "x": np.r_[
                np.arange(9) / 99, np.linspace(-1, 1, 51), np.linspace(9, 11, 60)
            ],
            "colour": ["red"] * 9 + ["blue"] * 51 + ["red"] * 60,
        }
    )
    encoder = TableEncoder(weights={"colour": 1e-8}).fit(frame)
    X = encoder.transform(frame)
    model = ApproxKernelKMeans(2, random_state=0).fit(X)
    page = report(model, X, encoder=encoder).html
    assert "85 % blue" in page.replace("\xa0", " ")
    assert "<td>blue</td><td>blue</td><td>blue</td>" in page


def test_a_rare_category_distinguishes_a_cluster():
    colours = ["a", "b", "c", "d"] * 50 + ["big"] * 50
    labels = np.repeat([0, 1], [200, 50])
    assert described(colours, labels=labels) == ("0 % big", "all rows: 20 %")


class TestSentences:
    def test_a_number_is_compared_with_the_average(self):
        spend = np.where(TWO, 17_400.0, 1_000.0) + np.arange(200) % 2
        assert described(spend, 1) == ("17,400", "1.9 times the average of 9,200")
        assert described(spend, 0) == ("1,000", "89 % less than the average of 9,200")
        assert described(spend, 1, "$") == (
            "$17,400",
            "1.9 times the average of $9,200",
        )
        close = np.where(TWO, 120.0, 100.0) + np.arange(200) % 2
        assert described(close, 1) == ("120", "9.0 % more than the average of 110")

    def test_numbers_without_a_natural_zero_are_compared_by_differences(self):
        celsius = np.where(TWO, 20.0, -10.0) + np.arange(200) % 2
        assert described(celsius, 0) == ("−9.5", "15 below the average of 5.5")
        year = np.where(TWO, 2010, 1990) + np.arange(200) % 2
        assert described(year, 1) == ("2010", "10 above the average of 2000")

    def test_averages_of_centered_values_are_shown_as_zero(self):
        z = np.where(TWO, 1.0, -1.0) + 0.001 * (np.arange(200) % 2)
        assert described(z, 1) == ("1", "1 above the average of 0")

    def test_the_card_says_that_an_average_is_the_median(self):
        labels = np.repeat([0, 1, 2], [300, 200, 50])
        spend = np.array([100.0, 300, 9000])[labels] + np.arange(550) % 2
        texts = described(spend, 1, labels=labels)
        assert texts == ("300 (median)", "3.0 times the median of 101")
        column = column_profile("number", "$", 80, 90, (60, 95), (0, 9, 99, 500))
        median = replace(column, average="median")
        assert value_of(column, 0) == "$90 ($60 to $95)"
        assert value_of(median, 0) == "$90 (median; $60 to $95)"

    def test_yes_no_columns_show_the_share_of_yes(self):
        yes = np.r_[np.arange(100) < 61, np.arange(100) < 7]
        assert described(yes) == ("61 % yes", "all rows: 34 %")

    def test_shares_near_0_or_1_are_not_shown_as_0_or_1(self):
        yes = np.r_[np.arange(300) > 0, np.arange(300) < 1]
        labels = np.repeat([0, 1], 300)
        assert described(yes, labels=labels)[0] == "over 99 % yes"
        assert described(yes, 1, labels=labels)[0] == "below 1 % yes"

    def test_categories_show_their_shares(self):
        towns = ["Ulm"] * 60 + ["Bonn"] * 40 + ["Ulm"] * 10 + ["Köln"] * 90
        assert described(towns) == ("60 % Ulm, 40 % Bonn", "all rows: 35 %, 20 %")

    def test_averages_of_dates_are_shown_as_dates(self):
        day = ["2013-08-01"] * 50 + ["2013-08-31"] * 50 + ["2018-06-15"] * 100
        assert described(day) == (
            "Aug 2013",
            "2.4 years before the average of Jan 2016",
        )
        near = ["2018-06-01"] * 100 + ["2018-06-11"] * 100
        assert described(near, 1) == (
            "11 Jun 2018",
            "5 days after the average of 6 Jun 2018",
        )

    def test_texts_show_characteristic_words(self):
        texts = [f"my refund is late, number {i}" for i in range(100)]
        texts += [f"nice colour and good price {i}" for i in range(100)]
        value, comparison = described(texts)
        assert set(value.split(", ")) >= {"refund", "late"}
        shares = "100 % of the texts; all rows: 50 %"
        assert re.fullmatch(rf"“\w+” is in {shares}", comparison)

    def test_a_cluster_in_the_middle_is_described_by_its_range(self, rng):
        x = np.r_[rng.uniform(-2, 2, 60), np.tile([-50, 50], 70)]
        value, comparison = described(x, labels=np.repeat([0, 1], [60, 140]))
        assert re.fullmatch(r"−?[\d.]+", value)
        assert re.fullmatch(
            r"values are closer together than elsewhere: the middle half is "
            r"−[\d.]+ to [\d.]+ \(all rows: −50 to 50\)",
            comparison,
        )
        value, comparison = described(x, 1, labels=np.repeat([0, 1], [60, 140]))
        assert comparison.startswith("values are farther apart than elsewhere: ")

    def test_values_of_single_rows_are_formatted(self):
        zero = np.zeros(1)
        number = ColumnProfile("x", "number", "€", zero, limits=[0, 0, 9e3, 9e3])
        assert single(17_419.5, number) == "€17,420"
        small = ColumnProfile("x", "number", "", zero, limits=[-1, 0, 0, 1])
        assert [single(v, small) for v in (0.25, -1e-7)] == ["0.25", "0"]
        assert [amount(v, small) for v in (0.25, -1e-7)] == ["0.25", "0"]
        tiny = ColumnProfile("x", "number", "", zero, limits=[0, 0, 0, 1e-19])
        assert [single(2.5e-20, tiny), amount(2.5e-20, tiny)] == ["2.5e−20"] * 2
        assert single(None, number) == "missing"
        flag = ColumnProfile("x", "boolean", "", np.zeros(1))
        assert [single(v, flag) for v in (-0.0, 1.0, "true")] == ["no", "yes", "yes"]
        whole = ColumnProfile("x", "number", "", zero, whole=True, limits=[0, 0, 9, 9])
        assert single(-1e-9, whole) == "0"
        date = ColumnProfile("x", "date", "", zero, limits=[0, 0, 1e9, 1e9])
        assert single("2020-01-31", date) == "31 Jan 2020"
        yes = ColumnProfile("x", "boolean", "", zero)
        assert [single(v, yes) for v in ("true", 0.0, False)] == ["yes", "no", "no"]
        time = ColumnProfile("x", "time", "", zero)
        assert amount(3600 * 7.5, time) == "07:30"


@pytest.fixture(scope="module")
def shop(blobs):
    """A pipeline that clusters a data frame of customers, and the frame."""
    X, y = blobs
    frame = pd.DataFrame(
        {
            "annual_spend": np.array([1000.0, 5000, 20_000])[y] + 20 * X[:, 0],
            "town": np.array(["Ulm", "Bonn", "Köln"])[y],
            "app": y == 0,
            "noise": X[:, 1] - X[:, 1].round(),
        }
    )
    both = make_column_transformer(
        (StandardScaler(), ["annual_spend"]),
        ("passthrough", ["noise"]),
        (OneHotEncoder(), ["town", "app"]),
    )
    return make_pipeline(both, ApproxKernelKMeans(3, random_state=0)).fit(frame), frame


def card_of(page, cluster):
    found = re.search(
        rf'<article class="cluster" id="cluster-{cluster}".*?</article>', text_of(page)
    )
    return re.sub(r"<svg.*?</svg>", "", found[0])


class TestCards:
    def test_the_page_begins_with_cards_and_ends_with_technical_details(self, shop):
        ids = section_ids(report(*shop))
        assert ids[:3] == ["clusters", "compare", "map"]
        assert ids[-3:] == ["summary", "landmarks", "convergence"]

    def test_a_card_describes_its_cluster_in_original_units(self, shop):
        pipe, frame = shop
        page = report(pipe, frame)
        k = int(pipe.predict(frame[frame.town == "Ulm"])[0])
        card = card_of(page, k)
        assert "<strong>60 %</strong> 500 rows" in card
        assert ">town</span> <strong>100 % Ulm</strong>" in card
        assert (
            '>app</span> <strong>100 % yes</strong>, <span class="than">all rows: 60 %'
            in card
        )
        assert ">annual spend</span> <strong>1,0" in card
        assert "noise</span>" not in card  # noise does not differ between clusters
        assert "clusters are left out: noise." in text_of(page)
        assert re.search(r'<th scope="row">town</th><td>Ulm</td><td>Ulm</td>', card)
        assert re.search(r'<th scope="row">app</th><td>yes</td>', card)
        assert re.search(r"\d+ % of its rows clearly belong here", card)

    def test_an_encoder_gives_names_units_and_original_values(self, rng):
        y = np.repeat([0, 1], 200)
        minutes = np.where(y, 50, 10) + rng.integers(0, 5, 400)
        frame = pd.DataFrame(
            {
                "spend": [f"${x:,.2f}" for x in 1000 + 16_400 * y + rng.random(400)],
                "stay": [f"0:{m:02}:00" for m in minutes],
            }
        )
        encoder = TableEncoder()
        X = encoder.fit_transform(frame)
        model = ApproxKernelKMeans(2, random_state=0).fit(X)
        page = text_of(report(model, X, encoder=encoder))
        assert ">spend</span> <strong>$17,400</strong>" in page
        assert ">stay</span> <strong>52" in page
        assert " minutes</strong>" in page
        pipe = make_pipeline(TableEncoder(), ApproxKernelKMeans(2, random_state=0))
        same = text_of(report(pipe.fit(frame), frame))
        assert ">spend</span> <strong>$17,400</strong>" in same

    def test_filled_values_do_not_distort_averages(self):
        y = np.repeat([0, 1], 200)
        income = np.where(np.arange(400) % 3, 1000.0 + 9000 * y, np.nan)
        frame = pd.DataFrame({"income": income + np.arange(400) % 2, "y": 1.0 * y})
        encoder = TableEncoder(missing="mean")
        X = encoder.fit_transform(frame)
        model = ApproxKernelKMeans(2, random_state=0).fit(X)
        page = text_of(report(model, X, encoder=encoder))
        assert ">income</span> <strong>10,000</strong>" in page
        assert ">income</span> <strong>1,000</strong>" in page

    def test_the_largest_cluster_comes_first(self, shop):
        page = text_of(report(*shop))
        sizes = [int(n) for n in re.findall(r'data-size="(\d+)"', page)]
        assert sizes == [500, 300, 40]

    def test_two_clusters_can_be_compared(self, shop):
        data = picture_data(report(*shop))["compare"]
        columns = {column["name"]: column for column in data["columns"]}
        assert set(columns) == {"annual spend", "town", "app"}
        assert columns["app"]["texts"][0] == "100 % yes"
        town = columns["town"]
        assert dict(zip(town["values"], town["shares"][0], strict=True)) == {
            "Ulm": 1, "Bonn": 0, "Köln": 0,
        }  # fmt: skip

    def test_texts_are_quoted_with_their_words(self):
        texts = ["a red apple pie", "green apple trees", "the old car stops"] * 9
        texts = [f"{text}, number {i}" for i, text in enumerate(texts)]
        pipe = make_pipeline(
            TfidfVectorizer(), ApproxKernelKMeans(2, kernel="cosine", random_state=0)
        ).fit(texts)
        page = text_of(report(pipe, texts))
        assert re.search("<li><q>the old car stops, number", page)
        assert re.search("<strong>[a-z, ]*apple", page)
        assert ">words in text</span>" in page
        compared = picture_data(report(pipe, texts))["compare"]["columns"][0]
        assert any("apple" in words for words in compared["texts"])

    def test_images_are_shown_on_the_cards(self, digits):
        X = digits[0][:200]
        fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
        pictures = [x.reshape(8, 8).repeat(4, 0).repeat(4, 1) for x in X]
        page = report(fitted, X, images=pictures)
        assert "compare" not in section_ids(page)
        for k in range(3):
            assert '<img src="data:image/jpeg' in card_of(page, k)
            assert "<figcaption>most typical</figcaption>" in card_of(page, k)
            assert f'data-name="Cluster {k}"' in card_of(page, k)
            assert "traits" not in card_of(page, k)  # pixels mean nothing to readers

    def test_cards_of_many_clusters_are_closed(self, rng):
        X = rng.normal(size=(3000, 3)).astype(np.float32)
        fitted = ApproxKernelKMeans(100, n_landmarks=100, random_state=0).fit(X)
        page = text_of(report(fitted, X))
        assert page.count('<article class="cluster"') == 100
        assert '<details open="open">' not in page
        assert '<option value="clear">' in page

    def test_the_card_says_if_no_column_sets_a_cluster_apart(self, rng):
        X = rng.normal(scale=0.05, size=(400, 2))
        X += np.array([[0, 0], [1, 1], [0, 1], [1, 0]])[np.arange(400) // 100]
        kernel = lambda A, B: (2 * A - 1).prod(1)[:, None] * (2 * B - 1).prod(1)  # noqa: E731
        model = ApproxKernelKMeans(2, kernel=kernel, random_state=0).fit(X)
        page = report(model, X)
        assert "No single column sets this cluster apart" in text_of(page)
        assert "compare" not in section_ids(page)

    def test_a_disc_in_a_ring_is_named_by_its_place_in_the_middle(self, rng):
        angle, ring = rng.uniform(0, 2 * np.pi, 2000), np.arange(2000) % 2
        radius = ring + rng.normal(scale=0.05, size=2000)
        X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
        model = DiffusionKernelKMeans(2, random_state=0).fit(X)
        page = report(model, X, feature_names=["x", "y"])
        text = text_of(page)
        names = re.findall(r'data-name="([^"]*)"', text)
        parts = [sorted(name.lower().split(", ")) for name in names]
        assert sorted(parts) == [
            ["average x", "average y"],
            ["low or high x", "low or high y"],
        ]
        compared = picture_data(page)["compare"]["columns"][0]
        assert abs(np.diff(compared["positions"])[0]) < 0.05
        assert abs(np.diff(compared["distances"])[0]) > 0.4
        assert re.search(r"\(−?[\d.]+ to [\d.]+\)", compared["texts"][0])
        assert compared["range"]

    def test_cards_of_a_large_ensemble_show_the_certainty(self, blobs, monkeypatch):
        """Votes are known for all rows, but distances only for a sample."""
        monkeypatch.setattr("akkm.inspect._distances._ENSEMBLE_ROWS", 400)
        model = EnsembleKernelKMeans(3, random_state=0).fit(blobs[0])
        page = text_of(report(model, blobs[0]))
        assert page.count("of its rows clearly belong here") == 3

    def test_one_cluster_has_a_card_without_comparison(self, blobs):
        page = report(ApproxKernelKMeans(1, random_state=0).fit(blobs[0]), blobs[0])
        assert "compare" not in section_ids(page)
        assert text_of(page).count('<article class="cluster"') == 1

    def test_the_heat_map_shows_one_of_two_opposite_columns(self, shop):
        html = report(*shop).html
        table = html[
            html.index("Standardised means") : html.index("Typical rows of each")
        ]
        assert table.count("__app_") == 1
        typical = html[html.index("Typical rows of each") :]
        headings = re.findall(r"<span>Cluster.*?</span>", typical, re.DOTALL)
        assert len(headings) == 3
        assert not any("app_True" in h and "app_False" in h for h in headings)
