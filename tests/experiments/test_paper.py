"""The paper's experiments on tiny twins: listed, run, killed, resumed, reported."""

import gc
import html.parser
import json
import os
import re
import signal
import subprocess
import sys
import time
import types
import weakref

import numpy as np
import pytest
from click.testing import CliRunner
from experiments.paper.plan import unique
from experiments.paper.results import MEASURES, Results, Spread, paper
from experiments.paper.store import Store
from experiments.paper.prepared import PreparedData
from experiments.paper.tables import runs
from experiments.paper.verdicts import (
    FAILS,
    HOLDS,
    OPEN,
    PARTLY,
    SO_FAR,
    Check,
    Claim,
    Value,
    above,
    alike,
    below,
    judge,
    no_worse,
    worse,
)
from experiments.paper.claims import CLAIMS, verdicts
from experiments.cli import paper as app
from scipy import stats

from akkm.metrics import adjusted_rand_index, clustering_error, error_reduction, nmi
from experiments import Cell, _run, experiments, run, write_report

AKKM = [sys.executable, "-m", "akkm.cli"]
TINY = experiments(tiny=True)
EVERY = unique(cell for experiment in TINY for cell in experiment.cells)
# What may differ between two runs of the same cell.
COSTS = ("when", "seconds", "cpu_seconds", "peak_bytes", "above_bytes", "total_seconds")
COSTS += ("threads",)  # as many as BLAS has at the moment


