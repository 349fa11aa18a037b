"""Model cards: a page of Markdown that says what a model is and how it was made."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skops.card import Card

_USE = """```python
import akkm

model = akkm.load_model("{name}")
rows = model.encoder.transform({data})
labels = model.estimator.predict(rows)
```

On the command line: `akkm predict {name} NEW --labels labels.csv`"""

_LIMITS = (
    "Clusters are groups of similar rows. Nobody has checked them, and their numbers "
    "have no order. Every new row gets a cluster, even if it resembles no row of the "
    "training data, unless the model was fitted with `coverage`."
)


def model_card(model: Any, name: str = "model.skops") -> "Card":
    """Describe a saved model as a model card of skops.

    Parameters
    ----------
    model : SavedModel
        The model.
    name : str, default="model.skops"
        The name of its file, for the example.

    Returns
    -------
    skops.card.Card
        The card. Its `save` writes Markdown.
    """
    from skops.card import Card

    about = {key: value for key, value in model.about.items() if value is not None}
    data = "new_frame" if model.of_table else "new_files"
    kind = type(model.estimator).__name__
    lines = [
        f"* {word}: {about[key]}"
        for key, word in {
            "data": "Data",
            "rows": "Rows",
            "date": "Date",
            "command": "Command",
            "akkm": "Version of akkm",
        }.items()
        if key in about
    ]
    lines += [f"* {text}" for text in about.get("notes", ())]
    card = Card(model.estimator, model_diagram=False, template=None)
    card.add(
        **{
            f"Clusters by {kind}": f"A clustering of rows by akkm's `{kind}`.",
            "How to use it": _USE.format(name=name, data=data),
            "Limitations": _LIMITS,
            "Training data": "\n".join(lines) or "Not recorded.",
        }
    )
    if model.of_table:
        columns = [f"* {text}" for text in model.encoder.describe()]
        card.add(**{"Training data/Columns": "\n".join(columns)})
    sizes = list(about.get("sizes", ()))
    if sizes:
        share = [f"{size / max(sum(sizes), 1):.1%}" for size in sizes]
        table = {"cluster": list(range(len(sizes))), "rows": sizes, "share": share}
        card.add_table(**{"Clusters": table})
    if about.get("scores"):
        text = "Agreement with known classes, which were not used for clustering."
        card.add_metrics("Scores", text, **about["scores"])
    card.add_hyperparams("Settings")
    return card
