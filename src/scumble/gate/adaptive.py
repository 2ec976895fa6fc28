"""Rows that are planned as they are published: each step may depend on everything that is public by then.

A `plan` is called again and again with what has been published, and answers with

- rows: which, how their cells are grouped, and what share of the budget each gets;
- or a contest: the row farthest from an expectation is chosen privately (`selection`), for a share of the budget;
  nobody wins if no row is farther off than its handicap and `or_none` allows for that;
- or nothing: the release is complete.

It is one release: one lock, one charge before any noise, one claim, made for the most expensive plan allowed
(`privacy.adaptive_budget`). While the plan runs, the secret holds no counters (``gate.proof.md``, *Plans*).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.gate.gate import close, or_give_up, require_disjoint, require_ledger, require_ones
from scumble.gate.secret import Secret, held
from scumble.gate.selection import noisy_best
from scumble.gate.spending import Prepaid, spend
from scumble.gate.steps import PublishedRow, PublishedRows, checked
from scumble.privacy import audit_hooks
from scumble.privacy.account import Account
from scumble.privacy.adaptive_budget import AdaptiveBudget, worst_case
from scumble.privacy.budget import Budget, Calibration
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.sensitivity import sides_of


class Wanted(NamedTuple):
    """A row to be published next."""

    share: Fraction
    """Of the budget without the count's share."""
    groups: np.ndarray | None = None
    """The group (0, 1, …) of each cell; None: every cell by itself."""


class Contest(NamedTuple):
    """Which of some rows is farthest from its expectation? Distances are summed over groups of cells."""

    share: Fraction
    groups: Mapping[int, np.ndarray]
    """The candidates: for each row, the groups of its cells."""
    expected: Mapping[int, np.ndarray]
    """For each candidate, one whole number per group."""
    handicaps: Mapping[int, int]
    """Public whole numbers, subtracted from the distances."""
    or_none: bool = False
    """Whether a further candidate takes part, whose distance is always 0: `NONE`."""


NONE = -1
"""The winner of a contest if no row is."""
Plan = Callable[[PublishedRows, tuple[int, ...]], Mapping[int, Wanted] | Contest]
"""From what is published and the winners of contests so far to the next step; an empty mapping ends the release."""
PURE_OF_GAUSSIAN = Fraction(3989, 5000)
"""Below √(2/π): an ε of so much times μ is a post-processing of a Gaussian shift by μ (`gate.proof.md`, *Contests*)."""
ROOT_OF_TWO = Fraction(14142, 10000)
"""Below √2."""


def planned_claim(budget: Budget, rows: int, most: int) -> PrivacyClaim:
    """What a planned release of so many rows will claim."""
    return budget.claim(rows, worst_case(rows, most))


def publish_as_planned(
    secret: Secret, budget: Budget, payer: Account | Prepaid | None = None, *, most: int, plan: Plan, keep: bool = False
) -> PublishedRows:
    """Publish the count, and then rows as the `plan` says, all for one `budget`.

    No row gets more than 1/`most` of the budget without the count's share. `keep` keeps the exact counters for a
    further release, which needs a ledger.
    """
    require_ledger(keep, payer)
    with held([secret]):
        require_disjoint([secret], budget, "exact")
        require_ones(secret)
        rows = secret.spec.rows
        calibration = budget.calibrate(rows, worst_case(rows, most))
        identity = spend([secret], calibration.claim, payer, "release")
        with or_give_up([secret], "Its release failed after the budget was spent."):
            way = _Way(secret, calibration, AdaptiveBudget(calibration, most), identity)
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
    """A row of a contest: the array that the plan gave, our copy of it, and the number of groups."""

    given: np.ndarray | None
    groups: np.ndarray
    size: int


