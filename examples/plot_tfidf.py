"""
Texts as TF-IDF
===============

A TF-IDF matrix is sparse: most words don't occur in most texts. akkm clusters sparse
matrices without making them dense. The texts are the descriptions of scikit-learn's
classes and functions.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from texts import descriptions

from akkm import ApproxKernelKMeans

names, texts = descriptions()
vectorizer = TfidfVectorizer(stop_words="english", min_df=2, sublinear_tf=True)
X = vectorizer.fit_transform(texts)
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.1%} nonzero")

# %%
# The cosine kernel compares the words of two texts, and ignores their lengths.
model = ApproxKernelKMeans(8, kernel="cosine", random_state=0).fit(X)
words = vectorizer.get_feature_names_out()
overall = np.asarray(X.mean(axis=0)).ravel()
figure, axes = plt.subplots(2, 4, figsize=(11, 5), layout="constrained")
for cluster, ax in enumerate(axes.flat):
    mean = np.asarray(X[model.labels_ == cluster].mean(axis=0)).ravel()
    top = np.argsort(mean - overall)[-6:]
    ax.barh(words[top], mean[top])
    ax.set(title=f"{(model.labels_ == cluster).sum()} texts", xticks=[])
plt.show()

# %%
# A new text goes to the cluster of similar texts:
query = vectorizer.transform(["group rows into clusters of high density"])
cluster = model.predict(query)[0]
cosines = (X @ query.T).toarray().ravel()
nearest = np.argsort(-np.where(model.labels_ == cluster, cosines, -1))
[names[i] for i in nearest[:5]]
