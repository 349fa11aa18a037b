"""A generated table of customers, for `akkm demo`."""

import datetime

import numpy as np
import pyarrow as pa

# Share, age, yearly spend in dollars, orders per year, share of app users, median days
# since the first order, and favourite department of each segment.
_SEGMENTS = (
    (0.35, 46, 900, 6, 0.20, 1500, "sale"),
    (0.25, 39, 3_200, 24, 0.50, 1200, "toys"),
    (0.20, 24, 1_500, 18, 0.95, 200, "electronics"),
    (0.12, 52, 17_400, 40, 0.40, 3200, "office"),
    (0.08, 70, 250, 1, 0.03, 3600, "garden"),
)
_CITIES = ("Berlin", "Cologne", "Hamburg", "Leipzig", "Munich", "Stuttgart")


def customers(n: int, rng: np.random.Generator) -> pa.Table:
    """Generate n customers of five segments; the table does not name the segments."""
    share, age, spend, orders, app, days, department = zip(*_SEGMENTS, strict=True)
    segment = rng.choice(len(share), n, p=np.array(share, dtype=float))
    departments = np.array(department)
    own = rng.random(n) < 0.7  # whether a customer prefers the segment's department
    first_order = np.datetime64(datetime.date(2026, 1, 1)) - (
        np.array(days)[segment] * rng.uniform(0.8, 1.2, n)
    ).astype("m8[D]")
    return pa.table(
        {
            "customer": [f"C{i:06}" for i in range(n)],
            "age": rng.normal(np.array(age)[segment], 5).round().astype(int).clip(18),
            "yearly_spend": [
                f"${x:,.2f}"
                for x in np.array(spend)[segment] * np.exp(rng.normal(0, 0.35, n))
            ],
            "orders": rng.poisson(np.array(orders)[segment]),
            "app_user": rng.random(n) < np.array(app)[segment],
            "department": np.where(
                own, departments[segment], rng.choice(departments, n)
            ),
            "first_order": first_order,
            "city": rng.choice(_CITIES, n),
        }
    )
