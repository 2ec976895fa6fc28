"""Would the tests notice? `make mutants` changes the source in one small place at a time and runs that module's tests.

A mutant is one change: a comparison turned (``<`` to ``>=``), ``+`` for ``−``, ``×`` for ``÷``, a constant off by one,
`and` for `or`, a rounding to the other side, a `raise` left out. It is killed if a test fails. If all pass, it
survives: a test is missing, or the change alters nothing. `mutants.toml` says which tests answer for a module besides
the examples in its docstrings, and lists what alters nothing, with the reason; an entry that no longer fits the source
is an error.

    python tests/mutants.py                          every mutant of every module
    python tests/mutants.py --sample 120 --seed 1    so many at random
    python tests/mutants.py --module privacy/exact.py --function float_up

**How.** One pytest session a module collects the tests once. A first fork runs them all and notes which lines of the
module each test runs, and for how long. Then each mutant gets a fork of its own, in which the changed functions and
constants take the place of the real ones, and the tests that come by the changed statement run, the quickest first,
until one fails. Most mutants take less than a second. (Processes that a test starts anew do not see the change.)
"""

# ruff: noqa: T201 (a command prints its table)
from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import gc
import importlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import tomllib
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from compiled import Loops
from scumble.files.compiling import Loop

MEMORY = 8 << 30
"""Bytes that a mutant may take."""

ROOT = Path(__file__).parent.parent
LIST = ROOT / "tests" / "mutants.toml"

TURNED = {
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
ROUNDED = {"float_up": "float_down", "next_plus": "next_minus", "floor": "ceil", "min": "max", "minimum": "maximum"}
ROUNDED |= {other: one for one, other in ROUNDED.items()}
UNTOUCHED = (ast.Assert, ast.JoinedStr)  # what type checkers and readers of messages need


@dataclass(frozen=True)
class Mutant:
    """One change: where it is (for people and for the list of those that alter nothing), and how it is made."""

    module: str
    function: str
    line: str
    change: str
    number: int
    start: int
    end: int
    text: str
    statement: range  # its lines
    loaded: bool  # whether it is run as the module is loaded, in no function

    def applied(self, source: bytes) -> bytes:
        lost = source.count(b"\n", self.start, self.end) - self.text.count("\n")  # every line keeps its number
        return source[: self.start] + self.text.encode() + b"\n" * lost + source[self.end :]

    def __str__(self) -> str:
        return f"{self.module}:{self.number} ({self.function})  {self.line}\n        {self.change}"


def mutants_of(module: str, source: bytes) -> list[Mutant]:
    """Every mutant of a module, in the order of its text.

    >>> [m.change for m in mutants_of("m.py", b"def f(x):\\n    return x < 2")]
    ['< to >=', '2 to 3']
    """
    lines = source.decode().split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()) + 1)

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    tree, found = ast.parse(source), list[Mutant]()
    called = {name for name, kind in _named(tree, "") if kind is ast.FunctionDef}
    seen: Counter[tuple[str, str, str]] = Counter()

    def add(function: str, statement: range, start: int, end: int, text: str, change: str) -> None:
        number = bisect_right(starts, start)
        line = lines[number - 1].partition("  #")[0].strip()
        seen[function, line, change] += 1
        if seen[function, line, change] > 1:
            change += f", {seen[function, line, change]}"
        loaded = function not in called
        found.append(Mutant(module, function, line, change, number, start, end, text, statement, loaded))

    for node, function, statement in _walk(tree, "", range(0)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            operators = list(zip(node.ops, sides, sides[1:], strict=False))
        elif isinstance(node, ast.BoolOp):
            operators = [(node.op, a, b) for a, b in zip(node.values, node.values[1:], strict=False)]
        elif isinstance(node, ast.BinOp):
            operators = [(node.op, node.left, node.right)]
        elif isinstance(node, ast.AugAssign):
            operators = [(node.op, node.target, node.value)]
        else:
            operators = []
        for operator, left, right in operators:
            if type(operator) not in TURNED:
                continue
            old, new = TURNED[type(operator)]
            first = place(left.end_lineno, left.end_col_offset)
            between = source[first : place(right.lineno, right.col_offset)].decode()
            match = re.search(r"\s+".join(map(re.escape, old.split())), between)
            assert match, between
            start = first + len(between[: match.start()].encode())
            add(function, statement, start, start + len(match[0].encode()), new, f"{old} to {new}")
        if not hasattr(node, "end_lineno") or node.end_lineno is None:
            continue
        start, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            add(function, statement, start, end, repr(node.value + 1), f"{node.value!r} to {node.value + 1!r}")
        elif isinstance(node, ast.Raise):
            add(function, statement, start, end, "pass", "raise left out")
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in ROUNDED:
                add(function, statement, end - len(name), end, ROUNDED[name], f"{name} to {ROUNDED[name]}")
    return sorted(found, key=lambda mutant: (mutant.start, mutant.change))


def _walk(node: ast.AST, function: str, statement: range) -> Iterator[tuple[ast.AST, str, range]]:
    """Each node that may be changed, with the function or class and the lines of the statement around it."""
    if isinstance(node, ast.stmt):
        body = getattr(node, "body", None)
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])  # as a call is traced
        statement = range(first, body[0].lineno if body else node.end_lineno + 1)
    elif isinstance(node, ast.ExceptHandler):
        statement = range(node.lineno, node.body[0].lineno)
    yield node, function, statement
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
        children: Iterable[ast.AST] = [*_defaults(node), *node.body]
    elif isinstance(node, ast.AnnAssign):
        children = [node.value] if node.value else []
    elif isinstance(node, ast.Raise):
        children = []
    else:
        children = ast.iter_child_nodes(node)
    for child in children:
        if not isinstance(child, UNTOUCHED):
            yield from _walk(child, function, statement)


