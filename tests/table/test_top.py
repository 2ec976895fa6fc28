"""The most frequent words of a column, with their ranks; and columns of thousands of words or days."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble

WORDS = [f"w{k}" for k in range(2100)]


LAW = 1.0 / np.arange(1, len(WORDS) + 1)
CELLS = np.random.default_rng(4).choice([*WORDS, "unknown"], 60_000, p=[*0.9 * LAW / LAW.sum(), 0.1])


@pytest.fixture(scope="module")
def release() -> scumble.TableRelease:
    schema = scumble.Schema(word=scumble.Category(WORDS), big=scumble.Boolean())
    sketch = scumble.TableSketch(schema).update({"word": CELLS, "big": np.arange(60_000) % 3 == 0})
    return sketch.release(epsilon=1.0, delta=1e-6)


def test_the_most_frequent_words_and_their_ranks(release: scumble.TableRelease) -> None:
    found = release.top("word", 30)
    assert found["word"].tolist()[:8] == WORDS[:8]
    assert not {"(other)", "(missing)"} & {*found["word"]}
    assert (found["value"].diff().dropna() <= 0).all()
    counts = pd.Series(CELLS).value_counts().drop("unknown")
    ahead, level = (found["word"].map(counts.rank(method=how, ascending=False)) for how in ("min", "max"))
    held = (found["rank_low"] <= level) & (ahead <= found["rank_high"])
    assert held.mean() > 0.9 and (found["rank_high"] - found["rank_low"])[:8].max() == 0
    assert (found["rank_low"] <= np.arange(1, 31)).all() and (np.arange(1, 31) <= found["rank_high"]).all()


def test_counts_of_thousands_of_words_are_those_of_each(release: scumble.TableRelease) -> None:
    by, histogram, top = release.count("big", by="word"), release.histogram("word", where="big"), release.top("word", 2)
    assert len(by) == len(histogram) == len(WORDS) + 2
    for answers in (by, histogram):
        one = answers.set_index("word").loc["w1"]
        alone = release.count("big and word == 'w1'")
        assert [one["value"], one["low"], one["high"]] == pytest.approx([alone.value, alone.low, alone.high])
    assert top["value"][0] == pytest.approx(release.count("word == 'w0'").value)
    sql = scumble.sql("select word, count(*) as n from t group by word order by n desc limit 3", t=release)
    assert {"w0", "w1"} <= {*sql["word"]}


def test_ranks_within_groups(release: scumble.TableRelease) -> None:
    found = release.top("word", 3, by="big")
    assert found.groupby("big", sort=False)["word"].apply(list).tolist()[:2] == [WORDS[:3]] * 2
    for row in found[found["big"].isin([True, False])].to_dict("records"):
        alone = release.count({"big": row["big"], "word": row["word"]})
        assert row["value"] == pytest.approx(alone.value)


def test_what_has_no_top_is_refused(release: scumble.TableRelease) -> None:
    for wrong in (lambda: release.top("word", 0), lambda: release.top("word", by="word"), lambda: release.top("wrod")):
        with pytest.raises(scumble.ParameterError):
            wrong()


# ---- many cells ----


ROOM = 200 * 2**20
"""Bytes. A table of as many rows as columns, of 14,611 each, has 1.7 · 10⁹."""


@pytest.fixture(scope="module")
def days() -> scumble.TableRelease:
    when = np.datetime64("2000-01-01") + np.arange(600) * 6
    schema = scumble.Schema(day=scumble.Date("1990-01-01", "2029-12-31", cells="day", missing=True))
    return scumble.TableSketch(schema).update(pd.DataFrame({"day": when})).release(epsilon=50.0)


def test_no_answer_makes_a_table_of_cells_by_cells(days: scumble.TableRelease) -> None:
    """A column of a cell for each day of forty years: what is asked of it takes room in proportion to its cells."""
    asks: list[Callable[[scumble.TableRelease], Any]] = [
        *(lambda found: found.quantile("day", 0.25), lambda found: found.histogram("day", bins=10)),
        *(lambda found: found.count("day <= '1990-01-01'"), lambda found: found.count("day is missing")),
    ]
    for ask in asks:
        found = scumble.TableRelease.from_bytes(days.to_bytes())  # nothing was asked of it yet
        tracemalloc.start()
        try:
            ask(found)
            assert tracemalloc.get_traced_memory()[1] < ROOM
        finally:
            tracemalloc.stop()
