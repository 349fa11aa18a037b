"""Published numbers, comparisons of results, and verdicts on claims."""

import types

import pytest
from scipy import stats

from experiments.paper.claims import CLAIMS, verdicts
from experiments.paper.results import Results, Spread, published
from experiments.paper.store import Store
from experiments.paper.verdicts import (
    FAILS,
    HOLDS,
    OPEN,
    PARTLY,
    SO_FAR,
    Claim,
    Comparison,
    Value,
    above,
    alike,
    below,
    judge,
    no_worse,
    worse,
)

LOW, HIGH = (Value("x", Spread(mean, 0.1, 4)) for mean in (0.5, 0.7))


def test_published_numbers_are_those_of_the_paper():
    assert published("seconds", "mnist", "aKKm", 5000) == Spread(1478.85, 178.97, 10)
    assert published("seconds", "covtype", "k-means") == Spread(29.28, 9.12, 10)
    assert published("seconds", "mnist", "full kernel").mean == 514.54
    assert published("seconds", "kddcup99-full", "aKKm", 5000) is None
    assert published("seconds", "covtype", "KKm") is None
    assert published("consensus", "mnist") == Spread(0.84, 0.02, 10)
    sizes = (100, 200, 500, 1000)
    numbers = [published("ari", "mnist", "aKKm", m).mean for m in sizes]
    assert numbers == [0.47, 0.61, 0.69, 0.70]


def test_values_differ_if_welchs_test_is_significant():
    for mean in (0.6, 0.66, 0.68):
        high = Spread(mean, 0.12, 5)
        p = stats.ttest_ind_from_stats(
            mean, 0.12, 5, 0.5, 0.1, 4, equal_var=False
        ).pvalue
        comparison = above("m", Value("a", high), LOW)
        assert comparison.holds == (p < 0.05)
        assert alike("m", Value("a", high), LOW).holds == (p >= 0.05)
    assert comparison.holds
    assert comparison.text == "m: a 0.68, x 0.5"


def test_comparisons_of_different_values_have_the_right_sign():
    assert above("", HIGH, LOW).holds
    assert below("", LOW, HIGH).holds
    assert not alike("", HIGH, LOW).holds
    assert no_worse("", HIGH, LOW).holds
    assert not no_worse("", LOW, HIGH).holds
    assert worse("", LOW, HIGH).holds
    assert not worse("", HIGH, LOW).holds


@pytest.mark.parametrize("compare", [above, below, alike, no_worse, worse])
def test_comparisons_need_two_numbers_over_several_seeds(compare):
    assert compare("", Value("", None), LOW).holds is None
    assert compare("", LOW, Value("", Spread(0.5, 0.0, 1))).holds is None


@pytest.mark.parametrize(
    ("a", "b", "is_alike"),
    [(0.5, 0.515, True), (0.5, 0.525, False), (0.06, 0.07, False)],
)
def test_small_differences_are_alike_even_if_significant(a, b, is_alike):
    a, b = (Value("", Spread(x, 1e-6, 10)) for x in (a, b))
    assert alike("", a, b).holds == is_alike
    assert worse("", a, b).holds != is_alike
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
def test_a_verdict_combines_comparisons(holds, verdict):
    claim = Claim("", "", lambda results: [Comparison("x", h) for h in holds])
    found = judge(claim, types.SimpleNamespace(complete=False))
    assert found.verdict == verdict
    assert ("not measured yet" in found.figures) == (None in holds)
    # Once all cells have been run, the verdict is final.
    final = judge(claim, types.SimpleNamespace(complete=True))
    assert final.verdict == verdict.removesuffix(SO_FAR)


def test_all_failing_and_six_holding_comparisons_are_shown():
    comparisons = [Comparison(f"a{i}", True) for i in range(9)]
    comparisons += [Comparison("b", False)] * 9
    claim = Claim("", "", lambda results: comparisons)
    shown = judge(claim, types.SimpleNamespace(complete=True)).figures.split("; ")
    assert shown[:10] == ["9 of 18", *["✗ b"] * 9]
    assert shown[10:] == [*(f"✓ a{i}" for i in range(6)), "✓ 3 more"]


def test_every_claim_has_a_verdict(results, plan, tmp_path):
    assert len(CLAIMS) >= 15
    found = verdicts(results)
    undecided = [v.claim.text for v in found if v.verdict == OPEN]
    # This claim needs a published number, and there is none for tiny data.
    assert len(undecided) == 1
    assert "ARI of 0.84" in undecided[0]
    assert {v.verdict for v in found} <= {HOLDS, PARTLY, FAILS, OPEN}
    assert all(v.figures for v in found)
    without_records = verdicts(Results(Store(tmp_path), plan, tiny=True))
    assert {v.verdict for v in without_records} == {OPEN}


@pytest.mark.parametrize(
    ("agreement", "verdict"), [([[75, 75], [75, 75]], HOLDS), (None, OPEN)]
)
def test_verdicts_follow_the_records(agreement, verdict, tiny_folder, all_cells, plan):
    store = Store(tiny_folder)
    for cell in all_cells:
        record = store.get(cell)
        if cell.method == "tKKm" and cell.data in ("tiny-mnist", "tiny-imagenet12"):
            record["exact"] = agreement
        elif cell.method == "aKKm" and "exact" in record:
            record["exact"] = [[150, 0], [0, 150]]
    assert judge(CLAIMS[0], Results(store, plan, tiny=True)).verdict == verdict
