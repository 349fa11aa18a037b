"""Inspection of new rows, and the values shown for single rows."""

import copy

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from akkm import ApproxKernelKMeans
from akkm.inspect import Inspection

FITTED_ONLY = ("labels_", "agreement_", "embedding_")


@pytest.fixture(scope="module")
def new(blobs):
    return blobs[0][::4] + 0.01


class TestNewRows:
    def test_new_rows_get_predicted_labels(self, fitted, new):
        facts = Inspection(fitted, new, new_rows=True)
        np.testing.assert_array_equal(facts.labels, fitted.predict(new))
        assert facts.new_rows

    def test_new_rows_may_be_as_many_as_the_fitted_rows(self, fitted, blobs):
        new = blobs[0][::-1]
        facts = Inspection(fitted, new, new_rows=True)
        np.testing.assert_array_equal(facts.labels, fitted.predict(new))

    def test_a_model_from_a_file_predicts_labels(self, fitted, new):
        bare = copy.copy(fitted)
        for name in FITTED_ONLY:
            vars(bare).pop(name, None)
        facts = Inspection(bare, new)
        np.testing.assert_array_equal(facts.labels, fitted.predict(new))
        assert facts.new_rows
        # Setting labels_, as the command line does, does not change the map.
        bare.labels_ = fitted.predict(new)
        np.testing.assert_allclose(Inspection(bare, new).map.xy, facts.map.xy)


def test_labels_of_the_given_rows_are_not_predicted_again(blobs, monkeypatch):
    X, _ = blobs
    fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
    new = np.vstack([X, X]) + 0.01
    fitted.labels_ = fitted.predict(new)
    predicted = []
    predict = ApproxKernelKMeans.predict
    monkeypatch.setattr(
        ApproxKernelKMeans,
        "predict",
        lambda self, X: predicted.append(len(X)) or predict(self, X),
    )
    Inspection(fitted, new, new_rows=True)
    assert predicted == [1000]  # a sample, to compare with labels_


class TestValues:
    def test_encoded_values_are_those_of_the_most_different_columns(self, wine):
        fitted = ApproxKernelKMeans(3, random_state=0).fit(wine)
        facts = Inspection(fitted, wine)
        found = facts.row_values(n_columns=3)
        assert found.names == facts.columns.names[:3]
        assert not found.original
        np.testing.assert_array_equal(
            found.of(np.array([5])), wine[[5]][:, facts.columns.columns[:3]]
        )

    def test_original_values_are_those_of_the_most_different_columns(self, blobs):
        X, y = blobs
        towns = np.array(["Ulm", "Bonn", "Köln"])
        names = ["year", "4", *(f"town={town}" for town in towns)]
        encoded = np.hstack([X[:, :2], 9 * np.eye(3)[y]])

        def original(rows):
            return [
                {"4": row[1], "year": row[0] + 2000, "town": towns[row[2:].argmax()]}
                for row in rows
            ]

        fitted = ApproxKernelKMeans(3, random_state=0).fit(encoded)
        facts = Inspection(fitted, encoded, feature_names=names, original=original)
        found = facts.row_values(n_columns=2)
        assert found.original
        assert found.names[0] == "town"  # the encoded columns of town differ most
        assert found.of(np.array([7]))[0][0] == towns[y[7]]
        assert facts.columns.names[0].startswith("town=")
        assert "column 4" in facts.row_values().names

    def test_an_encoded_name_belongs_to_the_longest_original_name_in_it(self, blobs):
        X = blobs[0][:, :1]
        fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
        facts = Inspection(
            fitted,
            X,
            feature_names=["num__age group"],
            original=lambda rows: [{"age": 1, "age group": 2} for _ in rows],
        )
        assert facts.row_values(n_columns=1).names == ("age group",)

    def test_a_pipeline_shows_values_before_its_steps(self, blobs):
        X = blobs[0] * [1, 1, 1, 1000]
        pipe = make_pipeline(StandardScaler(), ApproxKernelKMeans(3, random_state=0))
        found = Inspection(pipe.fit(X), X, feature_names=list("abcd")).row_values()
        columns = ["abcd".index(name) for name in found.names]
        assert found.of(np.array([7])) == [X[7, columns].tolist()]
        found = Inspection(pipe, X).row_values()
        assert sorted(found.names) == [f"column {j}" for j in range(4)]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_a_pipeline_takes_data_frames(self, library, blobs):
        frames = pytest.importorskip(library)
        X, y = blobs
        data = {name: X[:, j] for j, name in enumerate("pqrs")}
        data["town"] = np.array(["Ulm", "Bonn", "Köln"])[y].tolist()
        frame = frames.DataFrame(data)
        both = make_column_transformer(
            (StandardScaler(), list("pqrs")), (OneHotEncoder(), ["town"])
        )
        pipe = make_pipeline(both, ApproxKernelKMeans(3, random_state=0)).fit(frame)
        facts = Inspection(pipe, frame)
        assert "onehotencoder__town_Ulm" in facts.columns.names
        found = facts.row_values()
        assert sorted(found.names) == ["p", "q", "r", "s", "town"]
        assert found.of(np.array([7])) == [[data[name][7] for name in found.names]]
        assert Inspection(pipe, frame[:50], new_rows=True).n_rows == 50

    def test_a_pipeline_must_end_in_an_estimator_of_akkm(self, blobs):
        with pytest.raises(TypeError, match="expected a fitted estimator of akkm"):
            Inspection(make_pipeline(StandardScaler()).fit(blobs[0]), blobs[0])
