"""The kinds of moments, and how a file names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from scumble.errors import CorruptFileError
from scumble.moments.hats import HatMoments
from scumble.moments.products import ClassMoments, LinearMoments, UnitMoments
from scumble.moments.spec import MomentSpec

KINDS: dict[str, type[MomentSpec]] = {
    kind.kind: kind for kind in (LinearMoments, HatMoments, ClassMoments, UnitMoments)
}
"""Each kind by its name in files."""


def spec_from_dict(data: Any) -> MomentSpec:
    """The spec that `MomentSpec.to_dict` described. Whatever else is refused."""
    try:
        kind = KINDS[data["moments"]]
        if not isinstance(data, Mapping) or set(data) != {"moments", *(one.name for one in fields(kind))}:
            raise TypeError("fields")
        values = {name: _tuples(value) for name, value in data.items() if name != "moments"}
        spec = kind(**values)
        spec.check()
        return spec
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as problem:
        raise CorruptFileError(f"The parameters of the moments cannot be read: {type(problem).__name__}.") from None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value
