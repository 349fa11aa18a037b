"""The number of clusters, estimated from the dependence between columns."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.metrics import adjusted_rand_score

import akkm
from akkm.cli._app import app
from akkm.clustering import ColumnDependence, column_dependence, has_categories
from akkm.clustering._dependence import _strengths, _whitened
from akkm.tables import TableEncoder
from customers import customers


def planted(groups, n=2_000, *, informative=3, noise=3, numbers=4, seed=0):
    """A table whose columns are independent within each of the groups.

    Returns the table and the group of each row (n,).
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=n)
    columns = {}
    for j in range(informative):
        levels = rng.integers(3, 7)
        usual = rng.integers(levels, size=groups)[y]
        value = np.where(rng.random(n) < 0.75, usual, rng.integers(levels, size=n))
        columns[f"informative{j}"] = np.array(list("abcdefg"))[value]
    for j in range(noise):
        columns[f"noise{j}"] = np.array(list("uvwxyz"))[rng.integers(j + 2, size=n)]
    for j in range(numbers):
        columns[f"number{j}"] = rng.normal(2 * rng.normal(size=groups)[y])
    return pd.DataFrame(columns), y


def dependence(frame, seed=0):
    encoder = TableEncoder().fit(frame)
    return column_dependence(encoder, encoder.transform(frame), seed)


@pytest.mark.parametrize("groups", [2, 3, 4, 6])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_groups_of_rows_are_counted(groups, seed):
    frame, _ = planted(groups, informative=5, seed=seed)
    assert dependence(frame, seed).n_clusters == groups


def test_directions_end_at_the_first_one_that_chance_explains():
    strengths, chance = np.array([1.9, 1.1, 1.3, 0.8]), np.array([1.4, 1.2, 1.1, 0.9])
    assert ColumnDependence(strengths, chance).n_directions == 1
    assert ColumnDependence(chance + 1, chance).n_directions == 4


@pytest.mark.parametrize("seed", range(5))
def test_independent_columns_have_no_direction(seed):
    frame, _ = planted(4, informative=0, numbers=0, noise=5, seed=seed)
    found = dependence(frame, seed)
    assert (found.n_directions, found.n_clusters) == (0, 2)
    assert "no columns depend on each other" in found.reason


def test_the_strengths_are_those_of_multiple_correspondence_analysis():
    # Oracle: for two categories, the eigenvalues are 1 + and 1 - the canonical
    # correlations, the singular values of (p_ij - p_i p_j) / sqrt(p_i p_j).
    rng = np.random.default_rng(0)
    first = rng.integers(3, size=1_500)
    second = np.where(rng.random(1_500) < 0.5, first, rng.integers(3, size=1_500))
    shares = np.zeros((3, 3))
    np.add.at(shares, (first, second), 1 / 1_500)
    product = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    correlations = np.linalg.svd((shares - product) / np.sqrt(product))[1][:2]
    names = np.array(["a", "b", "c"])
    found = dependence(pd.DataFrame({"x": names[first], "y": names[second]}))
    expected = [*(1 + correlations), *(1 - correlations[::-1])]
    np.testing.assert_allclose(found.strengths, expected, atol=1e-6)


@pytest.mark.parametrize(("n", "seed"), [(1_000, 0), (5_000, 0), (5_000, 1)])
def test_the_segments_of_customers_are_found(n, seed):
    table, segments = customers(n, seed)
    with pytest.warns(UserWarning, match="columns vary together in"):
        found = akkm.cluster(table)
    assert found.n_clusters == 5
    assert adjusted_rand_score(segments, found.labels) > 0.97


def test_categories_that_say_nothing_do_not_become_clusters():
    frame, y = planted(4, informative=2, noise=4, seed=1)
    with pytest.warns(UserWarning, match="columns vary together in"):
        found = akkm.cluster(frame)
    assert found.n_clusters == 4
    assert adjusted_rand_score(y, found.labels) > 0.9


def test_scales_and_weights_do_not_change_the_number():
    frame, _ = planted(3)
    expected = dependence(frame)
    encoder = TableEncoder(weights={"number0": 50.0, "noise1": 0.01}).fit(frame)
    found = column_dependence(encoder, encoder.transform(frame))
    np.testing.assert_allclose(found.strengths, expected.strengths, atol=1e-5)


@pytest.mark.parametrize("number", [4, np.int64(4)])
def test_a_given_number_is_not_estimated(number):
    frame, _ = planted(2, n=300)
    assert akkm.cluster(frame, number).n_clusters == 4


@pytest.mark.parametrize("number", ["atuo", None, 5.0, (6, 4), (0, 0)])
def test_numbers_that_make_no_sense_are_refused(number):
    frame, _ = planted(2, n=300)
    with pytest.raises((ValueError, TypeError)):
        akkm.cluster(frame, number)


def test_more_features_than_rows_have_the_same_strengths():
    frame, _ = planted(3, n=40, informative=6, noise=5)
    wide = pd.concat([frame.add_suffix(str(i)) for i in range(3)], axis=1)
    encoder = TableEncoder().fit(wide)
    X = encoder.transform(wide)
    blocks = _whitened(X.astype(float), encoder.facts())
    Z = np.concatenate(blocks, axis=1)
    assert Z.shape[1] > len(Z)
    expected = np.linalg.eigvalsh(Z.T @ Z / len(Z))[::-1][: len(Z)]
    np.testing.assert_allclose(_strengths(blocks), expected, atol=1e-9)


def test_booleans_are_categories_and_numbers_are_not():
    frame, _ = planted(3, informative=0, noise=0)
    assert not has_categories(TableEncoder().fit(frame))
    frame["open"] = np.arange(len(frame)) % 3 == 0
    assert has_categories(TableEncoder().fit(frame))


def command_line(*args):
    """What `akkm` prints."""
    result = CliRunner().invoke(app, [*args])
    assert result.exit_code == 0, result.output
    return result.output


class TestCommandLine:
    @pytest.fixture
    def data(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        frame, y = planted(4, n=800, informative=5)
        frame["group"] = y
        frame.to_csv("x.csv", index=False)
        return ["x.csv", "--label", "group"]

    @pytest.mark.parametrize("command", ["cluster", "plan"])
    def test_the_output_says_how_the_number_was_estimated(self, command, data):
        assert "columns vary together in 3 directions" in command_line(command, *data)

    @pytest.mark.parametrize(("asked", "expected"), [("5-9", 5), ("2-3", 3)])
    def test_a_range_limits_the_number(self, asked, expected, data):
        command_line("cluster", *data, "-k", asked, "--labels", "l.csv")
        assert pd.read_csv("l.csv")["cluster"].nunique() == expected

    def test_options_of_the_default_method_are_accepted(self, data):
        options = ["--kernel", "laplacian", "--labels", "l.csv"]
        assert "laplacian" in command_line("cluster", *data, *options).lower()
        assert (
            "laplacian" in command_line("plan", *data, "--kernel", "laplacian").lower()
        )

    def test_a_given_method_makes_its_own_estimate(self, data):
        output = command_line("cluster", *data, "--method", "sparse")
        assert "SparseKernelKMeans" in output
        assert "vary together" not in output

    def test_rows_on_disk_get_the_labels_of_rows_in_memory(self, data):
        for memory, name in (("0.01", "disk.csv"), ("1024", "memory.csv")):
            options = ["--memory", memory, "--labels", name]
            output = command_line("cluster", *data, *options)
            assert ("rows stay on disk" in output) == (name == "disk.csv")
        labels = [pd.read_csv(name)["cluster"] for name in ("disk.csv", "memory.csv")]
        np.testing.assert_array_equal(*labels)
