"""Paths to a release that the installed battery does not hold: sources, estimators, uses that must be refused, the
gate's own ways, the command line, and Spark. They join the registry of :mod:`scumble.audit.greybox`.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
import scumble.files
from greybox_estimators import estimators, options
from greybox_files import csv, file_of, standard_input
from greybox_sources import FREE, OPTIONS, PERSON, READING, TYPED, built
from scumble import Bundle, Number, Release, Schema, Sketch, learn
from scumble.audit.greybox import BUDGETS, all_paths, path
from scumble.audit.greybox.neighbors import CLASSES, Table, arrow, by_class, halves, numbers
from scumble.audit.greybox.sketches import (
    COLUMNS,
    KERNEL,
    PERIODS,
    PLAIN,
    SCHEMA,
    SIZE,
    Options,
    arrivals,
    closed,
    empty,
    ledger_of,
    left_open,
    points,
    reading,
    shares,
)
from scumble.cli import main
from scumble.density import draws
from scumble.density.planned_release import publish_planned
from scumble.density.release_plan import Menu
from scumble.gate.rows import Contest, Plan, PublishedRows, Wanted, planned_claim, publish_as_planned, publish_rows
from scumble.gate.selection import noisy_best
from scumble.learn import TASKS, outliers
from scumble.privacy.budget import Budget, calibrate

all_paths()


def command(folder: Path, *words: object, given: bytes = b"") -> bytes:
    """Run a command line of scumble on this standard input: its exit code and standard output, which are public."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf8", write_through=True)
    with standard_input(given), redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = main([*map(str, words), "--quiet"])
    shown = out.buffer.getvalue()
    return f"{code}\n".encode() + shown.replace(str(folder).encode(), b"")


# ---- uses that are refused, and several releases ----


@path("PersonLimit.keep, replace", "persons", neighbors="replace", forbidden=True)
def _person_limit_replace(table: Table, folder: Path) -> Release:
    kept = scumble.PersonLimit(1).keep([record["who"] for record in table])
    return empty(invalid="error").update(numbers(table)[kept]).release(epsilon=1.0, neighbors="replace")


@path("learn.noisy_best", "floats", "labels")
def _best(table: Table, folder: Path) -> list[Any]:
    scores = [*map(len, by_class(table)), len(table)]
    winner = noisy_best(scores, epsilon=0.5, monotone=True)
    return [str(winner), calibrate(1, epsilon=0.5, count_share=0), points(table).release(epsilon=0.5)]


@path("merge of releases without a person in common", "labels", people=3)
def _merged_persons(table: Table, folder: Path) -> Release:
    parts = [[record for record in table if sum(repr(record["who"]).encode()) % 2 == k] for k in range(2)]
    return scumble.merge([points(part).release(1.0, records_per_person=3) for part in parts], disjoint="persons")


# ---- noise first, and noise once ----


@path(
    "noise first, saved and loaded, with invalid='drop' under replace", "missing", neighbors="replace", forbidden=True
)
def _reloaded(table: Table, folder: Path) -> Release:
    empty(invalid="error").start_with_noise(epsilon=1.0, neighbors="replace").save(folder / "s.secret")
    return scumble.load_secret(folder / "s.secret", invalid="drop").update(numbers(table)).release()


@path("noise first, loaded twice, each with a part of the table", "labels", forbidden=True)
def _loaded_twice(table: Table, folder: Path) -> list[Release]:
    empty().start_with_noise(epsilon=1.0).save(folder / "s.secret")
    return [scumble.load_secret(folder / "s.secret").update(numbers(part)).release() for part in by_class(table)]


@path("noise first, released live and from its file", forbidden=True)
def _live_and_loaded(table: Table, folder: Path) -> list[Release]:
    sketch = empty().start_with_noise(epsilon=1.0).update(numbers(table[:5]))
    sketch.save(folder / "s.secret")
    return [sketch.update(numbers(table[5:])).release(), scumble.load_secret(folder / "s.secret").release()]


