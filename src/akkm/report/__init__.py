"""The report: one HTML page about a clustering, which opens offline in any browser.

The package contains the templates, style and script of the page, and the formatting of
numbers. The facts come from `akkm.inspect`; nothing is computed here.
"""

from akkm.report._report import Report, report

__all__ = ["Report", "report"]
