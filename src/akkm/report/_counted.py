"""A section of the page: how many clusters, where a model has counted them."""

from __future__ import annotations

from akkm.diffusion.estimate_k import CONFIDENT_GAP
from akkm.inspect._facts import Facts
from akkm.report._data import shown_numbers
from akkm.report._html import details, join, table, tag
from akkm.report._sections import Section, picture


def counted(facts: Facts) -> Section | None:
    """What speaks for each number: the one that was taken, and the second best."""
    evidence = facts.evidence
    if evidence is None:
        return None
    sure = "Sure" if evidence.sure else "Unsure"
    text = f"{sure} of {evidence.n_clusters} clusters: {evidence.why}."
    if evidence.second is not None:
        text += f" Next best are {evidence.second}."
    if facts.model.n_clusters != "auto":
        text = f"{facts.model.n_clusters} were asked for. Counting says: {text}"
    shown = shown_numbers(facts)
    columns = (evidence.numbers[shown], evidence.gaps[shown], evidence.times[shown])
    rows = [
        (f"{k}", f"{gap:.3f}", f"{t:,.1f}") for k, gap, t in zip(*columns, strict=True)
    ]
    content = join(
        [
            tag("p", text),
            tag(
                "p",
                "Walks from row to near row stay within clusters for long. A gap of 1 "
                "after a number says that after walks of some length the rows of that "
                "many clusters have not mixed at all, and within each have mixed "
                "completely. Rows without clusters have gaps of up to 0.5; from the "
                f"dotted line ({CONFIDENT_GAP}) on a gap is relied on.",
            ),
            picture("counted-picture", f"Bars: the gap after each number. {text}"),
            details(
                "Gaps as a table",
                table("Gaps", ["clusters", "gap", "steps of the walk"], rows),
                again=True,
            ),
        ]
    )
    return Section("counted", "How many clusters", content)
