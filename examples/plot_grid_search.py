"""
A pipeline and GridSearchCV
===========================

Estimators of akkm are scikit-learn estimators, so they work in pipelines and searches.
Here, distances to kernel centers are features for a classifier, and the search chooses
the number of centers and the width of the kernel.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from akkm import ApproxKernelKMeans

X, y = load_digits(return_X_y=True)
pipeline = make_pipeline(
    MinMaxScaler(),
    ApproxKernelKMeans(n_landmarks=200, random_state=0),
    StandardScaler(),
    LogisticRegression(max_iter=1000),
)
grid = {
    "approxkernelkmeans__n_clusters": [10, 40],
    "approxkernelkmeans__gamma": [0.03, 0.1, 0.3],
}
search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
search.best_params_

# %%
results = pd.DataFrame(search.cv_results_)
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for number, part in results.groupby("param_approxkernelkmeans__n_clusters"):
    gamma = part["param_approxkernelkmeans__gamma"].astype(str)
    ax.plot(gamma, part["mean_test_score"], marker="o", label=f"{number} clusters")
ax.set(xlabel="gamma", ylabel="accuracy")
ax.legend()
plt.show()

# %%
# The HTML representation of a pipeline shows its steps:
search.best_estimator_
