"""Text with a title above its header: what is said of it."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import scumble
from scumble.cli import main
from scumble.sources import open_source

TITLED = (
    "The names are taken from the first line, and the next has more cells, as below a title. "
    "Hint: remove what stands above the names of the columns."
)


@pytest.mark.parametrize("blank", ["", "\n", "\n\n"])
def test_a_title_above_the_header_of_a_text_is_seen(blank: str, tmp_path: Path) -> None:
    """Wherever it would show: in a name that is not there, in a line that is too long, in a draft."""
    path = tmp_path / "people.csv"
    path.write_text(f'People, 2024\n{blank}age,town,"a\nb"\n30,Ulm,1\n')
    told = f"There is no column 'age' in {path}. {TITLED}"
    with pytest.raises(scumble.DataError, match=f"^{re.escape(told)}$"):
        open_source(path).require(["age"])
    with pytest.raises(scumble.DataError, match=f"has 3 cells where the header has 2. {re.escape(TITLED)}$"):
        list(open_source(path).pieces({"People": "number"}))
    path.write_text("age,town,c\n30,Ulm\n")  # too few cells below are no sign of a title
    assert not open_source(path).titled and not open_source(pa.table({"age": [1]})).titled
    path.write_text("age\n")
    assert not open_source(path).titled


def test_a_title_gets_no_draft(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.csv"
    path.write_text("People\nage,town\n30,Ulm\n")
    assert main(["schema", str(path)]) == 4
    told = capsys.readouterr()
    assert told.err == f"scumble: {path} seems to have a title above its header. {TITLED}\n" and not told.out
