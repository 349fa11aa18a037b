"""`akkm.cluster`: the same labels as the command line; frames, reports, notebooks."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet
from sklearn.datasets import load_wine
from sklearn.metrics import normalized_mutual_info_score

import akkm
from akkm.cli._app import app
from akkm.clustering import ESTIMATORS, certainty_of_measures, measures
from akkm.tables import TableError, open_table
from customers import customers

N = 3_000


@pytest.fixture(scope="module")
def table():
    return customers(N)[0]


@pytest.fixture(scope="module")
def found(table):
    return akkm.cluster(table.to_pandas(), 5, id="customer")


def command_line_labels(folder, *options):
    args = ["cluster", "x.csv", *map(str, options), "--labels", "l.parquet", "--quiet"]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    return parquet.read_table(folder / "l.parquet")["cluster"].to_numpy()


@pytest.fixture(scope="module", params=[5, "auto"])
def command_line(request, table, tmp_path_factory):
    """CSV file, number of clusters, and the command line's labels of the file."""
    folder = tmp_path_factory.mktemp("command-line")
    csv.write_csv(table, folder / "x.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        labels = command_line_labels(folder, "-k", request.param, "--seed", 3)
    return folder / "x.csv", request.param, labels


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "path", "table"])
def test_labels_equal_those_of_the_command_line(library, command_line, table):
    path, n_clusters, expected = command_line
    data = {
        "pandas": table.to_pandas,
        "polars": lambda: pl.DataFrame(table),
        "pyarrow": lambda: table,
        "path": lambda: path,
        "table": lambda: open_table(str(path)),
    }[library]()
    with warnings.catch_warnings(action="ignore"):  # the estimate is unsure
        found = akkm.cluster(data, n_clusters, random_state=3)
    np.testing.assert_array_equal(found.labels, expected)


