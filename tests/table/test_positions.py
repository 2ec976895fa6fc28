"""Where in their cells values lie is counted: sums are exact up to noise, and a record still adds one to each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble import TableSketch
from scumble.columns.cuts import Positions
from scumble.columns.number import Number
from scumble.table.spec import TableSpec

NUMBERS = {
    "linear": Number(0, 300_000),
    "log": Number(0, 300_000, scale="log"),
    "positive log": Number(0.5, 2000.0, scale="log", cells=7),
    "negative": Number(-50.0, 120.0, cells=9, zeros=True),
    "whole": Number(-20, 5000, whole=True),
    "whole and few": Number(0, 20, whole=True, cells=5),
    "whole log": Number(0, 100_000, whole=True, scale="log"),
    "given edges": Number(edges=[0, 1, 10, 11, 500.5]),
    "missing": Number(0, 7, cells=3, missing=True),
    "outside": Number(0, 7, cells=3, outside="drop"),
}
HOSTILE = [0.0, -0.0, 1e-300, 5e-324, 1e300, -1e300, np.nextafter(300_000.0, 0), 300_000, 0.1 + 0.2, 41.9, -20, 2**53]


def positions_of(column: Number) -> Positions:
    assert column.positions is not None
    return column.positions


@pytest.mark.parametrize("name", NUMBERS)
@settings(max_examples=15, deadline=None)
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(HOSTILE), min_size=1, max_size=5)
)
def test_each_record_adds_one_to_one_counter_of_every_row(name: str, values: list[float]) -> None:
    """Hence, for every neighbor: adding moves each row by one, replacing by two at most."""
    sketch = TableSketch(scumble.Schema(x=NUMBERS[name], y=scumble.Boolean()), invalid="drop")
    before = sketch.secret.counts.copy()
    for value in values:
        sketch.update({"x": [value], "y": [True]})
        moved = np.split(sketch.secret.counts - before, np.cumsum(sketch.spec.lengths)[:-1])
        taken = sketch.count - before[: sketch.spec.lengths[0]].sum()
        assert all((row >= 0).all() and row.sum() == row.max() == taken for row in moved)
        before = sketch.secret.counts.copy()
    digits = positions_of(NUMBERS[name]).digits
    assert sketch.spec.placed == tuple((0, digit) for digit in range(digits)) and sketch.spec.rows == 3 + digits


def test_a_cell_without_a_number_has_the_first_counter() -> None:
    spec = TableSpec.of({"x": NUMBERS["missing"]})
    (codes, _), *_ = spec.schema.find({"x": [None, 7.0]}, positions=spec.placed)
    assert codes[:, 1:].tolist() == [[0, 0], [8, 8]]


def told_by_counters(column: Number, values: np.ndarray) -> tuple[float, float]:
    """The sum of some values by exact counters, and half the sum of the steps that they lie in."""
    spec = TableSpec.of({"x": column})
    sketch = TableSketch.from_spec(spec).update({"x": values})
    rows = np.split(sketch.secret.counts, np.cumsum(spec.lengths)[:-1])
    positions, (*digits, cells) = positions_of(column), rows
    found = float(cells[: len(positions.start)] @ positions.start)
    off = 0.0
    for kind in range(len(positions.steps)):
        for row, distance in zip(digits, positions.distances(kind), strict=False):
            found += float(row[1 + 8 * kind :][: len(distance)] @ distance)
            assert not row[1 + 8 * kind + len(distance) : 9 + 8 * kind].any()
        own = float(digits[0][1 + 8 * kind : 9 + 8 * kind].sum())
        found += (len(digits) == 1) * own * positions.distances(kind)[1][0]
        whole = positions.whole and positions.widths[kind] == 1
        off += 0.0 if whole else own * positions.widths[kind] / 2
    return found, off


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in ("missing", "outside")])
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_the_counters_tell_the_sum_to_half_a_step(name: str, spread: float) -> None:
    column = NUMBERS[name]
    rng = np.random.default_rng(3)
    low, high = column.limits if column.scale == "linear" else (max(column.low or 0.0, 1e-3), column.high)
    assert low is not None and high is not None
    values = low + (high - low) * rng.random(2000) ** spread
    values = np.floor(values) if column.whole else values
    found, off = told_by_counters(column, values)
    assert abs(found - values.sum()) <= off * (1 + 1e-9) + 1e-6
    assert off <= 2000 * (high - low) / 128 and (name != "whole and few" or off == 0)


def test_round_values_are_told_to_half_a_step_too() -> None:
    """All on the lower edges of cells, or just below the upper ones: no better and no worse than half a step."""
    for values in (np.arange(0.0, 300_000.0, 5000.0), np.arange(5000.0, 300_001.0, 5000.0) - 1e-6):
        found, off = told_by_counters(NUMBERS["linear"], values)
        assert off == pytest.approx(len(values) * 5000 / 128, rel=0.02)
        assert abs(found - values.sum()) <= off * (1 + 1e-6)


def test_classes_of_cells_are_alike_in_width() -> None:
    for column in NUMBERS.values():
        positions = positions_of(column)
        for kind in range(len(positions.steps)):
            own = positions.longest[positions.kind == kind]
            assert own.max() <= 2.1 * own.min() + 1
    assert Number(17, 90, whole=True).positions is None


# ---- means ----


def incomes(seed: int, rounded: float) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    town = rng.choice(8, 200_000, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.06, 0.05, 0.04])
    income = np.minimum(np.exp(rng.normal(10.6, 0.6, 200_000)) * (1 + 0.06 * town), 300_000)
    income = np.round(income / rounded) * rounded if rounded else income
    return {"town": np.array([f"t{k}" for k in range(8)])[town], "income": income}, town, income


@pytest.mark.parametrize(("scale", "rounded"), [("linear", 1000.0), ("log", 0.0)])
def test_the_mean_of_200_000_incomes(scale: str, rounded: float) -> None:
    """A truth is farther than three half-widths from the answer once in some 10⁷ times (Student's t, 31 degrees)."""
    table, town, income = incomes(1, rounded)
    towns = scumble.Category([f"t{k}" for k in range(8)], other=False, missing=False)
    schema = scumble.Schema(town=towns, income=Number(0, 300_000, scale=scale))
    release = TableSketch(schema).update(table).release(epsilon=1.0)
    found, truth = release.mean("income"), income.mean()
    half = (found.high - found.low) / 2
    assert half <= (0.005 if scale == "linear" else 0.01) * truth and abs(found.value - truth) <= 3 * half
    by = release.mean("income", by="town")
    truths = np.array([income[town == k].mean() for k in range(8)])
    halves = ((by["high"] - by["low"]) / 2).to_numpy()
    assert (halves <= (0.015 if scale == "linear" else 0.03) * truths).all()
    assert (np.abs(by["value"] - truths) <= 3 * halves).all()
    rows = release.sample(50_000, random_state=0)
    assert rows["income"].mean() == pytest.approx(truth, rel=0.03)  # ten standard errors


def test_synthetic_values_are_multiples_of_the_step_in_their_own_cells() -> None:
    rng = np.random.default_rng(0)
    money, quarters = Number(0, 300_000, step=0.01), Number(-1, 1, cells=7, step=0.25)
    for column in (money, quarters, Number(0, 5000, whole=True, step=5)):
        codes = rng.integers(0, column.size, 3000)
        values = np.array(column.decode(codes, rng).to_pylist(), float)
        np.testing.assert_array_equal(column.encode(values).codes, codes)
        steps, (low, high) = values / column.step, column.cuts.extremes  # type: ignore[operator]
        possible = np.floor(high / column.step) >= np.ceil(low / column.step)  # type: ignore[operator]
        off = np.abs(steps - np.rint(steps)) > 1e-6
        assert not off[possible[codes]].any() and possible.mean() > 0.9
        assert Number.from_dict(column.to_dict() | {"kind": "number"}, "x") == column
    for wrong, whole in ((0, False), (-1, False), (3, False), ("x", False), (np.inf, False), (0.5, True)):
        with pytest.raises(scumble.ParameterError):
            Number(0, 2, whole=whole, step=wrong)  # type: ignore[arg-type]


def test_without_positions_the_interval_allows_for_all_of_a_cell() -> None:
    """As in older files, which have none."""
    table, _, income = incomes(2, 0.0)
    spec = TableSpec.of({"income": Number(0, 300_000)}, positions=False)
    release = TableSketch.from_spec(spec).update({"income": table["income"]}).release(epsilon=1.0)
    found = release.mean("income")
    assert found.low <= income.mean() <= found.high and found.high - found.low > 2000
    placed = TableSpec.of({"income": Number(0, 300_000)})
    assert "positions" not in spec.to_dict() and placed.to_dict()["positions"] is True
    assert all(TableSpec.from_dict(one.to_dict()) == one for one in (spec, placed))
    with pytest.raises(scumble.MergeError):
        TableSketch.from_spec(placed).merge(TableSketch.from_spec(spec))
    with pytest.raises(scumble.errors.CorruptFileError):
        TableSpec.from_dict(placed.to_dict() | {"positions": 1})
