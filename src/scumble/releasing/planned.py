"""Rows that are chosen after counting: a few noisy facts first, then as many rows as serve best.

How many rows to publish depends on how many records there are and how densely they lie, and nobody knows either before
the data is seen. So a planned secret counts the most rows that could pay. At its release a few percent of the budget
buy two noisy numbers, N and the *typical norm*, and for a grid a third, how *clumped* its records are. From these
alone, `choose` decides how many of the first rows to publish (or which cells of a grid to add up, or to count once more
in rows); and only those get noise, with the rest of the budget. Where that is Gaussian, N is published once more beside
them, with less noise, the denser records lie (:func:`scumble.privacy.facts.second_counts`).

**The typical norm.** C_r being row r's counters, ‖C_r‖² counts the pairs of records that meet in row r; so ‖C_r‖²/N² is
about the density at a record (:mod:`scumble.planning.later` undoes the chance meetings). What is published is

    T = ⌊ Σ_r ⌊‖C_r‖⌋ / R ⌋,        ⌊‖C_r‖⌋ = isqrt(Σ_b C_rb²), all of it in whole numbers.

*One record changes T by 0 or 1, in one direction.* A new record adds a unit vector e to C_r: C_r ≥ 0 gives ‖C_r‖ ≤
‖C_r + e‖, and the triangle inequality ‖C_r + e‖ ≤ ‖C_r‖ + 1. The whole part is monotone and ⌊x + 1⌋ = ⌊x⌋ + 1, so
⌊‖C_r‖⌋ grows by 0 or 1, the sum over R rows by 0 to R, and the whole part of its R-th by 0 or 1. m records: by 0 to m.
Replacing a record takes one away and adds one: T moves by −1, 0 or 1 (m of them: by at most m), no more than a counter
may. ∎ So T is hidden as one row of one counter is: by a calibration for one row.

*Folded grids.* The cells of a grid are small beside the kernel. Its rows for this purpose are made of the cells: a
fixed public map sends each cell to a bucket, as a hash function of the kernel sends the cell's centre. A record still
adds one to one counter of each such row, and the proof is the same.

**Clumping.** Of a grid of one or two axes the norm of its cells is published too, ⌊‖C‖⌋: a typical norm of one row, by
the same proof. Of a grid of three axes it is how many cells hold a record. A new record makes this number greater by
one, if its cell was empty, or leaves it. So one record changes either by 0 or 1, in the direction of T; m records by 0
to m; and replacing one takes a record away and adds one, so by −1, 0 or 1. So T and the one or the other are hidden as
two rows of one counter each: by a calibration for two rows.

**Rows of cells.** A grid may be published as rows: the same kind of map sends each cell's records to one bucket of each
row (:mod:`scumble.planning.rehashing`). A record adds one to one counter of each row, so the rows cost what rows cost.

**What it costs** is in ``gate.proof.md``, *Facts first*: facts and rows are two releases, the second chosen by what the
first has published, so ε, δ and ρ add up, and the rows cost the most that any choice could. The claim says that much,
whatever is chosen: it is known, and charged, before anything is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isqrt
from typing import NamedTuple

import numpy as np

from scumble.errors import parameter
from scumble.planning.later import Choice, Clumping
from scumble.privacy import seam
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.facts import Facts, calibrated, divided, price, second_counts, together
from scumble.releasing.gate import Published, close, or_give_up, require_disjoint, require_ledger, require_ones
from scumble.releasing.secret import Secret, held
from scumble.releasing.spending import Prepaid, derived, spend

SAFE = 2**31
"""Below so many records, sums of squares fit into 64 bits: Σ C² ≤ (Σ C)² = N²."""


class PublishedChoice(NamedTuple):
    """What leaves the gate, with the choice that was made. Public."""

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
    clumping: Clumping | None = None,
    backend: str = "exact",
    keep: bool = False,
) -> list[PublishedChoice]:
    """Publish some of the rows of secrets of disjoint records, one per class, for the price of one.

    Parameters
    ----------
    rows : sequence of int
        How many rows may be chosen: the claim covers each of them.
    choose : callable
        Asked once, with the facts of all secrets; gives the one `Choice` for all of them.
    fold : callable, optional
        For a grid: makes rows of its cells, for the typical norm.
    clumping : {"norm", "occupied"}, optional
        For a grid: whether the norm of its cells, or the number of those that hold a record, is a fact, too.
    """
    require_ledger(keep, payer)
    with held(secrets):
        require_disjoint(secrets, budget, backend)
        require_ones(*secrets)
        numbers = 1 if clumping is None else 2
        parts, claim = divided(budget, numbers), price(budget, rows, numbers)
        asking = parts.facts.calibrate(numbers)
        identity = spend(secrets, claim, payer, "release")
        with or_give_up(secrets, "Its release failed after the budget was spent."):
            names = [derived(identity, f"class {k}", len(secrets)) for k in range(len(secrets))]
            found = []
            for secret, name in zip(secrets, names, strict=True):
                noise = asking.draw_counters((numbers, 1), backend=backend)
                count = asking.draw_count(backend=backend) if asking.count_scale else None
                seam.hold(f"{name} facts", asking.claim, noise, count)
                noise[0] += typical_norm(secret.counts if fold is None else fold(secret.counts[0]))
                if clumping is not None:
                    noise[1] += CLUMPINGS[clumping](secret.counts)
                exact = budget.neighbors == "replace"
                noisy = secret.total + (count or 0) if exact or count is not None else None
                told, noisy = seam.publish(noise, noisy, f"{name} facts")
                norm, *third = (int(one) for one in told[:, 0])
                found.append(Facts(noisy, asking.count_variance or 0.0, norm, asking.counter_variance, *third))
            choice = _checked(_asked(choose, found, secrets), rows, parts.rows, secrets[0].counts.shape)
            calibration = calibrated(parts.rows, choice.rows, choice.count_share)
            published = []
            for secret, name, facts in zip(secrets, names, found, strict=True):
                chosen = _chosen(secret, choice)
                noise = calibration.draw_counters(chosen.shape, backend=backend)
                again = calibration.draw_count(backend=backend) if calibration.count_scale else None
                seam.hold(f"{name} rows", calibration.claim, noise, again)
                noise += chosen
                if chosen.base is not secret.counts:
                    chosen.fill(0)
                noisy = None if again is None else secret.total + again
                counts, noisy = seam.publish(noise, noisy, f"{name} rows")
                total, variance = together(facts, noisy, calibration.count_variance)
                made = Published(counts, claim, total, calibration.counter_variance, variance, name)
                published.append(PublishedChoice(made, choice))
        close(secrets, keep)
        return published


def typical_norm(counts: np.ndarray) -> int:
    """The whole part of the mean over rows of the whole parts of their norms: see the module's documentation.

    >>> typical_norm(np.array([[3, 4], [0, 7]]))
    6
    """
    if int(counts[0].sum()) < SAFE:
        squares = [int(one) for one in np.einsum("rb,rb->r", counts, counts)]
    else:
        squares = [sum(int(one) ** 2 for one in row if one) for row in counts]
    return sum(map(isqrt, squares)) // len(squares)


def occupied(counts: np.ndarray) -> int:
    """How many cells of a grid hold a record: see the module's documentation.

    >>> occupied(np.array([[3, 0, 1]]))
    2
    """
    return int(np.count_nonzero(counts))


CLUMPINGS: Mapping[Clumping, Callable[[np.ndarray], int]] = {"norm": typical_norm, "occupied": occupied}


def _chosen(secret: Secret, choice: Choice) -> np.ndarray:
    """The exact counters that are chosen."""
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


def _asked(choose: Callable[[Sequence[Facts]], Choice], found: list[Facts], secrets: Sequence[Secret]) -> Choice:
    """The choice, made by code that finds no counters in the secrets."""
    if not secrets:
        return choose(tuple(found))
    with secrets[0].out_of_sight():
        return _asked(choose, found, secrets[1:])


def _checked(choice: Choice, rows: Sequence[int], rest: Budget, shape: tuple[int, ...]) -> Choice:
    """A choice that was paid for, with groups of our own: nobody can change them afterwards."""
    if choice.rows not in rows or (choice.rehashed is None and choice.rows > shape[0]):
        raise parameter("choose", "a function that names one of the numbers of rows that are paid for", choice.rows)
    if choice.count_share not in second_counts(rest, choice.rows):
        raise parameter("choose", "a function that names one of the shares that are paid for", choice.count_share)
    if choice.groups is None:
        return choice
    if choice.rehashed is not None:
        raise parameter("choose", "a function that names groups of cells or rows of them", "both")
    mine = np.array(choice.groups)
    if choice.rows != 1 or mine.shape != (shape[1],) or mine.dtype.kind not in "iu":
        raise parameter("the groups of a grid's cells", f"{shape[1]:,} whole numbers", mine.shape)
    if mine.min() < 0 or mine.max() >= len(mine):
        raise parameter("the groups of a grid's cells", "from 0 on, and no more than there are cells", "others")
    return choice._replace(groups=mine.astype(np.int64))
