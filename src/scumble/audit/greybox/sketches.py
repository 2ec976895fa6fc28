"""Paths of `Sketch`: every kernel, design, engine and promise; files, merges, shares, and noise that comes first."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import scumble
from scumble import Bundle, EuclideanKernel, HammingKernel, PersonLimit, Release, Share, Sketch
from scumble.audit.greybox.neighbors import Table
from scumble.audit.greybox.paths import BUDGETS, SIZE, add, path, promise_of
from scumble.audit.tables import TableMaker
from scumble.counting import ENGINES
from scumble.counting.gpu import driver_present
from scumble.design import DESIGNS
from scumble.kernels import Kernel, ProductKernel
from scumble.privacy.budget import Budget
from scumble.privacy.calibration import calibrate
from scumble.releasing.selection import noisy_best
from scumble.sketch import release_disjoint

KERNEL = EuclideanKernel(2.0)


def numbers(table: Table) -> np.ndarray:
    """x and y as an array of float64."""
    return np.array([[_number(record["x"]), _number(record["y"])] for record in table], float).reshape(-1, 2)


def _number(cell: Any) -> float:
    return float("nan") if cell is None else float(cell)


def sketch_of(table: Table, **options: Any) -> Sketch:
    """A small sketch of a table's numbers, unreadable records dropped."""
    return _empty(**options).update(numbers(table))


def _empty(**options: Any) -> Sketch:
    return Sketch(KERNEL, dimensions=2, **{**SIZE, "design": "iid", "invalid": "drop", **options})


# ---- each promise, design, engine and kernel ----


def _add_promises() -> None:
    for name, budget in BUDGETS.items():
        exact = budget.get("neighbors") == "replace"  # then unreadable records are an error, not dropped
        invalid = {"invalid": "error"} if exact else {}

        def plain(
            table: Table, folder: Path, budget: dict[str, Any] = budget, invalid: dict[str, Any] = invalid
        ) -> Release:
            return sketch_of(table, **invalid).release(**budget)

        def first(
            table: Table, folder: Path, budget: dict[str, Any] = budget, invalid: dict[str, Any] = invalid
        ) -> Release:
            return _empty(**invalid).start_with_noise(**budget).update(numbers(table)).release()

        traits = ("floats",) if exact else ("floats", "missing", "empty")
        promise = {**promise_of(budget), "strict": exact}
        add(f"Sketch.release, {name}", plain, *traits, **promise)
        add(f"Sketch.start_with_noise, {name}", first, *traits, **promise)
        for dropouts in (0, 1):

            def shares(
                table: Table, folder: Path, budget: dict[str, Any] = budget, dropouts: int = dropouts
            ) -> Release:
                return scumble.combine(_shares(table, 3, dropouts, **budget))

            add(f"Sketch.release_share, {name}, {dropouts} of 3 may be missing", shares, "floats", **promise)


def _add_shapes() -> None:
    shapes: dict[str, dict[str, Any]] = {f"design {design}": {"design": design} for design in DESIGNS}
    shapes["design grid"] = {"design": "grid", "bounds": (0.0, 10.0), "rows": None, "buckets": [4, 4]}
    shapes["design auto"] = {"design": "auto", "bounds": (0.0, 10.0), "rows": None, "buckets": None}
    shapes["no count"] = {"count_share": 0}
    shapes["opendp"] = {"backend": "opendp", "rows": 2, "buckets": 4}
    for engine in ENGINES:
        if engine != "gpu" or gpu_is_there():
            shapes[f"engine {engine}"] = {"engine": engine}
    for name, options in shapes.items():
        release: dict[str, Any] = {key: options[key] for key in ("count_share", "backend") if key in options}
        rest = {key: value for key, value in options.items() if key not in release}

        def run(table: Table, folder: Path, rest: dict[str, Any] = rest, release: dict[str, Any] = release) -> Release:
            return sketch_of(table, **rest).release(epsilon=1.0, **release)

        few = {"opendp": 2, "design auto": 6}.get(name)  # the slow ones
        add(f"Sketch.release, {name}", run, "floats", "missing", "empty", few=few)


