"""Random fits: an estimator with its parameters, rows in a container, and weights."""

import inspect
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from akkm.kernels import RBF, Laplacian, Linear, Polynomial
from akkm.landmarks import STRATEGIES
from tests import registry
from tests.fuzz.data import DENSE, SPARSE, STORED, draw_rows
from tests.fuzz.exact import exact_kernel
from tests.registry import accepted, has, takes_weights

HISTOGRAMS = ("chi2", "additive_chi2", "intersection")
NAMES = ("rbf", "poly", "sigmoid", "linear", "cosine", "laplacian", *HISTOGRAMS)


def narrow(A, B):
    """A positive definite kernel, as a function of two blocks of rows."""
    A, B = (rows.toarray() if sparse.issparse(rows) else rows for rows in (A, B))
    return np.exp(-0.5 * cdist(A, B, "sqeuclidean"))


OBJECTS = {
    "RBF(sigma)": RBF(sigma=1.3),
    "sum": RBF(gamma=0.5) + 0.1 * Linear(),
    "product": Polynomial(gamma=0.1, degree=2, coef0=1.0) * Laplacian(gamma=0.2),
    "function": narrow,
}


# Keys of `relations.RELATIONS`.
LAWS = ["again", "threads", "chunks", "weights", "descent", "precomputed", "container"]
LAWS += ["partial_fit"]


@dataclass
class Case:
    """One random fit. `fault` names the parameter or input that is wrong on purpose."""

    Estimator: Any
    params: dict[str, Any]
    X: np.ndarray
    container: str
    weights: Any = None
    traits: list[str] = field(default_factory=list)
    fault: str | None = None
    # Kernel values are computed for chunks of this many rows.
    chunk_rows: int = 16384
    # Laws in `relations` to check, in addition to the laws of a single fit.
    laws: list[str] = field(default_factory=list)

    def __str__(self):
        params = ", ".join(f"{k}={_short(v)}" for k, v in self.params.items())
        weights = "" if self.weights is None else f", weights={_short(self.weights)}"
        traits = f", {'; '.join(self.traits)}" if self.traits else ""
        return (
            f"{self.Estimator.__name__}({params}), X {_short(self.X)} as "
            f"{self.container}{traits}{weights}, chunks of {self.chunk_rows}, "
            f"fault: {self.fault}, laws: {self.laws}"
        )

    @property
    def ordinary(self):
        """Whether nothing is unusual, so that the case should not be refused."""
        return not self.traits and self.fault is None and len(self.X) >= 8

    def with_parameters(self, **changes):
        """Return a copy in which some parameters differ."""
        return replace(self, params=self.params | changes)


def _short(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) < 60 else text[:57] + "..."


def draw_case(random):
    """Draw a random case."""
    Estimator = random.choice(registry.ESTIMATORS)
    kernel = _draw_kernel(random) if has("kernel")(Estimator) else None
    rows = draw_rows(random, nonnegative=kernel in HISTOGRAMS)
    rng = np.random.default_rng(random.randrange(2**32))
    n = len(rows.X)
    k = _draw_n_clusters(random, n)
    params = {"n_clusters": k, "random_state": random.randrange(100)}
    params |= accepted(Estimator, **registry.SMALL)
    if kernel is not None:
        params |= {"kernel": kernel, **_draw_width(random, kernel)}
    case = Case(Estimator, params, rows.X, "C", traits=rows.traits)
    _draw_landmarks(case, random, rng)
    _draw_iterations(case, random, rng)
    _draw_settings(case, random)
    if random.random() < 0.35 and takes_weights(Estimator):
        case.weights = _draw_weights(random, rng, n)
    if kernel == "precomputed":
        _precompute(case, random)
    else:
        case.container = _draw_container(random, Estimator)
    if has("max_rows")(Estimator) and random.random() < 0.15:
        _make_graph(case, random)
    case.chunk_rows = random.choice([7, 16, 50, 16384])
    case.laws = random.sample(LAWS, k=random.choice([0, 1, 2]))
    if random.random() < 0.12:
        _add_fault(case, random)
    return case


def _draw_kernel(random):
    kind = random.random()
    if kind < 0.3:
        return "rbf"
    if kind < 0.75:
        return random.choice(NAMES)
    if kind < 0.87:
        return "precomputed"
    return random.choice(list(OBJECTS.values()))


def _draw_width(random, kernel):
    params = {}
    if random.random() < 0.6:
        rules = ["scale", "median", "neighbors", None]
        if kernel in ("poly", "sigmoid"):
            rules.remove("neighbors")
        params["gamma"] = random.choice(
            [*rules, 0.1, 1.0, 1, 10.0 ** random.uniform(-8, 4)]
        )
    if kernel == "poly" and random.random() < 0.7:
        params["degree"] = random.choice([1, 2, 3, 4, 2.5, 0, 9])
    if kernel in ("poly", "sigmoid") and random.random() < 0.5:
        params["coef0"] = random.choice([0, 1, 0.1, -1, 100])
    return params


