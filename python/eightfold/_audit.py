"""audit(): one program, compiled for a GPU that need not be there, to a report."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import importlib.util
import os
import pathlib
import shlex
import threading
import warnings
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from ._errors import InputError
from ._report import Report

T = TypeVar("T")
Fix = bool | Literal["planned", "all"]

MOST_PARTITIONS = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """What is handed to the C++ side: bytes of any format that `eightfold audit` reads, or a path."""

    name: str
    content: bytes | None
    path: str = ""
    partitions: int = 0
    """Devices it is partitioned over; 0: what the program says."""


def audit(program: Any, *args: Any, target: str | os.PathLike[str] | None = None,
          plugin: str | os.PathLike[str] | None = None, partitions: int | None = None, fix: Fix = False,
          **kwargs: Any) -> Report:
    """What `program` really runs when it is compiled for `target`, and why not what it asks for.

    No GPU is needed: the program is lowered for CUDA and compiled by a stock plugin in a process of its
    own.

    Args:
      program: a function (jitted or not), called with `args` and `kwargs`, which may be arrays or
        `jax.ShapeDtypeStruct`s; or, without `args`, what JAX makes of one: traced, lowered, or compiled
        for CUDA; or StableHLO or HLO as text, bytes or an MLIR module; or the path of such a file.
      target: the GPU: a name that `eightfold targets` lists ("rtx5070", "h100" …) or the path of a
        target config. Default: EIGHTFOLD_TARGET, or `target` in eightfold.toml.
      plugin: the compiler: a version of jax-cuda12-pjrt ("0.10.2"; "cuda13-0.10.2" for the other) or
        the path of a plugin library. Default: EIGHTFOLD_PLUGIN, or `plugin` in eightfold.toml, or the
        one that is installed beside JAX, or the newest in the cache.
      partitions: devices that the program is partitioned over, where it does not say so itself: an HLO
        proto or StableHLO bytecode with shardings.
      fix: True ("planned") puts back the FP8 convolutions that XLA loses, as `install` does; "all" also
        those that cuDNN may have no plan for.

    Raises:
      InputError: the program, target or plugin does not make sense.
      CompilerError: the compiler refused the program, crashed or passed a limit.
    """
    from . import _native

    if fix not in (False, True, "planned", "all"):
        raise InputError(f"fix is {fix!r}; it can be False, True, 'planned' or 'all'")
    if partitions is not None and not (isinstance(partitions, int) and 1 <= partitions <= MOST_PARTITIONS):
        raise InputError(f"partitions is {partitions!r}; it can be a number of devices, 1 to {MOST_PARTITIONS}")
    lowered = _program(program, args, kwargs)
    return Report(_interruptible(lambda: _native.audit(
        name=lowered.name, content=lowered.content, path=lowered.path,
        target=_path(target or ""), plugin=_path(plugin or ""),
        otherwise_plugin=installed_plugin() or "", partitions=partitions or lowered.partitions,
        fix={False: "", True: "planned"}.get(fix, fix))))


def _interruptible(call: Callable[[], T]) -> T:
    """What `call` returns or raises. Ctrl-C is heard meanwhile, and leaves the call to end by itself.

    Waits in short pieces: a signal that another thread receives, or that comes just before a wait begins, is
    handled only when this thread wakes up.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="eightfold", daemon=True).start()
    while not future.done():
        concurrent.futures.wait([future], timeout=0.1)
    return future.result()


def _path(path: str | os.PathLike[str]) -> str:
    decoded = os.fsdecode(path)
    _utf8(decoded, repr(decoded))
    return decoded


def _utf8(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} is no text: {error.reason}") from None


def installed_plugin() -> str | None:
    """The path of the CUDA plugin that JAX would load in this environment; None when there is none."""
    for package in ("jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13"):
        try:
            spec = importlib.util.find_spec(package)
        except ImportError:
            continue
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            library = pathlib.Path(folder) / "xla_cuda_plugin.so"
            if library.is_file():
                return str(library)
    return None


