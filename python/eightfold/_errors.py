"""What goes wrong, as exceptions. Messages say what, where and what to do next."""


class EightfoldError(Exception):
    """Any error of Eightfold's."""


class InputError(EightfoldError, ValueError):
    """The program, the target or an option does not make sense."""


class CompilerError(EightfoldError, RuntimeError):
    """The compiler refused the program, crashed, passed a limit or is not there."""
