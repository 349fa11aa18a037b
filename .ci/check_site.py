"""Check the built site: internal links work, and nothing is loaded from outside.

python .ci/check_site.py docs/_build/html
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that a browser loads without a click.
_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}


class Page(HTMLParser):
    """Collects the ids, the links and the loaded files of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        """Collect the attributes of one tag."""
        attrs = dict(attrs)
        self.ids.update(attrs[key] for key in ("id", "name") if attrs.get(key))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        loads = tag != "link" or attrs.get("rel") in ("stylesheet", "preload", "icon")
        if tag in _LOADED and loads and attrs.get(_LOADED[tag]):
            self.loaded.append(attrs[_LOADED[tag]])


def problems(root):
    """Yield a sentence about each broken link and each external file."""
    paths = [path for path in root.rglob("*.html") if "_static" not in path.parts]
    pages = {path.resolve(): Page(path) for path in paths}
    assert len(pages) > 100, f"only {len(pages)} pages"
    for path, page in pages.items():
        name = path.relative_to(root)
        for url in page.loaded + page.links:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                if url in page.loaded and parts.scheme != "data":
                    yield f"{name} loads {url} from the network."
                continue
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            fragment = unquote(parts.fragment)
            if not target.exists():
                yield f"{name} links to {url}, which does not exist."
            elif fragment and target in pages and fragment not in pages[target].ids:
                yield f"{name} links to {url}, but the page has no such section."


def main():
    """Check the site in the folder that is named on the command line."""
    found = sorted(problems(Path(sys.argv[1]).resolve()))
    print(*found, sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
