"""The periods of a stream that a release says it is of: what a file says otherwise is refused."""

from __future__ import annotations

from typing import Any

import pytest

from scumble.density.release import Span

GOOD: dict[str, Any] = {"identity": "6a7ff4a4-0e0f-4a4b-9a51-0d7c3b3f2f10", "first": 1, "last": 3, "method": {"a": 1}}


def test_a_span_is_read_as_it_was_written() -> None:
    assert Span.from_dict(None) is None
    for ends in ({}, {"first": 3}, {"last": 1}, {"last": 2**31 - 1}):
        span = Span.from_dict({**GOOD, **ends})
        assert span is not None and span.to_dict() == {**GOOD, **ends}


@pytest.mark.parametrize(
    "bad",
    [
        [],
        {"identity"},
        {**GOOD, "more": 1},
        {name: GOOD[name] for name in ("identity", "first", "last")},
        *({**GOOD, **ends} for ends in ({"first": 0}, {"first": 4}, {"last": 2**31}, {"first": 1.0}, {"last": 3.0})),
        {**GOOD, "first": True},
        {**GOOD, "method": []},
        {**GOOD, "identity": 7},
        {**GOOD, "identity": "nobody"},
    ],
    ids=repr,
)
def test_anything_else_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match=r"^not the (periods|identity) of a stream$"):
        Span.from_dict(bad)
