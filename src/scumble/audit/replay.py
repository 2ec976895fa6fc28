"""Record and play back: is everything that a path publishes a function of its noisy outputs?

**The method** (Re:cord-play, arXiv 2602.17454). Run a path on a table D and record every call of a noise mechanism: its
kind, scale and shape, the exact numbers x that went in, and the noisy numbers y that came out. Run it again on a
neighbor D′ with the recorded outputs in place of the new ones. The calls must be the same in number, kind, scale and
shape; what is published must be the same to the byte; and the inputs' distances, added up, must stay within the claim.

*Why that is enough for this pair.* Given equal answers so far, each call has the same law but for its shift x′ − x. The
probability of the same outputs is then at most e^(Σ|x − x′|/s) times as large with Laplace noise of scale s, and the
divergences of Gaussian noise add up to ρ = Σ(x − x′)²/(2σ²). The best of noisy scores, of which only the place is
published, is charged with the most that it promises to hide, apart/s (:mod:`scumble.gate.selection`), and a pair that
moves scores farther apart is a finding.

**Noise is used once.** A second use gets the first one's output, moved by what really lies between the two: if that
depends on the record, the bytes show it. A sum of shares with some but not all of an earlier sum's noise is a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from scumble.privacy.audit_hooks import Published, Watcher
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.laws import LAPLACE, LAWS
from scumble.privacy.laws.law import Drawn
from scumble.privacy.splitting import enough

PINNED = "noise-alone"
"""What a block of a stream says of its noise when it opens: no number of a table is in it."""

QUARTER_OF_PI = Fraction(785399, 1000000)
"""Above π/4: an ε-private choice is a post-processing of a Gaussian shift μ = √(π/2) ε, which costs ρ = μ²/2."""
BEST = "best-of-noisy-scores"
"""A mechanism of which only the winner's place is published."""


@dataclass(frozen=True)
class Call:
    """One use of a noise mechanism."""

    kind: str
    scale: Fraction
    exact: np.ndarray
    output: np.ndarray
    apart: int = 0
    """Of scores: the most by which the noise lets neighbors move two of them apart."""
    pure: bool = True
    """Of scores: whether their choice is charged in ε; if not, as a Gaussian shift that hides as much."""

    @property
    def asks(self) -> tuple[object, ...]:
        """All but the numbers: what must not depend on a record."""
        return self.kind, self.scale, self.exact.shape, self.apart, self.pure

    def __str__(self) -> str:
        return f"{self.kind} of scale {self.scale} on {'×'.join(map(str, self.exact.shape))} numbers"

    def cost(self, other: Call) -> tuple[Fraction, Fraction]:
        """(ε, ρ) for these outputs from the other's exact numbers instead of these; one of the two is zero."""
        if self.kind == BEST:
            epsilon = Fraction(self.apart) / self.scale
            return (epsilon, Fraction(0)) if self.pure else (Fraction(0), epsilon**2 * QUARTER_OF_PI)
        if self.kind == PINNED:
            return Fraction(0), Fraction(0)
        law = LAWS[self.kind]
        spent = law.spent([int(move) for move in (other.exact - self.exact).ravel() if move], self.scale)
        return (spent, Fraction(0)) if law.pure else (Fraction(0), spent)


@dataclass(frozen=True)
class _Held:
    """Noise that waits for its one use."""

    claim: PrivacyClaim
    counters: np.ndarray
    count: int | None
    row: int | None

    def law(self, *, count: bool = False) -> Drawn:
        """Of the published sum: all shares together, if the noise is one of several shares."""
        return Drawn(self.claim.mechanism, _promised_scale(self.claim, self.row, count=count))


