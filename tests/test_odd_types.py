"""Arrow types that some of Arrow's own functions do not take: no record decides whether they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import scumble
from scumble.errors import CuratorWarning
from scumble.sources import Build

TOWNS = {"sound": ["a", "b", "a", "b"], "unknown": ["a", "zz", "a", "b"], "missing": ["a", None, "NA", "b"]}
KINDS: dict[str, Any] = {
    "views of text": lambda cells: pa.array(cells, pa.string_view()),
    "views of bytes": lambda cells: pa.array([cell and cell.encode() for cell in cells], pa.binary_view()),
    "runs": lambda cells: pc.run_end_encode(pa.array(cells, pa.string())),
    "a dictionary of views": lambda cells: pa.DictionaryArray.from_arrays(
        pa.array([None if cell is None else k for k, cell in enumerate(cells)], pa.int8()),
        pa.array([cell or "" for cell in cells], pa.string_view()),
    ),
}


def _table(town: pa.Array, who: pa.Array) -> pa.Table:
    return pa.table({"town": town, "who": who, "age": pa.array([1.0, 2.0, 3.0, 4.0])})


def _counters(source: object, **options: Any) -> np.ndarray:
    schema = scumble.Schema(town=scumble.Category(["a", "b"], other=False, missing=False), age=scumble.Number(0, 10))
    tally = Build(source, schema=schema, epsilon=1.0, **options).count()
    return np.array(tally.sketches[0].secret.counts)


@pytest.mark.parametrize("cells", TOWNS.values(), ids=TOWNS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("person", [{}, {"person_column": "who"}], ids=["records", "persons"])
def test_they_are_counted_as_plain_text_is(kind: Any, cells: list[Any], person: dict[str, Any], tmp_path: Path) -> None:
    plain = _counters(_table(pa.array(cells), pa.array(["p", "p", "q", "r"])), **person)
    odd = _table(kind(cells), kind(["p", "p", "q", "r"]))
    with pa.ipc.new_file(tmp_path / "odd.arrow", odd.schema) as file:
        file.write_table(odd)
    for source in (odd, str(tmp_path / "odd.arrow")):
        assert np.array_equal(_counters(source, **person), plain)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_classes_and_categories(kind: Any, tmp_path: Path) -> None:
    """Of a frame of polars' that was written as an Arrow file, for one."""
    odd = _table(kind(TOWNS["unknown"]), kind(TOWNS["missing"]))
    with pa.ipc.new_file(tmp_path / "odd.arrow", odd.schema) as file:
        file.write_table(odd)
    size: dict[str, Any] = {"rows": 4, "buckets": 8, "epsilon": 1.0}
    for source in (odd, str(tmp_path / "odd.arrow")):
        with pytest.warns(CuratorWarning):
            scumble.build_by(
                source, scumble.EuclideanKernel(1.0), ["age"], label="town", classes=["a", "b"], bounds=(0, 10), **size
            )
            scumble.build(source, scumble.HammingKernel(), columns=["who", "town"], **size)
