"""The entry point that JAX calls, with all its plugins, before it makes its backends.

`EIGHTFOLD` in the environment says what to do; without it nothing more is imported.
"""

import os


def initialize() -> None:
    """Called by JAX once in a process. Never raises, and costs nothing without the variable."""
    wanted = os.environ.get("EIGHTFOLD", "")
    if wanted:
        from ._environment import start
        start(wanted)
