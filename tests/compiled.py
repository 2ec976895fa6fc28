"""Which compiled loops a change of the source concerns: for `mutants.py`.

numba takes what a loop reads for constant: the numbers of its code, the globals that it names, other loops that it
calls. But of all that only the bytecode is in the key under which it keeps a loop on the disk. So the loop as it was
would answer for one with another number, and, worse, a changed loop could be kept for the next process. Hence a loop is
taken from the disk only where nothing that it means has changed, however far away; any other is compiled in memory.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Hashable
from typing import Any

import numpy as np

from scumble.files.compiling import Loop


class Loops:
    """Every loop of this process, and what each means now."""

    def __init__(self) -> None:
        self._meanings = [(loop, meaning(loop)) for loop in gc.get_objects() if type(loop) is Loop]

    def forget_changed(self) -> None:
        """Let those that mean something else by now be compiled anew, and be kept nowhere."""
        for loop, before in self._meanings:
            if meaning(loop) != before:
                vars(loop).pop("_made", None)
                loop._options = loop._options | {"cache": False}


def meaning(value: Any, names: tuple[str, ...] = (), around: frozenset[int] = frozenset()) -> Hashable:
    """All that numba makes of a value, to compare; `names` are what the code around it asks of a module.

    What is none of the kinds below is itself and nothing else: rather compiled once too often.
    """
    if id(value) in around:  # a loop that calls itself
        return "around"
    inner = around | {id(value)}
    if isinstance(value, Loop):
        return "loop", repr(sorted(value._options.items())), meaning(value._function, names, inner)
    if isinstance(value, types.FunctionType):
        code, cells = value.__code__, value.__closure__ or ()
        asked = _names(code)
        globals_ = tuple(
            (name, meaning(value.__globals__[name], asked, inner)) for name in asked if name in value.__globals__
        )
        closed = tuple(meaning(cell.cell_contents, asked, inner) for cell in cells)
        return "function", _of_code(code), meaning(value.__defaults__, asked, inner), globals_, closed
    if isinstance(value, types.ModuleType):
        return value.__name__, tuple(
            (name, meaning(vars(value)[name], names, inner)) for name in names if name in vars(value)
        )
    if isinstance(value, tuple):
        return tuple(meaning(one, names, inner) for one in value)
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return str(value.dtype), value.shape, value.tobytes()
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return type(value).__name__, repr(value)
    return "object", id(value)


def _names(code: types.CodeType) -> tuple[str, ...]:
    inner = [name for one in code.co_consts if isinstance(one, types.CodeType) for name in _names(one)]
    return tuple(sorted({*code.co_names, *inner}))


def _of_code(code: types.CodeType) -> Hashable:
    constants = tuple(_of_code(one) if isinstance(one, types.CodeType) else meaning(one) for one in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars
