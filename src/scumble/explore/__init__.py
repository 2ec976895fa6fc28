"""A web page for a release: look at it, ask it, hand it on.

``exhibit`` is what is shown and answers questions, ``ranges`` finds what to draw, ``payload`` is what the page computes
with, ``pages`` puts the page together, ``server`` serves it with an API that ``openapi`` describes. The page itself is
built from ``web/`` and lies in ``page/``.

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
