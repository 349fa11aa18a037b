"""
Text embeddings with layers
===========================

Embeddings of texts have clusters within clusters. `ClusterLayers` finds nested layers
of clusters, and chooses their numbers itself. The embedding here is a singular value
decomposition, which needs no download. Use the vectors of your language model instead.
"""

# %%
# The texts are descriptions of scikit-learn's classes and functions.
import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import cut_tree, dendrogram
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from texts import descriptions

import akkm

names, texts = descriptions()
embed = make_pipeline(
    TfidfVectorizer(stop_words="english", min_df=2, sublinear_tf=True),
    TruncatedSVD(30, random_state=0),
    Normalizer(),
)
X = embed.fit_transform(texts)
model = akkm.ClusterLayers((3, 20), random_state=0).fit(X)
model.layer_numbers_

# %%
# The tree of the finest clusters. Each cluster is named after the text that is nearest
# to its center.
nearest = [names[rows[0]] for rows in model.exemplars_]
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
dendrogram(model.tree_, orientation="left", labels=nearest, ax=ax)
ax.set_xlabel("distance at which clusters merge")
plt.show()

# %%
# Cutting the tree gives a coarser layer of any number of clusters, here five. The
# picture shows the cosines between texts, sorted by coarse and fine cluster. Blocks on
# the diagonal are clusters. Texts that are similar to several blocks have uncertain
# labels.
coarse = cut_tree(model.tree_, 5).ravel()[model.labels_]
order = np.lexsort([-model.certainty_, model.labels_, coarse])
figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.imshow(X[order] @ X[order].T, vmin=0, vmax=1, cmap="Blues")
ax.set(xticks=[], yticks=[])
plt.show()
