"""Any table in, plain arrays out.

>>> import numpy as np
>>> table = Table.of({"age": [31, 45], "town": ["Ulm", None]})
>>> table.names, table.numeric([0]).tolist()
(('age', 'town'), [[31.0], [45.0]])
>>> np.isnan(table.categories([1])).tolist()
[[False], [True]]

The files::

    table.py        a table of any make behind one small interface
    containers.py   columns and names out of pandas, polars, Arrow and the rest
    cells.py        one column, read as numbers or as categories
    sidebyside.py   columns of numbers as one matrix
    ends.py         the least and the greatest value of each column
    names.py        names of columns that may be a record's cells
    beside.py       names of answers that stand beside them
    tokens.py       sets of tokens, one per record
    hashing.py      a number for every category, the same for ever
    roles.py        what each column is read as, as the kernel says
"""

from scumble.tables.hashing import stable_hash
from scumble.tables.table import Table, invalid_message

__all__ = ["Table", "invalid_message", "stable_hash"]
