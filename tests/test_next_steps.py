"""What is said to whoever makes a mistake: numbers as people write them, near names, and what to do next."""

from __future__ import annotations

import traceback

import pytest

import scumble
from scumble import Date, Number, Schema
from scumble.sources.tableadvice import between_years
from scumble.tabular.estimate import Estimate


def test_numbers_in_sentences_are_written_as_people_write_them() -> None:
    (told,) = between_years(Schema(seen=Date("1789-01-01", "2020-12-31", cells=64)))
    assert "64 cells of about 1,320 days" in told
    assert str(Estimate(12_640_237.0, 1000.0, 1e6, 1.0)) == "12,640,200 (1,000 to 1,000,000)"
    assert Number(-10_000_000, 5e12).words() == "-10,000,000 to 5,000,000,000,000"
    assert Number(1870, 2009, whole=True).words() == "1870 to 2009", "a year has no comma"


def test_python_adds_no_guess_of_its_own_to_the_name_of_a_method() -> None:
    release = scumble.TableSketch(Schema(x=Number(0, 9))).update({"x": [1]}).release(1.0)
    with pytest.raises(AttributeError) as caught:
        release.median("x")
    told = traceback.format_exception_only(caught.value)[-1].strip()
    assert told.endswith("or [0.1, 0.9].") and "Did you mean" not in told
