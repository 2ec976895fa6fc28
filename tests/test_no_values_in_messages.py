"""No message, warning, log line or chained error holds a cell, whatever is fed to whatever entry.

Canaries are put into wrong places, of wrong types and in wrong shapes. Every text that leaves is searched for them.
"""

from __future__ import annotations

import functools
import inspect
import io
import json
import logging
import sqlite3
import traceback
import warnings
from array import array
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import scumble
from estimators import EACH, KINDS
from scumble import learn
from scumble.cli import main
from scumble.kernels import EuclideanKernel, HammingKernel, JaccardKernel, Kernel, ProductKernel
from scumble.sources import build_by

WORD, NUMBER = "HIV+canary", 41.7172737475
SIGNS = ("canary", "41.71", "4171")


class Talkative:
    """A cell or a table that puts itself into every error."""

    def _tell(self, *_: Any, **__: Any) -> Any:
        raise ValueError(f"I am {WORD}, {NUMBER}")

    __float__ = __int__ = __str__ = __repr__ = __hash__ = __eq__ = __iter__ = __len__ = __array__ = _tell  # type: ignore[assignment]


class Stream(Talkative):
    __arrow_c_stream__ = Talkative._tell


class Text(str):
    __slots__ = ()
    encode = split = Talkative._tell  # type: ignore[assignment]


TABLES: dict[str, Callable[[], Any]] = {
    "rows of text": lambda: [[WORD, NUMBER], [NUMBER, 1.0]],
    "rows of numbers and None": lambda: [[NUMBER, None], [NUMBER, 1.0]],
    "ragged rows": lambda: [[NUMBER, 1.0], [NUMBER]],
    "cells": lambda: [NUMBER, WORD],
    "one axis": lambda: np.array([NUMBER, 38.2, 99.9]),
    "three axes": lambda: np.full((2, 2, 2), NUMBER),
    "dictionaries": lambda: [{"a": WORD, "b": NUMBER}],
    "a mapping": lambda: {"a": [WORD, NUMBER], "b": [NUMBER, 1.0]},
    "a mapping of lengths": lambda: {"a": [WORD], "b": [NUMBER, 1.0]},
    "objects": lambda: np.array([[WORD, NUMBER], [None, {NUMBER: WORD}]], dtype=object),
    "text": lambda: np.array([[WORD, str(NUMBER)]]),
    "bytes": lambda: np.array([[WORD.encode(), b"1"]]),
    "complex": lambda: np.array([[NUMBER + 1j, 1.0]]),
    "infinite": lambda: np.array([[NUMBER, np.inf], [1.0, np.nan]]),
    "huge": lambda: np.array([[NUMBER * 1e306, -NUMBER * 1e306], [NUMBER * 1e306, 1e-320]]),
    "extended": lambda: np.full((2, 2), np.longdouble(NUMBER) * np.longdouble("1e400")),
    "sparse": lambda: scipy.sparse.csr_array(np.full((2, 2), NUMBER)),
    "a sparse mapping": lambda: scipy.sparse.dok_array(np.full((2, 2), NUMBER)),
    "masked": lambda: np.ma.array([[NUMBER, 1.0]], mask=[[False, True]]),
    "structured": lambda: np.array([(WORD, NUMBER)], dtype=[("a", "U20"), ("b", "f8")]),
    "pandas": lambda: pd.DataFrame({"a": [WORD, "x"], "b": [NUMBER, np.nan]}),
    "pandas objects": lambda: pd.DataFrame(
        {"a": [WORD, NUMBER, Talkative()], "b": [NUMBER, None, Text(WORD)]}, dtype=object
    ),
    "pandas categories": lambda: pd.DataFrame({"a": pd.Categorical([WORD, NUMBER]), "b": [NUMBER, 1.0]}),
    "pandas periods": lambda: pd.DataFrame({"a": pd.period_range("4171", periods=2, freq="Y"), "b": [1.0, NUMBER]}),
    "polars": lambda: pl.DataFrame({"a": [WORD, "x"], "b": [NUMBER, None]}),
    "polars objects": lambda: pl.DataFrame({"a": pl.Series([WORD, object()], dtype=pl.Object), "b": [NUMBER, None]}),
    "Arrow": lambda: pa.table({"a": [WORD, None], "b": [NUMBER, None]}),
    "Arrow structs": lambda: pa.table({"a": [{WORD: NUMBER}], "b": [[NUMBER]]}),
    "Arrow dictionaries": lambda: pa.table({"a": pa.array([WORD]).dictionary_encode(), "b": [NUMBER]}),
    "Arrow bytes": lambda: pa.table({"a": [WORD.encode() + b"\xff"], "b": [b"4171"]}),
    "other columns": lambda: pd.DataFrame({"c": [WORD], "d": [NUMBER]}),
    "too many columns": lambda: np.full((2, 5), NUMBER),
    "talkative cells": lambda: [[Talkative(), 1.0], [Text(WORD), NUMBER]],
    "a talkative table": Talkative,
    "a talkative stream": Stream,
    "a word": lambda: WORD,
    "a number": lambda: NUMBER,
    "nothing": lambda: None,
    "no rows": lambda: np.empty((0, 2)),
}
LABELS: dict[str, Callable[[], Any]] = {
    "words": lambda: ["a", WORD],
    "numbers": lambda: [NUMBER, 1.5],
    "an array of words": lambda: np.array(["a", WORD]),
    "an array of numbers": lambda: np.array([NUMBER, 1.0]),
    "mixed": lambda: [WORD, NUMBER],
    "missing": lambda: [WORD, None],
    "infinite": lambda: [NUMBER, np.inf],
    "talkative": lambda: [Talkative(), Text(WORD)],
    "lists": lambda: [[WORD], [NUMBER]],
    "columns": lambda: np.array([[WORD, "a"], [str(NUMBER), "b"]]),
    "a column": lambda: np.array([[NUMBER], [1.0]]),
    "too many": lambda: [WORD, NUMBER, WORD],
    "pandas": lambda: pd.Series([WORD, NUMBER], dtype=object),
    "polars": lambda: pl.Series([WORD, "a"]),
    "Arrow": lambda: pa.array([WORD, None]),
    "Arrow structs": lambda: pa.array([{"a": WORD}, {"a": "x"}]),
    "a word": lambda: WORD,
    "a number": lambda: NUMBER,
    "nothing": lambda: None,
}


