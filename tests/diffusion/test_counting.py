"""How many clusters: the rule, and where people see what it found."""

import re
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib import pyplot
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

from akkm import (
    ApproxKernelKMeans,
    DiffusionKernelKMeans,
    SparseKernelKMeans,
    plot,
)
from akkm.cli._app import app
from akkm.diffusion.estimate_k import (
    Cut,
    check_balance,
    cut_along_eigenvectors,
    estimate_n_clusters,
)
from akkm.model_file import load_model
from akkm.report import report

APART = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])


def spectrum(*rates):
    return np.exp(-np.array([0.0, *rates]))


def gap(ratio):
    """The widest gap of two rates, from its definition on a fine grid of times."""
    t = np.exp(np.linspace(-12, 6, 200_001))
    return (np.exp(-t) - np.exp(-ratio * t)).max()


class TestRule:
    def test_gaps_against_the_definition(self):
        found = estimate_n_clusters(spectrum(1.0, 3.0, 30.0))
        np.testing.assert_array_equal(found.numbers, [2, 3])
        np.testing.assert_allclose(found.gaps, [gap(3), gap(10)], atol=1e-8)

    def test_clusters_of_clusters_are_counted_one_by_one(self):
        # Two far groups of two each: 2 has a wider gap than 4, and 4 a wide one.
        found = estimate_n_clusters(spectrum(0.0, 1.0, 1.1, 20.0, 25.0))
        assert found.gaps[0] > found.gaps[2] > 0.55
        assert (found.n_clusters, found.second, found.sure) == (4, 2, True)

    @pytest.mark.parametrize(
        ("ratio", "number", "sure"), [(4.2, 2, False), (4.9, 3, False), (6.0, 3, True)]
    )
    def test_gaps_that_are_taken_and_relied_on(self, ratio, number, sure):
        found = estimate_n_clusters(spectrum(1.0, 100.0, 100.0 * ratio, 101.0 * ratio))
        assert found.n_clusters == number
        assert found.sure == (sure or number == 2)

    def test_the_largest_gap_if_none_is_wide(self):
        found = estimate_n_clusters(spectrum(1.0, 2.0, 6.0, 7.0))
        assert (found.n_clusters, found.sure) == (3, False)
        assert "data without clusters" in found.why
        assert str(found) == f"3, unsure: {found.why}; next best 2 (0.25)"

    @pytest.mark.parametrize(
        ("sizes", "why"),
        [
            ([70, 30], "the gap"),
            ([85, 15], "one of them has 85 % of the rows"),
            ([700, 297, 3], "one of them has less than 0.5 % of the rows"),
        ],
    )
    def test_unequal_clusters(self, sizes, why):
        found = estimate_n_clusters(spectrum(*np.zeros(len(sizes) - 1), 1.0, 1.1))
        labels = np.repeat(np.arange(len(sizes)), sizes)
        judged = check_balance(found, labels)
        assert judged.why.startswith(why)
        assert judged.sure == (why == "the gap")
        assert (
            check_balance(found, np.arange(len(sizes)), np.array(sizes)).why
            == judged.why
        )


def chains(*lengths, link):
    """Chains, each a cluster that walks take long to cross, and links between them."""
    ends = np.cumsum(lengths)
    beside = np.ones(ends[-1] - 1)
    beside[ends[:-1] - 1] = link
    return sparse.csr_array(sparse.diags_array([beside, beside], offsets=[-1, 1]))


def leading(W):
    scale = 1 / np.sqrt(W.sum(axis=1))
    values, vectors = np.linalg.eigh(W.toarray() * scale[:, None] * scale)
    return values[::-1], vectors[:, ::-1]


def ones(W):
    return np.ones(W.shape[0])


def rings(seed):
    rng = np.random.default_rng([seed, 3])
    radius = rng.choice([0.4, 0.8, 1.2], 3000, p=[1 / 6, 2 / 6, 3 / 6])
    angle = rng.random(3000) * 2 * np.pi
    X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + 0.05 * rng.standard_normal(X.shape)


