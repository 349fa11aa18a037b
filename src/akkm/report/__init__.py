"""The report: one page about a clustering, to open in a browser, offline."""

from akkm.report._report import Report, report

__all__ = ["Report", "report"]
