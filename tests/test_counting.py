"""How many clusters: the rule, and where people see what it found."""

import re

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib import pyplot
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans, SparseKernelKMeans, plot
from akkm.cli._app import app
from akkm.counting import count_clusters, weigh
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
        found = count_clusters(spectrum(1.0, 3.0, 30.0))
        np.testing.assert_array_equal(found.numbers, [2, 3])
        np.testing.assert_allclose(found.gaps, [gap(3), gap(10)], atol=1e-8)

    def test_clusters_of_clusters_are_counted_one_by_one(self):
        # Two far groups of two each: 2 has a wider gap than 4, and 4 a wide one.
        found = count_clusters(spectrum(0.0, 1.0, 1.1, 20.0, 25.0))
        assert found.gaps[0] > found.gaps[2] > 0.55
        assert (found.n_clusters, found.second, found.sure) == (4, 2, True)

    @pytest.mark.parametrize(
        ("ratio", "number", "sure"), [(4.2, 2, False), (4.9, 3, False), (6.0, 3, True)]
    )
    def test_gaps_that_are_taken_and_relied_on(self, ratio, number, sure):
        found = count_clusters(spectrum(1.0, 100.0, 100.0 * ratio, 101.0 * ratio))
        assert found.n_clusters == number
        assert found.sure == (sure or number == 2)

    def test_the_largest_gap_if_none_is_wide(self):
        found = count_clusters(spectrum(1.0, 2.0, 6.0, 7.0))
        assert (found.n_clusters, found.sure) == (3, False)
        assert "rows without clusters" in found.why
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
        found = count_clusters(spectrum(*np.zeros(len(sizes) - 1), 1.0, 1.1))
        labels = np.repeat(np.arange(len(sizes)), sizes)
        judged = weigh(found, labels)
        assert judged.why.startswith(why)
        assert judged.sure == (why == "the gap")
        assert weigh(found, np.arange(len(sizes)), np.array(sizes)).why == judged.why


class TestSparse:
    def test_outliers_are_no_clusters(self, rng):
        X, _ = make_blobs(2000, centers=np.hstack([APART, APART]), random_state=0)
        X = np.vstack([X, 40 + rng.random((8, 4))])
        model = SparseKernelKMeans("auto", random_state=0).fit(X)
        assert (model.n_clusters_, model.evidence_.sure) == (3, True)

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
        assert "4 were asked for. Counting says: Unsure" in page
        assert "Number of clusters, counted" not in page

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
