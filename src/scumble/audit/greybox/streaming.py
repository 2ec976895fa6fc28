"""Paths of streams: every method, every promise, resumed and not, with records that look at what was published.

A record's own bytes say in which period it arrives. In the *adaptive* paths what was published has a say, too: the data
of day t may depend on what anybody could read on day t − 1 (``continual/continual.proof.md``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import scumble
from scumble.audit.greybox.building import COLUMNS, KERNEL
from scumble.audit.greybox.forms import arrow, csv
from scumble.audit.greybox.neighbors import Table
from scumble.audit.greybox.paths import BUDGETS, SIZE, add, path, promise_of
from scumble.audit.greybox.running import command
from scumble.audit.greybox.sketches import ledger_of

PERIODS = 5
STREAM: dict[str, Any] = {"columns": COLUMNS, "periods": PERIODS, **SIZE, "design": "iid", "invalid": "drop"}


def arrivals(table: Table, period: int, shift: int = 0) -> Table:
    """The records of a period, by their own bytes."""
    return [record for record in table if (sum(repr(record["y"]).encode()) + shift) % PERIODS == period]


def played(
    stream: Any, table: Table, home: Path | None = None, *, adaptive: bool = False, invalid: str | None = None
) -> list[Any]:
    """A whole stream: everything that it publishes, and its claim. With a file, it is resumed before every period."""
    out: list[Any] = []
    rest, shift = list(table), 0
    if home is not None:
        stream.save(home)
    for period in range(PERIODS):
        if home is not None:
            stream.close()
            stream = scumble.load_stream(home)
        mine = arrivals(rest, period, shift) if period + 1 < PERIODS or not adaptive else rest
        rest = [record for record in rest if not any(record is one for one in mine)]
        stream.update(arrow(mine), batch=f"day {period}", invalid=invalid)
        release = stream.close_period(period + 1)
        out.append(release.to_bytes())
        if adaptive:
            shift += int(release.counts.sum()) % PERIODS
    out += [stream.window(2).to_bytes(), stream.period(3).to_bytes(), stream.total(upto=2).to_bytes()]
    out += [stream.window(first=2, last=4).to_bytes(), stream.close_period(1).to_bytes()]
    return [*out, stream.privacy]


def _add_streams() -> None:
    for name, money in BUDGETS.items():
        exact = money.get("neighbors") == "replace"
        for method in ("auto", "toeplitz", "bridge", "daily"):
            gaussian = "delta" in money or "rho" in money
            if (method == "toeplitz" and not gaussian) or (method == "bridge" and ("rho" in money or "mu" in money)):
                continue
            if method == "daily" and name not in ("pure", "gaussian persons"):
                continue  # it is a release like any other

            def run(
                table: Table, folder: Path, money: dict[str, Any] = money, method: str = method, exact: bool = exact
            ) -> list[Any]:
                options = {**STREAM, **({"invalid": "error"} if exact else {})}
                stream = scumble.Stream(KERNEL, method=method, **options, **money)
                if exact:
                    return _by_place(stream, table)
                return played(stream, table, adaptive=method == "auto")

            promise = {**promise_of(money), "strict": exact, "few": 2}
            add(f"Stream, {name}, {method}", run, "floats", **promise)


def _by_place(stream: Any, table: Table) -> list[Any]:
    """Under replace every period's number of records is public, so a record arrives by its place in the table."""
    out: list[Any] = []
    for period in range(PERIODS):
        stream.update(arrow(table[period::PERIODS]))
        out.append(stream.close_period().to_bytes())
    return [*out, stream.privacy]


@path("Stream, resumed from its file", "floats", few=2)
def _resumed(table: Table, folder: Path) -> list[Any]:
    stream = scumble.Stream(KERNEL, folder=folder / "out", **STREAM, epsilon=1.0, delta=1e-3, count_share=0.1)
    found = played(stream, table, folder / "s.secret", adaptive=True)
    return [*found, *(file.read_bytes() for file in sorted((folder / "out").iterdir()))]


@path("Stream, bridge resumed from its file", few=2)
def _resumed_bridge(table: Table, folder: Path) -> list[Any]:
    stream = scumble.Stream(KERNEL, folder=folder / "out", method="bridge", **STREAM, epsilon=1.0)
    return played(stream, table, folder / "s.secret", adaptive=True)


@path("Stream, bad rows left out by each update", "floats", "missing", few=2)
def _left_out(table: Table, folder: Path) -> list[Any]:
    stream = scumble.Stream(KERNEL, folder=folder / "out", **{**STREAM, "invalid": "error"}, epsilon=1.0)
    return played(stream, table, folder / "s.secret", invalid="drop")


@path("Stream, a person column", "persons", people=3, few=4)
def _persons(table: Table, folder: Path) -> list[Any]:
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-3, "records_per_person": 3, "person_column": "who"}
    stream = scumble.Stream(KERNEL, folder=folder / "out", **STREAM, **options)
    return played(stream, table, folder / "s.secret")


@path("Stream, a ledger and OpenDP", "floats", few=2)
def _charged(table: Table, folder: Path) -> list[Any]:
    book = ledger_of(folder)
    book.open_dataset("days", epsilon=1.0)
    stream = scumble.Stream(KERNEL, **STREAM, epsilon=1.0, backend="opendp", ledger=book, dataset="days")
    return played(stream, table)


@path("Stream, points without names, some of them in sketches", few=2)
def _points(table: Table, folder: Path) -> list[Any]:
    kernel = scumble.EuclideanKernel(2.0)
    stream = scumble.Stream(kernel, 2, periods=PERIODS, **SIZE, design="iid", epsilon=1.0, delta=1e-3)
    out = []
    for period in range(PERIODS):
        points = [[record["x"], record["y"]] for record in arrivals(table, period)]
        if period % 2:
            stream.merge(scumble.Sketch.from_spec(stream.spec).update(np.array(points, float).reshape(-1, 2)))
        else:
            stream.update(np.array(points, float).reshape(-1, 2))
        out.append(stream.close_period().to_bytes())
    return [*out, stream.privacy]


@path("scumble stream", "floats", "missing", few=3)
def _verb(table: Table, folder: Path) -> list[Any]:
    secret, out = str(folder / "s.secret"), str(folder / "out")
    words = ["--columns", "x,y,thing", "--categories", "thing", "--bandwidth", "2", "--invalid", "drop"]
    size = ["--rows", "6", "--buckets", "16", "--seed", "3", "--design", "iid", "--periods", str(PERIODS)]
    money = ["--epsilon", "1", "--delta", "1e-3", "--folder", out, "--quiet", "--json"]
    shown = [command(["stream", "start", secret, *words, *size, *money], folder)]
    for period in range(PERIODS):
        source = folder / f"{period}.csv"
        source.write_bytes(csv(arrivals(table, period)))
        words = [secret, str(source), "--period", str(period + 1), "--batch", f"day {period}", "--quiet"]
        shown.append(command(["stream", "append", *words], folder))
        shown.append(command(["stream", "publish", secret, "--json", "--quiet"], folder))
    window = ["stream", "window", out, "--first", "2", "--out", str(folder / "w.scumble"), "--quiet"]
    shown.append(command(window, folder))
    files = [file.read_bytes() for file in sorted((folder / "out").iterdir())]
    return [*shown, *files, scumble.load(folder / "out").privacy]


_add_streams()
