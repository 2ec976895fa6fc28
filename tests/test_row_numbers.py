"""A column that holds the numbers of rows, as pandas and R write it, is never counted unasked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble.cli import main
from scumble.columns.schema import Schema
from scumble.errors import DataError

TOWN = pd.DataFrame({"age": np.arange(40.0), "income": np.linspace(10, 90, 40)})


@pytest.fixture
def town(tmp_path: Path) -> Path:
    TOWN.to_csv(tmp_path / "town.csv")
    return tmp_path / "town.csv"


def test_a_build_refuses_it_before_anything_is_spent(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = town.with_name("town.scumble")
    build = ["build", str(town), "--bandwidth", "5", "--epsilon", "1", "--out", str(out)]
    assert main(build) == 4
    assert "--columns age,income" in capsys.readouterr().err
    assert not out.exists()
    assert main([*build, "--columns", "age,income"]) == 0
    assert scumble.load(out).spec.columns == ("age", "income")


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__", " "])
def test_whoever_wrote_it(name: str) -> None:
    table = TOWN.assign(**{name: np.arange(40.0)})
    with pytest.raises(DataError, match="row numbers"):
        scumble.build(table, kernel=scumble.EuclideanKernel(5.0), epsilon=1.0)


def test_a_draft_leaves_it_out_and_says_so(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = town.with_name("draft.toml")
    assert main(["schema", str(town), "--out", str(draft)]) == 0
    assert "Left out" in capsys.readouterr().err
    text = draft.read_text()
    assert "[columns.age]" in text and '[columns.""]' not in text
    draft.write_text(text.replace('kind = "<?>"', 'kind = "number"\nlow = 0\nhigh = 100'))
    assert list(Schema.load(draft)) == ["age", "income"]
    assert main(["build", str(town), "--schema", str(draft), "--epsilon", "1", "--out", str(town) + ".scumble"]) == 0
