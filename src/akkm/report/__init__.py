"""The report: one HTML page about a clustering, which opens offline in any browser.

Only the page is made here, from the records of `akkm.inspect`: templates, style, script
and the formatting of numbers. Facts are computed there.
"""

from akkm.report._report import Report, report

__all__ = ["Report", "report"]
