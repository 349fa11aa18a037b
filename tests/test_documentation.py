"""The documentation lists all public names, and its links lead to existing files."""

import importlib
import inspect
import pathlib
import re

import pytest

import akkm

ROOT = pathlib.Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/api/*.md")]
MODULES = ["akkm", "akkm.tables"] + [
    f"akkm.{name}" for name in akkm.__all__ if inspect.ismodule(getattr(akkm, name))
]


def listed_names():
    """Names in the API reference, such as akkm.metrics.nmi."""
    module = ""
    for line in (ROOT / "docs/api/index.md").read_text().splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif line.startswith("```") and module:
            module = ""
        elif re.fullmatch(r"   \w+", line):
            yield f"{module}.{line.strip()}"
        else:
            yield from re.findall(r"`(akkm\.\w+(?:\.\w+)*)`", line)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_page(module):
    listed = set(listed_names())
    names = {f"{module}.{name}" for name in importlib.import_module(module).__all__}
    headings = re.findall(
        r"(?m)^## (akkm\S*)", (ROOT / "docs/api/index.md").read_text()
    )
    assert names <= {*listed, *headings}


def anchors(path):
    """The anchors of the headings of a Markdown page, as GitHub makes them."""
    for title in re.findall(r"(?m)^#+ (.*)", path.read_text()):
        text = re.sub(r"[^\w\- ]", "", title.lower())
        yield text.strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_existing_files_and_sections(page):
    text = re.sub(r"(?s)```.*?```", "", page.read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        if page.parent.name == "docs" and "examples" in path.parts:  # from the gallery
            name = re.sub(r"sphx_glr_(\w+)_\d+\.png$", r"\1.py", path.name)
            path = ROOT / "examples" / name.replace(".rst", ".py")
            path = path.with_name(path.name.replace("index.py", "README.rst"))
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), target


def test_every_page_is_in_a_table_of_contents():
    for page in (ROOT / "docs").glob("*.md"):
        trees = [p.read_text() for p in PAGES if p != page]
        assert page.stem == "index" or any(f"\n{page.stem}\n" in t for t in trees), page


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().split()) <= 700
