"""What pytest loads by itself: readable messages for failed assertions about reports."""

from __future__ import annotations

import sys


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """For `report.share("f8") > .95`: what does not run as asked, and why."""
    # Without a report there is nothing to say, nor a reason to load what makes one.
    if "eightfold._report" not in sys.modules:
        return None
    from ._check import explain_comparison
    return explain_comparison(op, left, right)
