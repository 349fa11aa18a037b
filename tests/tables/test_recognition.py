"""Recognition of column kinds; sentinels, heavy tails, parts of dates, weights."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from akkm.tables import TableEncoder, TableError, open_table
from akkm.tables._distribution import find_sentinels, tail_share
from akkm.tables._text_numbers import TextFormat, parse, recognise, write
from customers import customers

N = 400


def encoder_of(values, **params):
    table = pa.table({"x": values, "other": np.arange(len(values)) % 7})
    return TableEncoder(**params).fit(table)


@pytest.mark.parametrize(
    ("texts", "role", "unit", "numbers"),
    [
        (["$1,234.50", "$7.00"], "money", "$", [1234.5, 7]),
        (["-$1,234.50", "($7.00)"], "money", "$", [-1234.5, -7]),
        (["1.234,50 €", "7,00 €"], "money", "€", [1234.5, 7]),
        (["1.234 €", "12.500 €"], "money", "€", [1234, 12500]),
        (["EUR 1,234", "EUR 7"], "money", "EUR", [1234, 7]),
        (["12.5 %", "3 %"], "percentage", "%", [12.5, 3]),
        (["12%", "0.5%"], "percentage", "%", [12, 0.5]),
        (["0:06:26", "12:00:00"], "duration", "s", [386, 43_200]),
        (["2h 5min", "3 h"], "duration", "s", [7_500, 10_800]),
        (["90 min", "5 min"], "duration", "s", [5_400, 300]),
        (["1 day", "3 days"], "duration", "s", [86_400, 259_200]),
        (["180 cm", "175.5 cm"], "number", "cm", [180, 175.5]),
        (["3,5", "4,75"], "number", "", [3.5, 4.75]),
        (["1,234,000", "2,345"], "number", "", [1_234_000, 2_345]),
        (["1 234,5", "7,5"], "number", "", [1234.5, 7.5]),
    ],
)
def test_numbers_written_as_text_are_recognised(texts, role, unit, numbers):
    form = recognise(texts)
    assert (form.role, form.unit) == (role, unit)
    np.testing.assert_allclose(parse(texts, form), numbers)
    np.testing.assert_allclose(parse(write(np.array(numbers), form), form), numbers)


@pytest.mark.parametrize("blank", ["", " "])
def test_blank_texts_among_numbers_are_missing_values(blank):
    texts = [f"{i % 40}.5 %" if i % 9 else blank for i in range(N)]
    encoder = encoder_of(texts)
    assert encoder.columns_[0]["role"] == "percentage"
    assert any("45 in 'x'" in note for note in encoder.notes_)


@pytest.mark.parametrize(
    "text",
    [
        *("2024-12-31", "31.12.2024", "12/31/2024", "2024/12/31", "Dec 31, 2024"),
        *("31.12.2024 00:00", "2024-12-31 00:00:00", "31 December 2024"),
    ],
)
def test_dates_written_as_text_are_recognised(text):
    form = recognise([text, text])
    seconds = datetime.datetime(2024, 12, 31, tzinfo=datetime.UTC).timestamp()
    assert form.role == "date"
    assert parse([text, "soon"], form)[0] == seconds
    assert np.isnan(parse([text, "soon"], form)[1])
    assert write(np.array([seconds]), form) == [text]


@pytest.mark.parametrize(
    "texts",
    [
        *(["red", "blue"], ["C85", "C86"], ["007", "12"], ["12", "15"], ["$5", "5 €"]),
        *(["1,234", "5,678"], ["1.2.3", "4.5.6"], ["$5", "free"], ["31.12.2024", "x"]),
    ],
)
def test_other_texts_are_not_recognised(texts):
    assert recognise(texts) is None


def test_columns_are_encoded_by_their_role(rng):
    amounts = rng.integers(100, 9_000, N) / 4
    days = np.datetime64("2021-03-01") + rng.integers(0, 300, N).astype("m8[D]")
    table = pa.table(
        {
            "price": [f"${x:,.2f}" for x in amounts],
            "plain": amounts,
            "day": [f"{d.astype(object):%d.%m.%Y}" for d in days],
            "typed": days,
        }
    )
    encoder = TableEncoder()
    X = encoder.fit_transform(table)
    np.testing.assert_array_equal(X[:, 0], X[:, 1])
    np.testing.assert_array_equal(X[:, 2], X[:, 3])
    assert [f.role for f in encoder.facts()] == ["money", "number", "date", "date"]
    decoded = encoder.inverse_transform(X)
    assert decoded.equals(table)
    in_units = encoder.original_table(X)
    assert in_units["price"].to_pylist() == amounts.tolist()
    assert in_units["day"].to_pylist() == in_units["typed"].to_pylist()


def test_a_column_of_amounts_accepts_plain_numbers():
    encoder = encoder_of(["$5", "$7", "$9"])
    new = pa.table({"x": [5, 9], "other": [0, 1]})
    texts = pa.table({"x": ["$5", "$9"], "other": [0, 1]})
    np.testing.assert_array_equal(encoder.transform(new), encoder.transform(texts))
    with pytest.raises(TableError, match=r"money, but row 1 .* has '5 EUR'"):
        encoder.transform(pa.table({"x": ["5 EUR"], "other": [0]}))


def test_dates_whose_day_and_month_may_be_exchanged_are_noted():
    (note,) = encoder_of(["1/2/2024", "3/4/2024", "5/6/2023"]).notes_
    assert note.startswith("x: read as month/day/year, but the other order of day")
    (note,) = encoder_of(["01-02-2024", "03-04-2024"]).notes_
    assert note.startswith("x: read as day-month-year, but the other order of day")


@pytest.mark.parametrize(
    ("texts", "role", "values"),
    [
        (["0.5k", "900", "-1.2M"], "number", [500, 900, -1_200_000]),
        (["$0.5K", "$3.1B"], "money", [500, 3.1e9]),
        (["R$ 469,13", "R$ 1.344,29"], "money", [469.13, 1344.29]),
        (["469.13 zł", "12.00 zł"], "money", [469.13, 12]),
        (["469.13", "120.50-"], "number", [469.13, -120.5]),
        (["3h 23m", "0h 5m"], "duration", [12_180, 300]),
        (["7h07", "0h22"], "duration", [25_620, 1_320]),
        (["5m", "3m"], "number", [5, 3]),  # metres
    ],
)
def test_units_and_signs_of_numbers_are_recognised(texts, role, values):
    form = recognise(texts)
    assert form.role == role
    np.testing.assert_allclose(parse(texts, form), values)
    np.testing.assert_allclose(parse(write(np.array(values), form), form), values)


@pytest.mark.parametrize("texts", [["12B", "3M"], ["1.2.20", "2.3.14"], ["3/4", "1/4"]])
def test_codes_and_versions_are_no_numbers(texts):
    assert recognise(texts) is None


@pytest.mark.parametrize(
    ("texts", "day"),
    [
        (["7/6/2023 2:47 PM", "10/19/2023 8:46 AM"], "2023-07-06T14:47"),
        (["02/12/20", "04/23/18"], "2020-02-12T00:00"),
        (["Dec-18", "Mar-15"], "2018-12-01T00:00"),
        (["2023-11", "2022-03"], "2023-11-01T00:00"),
        (["10.12.20", "31.01.99"], "2020-12-10T00:00"),
    ],
)
def test_dates_in_unusual_forms_are_recognised(texts, day):
    form = recognise(texts)
    expected = np.datetime64(day, "s").astype(float)
    assert form.role == "date"
    assert parse(texts, form)[0] == expected
    assert parse(write(np.array([expected]), form), form)[0] == expected


class TestLeftOut:
    def test_identifiers_free_text_and_rare_values_are_left_out(self, rng):
        words = ["we", "like", "the", "red", "big", "car", "of", "my", "aunt"]
        table = pa.table(
            {
                "customer": [f"C{i:05}" for i in range(N)],
                "order_id": rng.permutation(10**6)[:N] + 7,
                "comment": [" ".join(rng.choice(words, 6)) for _ in range(N)],
                "ticket": [f"T{i}" for i in rng.integers(0, N, N)],
                "income": rng.permutation(10**6)[:N],
                "town": rng.choice(["Ulm", "Bonn"], N),
            }
        )
        encoder = TableEncoder().fit(table)
        assert [f.name for f in encoder.facts()] == ["income", "town"]
        lines = encoder.describe()
        assert lines[2].endswith(": customer, order_id")
        assert lines[3] == (
            "left out, as free text (--words clusters by it; reports list its words): "
            "comment"
        )
        assert lines[4].startswith("left out, as most values occur only once")
        forced = TableEncoder(text=["ticket"], columns=["order_id", "ticket"])
        assert [f.name for f in forced.fit(table).facts()] == ["order_id", "ticket"]

    def test_numbers_that_may_be_codes_are_noted(self, rng):
        table = pa.table(
            {
                "tax_code": rng.integers(10_000, 99_999, N),
                "serial": rng.permutation(10**6)[:N] + 10**8,
            }
        )
        assert TableEncoder().fit(table).notes_ == [
            "tax_code: used as numbers; if these are codes, add --text tax_code",
            "serial: used as numbers; if these are identifiers, add --drop serial",
        ]

    def test_numbers_named_like_codes_are_categories_or_left_out(self, rng):
        columns = {
            "store_id": rng.integers(1, 9, N),
            "product_id": rng.integers(1, 130, N),
            "account_no": rng.permutation(10**6)[:N],
            "plz": rng.choice([1067, 4103], N),
            "has_id": rng.integers(0, 2, N),
        }
        table = pa.table(columns)
        encoder = TableEncoder().fit(table)
        kinds = {e["name"]: (e["kind"], e.get("reason")) for e in encoder.columns_}
        hows = {e["name"]: e["how"] for e in encoder.columns_}
        assert hows["store_id"] == hows["plz"] == "one-hot"
        assert hows["product_id"] == hows["account_no"] == "left out"
        assert kinds["product_id"][1] == kinds["account_no"][1] == "id"
        assert kinds["has_id"][0] == "number"
        back = encoder.inverse_transform(encoder.transform(table))
        assert back["store_id"].equals(table["store_id"])
        # Columns that the user names are used as numbers.
        chosen = TableEncoder(columns=list(columns)).fit(table)
        assert {e["kind"] for e in chosen.columns_} == {"number"}

    def test_leading_zeros_mean_codes_in_csv(self, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text("plant,size\n" + "007,1.5\n011,2\n" * 30)
        encoder = TableEncoder().fit(open_table(str(path)))
        assert encoder.feature_names_ == ["plant=007", "plant=011", "size"]
        assert encoder.transform(open_table(str(path))).shape == (60, 3)

    @pytest.mark.parametrize("dtype", [np.int64, np.float64])
    def test_dates_written_as_digits_are_dates(self, dtype):
        days = np.arange("2020-01", "2020-03", dtype="M8[D]").astype(str)
        digits = np.char.replace(days, "-", "").astype(dtype)
        table = pa.table({"day": pa.array(digits.tolist())})
        encoder = TableEncoder().fit(table)
        (fact,) = encoder.facts()
        assert fact.role == "date"
        values = encoder.original_table(encoder.transform(table))["day"].to_pylist()
        assert [str(day) for day in values] == days.tolist()
        # 2020-13-01 is no date.
        wrong = pa.table({"day": pa.array([*digits.tolist(), dtype(20201301)])})
        assert TableEncoder(columns=["day"]).fit(wrong).facts()[0].role != "date"


class TestNotes:
    def test_spellings_that_differ_in_case_or_spaces_are_noted(self):
        (note,) = encoder_of(["yes", "No", " no"] * 20).notes_
        assert note.startswith("x: values that differ only in case or spaces, such as")

    def test_numbers_among_categories_are_noted(self, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text("x\n" + "".join(f"{i}\n100+\n" for i in range(60)) * 2)
        (note,) = TableEncoder().fit(open_table(str(path))).notes_
        assert note.startswith("x: 50% of the values are numbers, but the column is")
        assert "--na 100+ reads numbers" in note

    def test_zeros_far_below_all_other_values_are_noted(self, rng):
        bmi = np.where(np.arange(N) % 40, rng.uniform(18, 40, N), 0)
        (note,) = encoder_of(bmi.tolist()).notes_
        assert note.startswith("x: some values are 0, far below all others")


class TestSentinels:
    @pytest.mark.parametrize(
        ("values", "odd"),
        [
            (np.arange(18, 90), -1),
            (np.arange(1_000, 90_000, 250), 9_999_999),
            (np.arange(0, 28), 999),
            (np.arange(1, 80), -99),
            (np.linspace(30, 200, 60), 9_999),
            (np.linspace(0, 1, 50), -9),
            (np.repeat(np.arange(1, 6), 20), 99),
            (np.repeat([1, 2], 50), 97),
        ],
    )
    def test_far_and_repeated_values_are_found(self, values, odd):
        x = np.append(np.tile(values, 5), [odd] * 6).astype(float)
        assert find_sentinels(x).values == (odd,)
        assert find_sentinels(np.append(values, odd).astype(float)).values == ()

    @pytest.mark.parametrize(
        "values",
        [
            np.random.default_rng(0).normal(size=5_000),
            np.random.default_rng(0).lognormal(sigma=2, size=5_000),
            np.random.default_rng(0).poisson(3, 5_000),
            np.random.default_rng(0).integers(-1, 30, 5_000),
            np.random.default_rng(0).integers(-20, 30, 5_000),
            np.random.default_rng(0).choice([0, 0, 0, 5_000, 7_500], 5_000),
            np.random.default_rng(0).choice([1, 2, 3, 99], 5_000),
            np.random.default_rng(0).zipf(2, 5_000),
            np.repeat([0.0, 1000.0], [4_990, 10]),
        ],
    )
    def test_ordinary_columns_have_no_sentinels(self, values):
        assert find_sentinels(np.asarray(values, float)).values == ()

    def test_several_sentinels_at_both_ends_are_found(self):
        x = np.repeat([*np.arange(20.0, 60), -1, 999, 99_999], [3] * 43)
        assert find_sentinels(x).values == (-1, 999, 99_999)

    def test_sentinels_count_as_missing(self, rng):
        x = rng.normal(50_000, 9_000, N).round()
        gaps = rng.random(N) < 0.05
        odd, null = x.copy(), pa.array(x, mask=gaps)
        odd[gaps] = 9_999_999
        encoder, expected = encoder_of(odd), encoder_of(null)
        ours, theirs = (
            e.transform(pa.table({"x": v, "other": np.arange(N) % 7}))
            for e, v in ((encoder, odd), (expected, null))
        )
        np.testing.assert_array_equal(ours, theirs)
        count = gaps.sum()
        assert encoder.notes_[0].startswith(
            f"x: 9,999,999 in {count:,} rows counts as missing, because all other "
        )
        kept = encoder_of(odd, sentinels="keep")
        assert kept.columns_[0]["sentinels"] == []
        dropped = encoder_of(odd, missing="drop")
        assert f"{count} of {N} rows with missing values left out" in dropped.notes_[-1]
        with pytest.raises(TableError, match=r"9,999,999, .* --sentinels keep"):
            encoder_of(odd, missing="error")

    def test_sentinels_of_dates_are_found(self, rng):
        days = np.datetime64("1950-01-01") + rng.integers(0, 18_000, N).astype("m8[D]")
        days[::20] = np.datetime64("1900-01-01")
        assert "1900-01-01 in 20 rows" in encoder_of(days).notes_[0]


class TestScales:
    def test_heavy_tails_are_compressed(self, rng):
        x = rng.lognormal(0, 2, 5_000)
        assert tail_share(x) > 0.25
        encoder = encoder_of(x)
        assert encoder.columns_[0]["how"] == "robust"
        table = pa.table({"x": x, "other": np.arange(5_000) % 7})
        X = encoder.transform(table)[:, 0]
        assert X.mean() == pytest.approx(0, abs=1e-5)
        assert X.std() == pytest.approx(1, rel=1e-5)
        assert abs(X).max() < 6
        assert (np.argsort(X) == np.argsort(x)).all()
        decoded = encoder.original_table(encoder.transform(table))["x"].to_numpy()
        np.testing.assert_allclose(decoded, x, rtol=2e-5, atol=1e-5)
        assert encoder_of(x, scale="standard").columns_[0]["how"] == "standard"

    @pytest.mark.parametrize("draw", ["normal", "uniform", "exponential", "logistic"])
    def test_ordinary_columns_are_standardised(self, draw, rng):
        encoder = encoder_of(getattr(rng, draw)(size=5_000))
        assert encoder.columns_[0]["how"] == "standard"
        robust = encoder_of(getattr(rng, draw)(size=5_000), scale="robust")
        assert robust.columns_[0]["how"] == "robust"

    def test_columns_of_mostly_zeros_have_a_finite_scale(self, rng):
        x = np.where(rng.random(2_000) < 0.01, rng.lognormal(8, 1, 2_000), 0)
        encoder = encoder_of(x)
        assert encoder.columns_[0]["how"] == "robust"
        assert np.isfinite(encoder.columns_[0]["scale"])


class TestDateParts:
    def times(self, rng, hours):
        days = np.datetime64("2023-01-02", "s") + rng.integers(0, 300, N) * 86_400
        return days + (hours * 3_600).astype("m8[s]")

    def test_the_hour_is_used_if_hours_are_unevenly_distributed(self, rng):
        encoder = encoder_of(self.times(rng, rng.normal(12, 2, N)))
        assert encoder.feature_names_[:3] == ["x", "x (hour, sin)", "x (hour, cos)"]
        assert "also the hour, as sine and cosine" in encoder.describe()[0]
        even = encoder_of(self.times(rng, rng.uniform(0, 24, N)))
        assert even.feature_names_ == ["x", "other"]

    def test_parts_equal_those_computed_by_hand(self, rng):
        encoder = encoder_of(self.times(rng, rng.normal(12, 2, N)))
        new = pa.array([datetime.datetime(2024, 1, 1, 6), None], pa.timestamp("s"))
        X = encoder.transform(pa.table({"x": new, "other": [0, 0]}))
        np.testing.assert_allclose(X[0, 1:3], [1, 0], atol=1e-6)
        np.testing.assert_allclose(X[1, 1:3], encoder.columns_[0]["part_means"], 1e-6)

    def test_the_weekday_is_used_if_weekdays_are_unevenly_distributed(self, rng):
        monday, weeks = np.datetime64("2024-01-01"), rng.integers(0, 50, N) * 7
        days = monday + (weeks + rng.integers(0, 5, N)).astype("m8[D]")
        assert encoder_of(days).columns_[0]["parts"] == ["weekday"]


class TestWeights:
    def test_a_weight_multiplies_squared_distances(self, rng):
        table = pa.table(
            {"a": rng.normal(size=N), "t": rng.choice(["u", "v"], N), "b": [1, 2] * 200}
        )
        X = TableEncoder().fit_transform(table)
        encoder = TableEncoder(weights={"a": 4, "t": 0.25})
        W = encoder.fit_transform(table)
        np.testing.assert_allclose(W, X * [2, 0.5, 0.5, 1], rtol=1e-6)
        decoded = encoder.inverse_transform(W)
        assert decoded["t"].to_pylist() == table["t"].to_pylist()
        np.testing.assert_allclose(decoded["a"], table["a"], atol=1e-5)

    def test_shares_are_parts_of_the_mean_squared_distance(self, rng):
        table, _ = customers(2_000)
        encoder = TableEncoder(weights={"city": 2})
        X = encoder.fit_transform(table).astype(float)
        spread = X.var(axis=0)
        for fact in encoder.facts():
            own = spread[fact.first : fact.first + len(fact.features)].sum()
            assert fact.share == pytest.approx(own / spread.sum(), rel=0.1), fact.name
        assert sum(fact.share for fact in encoder.facts()) == pytest.approx(1)

    @pytest.mark.parametrize("weight", [0, -1, np.inf])
    def test_invalid_weights_are_refused(self, weight):
        with pytest.raises(TableError, match="expected a number above 0"):
            encoder_of([1, 2, 3], weights={"x": weight})
        with pytest.raises(TableError, match="--weight 'y': there is no such column"):
            encoder_of([1, 2, 3], weights={"y": 1})


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_streamed_and_loaded_customers_are_encoded_identically(name, tmp_path):
    table, _ = customers(12_000)
    path = str(tmp_path / name)
    if name == "x.csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path, row_group_size=1_000)
    streamed = open_table(path, block=1 << 16)
    one, two = TableEncoder().fit(table), TableEncoder().fit(streamed)
    for ours, theirs in zip(one.columns_, two.columns_, strict=True):
        assert {**ours, "type": ""} == {**theirs, "type": ""}
    assert one.notes_ == two.notes_
    X = one.transform(table)
    stored = two.encode(streamed, memory=0)
    assert stored.on_disk
    np.testing.assert_array_equal(stored.X[np.arange(12_000)], X)


def test_formats_can_be_restored_from_dictionaries():
    form = recognise(["$1.50", "$2.50"])
    assert TextFormat(**form.as_dict()) == form
