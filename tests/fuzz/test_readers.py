"""A few hundred damaged files per format are read, or refused with a clear error."""

import numpy as np
import pytest

from tests.fuzz.readers.targets import TARGETS, models, mutate, pack, use_model


@pytest.mark.parametrize("name", ["csv", "npy", "libsvm", "arrow"])
def test_damaged_files_are_read_or_refused_by_akkm(name, tmp_path, monkeypatch):
    monkeypatch.setenv("AKKM_MAX_COLUMNS", "1000")
    target = TARGETS[name]
    seeds = target.seeds()
    for seed in seeds:
        target.read(seed, tmp_path)
    rng = np.random.default_rng(0)
    for _ in range(300):
        target.read(mutate(seeds[rng.integers(len(seeds))], rng), tmp_path)


# Numbers in a damaged model may be so large that sums of them overflow.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_damaged_models_are_loaded_or_refused_by_akkm(tmp_path):
    for members in models():
        use_model(pack(members), tmp_path)
    rng = np.random.default_rng(0)
    for _ in range(200):
        members = dict(models()[rng.integers(len(models()))])
        name = sorted(members)[rng.integers(len(members))]
        members[name] = mutate(members[name], rng)
        use_model(pack(members), tmp_path)
