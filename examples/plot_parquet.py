"""
Parquet files larger than memory
================================

`akkm.open_rows` opens a folder of Parquet files without reading it. A fit reads the
files batch by batch. A row is skipped if bounds prove that its label can't have
changed. If all rows of a batch are skipped, the batch is not read again. So late
iterations read little.
"""

# %%
# Write ten files, as a stand-in for 50 GB.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs

import akkm

folder = Path(tempfile.mkdtemp())
X, _ = make_blobs(200_000, n_features=5, centers=6, cluster_std=4, random_state=0)
(folder / "rows").mkdir()
for number, part in enumerate(np.array_split(X.astype(np.float32), 10)):
    frame = pd.DataFrame(part, columns=list("abcde"))
    frame.to_parquet(folder / "rows" / f"{number}.parquet")

# %%
# With `checkpoint`, an interrupted fit resumes when the script is run again. With
# `labels_file`, labels are written to a file and never held in memory.
rows = akkm.open_rows(folder / "rows", columns=list("abcde"))
model = akkm.ApproxKernelKMeans(
    6,
    n_landmarks=100,
    checkpoint=folder / "progress",
    labels_file=folder / "labels.npy",
    random_state=0,
)
model.fit(rows)
model.labels_[:10]

# %%
# How many rows each iteration evaluated. All other rows were skipped.
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
akkm.plot.convergence(model, ax=ax)
plt.show()

# %%
# The labels are the same as those of a fit in memory:
inside = akkm.ApproxKernelKMeans(6, n_landmarks=100, random_state=0)
np.array_equal(inside.fit_predict(X.astype(np.float32)), model.labels_)
