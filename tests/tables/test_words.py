"""Columns of free text, encoded by their words."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import skops.io
from pyarrow import csv, parquet
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score

from akkm import ApproxKernelKMeans, cluster, load_model
from akkm.tables import TableEncoder, TableError, balance, open_table
from customers import customers

N = 600


@pytest.fixture(scope="module")
def data():
    """A table with a number and comments, one of them missing, and the segments."""
    table, segments = customers(N)
    comments = table["comment"].to_pylist()
    comments[7] = None
    return pa.table({"visits": np.arange(N) % 30, "comment": comments}), segments


@pytest.fixture(scope="module")
def encoder(data):
    return TableEncoder(words=["comment"]).fit(data[0])


def test_coordinates_are_principal_components_of_tf_idf(data, encoder):
    table, _ = data
    X = encoder.transform(table)
    assert X.shape == (N, 21)
    assert encoder.get_feature_names_out()[-1] == "comment (words, 20)"
    np.testing.assert_array_equal(X[7, 1:], 0)
    texts = [text for text in table["comment"].to_pylist() if text is not None]
    T = TfidfVectorizer(min_df=2, max_features=1_000).fit_transform(
        dict.fromkeys(texts)
    )
    expected = PCA(20, svd_solver="full").fit_transform(T.toarray())
    expected *= (2 / (expected**2).sum(axis=1).mean()) ** 0.5
    found = np.delete(X[:, 1:], 7, axis=0)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)


def test_streaming_and_in_memory_encodings_are_equal(data, encoder, tmp_path):
    table, _ = data
    csv.write_csv(table, tmp_path / "x.csv")
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=70)
    expected = encoder.transform(table)
    for name in ("x.csv", "x.parquet"):
        stored = open_table(str(tmp_path / name))
        ours = clone(encoder).fit(stored)
        np.testing.assert_array_equal(ours.encode(stored).X, expected)
        on_disk = ours.encode(stored, memory=1).X
        np.testing.assert_array_equal(
            on_disk[np.array([599, 7, 3])], expected[[599, 7, 3]]
        )
        np.testing.assert_array_equal(on_disk[:], expected)


def test_copies_encode_like_the_original(data, encoder, tmp_path):
    table, _ = data
    expected = encoder.transform(table)
    kept = skops.io.loads(
        skops.io.dumps(encoder), trusted=["akkm.tables._encoder.TableEncoder"]
    )
    for copy in (pickle.loads(pickle.dumps(encoder)), kept, clone(encoder).fit(table)):
        np.testing.assert_array_equal(copy.transform(table), expected)
    frame = (
        clone(encoder).set_output(transform="pandas").fit_transform(table.to_pandas())
    )
    np.testing.assert_array_equal(frame.to_numpy(), expected)
    found = cluster(table, 5, words=["comment"])
    found.save(tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.encoder.transform(table), expected)


def test_only_the_other_columns_are_decoded(data, encoder):
    table, _ = data
    decoded = encoder.inverse_transform(encoder.transform(table))
    assert decoded.column_names == ["visits"]
    assert decoded["visits"].to_pylist() == table["visits"].to_pylist()
    assert list(encoder.original(encoder.transform(table)[:1])[0]) == ["visits"]


def test_words_separate_segments_and_reports_list_them(data, encoder):
    table, segments = data
    X = encoder.transform(table)[:, 1:]
    model = ApproxKernelKMeans(5, random_state=0).fit(X)
    assert normalized_mutual_info_score(segments, model.labels_) > 0.7
    assert balance(encoder.facts()) == "numbers 33%, texts 67%"
    assert "encoded by 63 words (TF-IDF, 20 principal" in encoder.describe()[1]
    found = cluster(table, 5, words=["comment"], weights={"comment": 4})
    page = found.report().html
    assert "words in comment" in page
    assert "warehouse" in page


def test_wrong_columns_are_refused(data):
    table, _ = data
    with pytest.raises(TableError, match="--words 'said': there is no such column"):
        TableEncoder(words=["said"]).fit(table)
    with pytest.raises(TableError, match="can't be both; leave out one"):
        TableEncoder(words=["comment"], text=["comment"]).fit(table)
    frame = pd.DataFrame({"x": range(9), "t": ["?", "!"] * 4 + ["."]})
    with pytest.raises(TableError, match="has no words that occur in several texts"):
        TableEncoder(words=["t"]).fit(frame)


@pytest.mark.parametrize("key", ["words", "idf", "axes"])
def test_damaged_encodings_are_refused(key, encoder):
    damaged = pickle.loads(pickle.dumps(encoder))
    damaged.require_valid()
    damaged.columns_[1][key] = [*damaged.columns_[1][key][:-1], None]
    with pytest.raises((ValueError, TypeError)):
        damaged.require_valid()
