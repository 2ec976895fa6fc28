"""PrivacyClaim: what a release promises, as a value that can be read, stored, compared and combined."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scumble.errors import ParameterError, parameter
from scumble.privacy import composition
from scumble.privacy.composition import MERGED
from scumble.privacy.exact import as_fraction, float_down, float_up, show
from scumble.privacy.laws import LAWS
from scumble.privacy.laws.law import Law
from scumble.privacy.sensitivity import NEIGHBORS, ONCE, Column, Moves, Reach, Scales, unit_of


@dataclass(frozen=True)
class PrivacyClaim:
    """The privacy cost of a release, with everything needed to check it.

    **Meaning.** For any two tables that differ in one `unit` (a record, or a person with up to
    `records_per_person` of them) in the sense of `neighbors`, and for any set S of releases,

        P(release in S) <= e^epsilon · P'(release in S) + delta          (Dwork et al. 2006).

    `rho` is the zero-concentrated cost (Bun & Steinke 2016), which adds up more tightly.
    All three are upper bounds, computed from the exact scales and rounded up.

    `scale` and `count_scale` are the noise's parameters (Laplace scale or Gaussian σ) of counters and of
    the count, for reading; `exact_scale` and `exact_count_scale` are the same as fractions, for
    checking. Where rows have scales of their own, `exact_scales` holds them as runs of rows and one fraction each, and
    there is no one `scale`. `rows` counters are touched by one record; of moments, so many rows, each moved by whole
    numbers of size at most `step`, which may be negative if `signed`. A merged release keeps the claims it was
    made of in `parts`, and `added_up` says how they became one. If several custodians have made the
    noise together, `custodians` says how many and `dropouts` how many of them may be missing or may
    not be trusted (`scumble.privacy.splitting`). `column` is that of a stream: what a record does to all that is
    published of one counter, over all periods (`scumble.privacy.sensitivity.Column`). The claim is then about all
    releases of the stream together.

    >>> from scumble.privacy import calibrate
    >>> claim = calibrate(1000, epsilon=1).claim
    >>> print(claim)
    ε = 1, ρ = 0.001261 (add-remove one record; discrete-laplace)
    >>> round(claim.equivalent(delta=1e-6), 3)
    0.146
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

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise parameter("epsilon", "zero or positive", self.epsilon)
        if not 0 <= self.delta <= 1:
            raise parameter("delta", "between 0 and 1", self.delta)
        if self.rho is not None and not (math.isfinite(self.rho) and self.rho >= 0):
            raise parameter("rho", "zero or positive, or None", self.rho)
        if self.neighbors not in NEIGHBORS:
            raise parameter("neighbors", f"one of {NEIGHBORS}", self.neighbors)
        if self.records_per_person < 1:
            raise parameter("records_per_person", "at least 1", self.records_per_person)
        if self.unit != unit_of(self.records_per_person):
            raise parameter("unit", repr(unit_of(self.records_per_person)), self.unit)
        if self.mechanism == MERGED:
            if self.combination not in ("disjoint", "overlapping") or len(self.parts) < 1:
                raise parameter("combination", "'disjoint' or 'overlapping', with parts", self.combination)
        elif self.mechanism not in LAWS:
            raise parameter("mechanism", f"one of {(*LAWS, MERGED)}", self.mechanism)
        elif self.rows is None or self.rows < 1 or (self.exact_scale is None) == (self.exact_scales is None):
            raise parameter("rows", "given, with an exact scale", self.rows)
        elif self.combination != "single" or self.parts:
            # Merging takes a merged claim apart: one without parts, or with others', would cost nothing, or their cost.
            raise parameter("combination", "'single', without parts, for the noise of one release", self.combination)
        if self.exact_scales is not None:
            runs = [rows for rows, _ in self.exact_scales]
            if self.mechanism == MERGED or len(runs) < 2 or min(runs) < 1 or sum(runs) != self.rows:
                raise parameter("exact_scales", f"those of {self.rows} rows, and not one for all", len(runs))
            if self.custodians is not None or self.scale is not None:
                raise parameter("exact_scales", "instead of one scale, and not of shares of custodians", self.scale)
        if self.column is not None:
            column = Column(*self.column)
            alone = self.mechanism == MERGED or self.exact_scales is not None or self.custodians is not None
            alone = alone or (self.step, self.signed) != (1, False)
            if alone or column == ONCE or (self.law.pure and not column.plain):
                raise parameter(
                    "column", "that of a stream, with one scale, and of ones if the noise is Laplace", column
                )
        if self.step < 1 or ((self.step > 1 or self.signed) and (self.mechanism == MERGED or self.custodians)):
            raise parameter("step", "at least 1, and 1 of merged claims and of shares of custodians", self.step)
        if (self.custodians is None) != (self.dropouts is None):
            raise parameter("dropouts", "given together with `custodians`", self.dropouts)
        if self.custodians is not None and (
            self.mechanism == MERGED or not 0 <= (self.dropouts or 0) < self.custodians
        ):
            raise parameter("dropouts", "at least 0 and below `custodians`", self.dropouts)

    # -- the noise, of a single release -------------------------------------------------------

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return LAWS[self.mechanism]

    @property
    def moves(self) -> Moves:
        """How far one person moves the release."""
        assert self.rows is not None
        column = ONCE if self.column is None else Column(*self.column)
        return Moves(self.rows, self.neighbors, self.records_per_person, column, Reach(self.step, self.signed))

    @property
    def scales(self) -> Scales:
        """The exact scales of the noise."""
        count = Fraction(self.exact_count_scale) if self.exact_count_scale else None
        if self.exact_scales is None:
            assert self.exact_scale is not None
            return Scales(Fraction(self.exact_scale), count)
        runs = tuple((rows, Fraction(scale)) for rows, scale in self.exact_scales)
        return Scales(min(scale for _, scale in runs), count, runs)

    @property
    def row_scales(self) -> tuple[Fraction, ...]:
        """The exact scale of each row."""
        assert self.rows is not None
        return tuple(scale for rows, scale in self.scales.runs(self.rows) for _ in range(rows))

    # -- reading ------------------------------------------------------------------------------

    def equivalent(self, delta: float = 1e-6) -> float:
        """The ε′ for which this same release is also (ε′, delta)-private; an upper bound.

        A pure-ε release is also approximately private with a far smaller ε′ if many rows
        share the budget: see `scumble.privacy.laplace`. For Gaussian noise this walks along its curve.
        """
        target = float_down(as_fraction("delta", delta))
        if not 0 <= target < 1:
            raise parameter("delta", "at least 0 and below 1", delta)
        best = self.epsilon if self.delta <= target else math.inf
        if target > 0:
            best = min(best, self._curve(target))
        if math.isinf(best):
            raise parameter("delta", f"positive for {self.mechanism} noise", delta)
        return best

    def _curve(self, delta: float) -> float:
        if self.mechanism == MERGED:
            return composition.curve(self, delta)
        # A sum of shares has its law up to e^±c, c at most `slack` (splitting.proof.md, Lemma 3).
        shares = self.law.shares if self.custodians is not None else None
        room = 2 * shares.slack if shares is not None else 0.0
        return self.law.curve(self.moves, self.scales, delta * (1 - room)) + room * min(1.0, self.epsilon)

    @property
    def mu(self) -> float | None:
        """μ of Gaussian differential privacy (Dong, Roth & Su 2022): √(2ρ), where all noise is Gaussian; else None.

        It is that of continuous noise with these scales, from which the discrete law differs in the last digits.
        """
        claims = self.parts or (self,)
        gaussian = all(claim.mechanism != MERGED and not claim.law.pure for claim in claims)
        return math.sqrt(2 * self.rho) if gaussian and self.rho is not None else None

    @property
    def added_up(self) -> str:
        """How the costs of the parts became one; empty for a single release.

        "largest" of disjoint parts; of overlapping ones the "sum" of ε and δ, or what is less at the same δ: by "rho",
        or "gaussian", Gaussian noise as one mechanism and the rest by its sum.
        """
        return composition.way(self) if self.mechanism == MERGED else ""

    @property
    def by_facts(self) -> bool:
        """Whether two or three noisy facts came first, and by them what else (:mod:`scumble.privacy.facts`)."""
        if self.combination != "overlapping" or len(self.parts) != 2:
            return False
        facts, rows = self.parts
        choices = rows.parts or (rows,)
        # Then Gaussian ones have a second count, of one share or another.
        several = 1 < len(choices) == len({(one.rows, one.exact_count_scale) for one in choices})
        return facts.rows in (1, 2) and all(
            one.combination == "single"
            and (one.exact_count_scale is None or (several and not one.law.pure))
            and facts.rho != one.rho
            for one in choices
        )

    @property
    def noise(self) -> str:
        """The law of the noise, or the laws; "merged" for several releases."""
        if not self.by_facts:
            return self.mechanism
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
            # A release may be of several measurements, and merging takes it apart: how many files, nobody knows.
            kind = f"{len(self.parts)} measurement{'s' * (len(self.parts) > 1)} of {whose} records together"
        if self.by_facts:
            kind = f"{self.noise}, after {'two' if self.parts[0].rows == 1 else 'three'} noisy facts"
        elif self.added_up in composition.HOW:
            kind += f", {composition.HOW[self.added_up]}"
        if self.custodians is not None:
            kind += f" from {self.custodians} custodians, any {self.custodians - (self.dropouts or 0)} of them enough"
        return f"ε = {show(self.epsilon)}{delta}{rho} ({self.neighbors} one {self.unit}; {kind})"

    # -- storing ------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; `from_dict` gives an equal claim back."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        values["parts"] = [part.to_dict() for part in self.parts]
        if self.exact_scales is None:
            del values["exact_scales"]  # as it was before rows had scales of their own
        else:
            values["exact_scales"] = [list(run) for run in self.exact_scales]
        if self.column is None:
            del values["column"]  # as it was before there were streams
        else:
            values["column"] = list(self.column)
        if (self.step, self.signed) == (1, False):
            del values["step"], values["signed"]  # as it was before there were moments
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PrivacyClaim:
        """Read what `to_dict` wrote; anything missing, unknown, of another type or inconsistent is refused."""
        if not isinstance(values, Mapping):
            raise parameter("claim", "a mapping", type(values).__name__)
        names = set(_TYPES)
        if set(values) | set(_ADDED) != names:
            raise parameter("claim", f"given by exactly {sorted(names)}", ", ".join(sorted(map(str, values))))
        values = {**_ADDED, **values}
        for name, types in _TYPES.items():
            if isinstance(values[name], bool) != (name == "signed") or not isinstance(values[name], types):
                raise parameter(f"claim[{name!r}]", f"of type {types}", values[name])
        floats = {name: float(values[name]) for name in _FLOATS if values[name] is not None}
        parts = tuple(cls.from_dict(part) for part in values["parts"])
        claim = cls(**{**values, **floats, "parts": parts, **_stored_lists(values)})
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
        one = None if scales.rows else float(scales.counters)
        if (self.scale, self.count_scale) != (one, None if scales.count is None else float(scales.count)):
            raise ParameterError("The claim's scales differ from its exact scales.")
        enough = self.rho is not None and self.rho >= float_up(law.rho(moves, scales))
        if not (enough and law.proves(moves, scales, self.epsilon, self.delta)):
            raise ParameterError("The claim promises more privacy than its noise scales give.")


