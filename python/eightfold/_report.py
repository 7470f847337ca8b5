"""The report of one audited program."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from . import _native

GRAPH_CONVOLUTION = "__cudnn$convForwardGraph"
LEGACY_CONVOLUTIONS = ("__cudnn$convForward", "__cudnn$convBackwardInput", "__cudnn$convBackwardFilter")


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """One line of Python that a kernel comes from."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line} {self.function}".rstrip()


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not run as the program asks, with its cause and what to do."""

    id: str
    """"EF101"; docs/findings/ has a page for each."""
    severity: str
    """"demoted" (FP8 was lost), "any" (something else to know) or "note"."""
    title: str
    cause: str
    fix: str

    @property
    def reason(self) -> str:
        """The id and the cause in a few words: "EF101: another computation was rewritten first"."""
        head, colon, tail = self.title.rpartition(": ")
        return f"{self.id}: {tail if colon else self.cause}"

    def __str__(self) -> str:
        return f"{self.id}  {self.title}"


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Kernel:
    """One convolution, matmul or attention call of the compiled program."""

    computation: str
    instruction: str
    family: str
    """"convolution", "dot" or "attention"."""
    backend: str
    """What executes it: "cudnn-graph", "cudnn-legacy", "triton", "cublaslt" …"""
    custom_call_target: str
    """The library call, e.g. "__cudnn$convForwardGraph"; empty for a dot or a fusion."""
    status: str
    """"as_asked", "demoted", "undecided", "f32_from_bf16", "weight_only", "integer_widened" or "unmatched"."""
    asked_for: tuple[str, str] | None
    """The types of its two operands in the program; None where nobody knows."""
    runs_in: tuple[str, str] | None
    """The types of its two operands in what really runs."""
    operands: tuple[str, ...]
    """Shapes of the two matrices, e.g. "f32[1,6,6,128]"."""
    output: str
    flops: float
    """Of one run, nominal, on one device."""
    bytes: float
    """Read and written by one run."""
    runs: float
    """How often it runs when the program runs once; loops of unknown length count once."""
    op_name: str
    frames: tuple[Frame, ...]
    """Where it was written, innermost first."""
    epilogue: tuple[str, ...]
    """What is fused behind it, in order."""
    finding: Finding | None
    """Why it does not run as asked; None when it does."""

    @property
    def source(self) -> str:
        """Where it was written: "repro.py:29 conv ← repro.py:33 f"."""
        return " ← ".join(map(str, self.frames[:2])) or self.op_name

    @property
    def cause(self) -> str:
        """Why it does not run as asked, in a few words; empty when it does."""
        return self.finding.reason if self.finding else ""

    def __str__(self) -> str:
        text = f"{self.family} of {_types(self.asked_for)} at {self.source}: "
        text += f"runs in {_types(self.runs_in)} ({self.backend}, {self.computation})"
        return f"{text}, {self.cause}" if self.finding else text

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a report. FLOPs are of one run of the program."""

    kernels: int
    custom_calls: dict[str, int]
    """How many calls of each library target there are."""
    dots: dict[str, int]
    """How many dots there are of each pair of operand types: "f8e4m3fn x f8e4m3fn"."""
    flops: float
    flops_by_type: dict[str, float]
    """By what is run: "fp8" or the wider operand's type."""
    demoted_flops: float
    demoted: int
    undecided: int
    f32_from_bf16: int
    weight_only: int
    integer_widened: int
    without_tensor_cores: int
    unmatched: int

    @property
    def graph_convolutions(self) -> int:
        """Convolutions that run as cuDNN graphs, the only ones that run in FP8."""
        return self.custom_calls.get(GRAPH_CONVOLUTION, 0)

    @property
    def legacy_convolutions(self) -> int:
        """Convolutions that run as plain cuDNN calls, never in FP8."""
        return sum(self.custom_calls.get(target, 0) for target in LEGACY_CONVOLUTIONS)


