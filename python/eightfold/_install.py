"""install(), uninstall() and installed(): the repair, inside this process's CUDA compiler."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from ._errors import CompilerError, InputError

if TYPE_CHECKING:
    from . import _native

_LIBRARY = "xla_cuda_plugin.so"


@dataclasses.dataclass(frozen=True, slots=True)
class Installation:
    """What is installed in this process, and what it has done so far."""

    state: Literal["waiting", "registered"]
    """"waiting": JAX has not loaded its CUDA plugin yet."""
    extent: str
    """"planned" or "all": which convolutions are put back."""
    plugin: str = ""
    """"jax-cuda12-pjrt 0.10.2"."""
    target: str = ""
    """"GeForce RTX 5070 (sm_120)": what the program is compiled for."""
    upstream: bool = False
    """XLA of this version puts all back by itself; what cuDNN has no plan for is still hidden from it."""
    calls: int = 0
    """Modules that were compiled."""
    changed: int = 0
    """Those that were changed."""
    failed: int = 0
    """Those that went on unchanged after an error."""
    rewritten: int = 0
    """Convolutions that were put back, in all modules."""
    seconds: float = 0.0
    """Time spent, summed over threads."""
    error: str = ""
    """The first error; empty when there was none."""


Say = Callable[[str], None]


def _warn(message: str) -> None:
    warnings.warn(f"eightfold: {message}", RuntimeWarning, stacklevel=3)


class Passes:
    """Passes that this process's CUDA plugin gets, now if JAX has loaded it, or as soon as it has.

    `register` is given the path of the plugin library and returns the registered passes, or None when
    it decided, and said, that there is nothing to do.
    """

    def __init__(self, what: str, register: Callable[[str], _native.Hooks | None], say: Say) -> None:
        self.what = what
        self.hooks: _native.Hooks | None = None
        self._register, self._say = register, say
        self._open = True

    @property
    def open(self) -> bool:
        """Registered, or waiting to be."""
        return self._open

    def start(self) -> None:
        """Registers now, or waits for JAX to load the plugin; listen() was called before.

        Raises when JAX runs without the plugin.
        """
        with _lock:
            library = loaded_library()
            if library:
                self._take(library)
            elif _plugins_are_loaded():
                self._open = False
                raise CompilerError(no_plugin_message())
            else:
                _waiting.append(self)

    def found(self, library: str) -> None:
        """JAX has loaded the plugin. Never raises."""
        try:
            self._take(library)
        except Exception as error:  # whatever it is, the user's program goes on
            self._say(f"{self.what} is not installed: {error}")

    def missed(self) -> None:
        """JAX has made its backends without the plugin. Never raises."""
        self._open = False
        self._say(f"{self.what} has nothing to do: {no_plugin_message()}")

    def close(self) -> None:
        """No pass is called any more when this returns; waits for those that run."""
        with _lock:
            self._open = False
            if self in _waiting:
                _waiting.remove(self)
            if self.hooks is not None:
                self.hooks.close()
                self.hooks = None

    def _take(self, library: str) -> None:
        self._open = False
        self.hooks = self._register(library)
        self._open = self.hooks is not None


_lock = threading.RLock()
_waiting: list[Passes] = []
_listening = False
_fix: Passes | None = None
_fix_options = ("", "")


def loaded_library() -> str | None:
    """The CUDA plugin library that this process has loaded, which JAX loads; None before."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.rstrip("\n").split(maxsplit=5)[-1]
            if os.path.basename(path) == _LIBRARY:
                return path
    return None


def no_plugin_message() -> str:
    """Why there is nothing to install into, once JAX has loaded its plugins."""
    return ("JAX has loaded no CUDA plugin in this process, for lack of a GPU or of the package "
            "(JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1 has it loaded without a GPU)")


def _plugins_are_loaded() -> bool:
    from jax._src import xla_bridge
    return bool(getattr(xla_bridge, "_plugins_registered", False))


def listen() -> None:
    """Asks JAX to be told when its plugins are loaded, and when a backend is made.

    JAX calls back with its locks held, and takes them here: not to be called with ours held.
    """
    global _listening
    if _listening:
        return
    _listening = True
    from jax._src import xla_bridge
    xla_bridge.register_plugin_callbacks(_on_plugin)
    # Newer than the other one; only what is said depends on it.
    register = getattr(xla_bridge, "register_backend_initialization_hook", None)
    if register is not None:
        register(_on_backend)


def _on_plugin(c_api: object) -> None:
    """JAX calls this for each plugin once all are loaded, in whatever order they were."""
    with _lock:
        library = loaded_library() if _waiting else None
        while library and _waiting:
            _waiting.pop(0).found(library)


def _on_backend(client: object) -> None:
    """JAX calls this for each backend that it makes, after loading all plugins."""
    with _lock:
        while _waiting:
            _waiting.pop(0).missed()


def install(*, target: str | None = None, fix: Literal["planned", "all"] = "planned") -> None:
    """Has this process's CUDA compiler put back the FP8 convolutions that XLA loses.

    Works before and after JAX makes its backends, and takes effect for what is compiled from then on.
    Installing twice is installing once; with other options, the last ones count. Where there turns out
    to be nothing to install into or to fix for, a warning says so.

    Args:
      target: the GPU that programs are compiled for, where it is not the one in this machine: a name
        that `eightfold targets` lists. Without a GPU and without it, EIGHTFOLD_TARGET or
        eightfold.toml says.
      fix: "all" also puts back those that cuDNN may have no plan for.

    Raises:
      CompilerError: JAX is running without its CUDA plugin, or the plugin takes no passes (those of
        jax-cuda12-pjrt and jax-cuda13-pjrt 0.10.2 and newer do).
      InputError: an unknown target.
    """
    start_fix(target or "", fix, _warn)


def start_fix(target: str, extent: str, say: Say, tell: Say | None = None) -> None:
    """`install`, with warnings to `say`, and what was installed to `tell` once it is."""
    global _fix, _fix_options
    if extent not in ("planned", "all"):
        raise InputError(f"fix is {extent!r}; it can be 'planned' or 'all'")
    listen()
    with _lock:
        options = (target, extent)
        if _fix is not None and _fix.open and _fix_options == options:
            return
        if target and _fix is not None:
            from . import _native
            _native.gpu(target)  # an unknown target raises before the fix that is there is taken out
        uninstall()
        passes = Passes("the fix", lambda library: _register_fix(library, options, say, tell), say)
        passes.start()
        if passes.open:
            _fix, _fix_options = passes, options


def _register_fix(library: str, options: tuple[str, str], say: Say, tell: Say | None) -> _native.Hooks | None:
    from . import _cache, _native

    target, extent = options
    gpu = _native.gpu(target)
    if gpu is None:
        say("the fix is not installed: there is no GPU here, and EIGHTFOLD_TARGET, which can name the one to "
            "compile for, is not set")
        return None
    hooks = _native.fix_hooks(library, gpu, extent)
    if tell is not None and hooks.upstream:
        tell(f"XLA in {hooks.plugin} puts back all FP8 convolutions by itself; those that cuDNN has no plan for "
             f"are {'left to it' if extent == 'all' else 'hidden from it'}")
    elif tell is not None:
        tell(f"putting back FP8 convolutions for {hooks.target}, in {hooks.plugin}")
    _cache.separate(extent, say)
    return hooks


def uninstall() -> None:
    """Takes the repair out again; waits for modules that are in it. Does nothing when none is installed."""
    global _fix
    with _lock:
        passes, _fix = _fix, None
        if passes is not None:
            from . import _cache

            passes.close()
            _cache.restore()


@contextlib.contextmanager
def installed(*, target: str | None = None, fix: Literal["planned", "all"] = "planned") -> Iterator[None]:
    """`install` for the length of a `with` block; what was installed before it stays."""
    listen()
    with _lock:
        before = _fix_options if _fix is not None and _fix.open else None
        install(target=target, fix=fix)
    try:
        yield
    finally:
        with _lock:
            if before is None:
                uninstall()
            else:
                start_fix(*before, _warn)


def installation() -> Installation | None:
    """What `install` has installed in this process and what it did so far; None when nothing is."""
    with _lock:
        if _fix is None or not _fix.open:
            return None
        hooks = _fix.hooks
        if hooks is None:
            return Installation("waiting", _fix_options[1])
        return Installation("registered", _fix_options[1], hooks.plugin, hooks.target,
                            hooks.upstream, **hooks.counts(), rewritten=hooks.rewritten, error=hooks.error)


atexit.register(uninstall)
