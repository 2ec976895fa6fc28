"""Dates as people write them: the format is part of the schema, and the same cell has the same level everywhere."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import scumble
from scumble.errors import ParameterError

FORMATS = ["%m/%d/%Y", "%d.%m.%Y", "%d %b %Y", "%B %d, %Y", "%Y%m%d", "%d-%m-%y"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_is_read_as_strftime_writes_it(format: str) -> None:
    column = scumble.Date("2019-01-01", "2025-12-31", cells="day", missing=True, format=format)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=17 * number) for number in range(60)]
    wanted = column.encode(days).codes
    written = [day.strftime(format) for day in days]
    held: list[Any] = [
        *(written, np.array(written, object), np.array(written), pd.Series(written, dtype="category")),
        pa.chunked_array([written[:7], written[7:]]),
        pa.array(written).dictionary_encode(),
        [day.isoformat() for day in days],
        pa.array(days),
    ]
    for cells in held:
        np.testing.assert_array_equal(column.encode(cells).codes, wanted)
    np.testing.assert_array_equal(column.numbers(written), column.numbers(days))


def test_times_of_a_format() -> None:
    column = scumble.Date("2024-01-01", "2024-01-02", resolution="minute", cells=2880, format="%m/%d/%Y %I:%M %p")
    found = column.encode(["1/1/2024 12:05 am", "01/01/2024 1:00 PM", "01/02/2024 11:59 pm"]).codes
    assert found.tolist() == [5, 13 * 60, 2879]


@pytest.mark.parametrize("cell", ["31/01/2024", "01/32/2024", "1/2/24", "01/02/2024 x", "13:00", "٠١/٠٢/٢٠٢٤", b"\xff"])
def test_other_text_is_missing(cell: Any) -> None:
    column = scumble.Date("2019-01-01", "2025-12-31", missing=True, format="%m/%d/%Y")
    assert column.encode([cell, "01/02/2024"]).codes[0] == column.size - 1
    assert not scumble.Date("2019", "2025", format="%m/%d/%Y").encode([cell]).valid.any()


def test_half_of_the_day_needs_an_hour_up_to_twelve() -> None:
    column = scumble.Date("2024-01-01", "2024-01-02", resolution="hour", format="%Y-%m-%d %I %M %p")
    assert column.encode(["2024-01-01 13 00 pm", "2024-01-01 0 00 am", "2024-01-01 12 00 am"]).codes.tolist() == [
        -1,
        -1,
        0,
    ]


def test_two_digits_of_a_year_are_read_as_posix_does() -> None:
    column = scumble.Date("1960-01-01", "2070-12-31", cells="year", format="%d.%m.%y")
    assert [column.levels[code][:4] for code in column.encode(["1.1.69", "1.1.68"]).codes] == ["1969", "2068"]


def test_a_month_alone_counts_on_its_first_day() -> None:
    column = scumble.Date("2024-01-01", "2024-12-31", cells="day", format="%m/%Y")
    month, day = column.encode(["02/2024", "2024-02-01"]).codes
    assert month == day


@pytest.mark.parametrize("format", ["%d/%m", "%Q %Y", "%m/%d/%Y %m", "%H %I %Y", "%Y-%d-%m", "", 3, ["%Y"]])
def test_formats_that_are_none_are_refused(format: Any) -> None:
    with pytest.raises(ParameterError):
        scumble.Date("2020", "2025", format=format)


def test_files_keep_a_format() -> None:
    schema = scumble.Schema(seen=scumble.Date("2020-01-01", "2025-12-31", format="%m/%d/%Y"))
    assert scumble.Schema.from_dict(schema.to_dict()) == schema
    assert scumble.Schema(seen=scumble.Date("2020-01-01", "2025-12-31")) != schema
