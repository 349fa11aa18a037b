"""n_neighbors="auto": the number of neighbours, or k-means without a graph."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

import akkm
from akkm import ClusterLayers, DiffusionKernelKMeans
from akkm.core.threads import Threads
from akkm.diffusion.choose_neighbours import _edge_information, is_clear
from akkm.model_file import SavedModel, load_model, save_model
from akkm.model_file._checks import require_consistent
from akkm.tables import TableEncoder, open_table


@pytest.fixture(scope="module")
def overlapping():
    """Eight overlapping Gaussian clusters in 100 dimensions: rows and labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=2400)
    X = 0.3 * rng.normal(size=(8, 100))[y] + rng.normal(size=(2400, 100))
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def by_position(overlapping):
    """A model that clusters the first 2,000 overlapping rows by position."""
    model = DiffusionKernelKMeans(8, random_state=0).fit(overlapping[0][:2000])
    assert model.n_neighbors_ == 0
    return model


@pytest.fixture(scope="module")
def sheets():
    """Eight curved sheets in 30 dimensions, with much noise: rows and labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=2400)
    X = 0.6 * rng.normal(size=(2400, 30))
    for k in range(8):
        inside = y == k
        place = rng.uniform(-1, 1, (inside.sum(), 2))
        waves = np.sin(2 * place @ rng.normal(size=(2, 12)) + rng.uniform(0, 6, 12))
        X[inside] += waves @ rng.normal(size=(12, 30)) / 5.5 + 0.2 * rng.normal(size=30)
    return X.astype(np.float32), y


def nmi_of_k_means(X, y):
    k_means = KMeans(8, n_init=10, random_state=0).fit(X)
    return normalized_mutual_info_score(y, k_means.labels_)


def test_overlapping_clusters_are_found_by_position(by_position, overlapping):
    X, y = overlapping[0][:2000], overlapping[1][:2000]
    nmi = normalized_mutual_info_score(y, by_position.labels_)
    assert nmi > nmi_of_k_means(X, y) - 0.01
    graph = DiffusionKernelKMeans(8, n_neighbors=100, random_state=0).fit(X)
    assert nmi > normalized_mutual_info_score(y, graph.labels_) + 0.05
    assert by_position.diffusion_ == 0
    assert by_position.embedding_.shape == (2000, 64)
    assert by_position.certainty(X).max() <= 1


def test_new_rows_get_the_nearest_cluster_by_position(by_position, overlapping):
    X, y = overlapping
    np.testing.assert_array_equal(by_position.predict(X[:2000]), by_position.labels_)
    labels = by_position.predict(X[2000:])
    trained = normalized_mutual_info_score(y[:2000], by_position.labels_)
    assert normalized_mutual_info_score(y[2000:], labels) > trained - 0.1
    one_by_one = np.concatenate(
        [by_position.predict(X[[i]]) for i in range(2000, 2050)]
    )
    np.testing.assert_array_equal(one_by_one, labels[:50])


def test_noisy_sheets_get_more_neighbours_not_positions(sheets):
    X, y = sheets
    chosen = DiffusionKernelKMeans(8, random_state=0).fit(X)
    few = DiffusionKernelKMeans(8, n_neighbors=15, random_state=0).fit(X)
    nmi = [normalized_mutual_info_score(y, m.labels_) for m in (chosen, few)]
    assert chosen.n_neighbors_ in (40, 100, 250)
    assert nmi[0] > nmi[1] + 0.02
    assert nmi[0] > nmi_of_k_means(X, y) + 0.1
    np.testing.assert_array_equal(chosen.predict(X), chosen.labels_)


def test_rows_whose_clusters_are_clear_keep_15_neighbours(digits):
    chosen = DiffusionKernelKMeans(10, random_state=0).fit(digits[0])
    given = DiffusionKernelKMeans(10, n_neighbors=15, random_state=0).fit(digits[0])
    assert chosen.n_neighbors_ == 15
    np.testing.assert_array_equal(chosen.labels_, given.labels_)


@pytest.mark.parametrize("case", ["few rows", "one cluster", "k is estimated"])
def test_rows_have_15_neighbours_if_there_is_no_basis_for_a_choice(overlapping, case):
    X = overlapping[0][:1200] if case == "one cluster" else overlapping[0][:600]
    n_clusters = {"few rows": 8, "one cluster": 1, "k is estimated": "auto"}[case]
    model = DiffusionKernelKMeans(n_clusters, random_state=0)
    if case == "k is estimated":
        with pytest.warns(UserWarning, match="unsure"):
            model.fit(X)
    else:
        model.fit(X)
    assert model.n_neighbors_ == 15


@pytest.mark.parametrize(
    "walks", [{"metric": "manhattan"}, {"diffusion": 30.0}, {"known": True}]
)
def test_walks_are_kept_if_they_are_needed(walks, overlapping):
    """K-means of positions can't use walks, constraints or other metrics."""
    X, y = overlapping
    known = np.where(np.arange(len(y)) < 30, y, -1) if walks.pop("known", 0) else None
    model = DiffusionKernelKMeans(8, random_state=0, **walks).fit(X, known=known)
    assert model.n_neighbors_ in (15, 40, 100)
    assert model.diffusion_ > 0


