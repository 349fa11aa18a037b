"""Generated tables with the columns of well-known data sets.

Each function returns an Arrow table, and what is expected of each column: its role,
such as "number", or the reason why it is left out, such as "id".
"""

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_wine

NAMES = [
    "Smith",
    "Jones",
    "Brown",
    "Taylor",
    "Wilson",
    "Davies",
    "Evans",
    "Thomas",
    "Johnson",
    "Roberts",
]
FIRST = [
    "Anna",
    "Bert",
    "Clara",
    "David",
    "Emma",
    "Frank",
    "Grace",
    "Henry",
    "Ida",
    "John",
]


def titanic(n=891, seed=0):
    """Passengers, with names, tickets, cabins and many missing values."""
    rng = np.random.default_rng(seed)
    pclass = rng.choice([1, 2, 3], n, p=[0.24, 0.21, 0.55])
    sex = rng.choice(["male", "female"], n, p=[0.65, 0.35])
    title = {"male": "Mr.", "female": "Mrs."}
    names = [
        f"{NAMES[rng.integers(10)]}{i}, {title[sex[i]]} {FIRST[rng.integers(10)]} "
        f"{FIRST[rng.integers(10)]}"
        for i in range(n)
    ]
    ages = np.clip(rng.normal(30, 14, n), 0.5, 80).round()
    fare = (rng.lognormal(2.2, 0.9, n) * (4 - pclass) ** 1.3).round(4)
    tickets = rng.integers(1_000, 400_000, int(0.76 * n))
    cabins = np.array([f"{c}{i}" for c in "ABCDE" for i in range(1, 120)])
    table = pa.table(
        {
            "PassengerId": np.arange(1, n + 1),
            "Survived": rng.integers(0, 2, n),
            "Pclass": pclass,
            "Name": names,
            "Sex": sex,
            "Age": pa.array(ages, mask=rng.random(n) < 0.2),
            "SibSp": rng.choice(
                [0, 1, 2, 3, 4, 8], n, p=[0.68, 0.23, 0.04, 0.02, 0.02, 0.01]
            ),
            "Parch": rng.choice([0, 1, 2, 3, 5], n, p=[0.76, 0.13, 0.09, 0.01, 0.01]),
            "Ticket": [
                f"A/5 {t}" if t % 4 == 0 else str(t) for t in rng.choice(tickets, n)
            ],
            "Fare": fare,
            "Cabin": pa.array(
                rng.choice(cabins, n), pa.string(), mask=rng.random(n) < 0.77
            ),
            "Embarked": pa.array(rng.choice(list("SCQ"), n, p=[0.72, 0.19, 0.09])),
        }
    )
    roles = dict.fromkeys(
        ("Survived", "Pclass", "Age", "SibSp", "Parch", "Fare"), "number"
    )
    roles |= {"PassengerId": "id", "Name": "prose", "Sex": "category"}
    return table, roles | {"Ticket": "rare", "Cabin": "rare", "Embarked": "category"}


def bank_marketing(n=5_000, seed=0):
    """Clients of a bank; pdays is -1 for clients who were never called before."""
    rng = np.random.default_rng(seed)
    called = rng.random(n) < 0.18
    pdays = np.where(called, rng.integers(1, 871, n), -1)
    jobs = [
        "admin.",
        "blue-collar",
        "technician",
        "services",
        "management",
        "retired",
        "student",
    ]
    months = [
        "jan",
        "feb",
        "mar",
        "apr",
        "may",
        "jun",
        "jul",
        "aug",
        "sep",
        "oct",
        "nov",
        "dec",
    ]
    table = pa.table(
        {
            "age": np.clip(rng.normal(41, 10, n), 18, 95).round().astype(int),
            "job": rng.choice(jobs, n),
            "marital": rng.choice(["married", "single", "divorced"], n),
            "education": rng.choice(["primary", "secondary", "tertiary", "unknown"], n),
            "default": rng.choice(["no", "yes"], n, p=[0.98, 0.02]),
            "balance": (rng.lognormal(6, 1.4, n) - 400).round().astype(int),
            "housing": rng.choice(["yes", "no"], n),
            "loan": rng.choice(["no", "yes"], n, p=[0.84, 0.16]),
            "contact": rng.choice(["cellular", "telephone", "unknown"], n),
            "day": rng.integers(1, 32, n),
            "month": rng.choice(months, n),
            "duration": rng.gamma(1.2, 210, n).round().astype(int),
            "campaign": rng.geometric(0.36, n),
            "pdays": pdays,
            "previous": np.where(called, rng.geometric(0.3, n), 0),
            "poutcome": np.where(
                called, rng.choice(["success", "failure"], n), "unknown"
            ),
            "y": rng.choice(["no", "yes"], n, p=[0.88, 0.12]),
        }
    )
    numbers = ("age", "balance", "day", "duration", "campaign", "pdays", "previous")
    names = table.column_names
    return table, {n: "number" if n in numbers else "category" for n in names}