class _Way:
    """One secret being published."""

    def __init__(self, secret: Secret, calibration: Calibration, budget: AdaptiveBudget, name: str) -> None:
        self.secret, self.calibration, self.budget, self.name = secret, calibration, budget, name
        self._candidates: dict[int, _Candidate] = {}

    def begin(self) -> PublishedRows:
        """Publish the count alone, with a row of no counters."""
        calibration, claim = self.calibration, self.calibration.claim
        public = claim.neighbors == "replace"
        noisy = None
        if calibration.count_scale is not None:
            nothing = calibration.law.draw(calibration.row_scales[0], 0)
            count = calibration.draw_count()
            audit_hooks.hold(f"{self.name} count", claim, nothing, count, row=0)
            _, noisy = audit_hooks.publish(nothing, self.secret.total + count, f"{self.name} count")
        elif public:
            noisy = self.secret.total
        return PublishedRows((), claim, noisy, calibration.count_variance or 0.0, self.name)

    def go_on(self, step: dict[int, Wanted], left: set[int]) -> tuple[PublishedRow, ...]:
        """Publish further rows: all scales are paid for and all noise is drawn before an exact counter is touched."""
        lengths, law = self.secret.spec.lengths, self.calibration.law
        groups = checked({row: wanted.groups for row, wanted in step.items()}, left, lengths)
        scales = {row: self.budget.pay(step[row].share) for row in groups}
        sizes = {row: lengths[row] if of is None else int(of.max()) + 1 for row, of in groups.items()}
        drawn = {row: law.draw(scales[row], size) for row, size in sizes.items()}
        return tuple(self._add(row, drawn[row], groups[row], scales[row]) for row in groups)

    def _add(self, row: int, noise: np.ndarray, of: np.ndarray | None, scale: Fraction) -> PublishedRow:
        name = f"{self.name} row {row}"
        audit_hooks.hold(name, _with_scale(self.calibration.claim, scale), noise, None)
        if of is None:
            noise += self.secret.row(row)
        else:
            np.add.at(noise, of, self.secret.row(row))
        counts, _ = audit_hooks.publish(noise, None, name)
        counts.flags.writeable = False
        return PublishedRow(row, counts, self.calibration.law.variance(scale), of, scale)

    def choose(self, contest: Contest) -> int:
        """The row farthest from its expectation: a record moves each distance by at most one.

        It is paid for as a row of some scale s is. With Laplace noise that row would cost ε = sides · m/s, and so does
        the contest. With Gaussian noise it would be a shift by μ = √sides · m/s, of which a choice that is ε-private
        with ε = √(2/π) μ is a post-processing.
        """
        claim, pure = self.calibration.claim, self.calibration.law.pure
        rows = sorted(contest.groups)
        candidates = self._looked_at(contest.groups)
        expected = {row: np.asarray(contest.expected[row]) for row in rows}
        for row in rows:
            if expected[row].shape != (candidates[row].size,) or expected[row].dtype.kind != "i":
                found = expected[row].shape
                raise parameter(f"what is expected of row {row}", "one whole number per group", found)
        sides = sides_of(claim.neighbors)
        moved = sides * claim.records_per_person
        if pure:
            epsilon = moved / self.budget.pay(contest.share, least=sides)
        else:
            shift = claim.records_per_person * (ROOT_OF_TWO if sides == 2 else 1)
            epsilon = PURE_OF_GAUSSIAN * shift / self.budget.pay(contest.share)
        distances = []
        for row in rows:
            off = np.negative(expected[row], dtype=np.int64)
            np.add.at(off, candidates[row].groups, self.secret.row(row))
            distances.append(int(np.abs(off).sum()))
            off.fill(0)
        handicaps = [int(contest.handicaps.get(row, 0)) for row in rows]
        if contest.or_none:
            rows, distances, handicaps = [*rows, NONE], [*distances, 0], [*handicaps, 0]
        return rows[noisy_best(distances, epsilon, sensitivity=moved, handicaps=handicaps, pure=pure)]

    def _looked_at(self, groups: Mapping[int, np.ndarray]) -> dict[int, _Candidate]:
        """The candidates' groups, checked and copied once: an array that is given again means what it held first."""
        spec, known = self.secret.spec, self._candidates
        new = {row: of for row, of in groups.items() if row not in known or known[row].given is not of}
        for row, of in checked(new, set(range(spec.rows)), spec.lengths).items():
            mine = np.arange(spec.lengths[row]) if of is None else of
            known[row] = _Candidate(groups[row], mine, int(mine.max()) + 1)
        return {row: known[row] for row in groups}


def _with_scale(claim: PrivacyClaim, scale: Fraction) -> PrivacyClaim:
    """The claim of one row with its own scale, for the auditor."""
    return replace(claim, rows=1, scale=float(scale), exact_scale=str(scale), exact_scales=None)
