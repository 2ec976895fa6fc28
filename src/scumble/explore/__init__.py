"""A web page for a release: look at it, ask it, hand it on.

The files::

    opening.py        from a file to what is shown of it; `scumble.explore` itself
    exhibit.py        what is shown, and what answers questions
    exhibits.py       all of them, by one name
    columns.py        a column, as a page shows it
    coded.py          the columns of a model that was fitted by a schema
    pairexhibit.py    two releases side by side
    ranges.py         what part of each column to draw
    payload.py        what the page computes with
    tableexhibit.py   what is shown of a table
    tablepayload.py   what a table's page computes with
    streamexhibit.py  what is shown of a stream, over time
    points.py         points as JSON brings them
    pages.py          the page, put together as one file
    server.py         the page and the API over HTTP
    openapi.py        the API, described for programs

The room can be called: ``scumble.explore(release)`` opens the page, and with the name of a file writes it there.
The page itself is built from ``web/`` into ``page/``.

>>> import numpy as np, scumble
>>> from scumble.explore import Exhibit, page
>>> sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], rows=50, buckets=64)
>>> release = sketch.update(np.full((1000, 1), 30.0)).release(epsilon=1.0)
>>> page(Exhibit(release, "Ages"))[:15]
'<!doctype html>'
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from scumble.explore.exhibit import Exhibit
from scumble.explore.opening import exhibit_of, explore, read
from scumble.explore.pages import export, page
from scumble.explore.pairexhibit import PairExhibit
from scumble.explore.server import Server
from scumble.explore.streamexhibit import StreamExhibit
from scumble.explore.tableexhibit import TableExhibit

__all__ = [
    "Exhibit",
    "PairExhibit",
    "Server",
    "StreamExhibit",
    "TableExhibit",
    "exhibit_of",
    "explore",
    "export",
    "page",
    "read",
]


class _Room(ModuleType):
    """Python lets a module be of a class of its own: this one can be called."""

    def __call__(self, *args: Any, **options: Any) -> None:
        explore(*args, **options)


sys.modules[__name__].__class__ = _Room
