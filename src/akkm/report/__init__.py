"""Reports: HTML pages that describe one clustering or compare two clusterings.

The package contains the templates, style and script of the page, and the formatting of
numbers. The facts are computed in `akkm.inspect`.
"""

from akkm.report._changes import report_changes
from akkm.report._report import Report, report

__all__ = ["Report", "report", "report_changes"]
