"""Every confidence between 0 and 1 has an interval, wherever one can be asked for; nothing else has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble

X = np.random.default_rng(0).uniform(-3, 3, (200, 2))
SIZE: dict[str, Any] = {"columns": ["x", "y"], "rows": 6, "buckets": 8, "seed": 1}
KERNEL = scumble.EuclideanKernel(1.0)


def ends(found: scumble.Estimate) -> Any:
    return [found.low, found.value, found.high]


@pytest.fixture(scope="module")
def asked() -> dict[str, Callable[[Any], Any]]:
    release = scumble.Sketch(KERNEL, **SIZE).update(X).release(1.0)
    grid = scumble.Sketch(KERNEL, columns=["x", "y"], rows=1, design="grid", bounds=(-3, 3)).update(X).release(1.0)
    schema = scumble.Schema(x=scumble.Number(-3, 3), y=scumble.Number(-3, 3))
    table = scumble.build(pd.DataFrame(X, columns=["x", "y"]), schema=schema, epsilon=1.0)
    near = scumble.PrivateNeighbors(epsilon=1.0, bounds=(-3, 3), rows=6, buckets=8).fit(X)
    stream = scumble.Stream(KERNEL, **SIZE, periods=3, epsilon=1.0)
    stream.update(X)
    stream.close_period()
    query = "select count(*), sum(x) / count(*) as r, median(x) from t"
    return {
        "interval": lambda c: release.interval(X[:5], c),
        "grid": lambda c: grid.interval(X[:5], c),
        "count": lambda c: ends(table.count("x > 0.3 and y < 1", confidence=c)),
        "by": lambda c: table.count(by="x", confidence=c).iloc[:, 1:4],
        "share": lambda c: ends(table.share("x > 0", confidence=c)),
        "sum": lambda c: ends(table.sum("x", confidence=c)),
        "mean": lambda c: ends(table.mean("x", "y < 1", confidence=c)),
        "quantile": lambda c: ends(table.quantile("x", 0.5, confidence=c)),
        "sql": lambda c: scumble.sql(query, t=table, confidence=c),
        "series": lambda c: stream.published().series([[0.0, 0.0]], confidence=c).tolist(),
        "within": lambda c: near.count_within(X[:3], confidence=c),
    }


WAYS = "interval grid count by share sum mean quantile sql series within"


@pytest.mark.parametrize("way", WAYS.split())
def test_every_share_is_a_confidence_and_nothing_else_is(way: str, asked: dict[str, Callable[[Any], Any]]) -> None:
    for confidence in (5e-324, 1e-17, 2**-53, 1e-9, 0.5, 1 - 1e-9, 1 - 2**-53):
        assert np.isfinite(np.asarray(asked[way](confidence), float)).all(), confidence
    for odd in (0, 1, -0.5, 95, np.nan, np.inf, True, "0.9", None, 10**400):
        with pytest.raises(scumble.ParameterError, match="confidence"):
            asked[way](odd)
