"""Loops that are compiled when they are first called, and kept on the disk where there is a place for them.

numba takes half a second to load and some seconds to compile, so `njit` here is numba's, put off until the loop is
called or compiled into another one. What was compiled is kept for the next process where numba finds a place: next to
the source, in ``NUMBA_CACHE_DIR``, or in the user's own cache folder; never among everybody's temporary files, where
others could leave something to be run. A cache that is damaged or on a full disk is as good as none.

numba asks only whether the file that a loop stands in is as it was. So what is kept here is stamped with all that it is
made of, and loops may call each other across files.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import logging
import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Function: TypeAlias = Any
"""A function, or what numba makes of one: numba has no type for both."""
LLVM: TypeAlias = Function
"""What numba and llvmlite hand to each other."""


@functools.cache
def can_compile() -> bool:
    """Whether numba is installed: ``pip install 'scumble[fast]'``. Without it NumPy counts the same integers."""
    try:
        return importlib.util.find_spec("numba") is not None
    except (ImportError, ValueError):  # it is blocked
        return False


def njit(function: Function = None, **options: Any) -> Function:
    """``numba.njit``, put off: ``@njit`` and ``@njit(nogil=True, cache=True)``.

    >>> @njit(nogil=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    if function is None:
        return functools.partial(njit, **options)
    return Loop(function, options)


def read_only(values: np.ndarray) -> np.ndarray:
    """The same values, read-only as Arrow's are: for writable ones loops would be compiled anew."""
    if not values.flags.writeable:
        return values
    view = values.view()
    view.flags.writeable = False
    return view


class Loop:
    """A function that is compiled on first use. Inside other loops it behaves as what numba makes of it."""

    _made: Function | None = None
    _ready = False

    def __init__(self, function: Function, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options

    def __call__(self, *args: object) -> object:
        return (self._made or self._make())(*args)

    def __getattr__(self, name: str) -> object:  # numba asks for `_numba_type_`
        return getattr(self._made or self._make(), name)

    @property
    def ready(self) -> bool:
        """Whether a call needs no compilation, as far as is known; remembered, because numba is slow to answer."""
        if not self._ready:
            made = self._made or self._make()
            kept = getattr(getattr(made, "_cache", None), "_cache_file", None)
            self._ready = bool(made.signatures) or os.path.exists(getattr(kept, "_index_path", ""))
        return self._ready

    def __reduce__(self) -> str:  # another process finds it where it stands
        return str(self._function.__qualname__)

    def _make(self) -> Function:
        # Without a lock, which a fork could find closed: several threads may get here, and go on with what one made.
        if not can_compile():
            return self.__dict__.setdefault("_made", self._function)
        import numba

        keep = self._options.get("cache", False)
        made: Function = numba.njit(self._function, **{**self._options, "cache": False})
        if keep:
            try:
                made.enable_caching()
                made._cache = _Forgiving(made._cache, _made_of(self._function))
            except RuntimeError:  # "no locator available"
                _tell(
                    "scumble: no folder to keep compiled loops in, so each run compiles them anew. "
                    "Hint: let NUMBA_CACHE_DIR name a folder that only you can write to."
                )
        return self.__dict__.setdefault("_made", made)


class _Forgiving:
    """numba's cache of one loop, stamped with what the loop is made of. A fault in its files costs only time."""

    def __init__(self, cache: Any, made_of: object) -> None:
        self._cache = cache
        try:
            kept = cache._cache_file
            kept._source_stamp = kept._source_stamp, made_of
        except AttributeError:  # another numba, which could go on with old loops
            cache.disable()

    def load_overload(self, *args: object) -> object:
        try:
            return self._cache.load_overload(*args)
        except Exception:  # whatever damaged bytes make of a pickle
            return None

    def save_overload(self, *args: object) -> None:
        try:
            self._cache.save_overload(*args)
        except OSError:
            return
        except Exception:  # the index that is there already cannot be read: begin anew
            try:
                self._cache.flush()
                self._cache.save_overload(*args)
            except OSError:
                return

    def __getattr__(self, name: str) -> object:
        return getattr(self._cache, name)


class Spelled:
    """A function whose machine code is spelled out for compiled loops (`typed`); elsewhere it is its own `__call__`."""

    typed: Function
    """What numba's `intrinsic` takes: from the types of the arguments to a signature and LLVM's code."""

    @functools.cached_property
    def _numba_type_(self) -> object:
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        made = intrinsic(self.typed)
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(made)


def _made_of(function: Function) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Everything compiled into a loop: the files of the functions it calls, and the named numbers they use."""
    functions: list[Function] = [function]
    files, numbers = set(), set()
    for each in functions:  # the list grows on the way
        files.add(each.__code__.co_filename)
        for name in each.__code__.co_names:
            value = each.__globals__.get(name)
            if isinstance(value, Loop) and value._function not in functions:
                functions.append(value._function)
            elif isinstance(value, Spelled):
                files.add(inspect.getfile(type(value)))
            elif isinstance(value, int | float | np.generic):
                numbers.add((name, type(value).__name__, repr(value)))
    return sorted(map(_content, files)), sorted(numbers)


@functools.cache
def _content(file: str) -> str:
    try:
        with open(file, "rb") as source:
            return hashlib.sha256(source.read()).hexdigest()
    except OSError:
        return ""  # in a program that is one file, which is numba's own stamp


@functools.cache
def _tell(text: str) -> None:
    """Once per process."""
    logging.getLogger("scumble").warning(text)


FEW_CORES = 4
"""With at most this many cores, threads that share one piece of work beat threads with work of their own."""


def available_threads() -> int:
    """The cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


Ready = Callable[[], bool]


class Patience:
    """How much work has been done the slower way; both ways give the same integers.

    Parameters
    ----------
    limits : tuple of int
        Up to the first, the slower way; from the last on, the quicker one; in between the quicker one if it is ready.
    """

    def __init__(self, *limits: int) -> None:
        self.limits = limits
        self.spent = 0

    def lasts(self, work: int, ready: Ready) -> bool:
        """Whether to do this work the slower way as well; without numba, always."""
        after = self.spent + work
        if not can_compile():
            if after >= self.limits[-1]:
                _tell("scumble: without numba, large tables are counted slowly. Hint: pip install 'scumble[fast]'.")
        elif after >= self.limits[-1] or (after >= self.limits[0] and ready()):
            return False
        self.spent = after
        return True
