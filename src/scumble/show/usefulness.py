"""How much a release can show: the smallest visible group, and the random sample it is worth; values as JSON."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from scumble.columns.hashing import missing
from scumble.errors import many

Facts = dict[str, Any]
"""JSON values by name: what a card says, for programs."""
Model: TypeAlias = Any
"""A fitted estimator, read by the attributes that it has."""


def as_json(value: object) -> Any:
    """NumPy's numbers as Python's, tuples as lists, dates as text, infinities and what is missing as None."""
    if isinstance(value, dict):
        return {str(key): as_json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(inner) for inner in value]
    if missing(value):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


SEEN = 4.0  # an effect of four standard errors passes a test at 95 % in 98 cases of 100: 1.96 + 1.96, rounded up
SHARE = 0.1  # the answer at which a release is compared with a sample: 10 % of the records


def smallest_group(error: float) -> float:
    """How many equal records are visible where there would be none; `error` is an answer's standard error."""
    return max(1.0, SEEN * error)


def noises(facts: Facts) -> dict[str, float]:
    """The standard deviations of the noise in answers, in records, by kind of answer, largest first; from the facts of
    a card. Moments have none: their sums answer no question about records.

    >>> noises({"kind": "table", "noise": {"level": 11.0, "pair": 5.0}})
    {'in a column by itself': 11.0, 'in a cell of a measured pair': 5.0}
    """
    if facts["kind"] == "moments":
        return {}
    if facts["kind"] != "table":
        return {"in a kernel sum": float(facts["expected_error"]["noise"])}
    kinds = {"in a column by itself": "level", "in a cell of a measured pair": "pair"}
    known = {name: facts["noise"][key] for name, key in kinds.items() if facts["noise"][key] is not None}
    return dict(sorted(known.items(), key=lambda one: -one[1]))


def errors(facts: Facts) -> dict[str, float]:
    """The standard errors of answers, as `noises`: of a density, hashing counts too.

    >>> errors({"kind": "release", "expected_error": {"noise": 12.0, "kernel_sum": 61.0}})
    {'in a kernel sum': 61.0}
    """
    if facts["kind"] in ("moments", "table"):
        return noises(facts)
    return {"in a kernel sum": float(facts["expected_error"]["kernel_sum"])}


def group(error: float) -> str:
    """The smallest group in words.

    >>> group(2.1), group(31.2)
    ('9', '120')
    """
    return f"{_rounded(smallest_group(error)):,.0f}"


def sample_worth(error: float, records: float) -> float | None:
    """The size of a random sample that would estimate 10 % of the table as well; None if sampling error is larger.

    `error` is the standard error of such an answer, in records.
    """
    if records < 1 or error <= 0:
        return None
    size = SHARE * (1 - SHARE) * records**2 / error**2
    return size if size < records else None


def records_for(noise: float) -> float:
    """How many records it takes for 10 % of them to be visible above this noise."""
    return noise * SEEN / SHARE


def too_few(facts: Facts) -> str | None:
    """A warning about a table that is too small for its noise, by its published count; None if it is large enough.

    >>> print(too_few({"kind": "table", "noise": {"level": 2.8, "pair": None}, "count": 1.0}))
    It holds about 1 record. With fewer than about 110, all answers are mostly noise
    >>> too_few({"kind": "table", "noise": {"level": 2.8, "pair": None}, "count": 120.0})
    """
    if facts["kind"] not in ("release", "table") or not (known := noises(facts)):
        return None
    least, records = records_for(max(known.values())), max(facts["count"], 0.0)
    if records >= least:
        return None
    of = many(round(records), "record")
    which = "all answers" if records < SHARE * least else "answers about groups below 10 %"
    return f"It holds about {of}. With fewer than about {_rounded(least):,.0f}, {which} are mostly noise"


def words(error: float, records: float) -> str:
    """Both, for a card.

    >>> words(error=100.0, records=10_000)
    'groups of about 400 records are visible; a group of 10 % is known as well as from a random sample of 900'
    >>> words(error=2.0, records=10_000)
    'groups of about 8 records are visible; for a group of 10 %, privacy noise is smaller than sampling error'
    """
    worth = sample_worth(error, records)
    known = "for a group of 10 %, privacy noise is smaller than sampling error"
    if worth is not None:
        known = f"a group of 10 % is known as well as from a random sample of {_rounded(worth):,.0f}"
    return f"groups of about {group(error)} records are visible; {known}"


def _rounded(value: float) -> float:
    """Two digits."""
    if value < 10:
        return math.ceil(value)
    step = 10 ** (math.floor(math.log10(value)) - 1)
    return float(round(value / step) * step)
