"""Draw docs/report.png: the beginning of the sample report, in Chromium.

make docs && .venv/bin/python .ci/draw_report.py docs/_build/html/sample-report.html
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "report.png"


def main():
    """Draw the report that is named on the command line."""
    address = Path(sys.argv[1]).resolve().as_uri()
    with sync_playwright() as play:
        chromium = shutil.which("chromium")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 860})
        page.goto(address)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
