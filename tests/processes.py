"""Work in other processes and threads, and acts before each line of some files: for tests that kill, stop and race."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any


def in_child(work: Callable[[], Any]) -> int:
    """Do it in a forked process: the exit code, 1 for what is raised and for what is false."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            found = work()
            code = found if type(found) is int else int(found is False)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_children(count: int, work: Callable[[int], bool]) -> list[bool]:
    """Run `work` in so many forked processes at once; which of them said yes."""
    gate_out, gate_in = os.pipe()
    children = []
    for k in range(count):
        pid = os.fork()
        if pid == 0:
            code = 2
            try:
                os.close(gate_in)
                os.read(gate_out, 1)  # returns when the parent lets go
                code = 0 if work(k) else 1
            finally:
                os._exit(code)
        children.append(pid)
    os.close(gate_out)
    os.close(gate_in)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    assert all(code in (0, 1) for code in codes), codes
    return [code == 0 for code in codes]


def in_threads(*works: Callable[[], object]) -> list[BaseException | None]:
    """Do each in a thread of its own; what they raised."""
    problems: list[BaseException | None] = [None] * len(works)

    def run(k: int) -> None:
        try:
            works[k]()
        except BaseException as problem:
            problems[k] = problem

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return problems


@contextlib.contextmanager
def before_each_line(modules: Iterable[Any], act: Callable[[FrameType], object]) -> Iterator[None]:
    """Call this before every line of these files that runs meanwhile."""
    watched = {module.__file__ for module in modules}

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in watched:
            return None
        if event == "line":
            act(frame)
        return trace

    before = sys.gettrace()
    sys.settrace(trace if watched else before)
    try:
        yield
    finally:
        sys.settrace(before)
