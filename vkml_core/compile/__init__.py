"""`compile`: a step is traced once, and then replayed as one plan."""

from vkml_core.compile.compiled import CacheInfo, Compiled, compile

__all__ = ["CacheInfo", "Compiled", "compile"]
