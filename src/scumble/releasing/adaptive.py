"""Rows that are planned as they are published: each step may hang on everything that is public by then.

`steps` publishes rows whose shares of the budget were fixed beforehand. Often it is the first numbers that tell how the
rest is best spent: how many records there are, which columns hang together. Here a `plan` is asked, again and again,
what to do next. It is given what has been published, and answers with

- rows: which, how their cells are grouped, and what share of the budget each gets;
- or a contest: the row that an expectation is farthest from is named, by the one private choice there is
  (`selection`), for a share of the budget;
- or nothing: then the release is complete.

It is one release: one lock, one charge before any noise, one claim, made for the dearest plan that is allowed
(`privacy.purse`). While the plan thinks, the secret holds no counters (``gate.proof.md``, *Plans*).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from scumble.errors import ParameterError, PrivacyError, parameter
from scumble.privacy import seam
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.calibration import Calibration
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.purse import Purse, dearest
from scumble.privacy.sensitivity import sides_of
from scumble.releasing.gate import close, or_give_up, require_disjoint, require_ledger, require_ones
from scumble.releasing.secret import Secret, held
from scumble.releasing.selection import noisy_best
from scumble.releasing.spending import Prepaid, spend
from scumble.releasing.steps import PublishedRow, PublishedRows, checked


class Wanted(NamedTuple):
    """A row to be published next."""

    share: Fraction
    """Of what the count leaves of the budget."""
    groups: np.ndarray | None = None
    """The group (0, 1, …) of each cell; None: every cell by itself."""


class Contest(NamedTuple):
    """Which of some rows is farthest from what was expected? Distances are summed over groups of cells."""

    share: Fraction
    groups: Mapping[int, np.ndarray]
    """The candidates: for each row the groups of its cells."""
    expected: Mapping[int, np.ndarray]
    """For each of them whole numbers, one for each group."""
    handicaps: Mapping[int, int]
    """Public whole numbers that are taken off the distances."""


Plan = Callable[[PublishedRows, tuple[int, ...]], Mapping[int, Wanted] | Contest]
"""Given what is published and the winners of contests so far, what comes next; an empty mapping: no more."""


def planned_claim(budget: Budget, rows: int, most: int) -> PrivacyClaim:
    """What a planned release of so many rows will claim: its price."""
    return budget.claim(rows, dearest(rows, most))


def publish_as_planned(
    secret: Secret, budget: Budget, payer: Account | Prepaid | None = None, *, most: int, plan: Plan, keep: bool = False
) -> PublishedRows:
    """Publish the count, and then rows as the plan says.

    Parameters
    ----------
    secret : Secret
        The exact counters.
    budget : Budget
        What all of it costs together.
    payer : Account or Prepaid, optional
        Who pays for it.
    most : int
        No row gets more than 1/most of what the count leaves of the budget.
    plan : callable
        What comes next; see `Plan`.
    keep : bool
        Keep the exact counters for a further release, which needs a ledger.
    """
    require_ledger(keep, payer)
    with held([secret]):
        require_disjoint([secret], budget, "exact")
        require_ones(secret)
        rows = secret.spec.rows
        calibration = budget.calibrate(rows, dearest(rows, most))
        identity = spend([secret], calibration.claim, payer, "release")
        with or_give_up([secret], "Its release failed after the budget was spent."):
            way = _Way(secret, calibration, Purse(calibration, most), identity)
            found, winners = way.begin(), tuple[int, ...]()
            while True:
                with secret.out_of_sight():
                    step = plan(found, winners)
                if isinstance(step, Contest):
                    winners = (*winners, way.choose(step))
                elif step:
                    left = set(range(rows)) - {row.row for row in found.rows}
                    further = way.go_on(dict(step), left)
                    found = found._replace(rows=tuple(sorted(found.rows + further, key=lambda one: one.row)))
                else:
                    break
            if not found.rows:
                raise ParameterError("`plan` must publish at least one row.")
        close([secret], keep)
        return found


class _Candidate(NamedTuple):
    """A row of a contest."""

    given: np.ndarray | None
    """What the plan named."""
    groups: np.ndarray
    size: int
    """How many groups there are."""


class _Way:
    """One secret on its way out."""

    def __init__(self, secret: Secret, calibration: Calibration, purse: Purse, name: str) -> None:
        self.secret, self.calibration, self.purse, self.name = secret, calibration, purse, name
        self._candidates: dict[int, _Candidate] = {}

    def begin(self) -> PublishedRows:
        """The count, alone: it goes out with a row of no counters."""
        calibration, claim = self.calibration, self.calibration.claim
        public = claim.neighbors == "replace"
        noisy = None
        if calibration.count_scale is not None:
            nothing = calibration.law.draw(calibration.row_scales[0], 0)
            count = calibration.draw_count()
            seam.hold(f"{self.name} count", claim, nothing, count, row=0)
            _, noisy = seam.publish(nothing, self.secret.total + count, f"{self.name} count")
        elif public:
            noisy = self.secret.total
        return PublishedRows((), claim, noisy, calibration.count_variance or 0.0, self.name)

    def go_on(self, step: dict[int, Wanted], left: set[int]) -> tuple[PublishedRow, ...]:
        """Further rows. All scales are paid for, and all noise is drawn, before an exact counter is touched."""
        lengths, law = self.secret.spec.lengths, self.calibration.law
        groups = checked({row: wanted.groups for row, wanted in step.items()}, left, lengths)
        scales = {row: self.purse.pay(step[row].share) for row in groups}
        sizes = {row: lengths[row] if of is None else int(of.max()) + 1 for row, of in groups.items()}
        drawn = {row: law.draw(scales[row], size) for row, size in sizes.items()}
        return tuple(self._add(row, drawn[row], groups[row], scales[row]) for row in groups)

    def _add(self, row: int, noise: np.ndarray, of: np.ndarray | None, scale: Fraction) -> PublishedRow:
        name = f"{self.name} row {row}"
        seam.hold(name, _with_scale(self.calibration.claim, scale), noise, None)
        if of is None:
            noise += self.secret.row(row)
        else:
            np.add.at(noise, of, self.secret.row(row))
        counts, _ = seam.publish(noise, None, name)
        counts.flags.writeable = False
        return PublishedRow(row, counts, self.calibration.law.variance(scale), of, scale)

    def choose(self, contest: Contest) -> int:
        """The row that is farthest from what was expected.

        A record moves one group of each row by one, hence each distance by one at most.
        """
        claim = self.calibration.claim
        if not self.calibration.law.pure:
            raise PrivacyError("A contest is paid for in ε: it goes with noise that has one, which is Laplace's.")
        rows = sorted(contest.groups)
        candidates = self._looked_at(contest.groups)
        expected = {row: np.asarray(contest.expected[row]) for row in rows}
        for row in rows:
            if expected[row].shape != (candidates[row].size,) or expected[row].dtype.kind != "i":
                found = expected[row].shape
                raise parameter(f"what is expected of row {row}", "one whole number for each group", found)
        sides = sides_of(claim.neighbors)
        moved = sides * claim.records_per_person
        epsilon = moved / self.purse.pay(contest.share, least=sides)
        distances = []
        for row in rows:
            off = np.negative(expected[row], dtype=np.int64)
            np.add.at(off, candidates[row].groups, self.secret.row(row))
            distances.append(int(np.abs(off).sum()))
            off.fill(0)
        handicaps = [int(contest.handicaps.get(row, 0)) for row in rows]
        return rows[noisy_best(distances, epsilon, sensitivity=moved, handicaps=handicaps)]

    def _looked_at(self, groups: Mapping[int, np.ndarray]) -> dict[int, _Candidate]:
        """The candidates' groups, as arrays of our own. A plan that names the same array again means what it held when
        it was first named: that has been looked at, and copied."""
        spec, known = self.secret.spec, self._candidates
        new = {row: of for row, of in groups.items() if row not in known or known[row].given is not of}
        for row, of in checked(new, set(range(spec.rows)), spec.lengths).items():
            mine = np.arange(spec.lengths[row]) if of is None else of
            known[row] = _Candidate(groups[row], mine, int(mine.max()) + 1)
        return {row: known[row] for row in groups}


def _with_scale(claim: PrivacyClaim, scale: Fraction) -> PrivacyClaim:
    """The claim as it speaks of one row, for the auditor: with the scale that the row has."""
    return replace(claim, rows=1, scale=float(scale), exact_scale=str(scale), exact_scales=None)
