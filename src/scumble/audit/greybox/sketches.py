"""Paths of sketches in memory: of points, tables and moments, and streams; every promise and every way to a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import scumble
from scumble import (
    Bundle,
    Category,
    Distinct,
    EuclideanKernel,
    HammingKernel,
    Number,
    Release,
    Schema,
    Share,
    Sketch,
    Tokens,
)
from scumble.audit.greybox import BUDGETS, path
from scumble.audit.greybox.neighbors import CLASSES, THINGS, Table, arrow, by_class, halves, numbers, side
from scumble.audit.report import Options
from scumble.audit.sensitivity import TableMaker
from scumble.counting import ENGINES
from scumble.counting.gpu import driver_present
from scumble.density.sketch import release_disjoint
from scumble.kernels import Kernel, ProductKernel
from scumble.kernels.design import DESIGNS
from scumble.learn.moment_release import MomentSketch
from scumble.learn.moments import ClassMoments, HatMoments, LinearMoments, MomentSpec
from scumble.privacy.budget import Budget

SIZE: Options = {"rows": 6, "buckets": 16, "seed": 3}
"""Small sketches: every mechanism is called as in large ones."""
PLAIN = EuclideanKernel(2.0)
KERNEL = EuclideanKernel(2.0, columns=["x", "y"]) * HammingKernel(columns=["thing"])
COLUMNS = ["x", "y", "thing"]
SCHEMA = Schema(
    x=Number(0, 10, cells=6),
    y=Number(0, 10, cells=4, missing=True),
    thing=Category(tuple(THINGS)),
    label=Category(tuple(CLASSES), other=False, missing=False),
)
STRICT = Schema({**SCHEMA, "x": Number(0, 10, cells=6, missing=True)})
"""No record may be left out because of its content, except for its class."""
DROPPING = Schema({**SCHEMA, "x": Number(2, 8, cells=6, outside="drop")})
TRAITS = ("floats", "missing", "missing things", "labels", "missing labels", "empty")


def ledger_of(folder: Path) -> Options:
    """A ledger with room for all that a path may charge, and the name of its dataset."""
    ledger = scumble.Ledger.create(folder / "town.ledger")
    ledger.open_dataset("d", epsilon=10.0, delta=1e-3)
    return {"ledger": ledger, "dataset": "d"}


def reading(budget: Mapping[str, Any]) -> Options:
    """Unreadable records are dropped; under "replace" they are an error."""
    return {"invalid": "error" if budget.get("neighbors") == "replace" else "drop"}


def gpu_is_there() -> bool:
    """Whether the machine has a GPU that scumble can count on."""
    return driver_present() and find_spec("cupy") is not None


# ---- every kind of sketch ----


def points(table: Table, **options: Any) -> Sketch:
    """A small sketch of a table's numbers."""
    return empty(**options).update(numbers(table))


def empty(**options: Any) -> Sketch:
    """The same before the first record."""
    return Sketch(PLAIN, dimensions=2, **{**SIZE, "design": "iid", "invalid": "drop", **options})


def left_open(what: str, table: Table | None, **options: Any) -> Sketch:
    """A sketch that leaves open how many rows or how coarse a grid, but small; without a table, an empty one."""
    grid = what == "a grid"
    given: Options = {"bounds": (0.0, 10.5), "design": "grid"} if grid else {"buckets": 4, "design": "iid"}
    made = Sketch(PLAIN, dimensions=2, **given)
    small: Options = {"shape": (12, 12), "buckets": 144} if grid else {"rows": 32}
    sketch = Sketch.from_spec(replace(made.spec, **small), planned=made.planned, **{"invalid": "drop", **options})
    return sketch if table is None else sketch.update(numbers(table))


def tabled(table: Table, schema: Schema | None = None, **options: Any) -> scumble.TableSketch:
    """A sketch of a table."""
    chosen = STRICT if options.get("invalid") == "error" else SCHEMA
    return scumble.TableSketch(schema or chosen, **{"invalid": "drop", **options}).update(arrow(table))


