"""``results.json``: every row of every experiment, each with the run it comes from."""

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
    results = {"runs": runs, "data": {name: sum_ for name, sum_ in sets.items() if sum_}, "rows": rows}
    _write(path, results)
    return results


def read(path: Path = PATH) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def _key(row: Row) -> str:
    return Task(**{field: row[field] for field in FIELDS[:5]}, options=tuple(row["options"].items())).key


def _checksum(dataset: str) -> str | None:
    """Of the table behind a row; None for data that an experiment makes up itself."""
    return data.checksum(data.load(dataset)) if data.known(dataset) else None


def _write(path: Path, results: dict[str, Any]) -> None:
    """One row a line, so that a difference between two runs can be read; all or nothing."""
    head = ",\n".join(
        f'"{name}": {json.dumps(results[name], ensure_ascii=False, indent=1)}' for name in ("runs", "data")
    )
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in results["rows"])
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(f'{{\n{head},\n"rows": [\n{rows}\n]\n}}\n', "utf-8")
    os.replace(unfinished, path)
