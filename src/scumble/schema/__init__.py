"""What a table can hold, declared in advance: columns, levels, conditions. Public, and free of data.

>>> schema = Schema(age=Number(0, 99, whole=True), town=Category(["Ulm", "Bonn"]))
>>> schema.encode({"age": [41], "town": ["Bonn"]}).codes.tolist()
[[41, 1]]
>>> condition(schema, "age >= 65 and town == 'Ulm'").terms[0]["town"].tolist()
[1.0, 0.0, 0.0, 0.0]

The files::

    schema.py        the schema: names, and what each column can hold
    column.py        what a column is
    number.py        a column of numbers
    numerals.py      numbers that are written somehow, by people and in cells
    date.py          a column of dates or times
    category.py      a column of words out of a public vocabulary
    boolean.py       a column of yes and no
    line.py          a line of integers under every ordered column
    edges.py         where cells begin
    cuts.py          a line cut into cells, and how values lie within one
    search.py        which cell a value falls into
    clock.py         dates and times as ticks
    kinds.py         whole numbers, dates, times and booleans as numbers for a kernel
    declarations.py  which columns somebody declares to hold them
    grammar.py       conditions as people write them
    unclear.py       what is said of one that cannot be read
    conditions.py    conditions in their one form
    products.py      from what was written to it: disjoint products of parts of columns
    beyond.py        questions that reach beyond a column's bounds
    notwhole.py      questions for fractions of whole numbers
    spelling.py      how cells are written that are read, for hints
    strays.py        cells that were counted where they do not stand: for the curator
    told.py          what the curator is told of rows that were left out
    toml.py          a schema's file
    mistyped.py      what is wrong with a line of it
    draft.py         a file to be filled in
"""

from scumble.schema.boolean import Boolean
from scumble.schema.category import Category
from scumble.schema.column import Column
from scumble.schema.conditions import Condition, condition
from scumble.schema.date import Date
from scumble.schema.draft import draft
from scumble.schema.number import Number
from scumble.schema.schema import Described, Encoded, Schema

__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Condition",
    "Date",
    "Described",
    "Encoded",
    "Number",
    "Schema",
    "condition",
    "draft",
]
