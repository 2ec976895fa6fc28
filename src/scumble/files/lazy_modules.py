"""Packages that are loaded when first used: who only reads releases needs NumPy alone.

pyarrow reads tables and writes them, SciPy has functions that samples and models need. Opening a release and asking it
needs neither. What stands here is imported as any module would be, ``from scumble.files.lazy_modules import
pa``, and is loaded with the first thing that is asked of it.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pacsv
    import pyarrow.ipc as ipc
    import pyarrow.json as pajson
    import pyarrow.parquet as pq
    import pyarrow.types as pt
    from scipy import special


class LazyModule(ModuleType):
    """A module that is loaded when something is asked of it.

    >>> math = LazyModule("math")
    >>> math.floor(1.5)
    1
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what asks for these looks at modules, and needs none
            raise AttributeError(name)
        value = getattr(loaded(self.__name__), name)
        self.__dict__[name] = value  # found at once from now on
        return value


def loaded(name: str) -> ModuleType:
    """The module, imported now."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        package = name.partition(".")[0]
        if problem.name is None or problem.name.partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(lacking(package), name=package) from None


def lacking(package: str) -> str:
    """What to say where a package is not installed."""
    return f"This needs {package}, which is not installed. Hint: pip install {package}."


if not TYPE_CHECKING:
    pa, pc, pt = LazyModule("pyarrow"), LazyModule("pyarrow.compute"), LazyModule("pyarrow.types")
    pacsv, pajson = LazyModule("pyarrow.csv"), LazyModule("pyarrow.json")
    ipc, pq = LazyModule("pyarrow.ipc"), LazyModule("pyarrow.parquet")
    special = LazyModule("scipy.special")

__all__ = ["LazyModule", "ipc", "lacking", "loaded", "pa", "pacsv", "pajson", "pc", "pq", "pt", "special"]
