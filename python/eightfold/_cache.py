"""JAX's persistent compilation cache, whose keys do not tell fixed programs from others."""

from __future__ import annotations

from collections.abc import Callable

_moved: tuple[str, str] | None = None
_key: str = ""
_said = False


def separate(extent: str, say: Callable[[str], None]) -> None:
    """Gives what is compiled from now on a cache directory of its own, where there is a cache at all.

    One that is turned on later keeps fixed programs apart by their key.
    """
    global _moved, _said
    from jax._src import config

    from ._native import version

    name = f"eightfold-{version}-{extent}"
    _add_to_keys(name)
    folder = config.compilation_cache_dir.value
    if not folder or not config.enable_compilation_cache.value:
        return
    _moved = (folder, folder.rstrip("/") + "/" + name)
    _use(_moved[1])
    if not _said:
        _said = True
        say("JAX's compilation cache does not tell fixed programs from others; fixed ones go into and come "
            f"from {_moved[1]}")


def restore() -> None:
    """The cache as it was before `separate`."""
    global _moved, _key
    from jax._src import config

    _key = ""
    if _moved is not None:
        before, ours = _moved
        _moved = None
        if config.compilation_cache_dir.value == ours:
            _use(before)


def warn_of_hits(say: Callable[[str], None]) -> None:
    """For a census of what is compiled: programs that come from the cache are not."""
    from jax._src import config

    if config.compilation_cache_dir.value and config.enable_compilation_cache.value:
        say("programs that come from JAX's compilation cache are not compiled, and so not audited "
            "(JAX_ENABLE_COMPILATION_CACHE=false has all compiled)")


def _use(folder: str) -> None:
    import jax
    from jax._src import compilation_cache

    jax.config.update("jax_compilation_cache_dir", folder)
    compilation_cache.reset_cache()


def _add_to_keys(name: str) -> None:
    """Has JAX's own hook for additions to the key, where it is, say what is installed at the time."""
    global _key
    from jax._src import cache_key

    _key = name
    before = getattr(cache_key, "custom_hook", None)
    if before is None or getattr(before, "is_eightfolds", False):
        return

    def custom_hook() -> str:
        return before() + _key

    custom_hook.is_eightfolds = True  # type: ignore[attr-defined]
    cache_key.custom_hook = custom_hook
