"""Reports: HTML pages that describe one clustering or compare two clusterings.

The package contains the templates, style and script of the page, and the formatting of
numbers. The facts are computed in `akkm.inspect`: `inspect._profiles` decides which
columns matter for a cluster.
"""

from typing import TYPE_CHECKING, Any

from akkm.report._report import Report, report

if TYPE_CHECKING:
    from akkm.report._changes import report_changes

__all__ = ["Report", "report", "report_changes"]


def __getattr__(name: str) -> Any:
    """Import `report_changes` when it is first used, because it needs NumPy."""
    if name == "report_changes":
        from akkm.report._changes import report_changes

        return report_changes
    raise AttributeError(f"module 'akkm.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names, including those not yet imported."""
    return __all__