def _draw_n_clusters(random, n):
    kind = random.random()
    if kind < 0.03:
        return n + random.choice([1, 2, 10])  # more clusters than rows
    if kind < 0.1:
        return 1
    if kind < 0.15:
        return n
    return max(1, min(n, random.choice([2, 2, 3, 3, 4, 5, 8, 15])))


def _draw_landmarks(case, random, rng):
    n, k = len(case.X), case.params["n_clusters"]
    if not has("n_landmarks")(case.Estimator) or random.random() < 0.4:
        return
    m = random.randint(min(k, n), n)
    sparse = not has("kernel")(case.Estimator)
    named = ["k-means", "uniform"] if sparse else list(STRATEGIES)
    kind = random.choice(["number", "named", "indices", "points"])
    if has("partitioner")(case.Estimator) and kind in ("indices", "points"):
        kind = "named"  # an ensemble takes only names of strategies
    if kind in ("indices", "points"):
        indices = rng.permutation(n)[:m]
        points = case.X[indices] if kind == "points" else indices
        if case.params.get("kernel") == "precomputed":
            points = indices
        case.params["landmarks"] = points
    else:
        case.params["n_landmarks"] = m
        if kind == "named":
            case.params["landmarks"] = random.choice(named)


def _draw_iterations(case, random, rng):
    if not has("init")(case.Estimator):
        return
    n, k = len(case.X), case.params["n_clusters"]
    if random.random() < 0.4:
        size = n
        given = case.params.get("landmarks")
        if case.Estimator.__name__ == "TwoStepKernelKMeans" and np.ndim(given) == 2:
            size = len(given)  # one label per landmark
        labels = rng.integers(k, size=size)
        case.params["init"] = random.choice(["random", labels])
    if random.random() < 0.2:
        case.params["n_init"] = random.choice([1, 2, 3])
    if random.random() < 0.15:
        case.params["max_iter"] = random.choice([1, 2, 5])


def _draw_settings(case, random):
    """Draw the parameters that only some estimators have."""
    metrics = ["manhattan", "cosine", "chebyshev", "correlation"]
    choices = {
        "indefinite": ["flip", "pinv"],
        "solver": ["gradient"],
        "cache_size": [0, 0.001],
        "n_jobs": [1, 2, 3, -1],
        "threshold": [0.0, 0.1, 0.5, 3.0],
        "n_leaders": [5, 20],
        "diffusion": [0.5, 1, 3.0, 50],
        "n_neighbors": [1, 2, 3, 5, 40],
        "metric": metrics if has("max_rows")(case.Estimator) else 4 * ["cosine"],
        "outliers": ["mark"],
        "max_rows": [10, 50],
        "partitioner": ["metis"],
    }
    for name, values in choices.items():
        if has(name)(case.Estimator) and random.random() < 0.12:
            case.params[name] = random.choice(values)
    auto = case.Estimator.__name__ in ("SparseKernelKMeans", "DiffusionKernelKMeans")
    if auto and random.random() < 0.2 and np.ndim(case.params.get("init")) == 0:
        case.params["n_clusters"] = "auto"
    if has("estimator")(case.Estimator) and random.random() < 0.5:
        members = registry.select(registry.has_centers)
        member = random.choice(members)
        case.params["estimator"] = member(**accepted(member, n_init=1))


def _draw_weights(random, rng, n):
    kind = random.choice(["ones", "integers", "positive", "some zero", "extreme"])
    if kind == "ones":
        return np.ones(n)
    if kind == "integers":
        return rng.integers(1, 4, size=n)
    if kind == "positive":
        return rng.random(n) + 0.01
    if kind == "some zero":
        return rng.integers(0, 3, size=n).astype(float)
    return 10.0 ** rng.uniform(-6, 6, size=n)


def _draw_container(random, Estimator):
    kind = random.random()
    stored = 0.2 if Estimator._takes_stored else 0.02
    if kind < stored:
        return random.choice(STORED)
    if kind < stored + 0.2:
        return random.choice(SPARSE)
    return random.choice(DENSE)


def _precompute(case, random):
    """Replace the rows by their kernel matrix, or by a strip of it."""
    X = case.X.astype(np.float64)
    with np.errstate(all="ignore"):
        gamma = 1 / (X.shape[1] * float(X.var()) or 1.0)
        gamma = gamma if 0 < gamma < np.inf else 1.0
        kernel = random.choice([RBF(gamma=gamma), Linear(), Polynomial(gamma=gamma)])
        K = exact_kernel(kernel, X, X)
    if not np.isfinite(K).all() and "not finite" not in case.traits:
        case.traits.append("not finite")
    case.container = random.choice(["C", "F", "read-only", "list"])
    case.params.pop("gamma", None)
    if random.random() < 0.3:
        with np.errstate(over="ignore"):
            K = K.astype(np.float32)
        if not np.isfinite(K).all() and "not finite" not in case.traits:
            case.traits.append("not finite")
    given = case.params.get("landmarks")
    if isinstance(given, np.ndarray) and len(given) < len(K) and random.random() < 0.5:
        K = np.ascontiguousarray(K[:, given])
        case.traits.append("strip")
    case.X = K