class Session(Watcher):
    """One run under watch. Without `before` it records; with the session of an earlier run it plays that back."""

    def __init__(self, before: Session | None = None) -> None:
        self.calls: list[Call] = []
        self.draws: list[tuple[Drawn, tuple[int, ...]]] = []
        self.problems: list[str] = []
        self._before = before
        self._waiting: list[tuple[Drawn, np.ndarray]] = []
        self._held: dict[str, _Held] = {}
        self._used: dict[frozenset[str], Published] = {}
        self._exact: dict[frozenset[str], Published] = {}
        self._blocks: dict[str, str] = {}

    # ---- what the hooks report ----

    def drawn(self, kind: str, scale: Fraction, parts: int, values: np.ndarray) -> None:
        """Keep a portion of noise until it is put to use."""
        law = Drawn(kind, scale, parts)
        self.draws.append((law, values.shape))
        self._waiting.append((law, values.copy()))

    def held(
        self, name: str, claim: PrivacyClaim, counters: np.ndarray, count: int | None, row: int | None = None
    ) -> None:
        """Match noise that a release holds with what was drawn, and with its claim."""
        self._take(_drawn_law(claim, row), counters)
        if count is not None:
            self._take(_drawn_law(claim, row, count=True), np.array([count]))
        if name in self._held:
            self.problems.append("two portions of noise go by one name")
        self._held[name] = _Held(claim, counters.copy(), count, row)

    def published(self, names: Sequence[str], counters: np.ndarray, count: int | None) -> Published:
        """Check whose noise these numbers have; what goes out is theirs, or, played back, the earlier run's."""
        key = frozenset(names) or self._all_shares()
        if not key or not key <= set(self._held):
            self.problems.append("numbers are published with noise that was never drawn for them")
            return counters, count
        noises = [self._held[name] for name in sorted(key)]
        exact = counters - np.sum([noise.counters for noise in noises], axis=0, dtype=np.int64)
        drawn = [noise.count for noise in noises if noise.count is not None]
        exact_count = None if count is None or not drawn else count - sum(drawn)
        if key in self._used:
            return self._again(key, exact, exact_count, count)
        if any(key & other for other in self._used):
            self.problems.append("noise is used twice: one published sum has a part of another's noise")
            return counters, count
        claim = noises[0].claim
        if claim.custodians is not None and len(noises) < enough(claim):
            self.problems.append("fewer shares are added up than the promised noise needs")
        # A block of a stream publishes its noise less its nodes', so it hides what each of them holds once more.
        for _ in range(1 if key.isdisjoint(self._blocks) else 2):
            out = self._call(noises[0].law(), exact, counters)
            noisy = count  # without noise on it, a count goes out as it is: the bytes show if a record moves it
            if exact_count is not None:
                noisy = int(self._call(noises[0].law(count=True), np.array([exact_count]), np.array([count]))[0])
        self._used[key], self._exact[key] = (out, noisy), (exact, exact_count)
        return out.copy(), noisy

    def pinned(self, name: str, nodes: Sequence[str], counters: np.ndarray, count: int | None) -> Published:
        """Check that it is the block's noise less its nodes', unused; played back, the earlier run's goes out."""
        known = [self._held.get(one) for one in (name, *nodes)]
        if any(held is None or key in self._blocks for held, key in zip(known, (name, *nodes), strict=True)):
            self.problems.append("a block publishes noise that was never drawn for it")
            return counters, count
        block, *parts = [held for held in known if held is not None]
        least = block.counters - np.sum([part.counters for part in parts], axis=0, dtype=np.int64)
        own = None if block.count is None else block.count - sum(part.count or 0 for part in parts)
        if not np.array_equal(least, counters) or (own is not None and own != count):
            self.problems.append("a block publishes something else than its noise less its nodes'")
        self._blocks |= dict.fromkeys((name, *nodes), name)
        self._used[frozenset([name])] = counters, count  # nothing else may go out with it
        flat = np.append(counters.ravel(), 0 if count is None else count)
        out = self._call(Drawn(PINNED, Fraction(1)), np.zeros(len(flat), np.int64), flat)
        return out[:-1].reshape(counters.shape), None if count is None else int(out[-1])

    def chosen(self, winner: int, scores: Sequence[int], scale: Fraction, apart: int, pure: bool) -> int:
        """The winner that goes out: this one, or, played back, the earlier run's."""
        self._take(Drawn(LAPLACE.name, scale), np.empty(len(scores)), values=False)
        return int(self._call(Drawn(BEST, scale), np.array(scores, np.int64), np.array([winner]), apart, pure)[0])

    # ---- behind it ----

    def _take(self, law: Drawn, noise: np.ndarray, *, values: bool = True) -> None:
        """The portion of noise that was drawn with this law, and with these values, is spoken for."""
        for k, (drawn, drew) in enumerate(self._waiting):
            if drawn == law and drew.shape == noise.shape and (not values or np.array_equal(drew, noise)):
                del self._waiting[k]
                return
        self.problems.append(f"a claim counts on {law.kind} noise of scale {law.scale}, and no such noise was drawn")

    def _all_shares(self) -> frozenset[str]:
        """Secure aggregation hides whose shares are in a sum: take all of them."""
        return frozenset(name for name, held in self._held.items() if held.claim.custodians is not None)

    def _again(self, key: frozenset[str], exact: np.ndarray, exact_count: int | None, count: int | None) -> Published:
        """The same noise once more: the first output, moved by what really lies between the two uses."""
        (out, noisy), (before, before_count) = self._used[key], self._exact[key]
        if noisy is None or exact_count is None or before_count is None:
            return out + (exact - before), count
        return out + (exact - before), noisy + exact_count - before_count

    def _call(self, law: Drawn, exact: np.ndarray, output: np.ndarray, apart: int = 0, pure: bool = True) -> np.ndarray:
        call = Call(law.kind, law.scale, exact, output.copy(), apart, pure)
        self.calls.append(call)
        if self._before is not None and len(self.calls) <= len(self._before.calls):
            recorded = self._before.calls[len(self.calls) - 1]
            if call.asks == recorded.asks:
                return recorded.output.copy()
        return output


