"""Drafts of schemas: names and types are known; bounds and vocabularies must not be read off the table.

A curator may look at the table herself. What the look finds stands in comments next to the blanks, for her eyes alone:
what she copies from there is covered by no budget.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from scumble.columns import cells, clock
from scumble.columns.category import Boolean
from scumble.columns.column import BLANK
from scumble.columns.schema import HEADER, check_name, in_toml, key_of
from scumble.errors import many, parameter
from scumble.files.lazy_modules import pa, pt

_HOW = f"""\
# Replace {BLANK!r} with what is known in advance, never with a value looked up in the table.
# Delete the columns that nobody will ask about: each of them takes a part of the budget.
# kind = "number": low = 0, high = 100; optional: whole = true, cells = 50, edges = [0, 18, 100], outside = "drop",
#   scale = "log" for incomes and other long tails, decimal = "," for 1.234,50 €
# kind = "date": low = "2020-01-01", high = "2025-12-31"; optional: cells = "month" (or year, quarter, week, day).
#   Dates are read as ISO 8601, 2020-01-31 or 2020-01-31T12:30, and as format = "%m/%d/%Y" says
# kind = "category": values = ["one", "another"]; other words share a level, "(other)", unless other = false.
#   For a district within a region: within = "region", parents = {{ Ulm = "BW", Bonn = "NRW" }}
# kind = "boolean": no settings
# All kinds: missing = true if cells may be empty (the default for a category). Unreadable cells then count as missing;
#   missing_words = ["-", "999"] says what else stands for an empty cell
"""
_UNTYPED = """\
# Kinds are blank because the table declares no types, as in a CSV file. Write them here, or set them for many columns
#   at once with scumble schema --numbers, --whole, --dates, --booleans, --categories.
"""
_NUMBER = [f'low = "{BLANK}"  # the smallest value possible', f'high = "{BLANK}"  # the largest value possible']

_DATE = [
    f'low = "{BLANK}"  # the earliest possible, such as 2020-01-01',
    f'high = "{BLANK}"  # the latest possible, such as 2030-01-01',
]


def draft(
    columns: Mapping[str, pa.DataType | None] | pa.Schema,
    seen: Mapping[str, Words] | None = None,
    *,
    decimal: str = ".",
    known: Mapping[str, Mapping[str, object]] | None = None,
) -> str:
    """A schema file for a table whose names and types are known.

    Parameters
    ----------
    columns : mapping or pyarrow.Schema
        The Arrow type of each column by name, or None where the source has no types, as in CSV.
    seen : mapping, optional
        What a `look` at the table found in each column: then the draft has suggestions, and is as secret as the table.
    decimal : {".", ","}
        The decimal mark of the numbers seen.
    known : mapping, optional
        Settings of columns that are known already.

    Returns
    -------
    str
        TOML with blanks, which `Schema.load` refuses until they are filled in.

    Examples
    --------
    >>> print(draft({"smoker": pa.bool_(), "age": pa.int32()}).split("empty cell\\n")[1].strip())
    [columns.smoker]
    kind = "boolean"
    <BLANKLINE>
    [columns.age]
    kind = "number"
    whole = true
    low = "<?>"  # the smallest value possible
    high = "<?>"  # the largest value possible
    """
    if isinstance(columns, pa.Schema):
        columns = dict(zip(columns.names, columns.types, strict=True))
    if not isinstance(columns, Mapping) or not columns:
        raise parameter("columns", "a type, or None, for each column by its name", columns)
    blocks = []
    for name, kind in columns.items():
        lines = _filled(_lines(kind) if seen is None else suggested(seen[name], kind, decimal), (known or {}).get(name))
        blocks.append("\n".join([f"[columns.{key_of(check_name(name))}]", *lines, ""]))
    untyped = _UNTYPED if any(f'kind = "{BLANK}"' in block for block in blocks) and seen is None else ""
    return "\n".join([("" if seen is None else SECRET) + HEADER + _HOW + untyped, *blocks])


def _filled(lines: Sequence[str], known: Mapping[str, object] | None) -> list[str]:
    """The lines of a column with what is known of it instead of blanks."""
    if not known:
        return [*lines]
    own = [f"{key} = {in_toml(value)}" for key, value in known.items()]
    if {"low", "values", "discover"} & {*known}:
        return own
    kept = [line for line in lines if line.partition(" = ")[0] not in known]
    return [*own, *kept] if "kind" in known else [*kept[:1], *own, *kept[1:]]


def _lines(kind: pa.DataType | None) -> list[str]:
    if kind is None:
        return [f'kind = "{BLANK}"  # "number", "date", "category" or "boolean", and its settings as above']
    while pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
        kind = kind.value_type
    if pt.is_boolean(kind):
        return ['kind = "boolean"']
    if pt.is_integer(kind):
        return ['kind = "number"', "whole = true", *_NUMBER]
    if pt.is_floating(kind) or pt.is_decimal(kind):
        return ['kind = "number"', *_NUMBER]
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return ['kind = "date"', *_DATE]
    return ['kind = "category"', f'values = ["{BLANK}"]  # every word possible; others share a level, "(other)"']


# ---- a look at the table ----

Words = Counter[str]
"""How often each text is in a column; missing cells count as empty text. Secret."""
SECRET = """\
# SECRET until its comments are gone: "seen" tells what is in the records, for your eyes alone. No budget covers what
# you copy from there, nor the kinds, formats and words for missing cells. Keep what anybody could know in advance.
"""
ROWS = 100_000
"""Rows that are looked at."""
MOST_OF = 0.9
"""The share of cells that must be readable for a column to be of a kind."""
CODES = 0.01
"""The share of cells with a zero before other digits from which a column holds codes, not numbers."""
LISTED, NAMES = 30, 0.5
"""The most words that are shown, and the share of words that are different where most records have a word each."""
EACH = 10
"""The most rows of a person on average, and how many times as many the one with the most of them has."""
EPOCH = datetime.datetime(1970, 1, 1)
_GAPS = {
    *("-", "--", "?", ".", "n/a", "na", "none", "nan", "null", "nil", "unknown", "missing"),
    *("unbekannt", "k.a.", "#n/a"),
}
_DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%Y/%m/%d"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")


def look(batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> dict[str, Words]:
    """What the first rows of a table hold: as secret as the table.

    >>> look([pa.record_batch({"town": ["Ulm", "Ulm", None]})], ["town"])["town"].most_common()
    [('Ulm', 2), ('', 1)]
    """
    found: dict[str, Words] = {name: Counter() for name in columns}
    rows = 0
    for batch in batches:
        for name, counted in found.items():
            texts, places = cells.texts(batch.column(batch.schema.names.index(name)))
            named = [(text or b"").decode(errors="replace").strip() for text in texts]
            counted.update(named[place] for place in places.tolist())
        if (rows := rows + batch.num_rows) >= ROWS:
            break
    return found


_SEEN = re.compile(r"seen: about (\S+)")


def answer_seen(lines: Sequence[str]) -> tuple[str, str] | None:
    """The question of `scumble schema` that what was seen of a column answers, and round bounds around it.

    >>> answer_seen(['kind = "number"', "whole = true", "low = 0  # seen: about 18", "high = 0  # seen: about 92"])
    ('whole', '0:100')
    >>> answer_seen(['kind = "date"', "low = 0  # seen: about 1931-05", "high = 0  # seen: about 2003-12"])
    ('dates', '1930:2009')
    """
    kind, ends = lines[0].partition("#")[0].strip(), [found[1] for line in lines if (found := _SEEN.search(line))]
    if len(ends) != 2:
        return None
    if kind == 'kind = "date"':
        first, last = (int(end[:4]) // 10 * 10 for end in ends)
        return "dates", f"{first}:{last + 9}"
    low, high = (_rounder(float(end), upper=upper) for upper, end in enumerate(ends))
    low = 0.0 if 0 < low < high / 2 else low
    return "whole" if "whole = true" in lines else "numbers", f"{low:.12g}:{high if high > low else low + 1:.12g}"


def format_of(text: str) -> str | None:
    """The format in which the last day of 2024 is written so, or that is given itself; None for ISO 8601.

    >>> format_of("31.12.2024"), format_of("12/31/24 14:30"), format_of("%d.%m.%Y"), format_of("2024-12-31")
    ('%d.%m.%Y', '%m/%d/%y %H:%M', '%d.%m.%Y', None)
    """
    if "%" in text:
        clock.pattern_of(text)
        return text
    day = (datetime.datetime(2024, 12, 31) - EPOCH).days
    for format in (None, *(one + time for time in _TIMES for one in _DAYS)):
        found = _reader(format)(text)
        if found is not None and found // 86_400 == day:
            return format
    must = "the last day of 2024 as the table writes it, or a format"
    raise parameter("date_format", must, text, '"31.12.2024" or "%d.%m.%Y".')


def _rounder(number: float, *, upper: int) -> float:
    """The next of 1, 2, 5, 10, 20, … away from the other bound."""
    if not number:
        return 0.0
    power = 10.0 ** math.floor(math.log10(abs(number)))
    steps = [step * power for step in (1, 2, 5, 10)]
    outward = (number > 0) == bool(upper)
    found = min(s for s in steps if s >= abs(number)) if outward else max(s for s in steps if s <= abs(number))
    return math.copysign(found, number)


def likely_persons(held: Words) -> bool:
    """Whether values are many and repeat evenly, as the numbers or names of persons with several rows each do.

    >>> likely_persons(Counter(f"P{k % 40}" for k in range(100))), likely_persons(Counter(f"P{k}" for k in range(100)))
    (True, False)
    """
    mean = held.total() / max(len(held), 1)
    return len(held) >= LISTED and 1 < mean <= EACH and max(held.values()) <= EACH * mean


PERSONS = "perhaps whose record it is, for --person-column"
"""What is said of a column whose values may be persons."""


def suggested(seen: Words, kind: pa.DataType | None, decimal: str) -> list[str]:
    """The lines of a column: its kind, and what is seen next to each blank."""
    if kind is not None and (cells.is_text(kind) or pt.is_dictionary(kind)):
        kind = None  # text may hold anything
    gaps = [word for word in seen if word.lower() in _GAPS]
    held = Counter({word: often for word, often in seen.items() if word and word not in gaps})
    missing = ["missing = true"] if held.total() < seen.total() else []
    words_for_nothing = [f"missing_words = {in_toml(sorted(gaps))}"] if gaps else []
    missing += words_for_nothing
    if not held:
        return [*_lines(kind), "# seen: nothing"]
    boolean = pt.is_boolean(kind) if kind is not None else False
    odd = [word for word in held if kind is None and not Boolean().encode([word]).valid[0]]
    if kind is None and not any(math.isfinite(_number(word)) for word in odd):  # 0, 1 and 2 are numbers
        boolean = sum(held[word] for word in odd) <= (1 - MOST_OF) * held.total()
    if boolean:
        return ['kind = "boolean"', *missing]
    if kind is None or pt.is_date(kind) or pt.is_timestamp(kind):
        formats = [None] if kind is not None else [None, *(day + time for time in _TIMES for day in _DAYS)]
        reads = {format: _share(held, _reader(format)) for format in formats}
        best = max(reads, key=reads.__getitem__)
        if reads[best] >= MOST_OF:
            also = [format for format in formats if format != best and reads[format] == reads[best]]
            doubt = f"  # seen: fits {' and '.join(map(str, also))} as well" if also else ""
            written = [f"format = {in_toml(best)}{doubt}"] if best else []
            read = _reader(best)
            days = sorted(day for word in held if (day := read(word)) is not None)
            ends = [f"{EPOCH + datetime.timedelta(seconds=day):%Y-%m}" for day in (days[0], days[-1])]
            return ['kind = "date"', *written, *_blanks(ends), *missing]
    codes = kind is None and _share(held, lambda word: cells.is_code(word.encode(errors="replace")), 0.0) >= CODES
    if not codes and (kind is None or cells.arrow_is_numeric(kind)):
        points, commas = ({word: read(word) for word in held} for read in (_number, _with_a_comma))
        shares = [_share(held, lambda word, of=of: math.isfinite(of[word])) for of in (points, commas)]  # type: ignore[misc]
        comma = decimal == "," or shares[1] > shares[0]
        numbers = commas if comma else points
        if shares[comma] >= MOST_OF:
            marks = ['decimal = ","'] if comma and kind is None else []
            finite = [number for number in numbers.values() if math.isfinite(number)]
            whole = ["whole = true"] if all(number.is_integer() for number in finite) else []
            few = f"  # seen: only {many(len(finite), 'number')}; perhaps a category" if len(finite) <= 12 else ""
            if whole and len(held) == held.total() >= LISTED:
                few = "  # seen: every row has a number of its own; perhaps an identifier"
            elif whole and likely_persons(held):
                few = f"  # seen: {len(held):,} numbers, about equally often; {PERSONS}"
            return [f'kind = "number"{few}', *whole, *marks, *_blanks(_about(min(finite), max(finite))), *missing]
    repeated = f"  # seen: {len(held):,} words, about equally often; {PERSONS}" if likely_persons(held) else ""
    if len(held) >= max(LISTED, NAMES * held.total()):
        alone = "  # seen: nearly every row has a word of its own; delete this column"
        return [f'kind = "{BLANK}"{f"{repeated}, or delete it" if repeated else alone}']
    apart = {word.casefold(): word for word, _ in reversed(held.most_common())}  # the usual spelling of each
    listed = sorted(apart.values(), key=lambda word: -held[word])
    words = ", ".join(map(in_toml, listed[:LISTED])) + ", …" * (len(listed) > LISTED)
    return [
        f'kind = "category"{repeated}',
        f'values = ["{BLANK}"]  # seen, the most frequent first: {words}',
        *words_for_nothing,
        *(["ignore_case = true"] if len(apart) < len(held) else []),
    ]


def _share(held: Words, reads: Callable[[str], object], least: float = MOST_OF) -> float:
    """The share of cells that are read, or 0 as soon as it is surely below `least`."""
    total = held.total()
    most = (1 - least) * total
    odd = 0
    for word, often in held.items():
        odd += often * (reads(word) in (None, False))
        if odd > most * (1 + 1e-9):
            return 0.0
    return 1 - odd / total


def _number(word: str) -> float:
    return cells.number_in(word.encode())


def _with_a_comma(word: str) -> float:
    return _number(word.translate(str.maketrans(",.", ".,")))


def _reader(format: str | None) -> Callable[[str], int | None]:
    """The first second of a text, by ISO 8601 or by a format."""
    pattern = None if format is None else clock.pattern_of(format)

    def read(word: str) -> int | None:
        if format is None and len(word) < len("2020-01"):
            return None  # a year is a number, too
        found = clock.seconds_in(word.encode(errors="replace"), pattern, only=format is not None)
        return None if found is None else found[0]

    return read


def _about(low: float, high: float) -> list[str]:
    """Both ends of what was seen, to two digits of the distance between them.

    >>> _about(10_003, 10_058), _about(54.3, 301_442.0), _about(7, 7)
    (['10003', '10058'], ['0', '300000'], ['7', '7'])
    """
    apart = (high - low) or abs(high) or 1.0
    step = 10.0 ** (math.floor(math.log10(min(max(apart, 1e-300), 1e300))) - 1)
    return [f"{round(end / step) * step:.12g}" for end in (low, high)]


def _blanks(ends: Sequence[str]) -> list[str]:
    return [f'{name} = "{BLANK}"  # seen: about {end}' for name, end in zip(("low", "high"), ends, strict=True)]