def _named(node: ast.AST, within: str) -> Iterator[tuple[str, type[ast.AST]]]:
    """The functions and classes of a module, by the names that `_walk` gives them."""
    for child in ast.iter_child_nodes(node):
        name = within
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{within}.{child.name}".lstrip(".")
            yield name, type(child)
        yield from _named(child, name)


def _defaults(node: ast.FunctionDef | ast.ClassDef) -> list[ast.expr]:
    if isinstance(node, ast.ClassDef):
        return []
    return [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]


# ---- putting a mutant in the place of the real module ----


def install(module: types.ModuleType, source: bytes) -> None:
    """Make a loaded module behave as if `source` had been loaded in its place.

    Functions and methods get their new code, constants are bound anew, and the loops that either concerns, in whatever
    module, are compiled anew. Numbers and texts in the body of a class are bound anew on the class that there is.
    """
    path = str(module.__file__)
    old_functions = {f for f in gc.get_objects() if type(f) is types.FunctionType and f.__code__.co_filename == path}
    fresh = types.ModuleType(module.__name__)
    fresh.__dict__.update({name: vars(module)[name] for name in ("__file__", "__package__", "__spec__")})
    exec(compile(source, path, "exec"), fresh.__dict__)
    called = [name for name, loop in vars(fresh).items() if isinstance(loop, Loop) and loop._made]
    assert not called, f"compiled while the module is loaded, perhaps from the disk: {called}"
    loops = Loops()

    def place(function: types.FunctionType) -> tuple[str, int]:
        return function.__code__.co_qualname, function.__code__.co_firstlineno

    codes = dict(_codes(compile(source, path, "exec")))
    made = [f for f in gc.get_objects() if type(f) is types.FunctionType and f.__code__.co_filename == path]
    defaults = {place(f): (f.__defaults__, f.__kwdefaults__) for f in made if f not in old_functions}
    for function in old_functions:
        if (code := codes.get(place(function))) and len(code.co_freevars) == len(function.__code__.co_freevars):
            if place(function) in defaults:
                function.__defaults__, function.__kwdefaults__ = defaults[place(function)]
            function.__code__ = code
    # Constants: under the same name wherever they were imported.
    kept = (type, types.FunctionType, types.ModuleType, Loop)
    for name, new in vars(fresh).items():
        old = vars(module).get(name)
        if name.startswith("__") or isinstance(old, kept) or old is new:
            continue
        if isinstance(old, functools._lru_cache_wrapper):
            old.cache_clear()  # the function that it keeps answers of has its new code
            continue
        for other in list(sys.modules.values()):
            if getattr(other, "__dict__", {}).get(name) is old:
                setattr(other, name, new)
    for name, new in vars(fresh).items():
        old = vars(module).get(name)
        if isinstance(old, type) and isinstance(new, type) and old.__module__ == module.__name__:
            _bind_anew(old, new)
            for holder in gc.get_referrers(new):  # classes that are listed as they are made stay the old ones
                if type(holder) is dict and holder is not vars(fresh):
                    holder.update({key: old for key, value in holder.items() if value is new})
    loops.forget_changed()


