"""A report as a small table for notebooks."""

from __future__ import annotations

import collections
import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._report import Kernel, Report

# The colour of a type is the same in every format: FP8 is what one wants, f32 what one pays for.
_COLORS = {"f8": "#2e7d32", "bf16": "#1565c0", "f16": "#1565c0", "f32": "#c62828", "f64": "#c62828"}


def _color(types: tuple[str, str] | None) -> str:
    if types is None:
        return "inherit"
    if all(name.startswith("f8") for name in types):
        return _COLORS["f8"]
    wider = next((name for name in types if not name.startswith("f8")), types[0])
    return _COLORS.get(wider, "inherit")


def _row(kernel: Kernel, count: int, total: float) -> str:
    work = kernel.flops * kernel.runs * count
    asked = " × ".join(kernel.asked_for) if kernel.asked_for else "?"
    runs = " × ".join(kernel.runs_in) if kernel.runs_in else "?"
    cells = (kernel.computation, f"{kernel.runs:g}", f"{count} {kernel.family}{'s' if count > 1 else ''}",
             asked, None, f"{100 * work / total:.1f} %" if total else "–", kernel.source, kernel.cause)
    painted = f'<td style="color:{_color(kernel.runs_in)}">{html.escape(runs)}</td>'
    return "<tr>" + "".join(
        painted if cell is None else f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def to_html(report: Report) -> str:
    """The headline, and one row for kernels that look the same and come from the same line."""
    groups: dict[tuple[object, ...], list[Kernel]] = collections.defaultdict(list)
    for kernel in report.kernels:
        groups[(kernel.computation, kernel.asked_for, kernel.runs_in, kernel.frames[:1],
                kernel.operands, kernel.finding)].append(kernel)
    head = "".join(f"<th>{name}</th>" for name in (
        "computation", "runs", "kernels", "asked for", "runs in", "work", "source", "why"))
    rows = "".join(_row(group[0], len(group), report.totals.flops) for group in groups.values())
    return (f"<p><b>{html.escape(report.headline)}</b></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
