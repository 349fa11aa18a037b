"""Reports about generated customers agree with the parameters of the generator."""

import re

import numpy as np
import pytest

import customers as generator
from akkm import ApproxKernelKMeans
from akkm.inspect import Inspection
from akkm.report import report
from akkm.tables import TableEncoder
from report.page_parts import text_of


@pytest.fixture(scope="module")
def clustered():
    """The segment of each cluster, the profiles of the columns, and the report."""
    table, segments = generator.customers(20_000)
    encoder = TableEncoder(id="customer", missing="mean").fit(table)
    X = encoder.encode(table).X
    model = ApproxKernelKMeans(5, random_state=0).fit(X)
    facts = Inspection(model, X, encoder=encoder)
    of_cluster = [np.bincount(segments[model.labels_ == k]).argmax() for k in range(5)]
    assert sorted(of_cluster) == list(range(5))
    page = report(model, X, encoder=encoder)
    columns = {column.name: column for column in facts.profiles.columns}
    return of_cluster, columns, page


def medians(params):
    return np.array(params, dtype=float)[:, 0]


class TestCustomers:
    @pytest.mark.parametrize(
        ("name", "expected", "tolerance"),
        [
            ("age", medians(generator.AGE), 0.05),
            ("spend", medians(generator.SPEND), 0.12),
            ("discount", medians(generator.DISCOUNT), 0.1),
            ("visits", np.array(generator.VISITS, dtype=float), 0.1),
            ("time_per_visit", 60 * medians(generator.MINUTES), 0.1),
        ],
    )
    def test_averages_agree_with_the_generator(
        self, clustered, name, expected, tolerance
    ):
        of_cluster, columns, _ = clustered
        np.testing.assert_allclose(
            columns[name].centers, expected[of_cluster], rtol=tolerance
        )

    def test_usual_hours_agree_with_the_generator(self, clustered):
        of_cluster, columns, _ = clustered
        hours = columns["last_visit (time of day)"].centers / 3600 % 24
        np.testing.assert_allclose(
            hours, np.array(generator.HOURS)[of_cluster], atol=0.25
        )

    def test_average_incomes_ignore_sentinels_and_missing_values(self, clustered):
        of_cluster, columns, _ = clustered
        median, spread = np.array(generator.INCOME).T
        mean = median * np.exp(spread**2 / 2)
        expected = median if columns["income"].average == "median" else mean
        np.testing.assert_allclose(
            columns["income"].centers, expected[of_cluster], rtol=0.05
        )

    @pytest.mark.parametrize(
        ("name", "shares"), [("app", "APP"), ("newsletter", "NEWSLETTER")]
    )
    def test_shares_of_yes_agree_with_the_generator(self, clustered, name, shares):
        of_cluster, columns, _ = clustered
        expected = np.array(getattr(generator, shares))[of_cluster]
        np.testing.assert_allclose(columns[name].centers, expected, atol=0.05)

    @pytest.mark.parametrize(
        ("name", "values", "shares"),
        [
            ("channel", generator.CHANNELS, generator.CHANNEL),
            ("favourite", generator.PRODUCTS, generator.PRODUCT),
        ],
    )
    def test_shares_of_categories_agree_with_the_generator(
        self, clustered, name, values, shares
    ):
        of_cluster, columns, _ = clustered
        order = [values.index(value) for value in columns[name].values]
        expected = np.array(shares)[of_cluster][:, order]
        np.testing.assert_allclose(columns[name].shares, expected, atol=0.05)

    def test_every_card_names_what_distinguishes_its_segment(self, clustered):
        of_cluster, _, page = clustered
        cards = re.findall(r'<article class="cluster".*?</article>', text_of(page))
        typical = {
            "students": (
                "very low age|born very late",
                r"channel</span> <strong>8\d % app",
            ),
            "families": ("high visits", r"favourite</span> <strong>4\d % toys"),
            "professionals": (
                "very low discount",
                r"favourite</span> <strong>[45]\d % elec",
            ),
            "retired": (
                "very high age|born very early",
                r"channel</span> <strong>\d\d % store",
            ),
            "traders": ("very high spend", r"favourite</span> <strong>6\d % office"),
        }
        for card in cards:
            cluster = int(re.search(r'data-cluster="(\d)"', card)[1])
            words, line = typical[generator.SEGMENTS[of_cluster[cluster]]]
            name = re.search(r'data-name="([^"]*)"', card)[1].lower()
            assert re.search(words, name)
            assert re.search(line, card), card
