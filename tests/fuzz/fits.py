"""Random fits: `python -m tests.fuzz.fits --count 20000`.

All estimators are fitted with all kernels, dtypes and containers to rows that break
careless code, with and without weights. A fit must obey the laws in `laws` and
`relations`, or be refused with a clear message. `--seed 123` runs only the fit with
this seed.
"""

import random

from tests.fuzz.cases import draw_case
from tests.fuzz.data import Folder
from tests.fuzz.laws import Broken, check_fit, chunks_of, fit, problem_of
from tests.fuzz.relations import RELATIONS
from tests.fuzz.runner import Outcome, main

# Parts of the messages with which an ordinary case may be refused.
_EXPECTED = ["needs its rows in memory", "should be >= n_clusters", "leaders, fewer"]
_EXPECTED += ["solver='gradient' needs", "positive sample_weight", "of positive weight"]
_EXPECTED += ["Negative values in data", "overflow", "not available for sparse"]
_EXPECTED += ["lower gamma or degree"]  # for fractional powers of negative numbers


def check_seed(seed):
    """Draw the case of a seed, fit it and check the laws."""
    return check(draw_case(random.Random(seed)))


def check(case):
    """Fit a case and check the laws."""
    folder, before = Folder(), fit.count
    try:
        with chunks_of(case.chunk_rows):
            outcome = _check(case, folder)
    finally:
        folder.close()
    outcome.runs = fit.count - before
    return outcome


def _check(case, folder):
    outcome = Outcome(str(case), "fitted")
    try:
        model, rows = fit(case, folder)
    except Broken as broken:
        outcome.problems.append(str(broken))
        return outcome
    except Exception as error:
        outcome.kind, outcome.message = "refused", str(error)
        problem = problem_of(error, case)
        outcome.problems += [problem] if problem else []
        if case.ordinary and not any(text in str(error) for text in _EXPECTED):
            outcome.problems.append(f"an ordinary case was refused: {error}")
        return outcome
    if case.fault is not None:
        return Outcome(str(case), "accepted a fault", message=case.fault)
    if "not finite" in case.traits:
        outcome.problems.append("NaN or inf was accepted")
        return outcome
    _run(outcome, check_fit, case, model, rows)
    for law in case.laws:
        _run(outcome, RELATIONS[law], case, model, folder)
    return outcome


def _run(outcome, law, case, *args):
    """Check one law; if it does not hold, add the reason to the problems."""
    try:
        law(case, *args)
    except Broken as broken:
        outcome.problems.append(str(broken))
    except Exception as error:
        problem = problem_of(error, case) or f"{type(error).__name__}: {error}"
        outcome.problems.append(f"{law.__name__}: {problem}")


if __name__ == "__main__":
    main("fits", check_seed)
