"""Public names of the explorer page: what makes and serves it.

``scumble.explore(release)`` opens the page, and with the name of a file writes it there.

>>> import numpy as np, scumble
>>> from scumble.show.exhibit import Exhibit
>>> from scumble.show.pages import page
>>> sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], rows=50, buckets=64)
>>> release = sketch.update(np.full((1000, 1), 30.0)).release(epsilon=1.0)
>>> page(Exhibit(release, "Ages"))[:15]
'<!doctype html>'
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from scumble.show.exhibit import Exhibit, PairExhibit, StreamExhibit
from scumble.show.opening import exhibit_of, explore, read
from scumble.show.pages import export, page
from scumble.show.server import Server
from scumble.show.tableexhibit import TableExhibit

__all__ = ["Exhibit", "PairExhibit", "Server", "StreamExhibit", "TableExhibit"]
__all__ += ["exhibit_of", "explore", "export", "page", "read"]


class _Callable(ModuleType):
    """Python lets a module be of a class of its own: this one can be called."""

    def __call__(self, *args: Any, **options: Any) -> None:
        explore(*args, **options)


sys.modules[__name__].__class__ = _Callable