class TestCut:
    @pytest.mark.parametrize(
        ("lengths", "link", "number", "tight"),
        [
            ((60, 40, 50), 1e-4, 3, True),
            ((60, 40, 50), 1e-4, 2, True),
            ((60, 40, 50), 1e-4, 4, False),  # a chain would be cut
            ((100, 50), 1, 2, False),  # a single chain
            ((100, 50), 0, 2, True),
        ],
    )
    def test_chains(self, lengths, link, number, tight):
        W = chains(*lengths, link=link)
        assert cut_along_eigenvectors(W, *leading(W), ones(W), number).tight == tight

    def test_shares(self):
        W = chains(80, 20, link=0)
        rows = np.repeat([1.0, 3.0], [80, 20])
        assert cut_along_eigenvectors(
            W, *leading(W), ones(W), 2
        ).smallest == pytest.approx(0.2)
        assert cut_along_eigenvectors(
            W, *leading(W), rows, 2
        ).smallest == pytest.approx(60 / 140)

    def test_rows_that_all_are_tied(self):
        # The bound says little where all is tied to all.
        W = sparse.csr_array(np.ones((50, 50)))
        assert not cut_along_eigenvectors(W, *leading(W), ones(W), 2).tight

    def test_tight_clusters_need_no_wide_gap(self):
        asked = []

        def cut(number):
            asked.append(number)
            return Cut(0.1, number == 3)

        values = spectrum(1.0, 100.0, 250.0, 600.0)
        found = estimate_n_clusters(values, cut)
        assert 0.2 < found.gaps[1] < 0.5
        assert (found.n_clusters, found.sure) == (3, False)
        assert "they share almost no similarity, but there may be" in found.why
        assert asked == [4, 3]  # the largest number first
        # Without it the wide gap counts; and a narrow one is asked about, no more.
        assert estimate_n_clusters(values).n_clusters == 2
        steps = spectrum(1.0, 1.2, 1.4, 1.6)
        assert (
            "without clusters" in estimate_n_clusters(steps, lambda _: Cut(1, True)).why
        )

    def test_wide_gaps_of_a_few_outliers_do_not_count(self):
        values = spectrum(0.0, 0.0, 1.0, 20.0, 21.0)
        assert estimate_n_clusters(values).n_clusters == 4
        for least, number in ((0.05, 3), (0.01, 4)):
            found = estimate_n_clusters(
                values, lambda k: Cut(0.02 if k == 4 else 0.3, False), least
            )
            assert (found.n_clusters, found.sure) == (number, True)
        # Without any other they do, unsurely.
        found = estimate_n_clusters(values, lambda k: Cut(0.001, False))
        assert (found.n_clusters, found.sure) == (4, False)
        assert found.why.endswith("but one of them has only a few rows")
        values = spectrum(1.0, 2.5, 50.0, 51.0)
        found = estimate_n_clusters(
            values, lambda k: Cut(0.3 if k == 2 else 0.01, False), 0.1
        )
        assert (found.n_clusters, found.sure) == (2, False)
        assert "without clusters" in found.why

    @pytest.mark.parametrize(
        ("method", "seed"),
        [
            (DiffusionKernelKMeans, 8),
            (DiffusionKernelKMeans, 9),
            (partial(SparseKernelKMeans, n_landmarks=750), 8),
        ],
    )
    def test_rings(self, method, seed):
        with pytest.warns(UserWarning, match="but there may be more"):
            model = method("auto", random_state=seed).fit(rings(seed))
        assert model.n_clusters_ == 3
        assert model.evidence_.gaps[0] > 0.5 > model.evidence_.gaps[1]


