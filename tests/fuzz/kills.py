"""Killed fits: `python -m tests.fuzz.kills --count 100`.

A fit in a child process is killed (SIGKILL) at a random iteration or at a random time.
A second child resumes the fit from its checkpoint. The labels, centers and `inertia_`
of the resumed fit must equal those of an undisturbed fit bit for bit. The rows are in
memory, in files or on the worker processes of a Dask cluster. All fits use the default
initialisation. `--seed 123` runs only the case with this seed.
"""

import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
import warnings
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

import dask.array as da
import numpy as np
import pyarrow as pa
from distributed import Client, LocalCluster
from pyarrow import parquet

from akkm import ApproxKernelKMeans, open_rows
from akkm.approx import checkpoint, seeding
from tests.fuzz import runner

ENGINES = ("memory", "files", "dask")
# Number of rows in the first sample of the initialisation. With fewer rows than usual,
# fits take less time but more iterations.
SAMPLE = 1_500
MOMENTS = ("at an iteration", "at an iteration", "at a time")


@dataclass(frozen=True)
class Case:
    """A fit and the moment at which it is killed."""

    seed: int
    engine: str
    moment: str
    n: int
    d: int
    dtype: str
    weighted: bool
    every: float  # minimum number of seconds between checkpoints; -1: no minimum
    settings: dict

    def __str__(self):
        return ", ".join(f"{key}={value}" for key, value in asdict(self).items())

    def rows(self):
        """Return rows (n, d) of one Gaussian, so that fits need many iterations."""
        rng = np.random.default_rng(self.seed)
        X = rng.normal(size=(self.n, self.d)) @ rng.normal(size=(self.d, self.d))
        return (X / X.std()).astype(self.dtype)

    def weights(self):
        """Return weights (n,), some of them zero, or None for an unweighted fit."""
        if not self.weighted:
            return None
        rng = np.random.default_rng(self.seed + 1)
        return rng.uniform(0, 3, self.n) * (rng.random(self.n) < 0.9)


def draw_case(seed):
    """Draw a case. Cases of consecutive seeds use the engines in turn."""
    rng = random.Random(seed)
    engine, d = ENGINES[seed % len(ENGINES)], rng.randint(3, 8)
    settings = {
        "n_clusters": rng.randint(10, 30),
        "n_landmarks": rng.randint(60, 150),
        "kernel": rng.choice(["rbf", "rbf", "rbf", "laplacian", "poly", "sigmoid"]),
        "gamma": rng.uniform(0.3, 2) / d,
        "coef0": 0.1,
        "degree": 2,
        "max_iter": 8 if engine == "dask" else 60,  # tasks on workers take longer
        "random_state": seed,
        "n_jobs": rng.randint(1, 2),
        "cache_size": rng.choice([0, 4, 1024]),
    }
    return Case(
        seed,
        engine,
        rng.choice(MOMENTS),
        rng.randint(8_000, 16_000),
        d,
        rng.choice(["float32", "float64"]),
        rng.random() < 0.3,
        rng.choice([-1.0, 0.1, 0.5]),
        settings,
    )


def check_seed(seed):
    """Kill the fit of a seed, resume it and compare the results."""
    case, rng = draw_case(seed), random.Random(~seed)
    address = shared_cluster().scheduler_address if case.engine == "dask" else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store(case, folder)
        fit(case, folder, "expected", address, None)
        expected = read(folder / "expected.npz")
        seconds, limit = float(expected.pop("seconds")), int(expected["n_iter"])
        killed = False
        if case.moment == "at a time":
            killed = run_child(case, folder, address, after=rng.uniform(0, seconds))
        # Kill the fit at an iteration instead if it ended before the random time.
        if not killed:
            shutil.rmtree(folder / "checkpoint", ignore_errors=True)
            iteration = rng.randint(1, limit)
            killed = run_child(case, folder, address, iteration=iteration)
        at = iteration_of(folder / "checkpoint" / "akkm-checkpoint.npz")
        ended = not run_child(case, folder, address)
        resumed = read(folder / "resumed.npz")
    outcome = runner.Outcome(str(case), f"resumed, rows in {case.engine}")
    outcome.message = f"killed {case.moment}; checkpoint of iteration {at} of {limit}"
    if not (killed and ended):
        problem = "the fit was not killed, or the resumed fit was killed, too"
        outcome.problems.append(problem)
    for name, values in expected.items():
        if not np.array_equal(values, resumed[name]):
            count = np.count_nonzero(values != resumed[name])
            outcome.problems.append(f"{name}: {count} of {values.size} values differ")
    return outcome