def test_rows_in_files_are_clustered_by_position(by_position, overlapping, tmp_path):
    X = overlapping[0][:2000]
    np.save(tmp_path / "rows.npy", X)
    model = DiffusionKernelKMeans(8, random_state=0)
    model.fit(akkm.open_rows(tmp_path / "rows.npy"))
    np.testing.assert_array_equal(model.labels_, by_position.labels_)


def test_models_with_positions_can_be_saved(by_position, overlapping, tmp_path):
    X = overlapping[0]
    np.save(tmp_path / "rows.npy", X)
    encoder = TableEncoder(scale="none").fit(open_table(str(tmp_path / "rows.npy")))
    save_model(SavedModel(encoder, by_position, {}), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    np.testing.assert_array_equal(loaded.predict(X), by_position.predict(X))
    embedding = loaded._embedding
    damaged = replace(embedding, embedding=embedding.embedding[:, :60])
    loaded._embedding = damaged
    with pytest.raises(ValueError, match="positions without 60 axes"):
        require_consistent(loaded)


def test_layers_join_clusters_that_are_near_each_other_by_position():
    """Pairs of clusters are near each other; all clusters overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=2400)
    means = rng.normal(size=(4, 100))[np.arange(8) // 2] + rng.normal(size=(8, 100))
    X = (0.3 * means[y] + rng.normal(size=(2400, 100))).astype(np.float32)
    layers = ClusterLayers(8, random_state=0).fit(X)
    assert layers.estimator_.n_neighbors_ == 0
    first = layers.tree_[:4, :2].astype(int)
    classes = [np.bincount(y[layers.labels_ == k]).argmax() for k in range(8)]
    pairs = {
        frozenset(classes[k] // 2 for k in pair) for pair in first if max(pair) < 8
    }
    assert all(len(pair) == 1 for pair in pairs)


def test_a_graph_with_one_giant_cluster_is_not_clear(overlapping, monkeypatch):
    """Nearly all neighbours are in the same cluster, but so are random rows."""
    from akkm.diffusion import choose_neighbours

    X = overlapping[0]
    graph = DiffusionKernelKMeans(8, n_neighbors=15, random_state=0).fit(X)._embedding
    giant = (np.arange(len(X)) < 60).astype(int)
    monkeypatch.setattr(choose_neighbours, "_cluster", lambda *_: giant)
    same = np.mean(giant[graph.neighbours.indices] == giant[:, None])
    assert same > 0.9
    with Threads(1) as engine:
        assert not is_clear(graph, 8, engine, np.random.default_rng(0))


def test_edge_information_by_hand():
    lists = np.array([[1], [0], [3], [2]])
    assert _edge_information(np.array([0, 0, 1, 1]), lists) == pytest.approx(np.log(2))
    assert _edge_information(np.array([0, 1, 0, 1]), lists) == pytest.approx(np.log(2))
    everywhere = np.array([[b for b in range(4) if b != a] for a in range(4)])
    alone = _edge_information(np.zeros(4, dtype=int), everywhere)
    assert alone == 0
    counts = {(a, b): 0 for a in range(2) for b in range(2)}
    labels = np.array([0, 0, 0, 1])
    for i, j in combinations(range(4), 2):
        counts[labels[i], labels[j]] += 1
        counts[labels[j], labels[i]] += 1
    p = np.array(list(counts.values())).reshape(2, 2) / 12
    expected = sum(
        p[a, b] * np.log(p[a, b] / (p[a].sum() * p[:, b].sum()))
        for a in range(2)
        for b in range(2)
        if p[a, b]
    )
    assert _edge_information(labels, everywhere) == pytest.approx(expected)
