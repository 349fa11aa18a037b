"""Scaling, one-hot encoding, missing values, and decoding to original units."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest
import skops.io
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from akkm.tables import TableEncoder, TableError, open_table
from akkm.tables._summary import Counts, Moments
from table_files import RAMP, mixed, same


class TestEncoding:
    def test_encoded_values_are_those_computed_by_hand(self, encode):
        encoder, encoded = encode("a,b,t\n1,0,v\n2,5,u\n3,5,v\n6,10,v\n", label="b")
        root = np.sqrt(3.5)  # 1, 2, 3, 6 have mean 3 and variance 3.5
        assert encoder.feature_names_ == ["a", "t=u", "t=v"]
        expected = [[-2 / root, 0, 1], [-1 / root, 1, 0], [0, 0, 1], [3 / root, 0, 1]]
        np.testing.assert_allclose(encoded.X, expected, rtol=1e-6)
        assert encoded.labels.to_pylist() == [0, 5, 5, 10]
        assert encoded.rows.tolist() == [0, 1, 2, 3]
        assert encoded.ids is None
        assert encoder.notes_ == []
        assert encoder.describe() == [
            "a: numbers, scaled to mean 0 and standard deviation 1",
            "t: text, 2 values one-hot encoded",
            "held out: b",
        ]
        kinds = [(c["name"], c["kind"], c["how"]) for c in encoder.columns_]
        assert kinds == [("a", "number", "standard"), ("t", "text", "one-hot")]

    @pytest.mark.parametrize(
        ("scale", "theirs"), [("standard", StandardScaler), ("minmax", MinMaxScaler)]
    )
    def test_scaling_equals_scikit_learn(self, scale, theirs, tmp_path, rng):
        X = rng.normal(1e5, 1, size=(40_000, 3)) * [1, 1e-3, 1e8]
        np.save(tmp_path / "x.npy", X)
        table = open_table(str(tmp_path / "x.npy"))
        encoded = TableEncoder(scale=scale).fit(table).encode(table)
        np.testing.assert_allclose(encoded.X, theirs().fit_transform(X), atol=1e-5)

    def test_moments_do_not_depend_on_the_batch_size(self, rng):
        V = rng.normal(5, 3, size=(4, 50_000))
        V[1, ::3] = np.nan
        found = []
        for size in (50_000, 777, 16_384):
            moments = Moments(4)
            for start in range(0, 50_000, size):
                moments.add(V[:, start : start + size])
            moments.finish()
            std = [moments.std(i) for i in range(4)]
            found.append(np.array([moments.mean, std, moments.count]))
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_allclose(found[0][0], np.nanmean(V, axis=1))
        np.testing.assert_allclose(found[0][1], np.nanstd(V, axis=1))

    def test_rare_values_are_pooled(self, encode):
        rows = ["c"] * 5 + ["a"] * 4 + ["e"] * 2 + ["d"] * 2 + ["b"]
        encoder, encoded = encode("t\n" + "\n".join(rows) + "\n", most_values=3)
        assert encoder.feature_names_ == ["t=a", "t=c", "t=other"]
        assert encoded.X.sum(axis=0).tolist() == [4, 5, 5]
        assert encoder.describe() == [
            "t: text, 5 values, the 2 most frequent one-hot encoded, 36 % of rows "
            "pooled as 'other'"
        ]
        assert [row["t"] for row in encoder.original(encoded.X[[0, 5, 9]])] == [
            "c",
            "a",
            "(other)",
        ]
        encoder, _ = encode("t\n" + "\n".join(rows) + "\n", most_values=4)
        # d and e are equally frequent; d is first in alphabetical order.
        assert encoder.feature_names_ == ["t=a", "t=c", "t=d", "t=other"]

    def test_a_value_called_other_is_merged_with_the_pooled_values(self, encode):
        rows = ["other"] * 5 + ["a"] * 4 + ["b", "c"]
        encoder, encoded = encode("t\n" + "\n".join(rows) + "\n", most_values=3)
        assert encoder.feature_names_ == ["t=a", "t=other"]
        assert encoded.X.sum(axis=0).tolist() == [4, 7]

    def test_unseen_text_is_encoded_as_zeros_or_as_other(self, encode, write):
        new = write("new.csv", "t,a\nu,1\nw,1\nw,1\n")
        encoder, _ = encode("a,t\n0,u\n1,v\n")
        encoded = encoder.encode(open_table(new))
        np.testing.assert_array_equal(encoded.X, [[1, 1, 0], [1, 0, 0], [1, 0, 0]])
        (note,) = encoded.notes
        assert note.startswith("t: 2 rows with values that did not occur in training")
        assert "'w'" in note

        encoder, _ = encode("a,t\n0,u\n1,v\n0,v\n1,x\n", most_values=2)
        encoded = encoder.encode(open_table(new))
        assert encoder.feature_names_ == ["a", "t=v", "t=other"]
        np.testing.assert_array_equal(encoded.X[:, 1:], [[0, 1]] * 3)

    def test_rows_with_missing_values_can_be_dropped(self, encode):
        encoder, encoded = encode(
            "id,a,t\n1,1,u\n2,,u\n3,3,NA\n4,5,v\n", missing="drop", id="id"
        )
        np.testing.assert_array_equal(encoded.X, [[-1, 1, 0], [1, 0, 1]])
        assert encoded.rows.tolist() == [0, 3]
        assert encoded.ids.to_pylist() == [1, 4]
        assert encoder.n_rows_ == 4
        assert encoder.notes_[-1] == (
            "2 of 4 rows with missing values left out: 1 in 'a', 1 in 't'"
        )

    @pytest.mark.parametrize("missing", ["drop", "mean"])
    def test_missing_values_in_new_rows_are_noted(self, missing, encode, write):
        encoder, _ = encode("a,t\n1,u\n2,v\n", missing=missing)
        assert encoder.notes_ == []
        new = encoder.encode(open_table(write("n.csv", "a,t\n,u\n1,u\n5,\n")))
        note = {
            "drop": "2 of 3 rows with missing values left out: 1 in 'a', 1 in 't'",
            "mean": "missing values filled (numbers with the mean, text as 'missing'): "
            "1 in 'a', 1 in 't'",
        }
        assert new.notes[0] == note[missing]

    def test_missing_values_can_be_filled(self, encode, write):
        encoder, encoded = encode(
            "a,t\n1,u\n,u\n3,\n5,v\n", missing="mean", scale="none"
        )
        assert encoder.feature_names_ == ["a", "t=missing", "t=u", "t=v"]
        expected = [[1, 0, 1, 0], [3, 0, 1, 0], [3, 1, 0, 0], [5, 0, 0, 1]]
        np.testing.assert_array_equal(encoded.X, expected)
        assert "missing values filled" in encoder.notes_[-1]
        new = encoder.encode(open_table(write("new.csv", "a,t\n,\n")))
        np.testing.assert_array_equal(new.X, [[3, 1, 0, 0]])  # 3 is the training mean

    def test_true_and_false_are_encoded_as_text(self, encode, write, tmp_path):
        flags = ["True", "False", "true"]
        encoder, encoded = encode(
            "a,f\n" + "".join(f"{i},{flags[i]}\n" for i in (0, 1, 2))
        )
        assert encoder.feature_names_ == ["a", "f=false", "f=true"]
        np.testing.assert_array_equal(encoded.X[:, 1:], [[0, 1], [1, 0], [0, 1]])
        assert encoder.describe()[1].startswith("f: true or false, encoded as text")
        parquet = tmp_path / "x.parquet"
        pa.parquet.write_table(
            pa.table({"a": [0, 1, 2], "f": [True, False, True]}), parquet
        )
        same(encoder.encode(open_table(str(parquet))), encoded)

    def test_true_among_other_words_is_text(self, encode, write):
        encoder, _ = encode("f\nTrue\nFalse\nmaybe\n")
        new = encoder.encode(open_table(write("n.csv", "f\nTrue\nFalse\n")))
        np.testing.assert_array_equal(new.X, [[0, 1, 0], [1, 0, 0]])
        assert new.notes == ()

    def test_an_empty_column_is_left_out(self, encode):
        encoder, _ = encode("a,b\n1,\n2,\n", missing="mean")
        assert encoder.feature_names_ == ["a"]

    def test_constant_columns_are_left_out(self, encode, write):
        encoder, _ = encode("a,b,t\n1,0.1,x\n2,0.1,x\n")
        assert encoder.feature_names_ == ["a"]
        assert encoder.describe()[1:] == ["left out, as all values are equal: b, t"]
        encoded = encoder.encode(open_table(write("new.csv", "a\n1\n2\n")))
        assert encoded.X.ravel().tolist() == [-1, 1]

    def test_a_column_of_row_numbers_is_left_out(self, encode):
        text = "n,a\n" + "".join(f"{i},{i % 3}\n" for i in range(100))
        encoder, _ = encode(text)
        assert encoder.feature_names_ == ["a"]
        assert encoder.describe()[-1] == (
            "left out, as identifiers (--columns uses them, --id adds them to "
            "labels): n"
        )
        encoder, _ = encode(text, columns=["n", "a"])
        assert encoder.feature_names_ == ["n", "a"]

    def test_columns_are_selected_by_name(self, encode):
        text = "a,b,c,d\n1,2,3,4\n5,6,7,9\n"
        encoder, encoded = encode(
            text, columns=["c", "a", "d"], drop=["a"], label="d", scale="none"
        )
        assert encoder.feature_names_ == ["c"]
        assert encoded.X.ravel().tolist() == [3, 7]
        assert encoded.labels.to_pylist() == [4, 9]

    def test_labels_may_be_missing(self, encode):
        _, encoded = encode("a,y\n1,u\n2,\n", label="y")
        assert encoded.labels.to_pylist() == ["u", None]

    def test_too_many_distinct_values_are_detected_early(self):
        counts = Counts(early=100)
        counts.add(pa.array([f"k{i}" for i in range(100)]).dictionary_encode())
        assert not counts.stops_early
        counts.add(pa.array(["k100"]).dictionary_encode())
        assert counts.stops_early


class TestOriginal:
    @pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
    def test_decoded_values_equal_the_original_values(self, scale, tmp_path, rng):
        n = 200
        table = pa.table(
            {
                "x": rng.normal(1e3, 20, n).round(2),
                "whole": rng.integers(1_900, 2_020, n),
                "day": pa.array(rng.integers(0, 9_000, n).astype("M8[D]")),
                "seen": pa.array(rng.integers(0, 10**6, n).astype("M8[s]")),
                "clock": pa.array(rng.integers(0, 86_400, n), pa.int32()).cast(
                    pa.time32("s")
                ),
                "colour": rng.choice(["red", "green", "blue"], n),
                "flag": rng.random(n) < 0.5,
            }
        )
        pa.parquet.write_table(table, tmp_path / "x.parquet")
        encoder = TableEncoder(scale=scale)
        X = encoder.fit_transform(open_table(str(tmp_path / "x.parquet")))
        expected = [
            {
                **{name: row[name] for name in ("x", "whole", "colour")},
                "day": row["day"].isoformat(),
                "seen": row["seen"].isoformat(" "),
                "clock": row["clock"].isoformat(),
                "flag": str(row["flag"]).lower(),
            }
            for row in table.to_pylist()
        ]
        found = encoder.original(X)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours == {**theirs, "x": pytest.approx(theirs["x"], abs=0.003)}

    def test_unseen_text_is_decoded_as_none(self, encode, write):
        encoder, _ = encode("a,t\n1,u\n2,v\n")
        X = encoder.encode(open_table(write("n.csv", "a,t\n1,w\n"))).X
        assert encoder.original(X) == [{"a": 1.0, "t": None}]

    def test_special_characters_in_names_are_quoted(self, encode):
        encoder, _ = encode('"a,b","c\nd",e\n1,2,3\n4,5,6\n')
        assert encoder.describe()[0].startswith(r"'a,b', 'c\nd', e: numbers")

    def test_a_description_of_many_columns_stays_short(self, encode):
        names = [*(f"n{i}" for i in range(40)), *(f"t{i}" for i in range(40))]
        lines = [",".join(names)]
        lines += [",".join([str(i)] * 40 + [f"v{i}"] * 40) for i in range(3)]
        encoder, _ = encode("\n".join(lines) + "\n", drop=["n1"], label="t0")
        text = encoder.describe()
        assert text[0].startswith("n0, n2, n3, n4, n5, n6, n7, n8 and 31 more: numbers")
        assert text[1].endswith("t8 and 31 more: text, 3 values one-hot encoded")
        assert text[2:] == ["held out: t0", "left out, as requested: n1"]

    def test_columns_with_different_numbers_of_values_are_summarised(self, encode):
        lines = [",".join(f"t{j}" for j in range(12))]
        lines += [",".join(f"v{i % (j + 2)}" for j in range(12)) for i in range(60)]
        encoder, _ = encode("\n".join(lines) + "\n")
        text = encoder.describe()
        assert text[7] == "t7: text, 9 values one-hot encoded"
        assert text[8:] == [
            "t8, t9, t10, t11: text, 46 values in total, one-hot encoded"
        ]


class TestTransform:
    @pytest.fixture
    def encoder(self, encode):
        text = "k,a,t,y,z\n1,1,u,0,5\n2,3,v,1,5\n"
        return encode(text, id="k", label="y", drop=["z"], missing="error")[0]

    def test_column_order_is_free_and_id_and_label_are_optional(self, encoder, write):
        encoded = encoder.encode(open_table(write("n.csv", "t,a\nv,1\nu,3\n")))
        np.testing.assert_array_equal(encoded.X, [[-1, 0, 1], [1, 1, 0]])
        assert encoded.ids is None
        assert encoded.labels is None

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a,y\n1,0\n", "not those of the model; missing: 't'"),
            ("a,t,w\n1,u,0\n", r"unknown: 'w' \(leave them out: --drop w\)"),
            ('a,t,"x,y z"\n1,u,0\n', """--drop '"x,y z"'"""),
            ("b,t\n1,u\n", "missing: 'a' .*; unknown: 'b'"),
            ("a,t\nx,u\n", "column 'a' holds text, but the model expects numbers"),
            ("a,t\n1999-01-01,u\n", "'a' holds dates, but the model expects numbers"),
            ("a,t\n1,\n", "missing values: 1 in 't'"),
            ("a,t\n1e39,u\n2,u\n", "too large for single precision"),
        ],
    )
    def test_columns_that_differ_from_the_model_are_named(
        self, text, message, encoder, write
    ):
        with pytest.raises(TableError, match=message):
            encoder.encode(open_table(write("n.csv", text)))

    def test_typed_numbers_in_a_text_column_are_refused(self, encoder, write, tmp_path):
        """In CSV, which has no types, numbers in a text column are read as text."""
        encoded = encoder.encode(open_table(write("n.csv", "a,t\n1,7\n")))
        assert "'7'" in encoded.notes[0]
        pa.parquet.write_table(pa.table({"a": [1], "t": [7]}), tmp_path / "n.parquet")
        with pytest.raises(
            TableError, match="'t' holds numbers, but the model expects text"
        ):
            encoder.encode(open_table(str(tmp_path / "n.parquet")))

    def test_numbers_can_be_read_as_text(self, tmp_path):
        path = tmp_path / "x.parquet"
        pa.parquet.write_table(pa.table({"zip": [7, 8, 7], "a": [1, 2, 4]}), path)
        encoder = TableEncoder(text=["zip"]).fit(open_table(str(path)))
        encoded = encoder.encode(open_table(str(path)))
        assert encoder.feature_names_ == ["zip=7", "zip=8", "a"]
        assert encoded.X[:, 0].tolist() == [1, 0, 1]

    def test_a_table_of_unknown_length_is_encoded_completely(self, write):
        path = write("x.csv", RAMP)
        encoder = TableEncoder(columns=["a", "b"]).fit(open_table(path))
        table = open_table(path, block=1_000)
        assert table.n_rows is None
        encoded = encoder.encode(table)
        assert encoded.X.shape == (9_000, 2)
        np.testing.assert_allclose(encoded.X.mean(axis=0), 0, atol=1e-5)
        same(encoded, encoder.encode(open_table(path)))

    def test_an_encoder_restored_by_skops_is_equivalent(self, encoder, write):
        read = skops.io.loads(
            skops.io.dumps(encoder), trusted=["akkm.tables._encoder.TableEncoder"]
        )
        path = write("n.csv", "k,a,t,y\n9,1,v,1\n8,2,w,0\n")
        same(read.encode(open_table(path)), encoder.encode(open_table(path)))
        assert read.columns_ == encoder.columns_
        assert read.feature_names_ == encoder.feature_names_
        assert read.get_params() == encoder.get_params()


def test_text_counts_equal_those_of_arrow(tmp_path):
    table = mixed()
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    opened = open_table(str(tmp_path / "x.parquet"))
    encoder = TableEncoder(columns=["color"]).fit(opened)
    encoded = encoder.encode(opened)
    counts = pc.value_counts(table["color"]).to_pylist()
    expected = {f"color={c['values']}": c["counts"] for c in counts}
    found = dict(zip(encoder.feature_names_, encoded.X.sum(axis=0), strict=True))
    assert found == expected