def ames_housing(n=2_000, seed=0):
    """Houses; MSSubClass is a code. Houses without an alley have no value in Alley."""
    rng = np.random.default_rng(seed)
    area = rng.lognormal(9.1, 0.5, n).round().astype(int)
    built = np.clip(rng.normal(1971, 30, n), 1872, 2010).round().astype(int)
    codes = [20, 30, 40, 45, 50, 60, 70, 75, 80, 85, 90, 120, 150, 160, 180, 190]
    table = pa.table(
        {
            "Order": np.arange(1, n + 1),
            "PID": 526_301_100 + rng.choice(480_799_010, n, replace=False),
            "MSSubClass": rng.choice(codes, n),
            "MSZoning": rng.choice(["RL", "RM", "FV", "C (all)"], n),
            "LotFrontage": pa.array(
                rng.normal(69, 21, n).round(), mask=rng.random(n) < 0.17
            ),
            "LotArea": area,
            "Alley": pa.array(
                rng.choice(["Grvl", "Pave"], n), pa.string(), mask=rng.random(n) < 0.93
            ),
            "Neighborhood": rng.choice([f"Area{i}" for i in range(28)], n),
            "OverallQual": rng.integers(1, 11, n),
            "YearBuilt": built,
            "YrSold": rng.integers(2006, 2011, n),
            "MiscVal": np.where(
                rng.random(n) < 0.04, rng.lognormal(6.5, 1, n).round(), 0
            ),
            "CentralAir": rng.choice(["Y", "N"], n, p=[0.93, 0.07]),
            "SalePrice": [f"${x:,.0f}" for x in rng.lognormal(12, 0.4, n)],
        }
    )
    roles = dict.fromkeys(table.column_names, "number")
    roles |= {"Order": "id", "PID": "id", "SalePrice": "money"}
    categories = ("MSZoning", "Alley", "Neighborhood", "CentralAir")
    return table, roles | dict.fromkeys(categories, "category")


def wine(n=None, seed=0):
    """scikit-learn's table of wines: 13 measurements of 178 wines."""
    table = pa.Table.from_pandas(load_wine(as_frame=True).data, preserve_index=False)
    return table, dict.fromkeys(table.column_names, "number")


def dry_bean(n=4_000, seed=0):
    """Shapes of beans: 16 columns of very different scale, and the class."""
    rng = np.random.default_rng(seed)
    kinds = np.array(
        ["SEKER", "BARBUNYA", "BOMBAY", "CALI", "HOROZ", "SIRA", "DERMASON"]
    )
    y = rng.integers(0, 7, n)
    size = np.array([40e3, 70e3, 173e3, 75e3, 53e3, 45e3, 32e3])[y]
    area = (size * rng.normal(1, 0.12, n)).round().astype(int)
    major = np.sqrt(area) * rng.normal(1.35, 0.1, n)
    minor = np.sqrt(area) * rng.normal(0.95, 0.05, n)
    columns = {
        "Area": area,
        "Perimeter": np.pi * (major + minor) / 2,
        "MajorAxisLength": major,
        "MinorAxisLength": minor,
        "AspectRation": major / minor,
        "Eccentricity": np.sqrt(1 - np.minimum(minor / major, 0.999) ** 2),
        "ConvexArea": (area * 1.013).round().astype(int),
        "EquivDiameter": np.sqrt(4 * area / np.pi),
        "Extent": rng.normal(0.75, 0.05, n),
        "Solidity": rng.normal(0.987, 0.004, n),
        "roundness": rng.normal(0.87, 0.06, n),
        "Compactness": minor / major,
    }
    columns |= {
        f"ShapeFactor{i}": rng.normal(1 / i, 0.1, n) / 100**i for i in range(1, 5)
    }
    table = pa.table({**columns, "Class": kinds[y]})
    roles = dict.fromkeys(columns, "number")
    return table, roles | {"Class": "category"}


TABLES = {
    "titanic": titanic,
    "bank marketing": bank_marketing,
    "ames housing": ames_housing,
    "wine": wine,
    "dry bean": dry_bean,
}
