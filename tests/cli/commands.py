"""Run commands in this process, for all tests of the command line."""

from click.testing import CliRunner
from pyarrow import parquet

from akkm.cli._app import app
from akkm.model_file import load_model


def run(*args, **options):
    """The result of a command: exit_code, stdout, stderr."""
    return CliRunner().invoke(app, [str(arg) for arg in args], **options)


def output_of(*args, **options):
    """The standard output of a command that succeeds without a word of warning."""
    result = run(*args, **options)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def cluster_iris(*options):
    """Cluster iris.csv; the saved model and the table of labels."""
    args = ("--id", "name", "--label", "species", "--quiet")
    files = ("--labels", "out.parquet", "--model", "m.skops")
    output_of("cluster", "iris.csv", "-k", 3, *args, *files, *options)
    return load_model("m.skops"), parquet.read_table("out.parquet")
