"""All tables by name: one name, one choice of columns, whatever file it is read from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.tables.data import Known, Table, encoded
from benchmarks.tables.fresh import FRESH
from benchmarks.tables.known import KNOWN
from benchmarks.tables.unseen import FILES, UNSEEN

if TYPE_CHECKING:
    import pandas as pd


def united(*groups: Known) -> Known:
    """All of them; a name that two of them have would stand for one of two tables."""
    names = [name for group in groups for name in group]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"registered twice: {', '.join(sorted(twice))}")
    return {name: group[name] for group in groups for name in group}


TABLES = united(KNOWN, UNSEEN, FRESH)


def path_of(name: str, folder: Path) -> Path:
    """The file of a table, .parquet or else .csv; it may not be there."""
    path = folder / f"{FILES.get(name, name)}.parquet"
    return path if path.exists() else path.with_suffix(".csv")


def read(name: str, folder: Path) -> pd.DataFrame:
    """The file of a table."""
    import pandas as pd

    path = path_of(name, folder)
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, sep=None, engine="python")


def load(name: str, folder: Path) -> Table:
    """A table from its file."""
    return encoded(name, read(name, folder), *TABLES[name])
