"""Which file somebody means who names one that is not there."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable

from scumble.errors import nearest


def near_file(path: str, like: Callable[[str], object]) -> str:
    """A question after a name that is not there: of the files beside it that are `like` it, the one with a near name;
    or nothing.

    Ends are not compared, for all that are like have one: ``nofile.csv`` is not near to ``one.csv``, and ``people.csv``
    is near to ``people.parquet``.
    """
    folder, name = os.path.split(path)
    try:
        beside = sorted(one for one in os.listdir(folder or ".") if one != name and like(one))
    except (OSError, ValueError):
        return ""
    stems: dict[str, list[str]] = {}
    for one in beside:
        stems.setdefault(_stem(one), []).append(one)
    stem = nearest(_stem(name), stems)
    if stem is None:
        return ""
    found = max(stems[stem], key=lambda one: difflib.SequenceMatcher(None, one, name).ratio())
    return f" Did you mean {os.path.join(folder, found)!r}?"


def _stem(name: str) -> str:
    """A name without its ends, of which it may have two.

    >>> _stem("people.csv.gz"), _stem(".hidden")
    ('people', '.hidden')
    """
    return name[:1] + name[1:].partition(".")[0]
