"""`akkm suggest`, `cluster --known` and `cluster --pairs`."""

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.cli.commands import output_of, run

ARGS = ("iris.csv", "-k", 3, "--id", "name", "--drop", "species", "--quiet")


@pytest.fixture
def model(here):
    output_of("cluster", *ARGS, "--model", "m.skops")
    return "m.skops"


def answer(iris, text):
    """Fill in the column "label" of a file of questions."""
    with open("questions.csv", "w") as file:
        file.write(text)
    table = csv.read_csv("questions.csv")
    species = dict(
        zip(*(iris[c].to_pylist() for c in ("name", "species")), strict=True)
    )
    labels = pa.array([species[name] for name in table["name"].to_pylist()])
    at = table.column_names.index("label")
    csv.write_csv(table.set_column(at, "label", labels), "questions.csv")
    return table["name"].to_pylist(), labels.to_pylist()


def test_suggest_fill_in_and_cluster_again(model, iris):
    text = output_of("suggest", model, "iris.csv", "-n", 12)
    assert text.splitlines()[0].startswith("name,label,cluster,certainty,x0,")
    names, labels = answer(iris, text)
    assert len(set(names)) == 12
    files = ("--labels", "out.parquet", "--model", "m.skops")
    output_of("cluster", *ARGS, "--known", "questions.csv", *files)
    found = parquet.read_table("out.parquet").to_pydict()
    classes = dict(zip(found["name"], found["class_name"], strict=True))
    assert [classes[name] for name in names] == labels
    right = [
        a == b
        for a, b in zip(found["class_name"], iris["species"].to_pylist(), strict=True)
    ]
    assert sum(right) > 120
    # A second round asks about other rows, and shows the present classes.
    options = ("-n", 5, "--known", "questions.csv", "--output", "more.csv")
    assert output_of("suggest", model, "iris.csv", *options) == ""
    more = csv.read_csv("more.csv")
    assert not set(more["name"].to_pylist()) & set(names)
    assert "class_name" in more.column_names
    # `predict` writes the classes of new rows.
    output_of("predict", model, "iris.csv", "--labels", "again.parquet")
    assert parquet.read_table("again.parquet")["class_name"].null_count == 0


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_spreadsheets_may_change_the_delimiter_of_answers(delimiter, here):
    lines = ["name,label,cluster", "flower 0,a,0", "flower 149,b,1"]
    for name, text in (("given.csv", "\n".join(lines)), ("changed.csv", None)):
        with open(name, "w") as file:
            file.write(text or "\n".join(lines).replace(",", delimiter))
    labels = []
    for known in ("given.csv", "changed.csv"):
        output_of("cluster", *ARGS, "--known", known, "--labels", "out.csv")
        labels.append(csv.read_csv("out.csv"))
    assert labels[0].equals(labels[1])


def test_pairs_may_be_given_by_row_number_and_are_counted_in_the_summary(here):
    with open("pairs.csv", "w") as file:
        file.write("first,second,link\n0,149,must\n1,2,cannot\n3,4,same\n")
    out = output_of(
        *("cluster", "iris.csv", "-k", 3, "--drop", "name", "--drop", "species"),
        *("--pairs", "pairs.csv", "--labels", "out.csv"),
    )
    assert "2 pairs belong together, and 1 apart" in out
    assert "0 constraints" in out
    clusters = csv.read_csv("out.csv")["cluster"].to_pylist()
    assert clusters[0] == clusters[149]
    assert clusters[1] != clusters[2]


def test_one_class_and_weighted_constraints_are_possible(here):
    with open("known.csv", "w") as file:
        file.write("name,label\nflower 0,mine\nflower 149,mine\n")
    out = output_of(
        *("cluster", *ARGS[:-1], "--known", "known.csv", "--strength", "0.0")
    )
    assert "only one class is known" in out


BAD = [
    ("name,label\nflower 0,\n", "has no labels; expected a label"),
    ("row,label\n0,a\n", "expected 'name', 'label', as"),
    ("name,class\nflower 0,a\n", "'label' is missing"),
    ("name,label\nflower 999,a\n", "'flower 999', which the data do not have"),
    ("name,label\nflower 1,a\nflower 1,b\n", "two labels of name flower 1"),
    (
        "name,label\n" + "".join(f"flower {i},{i}\n" for i in range(4)),
        "known has 4 classes, but n_clusters=3",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_answers_give_one_line(text, message, here):
    with open("known.csv", "w") as file:
        file.write(text)
    result = run("cluster", *ARGS, "--known", "known.csv", "--labels", "out.csv")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (here / "out.csv").exists()


def test_if_answers_were_written_with_another_id_the_message_names_it(here):
    with open("known.csv", "w") as file:
        file.write("name,label\nflower 0,a\n")
    result = run("cluster", "iris.csv", "-k", 3, "--drop", "name", "--known", file.name)
    assert result.exit_code == 2
    assert "add --id name" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first,second,link\nflower 0,flower 1,maybe\n", "the link 'maybe'; expected"),
        ("first,second,link\nflower 0,flower 0,must\n", "row 0 with itself"),
        ("first,second\nflower 0,flower 1\n", "'link' is missing"),
        (
            "first,second,link\nflower 0,flower 1,must\nflower 1,flower 0,cannot\n",
            "through the rows 1 - 0",
        ),
    ],
)
def test_bad_pairs_give_one_line(text, message, here):
    with open("pairs.csv", "w") as file:
        file.write(text)
    result = run("cluster", *ARGS, "--pairs", "pairs.csv")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "leaders"), "combined with --method leaders"),
        (("--ensemble", 3), "combined with --ensemble 3"),
        (("--layers",), "combined with --layers"),
        (("--sample", 50), "combined with --sample 50"),
        (("--checkpoint", "folder"), "combined with --checkpoint"),
    ],
)
def test_options_that_take_no_constraints_are_refused(options, message, here):
    result = run("cluster", *ARGS, "--known", "known.csv", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_strength_alone_and_models_without_suggestions_are_refused(here):
    result = run("cluster", *ARGS, "--strength", 1)
    assert "--strength needs --known or --pairs" in result.stderr
    output_of("cluster", *ARGS, "--method", "leaders", "--model", "m.skops")
    result = run("suggest", "m.skops", "iris.csv")
    assert "LeadersKernelKMeans, which takes no known classes" in result.stderr
