"""The report: one HTML page about a clustering, which opens offline in any browser.

The package contains the templates, style and script of the page, and the formatting of
numbers. The facts are computed in `akkm.inspect`.
"""

from akkm.report._report import Report, report

__all__ = ["Report", "report"]
