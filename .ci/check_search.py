"""Ask the built site's search some questions in Chromium.

    python .ci/check_search.py docs/_build/html

One of the expected pages has to be among the first ten results of each question. The
site is opened from files and from a local server. Failed requests, and warnings and
errors on the browser's console, are errors. The main pages must not be wider than the
window of a phone or of a desktop. Without Chromium, nothing is checked.
"""

import shutil
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import sync_playwright

# Each question with the pages that answer it.
QUESTIONS = {
    "how many landmarks": ["theory", "faq"],
    "n_clusters unknown": ["choosing-k", "faq"],
    "out of memory": ["large", "faq"],
    "predict new rows": ["faq", "getting-started"],
    "choose k": ["choosing-k"],
    "which kernel for histograms": ["kernel-width", "examples/plot_histograms", "faq"],
    "larger than memory": ["large", "examples/plot_parquet"],
    "must link": ["semi-supervised"],
    "save a model": ["examples/plot_save_model", "faq"],
    "missing values": ["command-line", "faq"],
    "cluster a csv file": ["getting-started"],
    "50 GB of parquet": ["large", "index"],
    "label ten rows": ["semi-supervised"],
    "explain a cluster": ["reports", "faq"],
}
PAGES = [
    "index",
    "guide",
    "getting-started",
    "which-method",
    "choosing-k",
    "kernel-width",
    "large",
    "command-line",
    "semi-supervised",
    "reports",
    "benchmarks",
    "results/README",
    "faq",
    "examples/index",
    "examples/plot_moons",
    "api/index",
    "api/generated/akkm.ApproxKernelKMeans",
    "api/generated/akkm.NystroemSpectralClustering",
]
WIDTHS = (390, 1440)
# The right edge of the text, except text inside a box that scrolls.
RIGHT_EDGE = """() => {
    const scrolls = box => ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
    const edge = box => {
        const right = box.getBoundingClientRect().right;
        return scrolls(box) ? right : Math.max(right, ...[...box.children].map(edge));
    };
    const width = document.documentElement.scrollWidth;
    return Math.max(width, Math.floor(edge(document.querySelector(".bd-article"))));
}"""
RESULTS = "#search-results ul.search li > a"


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not print its requests."""

    def log_message(self, *_):
        """Print nothing."""


@contextmanager
def served(folder):
    """Serve a folder on a free port of this machine, and give its address."""
    handler = partial(Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def opened(browser, width, found):
    """Open an empty page that adds warnings, errors and failed requests to `found`."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(300_000)  # milliseconds; the machine may be busy

    def on_message(message):
        if message.type in ("warning", "error"):
            found.append(f"{page.url}: console: {message.text}")

    def on_failure(request):
        # The browser gives up loading the icon if the next page is opened soon.
        if request.failure != "net::ERR_ABORTED":
            found.append(f"{page.url}: {request.url}: {request.failure}")

    page.on("console", on_message)
    page.on("pageerror", lambda error: found.append(f"{page.url}: {error}"))
    page.on("requestfailed", on_failure)
    return page


def results(page, root, question):
    """Names of the first ten results, such as faq#why-is-my-fit-slow."""
    page.goto(f"{root}/search.html?q={question.replace(' ', '+')}")
    page.get_by_text("Search finished").or_(
        page.get_by_text("did not match")
    ).wait_for()
    page.wait_for_load_state("networkidle")
    links = page.locator(RESULTS).evaluate_all("links => links.map(link => link.href)")
    return [link.removeprefix(f"{root}/").replace(".html", "") for link in links[:10]]


def unanswered(page, root):
    """Yield a sentence about each question whose answer is not found."""
    for question, expected in QUESTIONS.items():
        links = results(page, root, question)
        if not any(link.startswith(name) for link in links for name in expected):
            yield f"{root}: {question!r} does not lead to {expected}, but to {links}."


def too_wide(page, root):
    """Yield a sentence about each main page that is wider than the window."""
    for name in PAGES:
        page.goto(f"{root}/{name}.html")
        width = page.evaluate(RIGHT_EDGE)
        if width > page.viewport_size["width"]:
            yield f"{root}/{name}.html is {width:.0f} pixels wide."


def main():
    """Check the site in the folder that is named on the command line."""
    folder = Path(sys.argv[1]).resolve()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Chromium is not installed: the search was not checked.")
        return
    found = []
    with sync_playwright() as play, served(folder) as address:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for root in (folder.as_uri(), address):
            for width in WIDTHS:
                page = opened(browser, width, found)
                found += too_wide(page, root)
            found += unanswered(page, root)
        browser.close()
    print(*found, sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
