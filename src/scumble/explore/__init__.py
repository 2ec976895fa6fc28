"""A web page for a release: look at it, ask it, hand it on.

The files::

    exhibit.py      what is shown, and what answers questions
    ranges.py       what part of each column to draw
    payload.py      what the page computes with
    points.py       points as JSON brings them
    pages.py        the page, put together as one file
    server.py       the page and the API over HTTP
    openapi.py      the API, described for programs

The page itself is built from ``web/`` into ``page/``.

>>> import numpy as np, scumble
>>> from scumble.explore import Exhibit, page
>>> sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], rows=50, buckets=64)
>>> release = sketch.update(np.full((1000, 1), 30.0)).release(epsilon=1.0)
>>> page(Exhibit(release, "Ages"))[:15]
'<!doctype html>'
"""

from scumble.explore.exhibit import Exhibit, read
from scumble.explore.pages import export, page
from scumble.explore.server import Server

__all__ = ["Exhibit", "Server", "export", "page", "read"]
