"""PrivacyClaim: what a release promises, as a value that can be read, stored, compared and combined."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from scumble.checks import Json
from scumble.errors import ParameterError, PrivacyError, parameter
from scumble.privacy import composition
from scumble.privacy.composition import MERGED
from scumble.privacy.exact import as_fraction, float_down, float_up, show
from scumble.privacy.laws import LAWS
from scumble.privacy.laws.law import Law, Size
from scumble.privacy.noise import Integers
from scumble.privacy.sensitivity import NEIGHBORS, ONCE, Column, Moves, Reach, Scales, unit_of


@dataclass(frozen=True)
class PrivacyClaim:
    """The privacy cost of a release, with everything needed to check it.

    For any two tables that differ in one `unit` (a record, or a person with up to `records_per_person` of them) in the
    sense of `neighbors`, and for any set S of releases (Dwork et al. 2006),

        P(release in S) <= e^epsilon · P'(release in S) + delta.

    `rho` is the zero-concentrated cost (Bun & Steinke 2016). All three are upper bounds, computed from the exact scales
    and rounded up.

    - `scale`, `count_scale`: Laplace scale or Gaussian σ of counters and count; `exact_scale`, `exact_count_scale`: the
      same as fractions; `exact_scales`: instead, runs of rows with a fraction each.
    - `rows`: how many rows a record touches; `step`, `signed`: of moments, the most that it adds to a row, and
      whether it may subtract.
    - `parts`, `combination`: the claims of a merged release, and how they were combined.
    - `custodians`, `dropouts`: how many made the noise, and how many of them may be missing or untrusted.
    - `threshold`: of words that nobody declared, the least noisy number with which one is published. `exception` is the
      chance that one is which a single person holds: a part of δ, and no ρ is claimed.
    - `column`: in a stream, what a record does to all that is published of one counter; the claim covers all periods.

    >>> from scumble.privacy import calibrate
    >>> print(calibrate(1000, epsilon=1))
    ε = 1, ρ = 0.001261 (add-remove one record; discrete-laplace)
    """

    epsilon: float
    delta: float
    rho: float | None
    neighbors: str
    unit: str
    records_per_person: int
    mechanism: str
    rows: int | None = None
    scale: float | None = None
    exact_scale: str | None = None
    count_scale: float | None = None
    exact_count_scale: str | None = None
    combination: str = "single"
    parts: tuple[PrivacyClaim, ...] = ()
    custodians: int | None = None
    dropouts: int | None = None
    exact_scales: tuple[tuple[int, str], ...] | None = None
    column: tuple[int, int, int] | None = None
    step: int = 1
    signed: bool = False
    threshold: int | None = None

    def __post_init__(self) -> None:
        for name, (must, holds) in self._rules().items():
            if not holds:
                raise parameter(name, must, getattr(self, name))
        for name, others in _EXCLUDES.items():
            if getattr(self, name) != _DEFAULTS[name]:
                for other in others:
                    if getattr(self, other) != _DEFAULTS[other]:
                        raise parameter(other, f"left out of a claim with `{name}`", getattr(self, other))

    def _rules(self) -> dict[str, tuple[str, bool]]:
        """What each field must be, and whether it is. All are evaluated, so none may rely on another."""
        merged, people, custodians, dropouts = (
            self.mechanism == MERGED,
            self.records_per_person,
            self.custodians,
            self.dropouts,
        )
        runs = [count for count, _ in self.exact_scales or ()]
        column = None if self.column is None else Column(*self.column)
        pure = self.mechanism in LAWS and self.law.pure
        return {
            "epsilon": ("zero or positive", 0 <= self.epsilon < math.inf),
            "delta": ("between 0 and 1", 0 <= self.delta <= 1),
            "rho": ("zero or positive, or None", self.rho is None or 0 <= self.rho < math.inf),
            "neighbors": (f"one of {NEIGHBORS}", self.neighbors in NEIGHBORS),
            "records_per_person": ("at least 1", people >= 1),
            "unit": ("'record' for one record per person, else 'person'", self.unit == unit_of(people)),
            "mechanism": (f"one of {(*LAWS, MERGED)}", merged or self.mechanism in LAWS),
            "combination": (  # merging takes merged claims apart, so parts that are not combined would cost nothing
                "'disjoint' or 'overlapping' with parts for a merged claim, and 'single' without parts for others",
                self.combination in (("disjoint", "overlapping") if merged else ("single",))
                and merged == bool(self.parts),
            ),
            "rows": (
                "given, with an exact scale",
                merged or ((self.rows or 0) >= 1 and (self.exact_scale is None) != (self.exact_scales is None)),
            ),
            "exact_scales": (
                "at least two runs of rows that add up to `rows`",
                self.exact_scales is None or (len(runs) >= 2 and min(runs) >= 1 and sum(runs) == self.rows),
            ),
            "dropouts": (
                "given together with `custodians`, at least 0 and below",
                custodians is None if dropouts is None else custodians is not None and 0 <= dropouts < custodians,
            ),
            "step": ("at least 1", self.step >= 1),
            "threshold": (
                "at least 1, of a single release",
                self.threshold is None or (1 <= self.threshold < 2**62 and not merged),
            ),
            "column": (
                "that of a stream, and of ones if the noise is Laplace",
                column is None or (column != ONCE and (column.plain or not pure)),
            ),
        }

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return LAWS[self.mechanism]

    @property
    def moves(self) -> Moves:
        """How far one person moves the release."""
        assert self.rows is not None
        column = ONCE if self.column is None else Column(*self.column)
        signed = self.signed or self.threshold is not None  # a replaced record may move one word's number twice
        return Moves(self.rows, self.neighbors, self.records_per_person, column, Reach(self.step, signed))

    @cached_property
    def scales(self) -> Scales:
        """The exact scales of the noise."""
        count = Fraction(self.exact_count_scale) if self.exact_count_scale else None
        if self.exact_scales is None:
            assert self.exact_scale is not None
            return Scales(Fraction(self.exact_scale), count)
        runs = tuple((rows, Fraction(scale)) for rows, scale in self.exact_scales)
        return Scales(min(scale for _, scale in runs), count, runs)

    @property
    def exception(self) -> float:
        """Of words that nobody declared, the part of δ by which one goes out that a single person holds; else 0."""
        if self.threshold is None:
            return 0.0
        return self.law.revealed(self.moves, self.scales.counters, self.threshold)

    @property
    def row_scales(self) -> tuple[Fraction, ...]:
        """The exact scale of each row."""
        assert self.rows is not None
        return tuple(scale for rows, scale in self.scales.runs(self.rows) for _ in range(rows))

    @property
    def counter_variance(self) -> float:
        """Exact variance of the noise on one counter, where all rows have the same."""
        return self.law.variance(self._one_scale())

    @property
    def count_variance(self) -> float | None:
        """Exact variance of the noise on the count; None if no noisy count is released."""
        return None if self.scales.count is None else self.law.variance(self.scales.count)

    def draw_counters(self, size: Size, *, backend: str = "exact") -> Integers:
        """Fresh noise for the counters, where all rows have the same."""
        return self.law.draw(self._one_scale(), size, backend=backend)

    def draw_count(self, *, backend: str = "exact") -> int:
        """Fresh noise for the count."""
        if self.scales.count is None:  # adding zero would publish N itself
            raise PrivacyError("This release has no noisy count. Hint: pass a `count_share` above 0.")
        return int(self.law.draw(self.scales.count, 1, backend=backend)[0])

    def _one_scale(self) -> Fraction:
        if self.exact_scales is not None:
            raise PrivacyError("The rows of this release have scales of their own. Hint: ask for `row_scales`.")
        return self.scales.counters

    def equivalent(self, delta: float = 1e-6) -> float:
        """The ε′ for which this release is also (ε′, delta)-private; an upper bound, far below ε for many rows."""
        target = float_down(as_fraction("delta", delta))
        if not 0 <= target < 1:
            raise parameter("delta", "at least 0 and below 1", delta)
        best = min(self.epsilon if self.delta <= target else math.inf, self._curve(target) if target else math.inf)
        if math.isinf(best):
            raise parameter("delta", f"positive for {self.mechanism} noise", delta)
        return best

    def _curve(self, delta: float) -> float:
        if self.mechanism == MERGED:
            return composition.curve(self, delta)
        if self.threshold is not None:
            left = delta - self.exception
            return self.law.curve(self.moves, self.scales, left) if left > 0 else math.inf
        # A sum of shares has its law up to e^±c, c at most `slack` (splitting.proof.md, Lemma 3).
        room = 0.0 if self.custodians is None else 2 * self.law.slack
        return self.law.curve(self.moves, self.scales, delta * (1 - room)) + room * min(1.0, self.epsilon)

    @property
    def mu(self) -> float | None:
        """μ of Gaussian differential privacy (Dong, Roth & Su 2022), √(2ρ), if all noise is Gaussian; else None.

        It is that of continuous noise; the discrete law differs in the last digits.
        """
        claims = self.parts or (self,)
        gaussian = all(claim.mechanism != MERGED and not claim.law.pure for claim in claims)
        return math.sqrt(2 * self.rho) if gaussian and self.rho is not None else None

    @property
    def added_up(self) -> str:
        """How the costs of the parts became one: "largest", "sum", "rho" or "gaussian"; empty for a single release."""
        return composition.way(self) if self.mechanism == MERGED else ""

    @property
    def by_facts(self) -> bool:
        """Whether two or three noisy facts came first and decided the rest (:mod:`scumble.privacy.facts`)."""
        if self.combination != "overlapping" or len(self.parts) != 2:
            return False
        facts, rows = self.parts
        choices = rows.parts or (rows,)
        # With several choices, Gaussian ones have a second count.
        several = 1 < len(choices) == len({(one.rows, one.exact_count_scale) for one in choices})
        named = facts.rows in (1, 2) and facts.threshold is None
        return named and all(
            one.mechanism != MERGED
            and (one.exact_count_scale is None or (several and not one.law.pure))
            and facts.rho != one.rho
            for one in choices
        )

    @property
    def of_counters(self) -> PrivacyClaim:
        """The part that is about counters, without words that were found before them; else the claim itself."""
        parts = [part for part in self.parts if part.threshold is None]
        return parts[0] if len(parts) == 1 < len(self.parts) == 2 else self

    @property
    def noise(self) -> str:
        """The name of the law of the noise, or of the laws; "merged" for several releases."""
        if not self.by_facts:
            return self.of_counters.mechanism
        rows = self.parts[1]
        return " or ".join(dict.fromkeys(one.mechanism for one in rows.parts or (rows,)))

    def sentence(self) -> str:
        """What it means for one person, in one plain sentence."""
        who = "one record" if self.unit == "record" else f"one person's records (up to {self.records_per_person})"
        change = "adding or removing" if self.neighbors == "add-remove" else "changing"
        small = self.epsilon < 700
        factor = show(math.exp(self.epsilon), digits=3) if small else f"e^{show(self.epsilon, digits=4)}"
        failure = f", except with a probability of at most {show(self.delta, digits=3)}" if self.delta else ""
        return (
            f"Whatever anyone may conclude from this release, {change} {who} would have changed the "
            f"probability of that conclusion by a factor of at most {factor}{failure}."
        )

    def __str__(self) -> str:
        delta = f", δ = {show(self.delta)}" if self.delta else ""
        rho = f", ρ = {show(self.rho, digits=4)}" if self.rho is not None else ""
        kind = self.mechanism
        if self.combination != "single":
            whose = "disjoint" if self.combination == "disjoint" else "the same"
            # Measurements, not files: merging takes a release of several measurements apart.
            kind = f"{len(self.parts)} measurement{'s' * (len(self.parts) > 1)} of {whose} records together"
        if self.by_facts:
            kind = f"{self.noise}, after {'two' if self.parts[0].rows == 1 else 'three'} noisy facts"
        elif self.added_up in composition.HOW:
            kind += f", {composition.HOW[self.added_up]}"
        if self.custodians is not None:
            kind += f" from {self.custodians} custodians, any {self.custodians - (self.dropouts or 0)} of them enough"
        return f"ε = {show(self.epsilon)}{delta}{rho} ({self.neighbors} one {self.unit}; {kind})"

    def to_dict(self) -> Json:
        """Plain JSON values; `from_dict` gives an equal claim back."""
        values = {name: getattr(self, name) for name in _TYPES}
        values["parts"] = [part.to_dict() for part in self.parts]
        for added in _ADDED:
            if all(values[name] == _DEFAULTS[name] for name in added):
                for name in added:
                    del values[name]
        return {name: _as_lists(value) for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Json) -> PrivacyClaim:
        """Read what `to_dict` wrote; anything missing, unknown, of another type or inconsistent is refused."""
        if not isinstance(values, Mapping):
            raise parameter("claim", "a mapping", type(values).__name__)
        lacking = {name: _DEFAULTS[name] for added in _ADDED for name in added}
        if odd := {*values, *lacking} ^ {*_TYPES}:
            raise ParameterError(
                f"`claim` must be given by its fields; odd are {', '.join(sorted(map(str, odd)))[:80]}."
            )
        values = {**lacking, **values}
        for name, types in _TYPES.items():
            if isinstance(values[name], bool) != (types == (bool,)) or not isinstance(values[name], types):
                raise parameter(f"claim[{name!r}]", f"of type {types}", values[name])
            if float in types and values[name] is not None:
                try:
                    values[name] = float(values[name])
                except OverflowError:
                    raise ParameterError("`claim` has a number that no float holds.") from None
        values["parts"] = tuple(cls.from_dict(part) for part in values["parts"])
        claim = cls(**{**values, **_stored_lists(values)})
        claim._check()
        return claim

    def _check(self) -> None:
        """A stored claim may not promise more than its own exact scales give."""
        if self.mechanism == MERGED:
            if not composition.follows(self):
                raise ParameterError("The claim of a merged release does not follow from its parts.")
            return
        for text in (self.exact_scale, self.exact_count_scale):
            if text is not None:
                _stored_fraction(text)
        law, moves, scales = self.law, self.moves, self.scales
        stated = None if scales.rows else float(scales.counters), None if scales.count is None else float(scales.count)
        if (self.scale, self.count_scale) != stated:
            raise ParameterError("The claim's scales differ from its exact scales.")
        left = self.delta - self.exception
        if self.threshold is not None:
            enough = self.rho is None and left >= 0
        else:
            enough = self.rho is not None and self.rho >= float_up(law.rho(moves, scales))
        if not (enough and law.proves(moves, scales, self.epsilon, left)):
            raise ParameterError("The claim promises more privacy than its noise scales give.")


def _as_lists(value: object) -> object:
    return [_as_lists(one) for one in value] if isinstance(value, tuple) else value


def _stored_lists(values: Json) -> Json:
    column = values["column"]
    if column is not None and (len(column) != 3 or not all(type(number) is int for number in column)):
        raise parameter("claim['column']", "three whole numbers", type(column).__name__)
    return {"exact_scales": stored_runs(values["exact_scales"]), "column": None if column is None else tuple(column)}


def stored_runs(runs: Sequence[object] | None) -> tuple[tuple[int, str], ...] | None:
    """Runs of rows with one scale each, as stored: how many rows, and the fraction."""
    if runs is None:
        return None
    found = []
    for run in runs:
        if not isinstance(run, list | tuple) or len(run) != 2 or type(run[0]) is not int or type(run[1]) is not str:
            raise parameter("claim['exact_scales']", "pairs of a number of rows and a fraction", type(run).__name__)
        _stored_fraction(run[1])
        found.append((run[0], run[1]))
    return tuple(found)


def _stored_fraction(text: str) -> Fraction:
    # Few digits and no exponent: Fraction("1e999999999") from a hostile file would fill the memory.
    if not re.fullmatch(r"[1-9][0-9]{0,39}(/[1-9][0-9]{0,39})?", text, re.ASCII):
        raise parameter("exact scale", "a positive fraction such as '3125/3'", text[:100])
    return Fraction(text)


_NONE = type(None)
_ACCEPTED: dict[str, tuple[type, ...]] = {
    "float": (float, int),
    "float | None": (float, int, _NONE),
    "int": (int,),
    "int | None": (int, _NONE),
    "str": (str,),
    "str | None": (str, _NONE),
    "bool": (bool,),
    "tuple[PrivacyClaim, ...]": (list, tuple),
    "tuple[tuple[int, str], ...] | None": (list, tuple, _NONE),
    "tuple[int, int, int] | None": (list, tuple, _NONE),
}
"""The JSON types that a field of each type is read from."""
_TYPES = {field.name: _ACCEPTED[str(field.type)] for field in dataclasses.fields(PrivacyClaim)}
_DEFAULTS = {field.name: field.default for field in dataclasses.fields(PrivacyClaim)}
_ADDED = ("exact_scales",), ("column",), ("step", "signed"), ("threshold",)
"""Fields that older files lack, some of them together; so do files of claims that need none of these."""

_EXCLUDES: dict[str, tuple[str, ...]] = {
    "parts": ("exact_scales", "column", "custodians", "step", "signed"),
    "exact_scales": ("scale", "column", "custodians"),
    "column": ("custodians", "step", "signed"),
    "custodians": ("step", "signed"),
    "threshold": ("exact_scales", "exact_count_scale", "column", "custodians", "step", "signed"),
}
"""Fields that no claim has together."""
