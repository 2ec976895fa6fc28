"""Releases whose size is chosen after counting: a few noisy facts first, then the rows that serve best.

The best number of rows depends on N and on the density of the records. So a planned secret counts the most that could
be useful. At its release a few percent of the budget buy noisy facts: N, the *typical norm* and, for a grid, a measure
of *clumping*. From these alone `choose` decides what to publish, and only that gets noise, with the rest of the budget.
With Gaussian noise N is published a second time (:func:`scumble.privacy.facts.second_counts`).

**The typical norm.** With C_r the counters of row r, ‖C_r‖²/N² is about the density at a record. Published is

    T = ⌊ Σ_r ⌊‖C_r‖⌋ / R ⌋,        ⌊‖C_r‖⌋ = isqrt(Σ_b C_rb²), all in integers.

*One record changes T by 0 or 1, in one direction.* A new record adds a unit vector e to C_r: C_r ≥ 0 gives ‖C_r‖ ≤ ‖C_r
+ e‖ ≤ ‖C_r‖ + 1. Floors are monotone and ⌊x + 1⌋ = ⌊x⌋ + 1, so the sum over R rows grows by 0 to R, and T by 0 or 1; m
records: by 0 to m. Replacing a record moves T by −1, 0 or 1. ∎ T is hidden like one row of one counter.

For a grid, T is that of rows made of its cells by a fixed public map, so the same proof holds; and the norm of the
cells, a typical norm of one row, is published, too. A grid may also be published as rows by this map.

**Cost**: ``gate.proof.md``, *Facts first*. The claim is known, and charged, before any noise is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import isqrt
from typing import NamedTuple

import numpy as np

from scumble.density.release_plan import Choice
from scumble.errors import parameter
from scumble.gate.gate import Published, drawn, names_of, releasing, require_disjoint, require_ledger, require_ones
from scumble.gate.secret import Secret, held
from scumble.gate.spending import Prepaid
from scumble.privacy import audit_hooks
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.facts import Facts, calibrated, divided, price, second_counts, together

SAFE = 2**31
"""Below this many records, sums of squares fit into 64 bits: Σ C² ≤ (Σ C)² = N²."""


class PublishedChoice(NamedTuple):
    """What leaves the gate, and the choice that was made. Public."""

    made: Published
    choice: Choice


def publish_planned(
    secrets: Sequence[Secret],
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    rows: Sequence[int],
    choose: Callable[[Sequence[Facts]], Choice],
    fold: Callable[[np.ndarray], np.ndarray] | None = None,
    clumped: bool = False,
    backend: str = "exact",
    keep: bool = False,
) -> list[PublishedChoice]:
    """Publish part of the counters of secrets of disjoint records, one per class, for the price of one.

    The claim covers each of the numbers of `rows`. `choose` is called once, with the facts of all secrets, while the
    counters are out of reach. For a grid, `fold` maps its cells to rows, for the typical norm; with `clumped`, the norm
    of its cells is a fact, too.
    """
    require_ledger(keep, payer)
    with held(secrets):
        require_disjoint(secrets, budget, backend)
        require_ones(*secrets)
        numbers = 2 if clumped else 1
        parts, claim = divided(budget, numbers), price(budget, rows, numbers)
        asking = parts.facts.claim(numbers)
        found, published = [], []
        with releasing(secrets, claim, payer, "release", keep=keep) as identity:
            names = names_of(identity, secrets)
            for secret, name in zip(secrets, names, strict=True):
                noise, count = drawn(asking, (numbers, 1), backend)
                audit_hooks.hold(f"{name} facts", asking, noise, count)
                noise[0] += typical_norm(secret.counts if fold is None else fold(secret.counts[0]))
                if clumped:
                    noise[1] += typical_norm(secret.counts)
                known = budget.neighbors == "replace" or count is not None
                noisy = secret.total + (count or 0) if known else None
                noisy_facts, noisy = audit_hooks.publish(noise, noisy, f"{name} facts")
                norm, *third = (int(one) for one in noisy_facts[:, 0])
                found.append(Facts(noisy, asking.count_variance or 0.0, norm, asking.counter_variance, *third))
            with ExitStack() as hidden:
                for secret in secrets:
                    hidden.enter_context(secret.out_of_sight())
                asked = choose(tuple(found))
            choice = _checked(asked, rows, parts.rows, secrets[0].counts.shape)
            calibration = calibrated(parts.rows, choice.rows, choice.count_share)
            for secret, name, facts in zip(secrets, names, found, strict=True):
                chosen = _chosen(secret, choice)
                noise, again = drawn(calibration, chosen.shape, backend)
                audit_hooks.hold(f"{name} rows", calibration, noise, again)
                noise += chosen
                if chosen.base is not secret.counts:
                    chosen.fill(0)
                noisy = None if again is None else secret.total + again
                counts, noisy = audit_hooks.publish(noise, noisy, f"{name} rows")
                total, variance = together(facts, noisy, calibration.count_variance)
                made = Published(counts, claim, total, calibration.counter_variance, variance, name)
                published.append(PublishedChoice(made, choice))
        return published


def typical_norm(counts: np.ndarray) -> int:
    """The floor of the mean over rows of the floors of their norms.

    >>> typical_norm(np.array([[3, 4], [0, 7]]))
    6
    """
    if int(counts[0].sum()) < SAFE:
        squares = [int(one) for one in np.einsum("rb,rb->r", counts, counts)]
    else:
        squares = [sum(int(one) ** 2 for one in row if one) for row in counts]
    return sum(map(isqrt, squares)) // len(squares)


def _chosen(secret: Secret, choice: Choice) -> np.ndarray:
    """The exact counters that are to be published."""
    if choice.groups is not None:
        sums = np.zeros((1, int(choice.groups.max()) + 1), np.int64)
        np.add.at(sums[0], choice.groups, secret.counts[0])
        return sums
    if choice.rehashed is None:
        return secret.counts[: choice.rows]
    made = choice.rehashed(secret.counts[0])
    if made.dtype != np.int64 or made.ndim != 2 or len(made) != choice.rows or made.min(initial=0) < 0:
        raise parameter("the rows of a grid's cells", f"{choice.rows:,} rows of whole numbers", made.shape)
    if not (made.sum(axis=1) == secret.total).all():
        raise parameter("the rows of a grid's cells", "rows that each hold every record once", "others")
    return made


def _checked(choice: Choice, rows: Sequence[int], rest: Budget, shape: tuple[int, ...]) -> Choice:
    """The choice, if it was paid for, with its own copy of the groups."""
    if choice.rows not in rows or (choice.rehashed is None and choice.rows > shape[0]):
        raise parameter("choose", "a function that names one of the numbers of rows that are paid for", choice.rows)
    if choice.count_share not in second_counts(rest, choice.rows):
        raise parameter("choose", "a function that names one of the shares that are paid for", choice.count_share)
    if choice.groups is None:
        return choice
    if choice.rehashed is not None:
        raise parameter("choose", "a function that names groups of cells or rows of them", "both")
    mine = np.array(choice.groups)
    fits = choice.rows == 1 and mine.shape == (shape[1],) and mine.dtype.kind in "iu"
    if not fits or mine.min() < 0 or mine.max() >= len(mine):
        raise parameter("the groups of a grid's cells", f"{shape[1]:,} whole numbers, each below that", "others")
    return choice._replace(groups=mine.astype(np.int64))
