"""How much a release can show: the smallest group above its noise, and the random sample it is worth.

Both are post-processing, and rough by nature: a number each, for who wants to know whether a release will do.
"""

from __future__ import annotations

import math
from typing import Any

from scumble.errors import many

SEEN = 4.0  # an effect of four standard errors passes a test at 95 % in 98 cases of 100: 1.96 + 1.96, rounded up
SHARE = 0.1  # the answer at which a release is compared with a sample: a tenth of the records


def smallest_group(error: float) -> float:
    """How many records alike it takes to be seen where there would be none.

    Parameters
    ----------
    error : float
        The standard error of an answer, in records: of hashed rows, what collisions do to it, too.

    Returns
    -------
    float
        A number of records.
    """
    return max(1.0, SEEN * error)


def noises(facts: dict[str, Any]) -> dict[str, float]:
    """The standard deviations of the noise in answers, in records, by the kind of answer; the largest comes first.

    None of moments, whose sums answer no question about records.

    Parameters
    ----------
    facts : dict
        The facts of the release's card.

    Examples
    --------
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


def errors(facts: dict[str, Any]) -> dict[str, float]:
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
    """How many records, drawn at random and published as they are, would tell a tenth of the table as well.

    Parameters
    ----------
    error : float
        The standard error of an answer of a tenth of the records, in records.
    records : float
        About how many records there are.

    Returns
    -------
    float or None
        A number of records; None if the answer is as good as the table.
    """
    if records < 1 or error <= 0:
        return None
    size = SHARE * (1 - SHARE) * records**2 / error**2
    return size if size < records else None


def records_for(noise: float) -> float:
    """How many records it takes for a tenth of them to stand out of this noise."""
    return noise * SEEN / SHARE


def too_few(facts: dict[str, Any]) -> str | None:
    """What to say of a table that is too small for its noise: not even a tenth of it stands out.

    By the noisy count, which is published: it may be said to anybody.

    >>> print(too_few({"kind": "table", "noise": {"level": 2.8, "pair": None}, "count": 1.0}))
    It holds about 1 record, and below about 110 the noise hides a tenth of any table: all answers are mostly noise
    >>> too_few({"kind": "table", "noise": {"level": 2.8, "pair": None}, "count": 120.0})
    """
    if facts["kind"] not in ("release", "table") or not (known := noises(facts)):
        return None
    least, records = records_for(max(known.values())), max(facts["count"], 0.0)
    if records >= least:
        return None
    of, which = many(round(records), "record"), "all answers" if records < SHARE * least else "answers about less"
    return (
        f"It holds about {of}, and below about {_rounded(least):,.0f} the noise hides a tenth of any table: {which} "
        "are mostly noise"
    )


def words(error: float, records: float) -> str:
    """Both, in a sentence for a card.

    >>> words(error=100.0, records=10_000)
    'groups of about 400 records stand out; a count of a tenth of the table is as good as from a random sample of 900'
    >>> words(error=2.0, records=10_000)
    'groups of about 8 records stand out; a count of a tenth of the table has less noise than chance gives such a table'
    """
    worth = sample_worth(error, records)
    known = "has less noise than chance gives such a table"
    if worth is not None:
        known = f"is as good as from a random sample of {_rounded(worth):,.0f}"
    return f"groups of about {group(error)} records stand out; a count of a tenth of the table {known}"


def _rounded(value: float) -> float:
    """Two digits."""
    if value < 10:
        return math.ceil(value)
    step = 10 ** (math.floor(math.log10(value)) - 1)
    return float(round(value / step) * step)
