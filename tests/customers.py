"""A generated table of customers with five planted segments.

The table has what real tables have: ids, missing values, sentinel values (income
9999999, age -1, born 1900-01-01), amounts of money and percentages as text, dates, 200
cities, and free text.
"""

import datetime

import numpy as np
import pyarrow as pa

SEGMENTS = ("students", "families", "professionals", "retired", "traders")
# Per segment: mean and standard deviation of the age.
AGE = [(22, 2.5), (38, 5), (44, 9), (69, 6), (48, 9)]
# Per segment, for income and spend per year: median, and standard deviation of the
# logarithm.
INCOME = [(12_000, 0.25), (52_000, 0.3), (95_000, 0.35), (27_000, 0.25), (70_000, 0.5)]
SPEND = [(400, 0.4), (3_200, 0.4), (2_400, 0.5), (700, 0.4), (17_400, 0.45)]
# Per segment: mean and standard deviation of the discount, in percent.
DISCOUNT = [(30, 6), (18, 5), (4, 2), (12, 5), (9, 4)]
VISITS = [14, 30, 9, 5, 55]  # mean number per year
MINUTES = [(25, 8), (14, 5), (6, 3), (18, 6), (9, 4)]  # mean and std, per visit
# Per segment: shares of customers who use the app, and who get the newsletter.
APP = [0.95, 0.7, 0.8, 0.08, 0.5]
NEWSLETTER = [0.2, 0.75, 0.3, 0.6, 0.5]
CHANNELS = ("app", "web", "store", "phone")
CHANNEL = [
    (0.8, 0.15, 0.05, 0.0),
    (0.35, 0.4, 0.25, 0.0),
    (0.3, 0.65, 0.05, 0.0),
    (0.02, 0.1, 0.6, 0.28),
    (0.05, 0.6, 0.1, 0.25),
]
PRODUCTS = ("books", "toys", "electronics", "garden", "office", "clothes")
PRODUCT = [
    (0.3, 0.0, 0.4, 0.0, 0.05, 0.25),
    (0.1, 0.45, 0.1, 0.1, 0.0, 0.25),
    (0.15, 0.0, 0.5, 0.05, 0.15, 0.15),
    (0.3, 0.05, 0.0, 0.5, 0.0, 0.15),
    (0.0, 0.05, 0.2, 0.05, 0.65, 0.05),
]
SHARES = (0.18, 0.3, 0.22, 0.2, 0.1)  # of the segments in all customers
HOURS = [22, 20, 13, 10, 9]  # usual hour of the last visit
WORDS = [
    "student exam cheap phone laptop flat party late shipping discount",
    "children school toys family birthday pram garden weekend size return",
    "meeting travel quality fast headphones coffee gift premium express brand",
    "grandchildren garden roses reading telephone friendly help catalogue letter print",
    "invoice order paper printer bulk delivery warehouse company account terms",
]
COMMON = "the and I it was very good not always please my we for with thanks"


def customers(n=100_000, seed=0):
    """Return an Arrow table with n rows, and the segment of each row (n,)."""
    rng = np.random.default_rng(seed)
    y = rng.choice(5, n, p=SHARES)

    def normal(params, low=-np.inf):
        mean, std = np.array(params).T
        return np.maximum(rng.normal(mean[y], std[y]), low)

    def lognormal(params):
        median, sigma = np.array(params).T
        return median[y] * np.exp(sigma[y] * rng.normal(size=n))

    def category(names, shares):
        picks = np.empty(n, dtype=object)
        for s in range(5):
            picks[y == s] = rng.choice(names, (y == s).sum(), p=shares[s])
        return picks

    age = normal(AGE, 16).round().astype(int)
    income = lognormal(INCOME).round(-2)
    spend, discount = lognormal(SPEND), normal(DISCOUNT, 0).round(1)
    minutes = normal(MINUTES, 0.5)
    visits = rng.negative_binomial(4, 4 / (4 + np.array(VISITS)[y]))
    cities = np.array([f"{a}{b}" for a in SYLLABLES for b in ENDINGS])
    popularity = 1 / np.arange(3, 203)
    city = rng.choice(cities, n, p=popularity / popularity.sum())
    born = np.array([datetime.date(2024, 6, 1)] * n, dtype="M8[D]") - (
        age * 365.25 + rng.random(n) * 365
    ).astype("m8[D]")
    signup = np.datetime64("2015-01-01") + rng.integers(0, 3_400, n).astype("m8[D]")
    hour = (np.array(HOURS)[y] + rng.normal(0, 2.5, n)) % 24
    seen = np.datetime64("2024-01-01", "s") + (
        rng.integers(0, 150, n) * 86_400 + hour * 3_600
    ).astype("m8[s]")
    some = {name: rng.random(n) for name in ("age", "income", "born", "city", "spend")}
    income[some["income"] < 0.012] = 9_999_999
    age[some["age"] < 0.015] = -1
    born[some["born"] < 0.02] = np.datetime64("1900-01-01")
    gaps = {name: rng.random(n) < 0.03 for name in ("income", "discount", "visits")}
    columns = {
        "customer": [f"C{i:07}" for i in rng.permutation(n)],
        "age": age,
        "born": born,
        "signup": signup,
        "last_visit": seen,
        "income": pa.array(income, mask=gaps["income"]),
        "spend": [f"${x:,.2f}" for x in spend],
        "discount": pa.array(
            [f"{x} %" for x in discount], pa.string(), mask=gaps["discount"]
        ),
        "visits": pa.array(visits, mask=gaps["visits"]),
        "time_per_visit": [
            f"{int(m) // 60}:{int(m) % 60:02}:{int(m * 60) % 60:02}" for m in minutes
        ],
        "city": pa.array(city, pa.string(), mask=some["city"] < 0.01),
        "channel": category(CHANNELS, CHANNEL),
        "favourite": category(PRODUCTS, PRODUCT),
        "app": rng.random(n) < np.array(APP)[y],
        "newsletter": np.where(rng.random(n) < np.array(NEWSLETTER)[y], "yes", "no"),
        "comment": _comments(y, rng),
    }
    return pa.table(columns), y


SYLLABLES = (
    *("Al", "Ber", "Cor", "Dan", "El", "Fal", "Gran", "Hol", "Ister", "Jor"),
    *("Kar", "Lin", "Mar", "Nor", "Ost", "Par", "Quen", "Ros", "Sal", "Tor"),
)
ENDINGS = (
    "burg",
    "ton",
    "ville",
    "stadt",
    "field",
    "mouth",
    "haven",
    "wick",
    "by",
    "a",
)


def _comments(y, rng):
    """Texts of 6 to 14 words; a third of the words are typical of the segment."""
    texts = []
    for segment, length in zip(y.tolist(), rng.integers(6, 15, len(y)), strict=True):
        own, common = WORDS[segment].split(), COMMON.split()
        picks = rng.random(length)
        index = rng.integers(0, 10_000, length)
        texts.append(
            " ".join(
                own[i % len(own)] if u < 0.33 else common[i % len(common)]
                for i, u in zip(index.tolist(), picks.tolist(), strict=True)
            )
        )
    return texts
