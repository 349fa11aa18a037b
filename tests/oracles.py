"""Slow and simple versions of the library's algorithms, used as references."""

import numpy as np


def naive_kernel(name, X, Y, gamma=1.0, degree=3, coef0=1.0):
    """Kernel values from their definition, one pair of rows at a time."""
    formulas = {
        "rbf": lambda x, y: np.exp(-gamma * ((x - y) ** 2).sum()),
        "poly": lambda x, y: (gamma * (x @ y) + coef0) ** degree,
        "sigmoid": lambda x, y: np.tanh(gamma * (x @ y) + coef0),
        "linear": lambda x, y: x @ y,
        "cosine": lambda x, y: x @ y / np.sqrt((x @ x) * (y @ y)),
        "laplacian": lambda x, y: np.exp(-gamma * np.abs(x - y).sum()),
        "additive_chi2": lambda x, y: -_chi2(x, y),
        "chi2": lambda x, y: np.exp(-gamma * _chi2(x, y)),
        "intersection": lambda x, y: np.minimum(x, y).sum(),
    }
    k = formulas[name]
    return np.array([[k(x, y) for y in Y] for x in X], dtype=float)


def _chi2(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        if a + b > 0:
            total += (a - b) ** 2 / (a + b)
    return total


def algorithm2(K_B, K_hat, labels, n_clusters, max_iter=300, inverse=np.linalg.inv):
    """Algorithm 2 of the paper, step by step, in float64.

    Returns the labels, α and the number of iterations.
    """
    n = len(K_B)
    T = K_B @ inverse(K_hat)  # step 3
    U = np.zeros((n_clusters, n))
    U[labels, np.arange(n)] = 1
    t = 0
    while True:
        t += 1
        U_hat = U / U.sum(axis=1, keepdims=True)  # step 8
        alpha = U_hat @ T  # step 9
        U_new = np.zeros_like(U)
        for i in range(n):
            scores = [a @ K_hat @ a - 2 * K_B[i] @ a for a in alpha]
            U_new[np.argmin(scores), i] = 1
        done = (U_new == U).all()
        U = U_new
        if done or t >= max_iter:
            return U.argmax(axis=0), alpha, t


def clipped_inverse(K):
    """Pseudo-inverse of K that drops negative and small positive eigenvalues."""
    w, V = np.linalg.eigh(K)
    keep = w > max(1e-12 * w.max(), min(-w.min(), 0.01 * w.max()))
    return (V[:, keep] / w[keep]) @ V[:, keep].T


def exact_kernel_k_means(K, labels, n_clusters, weights=None, max_iter=300):
    """Run kernel k-means on the full kernel matrix; return labels and error."""
    w = np.ones(len(K)) if weights is None else weights
    for _ in range(max_iter):
        U = np.zeros((n_clusters, len(K)))
        U[labels, np.arange(len(K))] = w
        U_hat = U / U.sum(axis=1, keepdims=True)
        squared = (
            K.diagonal()[:, None]
            - 2 * K @ U_hat.T
            + np.einsum("ki,ij,kj->k", U_hat, K, U_hat, optimize=True)
        )
        new = squared.argmin(axis=1)
        if (new == labels).all():
            break
        labels = new
    return labels, float(w @ squared[np.arange(len(K)), labels])


def lloyd_on_features(F, labels, n_clusters, max_iter=300):
    """Labels (n,) of Lloyd's k-means on features F (n, d)."""
    for _ in range(max_iter):
        means = np.array([F[labels == k].mean(axis=0) for k in range(n_clusters)])
        new = ((F[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
        if (new == labels).all():
            break
        labels = new
    return labels


def nystroem_kernel(K_B, K_hat):
    """K_B K̂⁺ K_Bᵀ, where K̂⁺ drops negative and small eigenvalues of K̂."""
    return K_B @ clipped_inverse(K_hat) @ K_B.T


def spectral_rows(K, n_clusters, weights=None):
    """Return the spectral embedding, with rows of length one, and all eigenvalues.

    Before its rows are scaled, the embedding consists of the leading eigenvectors of
    D^(-1/2) K D^(-1/2), where D is the diagonal matrix of the row sums of K. A row of
    weight w counts like w equal rows.
    """
    w = np.ones(len(K)) if weights is None else weights
    degrees = K @ w
    scale = np.sqrt(w / degrees)
    values, vectors = np.linalg.eigh(scale[:, None] * K * scale)
    top = vectors[:, np.argsort(-values)[:n_clusters]]
    top = top / np.sqrt(w)[:, None]  # entries of one of the w equal rows
    return top / np.linalg.norm(top, axis=1, keepdims=True), np.sort(values)[::-1]


def leaders(X, kernel, threshold, able=None):
    """Find leaders row by row; return a list of leaders, and a position for each row.

    The position is that of the row's leader in the list, or -1 if the row has no
    leader. Only rows for which `able` is true can become leaders.
    """
    K = kernel(X)
    found, followed = [], []
    for i in range(len(X)):
        follows = -1
        for j, leader in enumerate(found):
            squared = K[i, i] + K[leader, leader] - 2 * K[i, leader]
            if squared <= threshold**2 + 1e-12:
                follows = j
                break
        if follows < 0 and (able is None or able[i]):
            follows = len(found)
            found.append(i)
        followed.append(follows)
    return found, followed


def greedy_pivots(K, candidates, count):
    """Choose `count` candidates one by one.

    Each choice is the candidate that lowers the trace of the residual the most.
    """
    E = K.copy()
    pivots = []
    for _ in range(count):
        gain = np.array(
            [(E[i] ** 2).sum() / E[i, i] if E[i, i] > 1e-9 else 0 for i in candidates]
        )
        i = candidates[gain.argmax()]
        pivots.append(i)
        E = E - np.outer(E[i], E[i]) / E[i, i]
    return pivots
