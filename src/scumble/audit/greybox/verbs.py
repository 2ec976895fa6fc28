"""Paths of the command line: every verb that turns a private table into something public.

The file and standard output are what is published. Standard error is the curator's own: progress, how many rows were
left out, refusals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scumble
import scumble.files
from scumble import Bundle, Number, Schema, learn
from scumble.audit.greybox.building import dated
from scumble.audit.greybox.estimators import estimators, options
from scumble.audit.greybox.forms import csv, file_of
from scumble.audit.greybox.neighbors import CLASSES, Table
from scumble.audit.greybox.paths import add, path
from scumble.audit.greybox.running import command
from scumble.audit.greybox.tabular import SCHEMA
from scumble.learn.estimators import TASKS

SIZE = ["--rows", "6", "--buckets", "16", "--seed", "3", "--design", "iid"]
KERNEL = ["--columns", "x,y,thing", "--categories", "thing", "--bandwidth", "2", "--invalid", "drop"]
EPSILON = ["--epsilon", "1"]


def published(folder: Path, words: list[str], out: str = "out.scumble", given: bytes = b"") -> list[Any]:
    """Run a command: the file that it writes, and what it prints."""
    shown = command([*words, "--quiet"], folder, given)
    where = folder / out
    if not where.exists():
        return [shown]
    kind = scumble.files.read(where, expect=("release", "bundle", "model", "table")).kind
    loaded = {"release": scumble.load, "table": scumble.load, "bundle": Bundle.load, "model": learn.load}[kind](where)
    return [shown, where.read_bytes(), loaded]


def _add_builds() -> None:
    traits = ("floats", "missing", "missing things", "texts")
    label = ["--label", "label", "--classes", ",".join(CLASSES)]
    person = ["--person-column", "who", "--records-per-person", "3"]
    ways: dict[str, tuple[list[str], tuple[str, ...], dict[str, Any]]] = {
        "": ([], (*traits, "empty"), {"few": 20}),
        "--json": (["--json"], traits, {"few": 4}),
        "--delta": (["--delta", "1e-3"], traits, {"few": 4}),
        "--rho": (["--rho", "0.02"], traits, {"few": 4}),
        "--mu": (["--mu", "0.2"], traits, {"few": 4}),
        "--label": (label, (*traits, "labels", "missing labels"), {"few": 12}),
        "--person-column": (person, ("persons", "nobody"), {"people": 3}),
        "--noise-first": (["--noise-first"], traits, {"few": 6}),
        "--checkpoint": (["--checkpoint", "c.secret", "--checkpoint-seconds", "0"], traits, {"few": 4}),
        "--noise-first --checkpoint": (["--noise-first", "--checkpoint", "c.secret"], traits, {"few": 4}),
    }
    for name, (more, kinds, promise) in ways.items():

        def run(table: Table, folder: Path, more: list[str] = more) -> list[Any]:
            source, out = str(file_of(table, folder, ".csv")), str(folder / "out.scumble")
            more = [str(folder / word) if word == "c.secret" else word for word in more]
            budget = [] if more[:1] in (["--rho"], ["--mu"]) else EPSILON
            return published(folder, ["build", source, *KERNEL, *SIZE, *budget, "--allow-empty", "--out", out, *more])

        add(f"scumble build {name}".strip(), run, *kinds, **promise)

    def replaced(table: Table, folder: Path) -> list[Any]:
        source, out = str(file_of(table, folder, ".csv")), str(folder / "out.scumble")
        words = [word for word in KERNEL if word not in ("--invalid", "drop")]
        more = ["--neighbors", "replace", "--out", out]
        return published(folder, ["build", source, *words, *SIZE, *EPSILON, *more])

    add("scumble build --neighbors replace", replaced, neighbors="replace", strict=True)


def _add_tables() -> None:
    ways: dict[str, tuple[list[str], tuple[str, ...], dict[str, Any]]] = {
        "": ([], ("empty",), {"few": 8}),
        "--target --delta --json": (["--target", "label", "--delta", "1e-6", "--json"], (), {"few": 4}),
        "--checkpoint": (["--checkpoint", "c.secret", "--checkpoint-seconds", "0"], (), {"few": 3}),
    }
    for name, (more, kinds, promise) in ways.items():

        def run(table: Table, folder: Path, more: list[str] = more) -> list[Any]:
            SCHEMA.save(folder / "schema.toml")
            source, out = str(file_of(table, folder, ".csv")), str(folder / "out.scumble")
            more = [str(folder / word) if word == "c.secret" else word for word in more]
            command(["check", source, "--schema", str(folder / "schema.toml")], folder)  # secret: not published
            words = ["build", source, "--schema", str(folder / "schema.toml"), "--invalid", "drop", "--allow-empty"]
            return published(folder, [*words, *EPSILON, "--out", out, *more])

        traits = ("floats", "missing", "missing things", "texts", *kinds)
        add(f"scumble build --schema {name}".strip(), run, *traits, **promise)


@path("scumble build - --out -", "floats", "missing", few=6)
def _through_pipes(table: Table, folder: Path) -> list[Any]:
    shown = command(["build", "-", *KERNEL, *SIZE, *EPSILON, "--out", "-", "--quiet"], folder, csv(table))
    released = shown.partition(b"\n")[2]  # after the exit code
    return [shown, scumble.Release.from_bytes(released)]


@path("scumble sketch, merge, release", "floats", "missing", few=8)
def _parts(table: Table, folder: Path) -> list[Any]:
    shown = []
    for k in range(2):
        where = folder / f"{k}.csv"
        where.write_bytes(csv([record for record in table if sum(repr(record["y"]).encode()) % 2 == k]))
        part = str(folder / f"{k}.secret")
        shown.append(command(["sketch", str(where), *KERNEL, *SIZE, "--allow-empty", "--out", part, "--quiet"], folder))
    parts, whole = [str(folder / f"{k}.secret") for k in range(2)], str(folder / "all.secret")
    shown.append(command(["merge", *parts, "--out", whole, "--quiet"], folder))
    return [*shown, *published(folder, ["release", whole, *EPSILON, "--out", str(folder / "out.scumble"), "--json"])]


@path("scumble sketch, then release; scumble stream: declared columns", "floats", "missing", few=3)
def _declared(table: Table, folder: Path) -> list[Any]:
    """Dates and whole numbers, by way of a secret file."""
    source, secret = str(file_of(dated(table), folder, ".csv")), str(folder / "part.secret")
    columns = ["--columns", "x,thing", "--whole", "x", "--dates", "thing", "--bandwidth", "2", "--invalid", "drop"]
    shown = [command(["sketch", source, *columns, *SIZE, "--allow-empty", "--out", secret, "--quiet"], folder)]
    shown += published(folder, ["release", secret, *EPSILON, "--out", str(folder / "out.scumble"), "--json"])
    stream, days = str(folder / "stream.secret"), str(folder / "days")
    more = ["--periods", "2", "--folder", days, *EPSILON, "--quiet"]
    command(["stream", "start", stream, *columns, *SIZE, *more], folder)
    command(["stream", "append", stream, source, "--quiet"], folder)
    return [*shown, command(["stream", "publish", stream, "--json", "--quiet"], folder), scumble.load(days).total()]


def _add_merges() -> None:
    for more in (["--disjoint", "records"], ["--overlapping"], []):

        def run(table: Table, folder: Path, more: list[str] = more) -> list[Any]:
            names = []
            for label in CLASSES:
                mine = [record for record in table if "--disjoint" not in more or record["label"] == label]
                (folder / f"{label}.csv").write_bytes(csv(mine))
                out = str(folder / f"{label}.scumble")
                source = str(folder / f"{label}.csv")
                command(["build", source, *KERNEL, *SIZE, *EPSILON, "--allow-empty", "--out", out, "--quiet"], folder)
                names.append(out)
            return published(folder, ["merge", *names, "--out", str(folder / "out.scumble"), *more])

        add(" ".join(["scumble merge", *more]), run, "floats", few=4)


def _add_fits() -> None:
    bounds = ["--bounds", "x=0:10,y=0:10"]
    for task, title in TASKS.items():
        if "target_bounds" in options(estimators()[title]):
            more = ["--target", "z", "--target-bounds", "0:10"]
        else:
            more = ["--target", "label", "--classes", ",".join(CLASSES)]
        for delta in ("0", "1e-3"):

            def run(table: Table, folder: Path, task: str = task, more: list[str] = more, delta: str = delta) -> Any:
                source, out = str(file_of(table, folder, ".csv")), str(folder / "out.scumble")
                words = ["fit", source, "--task", task, "--columns", "x,y", *bounds, *more, *EPSILON, "--rows", "8"]
                drop = ["--invalid", "drop"] if delta == "0" else []
                return published(folder, [*words, "--delta", delta, *drop, "--out", out])

            add(f"scumble fit --task {task} --delta {delta}", run, "floats", few=5)


def _add_fits_of_tables() -> None:
    """The schema says what to learn from, the classes or bounds of the target, and whom to leave out."""
    traits = ("floats", "missing", "missing things", "texts")
    ways: dict[str, tuple[list[str], tuple[str, ...]]] = {
        "regress": (["--target", "z"], traits),
        "separate": (["--target", "label", "--unknown", "drop"], (*traits, "labels", "missing labels")),
    }
    for task, (more, kinds) in ways.items():

        def run(table: Table, folder: Path, task: str = task, more: list[str] = more) -> list[Any]:
            Schema({**SCHEMA, "z": Number(0, 10, outside="drop")}).save(folder / "schema.toml")
            source, out = str(file_of(table, folder, ".csv")), str(folder / "out.scumble")
            words = ["fit", source, "--task", task, "--schema", str(folder / "schema.toml"), "--invalid", "drop"]
            return published(folder, [*words, *more, *EPSILON, "--out", out])

        add(f"scumble fit --task {task} --schema --invalid drop", run, *kinds, few=8)


@path("scumble fit --ledger", "floats", few=2)
def _fit_charged(table: Table, folder: Path) -> list[Any]:
    ledger = str(folder / "town.ledger")
    command(["ledger", ledger, "--open", "d", "--epsilon", "3", "--quiet"], folder)
    source, out = str(file_of(table, folder, ".csv")), str(folder / "out.scumble")
    words = ["fit", source, "--task", "regress", "--columns", "x,y", "--bounds", "x=0:10,y=0:10", "--target", "z"]
    more = ["--target-bounds", "0:10", *EPSILON, "--rows", "8", "--ledger", ledger, "--dataset", "d", "--out", out]
    return published(folder, [*words, *more])


_add_builds()
_add_tables()
_add_merges()
_add_fits()
_add_fits_of_tables()