def _make_graph(case, random):
    """Replace the rows by a sparse matrix of their distances or similarities."""
    X = case.X.astype(np.float64)
    with np.errstate(all="ignore"):
        D = cdist(X, X)
    if not np.isfinite(D).all():
        return
    k = random.choice([1, 3, 8, len(D)])
    far = np.argsort(np.argsort(D, axis=1), axis=1) > k
    case.params["metric"] = "precomputed"
    if random.random() < 0.5:
        case.params["metric"] = "precomputed_similarity"
        D = np.exp(-np.square(D / (np.median(D) or 1.0)))
    D[far & far.T] = 0
    D = D.astype(random.choice([np.float32, np.float64]))
    case.X = np.maximum(D, D.T)
    # In a distance matrix, a stored zero would mean that two rows are equal.
    case.container = random.choice([kind for kind in SPARSE if kind != "csr-zeros"])
    case.traits.append("graph")


def _add_fault(case, random):
    """Make one parameter or input wrong."""
    n = len(case.X)
    parameters = set(inspect.signature(case.Estimator).parameters) - {"verbose"}
    for name in ("checkpoint", "labels_file"):
        parameters.discard(name)
    if random.random() < 0.5:
        name = random.choice(sorted(parameters))
        case.params[name] = random.choice(WRONG)
        case.fault = name
        return
    case.fault = random.choice(sorted(WRONG_INPUT))
    WRONG_INPUT[case.fault](case, n)


# Values that have a wrong type or range for most parameters, but not for all.
WRONG = ["3", "", 0, -1, 2.5, float("nan"), float("inf"), None, True, [], [1, 2], {}]
WRONG += [(), b"rbf", 10**30, -(10**30), 1j, object, np.array([]), np.zeros((2, 2, 2))]
WRONG += [np.array(["a", "b"]), np.float32(2), np.int8(2), "auto", "best", np.array(3)]
WRONG += [lambda A: A, np.array([0.5, 1.5]), np.array([-1, 10**9]), {"sigma": "wide"}]


def _set_rows(make):
    def change(case, n):
        case.X, case.container = make(case.X), "as it is"

    return change


def _set_weights(make):
    def change(case, n):
        case.weights = make(n)

    return change


WRONG_INPUT = {
    "X is 1-D": _set_rows(lambda X: X[:, 0]),
    "X is 3-D": _set_rows(lambda X: X[None]),
    "X is a number": _set_rows(lambda X: 3.0),
    "X is None": _set_rows(lambda X: None),
    "X is text": _set_rows(lambda X: "rows.csv"),
    "X has no rows": _set_rows(lambda X: X[:0]),
    "X has no columns": _set_rows(lambda X: X[:, :0]),
    "X is empty": _set_rows(lambda X: []),
    "X is complex": _set_rows(lambda X: X + 1j),
    "X has objects": _set_rows(lambda X: np.full((9, 2), object())),
    "X has text": _set_rows(lambda X: np.full((9, 2), "a")),
    "X is ragged": _set_rows(lambda X: [[1.0, 2.0], [3.0]]),
    "X is a dictionary": _set_rows(lambda X: {"a": [1.0, 2.0]}),
    "X is dates": _set_rows(lambda X: np.full((9, 2), np.datetime64("2020-01-01"))),
    "X has NaN": _set_rows(lambda X: np.full((9, 2), np.nan)),
    "X is a masked array": _set_rows(lambda X: np.ma.masked_greater(X, 0)),
    "X is a matrix of ints as text": _set_rows(lambda X: [["1", "2"], ["3", "4"]]),
    "weights too short": _set_weights(lambda n: np.ones(max(0, n - 1))),
    "weights negative": _set_weights(lambda n: -np.ones(n)),
    "weights zero": _set_weights(lambda n: np.zeros(n)),
    "weights NaN": _set_weights(lambda n: np.full(n, np.nan)),
    "weights infinite": _set_weights(lambda n: np.full(n, np.inf)),
    "weights 2-D": _set_weights(lambda n: np.ones((n, 2))),
    "weights text": _set_weights(lambda n: ["a"] * n),
    "weights a number": _set_weights(lambda n: 2.0),
    "weights overflow": _set_weights(lambda n: np.full(n, 1e308)),
    "weights tiny": _set_weights(lambda n: np.full(n, 1e-310)),
}
