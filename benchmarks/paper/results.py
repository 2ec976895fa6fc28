"""``results.json``: every row of every experiment, each with the run it comes from.

``fields`` names the places of a row; numbers have six digits, more than ten repetitions can tell.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.paper import data
from benchmarks.paper.runner import HERE, Journal, Row
from benchmarks.paper.task import Task

PATH = HERE / "results.json"
FIELDS = ("experiment", "dataset", "method", "epsilon", "repetition", "options", "result", "seconds", "cpu", "run")


def write(path: Path, journal: Journal, tasks: Iterable[Task]) -> dict[str, Any]:
    """The rows of all `tasks`: from the journal, or kept from what is in the file already."""
    before = read(path) if path.exists() else {"runs": {}, "rows": [], "data": {}}
    kept = {_key(row): row for row in before["rows"]}
    rows = []
    for task in tasks:
        row = journal.rows.get(task.key) or kept.get(task.key)
        if row is not None:
            rows.append({field: row[field] for field in FIELDS})
    used = {row["run"] for row in rows}
    runs = {name: facts for name, facts in {**before["runs"], **journal.runs}.items() if name in used}
    sets = {name: before["data"].get(name) or _checksum(name) for name in sorted({row["dataset"] for row in rows})}
    _write(path, {"runs": runs, "data": {name: sum_ for name, sum_ in sets.items() if sum_}}, rows)
    return read(path)


def read(path: Path = PATH) -> dict[str, Any]:
    """`runs`, `data`, and the `rows` as dictionaries."""
    found = json.loads(path.read_text("utf-8"))
    found["rows"] = [dict(zip(found["fields"], row, strict=True)) for row in found["rows"]]
    return found


def _key(row: Row) -> str:
    return Task(**{field: row[field] for field in FIELDS[:5]}, options=tuple(row["options"].items())).key


def _checksum(dataset: str) -> str | None:
    """Of the table behind a row; None for synthetic data of the experiment itself."""
    return data.checksum(data.load(dataset)) if data.known(dataset) else None


def _write(path: Path, facts: dict[str, Any], rows: list[Row]) -> None:
    """One row per line, so a difference between two runs can be read; all or nothing."""
    head = [f'"{name}": {json.dumps(value, ensure_ascii=False, indent=1)}' for name, value in facts.items()]
    head.append(f'"fields": {json.dumps(FIELDS)}')
    lines = ",\n".join(json.dumps([_short(row[field]) for field in FIELDS], ensure_ascii=False) for row in rows)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text("{\n" + ",\n".join(head) + f',\n"rows": [\n{lines}\n]\n}}\n', "utf-8")
    os.replace(unfinished, path)


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value
