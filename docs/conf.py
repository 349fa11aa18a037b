"""Settings of the documentation site (`make docs`)."""

import os
import re
import sys
import warnings
from importlib.metadata import version as version_of
from pathlib import Path

from sklearn.datasets import load_wine
from sphinx_gallery.sorting import ExampleTitleSortKey

import akkm

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples"))  # examples import texts.py

project = "akkm"
author = "The akkm developers"
copyright = "the akkm developers"
release = version_of("akkm")
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "README.md", "results/labels"]
templates_path = ["_templates"]
default_role = "code"
nitpicky = False
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_validation_checks = set()  # tests/test_docstrings.py validates docstrings

html_theme = "pydata_sphinx_theme"
html_title = "akkm"
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "pygments_light_style": "tango",
}
html_sidebars = {"examples/*": [], "index": []}

warnings.filterwarnings("ignore", category=UserWarning, message=".*unsure.*")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class GalleryOrder(ExampleTitleSortKey):
    """Begin with the examples that most readers need; sort the others by title."""

    first = ("moons", "table_report", "layers", "known_classes", "histograms", "width")

    def __call__(self, filename):
        """Return the sort key of a file."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        place = self.first.index(name) if name in self.first else len(self.first)
        return place, super().__call__(filename)


sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "examples",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(texts|write_tables)\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 0,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": GalleryOrder,
}


def escape(app, what, name, obj, options, lines):
    """Escape what reStructuredText takes for markup: |x| and names such as labels_."""
    for i, line in enumerate(lines):
        if ">>>" not in line:
            pattern = r"(``.*?``|`.*?`)|(\||(?<=\w)_(?=[,.)\s\"]|$))"
            lines[i] = re.sub(pattern, lambda m: m[1] or "\\" + m[2], line)


def keep_spreads_together(app, name, source):
    """Keep the number after ± on the line of the ±, so that tables are readable."""
    source[0] = source[0].replace(" ± ", " ±\N{NO-BREAK SPACE}")


def write_report(app, error):
    """Write the sample report, to which the page Getting started links."""
    if error is None and app.builder.name == "html":
        found = akkm.cluster(load_wine(as_frame=True).data)
        found.report(title="Wines").save(Path(app.outdir, "sample-report.html"))


def setup(app):
    """Register the functions above with Sphinx; `escape` runs after numpydoc."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    app.connect("source-read", keep_spreads_together)
    app.connect("build-finished", write_report)
