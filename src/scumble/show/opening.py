"""From a file, or what it holds, to what is shown of it: a page to look at, or to hand on."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Mapping, Sequence
from typing import Any

from scumble import files
from scumble.density.loading import release_in
from scumble.errors import CorruptFileError, ParameterError, parameter
from scumble.show.exhibit import Exhibit, PairExhibit, StreamExhibit
from scumble.show.pages import AnyExhibit, export
from scumble.show.server import Server
from scumble.show.tableexhibit import TableExhibit
from scumble.streams.published import StreamRelease
from scumble.table.release import TableRelease

LEARN = "Hint: pip install 'scumble[learn]'."


def read(path: str | os.PathLike[str]) -> Any:
    """A release, a bundle, a table or a fitted model, by what the file holds; of a stream's folder, the stream."""
    if os.path.isdir(path):
        return StreamRelease(path)
    container = files.read(path, expect=("release", "bundle", "table", "model"))
    if container.kind == "model":
        try:
            from scumble.learn import models
        except ImportError:
            raise ParameterError(f"{os.fspath(path)!r}, a fitted model, needs scikit-learn. {LEARN}") from None
        return models.from_container(container)
    try:
        return release_in(container)
    except ParameterError as problem:
        raise CorruptFileError(f"Cannot read {os.fspath(path)!r}: {problem}") from problem


def exhibit_of(
    found: Any,
    title: str | None = None,
    *,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, Sequence[str]] | None = None,
    units: Mapping[str, str] | None = None,
) -> AnyExhibit:
    """What is shown of a release, a bundle, a table, a stream or a model, or of two releases in a plain dict: densities
    side by side, or what differs between tables. A table's schema says what to draw."""
    named = {} if title is None else {"title": title}
    tables = isinstance(found, TableRelease) or (
        isinstance(found, dict) and any(isinstance(one, TableRelease) for one in found.values())
    )
    if isinstance(found, dict) and not tables:
        return PairExhibit(found, **named, ranges=ranges, values=values, units=units)
    if isinstance(found, StreamRelease):
        if values:
            raise ParameterError("`values` are for categories: a stream's page has none. Hint: leave them out.")
        return StreamExhibit(found, **named, ranges=ranges, units=units)
    if not tables:
        return Exhibit(found, **named, ranges=ranges, values=values, units=units)
    for name, given in (("ranges", ranges), ("values", values)):
        if given:
            raise ParameterError(f"`{name}` are for densities: a table's schema says them. Hint: leave them out.")
    return TableExhibit(found, **named, units=units)


def explore(
    found: object,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, Sequence[str]] | None = None,
    units: Mapping[str, str] | None = None,
) -> None:
    """A web page to look at a release and to ask it; `scumble explore` from Python.

    Parameters
    ----------
    found : Release, Bundle, TableRelease, StreamRelease, PrivateEstimator or dict
        What to show. Of two releases, as in ``{"1990": before, "2020": after}``, densities stand side by side, and of
        tables the page says what differs.
    path : path-like, optional
        Write the page to this file, which needs nothing else. Without it the page is served on this machine alone and
        opens in the browser, until Ctrl-C.
    title, ranges, values, units : optional
        What to call it; and for columns by name: what to draw of numbers, the known categories, the units.
    """
    if path is not None and not os.fsdecode(path).lower().endswith((".html", ".htm")):
        raise parameter("path", "a name that ends in .html or .htm", path)
    exhibit = exhibit_of(found, title, ranges=ranges, values=values, units=units)
    if path is not None:
        export(exhibit, path)
        return
    with Server(exhibit) as server:
        server.html()  # made before anybody waits for it in a browser
        webbrowser.open(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return