@path("Sketch.start_with_noise, rows left open", few=2)
def _noise_first_open(table: Table, folder: Path) -> Release:
    return left_open("rows", None).start_with_noise(epsilon=1.0).update(numbers(table)).release()


@path("Sketch.release_share, a grid left open", few=2)
def _shares_open(table: Table, folder: Path) -> Release:
    return scumble.combine(
        left_open("a grid", part).release_share(epsilon=1.0, custodians=2) for part in (table[::2], table[1::2])
    )


@path("OpenDP", "floats", few=3)
def _opendp(table: Table, folder: Path) -> list[Release]:
    small: Options = {"rows": 2, "buckets": 4}
    options: Options = {"epsilon": 1.0, "backend": "opendp"}
    first = empty(**small).start_with_noise(**options, **ledger_of(folder), count_share=0.2).update(numbers(table))
    return [points(table, **small).release(**options), first.release(), left_open("rows", table).release(**options)]


@path("Share.from_sum: secure aggregation", "floats")
def _secure(table: Table, folder: Path) -> Release:
    made = shares(table, epsilon=1.0)
    total = np.sum([share.payload for share in made], axis=0, dtype=np.uint64)
    return made[0].from_sum(total, arrived=3)


@path("shares through files, charged to a ledger", "floats")
def _shares_in_files(table: Table, folder: Path) -> Release:
    for k, share in enumerate(shares(table, epsilon=1.0, count_share=0.2, **ledger_of(folder))):
        share.save(folder / f"{k}.share")
    return scumble.combine(scumble.load_share(folder / f"{k}.share") for k in range(3))


@path("shares of 20, then of all 21, combined", forbidden=True)
def _combined_twice(table: Table, folder: Path) -> list[Release]:
    came = [points(table[k : k + 1]).release_share(epsilon=1.0, custodians=21, dropouts=1) for k in range(21)]
    return [scumble.combine(came[:20]), scumble.combine(came)]


# ---- rows with noise of their own, or as planned ----


