"""The paper's data sets, for benchmarks: a folder of Parquet files, never part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def load(name: str) -> pd.DataFrame:
    """Data set `name` from the folder in SCUMBLE_DATA, or from the one beside the project."""
    folder = Path(os.environ.get("SCUMBLE_DATA", BESIDE))
    path = folder / f"{name}.parquet"
    if not path.exists():
        raise SystemExit(f"There is no {name}.parquet in {folder}. Hint: set SCUMBLE_DATA to the folder that holds it.")
    return pd.read_parquet(path)
