"""EIGHTFOLD=fix, audit or audit:FOLDER: what a program gets without a change to its code."""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import _native

_USAGE = "it can be fix, fix=all, audit, audit:FOLDER, or a fix and an audit with a comma between"


def start(wanted: str) -> None:
    """Does what the variable's value asks for, as soon as JAX has its CUDA plugin. Never raises."""
    try:
        fix, audit = _parse(wanted)
        # The audit first: it is to see what the program asks for, not what a fix made of it.
        if audit is not None:
            _start_audit(audit)
        if fix is not None:
            from ._install import start_fix
            start_fix("", fix, _say, _say)
    except Exception as error:  # whatever it is, the user's program goes on
        _say(f"EIGHTFOLD={wanted} does nothing: {error}")


def _say(message: str) -> None:
    print(f"eightfold: {message}", file=sys.stderr, flush=True)


def _parse(wanted: str) -> tuple[str | None, str | None]:
    """(extent of the fix, folder of the audit), each None where it is not asked for."""
    fix = audit = None
    rest = wanted
    while rest:
        word, _, after = rest.partition(",")
        if rest.startswith("audit:"):  # a folder's name may hold a comma
            audit, after = os.path.abspath(rest.removeprefix("audit:")), ""
        elif word == "audit":
            audit = ""
        elif word in ("fix", "fix=planned", "fix=all"):
            fix = "all" if word == "fix=all" else "planned"
        else:
            raise ValueError(_USAGE)
        rest = after
    return fix, audit


def _start_audit(folder: str) -> None:
    from ._install import Passes, listen

    def register(library: str) -> _native.Hooks | None:
        from . import _cache, _native
        from jax._src import distributed

        if distributed.global_state.process_id:
            return None
        _cache.warn_of_hits(_say)
        return _native.audit_hooks(library, _native.gpu(""), folder)

    passes = Passes("the audit", register, _say)
    atexit.register(passes.close)
    listen()
    passes.start()
