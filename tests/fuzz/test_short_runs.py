"""Short runs of the fuzzers; `make fuzz` runs them for longer."""

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import command_lines, fits, runner
from tests.fuzz.cases import LAWS, draw_case
from tests.fuzz.relations import RELATIONS
from tests.registry import ESTIMATORS

# Hypothesis draws every random number of a case, and simplifies cases that fail.
drawn = given(st.randoms(use_true_random=False))
few = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("start", range(0, 30, 10))
def test_fits_of_seeds_obey_all_laws(start):
    for seed in range(start, start + 10):
        outcome = fits.check_seed(seed)
        assert not outcome.problems, f"seed {seed}: {outcome.case}"


@few
@drawn
def test_fits_drawn_by_hypothesis_obey_all_laws(random):
    outcome = fits.check(draw_case(random))
    assert not outcome.problems, outcome.case


@pytest.mark.parametrize("start", range(0, 30, 15))
def test_command_lines_of_seeds_succeed_or_say_what_is_wrong(start):
    for seed in range(start, start + 15):
        outcome = command_lines.check_seed(seed)
        assert not outcome.problems, f"seed {seed}: {outcome.case}"


@few
@drawn
def test_command_lines_drawn_by_hypothesis_succeed_or_say_what_is_wrong(random):
    outcome = command_lines.check_in_new_folder(random)
    assert not outcome.problems, outcome.case


def test_cases_cover_all_estimators_and_laws():
    cases = [draw_case(random.Random(seed)) for seed in range(200)]
    assert {case.Estimator for case in cases} == set(ESTIMATORS)
    assert {law for case in cases for law in case.laws} == set(LAWS) == set(RELATIONS)
    assert str(draw_case(random.Random(7))) == str(cases[7])
    assert 20 < sum(case.ordinary for case in cases) < 180


def test_a_crash_is_a_failure_of_one_case(tmp_path):
    def check(seed):
        if seed == 3:
            os.kill(os.getpid(), 11)
        return runner.Outcome(str(seed), "fine", ["wrong"] if seed == 5 else [])

    log = tmp_path / "log.jsonl"
    runner.run_many(check, range(4), log)
    runner.run_many(check, range(8), log)  # runs only the seeds 4 to 7
    lines = runner.read(log)
    assert [line["seed"] for line in lines] == list(range(8))
    assert [line["seed"] for line in lines if line["problems"]] == [3, 5]
    assert runner.summarise(log) == 2


@pytest.mark.parametrize("fault", ["labels", "nan", "crash", "rise"])
def test_the_laws_notice_wrong_results(fault, monkeypatch):
    """The fuzzer reports a problem if `predict` has one of these faults."""
    from akkm import ApproxKernelKMeans

    original = ApproxKernelKMeans.predict

    def broken(self, X):
        labels = original(self, X)
        if fault == "crash":
            return labels[10**9]
        if fault == "nan":
            self.inertia_ = float("nan")
        if fault == "rise":
            self.inertia_ *= 1.5
        return labels + (fault == "labels")

    monkeypatch.setattr(ApproxKernelKMeans, "predict", broken)
    cases = (draw_case(random.Random(seed)) for seed in range(1000))
    case = next(
        case
        for case in cases
        if case.Estimator is ApproxKernelKMeans
        and case.ordinary
        and case.container == "C"
        and case.params["kernel"] == "rbf"
    )
    assert fits.check(case).problems
