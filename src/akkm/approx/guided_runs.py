"""Algorithm 2 with constraints: initialisation and iterations."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from akkm.approx.class_sums import class_sums
from akkm.approx.factored import Factored
from akkm.approx.prepared_parts import prepare_parts
from akkm.approx.seeding import (
    STORED_BYTES,
    best_labels,
    draw_sample,
    leading_coordinates,
)
from akkm.core.gram import Centers
from akkm.core.lloyd import LloydStep, Position, Solution, centers_of, lloyd
from akkm.core.parts import Part, Stats
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.guided.guide import Guidance, Guide
from akkm.guided.local_search import improve
from akkm.guided.parts import GuidedParts, weights_of_others
from akkm.typing import Array

# Maximum number of constrained rows in a sample. It may be exceeded, because a sample
# has at least one group of each class.
_SAMPLE = 5_000
# Samples of at most _FEW rows are clustered by local searches from _SEARCHES starts.
_FEW, _SEARCHES = 200, 16
# Number of rows from which the spread of all rows is computed.
_SPREAD_ROWS = 256


def solve_guided(
    factored: Factored,
    engine: Threads,
    guidance: Guidance,
    *,
    n_clusters: int,
    init: str | Array,
    n_init: int,
    max_iter: int,
    tol: float,
    weights: Array | None,
    cache_bytes: float,
    rng: np.random.Generator,
    watch: Callable[[LloydStep], bool] | None = None,
) -> Solution:
    """Initialise and iterate with constraints, as `solve` does without them."""
    strip, found = factored.strip, guidance.constraints
    guidance.demand(n_clusters)  # refuses more classes than clusters
    own = guidance.row_weights(n_clusters, weights)
    others = weights_of_others(strip.n, weights, found.rows)
    spread = 0.0 if guidance.hard else _spread(factored)
    held = strip.subset(found.rows)
    if held.nbytes <= cache_bytes:
        held.compute_all(engine)
    sums = class_sums(factored, engine, guidance, n_clusters, weights, rng)

    def run(
        guide: Guide,
        centers: Centers | None,
        labels: Any = None,
        group_labels: Array | None = None,
    ) -> Solution:
        free = prepare_parts(factored, engine, labels, others, cache_bytes)
        part = Part.of(held, factored.gram, engine, weights=own)
        added = None
        if sums is not None:
            order = guide.owner.copy()  # (C,) the row of `sums` that each cluster gets
            order[order < 0] = np.setdiff1d(np.arange(n_clusters), order)
            added = Stats(sums.sums[order], sums.counts[order])
        return lloyd(
            GuidedParts(free, part, guide, group_labels, added),
            factored.gram,
            factored.probes,
            dtype=strip.dtype,
            n_clusters=n_clusters,
            max_iter=max_iter,
            tol=tol,
            watch=watch,
            resume=None if centers is None else Position.start(centers),
        )

    if isinstance(init, str) and init == "k-means++":
        if sums is not None:
            owner = guidance.owners(n_clusters, None)
            guide = guidance.guide(owner, own, spread)
            return run(guide, centers_of(sums, factored.gram, None))
        sample = _Samples(factored, engine, guidance, n_clusters, others, own, spread)
        owner, centers = sample.centers(n_init, rng)
        return run(guidance.guide(owner, own, spread), centers)
    best: Solution | None = None
    for _ in range(n_init):
        if isinstance(init, str):  # random labels
            labels: Any = strip.X.random_labels(n_clusters, rng)
            first = rng.integers(n_clusters, size=len(found.rows))
            owner = guidance.owners(n_clusters, None)
        else:
            labels, first = init, init[found.rows]
            owner = guidance.owners(n_clusters, first)
        guide = guidance.guide(owner, own, spread)
        solution = run(guide, None, labels, guide.first_labels(first))
        if best is None or _objective(solution) < _objective(best):
            best = solution
        if solution.stopped:
            break
    assert best is not None
    return best


def _objective(solution: Solution) -> float:
    """Return the error plus penalties, up to a constant that is equal for all runs."""
    parts = solution.parts
    assert isinstance(parts, GuidedParts)
    assert parts.group_labels is not None
    return solution.error(0.0) + parts.guide.total_penalty(parts.group_labels)


def _spread(factored: Factored) -> float:
    """Return the mean squared distance of rows to their mean, from a few rows."""
    strip, gram = factored.strip, factored.gram
    rows = np.unique(np.linspace(0, strip.n - 1, _SPREAD_ROWS).astype(np.int64))
    coordinates = strip.kernel_rows(strip.X.gather(rows)) @ gram.whitener
    coordinates -= coordinates.mean(axis=0)
    return float(np.abs(gram.squared_lengths(coordinates)).mean())


@dataclass(frozen=True)
class _Samples:
    """Centers from growing samples of the rows, with constraints.

    A sample consists of free rows, and of all constrained rows or a sample of them.
    Weights are scaled so that both the free and the constrained rows keep their total
    weight.
    """

    factored: Factored
    engine: Threads
    guidance: Guidance
    n_clusters: int
    free_weights: Array  # (n,) weights of all rows, zero for constrained rows
    constrained_weights: Array  # (r,) weights of the constrained rows
    spread: float  # mean squared distance of rows to their mean

    def centers(self, n_init: int, rng: np.random.Generator) -> tuple[Array, Centers]:
        """Return the class (C,) of each cluster, and centers for a run on all rows."""
        strip, found = self.factored.strip, self.guidance.constraints
        seeds = rng.integers(2**31, size=n_init)
        drawn, sizes = draw_sample(strip.X, self.n_clusters, self.free_weights, rng)
        chosen = self._choose_constrained(rng)
        ordered = np.union1d(drawn, found.rows[chosen])
        stored = strip.subset(ordered)
        centers: Centers | None = None
        owner = np.empty(0, dtype=np.int64)
        for size in sizes:
            rows = np.union1d(drawn[:size], found.rows[chosen])
            sampled = stored.subset(np.searchsorted(ordered, rows))
            sample = _Sample(self, sampled, rows, chosen, len(drawn[:size]))
            if centers is None:
                owner, centers = sample.first_centers(seeds)
            else:
                centers = sample.run(owner, centers=centers).centers
        assert centers is not None
        return owner, centers

    def _choose_constrained(self, rng: np.random.Generator) -> Array:
        """Choose the constrained rows of all samples.

        Returns their positions among all constrained rows, ascending. Whole groups are
        drawn, and at least one group of each class.
        """
        found = self.guidance.constraints
        if len(found.rows) <= _SAMPLE:
            return np.arange(len(found.rows))
        classes = found.group_classes()
        order = rng.permutation(found.n_groups)
        first = np.unique(classes[order], return_index=True)[1]
        order = np.concatenate([order[first], np.delete(order, first)])
        size = np.cumsum(np.bincount(found.group)[order])
        chosen = order[: max(len(first), int(np.searchsorted(size, _SAMPLE)))]
        return np.flatnonzero(np.isin(found.group, chosen))


class _Sample:
    """One sample of the rows."""

    def __init__(
        self, samples: _Samples, strip: Strip, rows: Array, chosen: Array, n_free: int
    ) -> None:
        """Set the constraints and weights of a sample.

        `rows` (s,) are the numbers of the sample's rows, ascending. `chosen` are the
        positions of its constrained rows among all constrained rows, and `n_free` is
        the number of its free rows.
        """
        found = samples.guidance.constraints
        self._samples, self._strip = samples, strip
        # Positions of the constrained rows in the sample.
        self._constrained = np.searchsorted(rows, found.rows[chosen])
        small = found.subset(chosen).at(len(rows), self._constrained)
        self._guidance = replace(samples.guidance, constraints=small)
        weights = samples.constrained_weights[chosen]
        self._constrained_weights = weights * (len(found.rows) / len(chosen))
        total = np.count_nonzero(samples.free_weights)
        self._free_weights = samples.free_weights[rows] * (total / max(n_free, 1))
        self._weights = self._free_weights.copy()
        self._weights[self._constrained] = self._constrained_weights

    def run(
        self, owner: Array, labels: Array | None = None, centers: Centers | None = None
    ) -> Solution:
        """Run Lloyd's algorithm on the sample, from labels (s,) or centers."""
        samples, strip = self._samples, self._strip
        gram, engine = samples.factored.gram, samples.engine
        guide = self._guidance.guide(owner, self._constrained_weights, samples.spread)
        constrained = strip.subset(self._constrained)
        first = (
            None if labels is None else guide.first_labels(labels[self._constrained])
        )
        free = Part.of(strip, gram, engine, labels=labels, weights=self._free_weights)
        part = Part.of(constrained, gram, engine, weights=self._constrained_weights)
        return lloyd(
            GuidedParts(free, part, guide, first),
            gram,
            samples.factored.probes,
            dtype=strip.dtype,
            centers=centers,
            n_clusters=samples.n_clusters,
        )

    def first_centers(self, seeds: Array) -> tuple[Array, Centers]:
        """Return the class (C,) of each cluster, and the centers of the best run.

        First, the best clusters are found without constraints, and matched with the
        classes. One run starts from these clusters. Further runs, one per seed, start
        from the means of known rows, and from rows drawn by k-means++ for the other
        clusters. For a small sample, local searches replace these runs.
        """
        samples = self._samples
        gram, n_clusters = samples.factored.gram, samples.n_clusters
        if self._strip.nbytes <= STORED_BYTES:
            self._strip.compute_all(samples.engine)
        labels = best_labels(
            self._strip,
            gram,
            samples.engine,
            n_clusters,
            self._weights,
            seeds,
            samples.factored.strip.n,
        )
        owner = self._guidance.owners(n_clusters, labels[self._constrained])
        points = leading_coordinates(self._strip, gram, samples.engine, n_clusters)
        if not points.shape[1]:  # every image is zero
            return owner, self.run(owner, labels).centers
        if len(points) <= _FEW:
            return owner, self.run(owner, self._search(points, owner, labels)).centers
        best = self.run(owner, labels)
        for seed in seeds:
            start = self._seeded_labels(points, owner, np.random.default_rng(seed))
            solution = self.run(owner, start)
            if _objective(solution) < _objective(best):
                best = solution
        return owner, best.centers

    def _search(self, points: Array, owner: Array, labels: Array) -> Array:
        """Return the best labels (s,) of many local searches, for few points."""
        guide = self._guidance.guide(
            owner, self._constrained_weights, self._samples.spread
        )
        unit, units = guide.units(points, self._weights)
        rng = np.random.default_rng(0)
        starts = [labels]
        starts += [self._seeded_labels(points, owner, rng) for _ in range(_SEARCHES)]
        found = []
        for start in starts:
            first = np.zeros(len(units.weights), dtype=np.int64)
            first[unit[unit >= 0]] = start[unit >= 0]
            first[: guide.constraints.n_groups] = guide.first_labels(
                start[self._constrained]
            )
            found.append(improve(units, first))
        best = min(found, key=units.objective)
        return np.where(unit >= 0, best[unit], labels).astype(np.int32)

    def _seeded_labels(
        self, points: Array, owner: Array, rng: np.random.Generator
    ) -> Array:
        """Return labels (s,) of points (s, q): the nearest of random initial centers.

        If a class has one cluster, the initial center is the mean of its known rows. If
        it has several clusters, their initial centers are some of its known rows.
        Clusters without a class start from any rows.
        """
        found = self._guidance.constraints
        centers = np.full((len(owner), points.shape[1]), np.nan)
        for name in range(len(found.classes)):
            own = np.flatnonzero(owner == name)
            rows = self._constrained[found.known == name]
            weights = self._weights[rows]
            if not weights.sum() > 0:
                continue
            if len(own) == 1:
                centers[own[0]] = np.average(points[rows], axis=0, weights=weights)
            else:
                for k, seed in zip(
                    own, _spread_out(points[rows], weights, len(own), rng), strict=True
                ):
                    centers[k] = points[rows[seed]]
        empty = np.flatnonzero(np.isnan(centers).any(axis=1))
        chosen = np.delete(centers, empty, axis=0)
        seeds = _spread_out(points, self._weights, len(empty), rng, chosen)
        centers[empty] = points[seeds]
        squared = (centers**2).sum(axis=1) - 2 * points @ centers.T
        return np.asarray(squared.argmin(axis=1).astype(np.int32))


def _spread_out(
    points: Array,
    weights: Array,
    count: int,
    rng: np.random.Generator,
    near: Array | None = None,
) -> Array:
    """Draw points by k-means++, far from each other and from `near` (b, q).

    Returns the numbers (count,) of the drawn points.
    """
    nearest = np.full(len(points), np.inf)
    for center in () if near is None else near:
        nearest = np.minimum(nearest, ((points - center) ** 2).sum(axis=1))
    chosen: list[int] = []
    for _ in range(count):
        chance = weights * np.where(np.isinf(nearest), 1.0, nearest)
        total = chance.sum()
        chance = chance / total if total > 0 else weights / weights.sum()
        chosen.append(int(rng.choice(len(points), p=chance)))
        apart = ((points - points[chosen[-1]]) ** 2).sum(axis=1)
        nearest = np.minimum(nearest, apart)
    return np.array(chosen, dtype=np.int64)