def test_the_number_of_clusters_is_estimated_by_default(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv.write_csv(table, "x.csv")
    expected = "unsure: columns vary together in 4 directions"
    with pytest.warns(UserWarning, match=expected):
        found = akkm.cluster(table)
    np.testing.assert_array_equal(found.labels, command_line_labels(tmp_path))
    assert type(found.estimator).__name__ == "ApproxKernelKMeans"
    assert found.n_clusters == len(np.unique(found.labels)) == len(found.names)
    page = found.report().html
    doubts = page[page.index("Read this first") :][:300]
    assert expected in doubts
    assert expected in found._repr_html_()


@pytest.mark.parametrize("categories", [False, True])
def test_a_range_limits_the_estimate(categories, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if not categories:
        table = pa.table({f"x{i}": x for i, x in enumerate(load_wine().data.T)})
    csv.write_csv(table, "x.csv")
    with warnings.catch_warnings(action="ignore"):  # the estimate is unsure
        found = akkm.cluster("x.csv", (7, 9))
    expected = command_line_labels(tmp_path, "-k", "7-9")
    np.testing.assert_array_equal(found.labels, expected)
    assert found.n_clusters in (7, 8, 9)


def test_there_are_as_many_clusters_as_known_classes(table):
    known = {row: f"class {row}" for row in range(7)}
    with pytest.warns(UserWarning, match="The estimate of 7 clusters is unsure"):
        found = akkm.cluster(table, known=known)
    assert sorted(found.estimator.label_names_) == sorted(known.values())


def test_without_categories_the_neighbour_graph_decides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({f"x{i}": x for i, x in enumerate(load_wine().data.T)})
    csv.write_csv(table, "x.csv")
    with pytest.warns(UserWarning, match="The estimate of 3 clusters is unsure"):
        found = akkm.cluster(table)
    np.testing.assert_array_equal(found.labels, command_line_labels(tmp_path))
    assert type(found.estimator).__name__ == "SparseKernelKMeans"
    assert found.n_clusters == 3


class TestFrame:
    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    def test_the_labelled_frame_has_three_more_columns(self, library, table):
        table = table.slice(0, 500)
        frame = {
            "pandas": lambda: table.to_pandas().set_index("customer"),
            "polars": lambda: pl.DataFrame(table),
            "pyarrow": lambda: table,
        }[library]()
        found = akkm.cluster(frame, 3)
        labelled = found.frame
        assert type(labelled) is type(frame)
        names = list(
            labelled.columns if library != "pyarrow" else labelled.column_names
        )
        assert names[-3:] == ["cluster", "certainty", "cluster_name"]
        assert list(np.asarray(labelled["cluster"])) == found.labels.tolist()
        expected = [found.names[label] for label in found.labels]
        assert [str(v) for v in labelled["cluster_name"]] == expected
        if library == "pandas":
            assert labelled.index.equals(frame.index)
            pd.testing.assert_frame_equal(labelled[frame.columns], frame)

    def test_rows_that_were_left_out_have_no_cluster(self):
        frame = pl.DataFrame({"a": [1.0, None, 1.1, 9.0, 9.1, 9.2], "b": [1, 2] * 3})
        found = akkm.cluster(frame, 2, missing="drop")
        assert len(found.labels) == 5
        labelled = found.frame
        assert labelled["cluster"].to_list()[1] is None
        assert labelled["cluster_name"].to_list()[1] is None
        assert labelled["a"].to_list() == frame["a"].to_list()

    def test_a_column_with_the_name_of_a_new_column_is_kept(self):
        frame = pd.DataFrame({"cluster": [1.0, 2.0, 8.0, 9.0], "b": [1, 2, 1, 2]})
        labelled = akkm.cluster(frame, 2).frame
        assert list(labelled.columns[2:]) == [
            "akkm_cluster",
            "certainty",
            "cluster_name",
        ]
        assert labelled["cluster"].tolist() == [1, 2, 8, 9]

    def test_a_file_becomes_an_arrow_table(self, table, tmp_path):
        csv.write_csv(table, tmp_path / "x.csv")
        found = akkm.cluster(str(tmp_path / "x.csv"), 4)
        assert isinstance(found.frame, pa.Table)
        assert found.frame["spend"].to_pylist() == table["spend"].to_pylist()


def test_predict_returns_the_labels_of_the_fit(found, table):
    frame = table.to_pandas()
    np.testing.assert_array_equal(found.predict(frame), found.labels)


def test_a_loaded_model_predicts_the_same_labels(found, table, tmp_path):
    found.save(tmp_path / "m.skops")
    model = akkm.load_model(tmp_path / "m.skops")
    X = model.encoder.transform(table.to_pandas())
    np.testing.assert_array_equal(model.estimator.predict(X), found.labels)


def test_the_report_describes_the_clusters(found):
    page = found.report(title="My customers")
    assert "My customers" in page.html
    assert "9,999,999 in " in page.html


def test_the_report_lists_words_of_texts_that_were_not_clustered(found):
    page = found.report().html
    assert page.count('<span class="what">words in comment</span>') == 5
    assert "warehouse" in page
    assert page.count('class="quotes"') == 5
    # Names do not depend on the texts: --write has no texts when it names clusters.
    titles = re.findall(r'data-name="(.*?)"', page)
    assert sorted(title.lower() for title in titles) == sorted(found.names)
    with pytest.raises(ValueError, match="comment has 3 entries, but X has 3000 rows"):
        found.report(texts={"comment": np.array(["a", "b", "c"])})


def test_repr_and_notebook_table_describe_the_clusters(found):
    described = "<Clustering: 3,000 rows in 5 clusters; rows per cluster: "
    assert repr(found).startswith(described)
    many = akkm.cluster(pd.DataFrame({"x": np.arange(99) ** 0.5}), 33, method="exact")
    assert repr(many).endswith(", and 3 more clusters>")
    text = found._repr_html_()
    assert text.count("<tr>") == 6
    assert "counts as missing" in text
    hostile = pd.DataFrame({"<b>": [1, 2, 8, 9], "x": ["<i>", "u", "v", "v"]})
    assert "<b>" not in akkm.cluster(hostile, 2)._repr_html_()


def test_certainty_is_low_on_borders(found):
    assert ((found.certainty >= 0) & (found.certainty <= 1)).all()
    X = np.array([[0.0], [1.0], [5.4], [9.0], [10.0], [11.0]])
    model = akkm.ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    _, measured = measures(model, X)
    certainty = certainty_of_measures(measured)
    assert certainty.argmin() == 2
    assert certainty[2] < 0.3
    one = akkm.ApproxKernelKMeans(1, random_state=0).fit(X)
    assert certainty_of_measures(measures(one, X)[1]).tolist() == [1] * 6


def test_the_certainty_of_outliers_is_that_of_their_nearest_center():
    X = np.random.default_rng(0).normal(size=(906, 2))
    X[:450] += 9
    X[900:] = 99 + 0.1 * X[900:]
    model = akkm.DiffusionKernelKMeans(
        2, outliers="mark", n_neighbors=5, random_state=0
    ).fit(X)
    assert (model.labels_ < 0).any()
    labels, measured = measures(model, X, model.labels_)
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_allclose(
        certainty_of_measures(measured), model.certainty(X), atol=1e-6
    )


def test_ensembles_are_certain_if_members_agree(table):
    model = akkm.EnsembleKernelKMeans(3, n_members=3, random_state=0)
    found = akkm.cluster(table.slice(0, 400), estimator=model)
    np.testing.assert_array_equal(found.certainty, found.estimator.agreement_)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("method", ESTIMATORS)
def test_every_method_can_be_chosen_by_name(method, table):
    found = akkm.cluster(table.slice(0, 300), 3, method=method)
    assert len(found.certainty) == 300


def test_invalid_arguments_are_refused(table):
    with pytest.raises(ValueError, match="method is 'kmeans'; expected one of approx"):
        akkm.cluster(table, 3, method="kmeans")
    with pytest.raises(ValueError, match="leave out one"):
        akkm.cluster(table, method="approx", estimator=akkm.KernelKMeans(2))
    with pytest.raises(TableError, match="there is no such column"):
        akkm.cluster(table, 3, id="client")
    with pytest.raises(TypeError, match="expected a table from open_table, or a"):
        akkm.cluster(np.zeros((3, 2)), 2)


def test_the_planted_segments_are_found():
    table, segments = customers(20_000, seed=0)
    with pytest.warns(UserWarning, match="The estimate of 5 clusters is unsure"):
        found = akkm.cluster(table)
    assert found.n_clusters == 5
    assert normalized_mutual_info_score(segments, found.labels) > 0.93


class TestKnown:
    """`suggest` and `known` count rows of the table, also where rows are left out."""

    @pytest.fixture
    def frame(self):
        rng = np.random.default_rng(0)
        size = np.repeat([0.0, 4.0, 8.0], 40) + 0.3 * rng.standard_normal(120)
        size[::10] = np.nan
        return pd.DataFrame({"size": size, "weight": np.repeat([1.0, 2.0, 1.0], 40)})

    @pytest.mark.parametrize("method", ["approx", "sparse"])
    def test_answers_to_suggested_rows_name_the_clusters(self, frame, method):
        options = {"method": method, "missing": "drop"}
        found = akkm.cluster(frame, 3, **options)
        rows = found.suggest(3)
        assert sorted(rows // 40) == [0, 1, 2]
        assert frame["size"].iloc[rows].notna().all()
        answers = {row: "abc"[row // 40] for row in rows.tolist()}
        again = akkm.cluster(frame, 3, known=answers, **options)
        kept = np.flatnonzero(frame["size"].notna())
        names = [again.estimator.label_names_[label] for label in again.labels]
        assert names == ["abc"[row // 40] for row in kept]
        more = again.suggest(5, known=answers)
        assert not set(more.tolist()) & set(answers)

    def test_answers_about_rows_that_were_left_out_are_ignored(self, frame):
        known = [None] * len(frame)
        known[0], known[1], known[51] = "left out", "a", "b"
        found = akkm.cluster(frame, 3, known=known, missing="drop")
        assert set(found.estimator.label_names_) == {"a", "b", None}

    def test_methods_without_known_classes_are_refused(self, frame):
        with pytest.raises(ValueError, match="LeadersKernelKMeans takes no known"):
            akkm.cluster(frame, 3, known={0: "a"}, method="leaders")
        found = akkm.cluster(frame, 3, method="leaders")
        with pytest.raises(ValueError, match="LeadersKernelKMeans can't suggest rows"):
            found.suggest(3)


def test_names_begin_with_known_classes():
    frame = pd.DataFrame({"size": [1.0, 2, 1, 8, 9, 8] * 5})
    found = akkm.cluster(frame, 2, known={0: "small", 3: "large"})
    small = found.labels[0]
    assert found.names[small].startswith("small: ")
    assert found.names[1 - small].startswith("large: ")
    assert "large: " in found.report().html


def test_misspelled_parameters_are_named():
    frame = pd.DataFrame({"size": [1.0, 2, 1]})
    with pytest.raises(TypeError, match="no parameter 'n_cluster'; did you mean 'n_cl"):
        akkm.cluster(frame, n_cluster=2)


def test_functions_for_estimators_name_the_attribute_with_the_estimator():
    found = akkm.cluster(pd.DataFrame({"size": [1.0, 2, 1, 8, 9, 8]}), 2)
    with pytest.raises(
        TypeError, match=r"Clustering; .* Give its attribute `estimator`"
    ):
        akkm.plot.features(found, found.encoded.X)
