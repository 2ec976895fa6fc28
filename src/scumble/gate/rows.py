"""Rows with noise of their own, for one claim: with shares of the budget fixed beforehand, or planned on the way.

`publish_rows` publishes rows whose shares are given. `publish_in_turn` does so one row after the other, each counted
over the records in a way that may follow from the rows before it. `publish_as_planned` calls a `plan` again and again
with what has been published; it answers with the next rows, how their cells are grouped and what share each gets, with
a `Contest`, or with nothing: the release is complete.

Either is one release: one lock, one charge before any noise, one claim; that of a plan is made for the most expensive
one allowed (`AdaptiveBudget`). While the plan runs, the secret holds no counters (``gate.proof.md``, *Grouped rows* and
*Plans*).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.gate.gate import releasing, require_counts, require_disjoint, require_ledger, require_one_each
from scumble.gate.secret import Secret, Shape, held
from scumble.gate.selection import noisy_best
from scumble.gate.spending import Prepaid
from scumble.gate.words import publish_words
from scumble.privacy import audit_hooks
from scumble.privacy.account import Account
from scumble.privacy.budget import AdaptiveBudget, Budget, worst_case
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.exact import Number, as_fraction
from scumble.privacy.sensitivity import sides_of


class PublishedRow(NamedTuple):
    """One published row: noisy numbers, the noise's variance and exact scale, and the group of each cell."""

    row: int
    counts: np.ndarray
    variance: float
    groups: np.ndarray | None
    """None: every cell is a group of its own."""
    scale: Fraction


class PublishedRows(NamedTuple):
    """Rows that have left the gate. Public."""

    rows: tuple[PublishedRow, ...]
    privacy: PrivacyClaim
    noisy_count: int | None
    count_variance: float
    identity: str


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


class Discovery(NamedTuple):
    """Words are found first (:mod:`scumble.gate.words`), and decide which rows and groups there are."""

    claim: PrivacyClaim
    """Of the words."""
    made: Callable[[Sequence[Mapping[bytes, int]]], Plan | Groups] | None = None
    """From the words of each column to the plan, or to the groups of all rows."""


NONE = -1
"""The winner of a contest if no row is."""
Plan = Callable[[PublishedRows, tuple[int, ...]], Mapping[int, Wanted] | Contest]
"""From what is published and the winners of contests so far to the next step; an empty mapping ends the release."""
PURE_OF_GAUSSIAN = Fraction(3989, 5000)
"""Below √(2/π): an ε of so much times μ is a post-processing of a Gaussian shift by μ (`gate.proof.md`, *Contests*)."""
ROOT_OF_TWO = Fraction(14142, 10000)
"""Below √2."""
Groups = Mapping[int, np.ndarray | None]
"""For each row to publish, the group (0, 1, …) of each cell; None: every cell by itself."""


def publish_rows(
    secret: Secret,
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    shares: Sequence[Number],
    discovery: Discovery | None = None,
    keep: bool = False,
) -> PublishedRows:
    """Publish the count, and the rows with a share above 0; `shares` divide the budget among them, in any unit."""
    rows = len(secret.spec.lengths)
    if len(shares) != rows:
        raise parameter("shares", f"{rows:,} numbers, one for each row", len(shares))
    paid = [row for row, share in enumerate(shares) if as_fraction("shares", share)]
    claim = shared_claim(budget, secret.spec, shares)
    with _releasing(secret, budget, claim, payer, keep, discovery) as way:
        scales = dict(zip(_touched(secret.spec, paid), claim.row_scales, strict=True))
        groups: Groups = dict.fromkeys(paid)
        if discovery is not None:
            known = way.discovered(discovery)
            assert not callable(known)
            groups = {row: known[row] for row in paid}
        return way.begin()._replace(rows=way.publish(scales, groups, claim), privacy=way.whole)


def shared_claim(budget: Budget, spec: Shape, shares: Sequence[Number]) -> PrivacyClaim:
    """What `publish_rows` will claim: a row has an equal part of its share for each counter that a record touches."""
    each = shares_touched(spec, shares)
    claim = budget.claim(len(each), each, spec.reach)
    if not claim.scales.rows:  # the curve of equal scales is of persons who touch a counter of each row
        require_one_each(spec)
    return claim


def shares_touched(spec: Shape, shares: Sequence[Number]) -> list[Fraction]:
    """The share of each counter that a record touches."""
    paid = [row for row, share in enumerate(shares) if as_fraction("shares", share)]
    return [as_fraction("shares", shares[row]) / spec.touches.get(row, 1) for row in _touched(spec, paid)]


