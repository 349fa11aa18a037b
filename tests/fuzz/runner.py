"""Run many random cases, one per seed, and record those that fail.

A fuzzer is a function that takes a seed and returns an `Outcome`. Cases run in a child
process. If the child crashes or hangs, the case has failed, and the run continues with
the next seed. If a run is interrupted, the next run continues after its last seed.
"""

import argparse
import faulthandler
import json
import os
import pathlib
import signal
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field

# A case fails if it takes more than this many seconds of processor time.
_SECONDS = 120
# A case also fails if it takes more than this many seconds by the clock.
_WAITING = 600
# After this many cases, a new child process starts, so that leaks don't add up.
_CASES_PER_CHILD = 1000


@dataclass
class Outcome:
    """Result of one case. `problems` is empty if all is well.

    The summary counts the cases of each `kind`. `runs` is the number of fits or
    commands that the case needed.
    """

    case: str
    kind: str
    problems: list[str] = field(default_factory=list)
    message: str = ""
    runs: int = 1


def main(name, check):
    """Run a fuzzer with the command-line arguments of this process."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.fuzz.{name}")
    parser.add_argument("--seed", type=int, help="run only this case, and print it")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="number of cases")
    parser.add_argument("--folder", default="build/fuzz", help="folder of the results")
    args = parser.parse_args()
    if args.seed is not None:
        outcome = check(args.seed)
        print(outcome.case)
        print(f"{outcome.kind}: {outcome.message}" if outcome.message else outcome.kind)
        print("\n".join(outcome.problems) or "no problems")
        sys.exit(bool(outcome.problems))
    folder = pathlib.Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}-{args.start}.jsonl"
    run_many(check, range(args.start, args.start + args.count), log)
    sys.exit(summarise(log))


def run_many(check, seeds, log):
    """Check each seed that is not yet in the file `log`; append one line per seed."""
    done = {line["seed"] for line in read(log)}
    todo = [seed for seed in seeds if seed not in done]
    while todo:
        batch = todo[:_CASES_PER_CHILD]
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            child = os.fork()  # Python >= 3.12 warns if there are threads
        if not child:
            _run_in_child(check, batch, log)
        _, status = os.waitpid(child, 0)
        done = {line["seed"] for line in read(log)}
        if status:
            crashed = next(seed for seed in batch if seed not in done)
            how = f"the process ended with status {status}"
            _append(log, crashed, Outcome("?", "crashed", [f"crash: {how}"]), 0)
            done.add(crashed)
        todo = [seed for seed in todo if seed not in done]


def read(log):
    """Return the lines of a log as dictionaries."""
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text().splitlines()]


def summarise(log):
    """Print counts and failures; return the number of failures."""
    lines = read(log)
    kinds = Counter(line["kind"] for line in lines)
    failed = [line for line in lines if line["problems"]]
    for line in failed:
        print(f"seed {line['seed']}: {line['case']}")
        for problem in line["problems"]:
            print(f"    {problem}")
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    runs = sum(line["runs"] for line in lines)
    print(f"{len(lines):,} cases, {runs:,} runs: {counts}; {len(failed)} failures")
    return len(failed)


def _run_in_child(check, seeds, log):
    signal.signal(signal.SIGPROF, _raise_timeout)
    for seed in seeds:
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        faulthandler.dump_traceback_later(_WAITING, exit=True)
        began = time.process_time()
        try:
            outcome = check(seed)
        except Exception as error:  # a mistake in the fuzzer, or the timeout
            name = type(error).__name__
            outcome = Outcome("?", "failed", [f"fuzzer: {name}: {error}"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        _append(log, seed, outcome, time.process_time() - began)
    sys.stdout.flush()
    os._exit(0)


def _append(log, seed, outcome, seconds):
    line = {"seed": seed, **vars(outcome), "seconds": round(seconds, 3)}
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")


def _raise_timeout(number, frame):
    raise TimeoutError(f"the case took more than {_SECONDS} s")