def moments(spec: Callable[[bool], MomentSpec], table: Table, budget: Options, engine: str = "auto") -> MomentSketch:
    """Moments of a table; those for pure ε and for Gaussian noise differ."""
    chosen = spec(not any(budget.get(word) for word in ("delta", "rho", "mu")))
    y = np.array([record["z"] for record in table], float)
    if isinstance(chosen, ClassMoments):
        y = np.array([record["label"] == CLASSES[1] for record in table], np.int64)
    return MomentSketch(chosen, engine=engine).update(numbers(table), y)


_BOX, _BALL = ((0.0, 0.0), (10.0, 10.0)), ((-5.0, -5.0), (5.0, 5.0))
MOMENTS: dict[str, Callable[[bool], MomentSpec]] = {
    "linear moments": lambda pure: LinearMoments(_BOX, None, pure, 1.0, (0.0, 10.0)),
    "hats": lambda pure: HatMoments(_BOX, None, pure, (0.0, 10.0), 3),
    "placed hats": lambda pure: HatMoments(_BOX, None, pure, (0.0, 10.0), ((0.0, 1.0, 2.5), (3.0, 8.0))),
    "moments of classes": lambda pure: ClassMoments(_BOX, None, pure, 1.0, len(CLASSES)),
    "unit linear moments": lambda pure: LinearMoments(_BALL, None, pure, 0.5, (0.0, 10.0), ball=True),
    "unit moments": lambda pure: ClassMoments(_BALL, None, pure, 0.5, len(CLASSES), ball=True),
}
Make = Callable[..., Any]
"""From a table, and a budget, to a sketch."""
KINDS: dict[str, Make] = {
    "Sketch": lambda table, budget: points(table, **reading(budget)),
    "Sketch(rows open)": lambda table, budget: left_open("rows", table, **reading(budget)),
    "Sketch(grid open)": lambda table, budget: left_open("a grid", table, **reading(budget)),
    "TableSketch": lambda table, budget: tabled(table, **reading(budget)),
    "TableSketch(target)": lambda table, budget: tabled(table, target="label", **reading(budget)),
    **{name: partial(moments, spec) for name, spec in MOMENTS.items()},
}


def _released(table: Table, folder: Path, make: Make, **budget: Any) -> object:
    return make(table, budget).release(**budget)


def _charged(table: Table, folder: Path, make: Make) -> object:
    return make(table, {}).release(epsilon=1.0, **ledger_of(folder))


def _kept(table: Table, folder: Path, make: Make) -> list[object]:
    sketch, charged = make(table, {}), ledger_of(folder)
    return [sketch.release(epsilon=1.0, keep=True, **charged), sketch.release(epsilon=0.5, delta=1e-6, **charged)]


def _saved(table: Table, folder: Path, make: Make) -> object:
    make(table, {}).save(folder / "part.secret")
    return scumble.load_secret(folder / "part.secret", invalid="drop").release(epsilon=1.0)


def _merged(table: Table, folder: Path, make: Make) -> object:
    return scumble.merge([make(part, {}) for part in halves(table)]).release(epsilon=1.0, count_share=0)


def _merged_in_place(table: Table, folder: Path, make: Make) -> object:
    one, two = (make(part, {}) for part in (table[::2], table[1::2]))
    return one.merge(two).release(epsilon=1.0, delta=1e-6)


ROUTES = {"saved": _saved, "merged": _merged, "merged in place": _merged_in_place, "released twice": _kept}
for _kind, _make in KINDS.items():
    _moments = _kind in MOMENTS
    _some = None if _kind == "Sketch" else 4 if _moments else 6
    _takes = ("floats",) if _moments else TRAITS
    _strict: Options = {"strict": True} if _moments else {}
    path(f"{_kind}.release, {{}}", *_takes, each=BUDGETS, few=_some, **_strict)(partial(_released, make=_make))
    for _name, _route in ({"charged": _charged} if _moments else ROUTES).items():
        path(f"{_kind}, {_name}", *_takes, few=4, **_strict)(partial(_route, make=_make))
