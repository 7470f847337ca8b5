"""The `eightfold` command of an installed wheel: hands over to the program inside the package."""

import os
import pathlib
import sys


def main() -> None:
    """Replaces this process by the program; does not return."""
    program = pathlib.Path(__file__).absolute().parent / "bin" / "eightfold"
    os.execv(program, ["eightfold", *sys.argv[1:]])