def _planned(found: PublishedRows, winners: tuple[int, ...]) -> Mapping[int, Wanted] | Contest:
    """Two rows, the second with a share that depends on the count; a contest under pure ε; then the winner."""
    if not found.rows:
        return {0: Wanted(Fraction(1, 4)), 1: Wanted(Fraction(1, 4 + (found.noisy_count or 0) % 2))}
    groups = np.minimum(np.arange(len(found.rows[0].counts)) // 2, 2)
    if found.privacy.law.pure and not winners:
        return _contest(len(groups))
    last = winners[-1] if winners else 3
    return {} if len(found.rows) > 2 else {last: Wanted(Fraction(1, 3), groups), 5: Wanted(Fraction(1, 20))}


def _contest(cells: int) -> Contest:
    """Four rows, each cell by itself: one record moves two of the distances as far apart as it ever can."""
    rows, place = range(2, 6), np.arange(cells)
    expected = {row: 1000 * (place >> row - 2 & 1) for row in rows}
    return Contest(Fraction(1, 10), dict.fromkeys(rows, place), expected, {4: 1})


def _beyond(found: PublishedRows, winners: tuple[int, ...]) -> Mapping[int, Wanted] | Contest:
    """Two rows that take the whole budget, and then a contest."""
    if not found.rows:
        return {0: Wanted(Fraction(1, 2)), 1: Wanted(Fraction(1, 2))}
    return {} if winners else _contest(len(found.rows[0].counts))


def _published(found: PublishedRows) -> list[Any]:
    """Everything in it, as bytes, and the claim."""
    shown = [row.counts.tobytes() + repr((row.row, row.variance)).encode() for row in found.rows]
    shown += [b"" if row.groups is None else row.groups.tobytes() for row in found.rows]
    return [*shown, repr((found.noisy_count, found.count_variance, found.identity)).encode(), found.privacy]


@path("rows with noise of their own, {}", "floats", each=BUDGETS)
def _own_noise(table: Table, folder: Path, **budget: Any) -> list[Any]:
    shares = (3, 1, 2, 0, 5, 1)  # of six rows; the fourth is not published
    return _published(publish_rows(points(table, **reading(budget)).secret, Budget.of(**budget), shares=shares))


def _as_planned(table: Table, folder: Path, plan: Plan, **budget: Any) -> list[Any]:
    secret = points(table, **reading(budget)).secret
    return _published(publish_as_planned(secret, Budget.of(**budget), most=2, plan=plan))


path("rows as planned, {}", "floats", each=BUDGETS)(partial(_as_planned, plan=_planned))
path("rows as planned, more than all, {}", each=BUDGETS, forbidden=True)(partial(_as_planned, plan=_beyond))


@path(
    "publish_planned, rows of a grid's cells, {}",
    "floats",
    few=4,
    each={
        "three axes": {"axes": 3, **BUDGETS["gaussian"]},
        "three axes, replace": {"axes": 3, **BUDGETS["gaussian replace"]},
        "two axes": {"axes": 2, **BUDGETS["gaussian"]},
    },
)
def _grid_rows(table: Table, folder: Path, axes: int, **budget: Any) -> Release:
    """A grid is published as rows of its cells, whatever the facts say."""
    made = Sketch(PLAIN, dimensions=axes, bounds=(0.0, 10.5))
    spec = replace(made.spec, shape=(6,) * axes, buckets=6**axes)
    sketch = Sketch.from_spec(spec, planned=made.planned, **reading(budget)).update(numbers(table)[:, [0, 1, 0][:axes]])
    menu = Menu(sketch.spec, Budget.of(**budget), sketch.planned)
    rows = replace(sketch.spec, shape=None, design="iid", rows=16, buckets=4)
    (found,) = publish_planned(
        [sketch.secret],
        Budget.of(**budget),
        rows=menu.rows,
        choose=lambda facts: menu.choice_of(rows),
        fold=menu.fold(),
        clumped=menu.clumped,
    )
    return sketch._published(found.made, rows)


@path("Stream, points without names, some of them in sketches", few=2)
def _stream_of_points(table: Table, folder: Path) -> list[Any]:
    stream = scumble.Stream(PLAIN, 2, periods=PERIODS, **SIZE, design="iid", epsilon=1.0, delta=1e-3)

    def arrive(day: int) -> None:
        given = numbers(arrivals(table, day))
        if day % 2:
            stream.merge(Sketch.from_spec(stream.spec).update(given))
        else:
            stream.update(given)

    return closed(stream, arrive)


@path("build, .jsonl, all columns", "floats", "keys", strict=True, forbidden=True)
def _all_columns(table: Table, folder: Path) -> Release:
    """Without `columns`, the keys of the records are the columns, and one record may have a key of its own."""
    numbers = [{name: cell for name, cell in record.items() if not isinstance(cell, str)} for record in table]
    return built(file_of(numbers, folder, "people.jsonl"), None, PLAIN)


@path("merge of two builds with a person column each", "persons", people=3)
def _persons_merged(table: Table, folder: Path) -> Release:
    """Each limit starts anew: a person may have three records in each part."""
    return scumble.merge([built(arrow(part), **PERSON) for part in halves(table)])


DECLARED = ["x", "thing", "who", "label"]
KINDS: dict[str, Any] = {"whole": ["x"], "dates": ["thing"], "times": ["who"], "booleans": ["label"]}


def dated(table: Table) -> Table:
    """The table with dates, times and words for yes and no in its columns of text, most of them readable."""

    def date(cell: Any, time: str = "") -> Any:
        mark = sum(repr(cell).encode())
        return cell if cell is None or mark % 5 == 0 else f"2024-01-{1 + mark % 28:02}{time}"

    words = {"bus": "yes", "car": "no"}
    return [
        {
            **record,
            "thing": date(record["thing"]),
            "who": date(record["who"], "T12:30"),
            "label": words.get(record["label"], record["label"]),
        }
        for record in table
    ]


@path("build, declared columns", *FREE, "missing labels", "nobody", few=12)
def _declared(table: Table, folder: Path) -> Release:
    return built(file_of(dated(table), folder, "people.csv"), DECLARED, PLAIN, **KINDS)


@path("Sketch.update, declared columns", *TYPED, "missing labels", "nobody", few=6)
def _declared_in_a_sketch(table: Table, folder: Path) -> Release:
    sketch = scumble.Sketch(PLAIN, columns=DECLARED, **READING, **KINDS)
    return sketch.update(arrow(dated(table)).select(DECLARED)).release(epsilon=1.0)


# ---- the command line: files and standard output are what is published ----

_READ = "--columns x,y,thing --categories thing --bandwidth 2 --rows 6 --buckets 16 --seed 3 --design iid"
_DROP = "--invalid drop --allow-empty"
_BUILD = f"build @people.csv {_READ} {_DROP} --out @out.scumble"
_CHECK = "~check @people.csv --schema @schema.toml"
_TABLE = f"{_CHECK}\nbuild @people.csv --schema @schema.toml {_DROP} --epsilon 1 --out @out.scumble"
_TABLE += "\n~compare --reference @out.scumble @people.csv"
_REPLACED = f"build @people.csv {_READ} --epsilon 1 --out @out.scumble"
_FIT = "fit @people.csv --columns x,y --bounds x=0:10,y=0:10 --epsilon 1 --rows 8 --out @out.scumble"
_FIT_TABLE = "fit @people.csv --schema @schema.toml --invalid drop --epsilon 1 --out @out.scumble"
_LABEL = f"--label label --classes {','.join(CLASSES)}"
_CHECKPOINT = "--checkpoint @c.secret --checkpoint-seconds 0"
_TEXTS = ("floats", "missing", "missing things", "texts")
_PARTS = [f"sketch @half{k}.csv {_READ} {_DROP} --out @{k}.secret" for k in range(2)]
_PARTS += ["merge @0.secret @1.secret --out @all.secret", "release @all.secret --epsilon 1 --json --out @out.scumble"]
_TWO = "--columns x,thing --whole x --dates thing --bandwidth 2 --buckets 9"
_DATES = f"""sketch @dated.csv {_TWO} {_DROP} --out @part.secret
release @part.secret --epsilon 1 --json --out @out.scumble"""
_DAYS = [
    f"stream append @s.secret @day{day}.csv --period {day + 1} {named}\nstream publish @s.secret --json"
    for day, named in enumerate(["", "--batch b", "", "--batch d", ""])
]
_STREAM = [
    f"stream start @s.secret {_READ} --invalid drop --periods {PERIODS} --epsilon 1 --delta 1e-3 --folder @days --json",
    *_DAYS,
    "stream window @days --first 2 --out @out.scumble",
]


def _merge(*files: str) -> str:
    made = [f"build @{name}.csv {_READ} {_DROP} --epsilon 1 --out @{k}.scumble" for k, name in enumerate(files)]
    return "\n".join([*made, "merge @0.scumble @1.scumble --out @out.scumble"])


def _fits() -> list[str]:
    """Every task, pure, if it can be, and Gaussian."""
    found = []
    for task, title in TASKS.items():
        bounded = "target_bounds" in options(estimators()[title])
        target = "z --target-bounds 0:10" if bounded else f"label --classes {','.join(CLASSES)}"
        least = "1e-3" if estimators()[title]().delta else "0"
        found += [f"--task {task} --target {target} --delta {more}" for more in (f"{least} --invalid drop", "1e-3")]
    return found


def _commands(table: Table, folder: Path, script: str) -> list[Any]:
    """Run commands, one in a line. @ marks files of the folder, and ~ a command whose output is the curator's own."""
    parts = {"people": table, "dated": dated(table)}
    for word, several in {
        "half": halves(table),
        "class": by_class(table),
        "day": [arrivals(table, day) for day in range(PERIODS)],
    }.items():
        parts |= {f"{word}{k}": part for k, part in enumerate(several)}
    for name, part in parts.items():
        file_of(part, folder, f"{name}.csv")
    Schema({**SCHEMA, "z": Number(0, 10, outside="drop")}).save(folder / "schema.toml")
    shown: list[Any] = []
    for line in script.splitlines():
        words = [folder / word[1:] if word.startswith("@") else word for word in line.removeprefix("~").split()]
        printed = command(folder, *words)
        shown += [] if line.startswith("~") else [printed]
    out, days, site = (folder / name for name in ("out.scumble", "days", "site"))
    if site.exists():
        return [*shown, *(file.read_bytes() for file in sorted(site.iterdir())), scumble.load(site / "people.scumble")]
    if days.exists():
        return [*shown, *(file.read_bytes() for file in sorted(days.iterdir())), scumble.load(days).privacy]
    if not out.exists():
        return shown
    kind = scumble.files.read(out, expect=("release", "bundle", "model", "table")).kind
    load: Any = {"bundle": Bundle.load, "model": learn.load}.get(kind, scumble.load)
    return [*shown, out.read_bytes(), load(out)]


_LABELS = (*_TEXTS, "labels", "missing labels")
_SIMPLE = ["--json", "--delta 1e-3", "--noise-first", _CHECKPOINT, f"--noise-first {_CHECKPOINT}"]
_CHARGED = "--task regress --target z --target-bounds 0:10 --ledger @l.ledger --dataset d"
_ONE_BY_ONE = "--person-column who --records-per-person 3"
for _name, _script, _endings, _traits, _promise in (
    ("build --epsilon 1", f"{_BUILD} --epsilon 1", [""], (*_TEXTS, "empty"), {"few": 20}),
    ("build --epsilon 1", f"{_BUILD} --epsilon 1", [_LABEL], _LABELS, {"few": 12}),
    ("build --epsilon 1", f"{_BUILD} --epsilon 1", _SIMPLE, _TEXTS, {"few": 4}),
    ("build --epsilon 1", f"{_BUILD} --epsilon 1", [_ONE_BY_ONE], ("persons", "nobody"), {"people": 3}),
    ("build", _BUILD, ["--rho 0.02", "--mu 0.2"], _TEXTS, {"few": 4}),
    ("build --epsilon 1", _REPLACED, ["--neighbors replace"], (), {"neighbors": "replace"}),
    (
        "build --schema",
        _TABLE,
        ["", f"--target label --delta 1e-6 --json {_CHECKPOINT}"],
        (*_TEXTS, "empty"),
        {"few": 5},
    ),
    (
        "publish",
        "publish @people.csv --schema @schema.toml --invalid drop --epsilon 1 --folder @site",
        [""],
        ("floats",),
        {"few": 2},
    ),
    ("sketch, merge, release", "\n".join(_PARTS), [""], ("floats", "missing"), {"few": 8}),
    ("sketch, release, declared columns", _DATES, [""], ("floats", "missing"), {"few": 3}),
    ("stream", "\n".join(_STREAM), [""], ("floats", "missing"), {"few": 3}),
    ("merge", _merge("class0", "class1"), ["--disjoint records"], ("floats",), {"few": 4}),
    ("merge", _merge("people", "people"), [""], ("floats",), {"few": 4}),
    ("fit", _FIT, _fits(), ("floats",), {"few": 5}),
    ("fit", f"ledger @l.ledger --open d --epsilon 3\n{_FIT}", [_CHARGED], ("floats",), {"few": 2}),
    ("fit --schema", _FIT_TABLE, ["--task regress --target z"], _TEXTS, {"few": 8}),
    ("fit --schema", _FIT_TABLE, ["--task separate --target label --unknown drop"], _LABELS, {"few": 8}),
):
    _scripts = {ending: {"script": f"{_script} {ending}"} for ending in _endings}
    path(f"scumble {_name} {{}}", *_traits, each=_scripts, **_promise)(_commands)


@path("scumble schema --epsilon 1", "floats", "missing", few=4)
def _draft_of_schema(table: Table, folder: Path) -> list[Any]:
    file_of(table, folder, "people.csv")
    shown = command(folder, "schema", folder / "people.csv", "--columns", "x,thing", "--epsilon", "1")
    return [shown, planned_claim(Budget.of(1.0, count_share=0), 8, 1)]


@path("scumble build - --out -", "floats", "missing", few=6)
def _through_pipes(table: Table, folder: Path) -> list[Any]:
    shown = command(folder, *f"build - {_READ} {_DROP} --epsilon 1 --out -".split(), given=csv(table))
    return [shown, Release.from_bytes(shown.partition(b"\n")[2])]  # after the exit code


def brief(patch: pytest.MonkeyPatch) -> None:
    """What is computed from a release alone, when its noise is long drawn, is computed from few synthetic records."""
    patch.setattr(draws, "ROUNDS", 3)
    patch.setattr(outliers, "DRAWS", 500)


# ---- Spark, where a session is active ----


def spark_is_there() -> bool:
    """Whether PySpark and Java are installed."""
    java = os.path.join(os.environ.get("JAVA_HOME", ""), "bin", "java")
    return find_spec("pyspark") is not None and shutil.which(java if os.path.exists(java) else "java") is not None


def session() -> Any:
    """The active one."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _frame(table: Table, folder: Path) -> Any:
    return session().read.parquet(str(file_of(table, folder)))


def _arrive(stream: Any, table: Table, folder: Path, number: int = 0) -> None:
    """A file of records that the stream reads to its end."""
    where = file_of(table, folder, f"in/{number}.parquet")
    schema = session().read.parquet(str(where)).schema
    writer = session().readStream.schema(schema).parquet(str(where.parent)).writeStream
    query = writer.foreachBatch(stream).option("checkpointLocation", str(folder / "spark"))
    query.trigger(availableNow=True).start().awaitTermination()


def _register_spark() -> None:
    from scumble.cluster import spark

    @path("spark.build", "floats", "missing", few=1)
    @path("spark.build, a person column", "persons", few=1, each={"": PERSON})
    def _build(table: Table, folder: Path, **given: Any) -> Any:
        return spark.build(_frame(table, folder), KERNEL, COLUMNS, **OPTIONS, **given)

    @path("spark.build, a schema", "floats", "missing", "missing things", few=2)
    def _table(table: Table, folder: Path) -> Any:
        reads: dict[str, Any] = {"invalid": "drop", "allow_empty": True, "epsilon": 1.0}
        return spark.build(_frame(table, folder), schema=SCHEMA, target="label", **reads)

    @path("spark.build_by", "labels", few=2)
    def _build_by(table: Table, folder: Path) -> Bundle:
        return spark.build_by(_frame(table, folder), "label", KERNEL, COLUMNS, classes=CLASSES, **OPTIONS)

    @path("spark.sketch of declared columns, then release", "floats", few=1)
    def _sketch(table: Table, folder: Path) -> Release:
        made = spark.sketch(_frame(dated(table), folder), PLAIN, DECLARED, **READING, **KINDS)
        return made.release(epsilon=1.0, delta=1e-3)

    @path("spark.register, SQL, spark.sketch_from, then release", "missing", few=1)
    def _sql(table: Table, folder: Path) -> Release:
        _frame(table, folder).createOrReplaceTempView("people")
        spark.register(session(), KERNEL, COLUMNS, **READING)
        parts = "SELECT label, scumble_sketch(x, y, thing) AS part FROM people GROUP BY label"
        merged = session().sql(f"SELECT scumble_merge(part) AS sketch FROM ({parts})").collect()[0].sketch
        return spark.sketch_from(merged).release(epsilon=1.0)

    @path("spark.into a Stream", "floats", few=1)
    def _into(table: Table, folder: Path) -> list[Any]:
        """Two nights of one file each, all for one budget."""
        stream = scumble.Stream(KERNEL, **READING, columns=COLUMNS, periods=2, epsilon=1.0, delta=1e-3)
        stream.save(folder / "stream.secret")
        out = []
        for k, part in enumerate(halves(table)):
            _arrive(spark.into(stream), part, folder, k)
            out.append(stream.close_period(k + 1).to_bytes())
        return [*out, stream.privacy]


if spark_is_there():
    _register_spark()