def gpu_is_there() -> bool:
    """Whether the machine has a GPU that scumble can count on."""
    return driver_present() and find_spec("cupy") is not None


def _add_kernels() -> None:
    """Every kernel that there is, on tables of what it reads (:class:`scumble.audit.tables.TableMaker`)."""
    for kind in Kernel.registry.values():
        if kind is ProductKernel or not kind.__module__.startswith("scumble."):
            continue
        maker = TableMaker(_kernel(kind))

        def run(table: Table, folder: Path, maker: TableMaker = maker) -> Release:
            # The record's place in the usual table, or what it has of its own, says which hostile record it becomes.
            records = [_hostile(maker, record) for record in table]
            spec = maker.spec(rows=5, buckets=16, seed=1, design="iid")
            return Sketch.from_spec(spec, invalid="drop").update(maker.table(records)).release(epsilon=1.0)

        add(f"Sketch.release, {kind.__name__}", run, "floats", "missing", "labels", "empty")


def _kernel(kind: type[Kernel]) -> Kernel:
    try:
        return kind()
    except TypeError:
        return kind(1.0)  # type: ignore[arg-type, call-arg]


def _hostile(maker: TableMaker, record: dict[str, Any]) -> dict[str, Any]:
    """A record of the maker's, hostile or not, as a function of the given one alone."""
    own = TableMaker(maker.kernel, seed=sum(repr(sorted(record.items(), key=str)).encode()))
    return own.record()


# ---- odd cells, in every container that can hold them ----


def _cells(table: Table) -> list[Any]:
    return [record["cell"] for record in table]


def _object_array(cells: list[Any]) -> np.ndarray:
    out = np.empty(len(cells), object)
    for k, cell in enumerate(cells):
        out[k] = cell
    return out


