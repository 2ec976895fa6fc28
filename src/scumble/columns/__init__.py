"""What a value means: any table in, plain arrays and codes out; the schema of a table, public and free of data.

>>> import numpy as np
>>> from scumble import Category, Number, Schema
>>> from scumble.columns.table import Table
>>> table = Table.of({"age": [31, 45], "town": ["Ulm", None]})
>>> table.names, table.numeric([0]).tolist()
(('age', 'town'), [[31.0], [45.0]])
>>> Schema(age=Number(0, 99, whole=True), town=Category(["Ulm", "Bonn"])).encode(table).codes.tolist()
[[31, 0], [45, 3]]

Tables::

    table.py        a table of any container behind one interface: numbers, categories, sets of tokens
    containers.py   columns and names from pandas, polars, Arrow and others
    cells.py        one column, read as numbers or as categories
    hashing.py      a stable number for every category
    kinds.py        what each column of a source is read as; whole numbers, dates, times and booleans for a kernel
    curator.py      what the curator learns about cells and rows

The schema::

    schema.py         the columns of a table by name, and its file
    draft.py          drafts of schema files, with a look at the table for the curator alone
    column.py         the base of all columns
    number.py         a column of numbers
    date.py           a column of dates or times
    category.py       columns of words from a public vocabulary, and of booleans
    distinct.py       columns whose distinct values are counted
    tokens.py         columns of sets of words
    line.py           a line of integers under every ordered column
    cuts.py           a line cut into cells, and their edges
    clock.py          dates and times as ticks
    grammar.py        conditions as people write them
    conditions.py     conditions as weights on levels
    rules.py          what every record obeys
"""
