"""What the measurements read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.plans import tables


@pytest.mark.parametrize(("head", "row", "columns"), [("age", "{0}.5", 1), ("a;b", "{0};{0}", 2), ("a,b", "x,{0}", 1)])
def test_tables_of_one_column_and_of_any_delimiter_are_read(tmp_path: Path, head: str, row: str, columns: int) -> None:
    (tmp_path / "t.csv").write_text("\n".join([head, *(row.format(k) for k in range(50))]) + "\n")
    ((name, numbers),) = tables(tmp_path)
    assert name == "t" and numbers.shape == (50, columns)
    np.testing.assert_allclose(numbers.std(axis=0), 1.0)
