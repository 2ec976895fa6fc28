"""Single precision with a guard: the loops for large batches of kernels that project, and for products of them.

A thread takes its records in tiles that stay in its cache, projects them on the directions of some rows at once
(`products`) and takes the rows four at a time. Every hash of a row becomes a line of fixed-point codes; where one lies
too near an edge, it is computed again in double precision (`guard` says what is too near, and why the counters are then
those of double precision). The codes become cells, and the cells are counted.

In the order in which a record meets them::

    batches.py          a batch is counted, by one thread or several, or read
    tiles.py            tiles of records, groups of rows
    columns.py          records in single precision
    projections.py      a tile on the directions of some rows
    codes.py            one hash of a tile: a line of codes in fixed point
    cells.py            from codes to cells, and how near an edge they lie
    again.py            in double precision, where that is too near
    counters.py         from cells to counters

`tiles.walk` is the outermost loop; all others are compiled into it.
"""

from scumble.counting.quick.batches import EMPTY, Room, count, count_alone, read, ready
from scumble.counting.quick.columns import columns_for, fill
from scumble.counting.quick.counters import TOGETHER, Own, fresh, gather, own_size
from scumble.counting.quick.tiles import TILE, together

__all__ = [
    "EMPTY",
    "TILE",
    "TOGETHER",
    "Own",
    "Room",
    "columns_for",
    "count",
    "count_alone",
    "fill",
    "fresh",
    "gather",
    "own_size",
    "read",
    "ready",
    "together",
]
