"""A synthetic table, its schema, and its exact views by pandas: what the tests of tables have in common."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd

import scumble
from scumble.table.spec import TableSpec

SCHEMA = scumble.Schema(
    age=scumble.Number(17, 90, whole=True),
    sex=scumble.Category(["Female", "Male"]),
    hours=scumble.Number(0, 100, cells=20, missing=True),
    seen=scumble.Date("2024-01-01", "2024-12-31"),
    smoker=scumble.Boolean(),
)


def people(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    """Records with correlated columns."""
    rng = np.random.default_rng(seed)
    age = rng.integers(17, 91, n)
    sex = rng.choice(["Female", "Male", "other"], n, p=[0.5, 0.45, 0.05])
    hours = np.clip(rng.normal(42 - 8 * (sex == "Female"), 9, n), 0, 100)
    hours[rng.random(n) < 0.05] = np.nan
    days = rng.integers(0, 366, n)
    seen = [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(day)) for day in days]
    return pd.DataFrame(
        {"age": age, "sex": sex, "hours": hours, "seen": seen, "smoker": rng.random(n) < 0.1 + 0.4 * (age > 60)}
    )


def by_pandas(spec: TableSpec, frame: pd.DataFrame) -> np.ndarray:
    """All counters of a table, by pandas' own counts of its levels: another way than any of ours."""
    codes = spec.schema.encode(frame, invalid="drop")
    levels = pd.DataFrame(codes.codes[~codes.dropped], columns=list(spec.schema))
    hours = frame["hours"][~codes.dropped].to_numpy(float).clip(0, 100)
    steps = np.minimum((hours - 5 * np.minimum(hours // 5, 19)) * 64 / 5, 63) // 1  # cells are five hours wide
    for digit in (steps // 8, steps % 8):
        levels[f"digit {len(levels.columns)}"] = np.where(np.isnan(digit), 0, 1 + np.nan_to_num(digit)).astype(int)
    rows: list[Any] = []
    for view, shape in zip(spec.views, spec.shapes, strict=True):
        own = [j for j in view if j != spec.place]
        places = ([spec.place] if spec.place is not None else []) + own
        cells = [levels.iloc[:, j] for j in places]
        if len(own) > 1:
            for k, axis in zip(range(-len(own), 0), spec.axes_of(tuple(own)), strict=True):
                cells[k] = cells[k].map(dict(enumerate(axis)))
        found = np.zeros(shape, np.int64)
        for cell, count in pd.concat(cells, axis=1).value_counts().items():
            found[cell] = count
        rows.append(found.ravel())
    return np.concatenate(rows)