def akkm(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with all of it."""
    folder = tmp_path_factory.mktemp("whole")
    result = akkm("paper", "run", "--all", "--tiny", "--folder", folder)
    assert result.exit_code == 0, result.output
    assert f"{len(EVERY)} cells were run, 0 were there already." in result.stdout
    assert re.search(r"seed 1: .* s  \[\d+ of \d+, about .* left\]", result.stdout)
    return folder


@pytest.fixture(scope="module")
def out(whole, tmp_path_factory):
    """A folder with the report about it."""
    out = tmp_path_factory.mktemp("out")
    result = akkm("paper", "report", "--tiny", "--folder", whole, "--out", out)
    assert result.exit_code == 0, result.output
    assert str(out / "index.html") in result.stdout
    return out


@pytest.fixture
def results(whole):
    return Results(Store(whole), TINY, tiny=True)


def outcome(record):
    return {name: value for name, value in record.items() if name not in COSTS}


def lines(folder, data):
    path = folder / f"{data}.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


class TestPlan:
    def test_cells_that_serve_several_tables_are_one(self):
        plan = {experiment.name: set(experiment.cells) for experiment in experiments()}
        assert plan["table3"] < plan["table2"]
        assert len(set().union(*plan.values())) < sum(map(len, plan.values())) / 1.5

    def test_seeds_and_sizes_are_those_that_the_tables_need(self):
        cells = {cell for e in experiments() for cell in e.cells}

        def seeds(*of):
            return {c.seed for c in cells if (c.data, c.method, c.m, c.settings) == of}

        for data in ("imagenet12", "mnist", "covtype"):
            for method in ("aKKm", "tKKm", "nysSC"):
                for m in (100, 200, 500, 1000, 2000):
                    assert len(seeds(data, method, m, ())) == 10
                assert len(seeds(data, method, 5000, ())) >= 3
        for m in (100, 200, 500, 1000, 2000):
            assert len(seeds("kddcup99-full", "aKKm", m, ())) >= 3
        for m in (100, 200, 500, 1000, 2000):
            assert len(seeds("mnist", "aKKm", m, (("landmarks", "diagonal"),))) == 10
        assert len(seeds("mnist", "KKm", None, ())) == 10

    def test_exact_kernel_k_means_comes_before_what_is_compared_with_it(self):
        for data in ("mnist", "imagenet12"):
            methods = [c.method for c in EVERY if c.data == f"tiny-{data}"]
            assert methods[:2] == ["KKm", "KKm"]
            assert "KKm" not in methods[2:]

    def test_a_cell_survives_json(self):
        cell = Cell("mnist", "aKKm", 100, 3, (("init", "k-means++"), ("x", 1.5)))
        assert Cell.from_json(json.loads(cell.key)) == cell


class TestRun:
    def test_everything_went_well_and_a_second_run_does_nothing(
        self, whole, monkeypatch
    ):
        records = Store(whole).records.values()
        assert [r["failed"] for r in records if "failed" in r] == []
        fits = []
        monkeypatch.setattr(_run, "fit", lambda *args: fits.append(args))
        result = akkm("paper", "run", "--all", "--tiny", "--folder", whole)
        assert result.exit_code == 0
        assert f"0 cells were run, {len(EVERY)} were there" in result.stdout
        assert fits == []

    def test_a_record_has_what_was_asked_for(self, whole):
        record = Store(whole).get(Cell("tiny-mnist", "aKKm", 50, 1))
        assert record["seconds"].keys() == {"sampling", "fit"}
        assert record["seconds"]["fit"] > 0
        assert record["peak_bytes"] > record["above_bytes"] >= 0
        assert record["memory_by"] in ("VmHWM", "ru_maxrss")
        assert record["versions"]["numpy"] == np.__version__
        assert np.sum(record["classes"]) == np.sum(record["exact"]) == 300
        assert record["n_iter"] >= 1
        assert record["stand_in"]
        ensemble = Store(whole).get(Cell("tiny-mnist", "ensemble", 5, 1))
        assert ensemble["seconds"].keys() == {"fit", "consensus"}

    def test_cells_are_compared_with_exact_labels_that_come_later(self, tmp_path):
        cell = Cell("tiny-mnist", "aKKm", 10, 0)
        assert run([cell], tmp_path) == 1
        assert Store(tmp_path).get(cell)["exact"] is None
        assert run([cell, Cell("tiny-mnist", "KKm", None, 0)], tmp_path) == 2
        assert np.sum(Store(tmp_path).get(cell)["exact"]) == 300
        assert run([cell], tmp_path) == 0

    def test_subjects_do_not_pile_up(self):
        prepared = PreparedData.load("tiny-mnist", {})
        prepared.start_error(0)
        gone = weakref.ref(prepared)
        del prepared
        gc.collect()
        assert gone() is None

    def test_a_line_that_is_no_record_is_named(self, tmp_path):
        (tmp_path / "mnist.jsonl").write_text('{"a": 1}\n')
        with pytest.raises(ValueError, match=r"mnist\.jsonl, line 1: expected"):
            Store(tmp_path)

    def test_killed_in_the_middle_it_goes_on_where_it_was(self, whole, tmp_path):
        command = [*AKKM, "paper", "run", "table3", "--tiny", "--folder", tmp_path]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        first = "tiny-imagenet12"
        deadline = time.monotonic() + 120
        while lines(tmp_path, first) < 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait()
        before = Store(tmp_path).records
        cells = next(e.cells for e in TINY if e.name == "table3")
        assert 6 <= len(before) < len(cells)
        # The worst moment: half a line is there.
        with (tmp_path / f"{first}.jsonl").open("ab") as file:
            file.write(b'{"cell": {"data": "tiny-im')
        assert Store(tmp_path).records == before
        assert run(cells, tmp_path) == len(cells) - len(before)
        after, all_ = Store(tmp_path), Store(whole)
        assert before.items() <= after.records.items()
        for cell in cells:
            assert outcome(after.get(cell)) == outcome(all_.get(cell)), cell

    def test_the_same_start_for_exact_approximate_and_two_step(self, tmp_path):
        # With all rows as landmarks the three are the same method.
        data = "tiny-covtype"
        cells = [Cell(data, "KKm", None, 0)]
        cells += [Cell(data, method, 300, 0) for method in ("aKKm", "tKKm")]
        run(cells, tmp_path)
        store = Store(tmp_path)
        digests = {store.get(cell)["digest"] for cell in cells}
        assert len(digests) == 1
        assert MEASURES["ari"](store.get(cells[1])) == 1

    def test_a_cell_that_fails_leaves_the_reason(self, tmp_path, monkeypatch):
        def fail(prepared, cell):
            raise ValueError("too narrow")

        cells = TINY[-1].cells[:1]
        with monkeypatch.context() as patch:
            patch.setattr(_run, "fit", fail)
            run(cells, tmp_path)
        results = Results(Store(tmp_path), TINY, tiny=True)
        data = cells[0].data.removeprefix("tiny-")
        reason = results.missing_reason(data, cells[0].method, cells[0].m)
        assert reason == "failed: ValueError: too narrow"
        assert run(cells, tmp_path) == 0

    def test_time_left_is_that_of_like_cells(self, tmp_path):
        store = Store(tmp_path)
        for seed, took in enumerate((1.0, 3.0)):
            cell = Cell("mnist", "aKKm", 100, seed)
            fields = {**cell.__dict__, "settings": []}
            store.add(cell, {"cell": fields, "total_seconds": took})
        todo = [Cell("mnist", "aKKm", 100, 2), Cell("mnist", "aKKm", 200, 0)]
        assert _run.seconds_left(store, todo) == 2 + 4
        assert _run.seconds_left(store, [Cell("mnist", "tKKm", 100, 0)]) is None
        assert _run.seconds_left(store, []) == 0


class TestMeasures:
    def test_those_of_tables_are_those_of_labels(self, rng):
        a, b = rng.integers(4, size=200), rng.integers(3, size=200)
        b[:100] = a[:100] % 3
        record = {"classes": _run._table(a, b), "exact": _run._table(b, a)}
        assert MEASURES["nmi"](record) == pytest.approx(nmi(a, b))
        assert MEASURES["ari"](record) == pytest.approx(adjusted_rand_index(b, a))

    @pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
    def test_trivial_partitions(self, labels):
        a = np.array(labels)
        record = {"exact": _run._table(a, a)}
        assert MEASURES["ari"](record) == adjusted_rand_index(a, a) == 1

    def test_errors_are_those_of_the_exact_kernel(self, whole):
        store, cell = Store(whole), Cell("tiny-mnist", "KKm", None, 1)
        record, labels = store.get(cell), store.exact_labels(cell)
        prepared = PreparedData.load("tiny-mnist", {})
        X, kernel = prepared.data.X, prepared.data.kernel
        before = clustering_error(X, prepared.start(1), kernel)
        after = clustering_error(X, labels, kernel)
        reduction = error_reduction(before, after)
        assert MEASURES["reduction"](record) == pytest.approx(reduction, rel=1e-4)
        assert record["inertia"] == pytest.approx(after, rel=1e-4)

    def test_the_papers_numbers(self):
        assert paper("seconds", "mnist", "aKKm", 5000) == Spread(1478.85, 178.97, 10)
        assert paper("seconds", "covtype", "k-means") == Spread(29.28, 9.12, 10)
        assert paper("seconds", "mnist", "full kernel").mean == 514.54
        assert paper("seconds", "kddcup99-full", "aKKm", 5000) is None
        assert paper("seconds", "covtype", "KKm") is None
        assert paper("consensus", "mnist") == Spread(0.84, 0.02, 10)
        ours = [paper("ari", "mnist", "aKKm", m).mean for m in (100, 200, 500, 1000)]
        assert ours == [0.47, 0.61, 0.69, 0.70]


def test_lines_of_tables_say_of_how_many_runs_they_are():
    three, ten = Spread(0.5, 0.1, 3), Spread(0.5, 0.1, 10)
    assert runs([ten, None, ten]) == "10"
    assert runs([ten, three, None]) == "3 to 10"
    assert runs([None]) == "–"


class TestVerdicts:
    LOW, HIGH = (Value("x", Spread(mean, 0.1, 4)) for mean in (0.5, 0.7))

    def test_a_difference_counts_beyond_chance(self):
        # By definition: the p of Welch's test.
        for mean in (0.6, 0.66, 0.68):
            high = Spread(mean, 0.12, 5)
            p = stats.ttest_ind_from_stats(
                mean, 0.12, 5, 0.5, 0.1, 4, equal_var=False
            ).pvalue
            check = above("m", Value("a", high), self.LOW)
            assert check.holds == (p < 0.05)
            assert alike("m", Value("a", high), self.LOW).holds == (p >= 0.05)
        assert check.holds
        assert check.text == "m: a 0.68, x 0.5"

    def test_comparisons(self):
        assert above("", self.HIGH, self.LOW).holds
        assert below("", self.LOW, self.HIGH).holds
        assert not alike("", self.HIGH, self.LOW).holds
        assert no_worse("", self.HIGH, self.LOW).holds
        assert not no_worse("", self.LOW, self.HIGH).holds
        assert worse("", self.LOW, self.HIGH).holds
        assert not worse("", self.HIGH, self.LOW).holds
        one = Value("", Spread(0.5, 0.0, 1))
        for compare in (above, below, alike, no_worse, worse):
            assert compare("", Value("", None), self.LOW).holds is None
            assert compare("", self.LOW, one).holds is None  # one seed

    @pytest.mark.parametrize(
        ("a", "b", "near"),
        [(0.5, 0.515, True), (0.5, 0.525, False), (0.06, 0.07, False)],
    )
    def test_numbers_that_are_near(self, a, b, near):
        a, b = (Value("", Spread(x, 1e-6, 10)) for x in (a, b))
        assert alike("", a, b).holds == near
        assert worse("", a, b).holds != near
        assert below("", a, b).holds

    @pytest.mark.parametrize(
        ("holds", "verdict"),
        [
            ([True, True], HOLDS),
            ([True, False], PARTLY),
            ([False, False], FAILS),
            ([None, None], OPEN),
            ([None, True], HOLDS + SO_FAR),
            ([None, True, False], PARTLY + SO_FAR),
            ([None, False], FAILS + SO_FAR),
        ],
    )
    def test_checks_add_up(self, holds, verdict):
        claim = Claim("", "", lambda results: [Check("x", h) for h in holds])
        found = judge(claim, types.SimpleNamespace(complete=False))
        assert found.verdict == verdict
        assert ("not measured yet" in found.figures) == (None in holds)
        # If all has been run that is that.
        last = judge(claim, types.SimpleNamespace(complete=True))
        assert last.verdict == verdict.removesuffix(SO_FAR)

    def test_all_that_fails_is_shown_and_some_that_holds(self):
        checks = [Check(f"a{i}", True) for i in range(9)] + [Check("b", False)] * 9
        claim = Claim("", "", lambda results: checks)
        shown = judge(claim, types.SimpleNamespace(complete=True)).figures.split("; ")
        assert shown[:10] == ["9 of 18", *["✗ b"] * 9]
        assert shown[10:] == [*(f"✓ a{i}" for i in range(6)), "✓ 3 more"]

    def test_every_claim_has_a_verdict(self, results, tmp_path):
        assert len(CLAIMS) >= 15
        found = verdicts(results)
        unsaid = [v.claim.words for v in found if v.verdict == OPEN]
        assert len(unsaid) == 1  # one is about a number of the paper's
        assert "by 0.84" in unsaid[0]
        assert {v.verdict for v in found} <= {HOLDS, PARTLY, FAILS, OPEN}
        assert all(v.figures for v in found)
        nothing = verdicts(Results(Store(tmp_path), TINY, tiny=True))
        assert {v.verdict for v in nothing} == {OPEN}

    def test_verdicts_follow_the_records(self, whole):
        store = Store(whole)
        cells = [c for c in EVERY if c.method == "tKKm" and c.data == "tiny-mnist"]
        cells += [c for c in EVERY if c.method == "tKKm" and "image" in c.data]
        claim = CLAIMS[0]
        for agreement, verdict in ([[75, 75], [75, 75]], HOLDS), (None, OPEN):
            for cell in cells:
                store.get(cell)["exact"] = agreement
            for cell in EVERY:
                if cell.method == "aKKm" and "exact" in store.get(cell):
                    store.get(cell)["exact"] = [[150, 0], [0, 150]]
            assert judge(claim, Results(store, TINY, tiny=True)).verdict == verdict


class Page(html.parser.HTMLParser):
    """What a page refers to."""

    def __init__(self, text):
        super().__init__()
        self.sources, self.tags, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.sources += [found[x] for x in ("src", "srcset") if x in found]
        self.links += [found["href"]] if "href" in found else []


class TestReport:
    def test_of_everything(self, out):
        names = {f"figure{i}.png" for i in (1, 3, 4, 5, 6)}
        assert set(os.listdir(out)) == {"README.md", "index.html", *names}
        text = (out / "README.md").read_text("utf-8")
        assert "not run yet" not in text
        assert f"{len(EVERY)} of {len(EVERY)} cells were run, 0 of them failed" in text
        for place in ("Table 2(a)", "Table 2(d)", "Table 3", "Table 4(b)", "Table 5"):
            assert place in text
        assert "left out, as in the paper: all pairs of so many rows" in text
        for claim in CLAIMS:
            assert claim.words in text
        for name in names:
            assert f"]({name})" in text
            assert (out / name).read_bytes().startswith(b"\x89PNG")
        tables = re.findall(r"(?:^\|.*\n)+", text, re.M)
        assert len(tables) > 15
        for table in tables:
            heads = {re.sub(r"\\\|", "", x).count("|") for x in table.splitlines()}
            assert len(heads) == 1, table

    def test_page_is_complete_in_itself(self, out):
        text = (out / "index.html").read_text("utf-8")
        page = Page(text)
        assert "script" not in page.tags
        assert "link" not in page.tags
        assert len(page.sources) == 5
        assert all(source.startswith("data:image/png") for source in page.sources)
        assert all(link.startswith("#") for link in page.links)
        assert "url(" not in text
        assert "default-src &#x27;none&#x27;" in text

    def test_of_a_part_in_which_stand_ins_are_called_so(self, tmp_path):
        cell = Cell("kddcup99-full", "tKKm", 100, 0)
        record = {"title": "KDD Cup 99, stand-in", "note": "", "stand_in": True}
        record |= {"cell": {**cell.__dict__, "settings": []}, "failed": "no"}
        record |= {"rows": 10, "columns": 2, "processor": "x", "threads": 1}
        Store(tmp_path).add(cell, record | {"versions": {}})
        text = write_report(tmp_path)[0].read_text("utf-8")
        assert re.search(r"1 of 1,\d+ cells were run, 1 of them failed", text)
        assert "not run yet" in text
        assert "failed: no" in text
        assert "0.47 ± 0.14" in text  # the paper's are there
        for line in text.splitlines():
            if "KDD Cup 99" in line and "10 % file" not in line:
                assert "stand-in" in line

    def test_needs_matplotlib(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"akkm\[plot\]"):
            write_report(tmp_path)


class TestCommand:
    def test_list(self, whole, tmp_path):
        out = akkm("paper", "list", "--tiny", "--folder", whole).stdout
        assert re.search(rf"all, each once +{len(EVERY)} of {len(EVERY)} +0", out)
        assert re.search(r"tiny-mnist +generated", out)
        out = akkm("paper", "list", "--folder", tmp_path).stdout
        assert re.search(r"table3 +0 of \d+ +0 +Table 3: Agreement", out)

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            ((), "Nothing to run. Name some of choices, .*table2.*or use --all."),
            (("table9",), "Unknown experiment 'table9'. Name some of"),
            (("table3", "--data", "iris"), "on 'iris'. Name some of imagenet12, mnist"),
        ],
    )
    def test_what_to_run(self, args, message, tmp_path):
        result = akkm("paper", "run", *args, "--folder", tmp_path)
        assert result.exit_code == 2
        assert re.search(message, result.stderr)
        assert result.stderr.count("\n") == 1

    def test_one_data_set(self, tmp_path):
        where = ("--tiny", "--folder", tmp_path)
        result = akkm("paper", "run", "table3", "--data", "tiny-mnist", *where)
        assert result.exit_code == 0
        assert [path.name for path in tmp_path.glob("*.jsonl")] == ["tiny-mnist.jsonl"]
        assert akkm("paper", "run", "table3", *where).exit_code == 0
        assert {path.name for path in tmp_path.glob("*.jsonl")} == {
            "tiny-mnist.jsonl",
            "tiny-imagenet12.jsonl",
        }

    def test_absent_data_are_named_at_the_end(self, tmp_path, monkeypatch):
        for name in ("AKKM_DATA", "AKKM_CACHE"):
            (tmp_path / name).mkdir()
            monkeypatch.setenv(name, str(tmp_path / name))
        result = akkm("paper", "run", "table3", "--folder", tmp_path / "out")
        assert result.exit_code == 2
        assert re.search(r"imagenet12: not there.*mnist: not there", result.stderr)
        assert "0 cells were run" in result.stdout

    def test_stopped_by_the_keyboard(self, tmp_path, monkeypatch):
        def stop(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(_run, "fit", stop)
        result = akkm("paper", "run", "table3", "--tiny", "--folder", tmp_path)
        assert result.exit_code == 130
        assert "what was done is kept" in result.stderr