MIXED = ("words", "numbers", "mixed", "missing", "talkative")
"""Labels that are tried with every way of saying which there are."""


def chain(error: BaseException) -> Iterator[BaseException]:
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__]


def told(act: Callable[[], Any]) -> list[str]:
    """Every text that an act lets out: the error and its chain, warnings, log lines."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    root = logging.getLogger()
    root.addHandler(handler)
    texts = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                act()
            except Exception as error:
                texts += ["".join(traceback.format_exception(error))]
                for one in chain(error):
                    texts += [str(one), repr(one), *map(str, one.args), *map(str, getattr(one, "__notes__", []))]
        texts += [str(warning.message) for warning in caught]
    finally:
        root.removeHandler(handler)
    return [*texts, lines.getvalue()]


def searched(texts: list[str], what: Any) -> None:
    for text in texts:
        assert not [sign for sign in SIGNS if sign in text], what


KERNELS = {
    "numbers": EuclideanKernel(1.0),
    "categories": HammingKernel(),
    "tokens": JaccardKernel(),
    "both": EuclideanKernel(1.0, columns=["a"]) * HammingKernel(columns=["b"]),
}


@pytest.mark.parametrize("invalid", ["error", "drop"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_sketches(kernel: str, invalid: str) -> None:
    one = KERNELS[kernel]
    grid: dict[str, Any] = {"design": "grid", "bounds": (0, 50), "buckets": 64}
    release = scumble.Sketch(KERNELS["numbers"], 2, **grid).release(1.0)
    for what, make in TABLES.items():
        sketch = scumble.Sketch(one, columns=["a", "b"], rows=4, buckets=8, invalid=invalid)
        searched(told(lambda: sketch.update(make())), what)  # noqa: B023  called at once
        searched(told(lambda: one(make(), make())), what)  # noqa: B023
        if kernel == "numbers":
            plain = scumble.Sketch(one, 2, rows=4, buckets=8, invalid=invalid)
            for act in (scumble.Sketch(one, 2, invalid=invalid, **grid).update, plain.update, plain.kernel_sum):
                searched(told(lambda: act(make())), what)  # noqa: B023
            searched(told(lambda: release.kernel_sum(make())), what)  # noqa: B023


RECORDS: dict[str, Callable[[], Any]] = {
    **{what: TABLES[what] for what in ("rows of text", "cells", "one axis", "three axes", "a mapping", "polars")},
    **{what: TABLES[what] for what in ("ragged rows", "dictionaries", "pandas", "Arrow")},
    "rows of numbers": lambda: [[NUMBER, 1.0], [NUMBER, 2.0]],
    "a record": lambda: (NUMBER, WORD),
    "two numbers": lambda: [NUMBER, -NUMBER],
    "a record by name": lambda: {"a": NUMBER, "b": WORD},
    "numbers by name": lambda: {"a": NUMBER, "b": -NUMBER},
    "a set": lambda: {WORD},
    "a view": lambda: {"a": WORD}.values(),
    "an array": lambda: array("d", [NUMBER]),
    "an object": lambda: SimpleNamespace(a=WORD, b=NUMBER),
}
PARAMETERS = [
    (f"{getattr(act, '__qualname__', act)}({name}=)", functools.partial(act, *first), name)
    for act, first in [
        *((kind, ()) for kind in Kernel.registry.values() if kind is not ProductKernel),
        (scumble.Sketch, (KERNELS["numbers"], 2)),
        (scumble.Sketch.release, (scumble.Sketch(KERNELS["numbers"], 1, rows=4, buckets=8),)),
        (scumble.Sketch.release_share, (scumble.Sketch(KERNELS["numbers"], 1, rows=4, buckets=8),)),
        (scumble.build, (np.ones((2, 2)), KERNELS["numbers"])),
        (scumble.plan, (100, 2)),
        (scumble.PersonLimit, ()),
        (scumble.load, ()),
        (learn.minimize, (scumble.Sketch(KERNELS["numbers"], 1, rows=4, buckets=8).release(1.0), lambda theta: theta)),
    ]
    for name in list(inspect.signature(act).parameters)[len(first) :]
]


@pytest.mark.parametrize(("act", "name"), [one[1:] for one in PARAMETERS], ids=[one[0] for one in PARAMETERS])
def test_a_record_in_the_place_of_any_parameter(act: Callable[..., Any], name: str) -> None:
    """What is shown of a parameter is a number or a word that it was given; of anything longer, type and length."""
    for what, make in RECORDS.items():
        searched(told(lambda: act(**{name: make()})), what)  # noqa: B023


@pytest.mark.parametrize("invalid", ["error", "drop"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_builds_of_tables_in_memory(kernel: str, invalid: str) -> None:
    options: dict[str, Any] = {"rows": 4, "buckets": 8, "invalid": invalid}
    for what, make in TABLES.items():
        if what == "a word":  # a path, there
            continue
        searched(told(lambda: scumble.build(make(), KERNELS[kernel], ["a", "b"], **options)), what)  # noqa: B023
        searched(told(lambda: scumble.build(iter([make()]), KERNELS[kernel], ["a", "b"], **options)), what)  # noqa: B023
        if kernel != "numbers":
            continue
        by = {"label": "a", "classes": ["x", "y"], **options}
        searched(told(lambda: build_by(make(), KERNELS[kernel], ["b"], **by)), what)  # noqa: B023
        searched(told(lambda: scumble.build(make(), KERNELS[kernel], ["b"], person_column="a", **options)), what)  # noqa: B023


def test_persons() -> None:
    for what, make in {**TABLES, **LABELS}.items():
        searched(told(lambda: scumble.PersonLimit(1).keep(make())), what)  # noqa: B023


def small(kind: Any, **options: Any) -> Any:
    known = inspect.signature(kind).parameters
    wanted = {"rows": 8, "buckets": 16, "starts": 5, "bounds": (0, 50), "classes": ["a", "b"], "target_bounds": (0, 50)}
    return kind(**{name: value for name, value in {**wanted, **options}.items() if name in known})


@EACH
def test_estimators(kind: Any) -> None:
    assert len(KINDS) >= 8
    known = inspect.signature(kind).parameters.keys()
    good, labels = np.full((2, 2), 1.0), ["a", "b"] if "classes" in known else [1.0, 2.0]
    fitted = small(kind).fit(good, labels)
    verbs = ("predict", "score_samples", "decision_function", "keep", "keep_probability", "nearest", "crowded")
    asks = cycle([getattr(fitted, verb) for verb in verbs if hasattr(fitted, verb)] or [lambda _: None])
    for what, make in [*TABLES.items()][KINDS.index(kind) % 4 :: 4]:  # all of them read tables alike
        searched(told(lambda: small(kind).fit(make(), labels)), what)  # noqa: B023
        searched(told(lambda: next(asks)(make())), what)  # noqa: B023
    ways: tuple[dict[str, Any], ...] = (
        {},
        {"unknown": "drop"},
        {"classes": None, "public": ("classes",)},
        {"target_bounds": None, "public": ("target_bounds",)},
        {"bounds": None, "public": ("bounds",)},
    )
    listens = not known.isdisjoint({"classes", "target_bounds"})  # the others take labels and look at none
    for what, make in LABELS.items():
        for options in ways if listens and what in MIXED else ways[:1]:
            if options.keys() <= known:
                searched(told(lambda: small(kind, **options).fit(good, make())), (what, options))  # noqa: B023


@EACH
def test_a_record_in_the_place_of_any_parameter_of_an_estimator(kind: Any) -> None:
    good, labels = np.full((2, 2), 1.0), ["a", "b"] if "classes" in inspect.signature(kind).parameters else [1.0, 2.0]
    for name in inspect.signature(kind).parameters:
        for what in ("cells", "a record by name"):
            searched(told(lambda: small(kind, **{name: RECORDS[what]()}).fit(good, labels)), (name, what))  # noqa: B023


# ------------------------------------------------------------------------ files

ROWS = [["1.5", "x"], [WORD, str(NUMBER)], [str(NUMBER), WORD], ["", WORD]]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(",".join(row) + "\n" for row in ROWS))
    (tmp_path / "ragged.csv").write_text(f"a,b\n1,2\n{NUMBER},{WORD},{WORD}\n")
    (tmp_path / "open.csv").write_text(f'a,b\n1,"{WORD}\n{NUMBER},2\n')
    (tmp_path / "latin.csv").write_bytes(b"a,b\n1,2\n" + WORD.encode() + b"\xff," + b"\xe9\n")
    lines = [json.dumps({"a": row[0], "b": row[1]}) for row in ROWS]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "keys.jsonl").write_text(json.dumps({WORD: NUMBER}) + "\n")
    (tmp_path / "half.jsonl").write_text('{"a": "' + WORD + "\n")
    (tmp_path / "surrogates.jsonl").write_text('{"a": "' + WORD + '\\ud800", "b": "\\udfff' + WORD + '"}\n')
    pq.write_table(pa.table({"a": [WORD, None], "b": [NUMBER, None]}), tmp_path / "t.parquet")
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE t (a, b)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [*ROWS, [WORD.encode() + b"\xff", NUMBER]])
    database.close()
    return [
        *(str(path) for path in sorted(tmp_path.iterdir()) if path.suffix != ".db"),
        f"sqlite:///{tmp_path / 't.db'}",
    ]


@pytest.mark.parametrize("invalid", ["error", "drop"])
def test_builds_of_files(files: list[str], invalid: str) -> None:
    for path in files:
        reading: dict[str, Any] = {"table": "t"} if "sqlite" in path else {}
        options: dict[str, Any] = {"rows": 4, "buckets": 8, "invalid": invalid, **reading}
        for kernel in KERNELS.values():
            searched(told(lambda: scumble.build(path, kernel, ["a", "b"], **options)), path)  # noqa: B023
            searched(told(lambda: scumble.build(path, kernel, ["nowhere"], **options)), path)  # noqa: B023
            searched(told(lambda: scumble.build(path, kernel, **options)), path)  # noqa: B023
        by = {"label": "a", "classes": ["x", "y"], **options}
        one = KERNELS["numbers"]
        searched(told(lambda: build_by(path, one, ["b"], **by)), path)  # noqa: B023
        searched(told(lambda: scumble.build(path, one, ["b"], person_column="a", **options)), path)  # noqa: B023


def test_commands(files: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for path in files:
        more = ["--table", "t"] if "sqlite" in path else []
        size = ["--rows", "4", "--buckets", "8", "--out", str(tmp_path / "out")]
        budget = ["--epsilon", "1", "--bandwidth", "1"]
        whose = ["--person-column", "b", "--records-per-person", "1"]
        acts = [
            ["build", path, *more, *budget, "--columns", "a,b", *size],
            ["build", path, *more, *budget, *size],
            ["build", path, *more, *budget, "--columns", "a,b", "--categories", "b", "--invalid", "drop", *size],
            ["build", path, *more, *budget, "--columns", "b", "--label", "a", "--classes", "x,y", *size],
            ["sketch", path, *more, "--bandwidth", "1", "--columns", "a", *whose, *size],
        ]
        if not more:
            fit = ["--bounds", "b=0:50", "--columns", "b", "--target", "a"]
            fit += ["--epsilon", "1", "--out", str(tmp_path / "m")]
            acts += [
                ["fit", path, "--task", "classify", "--classes", "x,y", *fit],
                ["fit", path, "--task", "regress", "--target-bounds", "0:50", *fit],
            ]
        for arguments in acts:
            (tmp_path / "out").unlink(missing_ok=True)
            texts = told(lambda: main([*arguments, "--debug"]))  # noqa: B023
            said = capfd.readouterr()
            searched([*texts, said.out, said.err], arguments)
            assert "most recent call last" in said.err or (tmp_path / arguments[-1]).exists()