def store(case, folder):
    """If the fit reads files, write Parquet files with row groups of unequal sizes."""
    if case.engine == "files":
        X, names = case.rows(), [f"x{j}" for j in range(case.d)]
        (folder / "rows").mkdir()
        for number, part in enumerate(np.array_split(X, [2_500, 6_000])):
            path = folder / "rows" / f"{number}.parquet"
            table = pa.table(list(part.T), names)
            parquet.write_table(table, path, row_group_size=2_000)


_clusters = []


def shared_cluster():
    """Return a Dask cluster of two worker processes; start it on the first call."""
    if not _clusters:
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
        _clusters.append(LocalCluster(**options))
    return _clusters[0]


def stop_cluster():
    """Stop the cluster if it was started."""
    while _clusters:
        _clusters.pop().close()


def run_child(case, folder, address, *, iteration=None, after=None):
    """Fit in a child process; return whether the child was killed.

    The child is killed after the given iteration, or `after` seconds after the fit
    began. If both are None, the child is not killed.
    """
    # Children are forks of a process that has imported everything and has no threads.
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["tests.fuzz.kills"])
    args = (case, folder, "resumed", address, iteration)
    child = server.Process(target=fit, args=args)
    child.start()
    began = folder / "resumed.began"
    if after is not None:
        while not began.exists() and child.is_alive():
            time.sleep(0.005)
        child.join(after)
        child.kill()
    child.join()
    began.unlink()
    if child.exitcode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the fit ended with exit code {child.exitcode}")
    return child.exitcode != 0


def fit(case, folder, name, address, iteration):
    """Fit the rows of a case and write the results to the file `name`.npz."""
    client = nullcontext() if address is None else Client(address)
    with (
        client,
        warnings.catch_warnings(),
        patch.object(checkpoint, "_EVERY", case.every),
        patch.object(seeding, "_SAMPLE", SAMPLE),
    ):
        warnings.simplefilter("ignore")  # fits may stop at max_iter
        rows = rows_for(case, folder)
        place = None if name == "expected" else folder / "checkpoint"
        model = ApproxKernelKMeans(**case.settings, checkpoint=place)
        if iteration is not None:
            model._observer = KillAt(iteration)
        (folder / f"{name}.began").touch()
        began = time.monotonic()
        model.fit(rows, sample_weight=case.weights())
        results = {
            "labels": np.asarray(model.labels_),
            "inertia": model.inertia_,
            "centers": model.dual_coef_,
            "changed": model.history_[:, 0],
            "n_iter": model.n_iter_,
        }
        if name == "expected":
            results["seconds"] = time.monotonic() - began
    np.savez(folder / f"{name}.npz", **results)


def rows_for(case, folder):
    """Return the rows in the form that the engine needs."""
    if case.engine == "files":
        return open_rows(folder / "rows")
    if case.engine == "dask":
        return da.from_array(case.rows(), chunks=(3_500, case.d))
    return case.rows()


class KillAt:
    """Observer that kills its own process after a given iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def on_step(self, step):
        if step.iteration == self.iteration:
            os.kill(os.getpid(), signal.SIGKILL)


def read(path):
    """Return the arrays in a .npz file, by name."""
    with np.load(path) as file:
        return {name: file[name] for name in file}


def iteration_of(path):
    """Return the iteration of a checkpoint; -1 if there is no checkpoint."""
    return len(read(path)["history"]) if path.exists() else -1


if __name__ == "__main__":
    runner._SECONDS = 600  # a case runs at least three fits
    runner.main("kills", check_seed)
