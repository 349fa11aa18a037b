"""`akkm info`: the content of a model file."""

import click

from akkm.cli import _work
from akkm.cli._console import Printer, seconds

_EXAMPLES = """\b
Example:
  akkm info flowers.skops
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL")
def info(model: str) -> None:
    """Show how MODEL was made and which columns it expects."""
    from akkm.model_file import load_model

    saved = load_model(model)
    about = saved.about
    facts = [("model", f"{model}, by akkm {about.get('akkm', '?')}")]
    facts += [(name, about[name]) for name in ("command", "date") if name in about]
    if "rows" in about:
        facts.append(("data", f"{about['data']}: {about['rows']:,} rows"))
    facts += about.get("settings", {}).items()
    if "seconds" in about:
        facts.append(("time", seconds(about["seconds"])))
    if "scores" in about:
        facts.append(("scores", _work.score_text(about["scores"])))
    columns = saved.encoder.describe() if saved.of_table else ["a folder of images"]
    facts += _work.listed("columns", columns)
    facts += _work.listed("notes", about.get("notes", ()))
    printer = Printer()
    printer.facts(facts)
    if "sizes" in about:
        printer.say()
        _work.say_sizes(printer, about["sizes"])