def _touched(spec: Shape, rows: Iterable[int]) -> list[int]:
    """Each row as often as a record touches it."""
    return [row for row in rows for _ in range(spec.touches.get(row, 1))]


Counted = Callable[[PublishedRows], np.ndarray]
"""The exact next row, from the records and what is published so far."""


def publish_in_turn(
    secret: Secret,
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    shares: Sequence[Number],
    counted: Counted,
) -> PublishedRows:
    """Publish the count, and then row after row; `shares` divide the budget among them, in any unit.

    The secret holds the first row, which counts records. What one record adds to any other row must be a function of
    that record, of what is published and of the spec alone, of the size that the spec's reach says.
    """
    claim = budget.claim(secret.spec.rows, list(shares), secret.spec.reach)
    with _releasing(secret, budget, claim, payer, keep=False) as way:
        found = way.begin()
        for row, scale in enumerate(claim.row_scales):
            late = partial(counted, found) if row else None
            found = found._replace(rows=found.rows + way.publish({row: scale}, {row: None}, late=late))
        return found


def planned_claim(budget: Budget, rows: int, most: int) -> PrivacyClaim:
    """What a planned release of so many rows will claim."""
    return budget.claim(rows, worst_case(rows, most))


def publish_as_planned(
    secret: Secret,
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    most: int,
    plan: Plan | Discovery,
    keep: bool = False,
) -> PublishedRows:
    """Publish the count, and then rows as the `plan` says, all for one `budget`.

    No row gets more than 1/`most` of the budget without the count's share. A `Discovery` makes the plan from words that
    are found first, for a claim of their own. `keep` keeps the exact counters for a further release, which needs a
    ledger.
    """
    require_counts(secret)
    rows, lengths = secret.spec.rows, secret.spec.lengths
    claim = planned_claim(budget, rows, most)
    funds = AdaptiveBudget(claim, most)
    discovery = plan if isinstance(plan, Discovery) else None
    with _releasing(secret, budget, claim, payer, keep, discovery) as way:
        decides = plan if discovery is None else way.discovered(discovery)
        assert callable(decides)
        found, winners, left = way.begin(), tuple[int, ...](), set(range(len(lengths)))
        while True:
            with secret.out_of_sight():
                step = decides(found, winners)
            if isinstance(step, Contest):
                winners = (*winners, way.choose(step, funds))
            elif step:
                wanted = dict(step)
                groups = checked({row: one.groups for row, one in wanted.items()}, left, lengths)
                scales = {row: way.paid(funds, row, wanted[row].share) for row in groups}
                further = found.rows + way.publish(scales, groups)
                found = found._replace(rows=tuple(sorted(further, key=lambda one: one.row)))
                left -= set(groups)
            else:
                break
        if not found.rows:
            raise ParameterError("`plan` must publish at least one row.")
        return found._replace(privacy=way.whole)


@contextmanager
def _releasing(
    secret: Secret,
    budget: Budget,
    claim: PrivacyClaim,
    payer: Account | Prepaid | None,
    keep: bool,
    discovery: Discovery | None = None,
) -> Iterator[_Way]:
    """The secret, locked and charged for; wiped if its release fails, and when it is done."""
    require_ledger(keep, payer)
    with held([secret]):
        require_disjoint([secret], budget, "exact")
        whole = claim if discovery is None else overlapping([discovery.claim, claim])
        with releasing([secret], whole, payer, "release", keep=keep) as identity:
            yield _Way(secret, claim, identity, whole)


class _Candidate(NamedTuple):
    """A row of a contest: the array that the plan gave, our copy of it, and the number of groups."""

    given: np.ndarray | None
    groups: np.ndarray
    size: int


