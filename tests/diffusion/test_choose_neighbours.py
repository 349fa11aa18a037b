"""n_neighbors="auto": the number of neighbours is chosen from the data."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from akkm import DiffusionKernelKMeans
from akkm.diffusion.choose_neighbours import _noise


@pytest.fixture(scope="module")
def noisy():
    """Eight overlapping Gaussian clusters in 40 dimensions: rows and labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=2000)
    X = 0.5 * rng.normal(size=(8, 40))[y] + rng.normal(size=(2000, 40))
    return X.astype(np.float32), y


def test_noisy_rows_get_more_neighbours(noisy):
    X, y = noisy
    chosen = DiffusionKernelKMeans(8, random_state=0).fit(X)
    few = DiffusionKernelKMeans(8, n_neighbors=15, random_state=0).fit(X)
    k_means = KMeans(8, n_init=10, random_state=0).fit(X)
    nmi = [normalized_mutual_info_score(y, m.labels_) for m in (chosen, few, k_means)]
    assert chosen.n_neighbors_ in (40, 100, 250)
    assert nmi[0] > nmi[1] + 0.05
    assert nmi[0] > nmi[2] - 0.05
    np.testing.assert_array_equal(chosen.predict(X), chosen.labels_)


def test_rows_whose_clusters_are_clear_keep_15_neighbours(digits):
    chosen = DiffusionKernelKMeans(10, random_state=0).fit(digits[0])
    given = DiffusionKernelKMeans(10, n_neighbors=15, random_state=0).fit(digits[0])
    assert chosen.n_neighbors_ == 15
    np.testing.assert_array_equal(chosen.labels_, given.labels_)


@pytest.mark.parametrize("case", ["few rows", "one cluster", "k is estimated"])
def test_rows_have_15_neighbours_if_there_is_no_basis_for_a_choice(noisy, case):
    X = noisy[0][:1200] if case == "one cluster" else noisy[0][:600]
    n_clusters = {"few rows": 8, "one cluster": 1, "k is estimated": "auto"}[case]
    model = DiffusionKernelKMeans(n_clusters, random_state=0)
    if case == "k is estimated":
        with pytest.warns(UserWarning, match="unsure"):
            model.fit(X)
    else:
        model.fit(X)
    assert model.n_neighbors_ == 15


def test_the_noise_of_an_agreement_is_largest_at_one_half():
    assert _noise(0.5) == pytest.approx(0.025)
    assert _noise(0.9) < _noise(0.7)
    assert _noise(1.0) == _noise(-0.2) == 0