class TestSparse:
    def test_outliers_are_no_clusters(self, rng):
        X, _ = make_blobs(2000, centers=np.hstack([APART, APART]), random_state=0)
        X = np.vstack([X, 40 + rng.random((8, 4))])
        model = SparseKernelKMeans("auto", random_state=0).fit(X)
        assert (model.n_clusters_, model.evidence_.sure) == (3, True)

    @pytest.mark.parametrize("seed", [4, 6, 7])
    def test_nor_are_outliers_that_a_row_or_two_tie_to_the_rest(self, seed):
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

    def test_thin_spots_are_no_gaps(self):
        # Walks are held up at the thinnest spot of each moon; something is cut there.
        X = make_moons(500, noise=0.05, random_state=4)[0]
        found = SparseKernelKMeans("auto", random_state=4).fit(X).evidence_
        assert found.gaps[2] > 0.4
        assert (found.n_clusters, found.sure) == (2, True)

    def test_nor_are_fringes(self):
        centers, spread = np.array([[-6.0, 0], [0, 0], [9, 0]]), [0.5, 1.0, 2.5]
        X, _ = make_blobs(2000, centers=centers, cluster_std=spread, random_state=4)
        found = SparseKernelKMeans("auto", random_state=4).fit(X).evidence_
        assert found.gaps[3] > 0.2
        assert (found.n_clusters, found.sure) == (3, True)

    @pytest.mark.parametrize("n", [150, 600])
    def test_few_rows(self, n):
        X, _ = make_blobs(n, centers=APART, random_state=4)
        model = SparseKernelKMeans("auto", random_state=4).fit(X)
        assert (model.n_clusters_, model.evidence_.sure) == (3, True)

    def test_unsure_of_one_bell(self, rng):
        with pytest.warns(UserWarning, match="Unsure of the number of clusters"):
            SparseKernelKMeans("auto", random_state=0).fit(rng.normal(size=(3000, 2)))

    @pytest.mark.parametrize("seed", [0, 1, 2, 3])
    def test_unsure_of_digits(self, digits, seed):
        with pytest.warns(UserWarning, match="Unsure of the number of clusters"):
            SparseKernelKMeans("auto", random_state=seed).fit(digits[0])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("three.npy", make_blobs(600, centers=APART, random_state=0)[0])
    return tmp_path


def run(command):
    return CliRunner().invoke(app, command.split())


class TestCommandLine:
    @pytest.mark.parametrize("method", ["sparse", "diffusion"])
    def test_auto_is_told_kept_and_shown(self, method, here):
        command = f"three.npy -k auto --method {method}"
        told = run(f"cluster {command} --model m.skops --report r.html")
        assert told.exit_code == 0, told.output
        line = r"clusters +3, sure: the gap after them in the spectrum is (0\.9|1\.0)"
        assert re.search(line, told.stdout)
        assert re.search(line, run("info m.skops").stdout)
        saved = load_model("m.skops")
        assert str(saved.estimator.evidence_) in told.stdout
        assert saved.about["k"] == len(saved.about["sizes"]) == 3
        page = (here / "r.html").read_text()
        assert "How many clusters" in page
        assert "Sure of 3 clusters" in page
        plan = run(f"plan {command}").stdout
        assert re.search(line, plan)
        assert "counted on 600 of 600 rows" in plan
        assert ("in the graph" in plan) == (method == "diffusion")
        again = run("predict m.skops three.npy --labels l.csv --report new.html")
        assert again.exit_code == 0, again.output

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ("", "--method approx can't count clusters"),
            ("--method spectral", "--method spectral can't count clusters"),
            ("--method sparse --ensemble 3", "--ensemble can't count clusters"),
        ],
    )
    def test_methods_that_can_not_count(self, more, message, here):
        for command in ("cluster", "plan"):
            result = run(f"{command} three.npy -k auto {more}")
            assert result.exit_code != 0
            assert message in result.stderr

    def test_more_clusters_than_landmarks_or_rows(self, here):
        few = run("cluster three.npy -k 9 --method sparse --landmarks 5")
        assert "less than -k 9" in few.stderr
        assert "at most 600" in run("cluster three.npy -k 601").stderr


class TestShown:
    def test_doubt_is_the_first_thing_on_the_page(self, rng):
        X = rng.random((800, 2))
        with pytest.warns(UserWarning, match="Unsure"):
            model = SparseKernelKMeans("auto", random_state=0).fit(X)
        page = report(model, X).html
        first = page[page.index("Read this first") :][:400]
        assert f"Unsure of {model.n_clusters_} clusters" in first

    def test_a_number_that_was_given_is_not_doubted(self, rng):
        X = rng.random((800, 2))
        page = report(SparseKernelKMeans(4, random_state=0).fit(X), X).html
        assert "4 clusters were requested. Estimate: " in page
        assert "Estimated number of clusters" not in page

    def test_plot(self):
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
