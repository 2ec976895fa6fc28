"""What ends in a release, found by looking at the library, and what of it has run under the grey-box audit.

*Doors* are public functions and methods that give a release, a bundle or a share, the `fit` of every estimator, and the
verbs of the command line. *Places* are functions that draw noise or call the audit hooks, found in the source text, and
readers of every kind of source. Each must have run under the audit, and each option of a door must have had a value
other than its default, or stand below with the reason why not.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import threading
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import CodeType, FrameType
from typing import Any

import greybox_estimators as estimators
import greybox_files
import scumble
from greybox_paths import spark_is_there
from scumble import cli, learn, sources
from scumble.columns.kinds import declared
from scumble.density.sketch import release_disjoint
from scumble.gate import gate
from scumble.learn.base import PrivateEstimator
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.sources.building import Options
from scumble.sources.formats import Format
from scumble.sources.paths import EXTENSIONS
from scumble.sources.source import Source
from scumble.table.sketch import publish

ROOT = Path(scumble.__file__).parent
DRAWS = {"discrete_laplace", "discrete_gaussian", "laplace_share"}
OF_LAWS = {"draw", "draw_share"}
"""What draws noise of a law (`scumble.privacy.laws`), or a share of it."""
AUDITORS = ("audit", "privacy/audit_hooks.py", "privacy/__init__.py", "learn/__init__.py")

READS_ONLY = re.compile(r"\.(load|load_share|from_bytes|from_container|refine)$|StreamRelease\.")
"""Doors that open on what is public already."""
NO_MATTER = {
    "progress": "the curator's own",
    "epsilon": "in every claim; the noise's scale depends on it and nothing else does",
    "threads": "all numbers of threads count alike, to the integer (tests/test_quick.py)",
    "engine": "audited by `Sketch(engine=...)` and `MomentSketch(engine=...)`; the rest pass it on",
    "seed": "public",
    "timeout": "how long a ledger waits",
    "part": "a name in the ledger",
    "allow_empty": "on in every path here, so the empty table is a neighbor like any other",
    "y": "ignored where it may be left out",
}
"""Options that cannot move a release, and why."""

AFTERWARDS = {
    "epsilon": "is in every claim; the noise's scale depends on it and nothing else does",
    "random_state": "the public seed",
    "contamination": "where the released scores are cut",
    "radius": "how far the released counters are summed up",
    "tau": "how the released densities are thinned out",
    "starts": "how often the search in the release begins",
    "significance": "which of the released peaks count",
    "classes": "public; all are needed in every case",
    "target_bounds": "public; needed in every case",
}
"""Options that act on the release alone, or are public, and why."""


class Seen:
    """What has run: functions by (file, name), and their options that were not left at their defaults."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.options: set[tuple[str, str, str]] = set()
        self._known: dict[int, CodeType] = {}
        self._asked = {id(_code(function)): _defaults(function) for function in [*doors().values(), *_inner_doors()]}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take note of every function of the library that is called meanwhile."""
        before, threads = sys.gettrace(), threading.gettrace()
        threading.settrace(self._note)  # sources are read ahead by a thread of their own
        sys.settrace(self._note)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(threads)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        """Asked once for each call; nothing is given back, so the lines within are run at full speed."""
        code = frame.f_code
        for name, default in self._asked.get(id(code), {}).items():
            if not _equal(frame.f_locals.get(name), default):
                self.options.add((*_key(code), name))
        if id(code) not in self._known:  # to hash a code object itself takes long
            self._known[id(code)] = code
            if code.co_filename.startswith(str(ROOT)):
                self.functions.add(_key(code))


def holes(seen: Seen) -> list[str]:
    """What ends in a release, or helps one to, and has not been seen."""
    missing = [f"{name} was never called" for name, door in doors().items() if _key(_code(door)) not in seen.functions]
    missing += [f"{file}: {name} was never called" for file, name in sorted(places() - seen.functions)]
    for name, door in {**doors(), **{inner.__qualname__: inner for inner in _inner_doors()}}.items():
        for option in _defaults(door).keys() - NO_MATTER.keys():
            if (*_key(_code(door)), option) not in seen.options:
                missing.append(f"{name} was never called with `{option}`")
    for extension in set(EXTENSIONS) - set(greybox_files.BYTES):
        missing.append(f"no path reads {extension}")
    for title, kind in estimators.estimators().items():
        known = {"kernel", "public", "rule", "method", *estimators.VALUES, *AFTERWARDS}
        missing += [
            f"{title} has an option `{name}` that no path varies" for name in set(estimators.options(kind)) - known
        ]
    return sorted(dict.fromkeys(missing))


# ---- doors ----


@cache
def doors() -> dict[str, Callable[..., Any]]:
    """Public ways to a release, by name."""
    found: dict[str, Callable[..., Any]] = {}
    rooms = {"scumble": scumble, "scumble.learn": learn, "scumble.sources": sources}
    if spark_is_there():
        rooms["scumble.cluster.spark"] = import_module("scumble.cluster.spark")
    for room, module in rooms.items():
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing):
                found |= {f"{room}.{name}.{method}": code for method, code in _methods(thing)}
            elif inspect.isfunction(thing) and _gives_release(thing):
                found[f"{room}.{name}"] = thing
    for verb in cli.VERBS:
        module = import_module(cli.home(verb))
        if not hasattr(module, "NOTHING_PRIVATE"):
            found[f"scumble {verb}"] = module.run
    return {name: door for name, door in found.items() if not READS_ONLY.search(name)}


@cache
def _defaults(function: Any) -> dict[str, Any]:
    """The options of a function, with their defaults."""
    options = inspect.signature(function).parameters.items()
    return {name: option.default for name, option in options if option.default is not option.empty}


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in inspect.getmembers(kind):
        if name.startswith("_") or not (inspect.isfunction(value) or inspect.ismethod(value)):
            continue
        fits = name == "fit" and issubclass(kind, PrivateEstimator) and kind is not PrivateEstimator
        if fits or _gives_release(value):
            yield name, value


def _gives_release(function: Any) -> bool:
    """Whether its return annotation, or that of an overload, names something public."""
    found = [str(one.__annotations__.get("return", "")) for one in (function, *typing.get_overloads(function))]
    return any(re.search(r"\b((Table|Moment)?Release|Bundle|Share)\b", text) for text in found)


def _inner_doors() -> list[Callable[..., Any]]:
    """Where doors hand on their options."""
    return [
        scumble.Sketch.__init__,
        scumble.Sketch.start_with_noise,
        scumble.TableSketch.__init__,
        scumble.Stream.__init__,
        scumble.Stream.update,
        Options.__init__,
        declared,
        publish,
        Budget.of,
        Account.of,
        release_disjoint,
        gate.begin_with_noise,
    ]


# ---- places ----


@cache
def places() -> frozenset[tuple[str, str]]:
    """Functions that draw noise or call the audit hooks; and what reads each kind of source."""
    found = set()
    for file in sorted(ROOT.rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith(AUDITORS) and (spark_is_there() or not name.startswith("cluster/")):
            found |= {(name, function) for function in _noisy_functions(ast.parse(file.read_text()))}
    for kind in (*_all_kinds(Format), *_all_kinds(Source)):
        reader = kind.read if issubclass(kind, Format) else kind.pieces
        found.add(_key(_code(reader)))
    return frozenset(found)


def _noisy_functions(tree: ast.AST, inside: str = "") -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _noisy_functions(node, f"{inside}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and any(map(_is_noisy, ast.walk(node))):
            yield inside + node.name


def _is_noisy(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        owner = _last_name(node.value)
        return node.attr in DRAWS or owner == "audit_hooks" or (node.attr in OF_LAWS and owner == "law")
    return isinstance(node, ast.Name) and node.id in DRAWS


def _last_name(node: ast.AST) -> str:
    """`c` of `a.b.c` and of `c(...)`."""
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _all_kinds(kind: Any) -> list[Any]:
    for module in iter_modules(sources.__path__, "scumble.sources."):
        if not module.ispkg:  # as Spark is
            import_module(module.name)
    found, waiting = [], [kind]
    while waiting:
        below = [one for one in waiting.pop().__subclasses__() if one.__module__.startswith("scumble.")]
        waiting += below
        found += [one for one in below if not inspect.isabstract(one)]
    return found


def _code(function: Any) -> CodeType:
    return inspect.unwrap(getattr(function, "__func__", function)).__code__


def _key(code: CodeType) -> tuple[str, str]:
    if code.co_filename == "<string>":  # what a dataclass made: its fields name it
        return code.co_filename, " ".join(code.co_varnames)
    return Path(code.co_filename).relative_to(ROOT).as_posix(), code.co_qualname


def _equal(value: Any, default: Any) -> bool:
    try:
        return value is default or bool(value == default)
    except (TypeError, ValueError):
        return False
