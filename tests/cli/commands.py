"""Helpers of the command-line tests: run commands in this process."""

from click.testing import CliRunner
from pyarrow import parquet

from akkm.cli._app import app
from akkm.model_file import load_model


def run(*args, **options):
    """Run a command; return an object with its exit_code, stdout and stderr."""
    return CliRunner().invoke(app, [str(arg) for arg in args], **options)


def output_of(*args, **options):
    """Run a command that must succeed with an empty stderr; return its stdout."""
    result = run(*args, **options)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def cluster_iris(*options):
    """Cluster iris.csv; return the saved model and the table of labels."""
    args = ("--id", "name", "--label", "species", "--quiet")
    files = ("--labels", "out.parquet", "--model", "m.skops")
    output_of("cluster", "iris.csv", "-k", 3, *args, *files, *options)
    return load_model("m.skops"), parquet.read_table("out.parquet")
