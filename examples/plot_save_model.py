"""
Save a model and use it elsewhere
=================================

A saved clustering contains the encoder of the table and the fitted estimator. Loading
it runs no code from the file. The service that loads the model needs no training data.
"""

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine

import akkm

wines = load_wine(as_frame=True).data
known, new = wines.iloc[::2], wines.iloc[1::2]
found = akkm.cluster(known, 3)
file = Path(tempfile.mkdtemp()) / "wines.skops"
found.save(file)
print(f"{file.stat().st_size / 1000:.0f} kB")

# %%
# In another process: load the model, encode new rows, and predict.
model = akkm.load_model(file)
rows = model.encoder.transform(new)
labels = model.estimator.predict(rows)

# %%
# New rows (crosses) fall into the clusters of the known rows (dots).
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
pair = ["flavanoids", "color_intensity"]
ax.scatter(*known[pair].T.to_numpy(), c=found.labels, cmap="tab10", vmax=9)
ax.scatter(*new[pair].T.to_numpy(), c=labels, cmap="tab10", vmax=9, marker="x")
ax.set(xlabel=pair[0], ylabel=pair[1])
plt.show()

# %%
# The same model serves the command line: ``akkm predict wines.skops new.csv --labels
# labels.csv``.
pd.Series(labels).value_counts()
