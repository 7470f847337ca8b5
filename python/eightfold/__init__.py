"""Eightfold: which low-precision work a compiled JAX program really runs, why not, and the repair.

    >>> import eightfold
    >>> report = eightfold.audit(jax.jit(f), x, w, target="rtx5070")
    >>> report.demoted[0].source, report.demoted[0].cause

`audit` compiles for a GPU that need not be there and counts; `check` does the same for tests.
`install`, `uninstall` and `installed` put the repair into this process's CUDA compiler.

Importing the package loads neither JAX nor the compiled part; what is used is loaded when it is.
"""

import importlib
from typing import TYPE_CHECKING

from ._errors import CompilerError, EightfoldError, InputError

if TYPE_CHECKING:
    from ._audit import audit
    from ._check import check
    from ._install import Installation, installation, installed, install, uninstall
    from ._report import Finding, Frame, Kernel, Report, Totals

__all__ = [
    "CompilerError", "EightfoldError", "Finding", "Frame", "InputError", "Installation", "Kernel",
    "Report", "Totals", "audit", "check", "install", "installation", "installed", "uninstall",
]

_HOMES = {
    "audit": "_audit", "check": "_check",
    "Installation": "_install", "installation": "_install", "installed": "_install",
    "install": "_install", "uninstall": "_install",
    "Finding": "_report", "Frame": "_report", "Kernel": "_report", "Report": "_report",
    "Totals": "_report",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from ._native import version
        return version
    if name not in _HOMES:
        raise AttributeError(f"module 'eightfold' has no attribute {name!r}")
    return getattr(importlib.import_module("." + _HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
