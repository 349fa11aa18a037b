"""`n_clusters="auto"`: the estimated number, and where users see it."""

import re
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib import pyplot
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from akkm import (
    ApproxKernelKMeans,
    ConsensusKernelKMeans,
    DiffusionKernelKMeans,
    SparseKernelKMeans,
    plot,
)
from akkm.cli._app import app
from akkm.cli._cluster import setting_facts
from akkm.inspect import Inspection
from akkm.model_file import load_model
from akkm.report import report

APART = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])


def rings(seed):
    rng = np.random.default_rng([seed, 3])
    radius = rng.choice([0.4, 0.8, 1.2], 3000, p=[1 / 6, 2 / 6, 3 / 6])
    angle = rng.random(3000) * 2 * np.pi
    X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + 0.05 * rng.standard_normal(X.shape)


def _grid(C):
    side = int(np.ceil(np.sqrt(C)))
    return np.array([(i % side, i // side) for i in range(C)], dtype=float)


@pytest.fixture(scope="module")
def uniform():
    """Rows without clusters, and a model fitted to them; tests must not change it."""
    X = np.random.default_rng(0).random((400, 2))
    with pytest.warns(UserWarning, match="The estimate of . clusters is unsure"):
        return X, SparseKernelKMeans("auto", random_state=0).fit(X)


class TestDiffusion:
    @pytest.mark.parametrize("C", [2, 7, 30])
    def test_the_number_of_gaussian_clusters_is_found(self, C):
        X, _ = make_blobs(1500, centers=10 * _grid(C), random_state=0)
        model = DiffusionKernelKMeans("auto", random_state=0).fit(X)
        assert model.n_clusters_ == C
        assert model.evidence_.sure

    @pytest.mark.parametrize("make", [make_moons, make_circles])
    def test_moons_and_circles_are_two_clusters(self, make):
        options = {"factor": 0.5} if make is make_circles else {}
        X, y = make(1500, noise=0.05, random_state=1, **options)
        model = DiffusionKernelKMeans("auto", random_state=0).fit(X)
        assert model.n_clusters_ == 2
        assert adjusted_rand_score(y, model.labels_) == 1.0

    def test_uniform_rows_give_an_unsure_estimate(self, rng):
        with pytest.warns(UserWarning, match="The estimate of . clusters is unsure"):
            model = DiffusionKernelKMeans("auto", random_state=0).fit(
                rng.random((400, 2))
            )
        assert not model.evidence_.sure


class TestSparse:
    def test_distant_outliers_are_not_counted(self, rng):
        X, _ = make_blobs(2000, centers=np.hstack([APART, APART]), random_state=0)
        X = np.vstack([X, 40 + rng.random((8, 4))])
        model = SparseKernelKMeans("auto", random_state=0).fit(X)
        assert (model.n_clusters_, model.evidence_.sure) == (3, True)

    @pytest.mark.parametrize("seed", [4, 6, 7])
    def test_weakly_connected_outliers_are_not_counted(self, seed):
        rng = np.random.default_rng([seed, 3, 5])
        side = 10 * 9 ** (1 / 5)
        centers = rng.random((1, 5)) * side
        while len(centers) < 3:
            new = rng.random(5) * side
            if np.linalg.norm(centers - new, axis=1).min() >= 10:
                centers = np.vstack([centers, new])
        X = centers[rng.integers(3, size=500)]
        X = X + rng.standard_normal(X.shape)
        model = SparseKernelKMeans("auto", n_landmarks=125, random_state=seed).fit(X)
        assert (model.n_clusters_, model.evidence_.sure) == (3, True)
        assert model.evidence_.gaps[2] > 0.55

    def test_places_with_few_rows_do_not_split_a_cluster(self):
        # Random walks seldom cross the place of a moon that has the fewest rows. This
        # causes a gap in the spectrum, which must not count.
        X = make_moons(500, noise=0.05, random_state=4)[0]
        found = SparseKernelKMeans("auto", random_state=4).fit(X).evidence_
        assert found.gaps[2] > 0.4
        assert (found.n_clusters, found.sure) == (2, True)

    def test_sparse_outer_rows_do_not_split_a_wide_cluster(self):
        centers, spread = np.array([[-6.0, 0], [0, 0], [9, 0]]), [0.5, 1.0, 2.5]
        X, _ = make_blobs(2000, centers=centers, cluster_std=spread, random_state=4)
        found = SparseKernelKMeans("auto", random_state=4).fit(X).evidence_
        assert found.gaps[3] > 0.2
        assert (found.n_clusters, found.sure) == (3, True)

    @pytest.mark.parametrize("n", [150, 600])
    def test_the_number_of_clusters_is_found_from_few_rows(self, n):
        X, _ = make_blobs(n, centers=APART, random_state=4)
        model = SparseKernelKMeans("auto", random_state=4).fit(X)
        assert (model.n_clusters_, model.evidence_.sure) == (3, True)

    def test_one_gaussian_gives_an_unsure_estimate(self, rng):
        with pytest.warns(UserWarning, match="The estimate of . clusters is unsure"):
            SparseKernelKMeans("auto", random_state=0).fit(rng.normal(size=(400, 2)))

    def test_the_estimate_for_digits_is_near_the_number_of_classes(self, digits):
        model = SparseKernelKMeans("auto", random_state=0).fit(digits[0][::3])
        assert 8 <= model.n_clusters_ <= 14
        assert not model.evidence_.conclusive
        assert model.stability_.n_clusters == model.n_clusters_

    @pytest.mark.parametrize("n_clusters", [2, 7, 20])
    def test_the_number_of_gaussian_clusters_is_found(self, n_clusters, rng):
        centers = rng.uniform(-12, 12, size=(400, 5))
        apart = [centers[0]]  # chosen centers, far apart
        for c in centers[1:]:
            if min(np.linalg.norm(c - a) for a in apart) > 8:
                apart.append(c)
        assert len(apart) >= n_clusters
        X, y = make_blobs(3000, centers=np.array(apart[:n_clusters]), random_state=0)
        model = SparseKernelKMeans("auto", random_state=0).fit(X)
        assert model.n_clusters_ == n_clusters
        assert model.evidence_.sure
        assert adjusted_rand_score(y, model.labels_) > 0.99

    def test_uniform_rows_give_an_unsure_estimate(self, uniform):
        assert not uniform[1].evidence_.sure


@pytest.mark.filterwarnings("ignore:The estimate of")
@pytest.mark.parametrize("Estimator", [DiffusionKernelKMeans, SparseKernelKMeans])
@pytest.mark.parametrize(("share", "sure"), [(0.92, False), (0.6, True)])
def test_the_evidence_does_not_depend_on_the_requested_number(Estimator, share, sure):
    """If one cluster has 92 % of the rows, `sure` is False for every C."""
    sizes = [int(400 * share), 400 - int(400 * share)]
    X, _ = make_blobs(sizes, centers=APART[:2], random_state=0)
    found = [Estimator(C, random_state=0).fit(X).evidence_ for C in ("auto", 2, 5)]
    assert [evidence.sure for evidence in found] == 3 * [sure]


@pytest.mark.parametrize(
    ("method", "seed"),
    [
        (DiffusionKernelKMeans, 8),
        (DiffusionKernelKMeans, 9),
        (partial(SparseKernelKMeans, n_landmarks=750), 8),
    ],
)
def test_rings_are_found_by_their_tight_cut(method, seed):
    """The gap for three clusters is narrow, but the cut between the rings is tight.

    The cut is tight because rows of different rings have almost no similarity.
    """
    with pytest.warns(UserWarning, match="the true number of clusters may be larger"):
        model = method("auto", random_state=seed).fit(rings(seed))
    assert model.n_clusters_ == 3
    assert model.evidence_.gaps[0] > 0.5 > model.evidence_.gaps[1]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("three.npy", make_blobs(600, centers=APART, random_state=0)[0])
    return tmp_path


def run(command):
    return CliRunner().invoke(app, command.split())


class TestCommandLine:
    @pytest.mark.parametrize("method", ["sparse", "diffusion"])
    def test_the_estimate_is_printed_saved_and_reported(self, method, here):
        command = f"three.npy -k auto --method {method}"
        result = run(f"cluster {command} --model m.skops --report r.html")
        assert result.exit_code == 0, result.output
        line = r"clusters +3, sure: the gap in the spectrum is (0\.9|1\.0)"
        assert re.search(line, result.stdout)
        assert re.search(line, run("info m.skops").stdout)
        saved = load_model("m.skops")
        assert str(saved.estimator.evidence_) in result.stdout
        assert saved.about["k"] == len(saved.about["sizes"]) == 3
        page = (here / "r.html").read_text()
        assert "Number of clusters" in page
        assert "Estimate: 3 clusters, sure" in page
        plan = run(f"plan {command}").stdout
        assert re.search(line, plan)
        assert "estimated on 600 of 600 rows" in plan
        again = run("predict m.skops three.npy --labels l.csv --report new.html")
        assert again.exit_code == 0, again.output

    @pytest.mark.parametrize(
        "more", ["", "--method spectral", "--method sparse --ensemble 3"]
    )
    def test_every_method_can_estimate(self, more, here):
        result = run(f"cluster three.npy -k auto {more}")
        assert result.exit_code == 0, result.output
        assert re.search(r"clusters +3, (un)?sure", result.stdout)

    def test_more_clusters_than_landmarks_or_rows_are_refused(self, here):
        few = run("cluster three.npy -k 9 --method sparse --landmarks 5")
        assert "less than -k 9" in few.stderr
        assert "at most 600" in run("cluster three.npy -k 601").stderr


class TestReportAndPlot:
    def test_the_report_begins_with_an_unsure_estimate(self, uniform):
        X, model = uniform
        page = report(model, X).html
        first = page[page.index("Read this first") :][:400]
        assert f"estimate of {model.n_clusters_} clusters is unsure" in first

    @pytest.mark.filterwarnings("ignore:The estimate of")
    @pytest.mark.parametrize(("smaller", "check"), [(40, 0), (1, 1)])
    def test_checks_of_cluster_sizes_agree_with_an_unsure_estimate(
        self, smaller, check
    ):
        X, y = make_blobs([250, smaller], centers=APART[:2], random_state=0)
        model = DiffusionKernelKMeans("auto", random_state=0).fit(X)
        model.labels_ = y.astype(np.int32)
        checks = {c.name: c.grade for c in Inspection(model, X).checks}
        name = ("largest_cluster", "smallest_cluster")[check]
        assert checks[name] != "fine"

    def test_the_kernel_is_described_in_words(self, here):
        X = np.load("three.npy")
        for model in (SparseKernelKMeans(3), DiffusionKernelKMeans(3)):
            model.set_params(random_state=0).fit(X)
            text = f"diffusion, t = {model.diffusion_:.4g}"
            assert text in report(model, X).html
            assert setting_facts(model)["kernel"] == text
            members = ConsensusKernelKMeans(2, estimator=model, n_members=2)
            page = report(members.set_params(random_state=0).fit(X), X).html
            assert "diffusion, t = " in page
            assert "Linear(" not in page
        assert "diffusion, t = " in run("plan three.npy -k 3 --method sparse").stdout

    def test_a_requested_number_gives_no_warning_in_the_report(self, rng):
        X = rng.random((400, 2))
        page = report(SparseKernelKMeans(4, random_state=0).fit(X), X).html
        assert "4 clusters were requested. Estimate: " in page
        assert "Estimated number of clusters" not in page

    def test_the_plot_shows_all_gaps(self):
        X, _ = make_blobs(600, centers=APART, random_state=0)
        model = SparseKernelKMeans("auto", random_state=0).fit(X)
        ax = plot.evidence(model, X)
        heights = [bar.get_height() for bar in ax.patches]
        np.testing.assert_array_equal(heights, model.evidence_.gaps)
        marked = [text.get_text() for text in ax.texts if text.get_text()]
        assert marked == sorted(map(str, (3, model.evidence_.second)), key=int)
        assert ax.get_title() == "3 clusters, sure"
        with pytest.raises(ValueError, match="has no evidence_ to draw"):
            plot.evidence(ApproxKernelKMeans(2, random_state=0).fit(X))
        pyplot.close("all")