def _stored_lists(values: Mapping[str, Any]) -> dict[str, Any]:
    column = values["column"]
    if column is not None and (len(column) != 3 or not all(type(number) is int for number in column)):
        raise parameter("claim['column']", "three whole numbers", type(column).__name__)
    return {"exact_scales": stored_runs(values["exact_scales"]), "column": None if column is None else tuple(column)}


def stored_runs(runs: Any) -> tuple[tuple[int, str], ...] | None:
    """Of rows that have scales of their own: how many, and the scale, in the order of the rows."""
    if runs is None:
        return None
    for run in runs:
        if not isinstance(run, list | tuple) or len(run) != 2 or type(run[0]) is not int or type(run[1]) is not str:
            raise parameter("claim['exact_scales']", "pairs of a number of rows and a fraction", type(run).__name__)
        _stored_fraction(run[1])
    return tuple((rows, scale) for rows, scale in runs)


def _stored_fraction(text: str) -> Fraction:
    # Only digits, and not too many: Fraction("1e999999999") would fill the memory of whoever opens a file.
    if not re.fullmatch(r"[1-9][0-9]{0,39}(/[1-9][0-9]{0,39})?", text, re.ASCII):
        raise parameter("exact scale", "a positive fraction such as '3125/3'", text[:100])
    return Fraction(text)


_OPTIONAL_FLOAT = (float, int, type(None))
_TYPES: dict[str, tuple[type, ...]] = {
    "epsilon": (float, int),
    "delta": (float, int),
    "rho": _OPTIONAL_FLOAT,
    "neighbors": (str,),
    "unit": (str,),
    "records_per_person": (int,),
    "mechanism": (str,),
    "rows": (int, type(None)),
    "scale": _OPTIONAL_FLOAT,
    "exact_scale": (str, type(None)),
    "count_scale": _OPTIONAL_FLOAT,
    "exact_count_scale": (str, type(None)),
    "combination": (str,),
    "parts": (list, tuple),
    "custodians": (int, type(None)),
    "dropouts": (int, type(None)),
    "exact_scales": (list, tuple, type(None)),
    "column": (list, tuple, type(None)),
    "step": (int,),
    "signed": (bool,),
}
_ADDED: dict[str, Any] = {"exact_scales": None, "column": None, "step": 1, "signed": False}
"""What older claims do not say."""
_FLOATS = ("epsilon", "delta", "rho", "scale", "count_scale")
