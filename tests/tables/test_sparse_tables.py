"""Sparse tables: SciPy's .npz and LIBSVM."""

import bz2
import gzip
import io

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from akkm.tables import TableEncoder, TableError, open_table


class TestSparse:
    @pytest.fixture
    def X(self, rng):
        X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.3)
        X[:, 3] = 0
        return sparse.csr_array(X)

    @pytest.mark.parametrize("name", ["x.npz", "x.svm", "x.svm.gz", "x.libsvm.bz2"])
    def test_sparse_formats_give_the_same_rows(self, name, X, tmp_path):
        path, y = tmp_path / name, np.arange(60) % 3
        if name == "x.npz":
            sparse.save_npz(path, X.tocsc())
        else:
            sink = io.BytesIO()
            dump_svmlight_file(X, y, sink, zero_based=False)
            pack = {"gz": gzip.compress, "bz2": bz2.compress}
            data = sink.getvalue()
            path.write_bytes(pack.get(name.split(".")[-1], bytes)(data))
        table = open_table(str(path))
        encoder = TableEncoder().fit(table)
        encoded = encoder.encode(table)
        dense = X.toarray()[:, [0, 1, 2, 4, 5, 6, 7]]
        assert sparse.issparse(encoded.X)
        assert encoded.X.format == "csr"
        assert encoded.X.dtype == np.float32
        np.testing.assert_allclose(
            encoded.X.toarray(), dense / abs(dense).max(axis=0), rtol=1e-6
        )
        first = int(name != "x.npz")  # LIBSVM files number columns from 1
        names = [str(i + first) for i in (0, 1, 2, 4, 5, 6, 7)]
        assert encoder.feature_names_ == names
        assert encoder.describe() == [
            f"{first} to {7 + first}: numbers, divided by their largest absolute "
            "value, so that zeros stay zeros",
            f"left out, as all values are equal: {3 + first}",
        ]
        nonzero = X[[7]].toarray()[0] != 0
        (decoded,) = encoder.original(encoded.X[[7]])
        assert decoded == pytest.approx(
            {str(j + first): X[7, j] for j in np.flatnonzero(nonzero)}, rel=1e-6
        )
        if name == "x.npz":
            assert encoded.labels is None
        else:
            assert encoded.labels.to_pylist() == y.tolist()
        read = skops.io.loads(
            skops.io.dumps(encoder), trusted=["akkm.tables._encoder.TableEncoder"]
        )
        assert (read.encode(table).X != encoded.X).nnz == 0

    def test_columns_are_named_by_their_number_in_the_file(self, write):
        """The first file numbers its columns from 0, the second from 1."""
        train = open_table(write("x.svm", "1 0:1 1:2 2:3\n0 0:2 1:4\n0 2:6\n"))
        encoder = TableEncoder(scale="none").fit(train)
        assert encoder.feature_names_ == ["0", "1", "2"]
        new = encoder.encode(open_table(write("n.svm", "1 1:5 2:7\n0 2:8\n")))
        np.testing.assert_array_equal(new.X.toarray(), [[0, 5, 7], [0, 0, 8]])

    def test_sparse_columns_can_be_selected_and_left_unscaled(self, X, tmp_path):
        sparse.save_npz(tmp_path / "x.npz", X)
        table = open_table(str(tmp_path / "x.npz"))
        encoder = TableEncoder(scale="none", drop=["0"], label="1", id="2")
        encoded = encoder.fit(table).encode(table)
        np.testing.assert_allclose(encoded.X.toarray(), X.toarray()[:, 4:], rtol=1e-6)
        np.testing.assert_allclose(encoded.labels.to_numpy(), X.toarray()[:, 1])
        np.testing.assert_allclose(encoded.ids.to_numpy(), X.toarray()[:, 2])

    def test_missing_sparse_values_can_be_dropped_or_filled(self, write):
        path = write("x.svm", "1 1:2 2:4\n0 1:nan 2:2\n0 1:4\n")
        table = open_table(path)
        dropped = TableEncoder(missing="drop", scale="none").fit(table).encode(table)
        assert dropped.rows.tolist() == [0, 2]
        assert dropped.labels.to_pylist() == [1, 0]
        np.testing.assert_array_equal(dropped.X.toarray(), [[2, 4], [4, 0]])
        filled = TableEncoder(missing="mean", scale="none").fit(table).encode(table)
        np.testing.assert_array_equal(filled.X.toarray(), [[2, 4], [3, 2], [4, 0]])

    def test_absent_columns_are_zero_and_extra_ones_left_out(self, write, tmp_path, X):
        encoder = TableEncoder(scale="none")
        encoder.fit(open_table(write("x.svm", "1 1:2 2:4\n0 2:2\n0 1:4\n")))
        narrow = encoder.encode(open_table(write("n.svm", "1 1:2\n")))
        np.testing.assert_array_equal(narrow.X.toarray(), [[2, 0]])
        assert narrow.labels is None  # equal targets are not used as labels
        wide = encoder.encode(open_table(write("w.svm", "1 1:2 3:1\n0 2:1\n")))
        np.testing.assert_array_equal(wide.X.toarray(), [[2, 0], [0, 1]])
        assert wide.notes == ("columns '3' are not in the model and were left out",)
        sparse.save_npz(tmp_path / "x.npz", X)
        with pytest.raises(TableError, match="unknown: '3', '4', '5', '6', '7'"):
            encoder.encode(open_table(str(tmp_path / "x.npz")))
        with pytest.raises(TableError, match=r"table is dense, but .* a sparse table"):
            encoder.encode(open_table(write("d.csv", "0,1\n1,2\n")))