@dataclass(frozen=True)
class Comparison:
    """What two runs on neighboring tables have shown."""

    epsilon: Fraction
    """Of all pure mechanisms."""
    rho: Fraction
    """Of all Gaussian ones."""
    calls: int
    problems: tuple[str, ...]


def compare(recorded: Session, played: Session) -> Comparison:
    """How far apart the inputs of two runs were, and what did not match."""
    problems = list(dict.fromkeys([*recorded.problems, *played.problems]))
    if len(recorded.calls) != len(played.calls):
        problems.append(f"{len(recorded.calls)} calls of noise mechanisms here and {len(played.calls)} there")
    epsilon = rho = Fraction(0)
    for here, there in zip(recorded.calls, played.calls, strict=False):
        if here.asks != there.asks:
            problems.append(f"a call differs: {here}, but {there}")
            continue
        if here.kind == BEST and int(np.ptp(there.exact - here.exact)) > here.apart:
            problems.append("scores move farther apart than the noise of the choice allows for")
        pure, concentrated = here.cost(there)
        epsilon, rho = epsilon + pure, rho + concentrated
    if not problems and recorded.draws != played.draws:
        problems.append("noise is drawn in other sizes, scales or order")
    return Comparison(epsilon, rho, len(recorded.calls), tuple(problems))


def used(claim: PrivacyClaim, epsilon: Fraction, rho: Fraction) -> float:
    """The part of a claim that a pair of tables takes: above 1, the claim is broken.

    >>> from scumble.privacy import calibrate
    >>> used(calibrate(1, epsilon=2, count_share=0), Fraction(1), Fraction(0))
    0.5
    """
    return min(max(_ratio(epsilon, pure), _ratio(rho, gaussian)) for pure, gaussian in _allowed(claim))


def _allowed(claim: PrivacyClaim) -> list[tuple[Fraction, Fraction]]:
    """What may be spent, (ε by pure mechanisms, ρ by Gaussian ones): one of these pairs."""
    if claim.combination == "disjoint":  # a record is in one part, whichever
        return list(dict.fromkeys(pair for part in claim.parts for pair in _allowed(part)))
    if claim.combination == "overlapping":
        sums = [(Fraction(0), Fraction(0))]
        for part in claim.parts:
            sums = list(dict.fromkeys((a + c, b + d) for a, b in sums for c, d in _allowed(part)))
        return sums
    if claim.law.pure:
        return [(Fraction(claim.epsilon), Fraction(0))]
    return [(Fraction(0), Fraction(claim.rho or 0.0))]


def _ratio(spent: Fraction, allowed: Fraction) -> float:
    if spent == 0:
        return 0.0
    if allowed == 0:
        return float("inf")
    part = float(spent / allowed)
    return 1.0 if part > 1.0 and spent <= allowed else part  # the division's own rounding accuses nobody


def _promised_scale(claim: PrivacyClaim, row: int | None, *, count: bool) -> Fraction:
    """The scale that a claim names for the count, for one of its rows, or for all of them; 0 if it names none."""
    if not count and claim.exact_scales is not None:
        return Fraction(0) if row is None or not 0 <= row < (claim.rows or 0) else claim.row_scales[row]
    return Fraction((claim.exact_count_scale if count else claim.exact_scale) or 0)


def _drawn_law(claim: PrivacyClaim, row: int | None, *, count: bool = False) -> Drawn:
    """The law of the noise that this claim must have been made good with."""
    scale = _promised_scale(claim, row, count=count)
    if not scale or claim.custodians is None:
        return Drawn(claim.mechanism, scale)
    return claim.law.share(scale, enough(claim))