TOKENS = Tokens(["t", "a", "rop", "i"], 2, separator="e")
TABLES: dict[str, Options] = {
    "together": {"together": [("x", "y", "thing")], "important": ["x"]},
    "distinct": {"schema": Schema({"x": STRICT["x"], "thing": Distinct(), "y": STRICT["y"]})},
    "tokens": {"schema": Schema({"x": STRICT["x"], "thing": TOKENS})},
}
"""Sketches of tables with more than levels and pairs."""
for _name, _options in TABLES.items():
    path(f"TableSketch({_name}).release, {{}}", *TRAITS, each=BUDGETS, few=6)(
        partial(_released, make=lambda table, budget, options=_options: tabled(table, **options, **reading(budget)))
    )
FOUND: dict[str, Options] = {
    "rare": {"epsilon": 1.0, "delta": 1e-9},
    "pure": {"epsilon": 40.0, "delta": 1e-9},
    "gaussian replace": {"epsilon": 80.0, "delta": 1e-9, "neighbors": "replace"},
    "persons": {"epsilon": 120.0, "delta": 1e-9, "records_per_person": 3},
}
"""With a large ε seven records are enough for a word. A word of one person's goes out once in 10⁹ runs."""


@path("TableSketch(words).release, {}", *TRAITS, each=FOUND, few=3)
def _found(table: Table, folder: Path, **budget: Any) -> object:
    schema = Schema({"thing": Category(discover=True), "x": STRICT["x"], "y": STRICT["y"]})
    tabled(table, schema, **reading(budget)).save(folder / "part.secret")
    return scumble.load_secret(folder / "part.secret", **reading(budget)).release(**budget)


for _name, _spec in MOMENTS.items():
    for _engine in ("cpu", "gpu") if gpu_is_there() else ("cpu",):
        _make = partial(moments, _spec, engine=_engine)
        path(f"{_name}, engine {_engine}", "floats", few=2, strict=True)(
            partial(_released, make=_make, **BUDGETS["gaussian"])
        )


# ---- sketches of points ----


@path("Sketch.start_with_noise, {}", *TRAITS, each=BUDGETS)
def _noise_first(table: Table, folder: Path, **budget: Any) -> Release:
    return empty(**reading(budget)).start_with_noise(**budget).update(numbers(table)).release()


def shares(table: Table, custodians: int = 3, dropouts: int = 0, **budget: Any) -> list[Share]:
    """Shares of custodians, all but those who are missing; a record itself says who has it."""
    came = custodians - dropouts
    size = {"rows": 6 if budget.get("delta", 0.0) == 0.0 else 40, **reading(budget)}  # Gaussian shares must be wide
    parts = [[record for record in table if side(record, came) == k] for k in range(came)]
    return [points(part, **size).release_share(custodians=custodians, dropouts=dropouts, **budget) for part in parts]


DROPOUTS = {f"{name}, {k} of 3 may be missing": {**BUDGETS[name], "dropouts": k} for name in BUDGETS for k in (0, 1)}


@path("Sketch.release_share, {}", "floats", each=DROPOUTS)
def _shares(table: Table, folder: Path, **options: Any) -> Release:
    return scumble.combine(shares(table, **options))


@path("TableSketch.release_share, {}", "floats", "labels", each=BUDGETS, few=4)
def _shares_of_tables(table: Table, folder: Path, **budget: Any) -> scumble.TableRelease:
    parts = [[record for record in table if side(record, 3) == k] for k in range(3)]
    named: Options = {"pairs": [("x", "thing")], "together": [("x", "y", "thing")], **reading(budget)}
    return scumble.combine([tabled(part, **named).release_share(custodians=3, **budget) for part in parts])


