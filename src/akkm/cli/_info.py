"""`akkm info`: the content of a model file."""

import click

from akkm.cli import _work
from akkm.cli._console import Printer, seconds
from akkm.model_file import load_model

_EXAMPLES = """\b
Example:
  akkm info flowers.skops
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL")
def info(model: str) -> None:
    """Show how MODEL was made and which columns it expects."""
    saved = load_model(model)
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
        "notes": about.get("notes", ()),
    }
    _work.print_clusters(Printer(), facts, about.get("sizes", ()))