class _Way:
    """One secret being published."""

    def __init__(self, secret: Secret, claim: PrivacyClaim, name: str, whole: PrivacyClaim) -> None:
        self.secret, self.claim, self.name, self.whole = secret, claim, name, whole
        self._candidates: dict[int, _Candidate] = {}

    def discovered(self, discovery: Discovery) -> Plan | Groups:
        """Publish the words, and let them decide."""
        words = publish_words(self.secret.words, discovery.claim, f"{self.name} words")
        assert discovery.made is not None
        with self.secret.out_of_sight():
            return discovery.made(words)

    def begin(self) -> PublishedRows:
        """Publish the count alone, with a row of no counters."""
        claim, noisy = self.claim, self.secret.total if self.claim.neighbors == "replace" else None
        if claim.scales.count is not None:
            nothing = claim.law.draw(claim.row_scales[0], 0)
            count = claim.draw_count()
            audit_hooks.hold(f"{self.name} count", claim, nothing, count, row=0)
            _, noisy = audit_hooks.publish(nothing, self.secret.total + count, f"{self.name} count")
        return PublishedRows((), claim, noisy, claim.count_variance or 0.0, self.name)

    def publish(
        self,
        scales: Mapping[int, Fraction],
        groups: Groups,
        claim: PrivacyClaim | None = None,
        late: Callable[[], np.ndarray] | None = None,
    ) -> tuple[PublishedRow, ...]:
        """Publish rows, group by group: all noise is drawn before an exact counter is touched.

        `claim` names the scales, in this order; without one, each row has them for its own. `late` counts a row that
        the secret does not hold.
        """
        lengths, law, occupancies = self.secret.spec.lengths, self.claim.law, self.secret.spec.occupancies
        groups = {row: occupancies.get(row, of) for row, of in groups.items()}
        if any(of is not None for row, of in groups.items() if row in self.secret.spec.touches):
            raise ParameterError("Rows in which a record touches several counters must not be grouped.")
        sizes = {row: lengths[row] if of is None else int(of.max()) + 1 for row, of in groups.items()}
        drawn = {row: law.draw(scales[row], size) for row, size in sizes.items()}
        place = 0
        for row, noise in drawn.items():
            of, scale, name = groups[row], scales[row], f"{self.name} row {row}"
            if claim is None:
                own = replace(self.claim, rows=1, scale=float(scale), exact_scale=str(scale), exact_scales=None)
                audit_hooks.hold(name, own, noise, None)
            else:
                audit_hooks.hold(name, claim, noise, None, row=place)
            place += self.secret.spec.touches.get(row, 1)
            exact = self.secret.row(row) if late is None else late()
            if row in occupancies:  # a record changes one of these, by one (`columns.distinct`)
                exact = exact > 0
            if of is None:
                noise += exact
            else:
                np.add.at(noise, of, exact)
            drawn[row], _ = audit_hooks.publish(noise, None, name)
            drawn[row].flags.writeable = False
        return tuple(
            PublishedRow(row, drawn[row], law.variance(scales[row]), groups[row], scales[row]) for row in drawn
        )

    def paid(self, funds: AdaptiveBudget, row: int, share: Number) -> Fraction:
        """The scale of a row that gets this share: each counter that a record touches there is paid for."""
        times = self.secret.spec.touches.get(row, 1)
        *_, scale = (funds.pay(as_fraction("share", share) / times) for _ in range(times))
        return scale

    def choose(self, contest: Contest, funds: AdaptiveBudget) -> int:
        """The row farthest from its expectation: a record moves each distance by at most one.

        It is paid for as a row of some scale s is. With Laplace noise that row would cost ε = sides · m/s, and so does
        the contest. With Gaussian noise it would be a shift by μ = √sides · m/s, of which a choice that is ε-private
        with ε = √(2/π) μ is a post-processing.
        """
        claim, pure = self.claim, self.claim.law.pure
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
            epsilon = moved / funds.pay(contest.share, least=sides)
        else:
            shift = claim.records_per_person * (ROOT_OF_TWO if sides == 2 else 1)
            epsilon = PURE_OF_GAUSSIAN * shift / funds.pay(contest.share)
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
        rows = {*range(len(spec.lengths))} - {*spec.touches}  # a record moves a candidate by one
        for row, of in checked(new, rows, spec.lengths).items():
            mine = np.arange(spec.lengths[row]) if of is None else of
            known[row] = _Candidate(groups[row], mine, int(mine.max()) + 1)
        return {row: known[row] for row in groups}


def checked(chosen: Groups, rows: set[int], lengths: Sequence[int]) -> dict[int, np.ndarray | None]:
    """Groups that can be added up, as read-only copies."""
    found: dict[int, np.ndarray | None] = {}
    for row, groups in dict(chosen).items():
        if row not in rows:
            raise parameter("plan", "a function that names rows that are not yet published", row)
        if groups is None:
            found[row] = None
            continue
        mine = np.array(groups)
        if mine.shape != (lengths[row],) or mine.dtype.kind not in "iu" or mine.min() < 0 or mine.max() >= len(mine):
            raise parameter(f"the groups of row {row}", f"{lengths[row]:,} whole numbers from 0 on", mine.shape)
        found[row] = mine.astype(np.int64)
        found[row].flags.writeable = False  # type: ignore[union-attr]
    return found