SHAPES: dict[str, Options] = {
    **{f"design {design}": {"design": design} for design in DESIGNS},
    **{f"engine {engine}": {"engine": engine} for engine in ENGINES if engine != "gpu" or gpu_is_there()},
    "design grid": {"design": "grid", "bounds": (0.0, 10.0), "rows": None, "buckets": [4, 4]},
    "design auto": {"design": "auto", "bounds": (0.0, 10.0), "rows": None, "buckets": None},
}


@path("Sketch.release, {}", *TRAITS, each=SHAPES)
def _shaped(table: Table, folder: Path, **options: Any) -> Release:
    return points(table, **options).release(epsilon=1.0)


def _kernels() -> dict[str, Options]:
    """Every kernel that there is."""
    kinds = [kind for kind in Kernel.registry.values() if kind is not ProductKernel]
    return {kind.__name__: {"kind": kind} for kind in kinds if kind.__module__.startswith("scumble.")}


@path("Sketch.release, {}", "floats", "missing", "labels", "empty", each=_kernels())
def _kernel(table: Table, folder: Path, kind: Any) -> Release:
    """A record becomes a hostile one of what the kernel reads, as a function of its own cells."""
    try:
        kernel = kind()
    except TypeError:
        kernel = kind(1.0)
    seeds = [sum(repr(sorted(record.items(), key=str)).encode()) for record in table]
    maker = TableMaker(kernel)
    spec = maker.spec(rows=5, buckets=16, seed=1, design="iid")
    hostile = maker.table([TableMaker(kernel, seed).record() for seed in seeds])
    return Sketch.from_spec(spec, invalid="drop").update(hostile).release(epsilon=1.0)


# ---- several releases ----


def each_class(table: Table, **budget: Any) -> list[Release]:
    """A release of each class."""
    return [points(part).release(**{"epsilon": 1.0, **budget}) for part in by_class(table)]


@path("merge of disjoint releases", "floats", "labels")
def _merged_releases(table: Table, folder: Path) -> Release:
    return scumble.merge(each_class(table), disjoint=True)


@path("Release.merge of disjoint releases", "floats", "labels")
def _merged_method(table: Table, folder: Path) -> Release:
    one, two = each_class(table, delta=1e-3)
    return one.merge(two, disjoint=True)


@path("merge of releases of one table, overlapping", "floats")
def _merged_one_table(table: Table, folder: Path) -> Release:
    return scumble.merge([points(table).release(epsilon=1.0) for _ in range(3)], disjoint=False)


@path("release_disjoint, one sketch per class", "floats", "labels", people=3)
def _disjoint(table: Table, folder: Path) -> Bundle:
    released = release_disjoint(list(map(points, by_class(table))), Budget(1.0, records_per_person=3))
    return Bundle(dict(zip(CLASSES, released, strict=True)), label="label")


@path("release_disjoint, classes with rows left open", "labels", few=4)
def _disjoint_open(table: Table, folder: Path) -> list[Release]:
    return release_disjoint([left_open("rows", part) for part in by_class(table)], Budget(1.0), refined=True)


@path("Bundle of releases made one by one", "floats", "labels")
def _bundle(table: Table, folder: Path) -> Bundle:
    Bundle(dict(zip(CLASSES, each_class(table), strict=True))).save(folder / "b.scumble")
    return Bundle.load(folder / "b.scumble")


# ---- tables ----


VIEWS: dict[str, Options] = {
    "few levels": {"levels": 2},
    "outside dropped": {"schema": DROPPING},
    "no count": {"count_share": 0},
    "singles only": {"n": 2},
    "chosen pairs": {"levels": 3, "n": 1500},
    "all pairs": {"n": 10**7},
}


@path("TableSketch.release, {}", *TRAITS, few=6, each=VIEWS)
def _views(table: Table, folder: Path, **options: Any) -> object:
    given = {name: options.pop(name) for name in ("n", "count_share") if name in options}
    return tabled(table, **options).release(epsilon=1.0, **given)


# ---- streams ----