def _program(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
    """Any of the things that audit() takes, as bytes."""
    read = _read(program)
    if read is not None:
        if args or kwargs:
            raise InputError(f"{read.name} is a program already and takes no arguments")
        return read
    if not callable(program):
        raise InputError(
            f"cannot audit a {type(program).__name__}: a function, something that JAX lowered or compiled, "
            "StableHLO, HLO or a path is wanted")
    import jax
    from jax.extend import source_info_util

    source_info_util.register_exclusion(__file__)  # no line of the user's program comes from here
    jitted = program if hasattr(program, "trace") else jax.jit(program)
    return _from_lowered(_lower(jitted.trace(*args, **kwargs)))


def _read(program: Any) -> Program | None:
    """A program that needs no arguments any more; None for a function."""
    if isinstance(program, (bytes, bytearray, memoryview)):
        return Program("program", bytes(program))
    if isinstance(program, os.PathLike) or (isinstance(program, str) and "\n" not in program):
        path = _path(program)
        if os.path.isdir(path):
            raise InputError(f"{path} is a directory, and audit() takes one program\n"
                             "  hand over one of the modules in it, *after_optimizations.txt or .hlo.pb, or have\n"
                             f"  all of them audited, each against its program before: eightfold audit {shlex.quote(path)}")
        return Program(path, None, path)
    if isinstance(program, str):
        return Program("program", _utf8(program, "program"))
    if hasattr(program, "operation") and hasattr(program, "body"):
        return Program("program", _with_locations(program).encode())
    if hasattr(program, "runtime_executable"):
        return _from_compiled(program)
    if hasattr(program, "compiler_ir"):
        return _from_lowered(program)
    if hasattr(program, "jaxpr") and hasattr(program, "lower"):
        return _from_lowered(_lower(program))
    return None


def _lower(traced: Any) -> Any:
    return traced.lower(lowering_platforms=("cuda",))


def _with_locations(module: Any) -> str:
    return module.operation.get_asm(enable_debug_info=True)


def _from_lowered(lowered: Any) -> Program:
    """HLO where one device runs it, for every plugin reads that; StableHLO, with its shardings, otherwise."""
    module = lowered.compiler_ir("stablehlo")
    attributes = module.operation.attributes
    name = str(attributes["sym_name"]).strip('"@') if "sym_name" in attributes else "program"
    platforms = _platforms(lowered)
    if platforms and "cuda" not in platforms:
        warnings.warn(f"{name} was lowered for {', '.join(platforms)}: rules that JAX has for CUDA only did "
                      "not apply; hand over the function, or lower with lowering_platforms=('cuda',)",
                      stacklevel=5)
    partitions = 1
    if "mhlo.num_partitions" in attributes:
        partitions = int(attributes["mhlo.num_partitions"].value)
    if partitions == 1:
        try:
            return Program(name, lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
        except Exception:  # what JAX cannot convert here, the plugin may be able to
            pass
    return Program(name, _with_locations(module).encode(), partitions=partitions)


def _platforms(lowered: Any) -> tuple[str, ...]:
    return tuple(getattr(getattr(lowered, "_lowering", None), "_platforms", None) or ())


def _from_compiled(compiled: Any) -> Program:
    executable = compiled.runtime_executable()
    platform = _platform_of(compiled, executable)
    if platform not in ("cuda", "gpu", ""):
        raise InputError(
            f"this program was compiled for the {platform}, which says nothing about a GPU; hand over the "
            "jitted function and its arguments instead: eightfold.audit(jitted, *args, target=…)")
    modules = executable.hlo_modules()
    if not modules:
        raise InputError("the compiled program holds no HLO")
    return Program(modules[0].name, modules[0].as_serialized_hlo_module_proto())


def _platform_of(compiled: Any, executable: Any) -> str:
    """"cuda", "cpu" …; "" when nothing tells: one compiled for devices that are not there has no client."""
    client = getattr(executable, "client", None)
    if client is not None:
        return str(client.platform)
    try:
        devices = compiled._executable._device_list
        return str(next(iter(devices)).platform)
    except (AttributeError, StopIteration):
        return ""