def _pandas_column(cells: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame({"cell": pd.Series(_object_array(cells), dtype=object)})


def _pandas_own_choice(cells: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame({"cell": cells})


def _masked(cells: list[Any]) -> Any:
    """A masked array of times, cells of other types masked."""
    times = [cell if isinstance(cell, np.datetime64) else np.datetime64("2020-10-25T00:00:00", "ns") for cell in cells]
    hidden = [not isinstance(cell, np.datetime64) for cell in cells]
    return {"cell": np.ma.MaskedArray(np.array(times, "datetime64[ns]"), mask=hidden)}


CONTAINERS = {
    "an array of objects": lambda cells: {"cell": _object_array(cells)},
    "rows in a list": lambda cells: [[cell] for cell in cells],
    "pandas objects": _pandas_column,
    "pandas as it likes": _pandas_own_choice,
    "a masked array of times": _masked,
}
"""What tables of odd cells may be kept in."""


def _add_containers() -> None:
    for invalid in ("drop", "error"):
        for name, container in CONTAINERS.items():

            def run(table: Table, folder: Path, container: Any = container, invalid: str = invalid) -> Release:
                sketch = Sketch(HammingKernel(), columns=["cell"], **SIZE, invalid=invalid)
                held = container(_cells(table))
                return sketch.update(held).release(epsilon=1.0)

            add(f"Sketch.update, {name}, invalid={invalid!r}", run, "odd", strict=invalid == "error")


@path("PersonLimit.keep, odd names", "odd", strict=True)
def _person_limit_odd(table: Table, folder: Path) -> Release:
    """Odd cells as names: records come in two batches, the second the other way round; two of each person pass."""
    limit, sketch = PersonLimit(2), _empty()
    for batch in range(2):
        names, seen = _cells(table)[:: -1 if batch else 1], Counter[str]()
        places = []
        for name in names:
            places.append((float(batch), float(seen[repr(name)])))
            seen[repr(name)] += 1
        sketch.update(np.array(places)[limit.keep(_object_array(names))])
    return sketch.release(epsilon=1.0, records_per_person=2)


@path("PersonLimit.keep, replace", "persons", neighbors="replace", forbidden=True)
def _person_limit_replace(table: Table, folder: Path) -> Release:
    kept = PersonLimit(1).keep([record["who"] for record in table])
    return _empty(invalid="error").update(numbers(table)[kept]).release(epsilon=1.0, neighbors="replace")


# ---- files and merges ----


@path("Sketch.save, load_secret, release", "floats", "missing", "empty")
def _saved(table: Table, folder: Path) -> Release:
    sketch_of(table).save(folder / "part.secret")
    return scumble.load_secret(folder / "part.secret", invalid="drop").release(epsilon=1.0)


@path("merge of two sketches, then release", "floats", "missing", "empty")
def _merged_sketches(table: Table, folder: Path) -> Release:
    return scumble.merge([sketch_of(table[::2]), sketch_of(table[1::2])]).release(epsilon=1.0)


@path("Sketch.merge, then release", "floats", "missing")
def _merged_in_place(table: Table, folder: Path) -> Release:
    return sketch_of(_by(table, "bus")).merge(sketch_of(_by(table, "car"))).release(epsilon=1.0)


def _by(table: Table, label: str) -> Table:
    return [record for record in table if record["label"] == label]


@path("merge of disjoint releases", "floats", "labels")
def _merged_releases(table: Table, folder: Path) -> Release:
    parts = [sketch_of(_by(table, label)).release(epsilon=1.0) for label in ("bus", "car")]
    return scumble.merge(parts, disjoint=True)


@path("Release.merge of disjoint releases", "floats", "labels")
def _merged_method(table: Table, folder: Path) -> Release:
    one, two = (sketch_of(_by(table, label)).release(epsilon=1.0, delta=1e-3) for label in ("bus", "car"))
    return one.merge(two, disjoint=True)


@path("Release.merge of releases of one table, overlapping", "floats")
def _merged_method_overlapping(table: Table, folder: Path) -> Release:
    return sketch_of(table).release(epsilon=1.0).merge(sketch_of(table).release(epsilon=0.5), disjoint=False)


@path("merge of releases of one table, overlapping", "floats")
def _merged_overlapping(table: Table, folder: Path) -> Release:
    return scumble.merge([sketch_of(table).release(epsilon=1.0) for _ in range(3)], disjoint=False)


@path("merge of three releases of one table, without a word about it", forbidden=True)
def _merged_wordless(table: Table, folder: Path) -> Release:
    return scumble.merge([sketch_of(table).release(epsilon=1.0) for _ in range(3)])


@path("merge of releases without a person in common", "labels", people=3)
def _merged_persons(table: Table, folder: Path) -> Release:
    """Who is in which part is a matter of the person."""
    parts = []
    for k in range(2):
        mine = [record for record in table if sum(repr(record["who"]).encode()) % 2 == k]
        parts.append(sketch_of(mine).release(epsilon=1.0, records_per_person=3))
    return scumble.merge(parts, disjoint="persons")


@path("Sketch.release, twice from a ledger", "floats")
def _kept(table: Table, folder: Path) -> list[Release]:
    ledger = ledger_of(folder)
    sketch = sketch_of(table)
    first = sketch.release(epsilon=1.0, ledger=ledger, dataset="d", keep=True)
    return [first, sketch.release(epsilon=0.5, delta=1e-6, ledger=ledger, dataset="d")]


def ledger_of(folder: Path) -> scumble.Ledger:
    """A ledger with room for all that a path may charge to dataset "d"."""
    ledger = scumble.Ledger.create(folder / "town.ledger")
    ledger.open_dataset("d", epsilon=10.0, delta=1e-3)
    return ledger


@path("release_disjoint, one sketch a class", "floats", "labels", people=3)
def _bundled(table: Table, folder: Path) -> Bundle:
    sketches = [sketch_of(_by(table, label)) for label in ("bus", "car")]
    releases = release_disjoint(sketches, Budget(1.0, records_per_person=3))
    return Bundle(dict(zip(("bus", "car"), releases, strict=True)), label="label")


@path("Bundle of releases made one by one", "floats", "labels")
def _bundle(table: Table, folder: Path) -> Bundle:
    bundle = Bundle({label: sketch_of(_by(table, label)).release(epsilon=1.0) for label in ("bus", "car")})
    bundle.save(folder / "b.scumble")
    return Bundle.load(folder / "b.scumble")


# ---- noise first, and noise once ----


@path(
    "noise first, saved and loaded, with invalid='drop' under replace",
    "missing",
    neighbors="replace",
    strict=True,
    forbidden=True,
)
def _noise_first_reloaded(table: Table, folder: Path) -> Release:
    _empty(invalid="error").start_with_noise(epsilon=1.0, neighbors="replace").save(folder / "s.secret")
    sketch = scumble.load_secret(folder / "s.secret", invalid="drop")
    return sketch.update(numbers(table)).release()


@path("noise first, loaded twice, each with a part of the table", "labels", forbidden=True)
def _noise_first_twice(table: Table, folder: Path) -> list[Release]:
    _empty().start_with_noise(epsilon=1.0).save(folder / "s.secret")
    return [
        scumble.load_secret(folder / "s.secret").update(numbers(_by(table, label))).release()
        for label in ("bus", "car")
    ]


@path("noise first, released live and from its file", forbidden=True)
def _noise_first_live(table: Table, folder: Path) -> list[Release]:
    sketch = _empty().start_with_noise(epsilon=1.0).update(numbers(table[:5]))
    sketch.save(folder / "s.secret")
    live = sketch.update(numbers(table[5:])).release()
    return [live, scumble.load_secret(folder / "s.secret").release()]


def _shares(table: Table, custodians: int, dropouts: int, **budget: Any) -> list[Share]:
    """Shares of custodians who have the records in turn; all but those who are missing."""
    came = custodians - dropouts
    options = {"rows": 6} if budget.get("delta", 0.0) == 0.0 else {"rows": 40}  # Gaussian shares must be wide enough
    exact = {"invalid": "error"} if budget.get("neighbors") == "replace" else {}
    return [
        sketch_of(_turn(table, came, k), **options, **exact).release_share(
            custodians=custodians, dropouts=dropouts, **budget
        )
        for k in range(came)
    ]


def _turn(table: Table, custodians: int, k: int) -> Table:
    """The k-th custodian's records: a function of each record alone."""
    return [record for record in table if sum(repr(record["y"]).encode()) % custodians == k]


@path("Share.from_sum: secure aggregation", "floats")
def _secure(table: Table, folder: Path) -> Release:
    shares = _shares(table, 3, 0, epsilon=1.0)
    total = np.sum([share.payload for share in shares], axis=0, dtype=np.uint64)
    return shares[0].from_sum(total, arrived=3)


@path("shares and noise first, charged to a ledger", "floats", few=3)
def _charged(table: Table, folder: Path) -> list[Release]:
    options: dict[str, Any] = {"ledger": ledger_of(folder), "dataset": "d", "count_share": 0.2}
    shares = [sketch_of(_turn(table, 2, k)).release_share(epsilon=1.0, custodians=2, **options) for k in range(2)]
    first = _empty(rows=2, buckets=4).start_with_noise(epsilon=1.0, backend="opendp", **options)
    return [scumble.combine(shares), first.update(numbers(table)).release()]


@path("shares through files, combined", "floats")
def _shares_in_files(table: Table, folder: Path) -> Release:
    for k, share in enumerate(_shares(table, 3, 0, epsilon=1.0)):
        share.save(folder / f"{k}.share")
    return scumble.combine(scumble.load_share(folder / f"{k}.share") for k in range(3))


@path("shares of 20, then of all 21, combined", forbidden=True)
def _combined_twice(table: Table, folder: Path) -> list[Release]:
    came = [sketch_of(_turn(table, 21, k)).release_share(epsilon=1.0, custodians=21, dropouts=1) for k in range(21)]
    return [scumble.combine(came[:20]), scumble.combine(came)]


# ---- choosing ----


@path("learn.noisy_best", "floats", "labels")
def _best(table: Table, folder: Path) -> list[Any]:
    scores = [len(_by(table, "bus")), len(_by(table, "car")), len(table)]
    winner = noisy_best(scores, epsilon=0.5, monotone=True)
    price = calibrate(1, epsilon=0.5, count_share=0).claim
    return [str(winner), price, sketch_of(table).release(epsilon=0.5)]


_add_promises()
_add_shapes()
_add_kernels()
_add_containers()
