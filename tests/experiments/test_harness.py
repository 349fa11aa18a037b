"""Tests of the harness: store, runner and pages."""

import pytest

from experiments.harness import costs as costs_module
from experiments.harness.costs import costs
from experiments.harness.pages import (
    Folded,
    Heading,
    Paragraph,
    Picture,
    ResultTable,
    html_page,
    markdown,
)
from experiments.harness.runner import in_new_process, run_missing
from experiments.harness.store import JsonLines


@pytest.fixture
def records(tmp_path):
    return JsonLines(tmp_path / "folder" / "runs.jsonl")


class TestStore:
    def test_stored_records_can_be_read_again(self, records):
        records.add({"data": "a", "seed": 0})
        records.add({"data": "b", "seed": 0, "settings": {"m": 5}})
        again = JsonLines(records.path)
        assert again.records == records.records
        assert again.find(seed=0, settings={"m": 5}) == [records.records[1]]
        assert again.find(seed=1) == []

    def test_an_incomplete_last_line_is_ignored_and_removed(self, records):
        records.add({"seed": 0})
        with records.path.open("ab") as file:
            file.write(b'{"seed": 1, "nm')
        again = JsonLines(records.path)
        assert again.records == [{"seed": 0}]
        again.add({"seed": 2})
        assert records.path.read_text() == '{"seed": 0}\n{"seed": 2}\n'

    @pytest.mark.parametrize("line", ["no JSON", "3"])
    def test_a_line_that_is_not_a_record_is_named(self, records, line):
        records.add({"seed": 0})
        with records.path.open("a") as file:
            file.write(f"{line}\n")
        with pytest.raises(ValueError, match=r"runs\.jsonl, line 2 is not a JSON obj"):
            JsonLines(records.path)

    def test_removed_records_are_removed_from_the_file(self, records):
        for seed in range(3):
            records.add({"seed": seed})
        records.remove(records.find(seed=1))
        assert JsonLines(records.path).records == [{"seed": 0}, {"seed": 2}]


class TestRunner:
    def test_only_missing_runs_are_measured(self, records):
        runs = [{"seed": seed} for seed in range(3)]
        records.add({"seed": 1, "failed": "no memory"})
        measured = []

        def measure(seed):
            measured.append(seed)
            return {"nmi": seed / 2}

        assert run_missing(records, runs, measure) == 2
        assert measured == [0, 2]
        assert JsonLines(records.path).find(seed=2) == [{"seed": 2, "nmi": 1.0}]
        assert run_missing(records, runs, measure) == 0

    def test_results_before_an_error_are_stored(self, records):
        def measure(seed):
            if seed == 1:
                raise KeyboardInterrupt
            return {}

        with pytest.raises(KeyboardInterrupt):
            run_missing(records, [{"seed": 0}, {"seed": 1}], measure)
        assert JsonLines(records.path).records == [{"seed": 0}]

    def test_a_function_runs_in_a_new_process(self):
        versions = in_new_process(costs_module.versions, packages=["numpy", "no-such"])
        assert versions == costs_module.versions(["numpy"])

    def test_a_failure_is_returned_as_a_record(self):
        failed = in_new_process(costs_module.versions, packages=3)
        assert failed["failed"].startswith("TypeError: 'int' object is not iterable")

    def test_a_timeout_is_returned_as_a_record(self):
        failed = in_new_process(costs_module.versions, timeout=0.01, packages=[])
        assert failed == {"failed": "longer than 0.01 s"}

    def test_costs_are_those_of_the_block(self):
        with costs() as spent:
            filled = bytearray(50_000_000)
        assert len(filled) == 50_000_000
        assert 0 < spent.cpu_seconds < 10
        assert spent.seconds > 0
        if spent.memory_by == "VmHWM":
            assert spent.above_bytes > 40_000_000


class TestPages:
    BLOCKS = (
        Heading("Running time"),
        Paragraph("See `fit`, *not* <b> & **all** of k_B K_B."),
        ResultTable("Table 1", ["m", "a | b"], [["100", "**1** | 2 < 3"]]),
        Picture("one.png", 'A "picture"', b"png"),
    )

    def test_blocks_are_written_as_markdown(self):
        assert markdown("Title", self.BLOCKS).split("\n\n") == [
            "# Title",
            "## Running time",
            "See `fit`, *not* <b> & **all** of k_B K_B.",
            "**Table 1**",
            "| m | a \\| b |\n| --- | ---: |\n| 100 | **1** \\| 2 < 3 |",
            '![A "picture"](one.png)',
            '*A "picture"*\n',
        ]

    def test_folded_cells_show_their_first_part(self):
        rows = [["a", Folded("1 of 2; b | c; d < *e*")], ["f", Folded("one part")]]
        table = ResultTable("", ["x", "y"], rows, prose=True)
        text = markdown("Title", [table])
        folded = "<details><summary>1 of 2</summary>b \\| c; d < *e*</details>"
        assert f"| a | {folded} |\n| f | one part |" in text
        text = html_page("Title", [table])
        folded = "<details><summary>1 of 2</summary>b | c; d &lt; <em>e</em></details>"
        assert folded in text
        assert "<td>one part</td>" in text

    def test_blocks_are_written_as_html(self):
        text = html_page("Title", self.BLOCKS)
        assert '<h2 id="running-time">Running time</h2>' in text
        assert '<li><a href="#running-time">Running time</a></li>' in text
        assert (
            "<p>See <code>fit</code>, <em>not</em> &lt;b&gt; &amp; "
            "<strong>all</strong> of k_B K_B.</p>"
        ) in text
        assert '<th scope="col">a | b</th>' in text
        assert "<td><strong>1</strong> | 2 &lt; 3</td>" in text
        assert 'src="data:image/png;base64,cG5n" alt="A &#34;picture&#34;"' in text