def _bind_anew(old: type, new: type) -> None:
    """The plain values in the body of a class, and the defaults of a named tuple or a dataclass."""
    for attribute, value in vars(new).items():
        if isinstance(value, (bool, int, float, str)) and not attribute.startswith("__"):
            setattr(old, attribute, value)
    if hasattr(old, "_field_defaults"):
        old.__new__.__defaults__ = new.__new__.__defaults__
    if is_dataclass(old):
        old.__init__.__defaults__ = new.__init__.__defaults__  # type: ignore[misc]


def _codes(code: types.CodeType) -> Iterator[tuple[tuple[str, int], types.CodeType]]:
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield (inner.co_qualname, inner.co_firstlineno), inner
            yield from _codes(inner)


# ---- running the tests ----


class Session:
    """A pytest plugin: instead of running the tests once, it runs them for every mutant."""

    def __init__(self, path: Path, name: str, mutants: list[Mutant], told: int | None) -> None:
        self._path, self._name, self._mutants, self._told = path.resolve(), name, mutants, told
        self.survivors: list[Mutant] = []
        self.seconds = 0.0
        self._failed = self._forked = False
        os.register_at_fork(before=lambda: vars(self).update(_forked=True))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        began = time.monotonic()
        if session.testsfailed or not session.items:
            raise pytest.UsageError(f"The tests of {self._path} cannot be collected.")
        target = importlib.import_module(self._name)  # a test may load it only as it runs
        source = self._path.read_bytes()
        with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
            note = Path(scratch) / "lines.json"
            if not _forked(lambda: self._note(session.items, str(target.__file__), note), 3600.0):
                raise pytest.UsageError(f"The tests of {self._path} fail without any change.")
            visits = json.loads(note.read_text())
            # A change that is none must survive, or every kill would be doubtful.
            touching = [(item, 3600.0) for item, visit in zip(session.items, visits, strict=True) if visit["lines"]]
            if not _forked(lambda: self._survives(target, source, touching), 3600.0):
                raise pytest.UsageError(f"The tests of {self._path} fail where nothing was changed.")
            for mutant in self._mutants:
                limits = self._that_come_by(mutant, session.items, visits, b"njit" in source)
                changed = mutant.applied(source)
                patience = 60.0 + 10.0 * sum(limit for _, limit in limits)
                lived = _forked(lambda: self._survives(target, changed, limits), patience)  # noqa: B023
                self.survivors += [mutant] * lived
                if self._told is not None:
                    os.write(self._told, f"{'SURVIVED' if lived else 'killed'} {mutant}\n".encode())
        self.seconds = time.monotonic() - began
        return True

    def _that_come_by(
        self, mutant: Mutant, items: list[pytest.Item], visits: list[dict[str, Any]], compiles: bool
    ) -> list[tuple[pytest.Item, float]]:
        """The tests that run the changed statement, the quickest first, and how long each may take.

        What is compiled is not traced: there, whatever touches the module. What is run as the module is loaded, in the
        body of a class too, may be read from outside: all. Nor are forks traced: a test that forks may run anything.
        """
        reached = [k for k, visit in enumerate(visits) if set(visit["lines"]) & set(mutant.statement)]
        if not reached:
            touch = [visit["forks"] or mutant.loaded or (compiles and visit["lines"]) for visit in visits]
            reached = [k for k, touches in enumerate(touch) if touches]
        reached.sort(key=lambda k: visits[k]["seconds"])
        return [(items[k], (15.0 if compiles else 2.0) + 3.0 * visits[k]["seconds"]) for k in reached]

    def _survives(self, target: types.ModuleType, source: bytes, limits: list[tuple[pytest.Item, float]]) -> bool:
        with contextlib.suppress(ImportError, OSError, ValueError):
            import resource  # a mutant may ask for all the memory that there is

            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        install(target, source)
        return all(self._passes(item, limit) for item, limit in limits)

    def _passes(self, item: pytest.Item, limit: float) -> bool:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # even a loop without end can be stopped
        signal.setitimer(signal.ITIMER_PROF, limit)  # processor time; a run that exceeds it is ended
        for module in [one for name, one in sys.modules.items() if name.startswith("scumble.")]:
            for kept in vars(module).values():
                if isinstance(kept, functools._lru_cache_wrapper):
                    kept.cache_clear()  # what one test was answered is asked again by the next
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self._failed

    def _note(self, items: list[pytest.Item], path: str, note: Path) -> bool:
        """Run everything; write down which lines of the module each test runs, and its processor time."""
        visits = []
        for item in items:
            lines: set[int] = set()

            def local(frame: types.FrameType, event: str, _: Any, lines: set[int] = lines) -> Any:
                lines.add(frame.f_lineno)
                return local

            def trace(frame: types.FrameType, *_: Any, local: Any = local, lines: set[int] = lines) -> Any:
                if frame.f_code is Loop.__call__.__code__:  # what is compiled is not traced: all of its lines
                    code = frame.f_locals["self"]._function.__code__
                    lines.update(line for *_, line in code.co_lines() if line and code.co_filename == path)
                return local(frame, "call", None) if frame.f_code.co_filename == path else None

            self._forked, before = False, time.process_time()
            threading.settrace(trace)
            sys.settrace(trace)
            passed = self._passes(item, 3600.0)
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            if not passed:
                sys.stderr.write(f"{item.nodeid} fails\n")
                return False
            taken = time.process_time() - before
            visits.append({"lines": sorted(lines), "seconds": taken, "forks": self._forked})
        note.write_text(json.dumps(visits))
        return True


