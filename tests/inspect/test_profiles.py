"""Kinds of columns, their values per cluster in original units, and cluster names."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from akkm import ApproxKernelKMeans
from akkm.inspect import Inspection, RowSample, cluster_names
from akkm.inspect._names import _part
from akkm.inspect._profiles import _times_in_order, cluster_profiles
from akkm.inspect._typed import typed_columns


def profiles(labels, weights=None, **columns):
    """Return the profiles of columns, for rows with the given labels."""
    labels = np.asarray(labels)
    weights = np.ones(len(labels)) if weights is None else weights
    sample = RowSample(np.arange(len(labels)), weights)
    n_clusters = labels.max() + 1
    return cluster_profiles(columns, sample, labels, n_clusters, original=True)


def kinds(**columns):
    return {column.name: column.kind for column in typed_columns(columns)}


TWO = np.repeat([0, 1], 100)


class TestKinds:
    def test_kinds_are_inferred_from_values(self):
        day, n = datetime.date(2020, 1, 31), 50
        found = kinds(
            age=[31.5, None] * n,
            member=[True, False] * n,
            flag=["yes", "no"] * n,
            dummy=np.tile([0.0, 1.0, 1.0, 1.0], 25),
            town=["Ulm", "Bonn"] * n,
            joined=[day, None] * n,
            changed=["2020-01-31 10:00:00", "2021-01-31 10:00:00"] * n,
            wake=[datetime.time(7, 30)] * 2 * n,
            stay=[datetime.timedelta(hours=2)] * 2 * n,
            review=[f"this is the review with number {i}" for i in range(2 * n)],
            key=[f"C-{i}" for i in range(2 * n)],
            empty=[None] * 2 * n,
        )
        assert found == {
            "age": "number",
            "member": "boolean",
            "flag": "boolean",
            "dummy": "boolean",
            "town": "category",
            "joined": "date",
            "changed": "date",
            "changed (time of day)": "time",
            "wake": "time",
            "stay": "duration",
            "review": "text",
        }

    def test_impossible_dates_are_texts_and_decimals_are_numbers(self):
        found = kinds(
            day=["2020-02-28", "2020-02-31"] * 50, price=[Decimal("1.5"), None] * 50
        )
        assert found == {"day": "category", "price": "number"}

    def test_one_hot_columns_are_joined_into_one_column(self):
        found = typed_columns(
            {
                "town=Ulm": np.array([1, 0, 0, 0]),
                "town=Bonn": np.array([0, 1, 0, 1]),
                "app=false": np.array([0, 1, 1, 0]),
                "app=true": np.array([1, 0, 0, 1]),
            }
        )
        assert [(c.name, c.kind) for c in found] == [
            ("town", "category"),
            ("app", "boolean"),
        ]
        assert found[0].texts.tolist() == ["Ulm", "Bonn", "", "Bonn"]
        assert found[1].numbers.tolist() == [1, 0, 0, 1]

    def test_of_two_opposite_yes_no_columns_one_is_left_out(self):
        yes = np.array([1.0, 0, 0, 1])
        assert list(kinds(member=yes, stranger=1 - yes, other=yes)) == [
            "member", "other",
        ]  # fmt: skip


class TestProfiles:
    def test_means_and_effects_of_numbers_follow_their_definitions(self, rng):
        values = rng.normal(size=200) + TWO
        found = profiles(TWO, x=values).columns[0]
        assert found.overall == pytest.approx(values.mean())
        inside, outside = values[:100], values[100:]
        expected = [inside.mean(), outside.mean()]
        np.testing.assert_allclose(found.centers, expected)
        delta = np.sign(inside[:, None] - outside).mean()  # Cliff's delta
        np.testing.assert_allclose(found.effects, [delta, -delta], atol=1e-12)
        np.testing.assert_allclose(
            found.quartiles[0], np.quantile(inside, [0.25, 0.75])
        )

    def test_weights_count_as_repeated_rows(self, rng):
        values, weights = rng.normal(size=200) + TWO, np.where(TWO, 3.0, 1.0)
        found = profiles(TWO, weights, x=values, yes=values > 0.5)
        times = weights.astype(int)
        same = profiles(
            np.repeat(TWO, times),
            x=values.repeat(times),
            yes=(values > 0.5).repeat(times),
        )
        for a, b in zip(found.columns, same.columns, strict=True):
            assert a.overall == pytest.approx(b.overall)
            np.testing.assert_allclose(a.effects, b.effects, atol=1e-12)
            np.testing.assert_allclose(a.centers, b.centers)

    def test_the_effect_of_a_yes_no_column_is_the_difference_of_shares(self):
        yes = np.r_[np.arange(100) < 80, np.arange(100) < 30]
        found = profiles(TWO, app=yes).columns[0]
        assert found.centers.tolist() == [0.8, 0.3]
        assert found.overall == pytest.approx(0.55)
        np.testing.assert_allclose(found.effects, [0.5, -0.5])

    def test_categories_have_shares(self):
        town = ["Ulm"] * 90 + ["Bonn"] * 10 + ["Ulm"] * 20 + ["Bonn"] * 80
        found = profiles(TWO, town=town).columns[0]
        top = found.top_values(0, 3)
        assert [found.values[j] for j in top] == ["Ulm"]
        assert found.shares[0][top[0]] == 0.9
        assert found.overall_shares[top[0]] == pytest.approx(0.55)
        np.testing.assert_allclose(found.effects, [0.7, 0.7])

    def test_the_pool_of_rare_values_characterises_no_cluster(self):
        town = ["(other)"] * 100 + ["Bonn"] * 100
        found = profiles(TWO, town=town).columns[0]
        assert found.effects.tolist() == [0, 1]
        assert found.top_values(0, 3) == []

    def test_texts_have_characteristic_words(self):
        text = ["the refund is late again"] * 60 + ["the parcel is late again"] * 40
        text += [f"the colour is very nice {i}" for i in range(100)]
        found = profiles(TWO, text=text).columns[0]
        words = [found.values[j] for j in found.top_values(0, 3)]
        assert set(words) == {"again", "late", "refund"}
        assert "the" not in words

    def test_columns_that_do_not_differ_are_left_out(self, rng):
        found = profiles(TWO, noise=rng.normal(size=200), x=TWO + 0.0 * TWO)
        assert [column.name for column in found.columns] == ["x"]
        assert found.left_out == ("noise",)

    def test_if_only_times_differ_the_date_is_left_out(self):
        seen = [
            datetime.datetime(2024, 1, 1 + i % 10, 9 + 9 * TWO[i]) for i in range(200)
        ]
        found = profiles(TWO, seen=seen)
        assert [column.name for column in found.columns] == ["seen (time of day)"]
        assert found.left_out == ("seen (date)",)

    def test_a_number_is_preferred_to_a_date_that_says_the_same(self, rng):
        age = np.round(rng.normal(size=200) + 4 * TWO + 40)
        days = rng.integers(0, 99, 200) + 365.25 * age
        born = np.datetime64("2024-06-01") - days.astype("m8[D]")
        found = profiles(TWO, born=born.tolist(), age=age)
        assert [column.name for column in found.traits(1)] == ["age", "born"]
        worse = np.where(np.arange(200) % 5 == 0, age[::-1], age)
        found = profiles(TWO, born=born.tolist(), age=worse)
        assert found.traits(1)[0].name == "born"

    def test_a_difference_that_may_be_chance_is_left_out(self):
        labels = np.r_[np.zeros(200, int), 1, 1]
        half = np.r_[np.tile([0.0, 1.0], 100), 1, 1]
        assert profiles(labels, x=half).columns == ()

    def test_a_disc_in_a_ring_differs_in_the_distance_to_the_median(self, rng):
        x = np.r_[rng.uniform(-0.2, 0.2, 100), rng.choice([-1, 1], 100) * 1.0]
        found = profiles(TWO, x=x + 5).columns[0]
        assert found.folded.all()
        np.testing.assert_allclose(found.effects, [-0.5, 0.5])

    def test_columns_with_extreme_values_are_described_by_the_median(self, rng):
        income = rng.normal(40_000, 5_000, 200) + 20_000 * TWO
        assert profiles(TWO, income=income).columns[0].average == "mean"
        income[::20] = 9_999_999
        found = profiles(TWO, income=income).columns[0]
        assert found.average == "median"
        assert found.centers[0] == pytest.approx(40_000, rel=0.1)

    def test_an_average_never_contradicts_the_effect(self, rng):
        """Values of cluster 1 are above most other values, but below the mean."""
        labels = np.repeat([0, 1, 2], [300, 200, 50])
        spend = np.array([100.0, 300, 9000])[labels] * rng.uniform(0.9, 1.1, 550)
        found = profiles(labels, spend=spend).columns[0]
        assert found.effects[1] > 0.3
        assert spend[labels == 1].mean() < spend.mean()
        assert found.average == "median"
        assert found.centers[1] > found.overall

    def test_columns_with_the_same_information_come_last(self, rng):
        age = rng.normal(30, 5, 200) + 30 * TWO
        found = profiles(TWO, age=age, born=2020 - age, spend=TWO + rng.random(200))
        assert [c.name for c in found.traits(0)][:2] in (
            ["age", "spend"],
            ["spend", "age"],
            ["spend", "born"],
            ["born", "spend"],
        )
        assert len(found.traits(0)) == 3

    def test_dates_with_a_time_also_give_the_time_of_day(self, rng):
        day = rng.integers(0, 500, 200) * 86_400.0
        hour = np.where(TWO, 22, 9) + rng.random(200)
        seen = [
            datetime.datetime.fromtimestamp(s, datetime.UTC) for s in day + hour * 3600
        ]
        found = profiles(TWO, seen=seen).columns
        assert [(c.name, c.kind) for c in found] == [("seen (time of day)", "time")]
        assert found[0].centers[0] == pytest.approx(9.5 * 3600, abs=600)

    def test_missing_values_are_left_out(self):
        values = np.where(np.arange(200) % 2, np.nan, TWO * 1.0)
        found = profiles(TWO, x=values).columns[0]
        assert found.centers.tolist() == [0, 1]


class TestTimes:
    def test_times_after_midnight_are_late(self):
        hours = np.r_[np.linspace(18, 26, 100), np.linspace(8, 12, 100)]
        start = datetime.datetime(2024, 1, 1)
        seen = [start + datetime.timedelta(hours=h) for h in hours]
        columns = profiles(TWO, seen=seen).columns
        found = next(c for c in columns if c.kind == "time")
        assert found.centers / 3600 == pytest.approx([22, 10], abs=0.1)
        assert _part(found, 0) == "seen very late in the day"

    def test_the_day_starts_at_midnight_if_all_hours_have_rows(self, rng):
        seconds = rng.uniform(0, 86_400, 2_000)
        assert (_times_in_order(seconds, np.ones(2_000)) == seconds).all()


class TestInspection:
    def frame(self, blobs):
        X, y = blobs
        towns = np.array(["Ulm", "Bonn", "Köln"])[y]
        return pd.DataFrame({"spend": 1000 + 50 * X[:, 0], "town": towns}), y

    def test_a_pipeline_is_described_in_the_units_of_its_input(self, blobs):
        frame, _ = self.frame(blobs)
        both = make_column_transformer(
            (StandardScaler(), ["spend"]), (OneHotEncoder(), ["town"])
        )
        pipe = make_pipeline(both, ApproxKernelKMeans(3, random_state=0)).fit(frame)
        facts = Inspection(pipe, frame)
        found = {column.name: column for column in facts.profiles.columns}
        assert facts.profiles.original
        assert found["town"].kind == "category"
        labels = pipe[-1].labels_
        expected = [frame["spend"][labels == k].mean() for k in range(3)]
        np.testing.assert_allclose(found["spend"].centers, expected)

    def test_names_tell_clusters_apart(self, blobs):
        frame, _ = self.frame(blobs)
        both = make_column_transformer(
            (StandardScaler(), ["spend"]), (OneHotEncoder(), ["town"])
        )
        pipe = make_pipeline(both, ApproxKernelKMeans(3, random_state=0)).fit(frame)
        names = cluster_names(Inspection(pipe, frame))
        assert len(set(names)) == 3
        for name, town in zip(names, ("Ulm", "Bonn", "Köln"), strict=False):
            assert any(f"town {town}" in other for other in names), name

    def test_clusters_of_texts_are_named_by_their_words(self):
        texts = ["a red apple pie", "green apple trees", "the old car stops"] * 9
        texts = [f"{text} {i}" for i, text in enumerate(texts)]
        pipe = make_pipeline(
            TfidfVectorizer(), ApproxKernelKMeans(2, kernel="cosine", random_state=0)
        ).fit(texts)
        facts = Inspection(pipe, texts)
        assert facts.profiles.columns[0].kind == "text"
        assert any("apple" in name for name in cluster_names(facts))

    def test_names_mention_two_equal_categories_and_categories_that_are_absent(self):
        labels = np.repeat([0, 1], [80, 20])
        found = profiles(
            labels,
            result=["none"] * 80 + ["won", "lost"] * 10,
            kind=["a", "b", "c", "d"] * 20 + ["big"] * 20,
            member=[True] * 80 + [False] * 20,
        )
        parts = {
            column.name: [_part(column, k) for k in (0, 1)] for column in found.columns
        }
        assert parts == {
            "result": ["result none", "result lost or won"],
            "kind": ["kind not big", "kind big"],
            "member": ["member", "member: no"],
        }

    def test_a_precomputed_kernel_has_numbered_clusters(self, model, blobs):
        K = model.kernel_(blobs[0])
        fitted = ApproxKernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
        facts = Inspection(fitted, K)
        assert facts.profiles is None
        assert cluster_names(facts) == ("cluster 0", "cluster 1", "cluster 2")

    def test_equal_names_are_extended_by_the_cluster_number(self, rng):
        """No column alone distinguishes a cluster from all others."""
        X = rng.normal(scale=0.05, size=(400, 2))
        X += np.array([[0, 0], [1, 1], [0, 1], [1, 0]])[np.arange(400) // 100]
        model = ApproxKernelKMeans(4, random_state=0).fit(X)
        names = cluster_names(Inspection(model, X, feature_names=["a", "b"]))
        assert len(set(names)) == 4


def test_all_clusters_are_described_by_the_same_one_of_two_equivalent_columns():
    """Each column of a pair is the more distinctive one in one of the clusters."""
    labels = np.repeat([0, 1, 2], 200)
    x = np.r_[np.arange(200.0), np.arange(190.0, 390), np.arange(380.0, 580)]
    noise = np.where(labels == 0, 60 * np.sin(np.arange(600)), 0)
    sample = RowSample(np.arange(600), np.ones(600))
    found = cluster_profiles(
        {"age": x + noise, "born": -x - noise[::-1]}, sample, labels, 3, original=True
    )
    assert found.alike
    best = [max(found.columns, key=lambda c: abs(c.effects[k])).name for k in range(3)]
    assert len(set(best)) == 2
    assert {found.traits(k)[0].name for k in (0, 2)} == {found.columns[0].name}


def test_long_names_of_columns_do_not_hide_values_in_names_of_clusters():
    question = "How satisfied are you with the service of our company"
    values = np.repeat(["very", "not at all"], 100)
    found = profiles(np.repeat([0, 1], 100), **{question: values})
    names = [_part(found.columns[0], k) for k in (0, 1)]
    assert [name.partition("…: ")[2] for name in names] == ["very", "not at all"]
    assert max(map(len, names)) <= 40
