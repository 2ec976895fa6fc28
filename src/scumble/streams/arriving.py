"""Records that arrive, counted apart: where a pass may fail half-way, none of them is counted."""

from __future__ import annotations

from typing import Any

from scumble.errors import ParameterError
from scumble.schema.kinds import roles_by
from scumble.schema.told import left_out
from scumble.sketch import Sketch
from scumble.sources.onepass import Report, one_pass
from scumble.sources.opening import _paths, open_source
from scumble.sources.people import PersonLimit
from scumble.sources.tally import Tally
from scumble.tables.roles import roles_of


def counted(
    sketch: Sketch,
    X: object,
    reading: dict[str, Any],
    person: str | None = None,
    people: PersonLimit | None = None,
    progress: Report | None = None,
) -> tuple[Sketch, list[str]]:
    """A new sketch like this one, of a table in memory or of whatever a source reads; or an error, and nothing changed.

    Beside it lines for the curator: what was left out, or counted where it does not stand (`Tally.told`). Of each
    person, whom the column `person` names, no more records than `people` has left are counted. `progress` is told how
    far a source is read.
    """
    if person is None and _paths(X) is None and not reading:
        made = sketch.empty().update(X)
        return made, [left_out(made.dropped)] if made.dropped else []
    if sketch.columns is None:
        raise ParameterError("Files and persons need the columns' names. Hint: begin the stream with columns=[...].")
    before = None if people is None else people.contents()
    how = {name: getattr(sketch, f"_{name}") for name in ("invalid", "engine", "threads")}
    tally = Tally(sketch.spec, person=person, people=people, **how)
    source = open_source(X, **reading)
    try:
        others = [] if person is None else [person]
        source.require(others)  # by itself: a column that is counted may be what was meant
        source.require([*sketch.columns, *others])
        roles = roles_by(sketch.spec.kinds, roles_of(sketch.spec.kernel, sketch.columns))
        one_pass(source, {**roles, **dict.fromkeys(others, "category")}, tally, progress=progress)
    except BaseException:
        if people is not None and before is not None:
            people.restore(*before)
        raise
    finally:
        source.close()
    return tally.sketches[0], tally.told(source)
