"""Parts of a report that tests look at, and text that attacks it."""

import json
import re
from html.parser import HTMLParser

# Sections that every estimator has.
ALWAYS = ["summary", "map", "sizes", "features", "certainty", "convergence"]
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror=alert(1)>\"'&"


def section_ids(page):
    return re.findall(r'<section id="(\w+)"', page.html)


def picture_data(page):
    """The numbers that the script draws."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.html
    )
    return json.loads(found[1])


def text_of(page):
    """The page with every run of whitespace as one space."""
    return " ".join(page.html.split())


class Outline(HTMLParser):
    """Levels of headings, opened tags, and whether each was closed in order."""

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
