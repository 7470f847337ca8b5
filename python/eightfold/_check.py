"""check(): an audit for tests, and what pytest says when an assertion about one fails."""

from __future__ import annotations

import collections
import os
from collections.abc import Sequence
from typing import Any

from ._audit import Fix, audit
from ._report import Kernel, Report, Share, _types


def check(program: Any, args: Sequence[Any] = (), *, target: str | os.PathLike[str] | None = None,
          plugin: str | os.PathLike[str] | None = None, partitions: int | None = None, fix: Fix = False) -> Report:
    """`audit(program, *args, …)` for tests: the same report, to make assertions about.

        def test_runs_in_fp8():
            fp8 = eightfold.check(network, (params, x), target="rtx5070")
            assert fp8.share("f8") > .95
            assert not fp8.demoted

    When one fails, pytest shows what was asked for and what runs, kernel by kernel.

    Raises: what `audit` does.
    """
    return audit(program, *args, target=target, plugin=plugin, partitions=partitions, fix=fix)


def explain(report: Report) -> list[str]:
    """What runs differently from what the program asks for, as the lines of a diff, largest work first."""
    total = report.totals.flops or 1.0
    groups: dict[tuple[object, ...], list[Kernel]] = collections.defaultdict(list)
    for kernel in report.kernels:
        if kernel.finding is not None:
            groups[(kernel.source, kernel.asked_for, kernel.runs_in, kernel.backend, kernel.operands,
                    kernel.computation, kernel.cause)].append(kernel)

    def work(group: list[Kernel]) -> float:
        return sum(kernel.flops * kernel.runs for kernel in group)

    lines = report.headline.splitlines()
    for group in sorted(groups.values(), key=work, reverse=True):
        kernel = group[0]
        count = f"{len(group)} × " if len(group) > 1 else ""
        lines += [
            f"  {count}{kernel.family} at {kernel.source} (in {kernel.computation}, {work(group) / total:.1%} "
            "of the work)",
            f"-   asked for {_types(kernel.asked_for)}",
            f"+   runs in   {_types(kernel.runs_in)} ({kernel.backend})",
            f"    {kernel.cause}",
        ]
    return lines


def explain_comparison(op: str, left: object, right: object) -> list[str] | None:
    """The lines for a failed comparison with a report's share in it; None for any other."""
    for value, other, sides in ((left, right, "{0} {1} {2}"), (right, left, "{2} {1} {0}")):
        if isinstance(value, Share) and isinstance(other, (int, float)):
            compared = sides.format(f"{value:.1%}", op, f"{other:.1%}")
            name = "FP8" if value.type_class == "fp8" else value.type_class
            return [f"{compared} of the matrix work in {name}", *explain(value.report)]
    return None
