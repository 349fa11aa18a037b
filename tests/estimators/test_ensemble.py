"""EnsembleKernelKMeans: consensus of the members, warnings and progress."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from akkm import ApproxKernelKMeans, EnsembleKernelKMeans
from akkm.consensus import mcla


def test_labels_are_the_mcla_consensus_of_the_members(digits):
    X = digits[0]
    model = EnsembleKernelKMeans(10, n_members=6, n_landmarks=30, random_state=0).fit(X)
    assert [len(m.landmark_indices_) for m in model.members_] == [30] * 6
    drawn = {tuple(member.landmark_indices_) for member in model.members_}
    assert len(drawn) == 6
    labelings = [member.labels_ for member in model.members_]
    expected = mcla(labelings, 10)
    # The labels of ties differ, because `mcla` and `fit` use different seeds.
    ties = expected.labels != model.labels_
    assert ties.mean() < 0.02
    anmi = [
        normalized_mutual_info_score(model.labels_, x, average_method="geometric")
        for x in labelings
    ]
    assert model.anmi_ == pytest.approx(np.mean(anmi))
    assert model.agreement_.shape == (1797,)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    # A member can be fitted again from its parameters.
    alone = ApproxKernelKMeans(**model.members_[2].get_params()).fit(X)
    np.testing.assert_array_equal(alone.labels_, model.members_[2].labels_)


def test_an_ensemble_is_better_and_varies_less_than_its_members(digits):
    """The NMI of ensembles has a higher mean and a lower standard deviation."""
    X, y = digits[0][:900], digits[1][:900]
    params = {"n_landmarks": 20, "gamma": 0.03, "init": "random"}
    models = [
        EnsembleKernelKMeans(10, random_state=seed, **params).fit(X)
        for seed in range(5)
    ]
    members = [member for model in models for member in model.members_]
    together, alone = (
        [normalized_mutual_info_score(y, model.labels_) for model in fitted]
        for fitted in (models, members)
    )
    assert np.mean(together) > np.mean(alone) + 0.02
    assert np.std(together) < np.std(alone)


def test_metis_finds_nearly_the_same_clusters(digits):
    pytest.importorskip("pymetis")
    X = digits[0][:900]
    params = {"n_members": 5, "n_landmarks": 100, "random_state": 0}
    ours = EnsembleKernelKMeans(10, **params).fit(X)
    theirs = EnsembleKernelKMeans(10, partitioner="metis", **params).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.95


def test_members_with_an_empty_cluster_can_predict(rng):
    """Six clusters are requested for five distinct points."""
    X = np.repeat(10 * np.eye(5), 20, axis=0)
    for n_members in (1, 2, 10):
        model = EnsembleKernelKMeans(6, n_members=n_members, gamma=0.1, random_state=0)
        with pytest.warns(ConvergenceWarning, match="Number of distinct") as caught:
            model.fit(X)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        new = model.predict(rng.normal(scale=10, size=(500, 5)))
        assert set(new) <= set(model.labels_)


def test_fits_in_several_threads_restore_the_warning_filters():
    """Warning filters are shared by all threads, and fits finish in any order."""
    X = np.repeat(10 * np.eye(3), 30, axis=0)
    before = list(warnings.filters)
    with pytest.warns(ConvergenceWarning), ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda s: EnsembleKernelKMeans(
                    5, n_members=4, landmarks="k-means", random_state=s
                ).fit(X),
                range(8),
            )
        )
    assert warnings.filters == before


def test_warns_if_members_disagree():
    """The kernel is so narrow that every member finds different clusters."""
    X, _ = make_moons(3000, noise=0.06, random_state=0)
    model = EnsembleKernelKMeans(2, gamma=1000.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Members disagree so much"):
        model.fit(X)


def test_members_with_the_same_warning_cause_one_warning(digits):
    model = EnsembleKernelKMeans(10, n_landmarks=30, init="random", max_iter=2)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(digits[0])
    assert len(caught) == 1
    assert str(caught[0].message).startswith("10 of 10 members: Stopped at max_iter")
    assert caught[0].filename == __file__


def test_verbose_output_names_members(digits, capsys):
    model = EnsembleKernelKMeans(5, n_members=3, n_landmarks=30, random_state=0)
    model.set_params(verbose=1).fit(digits[0])
    out = capsys.readouterr().out
    assert "member 3 of 3: clustering error" in out
    assert "agree with the consensus" in out


def test_a_callback_can_stop_the_fit_between_members(digits):
    pytest.importorskip("sklearn.callback")

    class Stop:
        seen = 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.seen += 1
            return self.seen == 2

        def teardown(self, estimator, context):
            pass

    model = EnsembleKernelKMeans(5, n_landmarks=30, random_state=0)
    model.set_callbacks(Stop()).fit(digits[0])
    assert len(model.members_) == 2
    np.testing.assert_array_equal(model.predict(digits[0]), model.labels_)


def test_invalid_parameters_are_refused(digits):
    X = digits[0]
    for params, message in (
        ({"n_members": 0}, "The 'n_members' parameter of"),
        ({"partitioner": "x"}, "The 'partitioner' parameter of"),
        ({"landmarks": np.arange(9)}, "The 'landmarks' parameter of"),
        ({"landmarks": "x"}, "Unknown landmark strategy 'x'"),
    ):
        with pytest.raises(ValueError, match=message):
            EnsembleKernelKMeans(3, **params).fit(X)
