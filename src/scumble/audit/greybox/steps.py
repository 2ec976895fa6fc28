"""Paths of rows with noise of their own, published in steps, or as planned (:mod:`scumble.releasing.adaptive`)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scumble.audit.greybox.neighbors import Table
from scumble.audit.greybox.paths import BUDGETS, add, promise_of
from scumble.audit.greybox.sketches import sketch_of
from scumble.privacy.budget import Budget
from scumble.releasing.adaptive import Contest, Plan, Wanted, publish_as_planned
from scumble.releasing.steps import Groups, PublishedRows, publish_in_steps

SHARES = (3, 1, 2, 0, 5, 1)
"""Of six rows; the fourth is not published."""


def _by_rank(found: PublishedRows) -> Groups:
    """Two rows in three groups of cells each, by the ranks of a noisy row; a third as it is; the others not at all."""
    ranks = np.argsort(np.argsort(found.rows[0].counts, kind="stable"))
    groups = np.minimum(3 * ranks // len(ranks), 2)
    return {2: groups, 4: groups[::-1].copy(), 5: None} if (found.noisy_count or 0) % 2 else {2: groups, 5: None}


def _planned(found: PublishedRows, winners: tuple[int, ...]) -> Mapping[int, Wanted] | Contest:
    """Two rows, of which the second's share depends on the count; a contest where there may be one; then the winner."""
    if not found.rows:
        return {0: Wanted(Fraction(1, 4)), 1: Wanted(Fraction(1, 4 + (found.noisy_count or 0) % 2))}
    groups = np.minimum(np.arange(len(found.rows[0].counts)) // 2, 2)
    if found.privacy.law.pure and not winners:
        return _contest(len(groups))
    last = winners[-1] if winners else 3
    return {} if len(found.rows) > 2 else {last: Wanted(Fraction(1, 3), groups), 5: Wanted(Fraction(1, 20))}


def _contest(cells: int) -> Contest:
    """Four rows, each cell by itself. A record brings a row nearer where much is expected, and farther off elsewhere.
    So one record, or one that is replaced, moves distances as far apart as it ever can."""
    rows, place = range(2, 6), np.arange(cells)
    expected = {row: 1000 * (place >> row - 2 & 1) for row in rows}
    return Contest(Fraction(1, 10), dict.fromkeys(rows, place), expected, {4: 1})


def _beyond(found: PublishedRows, winners: tuple[int, ...]) -> Mapping[int, Wanted] | Contest:
    """Two rows that have everything, and then a contest."""
    if not found.rows:
        return {0: Wanted(Fraction(1, 2)), 1: Wanted(Fraction(1, 2))}
    return {} if winners else _contest(len(found.rows[0].counts))


def _told(published: list[PublishedRows]) -> list[Any]:
    """Everything in them, as bytes, and the one claim."""
    rows = [row for found in published for row in found.rows]
    told = [row.counts.tobytes() + repr((row.row, row.variance)).encode() for row in rows]
    told += [b"" if row.groups is None else row.groups.tobytes() for row in rows]
    told += [repr((one.noisy_count, one.count_variance, one.identity)).encode() for one in published]
    return [*told, published[0].privacy]


def _add_steps() -> None:
    for name, money in BUDGETS.items():
        exact = money.get("neighbors") == "replace"
        invalid = {"invalid": "error"} if exact else {}

        def at_once(
            table: Table, folder: Path, money: dict[str, Any] = money, invalid: dict[str, Any] = invalid
        ) -> list[Any]:
            return _told(publish_in_steps([sketch_of(table, **invalid).secret], Budget.of(**money), shares=SHARES))

        def steps(
            table: Table, folder: Path, money: dict[str, Any] = money, invalid: dict[str, Any] = invalid
        ) -> list[Any]:
            secrets, choice = [sketch_of(table, **invalid).secret], {"first": [0, 1], "choose": _by_rank}
            return _told(publish_in_steps(secrets, Budget.of(**money), shares=SHARES, **choice))  # type: ignore[arg-type]

        def plans(
            table: Table,
            folder: Path,
            money: dict[str, Any] = money,
            invalid: dict[str, Any] = invalid,
            plan: Plan = _planned,
        ) -> list[Any]:
            secret = sketch_of(table, **invalid).secret
            return _told([publish_as_planned(secret, Budget.of(**money), most=2, plan=plan)])

        promise = {**promise_of(money), "strict": exact}
        add(f"rows with noise of their own, {name}", at_once, "floats", **promise)
        add(f"rows in steps, {name}", steps, "floats", **promise)
        add(f"rows as planned, {name}", plans, "floats", **promise)
        add(f"rows as planned, more than all, {name}", partial(plans, plan=_beyond), forbidden=True, **promise)


_add_steps()