PERIODS = 5
STREAM: Options = {"columns": COLUMNS, "periods": PERIODS, **SIZE, "design": "iid"}


def arrivals(table: Table, period: int, shift: int = 0) -> Table:
    """The records of a period, by their own bytes."""
    return [record for record in table if (side(record, 1000) + shift) % PERIODS == period]


def played(
    table: Table,
    home: Path | None = None,
    *,
    adaptive: bool = False,
    update: Mapping[str, Any] | None = None,
    **stream: Any,
) -> list[object]:
    """A whole stream: all that it publishes, and its claim. With `home`, a file, it is resumed before every period.

    If `adaptive`, what was published on one day has a say in the data of the next (``continual.proof.md``).
    """
    live = scumble.Stream(KERNEL, **{**STREAM, "invalid": "drop", **stream})
    out: list[object] = []
    rest, shift = list(table), 0
    if home is not None:
        live.save(home)
    for period in range(PERIODS):
        if home is not None:
            live.close()
            live = scumble.load_stream(home)
        mine = arrivals(rest, period, shift) if period + 1 < PERIODS or not adaptive else rest
        rest = [record for record in rest if not any(record is one for one in mine)]
        live.update(arrow(mine), batch=f"day {period}", **(update or {}))
        release = live.close_period(period + 1)
        out.append(release.to_bytes())
        if adaptive:
            shift += int(release.counts.sum()) % PERIODS
    out += [live.window(2).to_bytes(), live.period(3).to_bytes(), live.total(upto=2).to_bytes()]
    out += [live.window(first=2, last=4).to_bytes(), live.close_period(1).to_bytes()]
    return [*out, live.privacy]


def _streams() -> dict[str, Options]:
    """Every method under every promise that it can keep; "daily" is a release like any other."""
    found: dict[str, Options] = {}
    for name, money in BUDGETS.items():
        methods = ["auto", *(["toeplitz"] if {"delta", "rho"} & set(money) else [])]
        methods += ["bridge"] if "epsilon" in money else []
        methods += ["daily"] if name in ("pure", "gaussian persons") else []
        found |= {f"{name}, {method}": {**money, "method": method} for method in methods}
    return found


@path("Stream, {}", "floats", few=2, each=_streams())
def _stream(table: Table, folder: Path, **options: Any) -> list[object]:
    if options.get("neighbors") != "replace":
        return played(table, adaptive=options["method"] == "auto", **options)
    # Every period's number of records is public, so a record arrives by its place in the table.
    stream = scumble.Stream(KERNEL, **STREAM, **options)
    return closed(stream, lambda day: stream.update(arrow(table[day::PERIODS])))


def closed(stream: Any, arrive: Callable[[int], object]) -> list[object]:
    """What is published after each day, and the claim."""
    out = []
    for day in range(PERIODS):
        arrive(day)
        out.append(stream.close_period().to_bytes())
    return [*out, stream.privacy]


FILED: dict[str, Options] = {
    "resumed from its file": {"delta": 1e-3, "count_share": 0.1},
    "bridge resumed from its file": {"method": "bridge"},
    "bad rows left out by each update": {"invalid": "error", "update": {"invalid": "drop"}},
    "a ledger and OpenDP": {"backend": "opendp", "charge": True},
}
OWNED: dict[str, Options] = {"persons": {"delta": 1e-3, "person_column": "who", "records_per_person": 3}}


@path("Stream, {}", "floats", "missing", few=3, each=FILED)
@path("Stream, {}", "persons", few=4, each=OWNED)
def _filed(table: Table, folder: Path, charge: bool = False, **options: Any) -> list[object]:
    if charge:
        book = ledger_of(folder)["ledger"]
        book.open_dataset("days", epsilon=1.0)
        options |= {"ledger": book, "dataset": "days"}
    found = played(table, folder / "s.secret", adaptive=True, folder=folder / "out", epsilon=1.0, **options)
    return [*found, *(file.read_bytes() for file in sorted((folder / "out").iterdir()))]
