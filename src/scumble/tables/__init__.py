"""Any table in, plain arrays out.

>>> import numpy as np
>>> table = Table.of({"age": [31, 45], "town": ["Ulm", None]})
>>> table.names, table.numeric([0]).tolist()
(('age', 'town'), [[31.0], [45.0]])
>>> np.isnan(table.categories([1])).tolist()
[[False], [True]]

``table.py`` is the table, ``containers.py`` knows pandas, polars, Arrow and the rest, ``hashing.py`` turns
values into numbers for ever, ``cells.py`` reads one column, ``tokens.py`` reads sets.
"""

from scumble.tables.hashing import stable_hash
from scumble.tables.table import Table, invalid_message

__all__ = ["Table", "invalid_message", "stable_hash"]
