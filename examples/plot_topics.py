"""
A topic model from embeddings
=============================

Topic models such as BERTopic embed texts, cluster the embeddings and describe each
cluster by its words. Here `ClusterLayers` does the clustering, so there are coarse and
fine topics. The embedding is a singular value decomposition, which needs no download.
Use the vectors of your language model instead; the other steps stay the same.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import cut_tree
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
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
model = akkm.ClusterLayers((2, 25), random_state=0).fit(X)
model.layer_numbers_

# %%
# Words that are more frequent in a topic than elsewhere (class-based TF-IDF).
vectorizer = CountVectorizer(stop_words="english", min_df=3)
counts = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()


def describe(labels, n_words=4):
    """Return the most typical words of each topic."""
    totals = np.vstack([counts[labels == k].sum(axis=0) for k in np.unique(labels)])
    totals = np.asarray(totals)
    share = totals / totals.sum(axis=1, keepdims=True)
    rarity = np.log(1 + totals.sum() / len(totals) / totals.sum(axis=0))
    return [", ".join(words[np.argsort(-row)[:n_words]]) for row in share * rarity]


# The tree in which clusters merge gives coarse topics of any number.
coarse = cut_tree(model.tree_, 6).ravel()[model.labels_]
for topic, text in enumerate(describe(coarse, n_words=6)):
    print(f"{(coarse == topic).sum():4d} texts: {text}")

# %%
# The finest topics, by size:
sizes = np.bincount(model.labels_)
order = np.argsort(sizes)[-15:]
topics = describe(model.labels_)
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
ax.barh([topics[k] for k in order], sizes[order])
ax.set(xlabel="number of texts")
plt.show()

# %%
# Typical texts of the largest topic:
[names[i] for i in model.exemplars_[order[-1]]]
