"""The tasks of the speed benchmark: data set x kernel x sizes x contestants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

# Names of the contestants: the methods whose time and memory are measured.
AKKM = "akkm"
AKKM_ONCE = "akkm, 1 restart"
EXACT_ONCE = "akkm exact, 1 restart"
KMEANS = "sklearn Nystroem + KMeans"
MINIBATCH = "sklearn Nystroem + MiniBatchKMeans"
TSLEARN = "tslearn KernelKMeans"
TWO_STEP = "akkm two-step"
SPECTRAL = "akkm Nyström spectral"
LEADERS = "akkm leaders"
ENSEMBLE = "akkm ensemble of 10"
BARE = "bare kernel pass"


@dataclass(frozen=True)
class Task:
    """One data set, one kernel and one set of sizes, for some contestants."""

    data: str  # name of the data set in prepared_rows.py
    n: int  # number of rows
    m: int  # number of landmarks
    n_clusters: int
    kernel: str  # name of the kernel in akkm and scikit-learn
    params: dict[str, float]
    contestants: tuple[str, ...]
    seeds: int
    restarts: int = 1  # n_init of scikit-learn's KMeans

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that a run depends on, except contestant and seed."""
        fields = asdict(self)
        del fields["contestants"], fields["seeds"]
        return fields

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Task:
        """Return a task with these settings, without contestants and seeds."""
        return cls(**settings, contestants=(), seeds=0)


@dataclass(frozen=True)
class Section:
    """Tasks that are shown in one section of the page."""

    name: str  # the name that the option --task takes
    title: str
    tasks: tuple[Task, ...]
    vary: str | None = None  # the size that grows from task to task
    note: str = ""  # what readers need to know to compare fairly

    def runs(self) -> Iterator[dict[str, Any]]:
        """Yield all runs, seed by seed, so that compared runs are close in time."""
        for seed in range(max(task.seeds for task in self.tasks)):
            for task in self.tasks:
                for contestant in task.contestants if seed < task.seeds else ():
                    about = {"contestant": contestant, "seed": seed}
                    yield {"settings": task.settings, **about}

    def reduced(self, quick: bool, seeds: int | None) -> Section:
        """Return the section with changed tasks.

        The tasks are small if `quick` is true. Their number of seeds is `seeds`, or
        unchanged if `seeds` is None.
        """
        tasks = self.tasks
        if quick:
            tasks = tuple(map(_small, tasks))
        if seeds is not None:
            tasks = tuple(replace(task, seeds=seeds) for task in tasks)
        return replace(self, tasks=tasks)


def _small(task: Task) -> Task:
    m = max(task.n_clusters, task.m // 10)
    return replace(task, n=max(1000, task.n // 100), m=m, seeds=min(task.seeds, 2))


_EVERYONE = (AKKM, KMEANS, MINIBATCH, BARE)

_covtype = partial(
    Task,
    "covtype",
    n_clusters=7,
    kernel="rbf",
    params={"gamma": 1 / (2 * 0.35**2)},  # sigma 0.35
)
_mnist = partial(
    Task,
    "mnist",
    n_clusters=10,
    kernel="sigmoid",
    params={"gamma": 0.0045, "coef0": 0.11},
    restarts=10,
)
_kdd = partial(
    Task,
    "kdd",
    4_898_431,
    n_clusters=23,
    kernel="poly",
    params={"gamma": 1.0, "degree": 3, "coef0": 1.0},
)


def _mixture(n: int, m: int = 500, n_clusters: int = 10, seeds: int = 1) -> Task:
    other = (KMEANS,) if (m, n_clusters) == (500, 10) and n <= 200_000 else ()
    params = {"gamma": 1 / 500}  # 1 / (d Var X)
    contestants = (AKKM, *other)
    return Task("mixture", n, m, n_clusters, "rbf", params, contestants, seeds)


SECTIONS = (
    Section(
        "covtype",
        "Cover Type",
        (_covtype(581_012, 1000, contestants=_EVERYONE, seeds=5),),
        note="akkm tries several starts on a sample, and continues from the best one. "
        "KMeans has only one start. This may explain differences in error.",
    ),
    Section(
        "mnist",
        "MNIST",
        (_mnist(70_000, 1000, contestants=_EVERYONE, seeds=3),),
        note="The sigmoid kernel is indefinite: its matrices have negative "
        "eigenvalues. akkm drops these eigenvalues. Nystroem is not made for such "
        "kernels; it uses the absolute values of the eigenvalues.",
    ),
    Section(
        "kdd",
        "KDD Cup 99, stand-in",
        (
            _kdd(1000, contestants=_EVERYONE, seeds=1),
            _kdd(2000, contestants=(AKKM,), seeds=1),
        ),
        note="The rows of the stand-in are drawn from the 10 % file. Their number and "
        "their class counts are those of the full file. The landmarks' kernel matrix "
        "is singular. This benchmark uses float32, in which rounding errors spoil the "
        "features of Nystroem. In float64, the features would be correct. So errors of "
        "Nystroem in this table say nothing about the method.",
    ),
    Section(
        "tslearn",
        "Exact kernel k-means, Cover Type sample",
        (_covtype(2000, 500, contestants=(EXACT_ONCE, AKKM_ONCE, TSLEARN), seeds=3),),
        note="tslearn starts from random labels.",
    ),
    Section(
        "exact",
        "Exact kernel k-means, all of MNIST",
        (_mnist(70_000, 1000, contestants=(EXACT_ONCE,), seeds=1),),
        note="Exact kernel k-means uses no landmarks; m is the number of landmarks of "
        "the Nyström error.",
    ),
    Section(
        "methods",
        "The paper's methods, Cover Type",
        (
            _covtype(
                581_012,
                1000,
                contestants=(AKKM, TWO_STEP, SPECTRAL, LEADERS, ENSEMBLE, BARE),
                seeds=1,
            ),
        ),
        note="Spectral clustering does not minimise these errors, but another "
        "objective. There are about 1,000 leaders.",
    ),
    Section(
        "growth",
        "Growth with the number of rows",
        tuple(_mixture(100_000 * 2**i, seeds=3) for i in range(6)),
        vary="n",
    ),
    Section(
        "growth",
        "Growth with the number of landmarks",
        tuple(_mixture(200_000, m=250 * 2**i) for i in range(4)),
        vary="m",
    ),
    Section(
        "growth",
        "Growth with the number of clusters",
        tuple(_mixture(200_000, n_clusters=5 * 2**i) for i in range(4)),
        vary="n_clusters",
    ),
)
