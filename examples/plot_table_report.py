"""
A mixed table, from CSV to a report
===================================

`akkm.cluster` takes a data frame with columns of any kind. It encodes the columns,
clusters the rows, and names each cluster by what distinguishes it.
"""

# %%
# The diabetes data of scikit-learn, as a CSV file with numbers and categories.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes

import akkm

folder = Path(tempfile.mkdtemp())
patients = load_diabetes(as_frame=True, scaled=False).frame
patients["sex"] = patients["sex"].map({1.0: "one", 2.0: "two"})
patients.insert(0, "patient", [f"P{i:03d}" for i in range(len(patients))])
patients.to_csv(folder / "patients.csv", index=False)

# %%
# One call clusters the table. The column `target` is the progression of the disease.
# It is left out here, so that it can be compared with the clusters afterwards.
frame = pd.read_csv(folder / "patients.csv")
found = akkm.cluster(frame.drop(columns="target"), 4, id="patient")
pd.DataFrame({"name": found.names, "rows": found.sizes})

# %%
# The frame has three new columns: the cluster, its name, and how certain it is.
found.frame[["patient", "age", "sex", "cluster", "certainty", "cluster_name"]].head()

# %%
# The clusters differ in a column that they have not seen:
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
groups = [frame["target"][found.labels == k] for k in range(found.n_clusters)]
ax.boxplot(groups, orientation="horizontal", tick_labels=found.names)
ax.set(xlabel="progression of the disease")
plt.show()

# %%
# The report is one HTML file that opens offline.
found.report(title="Patients").save(folder / "report.html")