def _forked(work: Any, limit: float) -> bool:
    """Whether `work` ends in time, in a process of its own, and is true."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()  # so that it can be ended with all that it has started
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            code = 0 if work() else 1
        finally:
            os._exit(code)
    ends = time.monotonic() + limit
    try:
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > ends:
                os.killpg(child, signal.SIGKILL)
                return bool(os.waitpid(child, 0)[1] == 0)
            time.sleep(0.01)
    except BaseException:  # stopped: nothing stays behind
        os.killpg(child, signal.SIGTERM)
        raise
    return os.waitstatus_to_exitcode(ended[1]) == 0


# ---- the table ----


def main(arguments: list[str] | None = None) -> int:
    sys.path.append(str(ROOT))  # test files import each other as `tests.…`
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return _main(_options(arguments))
    finally:
        signal.signal(signal.SIGTERM, before)


def _main(options: argparse.Namespace) -> int:
    listed = tomllib.loads(options.list.read_text())
    names = options.module or list(listed["tests"])
    mutants = {name: mutants_of(name, (options.package / name).read_bytes()) for name in names}
    known, stale = alter_nothing(listed.get("equivalent", {}), mutants)
    if stale:
        print("Entries that fit no line any more:", *stale, sep="\n    ")
        return 2
    chosen = [m for name in names for m in mutants[name] if not options.function or m.function in options.function]
    if options.sample is not None and options.sample < len(chosen):
        chosen = sorted(random.Random(options.seed).sample(chosen, options.sample), key=chosen.index)
    survivors = []
    for name in names:
        mine = [mutant for mutant in chosen if mutant.module == name]
        tested = [mutant for mutant in mine if mutant not in known]
        if not mine:
            continue
        tests = [str(options.list.parent / test) for test in listed["tests"][name]]
        lived, seconds = _run(options.package, name, tested, tests, options.verbose) if tested else ([], 0.0)
        survivors += lived
        print(
            f"{name:24}{len(mine):5} mutants{len(tested) - len(lived):5} killed{len(lived):5} survived"
            f"{len(mine) - len(tested):5} alter nothing{seconds:7.0f} s",
            flush=True,
        )
        for mutant in lived:
            print(f"    SURVIVED {mutant}", flush=True)
    return 1 if survivors else 0


def alter_nothing(
    listed: dict[str, dict[str, list[list[str]]]], mutants: dict[str, list[Mutant]]
) -> tuple[set[Mutant], list[list[str]]]:
    """The mutants that are listed, and the entries that fit none.

    `listed` has for each module and reason a list of entries: a function, a line of it, and the changes made to that
    line; without changes every change of the line, without a line every change of the function.
    """
    found, stale = set[Mutant](), list[list[str]]()
    for name, reasons in listed.items():
        for function, *place in (entry for entries in reasons.values() for entry in entries if name in mutants):
            for change in place[1:] or [None]:
                fits = [
                    m
                    for m in mutants[name]
                    if m.function == function and m.line in (place[:1] or [m.line]) and m.change == (change or m.change)
                ]
                found.update(fits)
                stale += [] if fits else [[name, function, *place[:1], *filter(None, [change])]]
    return found, stale


def _run(
    package: Path, module: str, mutants: list[Mutant], tests: list[str], verbose: bool
) -> tuple[list[Mutant], float]:
    """The survivors and the seconds; in a fork, so each module starts with nothing loaded."""
    told = os.dup(2) if verbose else None  # pytest takes the stream itself
    path = package / module
    name = ".".join((package.name, *Path(module).with_suffix("").parts))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        answer = Path(folder) / "survivors.json"

        def work() -> bool:
            session = Session(path, name, mutants, told)
            options = "-q -p no:cacheprovider -p no:xdist -p no:faulthandler --hypothesis-seed=0 --doctest-modules"
            flags = "doctest_optionflags=NORMALIZE_WHITESPACE ELLIPSIS"
            os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
            os.environ["NUMBA_CACHE_DIR"] = folder  # compiled from this source, and gone with the run
            code = pytest.main([*options.split(), "-o", flags, *tests, str(path)], plugins=[session])
            answer.write_text(json.dumps([[mutants.index(m) for m in session.survivors], session.seconds]))
            return int(code) in (0, 1)

        if not _forked(work, 24 * 3600.0):
            raise SystemExit(f"The tests of {path} could not be run.")
        places, seconds = json.loads(answer.read_text())
        return [mutants[k] for k in places], seconds


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--module", action="append", help="a module of the list, such as privacy/exact.py")
    parser.add_argument("--function", action="append", help="only its mutants, such as PrivacyClaim._check")
    parser.add_argument("--sample", type=int, help="so many mutants, at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="say of each mutant at once what became of it")
    parser.add_argument("--package", type=Path, default=ROOT / "src" / "scumble", help=argparse.SUPPRESS)
    parser.add_argument("--list", type=Path, default=LIST, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
