"""Extract parts of a report for tests, and define a hostile text."""

import json
import re
from html.parser import HTMLParser

# Sections that every estimator has.
ALWAYS = [
    "clusters", "compare", "map", "sizes", "features", "certainty", "summary",
    "convergence",
]  # fmt: skip
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror=alert(1)>\"'&"


def section_ids(page):
    return re.findall(r'<section id="(\w+)"', page.html)


def picture_data(page):
    """Return the JSON data from which the script draws the pictures."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.html
    )
    return json.loads(found[1])


def text_of(page):
    """Return the page with each run of whitespace replaced by one space."""
    return " ".join(page.html.split())


class Outline(HTMLParser):
    """Heading levels and tags of a page; fail if tags are not properly nested."""

    def __init__(self, html):
        super().__init__()
        self.levels, self.open, self.tags = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)
        if re.fullmatch(r"h\d", tag):
            self.levels.append(int(tag[1]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