class Share(float):
    """A share of a report's FLOPs, 0 to 1, that remembers the report for the messages of tests."""

    report: Report
    type_class: str

    def __new__(cls, value: float, report: Report, type_class: str) -> Share:
        share = super().__new__(cls, value)
        share.report, share.type_class = report, type_class
        return share


class Report:
    """What an audited program really runs. `print()` writes it out in full."""

    def __init__(self, native: _native.Report) -> None:
        self._native = native
        self._json: str = native.json()
        self._data: dict[str, Any] = json.loads(self._json)

    @functools.cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong, worst first."""
        return tuple(Finding(*(found[name] for name in ("id", "severity", "title", "cause", "fix")))
                     for found in self._data["findings"])

    @functools.cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Every convolution, matmul and attention call, in program order."""
        finding_of = {index: finding for data, finding in zip(self._data["findings"], self.findings)
                      for index in data["kernels"]}
        return tuple(_kernel(data, finding_of.get(index))
                     for index, data in enumerate(self._data["kernels"]))

    @property
    def demoted(self) -> tuple[Kernel, ...]:
        """The kernels that asked for FP8 and run in something wider."""
        return tuple(kernel for kernel in self.kernels if kernel.status == "demoted")

    @functools.cached_property
    def totals(self) -> Totals:
        """Counts and FLOPs over all kernels."""
        return Totals(**{field.name: self._data["totals"][field.name]
                         for field in dataclasses.fields(Totals)})

    def share(self, type_class: str) -> Share:
        """The share of the matrix FLOPs, 0 to 1, that runs in `type_class`: "f8", "bf16", "f32" …

        "f8" and "fp8" are any 8-bit floats on both sides; another name is that of the wider operand. 1.0
        when there is no matrix work at all: then nothing was lost.
        """
        name = "fp8" if type_class.lower() in ("f8", "fp8") else type_class
        totals = self.totals
        value = totals.flops_by_type.get(name, 0.0) / totals.flops if totals.flops > 0 else 1.0
        return Share(value, self, name)

    @property
    def headline(self) -> str:
        """The answer in a sentence for each kind of matrix work, and where FP8 was lost."""
        lines = self._native.headlines()
        if not lines:
            return "no matrix work: no convolution, matmul or attention call runs"
        places = sorted({kernel.computation for kernel in self.demoted})
        where = f" ({', '.join(places[:3])}{' …' if len(places) > 3 else ''})" if places else ""
        return "\n".join(lines) + where

    def text(self, *, color: bool = False, width: int = 110, top: int = 3) -> str:
        """The report for people, `width` columns wide, with `top` groups of kernels for each finding."""
        return self._native.table(color, width, top)

    def print(self, file: TextIO | None = None, *, top: int = 3) -> None:
        """Writes the report for people to `file` (standard output), in colour on a terminal."""
        out = sys.stdout if file is None else file
        terminal = out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        width = max(60, shutil.get_terminal_size((110, 24)).columns) if out.isatty() else 110
        out.write(self.text(color=terminal, width=width, top=top))

    def to_json(self) -> str:
        """The report as JSON; docs/audit-schema.json describes it."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """The report as what `to_json` says, parsed."""
        return json.loads(self._json)

    def __repr__(self) -> str:
        return self.headline

    def _repr_html_(self) -> str:
        from ._html import to_html
        return to_html(self)


def _types(types: tuple[str, str] | None) -> str:
    if types is None:
        return "?"
    return types[0] if types[0] == types[1] else "×".join(types)


def _kernel(data: dict[str, Any], finding: Finding | None) -> Kernel:
    def pair(types: list[str] | None) -> tuple[str, str] | None:
        return (types[0], types[1]) if types else None

    return Kernel(
        **{name: data[name] for name in ("computation", "instruction", "family", "backend",
                                         "custom_call_target", "status", "output", "flops",
                                         "bytes", "op_name")},
        asked_for=pair(data["asked_for"]), runs_in=pair(data["runs_in"]),
        operands=tuple(data["operands"]), runs=data["runs"]["count"],
        frames=tuple(Frame(f["file"], f["line"], f["function"]) for f in data["frames"]),
        epilogue=tuple(data["epilogue"]), finding=finding)
