"""A column within another, and cells that it has no word for."""

from __future__ import annotations

import pytest

import scumble
from scumble.columns.column import UNFORESEEN


@pytest.mark.parametrize("words", [{"Ulm": "BW"}, {"Ulm": "BW", "Bonn": "NRW"}], ids=["one word", "two words"])
def test_a_word_that_is_unknown_leaves_its_record_out_however_few_there_are(words: dict[str, str]) -> None:
    closed = {"other": False, "missing": False}
    schema = scumble.Schema(
        town=scumble.Category([*words], within="state", parents=words, **closed),
        state=scumble.Category([*words.values()], **closed),
    )
    table = {"town": ["Ulm", "Rome", None], "state": ["BW", "BW", "BW"]}
    found = schema.encode(table, invalid="drop")
    assert found.dropped.tolist() == [False, True, True] and found.codes[0].tolist() == [0, 0]
    assert found.codes[1].tolist() == [UNFORESEEN, UNFORESEEN]
    assert scumble.TableSketch(schema, invalid="drop").update(table).count == 1
