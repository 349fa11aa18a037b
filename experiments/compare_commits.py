"""Compare the labels of every estimator between two commits.

    AKKM_DATA=folder python -m experiments.compare_commits OLD NEW

Both commits are checked out into temporary folders. Each commit clusters the same data
sets in its own process. A fit is printed if its labels or its clustering error are not
identical bit for bit. The exit code is 1 if any label differs.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

Fit = Callable[[Any], Any]
TWINS = ("tiny-mnist", "tiny-covtype", "tiny-kddcup99", "tiny-imagenet12")


def data_sets(folder: Path) -> None:
    """Write digits, tiny twins and 20,000 rows of Cover Type to a folder.

    Cover Type is left out if its file is not in the folder that AKKM_DATA names.
    """
    from sklearn.datasets import load_digits

    from experiments.datasets import load

    np.save(folder / "digits.npy", load_digits().data)
    for name in TWINS:
        X = load(name).X
        if sparse.issparse(X):
            sparse.save_npz(folder / f"{name}.npz", X)
        else:
            np.save(folder / f"{name}.npy", X)
    source = Path(os.environ.get("AKKM_DATA", "")) / "covtype" / "covtype.data.gz"
    if source.exists():
        with gzip.open(source, "rt") as file:
            X = np.loadtxt(file, delimiter=",", max_rows=60_000, dtype=np.float32)
        X = X[::3, :10]
        np.save(folder / "covtype.npy", (X - X.mean(axis=0)) / X.std(axis=0))


def fits() -> Iterator[tuple[str, Fit]]:
    """Yield the name of each fit and the function that does it, for all estimators."""
    import akkm

    seed = {"random_state": 0}
    for init in ("k-means++", "random"):
        yield (
            f"ApproxKernelKMeans(init={init})",
            akkm.ApproxKernelKMeans(6, init=init, n_landmarks=150, **seed).fit,
        )
    for strategy in ("rpcholesky", "k-means", "leverage", "column-norm", "diagonal"):
        yield (
            f"ApproxKernelKMeans(landmarks={strategy})",
            akkm.ApproxKernelKMeans(5, landmarks=strategy, n_landmarks=60, **seed).fit,
        )
    for kernel in ("poly", "sigmoid", "linear", "cosine", "laplacian", "intersection"):
        yield (
            f"ApproxKernelKMeans(kernel={kernel})",
            lambda X, kernel=kernel: akkm.ApproxKernelKMeans(
                5, kernel=kernel, n_landmarks=60, **seed
            ).fit(abs(X)),
        )
    for rule in ("median", "neighbors"):
        yield (
            f"ApproxKernelKMeans(gamma={rule})",
            akkm.ApproxKernelKMeans(7, gamma=rule, **seed).fit,
        )
    yield (
        "ApproxKernelKMeans(solver=gradient)",
        akkm.ApproxKernelKMeans(4, solver="gradient", n_landmarks=40, **seed).fit,
    )
    yield (
        "ApproxKernelKMeans, weights",
        lambda X: akkm.ApproxKernelKMeans(6, **seed).fit(
            X, sample_weight=np.arange(X.shape[0]) % 4
        ),
    )
    yield "ApproxKernelKMeans.partial_fit", _streamed
    yield "ApproxKernelKMeans, .npy file", _from_file
    yield "ApproxKernelKMeans, Dask array", _from_dask
    for name, settings in {
        "KernelKMeans": {},
        "TwoStepKernelKMeans": {"n_landmarks": 100},
        "LeadersKernelKMeans": {"n_leaders": 100},
        "EnsembleKernelKMeans": {"n_landmarks": 60},
        "NystroemSpectralClustering": {"n_landmarks": 100},
        "SparseKernelKMeans": {},
        "DiffusionKernelKMeans": {},
        "ConsensusKernelKMeans": {},
    }.items():
        yield name, getattr(akkm, name)(5, **settings, **seed).fit
    for name in ("SparseKernelKMeans", "DiffusionKernelKMeans"):
        yield f"{name}(auto)", getattr(akkm, name)("auto", **seed).fit


def _streamed(X: Any) -> Any:
    import akkm

    model = akkm.ApproxKernelKMeans(5, n_landmarks=60, random_state=0)
    for start in range(0, X.shape[0], 100):
        model.partial_fit(X[start : start + 100])
    return model


def _from_file(X: Any) -> Any:
    import akkm

    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "rows.npy"), X)
        rows = akkm.open_rows(Path(folder, "rows.npy"))
        return akkm.ApproxKernelKMeans(6, n_landmarks=80, random_state=0).fit(rows)


def _from_dask(X: Any) -> Any:
    import dask.array

    import akkm

    rows = dask.array.from_array(X, chunks=(max(1, X.shape[0] // 3), -1))
    model = akkm.ApproxKernelKMeans(6, n_landmarks=80, random_state=0).fit(rows)
    model.labels_ = model.labels_.compute()
    return model


def digests(folder: Path) -> dict[str, list[str]]:
    """Return a dict: name of a fit -> [digest of its labels, its clustering error]."""
    import warnings

    warnings.simplefilter("ignore")
    found = {}
    for path in sorted(folder.iterdir()):
        X = sparse.load_npz(path) if path.suffix == ".npz" else np.load(path)
        # Estimators other than ApproxKernelKMeans get at most 5,000 rows, because the
        # time of exact kernel k-means grows with the square of n.
        rows = X[:5000] if X.shape[0] > 5000 else X
        for name, fit in fits():
            try:
                model = fit(rows if "Approx" not in name else X)
            except (TypeError, ValueError) as error:
                result = [f"{type(error).__name__}", ""]
            else:
                labels = np.ascontiguousarray(model.labels_, dtype=np.int64)
                digest = hashlib.sha256(labels.tobytes()).hexdigest()[:16]
                result = [digest, repr(float(getattr(model, "inertia_", 0)))]
            found[f"{path.stem}: {name}"] = result
            print(".", end="", file=sys.stderr, flush=True)
    return found


def run_commit(commit: str, data: Path, folder: Path) -> dict[str, list[str]]:
    """Run all fits with the sources of a commit, in a new process."""
    subprocess.run(
        ["git", "worktree", "add", "--detach", "--quiet", str(folder), commit],
        check=True,
    )
    try:
        done = subprocess.run(
            [sys.executable, "-P", __file__, "--digests", str(data)],
            check=True,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
        )
        return json.loads(done.stdout.decode().splitlines()[-1])
    finally:
        subprocess.run(
            ["git", "worktree", "remove", "--force", str(folder)], check=True
        )


def main() -> int:
    """Compare the two commits given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", help="two commits: old and new")
    parser.add_argument("--digests", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.digests:  # this process runs the fits of one commit
        print(json.dumps(digests(given.digests)))
        return 0
    if len(given.commits) != 2:
        parser.error("expected two commits, the old one and the new one")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        data.mkdir()
        data_sets(data)
        old, new = (
            run_commit(commit, data, Path(folder, side))
            for side, commit in zip(("old", "new"), given.commits, strict=True)
        )
    different = [name for name in old if old[name][0] != new.get(name, [""])[0]]
    errors = [name for name in old if old[name][1] != new.get(name, ["", ""])[1]]
    for name in different:
        print(f"labels differ: {name} {old[name]} {new.get(name)}")
    for name in errors:
        print(f"clustering error differs: {name} {old[name]} {new.get(name)}")
    refused = sum(result[0] in ("TypeError", "ValueError") for result in old.values())
    print(
        f"{len(old)} fits: {len(old) - len(different)} identical labels, "
        f"{len(old) - len(errors)} identical clustering errors "
        f"({refused} raised an error: the method does not accept the data)"
    )
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
