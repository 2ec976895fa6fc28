"""What stands along bars that are ranges of a number, or times: round numbers and years, where they fall.

Bars are a column's cells, which end where the schema's bounds or a logarithm put them. Nobody reads 4,220 and 17.8k off
an axis; 1k, 10k and 100k lie somewhere within bars, and are written there.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

from scumble.errors import plain_number

MOST = 7
"""Labels that have room along one picture's axis."""
LETTERS, SLANTED = 40, 4
"""Letters that have room along it, side by side; and how many of them a label takes that is slanted."""
_LETTERS = ((1e15, 1.0, ""), (1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"), (0.0, 1.0, ""))
"""From where on a number has a letter, what it is divided by, and the letter."""
_LEAST = 1e-300
"""Where zero has a bar of its own, the next one begins below."""

Range = tuple[float, float]


def along(bars: Sequence[Range], *, log: bool) -> tuple[list[float], list[str]]:
    """Where round numbers stand along bars, each from where to where, and how they are written.

    >>> along([(0.0, 781.25), (781.25, 1562.5)], log=False)
    ([-0.5, 0.14, 0.78, 1.42], ['0', '500', '1000', '1500'])
    >>> along([(1e3, 1e4), (1e4, 1e5), (1e5, 1e6)], log=True)
    ([-0.5, 0.5, 1.5, 2.5], ['1000', '10k', '100k', '1M'])
    >>> along([(0.0, 5e-324), (5e-324, 0.5), (0.5, 5.0), (5.0, 50.0), (50.0, 500.0), (500.0, 5000.0)], log=True)[1]
    ['0', '1', '10', '100', '1000']
    """
    low, high = bars[0][0], bars[-1][1]
    above = [bar for bar in bars if bar[0] > _LEAST]  # zero has no logarithm, nor has what comes after it
    if log and low <= 0.0 and above:
        room = 0.65 * len(bars) / MOST
        values = [low, *(one for one in decades(above[0][0], high) if _place(one, bars, log=True) + 0.5 > room)]
    else:
        values = decades(low, high) if log and low > 0.0 else steps(low, high)
    told = apart(values)
    return [round(_place(value, bars, log=log), 9) for value in values], [told[value] for value in values]


def ends(bars: Sequence[Range]) -> tuple[list[float], list[str]]:
    """Where bars begin and end that somebody has cut, round or not: every one of these, or every second, and so on.

    >>> ends([(-1e6, 0.0), (0.0, 1e3), (1e3, 5e8)])
    ([-0.5, 0.5, 1.5, 2.5], ['-1M', '0', '1000', '500M'])
    """
    values = [bars[0][0], *(high for _, high in bars)]
    told, every = apart(values), math.ceil(len(values) / (MOST + 1))
    return [k - 0.5 for k in range(0, len(values), every)], [told[value] for value in values[::every]]


def clear(
    at: Sequence[float], written: Sequence[str], bars: int, *, slanted: bool = False
) -> tuple[list[float], list[str]]:
    """The labels along so many bars that have room, from the first on: none is printed over another.

    >>> clear([0, 4, 5, 9], ["0", "400M", "500M", "900M"], 10)
    ([0, 4, 9], ['0', '400M', '900M'])
    >>> clear([0, 4, 5, 9], ["0", "400M", "500M", "900M"], 10, slanted=True)
    ([0, 4, 5, 9], ['0', '400M', '500M', '900M'])
    """
    kept: list[tuple[float, str]] = []
    for place, word in zip(at, written, strict=True):
        before, last = kept[-1] if kept else (-math.inf, "")
        if (place - before) * LETTERS / bars >= (SLANTED if slanted else (len(last) + len(word)) / 2 + 1):
            kept.append((place, word))
    return [place for place, _ in kept], [word for _, word in kept]


def steps(low: float, high: float) -> list[float]:
    """Round numbers at equal distances.

    >>> steps(51.2, 51.8), steps(0.0, 99.0)
    ([51.2, 51.3, 51.4, 51.5, 51.6, 51.7, 51.8], [0.0, 20.0, 40.0, 60.0, 80.0])
    """
    size = 10.0 ** math.floor(math.log10((high - low) / MOST))
    step = next(size * k for k in (1, 2, 5, 10, 20) if (high - low) / (size * k) <= MOST + 1e-9)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def decades(low: float, high: float) -> list[float]:
    """Powers of ten, with twos and fives between them where they are few, or threes where that is too much.

    >>> decades(1000.0, 1e7), decades(30.0, 800.0), decades(2.1, 2.4)
    ([1000.0, 10000.0, 100000.0, 1000000.0, 10000000.0], [50.0, 100.0, 200.0, 500.0], [2.1, 2.15, 2.2, 2.25, 2.3, 2.35, 2.4])
    >>> decades(20.0, 50_000.0)
    [30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0, 30000.0]
    """  # noqa: E501  the answer on one line
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    apart = max(1, math.ceil((last - first) / MOST))
    every = range(first, last + 1)
    for powers, parts in ((every[::apart], (1,)), (every, (1,)), (every, (1, 2, 5)), (every, (1, 3))):
        found = [float(f"{part}e{power}") for power in powers for part in parts]
        found = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if 3 < len(found) <= MOST + 1:
            return found
    return steps(low, high)


def years(bars: Sequence[Range]) -> tuple[list[float], list[str]]:
    """Where round years begin along bars of days (ordinals), and their names; none if the bars hold but a few.

    >>> day = lambda year: datetime.date(year, 1, 1).toordinal()
    >>> years([(day(1900), day(1950)), (day(1950), day(2000))])
    ([-0.5, -0.1, 0.3, 0.7, 1.1, 1.5], ['1900', '1920', '1940', '1960', '1980', '2000'])
    """
    first, last = (datetime.date.fromordinal(int(end)).year for end in (bars[0][0], bars[-1][1] - 1))
    if last - first < MOST - 1:
        return [], []
    sizes = (k * 10**power for power in range(5) for k in (1, 2, 5))
    step = next(step for step in sizes if (last - first) / step <= MOST)
    begin = {year: datetime.date(year, 1, 1).toordinal() for year in range(first, min(last + 2, 10_000))}
    found = [year for year in begin if year % step == 0 and bars[0][0] <= begin[year] <= bars[-1][1]]
    return [round(_place(begin[year], bars, log=False), 3) for year in found], [str(year) for year in found]


def days(words: Sequence[str]) -> list[Range] | None:
    """Bars called "2024-01-01 to 2024-01-31" as ordinals, each up to the next day; None if one is called otherwise."""
    try:
        ends = [[datetime.date.fromisoformat(end) for end in word.split(" to ")] for word in words]
        return [(ends_[0].toordinal(), ends_[-1].toordinal() + 1) for ends_ in ends]
    except ValueError:
        return None


def held(bars: Sequence[Range]) -> str:
    """How long the time is that a bar of days holds, if it is more than a day; the first and the last may be cut.

    >>> day = lambda *date: datetime.date(*date).toordinal()
    >>> held([(day(2024, 1, 1), day(2024, 2, 1))]), held([(day(1900, 1, 1), day(1910, 1, 1))])
    ('a bar is a month', 'a bar is 10 years')
    >>> held([(day(1900, 1, 1), day(1901, 11, 22))]), held([(1, 8)]), held([(1, 2)])
    ('a bar is about 1.9 years', 'a bar is a week', '')
    >>> held([(7, 8), (8, 15), (15, 17)])
    'a bar is a week'
    """
    first, end = bars[len(bars) // 2]
    long = end - first
    begins, ends = (datetime.date.fromordinal(int(day)) for day in (first, end))
    if long == 1:
        return ""
    if begins.day == ends.day == 1:
        months = 12 * (ends.year - begins.year) + ends.month - begins.month
        size, unit = (months // 12, "year") if months % 12 == 0 else (months, "month")
    elif long > 1.5 * 365:
        return f"a bar is about {plain_number(long / 365.2425, 2)} years"
    elif long > 60:
        return f"a bar is about {round(long / 30.44)} months"
    else:
        size, unit = (int(long) // 7, "week") if long % 7 == 0 else (int(long), "day")
    return f"a bar is {'a' if size == 1 else size} {unit}{'s' * (size > 1)}"


def _place(value: float, bars: Sequence[Range], *, log: bool) -> float:
    """Where a number stands among bars of width 1, the first around 0."""
    for k, (low, high) in enumerate(bars):
        if value <= high or k == len(bars) - 1:
            if low == high:  # zero's own
                return float(k)
            share = math.log(value / low) / math.log(high / low) if log and low > 0.0 else (value - low) / (high - low)
            return k - 0.5 + share
    raise AssertionError


def apart(numbers: Sequence[float]) -> dict[float, str]:
    """Numbers to three digits, or to as many as tell them apart.

    >>> apart([834434.0, 1.06968e06]), apart([51.28, 51.3])
    ({834434.0: '834k', 1069680.0: '1.07M'}, {51.28: '51.28', 51.3: '51.3'})
    """
    for digits in range(3, 18):
        told = {number: short(number, digits) for number in sorted({*numbers})}
        if len({*told.values()}) == len(told):
            break
    return told


def short(number: float, digits: int = 3) -> str:
    """So many digits, and a letter for thousands.

    >>> [short(number) for number in (-59003.4, 1681.92, 999_999.0, 5e13, 0.125)]
    ['-59k', '1680', '1M', '50T', '0.125']
    """
    rounded = float(f"{number:.{digits}g}")
    _, size, letter = next(row for row in _LETTERS if abs(rounded) >= row[0])
    return f"{rounded / size:.12g}{letter}"
