"""Which part of a stream a release is of."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Span:
    """Which periods of which stream a release is of (:mod:`scumble.continual`), and how that is published."""

    identity: str
    """The stream's UUID."""
    first: int
    last: int
    method: dict[str, Any]
    """As JSON values; see :func:`scumble.continual.choosing.method_of`."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return dict(vars(self))

    @staticmethod
    def from_dict(data: Any) -> Span | None:
        """Read what `to_dict` wrote; anything else is refused."""
        if data is None:
            return None
        if not isinstance(data, dict) or set(data) != {"identity", "first", "last", "method"}:
            raise TypeError("not the periods of a stream")
        first, last = data["first"], data["last"]
        if type(first) is not int or type(last) is not int or not 1 <= first <= last < 1 << 31:
            raise TypeError("not the periods of a stream")
        if not isinstance(data["method"], dict) or not isinstance(data["identity"], str):
            raise TypeError("not the periods of a stream")
        try:
            uuid.UUID(data["identity"])
        except ValueError:
            raise TypeError("not the identity of a stream") from None
        return Span(data["identity"], first, last, data["method"])
