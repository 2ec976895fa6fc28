"""What is published of a table: noisy cross-tables that anyone may hold, save and ask for ever."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from scumble import files
from scumble.columns.schema import Schema
from scumble.errors import CorruptFileError, ParameterError, many, suggest_attribute
from scumble.files.format import MOST
from scumble.privacy.budget import read_back, written
from scumble.privacy.claim import PrivacyClaim
from scumble.table.answers import Answers, drawn_alone
from scumble.table.asking import Asking
from scumble.table.comparing import Comparing
from scumble.table.distinct import estimated
from scumble.table.estimate import Estimate
from scumble.table.evidence import Grouped
from scumble.table.posterior import NAMES, TOTALS, packed, unpacked
from scumble.table.prior import DRAWS
from scumble.table.questions import names_of, place_of
from scumble.table.remarks import large_shares
from scumble.table.rows import Weighing
from scumble.table.spec import TableSpec
from scumble.table.tokens import Counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scumble.table.budgeting import Law

WHOLE = (np.dtype(np.int64), np.dtype(np.int32))
"""Of groups and pairs; the older files have the latter, and so none of their counters could be stored in 32 bits."""
LARGER = ("larger", "larger_groups")
"""What arrays of sets of three columns and more are called."""
NOTHING = np.zeros(0, np.int64)
HINTS = {
    "density kernel_sum interval standard_error kernel": "that is asked of a density, which a build with a kernel "
    "releases; of a table, ask `count`, `share`, `mean`, `quantile` or `histogram`, each with its interval",
    "median quantiles percentile": "ask `quantile(column, 0.5)`, the median, or [0.1, 0.9]",
    "min max": "no record's value is published; ask `quantile(column, [0.01, 0.99])`",
    "std var corr": "ask `estimate(lambda t: t[column].std())`, or any statistic of a frame",
    "avg average groupby group_by": "ask `mean(column, by=…)`, or `count(by=column)`",
    "nunique n_unique": "ask `distinct(column)`",
    "hist value_counts pivot pivot_table": "ask `histogram(column)`, or `crosstab(first, second)`",
    "sql query select": 'ask scumble.sql("select count(*) from people", people=release)',
    "head rows records to_pandas": "no record is in it; `sample(1000)` draws synthetic ones",
}
"""What is asked of a table by other names, and what to call."""
ELSEWHERE = {name: hint for names, hint in HINTS.items() for name in names.split()}


class TableRelease(Asking, Comparing, Weighing):
    """A table, released: counts of its columns and of pairs of them, with noise; and all that follows from these.

    It is made by :meth:`TableSketch.release`, :func:`scumble.build` or :func:`scumble.load`. Whatever is computed from
    it is post-processing: it costs no privacy, however often it is asked.

    Examples
    --------
    >>> import scumble
    >>> schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), smoker=scumble.Boolean())
    >>> sketch = scumble.TableSketch(schema).update({"age": [41, 30] * 5000, "smoker": [True, False] * 5000})
    >>> release = sketch.release(epsilon=1.0)
    >>> bool(abs(release.count("age >= 35").value - 5000) < 500)
    True
    """

    def __init__(
        self,
        grouped: Grouped,
        counts: np.ndarray,
        privacy: PrivacyClaim,
        *,
        noisy_count: int | None,
        count_variance: float,
        identity: str,
        scales: tuple[Fraction, ...] | None = None,
    ) -> None:
        self._grouped = grouped
        self._scales = scales
        self._counts = np.ascontiguousarray(counts, np.int64)
        self._counts.flags.writeable = False
        self._privacy, self._identity = privacy, identity
        self._own_count, self._noise_of_count = noisy_count, count_variance
        self._stored: dict[str, np.ndarray] | None = None

    if not TYPE_CHECKING:  # to whom it would say that there is any name

        def __getattr__(self, name: str) -> object:
            grouped = self.__dict__.get("_grouped")
            column = f"it is a column: ask `mean({name!r})`, `histogram({name!r})`, or `count(by={name!r})`"
            columns = {name: column} if grouped is not None and name in grouped.spec.schema else {}
            return suggest_attribute(self, name, ELSEWHERE | columns)

        def __getitem__(self, name: object) -> object:
            raise TypeError("A release has neither records nor columns. Hint: ask `mean(column)`, or `sample(1000)`.")

    # ---- what it is ----

    @property
    def spec(self) -> TableSpec:
        """All public parameters of the views."""
        return self._grouped.spec

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._grouped.spec.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names."""
        return self.schema.names

    @property
    def target(self) -> str | None:
        """The column whose classes have views of their own, or None."""
        return self.spec.target

    @property
    def views(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each cross-table that was measured."""
        names = self.columns
        rows = self._grouped.rows
        return tuple(tuple(names[j] for j in self.spec.views[rows[row]]) for row in self._grouped.crosstabs)

    @property
    def inferred(self) -> tuple[tuple[str, str], ...]:
        """The pairs of columns that answers so far were about and that were not measured together.

        How such columns are related is inferred from other views and a vague prior around independence.
        """
        return tuple((self.columns[one], self.columns[two]) for one, two in self._answers.inferred)

    @property
    def groups(self) -> dict[str, np.ndarray]:
        """For each column the group of each of its levels: what pairs of columns tell apart."""
        return {name: self._answers.group_of(place) for place, name in enumerate(self.schema)}

    @property
    def counts(self) -> np.ndarray:
        """The noisy integers of all rows, one after the other, read-only: of `views`, and of positions in cells."""
        return self._counts

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """The exact scale of the noise on each row of counters: the claim's own, or what the plan took of its whole."""
        if self._scales is not None:
            return self._scales
        own = self._privacy.of_counters.row_scales
        return tuple(own[row] for row in self._grouped.rows)

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """The variance of the noise on each counter, for each row of counters."""
        each = {scale: self._privacy.of_counters.law.variance(scale) for scale in set(self.scales)}
        return tuple(each[scale] for scale in self.scales)

    @property
    def privacy(self) -> PrivacyClaim:
        """What is promised to each record's owner."""
        return self._privacy

    @property
    def identity(self) -> str:
        """The release's UUID: the same in every copy of its file."""
        return self._identity

    @property
    def noisy_count(self) -> int | None:
        """The number of records with noise of its own; exact where it is public, None if it was not released."""
        return self._own_count

    @property
    def count_variance(self) -> float:
        """The variance of the noise on `noisy_count`; 0 if that is exact, or was not released."""
        return self._noise_of_count

    @property
    def _answers(self) -> Answers:
        return self._prepared

    @cached_property
    def _prepared(self) -> Answers:
        count = None if self._own_count is None else (float(self._own_count), self._noise_of_count)
        evidence = self._grouped.evidence(self._counts, self.variances, count)
        return Answers(self.spec, evidence, self._law, self._identity)

    @cached_property
    def _large_shares(self) -> dict[str, list[str]]:
        return large_shares(self)

    @property
    def _law(self) -> Law:
        return "gaussian" if "gaussian" in self._privacy.noise else "laplace"

    def _tokens(self, column: str, *, pairs: bool) -> Counted:
        own = {row: one for row, one in self.spec.token_rows.items() if one.name == column}
        row = [*own][pairs]
        place = self._grouped.rows.index(row)
        counts = self._grouped.tables(self._counts)[place]
        words = self.schema.tokens[column].levels[: own[row].finest]
        some = counts[(slice(len(words)),) * counts.ndim]
        return Counted(words, some, math.sqrt(self.variances[place]), self._law)

    def _sketched(self, column: str, confidence: float) -> Estimate:
        row, total = self.spec.sketched[column], self._answers.total
        occupied = self._grouped.tables(self._counts)[row][:-1]
        records = total.value, math.sqrt(total.variance)
        laplace = "gaussian" not in self._privacy.mechanism
        found, usual = (
            estimated(occupied, self.variances[row], laplace=laplace, records=records, confidence=share)
            for share in (confidence, 0.95)
        )
        number = DRAWS if self._stored is None else self._stored[TOTALS].shape[1]
        return drawn_alone(found, usual, number, row, self._identity)

    # ---- files ----

    def save(self, path: str | os.PathLike[str], *, draws: bool | None = None) -> None:
        """Write the release, atomically, to a file such as ``people.scumble``; none but scumble's own is replaced.

        Parameters
        ----------
        path : str or path-like
            Where to.
        draws : bool, optional
            Whether to store the draws that answers come from. The file is larger, and its readers need not make them.
            By default they are stored if they came with the file that this release was loaded from.
        """
        files.write(path, "table", *self._contents(draws))

    def to_bytes(self, *, draws: bool | None = None) -> bytes:
        """The bytes that `save` would write."""
        return files.to_bytes("table", *self._contents(draws))

    def packed_draws(self) -> dict[str, np.ndarray]:
        """The draws that answers come from, as files store them (`table.posterior`)."""
        return packed(self._answers.posterior.classes) if self._stored is None else self._stored

    @staticmethod
    def from_bytes(data: bytes) -> TableRelease:
        """The release in such bytes."""
        return TableRelease.from_container(files.from_bytes(data, expect="table"))

    def _contents(self, draws: bool | None = None) -> tuple[dict[str, object], dict[str, np.ndarray]]:
        metadata: dict[str, object] = {
            "spec": self.spec.to_dict(),
            "privacy": self._privacy.to_dict(),
            "noisy_count": self._own_count,
            "count_variance": self._noise_of_count,
            "identity": self._identity,
        }
        if self._scales is not None:
            both = zip(self._scales, self._grouped.times, strict=True)
            metadata["scales"] = written([scale for scale, times in both for _ in range(times)])
        arrays: dict[str, np.ndarray] = {
            "counts": self._counts,
            "groups": np.concatenate(self._grouped.groups).astype(np.int64),
        } | _listed(self._grouped)
        stored = self.packed_draws() if (self._stored is not None if draws is None else draws) else {}
        return metadata, arrays | stored

    @staticmethod
    def from_container(container: files.Container) -> TableRelease:
        """A release out of a file's content; what does not fit together is refused."""
        data, arrays = container.metadata, container.arrays
        try:
            spec = TableSpec.from_dict(data["spec"])
            counts, stored = arrays["counts"], {name: arrays[name] for name in NAMES if NAMES[0] in arrays}
            larger = {name: arrays[name] for name in LARGER if LARGER[0] in arrays}
            grouped = _grouped(spec, arrays["groups"], arrays["pairs"], *larger.values())
            known = len(arrays) == 3 + len(stored) + len(larger)
            if counts.shape != (grouped.length,) or counts.dtype != np.int64 or not known:
                raise CorruptFileError("The counters do not have the shape that the file's header states.")
            if np.abs(counts).max(initial=0) >= MOST or np.abs(counts.astype(float)).sum() >= MOST:
                raise CorruptFileError("The file has counters beyond 2**62: no table has as many records.")
            privacy = PrivacyClaim.from_dict(data["privacy"])
            noisy_count, noise = data["noisy_count"], data["count_variance"]
            if type(noise) not in (int, float) or not 0 <= noise < 1e300:
                raise TypeError("a variance that is none")
            if noisy_count is not None and (type(noisy_count) is not int or abs(noisy_count) >= MOST):
                raise TypeError("a count that is none")
            if type(data["identity"]) is not str:
                raise TypeError("an identity that is none")
            own = privacy.of_counters
            if own.rows not in (spec.rows, spec.singles) or own.rows < len(grouped.shapes):
                raise CorruptFileError("The privacy claim is about another number of views.")
            if sum(part.rows or 0 for part in privacy.parts if part.threshold is not None) != len(spec.apart):
                raise CorruptFileError("The privacy claim is about another number of columns with found words.")
            scales = None
            if "scales" in data:
                each = iter(read_back(data["scales"], sum(grouped.times), own))
                same = [{*itertools.islice(each, times)} for times in grouped.times]
                if max(map(len, same)) > 1:
                    raise CorruptFileError("The file has several scales for the noise of one row.")
                scales = tuple(one.pop() for one in same)
            release = TableRelease(
                grouped,
                counts,
                privacy,
                noisy_count=noisy_count,
                count_variance=float(noise),
                identity=data["identity"],
                scales=scales,
            )
            if stored:
                answers, release._stored = release._answers, stored
                answers.hold(unpacked(stored, answers.evidence))
            return release
        except (KeyError, TypeError, OverflowError, ParameterError) as problem:
            raise CorruptFileError(f"The file lacks a part of a table's release: {problem}.") from problem

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return TableRelease.from_bytes, (self.to_bytes(),)

    # ---- to look at ----

    def plot(self, columns: str | Iterable[str] | None = None) -> Figure:
        """Histograms of all columns with intervals, a matplotlib Figure. Needs ``pip install 'scumble[plot]'``.

        `columns`: one of them, or some.
        """
        from scumble.show import tableplots

        names = None if columns is None else names_of(columns, "columns")
        for name in names or ():
            place_of(self.schema, name)
        return tableplots.marginals(self, names)

    def _repr_html_(self) -> str:
        from scumble.show import cards

        return cards.release_html(self)

    def __repr__(self) -> str:
        records = self._answers.total.value
        columns = many(len(self.columns), "column")
        return f"<TableRelease of about {many(records, 'record', ',.0f')}: {columns}, {self._privacy}>"


for _room in (Asking, Comparing, Weighing):
    for _name, _method in vars(_room).items():
        if isinstance(_method, FunctionType):  # Python's own messages name the class that people know
            _method.__qualname__ = f"TableRelease.{_name}"


def _listed(grouped: Grouped) -> dict[str, np.ndarray]:
    """Which pairs and larger sets were measured, for a file; the groups of the latter one after the other."""
    spec = grouped.spec
    pairs, sets = {*grouped.pairs}, {*grouped.larger}
    found = {"pairs": np.array([k for k, own in enumerate(spec.pairs) if own in pairs], np.int64)}
    if sets:
        measured = [k for k, own in enumerate((*spec.together, *spec.triples)) if own in sets]
        maps = [group for own in grouped.sets if own in sets for group in grouped.maps(own)]
        found |= {LARGER[0]: np.array(measured, np.int64), LARGER[1]: np.concatenate(maps).astype(np.int64)}
    return found


def _grouped(
    spec: TableSpec,
    groups: np.ndarray,
    pairs: np.ndarray,
    larger: np.ndarray = NOTHING,
    larger_groups: np.ndarray = NOTHING,
) -> Grouped:
    """Groups, pairs and larger sets out of a file."""
    sets = (*spec.together, *spec.triples)
    for listed, those in ((pairs, spec.pairs), (larger, sets)):
        if listed.dtype not in WHOLE or listed.ndim != 1 or ((listed < 0) | (listed >= len(those))).any():
            raise CorruptFileError("The file has sets of columns that were not counted.")
        if len({*listed.tolist()}) < len(listed):
            raise CorruptFileError("The file has a set of columns twice.")
    own = [sets[k] for k in larger]
    each = _divided(groups, list(spec.widths))
    rest = iter(_divided(larger_groups, [int(axis.max()) + 1 for one in own for axis in spec.axes_of(one)]))
    maps = {one: tuple(next(rest) for _ in one) for one in own}
    found = Grouped(spec, tuple(each), tuple(spec.pairs[k] for k in pairs), maps)
    found.check()
    return found


def _divided(groups: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
    if groups.dtype not in WHOLE or groups.shape != (sum(sizes),):
        raise CorruptFileError("The file does not have a group for each level.")
    return np.split(groups.astype(np.int64), np.cumsum(sizes)[:-1]) if sizes else []
