"""The public state: noisy integers that anyone may hold, save, merge and query for ever.

The files::

    release.py      a release
    merging.py      several made one
    span.py         which part of a stream it is of
"""

from scumble.release.merging import COMBINE, Disjoint, merge_releases
from scumble.release.release import Release
from scumble.release.span import Span

__all__ = ["COMBINE", "Disjoint", "Release", "Span", "merge_releases"]
