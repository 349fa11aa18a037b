"""Initialisation by k-means++ with breathing; nested samples if there are many rows."""

import numpy as np
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans
from akkm.approx import seeding


def test_breathing_lowers_the_error_for_every_seed(monkeypatch):
    X, _ = make_blobs(
        3000, centers=40, cluster_std=0.6, center_box=(-20, 20), random_state=3
    )

    def errors():
        models = (
            ApproxKernelKMeans(40, kernel="linear", random_state=s) for s in range(3)
        )
        return [model.fit(X).inertia_ for model in models]

    breathing = errors()
    monkeypatch.setattr(seeding, "_breathe", lambda best, *args, **kwargs: best)
    assert max(breathing) < 0.98 * min(errors())
    assert max(breathing) < 1.001 * min(breathing)


def test_nested_samples_give_nearly_the_error_of_one_sample(monkeypatch, digits, rng):
    """Compare initialisation on nested samples with initialisation on all rows."""
    X = np.tile(digits[0], (4, 1)) + rng.normal(scale=0.05, size=(7188, 64))
    whole = ApproxKernelKMeans(10, n_landmarks=100, random_state=0).fit(X)
    monkeypatch.setattr("akkm.approx.seeding._SAMPLE", 400)
    monkeypatch.setattr("akkm.approx.seeding._GROWTH", 3)
    levels = ApproxKernelKMeans(10, n_landmarks=100, random_state=0).fit(X)
    assert levels.inertia_ < 1.02 * whole.inertia_
