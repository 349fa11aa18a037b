"""`akkm info`: what a model file holds."""

from __future__ import annotations

import click

from akkm.cli import _work
from akkm.cli._cluster import setting_facts
from akkm.cli._console import Voice, seconds

_EXAMPLES = """\b
Example:
  akkm info flowers.skops
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL")
def info(model: str) -> None:
    """Say what MODEL was made of, how, and what it expects."""
    from akkm.model_file import load_model

    saved = load_model(model)
    about, encoder = saved.about, saved.encoder
    voice = Voice()
    facts = [("model", f"{model}, by akkm {about.get('akkm', '?')}")]
    if "command" in about:
        facts.append(("command", about["command"]))
    if "date" in about:
        facts.append(("date", about["date"]))
    if "rows" in about:
        facts.append(("data", f"{about['data']}: {about['rows']:,} rows"))
    facts += setting_facts(about["settings"]) if "settings" in about else []
    if "seconds" in about:
        facts.append(("time", seconds(about["seconds"])))
    if "scores" in about:
        facts.append(("scores", _work.score_text(about["scores"])))
    described = encoder.describe() if saved.of_table else ["a folder of images"]
    facts += _work.listed("columns", described)
    facts += _work.listed("notes", about.get("notes", ()))
    voice.facts(facts)
    if "sizes" in about:
        voice.say()
        _work.say_sizes(voice, about["sizes"])
