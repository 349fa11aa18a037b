"""Ranges for -k, --layers and --coverage on the command line."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from akkm import ClusterLayers, load_model
from cli.commands import output_of, run


@pytest.fixture
def nested(tmp_path, monkeypatch):
    """A file with two groups of three clusters each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    groups = np.array([[0.0, 0.0], [40.0, 0.0]])
    centers = (groups[:, None] + [[0, 0], [6, 0], [0, 6]]).reshape(6, 2)
    X = centers[np.arange(900) % 6] + rng.normal(size=(900, 2))
    kinds = [f"kind {i % 6}" for i in range(900)]
    pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "kind": kinds}).to_csv(
        "nested.csv", index=False
    )


def test_layers_are_columns_of_the_label_file_from_coarse_to_fine(nested):
    text = output_of(
        *("cluster", "nested.csv", "--layers", "--label", "kind"),
        *(
            "--method",
            "diffusion",
            "--scale",
            "none",
            "--labels",
            "out.parquet",
            "--model",
            "m.skops",
        ),
    )
    found = parquet.read_table("out.parquet").to_pandas()
    layers = [name for name in found if name.startswith("layer_")]
    assert layers[0] == "layer_2"
    assert layers[-1] == "layer_6"
    assert (found["layer_6"] == found["cluster"]).all()
    assert (found.groupby("cluster")["layer_2"].nunique() == 1).all()
    assert "ClusterLayers, seed 0, of DiffusionKernelKMeans" in text
    assert re.search(r"layers +2, .*6 clusters", text)
    predict = ("predict", "m.skops", "nested.csv", "--labels", "again.parquet")
    output_of(*predict, "--quiet")
    again = parquet.read_table("again.parquet").to_pandas()
    pd.testing.assert_frame_equal(
        again[["cluster", *layers]], found[["cluster", *layers]]
    )


def test_a_range_alone_limits_the_number_and_adds_no_columns(nested):
    args = ("--scale", "none", "--labels", "out.parquet", "--model", "m.skops")
    output_of("cluster", "nested.csv", "-k", "2-4", "--drop", "kind", "--quiet", *args)
    found = parquet.read_table("out.parquet").to_pandas()
    assert 2 <= found["cluster"].nunique() <= 4
    assert not [name for name in found if name.startswith("layer_")]
    assert isinstance(load_model("m.skops").estimator, ClusterLayers)


@pytest.mark.parametrize("options", [(), ("--layers",)])
def test_coverage_leaves_out_the_least_certain_rows(nested, options):
    text = output_of(
        *("cluster", "nested.csv", "-k", 4, "--coverage", 0.9, "--label", "kind"),
        *("--labels", "out.csv", "--model", "m.skops", "--report", "r.html", *options),
        *("--write", "table.csv"),
    )
    found = pd.read_csv("out.csv")
    assert abs((found["cluster"] >= 0).sum() - 810) <= 1
    assert found["distance"].notna().all()
    assert "90.0% of the rows have a cluster" in text
    assert "90 rows without a cluster left out" in text
    assert "90 rows" in Path("r.html").read_text()
    output_of("predict", "m.skops", "nested.csv", "--labels", "again.csv", "--quiet")
    pd.testing.assert_series_equal(
        pd.read_csv("again.csv")["cluster"], found["cluster"]
    )
    labelled = pd.read_csv("table.csv")
    assert (labelled["cluster_name"].isna() == (labelled["cluster"] < 0)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", "12-2"), "'12-2' is not a valid range; expected LEAST-MOST"),
        (("-k", "1-4"), "2 <= LEAST < MOST"),
        (("-k", "two"), "'two' is neither a positive number nor a range such as 2-12"),
        (("-k", "1000-1200"), "-k 1000 with 900 rows; expected at most 900"),
        (("--coverage", "95"), "'95' is neither auto nor a share of the rows"),
        (("--coverage", "0"), "'0' is neither auto nor a share of the rows"),
        (("-k", 3, "--coverage", "0.9", "--ensemble", 3), "leave out --ensemble 3"),
        (("--layers", "--ensemble", 3), "--layers needs clusters with centers"),
        (
            ("-k", "2-4", "--checkpoint", "folder", "--method", "approx"),
            "--checkpoint can't be combined with a range for -k",
        ),
    ],
)
def test_bad_values_are_explained(nested, options, message):
    result = run("cluster", "nested.csv", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_plan_accepts_layers(nested):
    text = output_of(
        "plan", "nested.csv", "-k", "2-8", "--layers", "--coverage", "auto"
    )
    assert " to compare numbers of clusters, " in text
