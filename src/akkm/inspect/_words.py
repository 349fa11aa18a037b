"""Words of texts, and in how many texts of each cluster they occur."""

from typing import Any

import numpy as np

from akkm.typing import Array

# Only this many words, the most frequent ones, are counted.
_WORDS = 5_000


def word_counts(texts: Any, members: Any) -> tuple[list[str], Array]:
    """Words, and the number of texts (C, w) of each cluster that contain each word.

    `texts` has length s, and entry (k, i) of `members` (C, s) is 1 if text i is in
    cluster k. Words of fewer than three letters, and words that occur in only one text,
    are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect._words import word_counts
    >>> texts = ["red apple", "red car red", "fast car"]
    >>> words, counts = word_counts(texts, np.array([[1, 0, 0], [0, 1, 1]]))
    >>> words, counts.tolist()
    (['car', 'red'], [[0.0, 1.0], [2.0, 1.0]])
    """
    # Imported here, because the import is slow.
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        binary=True,
        min_df=min(2, len(texts)),
        max_features=_WORDS,
        token_pattern=r"(?u)\b\w\w\w+\b",
    )
    try:
        found = vectorizer.fit_transform(texts)
    except ValueError:  # no word occurs in two texts
        return [], np.zeros((members.shape[0], 0))
    counts = members @ found.astype(np.float64)
    counts = counts.toarray() if hasattr(counts, "toarray") else np.asarray(counts)
    return list(vectorizer.get_feature_names_out()), counts
