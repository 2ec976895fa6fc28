"""Small synthetic tables with the columns of the paper's ten: for `make paper-quick`, which needs no data.

They show that everything runs, and nothing about how well.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.paper.data import BOUNDS

ROWS, SEED = 3_000, 20201116


def write(folder: Path) -> None:
    """All ten tables, as Parquet files."""
    rng = np.random.default_rng(SEED)
    for name, make in TABLES.items():
        make(rng).to_parquet(folder / f"{name}.parquet")


def _clouds(rng: np.random.Generator, columns: list[str], low: np.ndarray, high: np.ndarray) -> pd.DataFrame:
    """Two clouds, one for each label, within the bounds."""
    label = rng.integers(0, 2, ROWS)
    centers = rng.uniform(0.3, 0.7, (2, len(columns)))
    unit = np.clip(centers[label] + rng.normal(0.0, 0.08, (ROWS, len(columns))), 0.0, 1.0)
    return pd.DataFrame(low + unit * (high - low), columns=columns).assign(label=label)


def _salaries(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame({"salary": np.clip(rng.gamma(9.0, 8_000.0, ROWS), 20_000.0, 240_000.0)})


def _skin(rng: np.random.Generator) -> pd.DataFrame:
    frame = _clouds(rng, ["B", "G", "R"], np.zeros(3), np.full(3, 255.0))
    return frame.round().astype(int).assign(label=frame["label"] + 1)


def _codrna(rng: np.random.Generator) -> pd.DataFrame:
    frame = _clouds(rng, [f"f{i}" for i in range(1, 9)], np.full(8, -5.0), np.full(8, 5.0))
    return frame.assign(label=2 * frame["label"] - 1)


def _nomao(rng: np.random.Generator) -> pd.DataFrame:
    frame = _clouds(rng, [f"v{i}" for i in range(1, 26)], np.zeros(25), np.ones(25))
    return frame.assign(label=2 * frame["label"] - 1)


def _bounded(name: str, rng: np.random.Generator) -> pd.DataFrame:
    low, high = np.array(list(BOUNDS[name].values()), float).T
    return _clouds(rng, list(BOUNDS[name]), low, high)


def _linear(rng: np.random.Generator, columns: list[str], target: str) -> pd.DataFrame:
    X = rng.normal(size=(ROWS, len(columns)))
    y = X @ rng.normal(size=len(columns)) / np.sqrt(len(columns)) + rng.normal(0.0, 0.3, ROWS)
    return pd.DataFrame(X, columns=columns).assign(**{target: y})


def _gas(rng: np.random.Generator) -> pd.DataFrame:
    frame = _linear(rng, [f"f{i}" for i in range(1, 129)], "concentration")
    return frame.assign(
        concentration=100.0 * np.exp(frame["concentration"] / 3.0), gas=1 + np.arange(ROWS) % 6, batch=1
    )


TABLES = {
    "nyc": _salaries,
    "sf": _salaries,
    "skin": _skin,
    "codrna": _codrna,
    "nomao": _nomao,
    "occupancy": lambda rng: _bounded("occupancy", rng),
    "pulsar": lambda rng: _bounded("pulsar", rng),
    "airfoil": lambda rng: _linear(
        rng, ["frequency", "angle_of_attack", "chord_length", "velocity", "thickness"], "target"
    ),
    "naval": lambda rng: _linear(rng, [f"f{i}" for i in range(1, 17)], "compressor_decay"),
    "gas": _gas,
}
