"""Few dimensions: one row whose buckets are the cells of a grid over public bounds.

A grid is a sketch like any other: a record adds one to exactly one counter, so the sensitivity is 1 and merging is
addition. Only the query differs. It reads every counter, weighted by the kernel, f(q) = Σ over cells S[c] k(q, c),
and one FFT does that for all queries. No hashing error is left, and far less noise.

The files::

    cells.py        the cells, and counting records in them
    coarser.py      cells added up: from a fine grid to coarser ones
    field.py        queries: every counter, weighted by the kernel
    tables.py       the whole grid at once, by one FFT: for many queries
    direct.py       one query summed over the cells: for the first few
    far.py          the same for queries outside the grid
    places.py       what is not known: where in their cells the records lie
    profile.py      the kernel as a function of x − y
    shape.py        how many cells, from public facts alone
    finest.py       the finest grid that could pay
"""

from scumble.grid.cells import Grid
from scumble.grid.field import Field
from scumble.grid.profile import MAX_DIMENSIONS, supports
from scumble.grid.shape import choose_shape, typical_density, usual_density

__all__ = ["MAX_DIMENSIONS", "Field", "Grid", "choose_shape", "supports", "typical_density", "usual_density"]
