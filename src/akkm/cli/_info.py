"""`akkm info`: the content of a model file."""

import os

import click

from akkm.cli import _work
from akkm.cli._console import Printer, seconds
from akkm.cli._outputs import open_outputs
from akkm.cli._run import Run
from akkm.model_file import load_model

_EXAMPLES = """\b
Examples:
  akkm info flowers.skops
  akkm info flowers.skops --card flowers.md
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL")
@click.option("--card", metavar="FILE", help="Write a model card: .md.")
@click.pass_obj
def info(run: Run, model: str, card: str | None) -> None:
    """Show how MODEL was made and which columns it expects."""
    with open_outputs({"--card": card}, {"MODEL": model}, run.written) as outputs:
        saved = load_model(model)
        if "--card" in outputs:
            text = saved.card(os.path.basename(model)).render()
            outputs["--card"].file.write(text.encode())
    about = {name: value for name, value in saved.about.items() if value is not None}
    data = about.get("data", "unknown data")
    columns = saved.encoder.describe() if saved.of_table else "a folder of images"
    facts = {
        "model": f"{model}, written by akkm {about.get('akkm', '?')}",
        "command": about.get("command", ()),
        "date": about.get("date", ()),
        "data": f"{data}: {about['rows']:,} rows" if "rows" in about else (),
        **{name: str(text) for name, text in about.get("settings", {}).items()},
        "time": seconds(about["seconds"]) if "seconds" in about else (),
        "scores": _work.score_lines(about.get("scores")),
        "columns": columns,
        "notes": [*about.get("doubts", ()), *about.get("notes", ())],
        "written": run.written,
    }
    _work.print_clusters(Printer(), facts, about.get("sizes", ()))
