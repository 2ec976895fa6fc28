"""Rows with noise of their own, published in two steps: the second may depend on what the first has published.

Each row has a share of the budget, and a scale of noise that follows from it. The rows `first` are published first;
`choose` reads them and says which other rows to publish, and how to group their cells; these are summed by group and
published with the scales that were fixed before.

It is one release: one lock, one charge before any noise, one claim for all rows (``gate.proof.md``, *Steps*). While
`choose` runs, the secret holds no counters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.gate.gate import close, or_give_up, require_disjoint, require_ledger
from scumble.gate.secret import Secret, held
from scumble.gate.spending import Prepaid, derived, spend
from scumble.privacy import audit_hooks
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget, Calibration
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number, as_fraction


class PublishedRow(NamedTuple):
    """One published row: noisy numbers, the noise's variance and exact scale, and the group of each cell."""

    row: int
    counts: np.ndarray
    variance: float
    groups: np.ndarray | None
    """None: every cell is a group of its own."""
    scale: Fraction


class PublishedRows(NamedTuple):
    """What leaves the gate in steps. Public."""

    rows: tuple[PublishedRow, ...]
    privacy: PrivacyClaim
    noisy_count: int | None
    count_variance: float
    identity: str


Groups = Mapping[int, np.ndarray | None]
"""For each further row to publish, the group (0, 1, …) of each cell; None: every cell by itself."""
Choose = Callable[[PublishedRows], Groups]


def publish_in_steps(
    secrets: Sequence[Secret],
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    shares: Sequence[Number],
    first: Sequence[int] | None = None,
    choose: Choose | None = None,
    backend: str = "exact",
    keep: bool = False,
) -> list[PublishedRows]:
    """Publish secrets of disjoint records, one per class, for the price of one: each row with noise of its own.

    `shares` divide the budget among the rows, in any unit; a row with share 0 is not published. `first` names the rows
    of the first step (default: all). `choose` gets each secret's first step and gives the `Groups` of the further rows
    to publish.
    """
    require_ledger(keep, payer)
    with held(secrets):
        require_disjoint(secrets, budget, backend)
        paid = _paid(shares, secrets[0].spec.rows)
        begin = paid if first is None else sorted({int(row) for row in first})
        if not begin or not set(begin) <= set(paid):
            raise parameter("first", "at least one row, each with a share above 0", len(begin))
        if (choose is None) != (begin == paid):
            raise ParameterError("Give `choose` exactly if not all rows are published first.")
        calibration = budget.calibrate(len(paid), [shares[row] for row in paid], secrets[0].spec.reach)
        identity = spend(secrets, calibration.claim, payer, "release")
        with or_give_up(secrets, "Its release failed after the budget was spent."):
            published = []
            for k, secret in enumerate(secrets):
                name = derived(identity, f"class {k}", len(secrets))
                step = _Step(secret, calibration, paid, name, backend)
                found = step.begin(begin, public_count=budget.neighbors == "replace")
                if choose is not None:
                    with secret.out_of_sight():
                        chosen = choose(found)
                    further = step.go_on(checked(chosen, set(paid) - set(begin), secret.spec.lengths))
                    found = found._replace(rows=tuple(sorted(found.rows + further, key=lambda one: one.row)))
                published.append(found)
        close(secrets, keep)
        return published


class _Step:
    """One secret being published, row by row."""

    def __init__(self, secret: Secret, calibration: Calibration, paid: list[int], name: str, backend: str) -> None:
        self.secret, self.calibration, self.name, self.backend = secret, calibration, name, backend
        self.place = {row: k for k, row in enumerate(paid)}
        self.scales = calibration.row_scales

    def begin(self, rows: Sequence[int], *, public_count: bool) -> PublishedRows:
        """Publish the first rows, cell by cell, and with the first of them the count."""
        calibration, drawn = self.calibration, self._draw(dict.fromkeys(rows))
        count = calibration.draw_count(backend=self.backend) if calibration.count_scale else None
        begun, noisy = self._add(rows[0], drawn[rows[0]], None, count, public_count=public_count)
        others = [self._add(row, drawn[row], None)[0] for row in rows[1:]]
        variance = calibration.count_variance or 0.0
        return PublishedRows((begun, *others), calibration.claim, noisy, variance, self.name)

    def go_on(self, groups: Groups) -> tuple[PublishedRow, ...]:
        """Publish further rows, group by group."""
        drawn = self._draw(groups)
        return tuple(self._add(row, noise, groups[row])[0] for row, noise in drawn.items())

    def _draw(self, groups: Groups) -> dict[int, np.ndarray]:
        """Noise for every group of every row, before an exact counter is touched."""
        lengths = self.secret.spec.lengths
        sizes = {row: lengths[row] if of is None else int(of.max()) + 1 for row, of in groups.items()}
        draw = self.calibration.law.draw
        return {row: draw(self.scales[self.place[row]], size, backend=self.backend) for row, size in sizes.items()}

    def _add(
        self,
        row: int,
        noise: np.ndarray,
        of: np.ndarray | None,
        count: int | None = None,
        *,
        public_count: bool = False,
    ) -> tuple[PublishedRow, int | None]:
        name, place, secret, law = f"{self.name} row {row}", self.place[row], self.secret, self.calibration.law
        audit_hooks.hold(name, self.calibration.claim, noise, count, row=place)
        if of is None:
            noise += secret.row(row)
        else:
            np.add.at(noise, of, secret.row(row))
        noisy = secret.total + (count or 0) if public_count or count is not None else None
        counts, noisy = audit_hooks.publish(noise, noisy, name)
        counts.flags.writeable = False
        return PublishedRow(row, counts, law.variance(self.scales[place]), of, self.scales[place]), noisy


def _paid(shares: Sequence[Number], rows: int) -> list[int]:
    """The rows with a share above 0."""
    if len(shares) != rows:
        raise parameter("shares", f"{rows:,} numbers, one for each row", len(shares))
    return [row for row, share in enumerate(shares) if as_fraction("shares", share)]


def checked(chosen: Groups, rows: set[int], lengths: Sequence[int]) -> dict[int, np.ndarray | None]:
    """Groups that can be added up, as read-only copies."""
    found: dict[int, np.ndarray | None] = {}
    for row, groups in dict(chosen).items():
        if row not in rows:
            raise parameter("choose", "a function that names rows with a share that are not yet published", row)
        if groups is None:
            found[row] = None
            continue
        mine = np.array(groups)
        if mine.shape != (lengths[row],) or mine.dtype.kind not in "iu" or mine.min() < 0 or mine.max() >= len(mine):
            raise parameter(f"the groups of row {row}", f"{lengths[row]:,} whole numbers from 0 on", mine.shape)
        found[row] = mine.astype(np.int64)
        found[row].flags.writeable = False  # type: ignore[union-attr]
    return found
