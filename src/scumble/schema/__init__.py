"""What a table can hold, said beforehand: columns, levels, conditions. Public, and free of data.

>>> schema = Schema(age=Number(0, 99, whole=True), town=Category(["Ulm", "Bonn"]))
>>> schema.encode({"age": [41], "town": ["Bonn"]}).codes.tolist()
[[41, 1]]
>>> condition(schema, "age >= 65 and town == 'Ulm'").terms[0]["town"].tolist()
[1.0, 0.0, 0.0, 0.0]

``column.py`` says what a column is; ``number.py``, ``date.py``, ``category.py`` and ``boolean.py`` are its kinds;
``line.py``, ``edges.py`` and ``cuts.py`` cut a line into cells, ``clock.py`` makes a line of times. ``schema.py`` is
the schema, ``toml.py`` its file and ``draft.py`` a file to be filled in. ``grammar.py`` reads conditions,
``conditions.py`` brings them to their one form.
"""

from scumble.schema.boolean import Boolean
from scumble.schema.category import Category
from scumble.schema.column import Column
from scumble.schema.conditions import Condition, condition
from scumble.schema.date import Date
from scumble.schema.draft import draft
from scumble.schema.number import Number
from scumble.schema.schema import Encoded, Schema

__all__ = ["Boolean", "Category", "Column", "Condition", "Date", "Encoded", "Number", "Schema", "condition", "draft"]
