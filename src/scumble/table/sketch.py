"""The secret sketch of a whole table: exact cross-tables, one increment per view for each record."""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from scumble import checks, files
from scumble.columns.cells import Texts
from scumble.columns.column import Strays
from scumble.columns.schema import Described, Schema
from scumble.density.share import Share
from scumble.errors import CorruptFileError, ParameterError, PrivacyError, many, parameter, warn
from scumble.gate.gate import Holder, publish_share
from scumble.gate.rows import Groups, Plan, publish_as_planned, publish_rows
from scumble.gate.secret import Secret, require_unreleased
from scumble.gate.spending import Prepaid
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.exact import Number
from scumble.privacy.splitting import enough, variances
from scumble.table import counting
from scumble.table.discovery import Found, Ranked, divided, require_declared, usual
from scumble.table.evidence import Grouped
from scumble.table.planner import Planner, shares_of, shares_of_claim
from scumble.table.prior import LEVELS
from scumble.table.release import TableRelease
from scumble.table.spec import TableSpec

if TYPE_CHECKING:
    from scumble.privacy.ledger import Ledger


class Levels(NamedTuple):
    """Records, ready to be counted; as secret as they are."""

    of: TableSpec
    """Whose levels they are."""
    lines: counting.Lines
    dropped: np.ndarray
    """Which ones were dropped."""
    found: Mapping[str, Any]
    """What was found in each column."""
    words: Sequence[Texts] = ()
    """Of each column whose words are still to be found, those of the records."""

    def __repr__(self) -> str:
        return "Levels(secret)"

    @property
    def strays(self) -> dict[str, Strays]:
        """Of each column, how many cells were not counted at their own value."""
        dropped = self.dropped if self.dropped.any() else None
        return {name: one.strays(dropped) for name, one in self.found.items()}


class TableSketch(Holder):
    """Exact counters of a table's views: every column alone, pairs of columns, and sets of three and more.

    A sketch is secret: it is never printed, pickled or logged with its counts. `release` consumes it. Threads may share
    one: they count, merge and release one after the other.

    Parameters
    ----------
    schema : Schema, mapping, str or PathLike
        The columns, or the path of the file that describes them: public, and fixed before the first record.
    target : str, optional
        A column whose levels are classes. Every view is then counted per class, and each class gets noise as if it were
        alone in the table: better for learning that column from the others.
    levels : int, optional
        The most levels that an axis has in a pair. By default as many as memory allows; a release takes levels together
        until its budget bears them.
    together : list of tuple of str
        Sets of three to five columns that every release measures together. Other sets of three are counted coarsely,
        and a release measures those that pairs of columns explain least.
    important : list of str or tuple of str
        Columns, or pairs of columns, that get more of the budget and more levels.
    pairs : list of tuple of str, optional
        The pairs of columns to count; by default all. With pairs named, nothing that is published depends on an earlier
        noisy number, as :meth:`release_share` needs it: an axis has 16 levels unless `levels` says otherwise.
    invalid : {"error", "drop"}
        What to do with records whose cells have no level in the schema.
    threads : int, optional
        How many count; by default one per core.

    Examples
    --------
    >>> import scumble
    >>> schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), smoker=scumble.Boolean())
    >>> sketch = TableSketch(schema).update({"age": [41, 30], "smoker": [True, False]})
    >>> sketch.count
    2
    """

    def __init__(
        self,
        schema: Described,
        target: str | None = None,
        *,
        levels: int | None = None,
        together: Iterable[Iterable[str]] = (),
        important: Iterable[str | Iterable[str]] = (),
        pairs: Iterable[Iterable[str]] | None = None,
        invalid: str = "error",
        threads: int | None = None,
    ) -> None:
        fixed = pairs is not None
        spec = TableSpec.of(
            schema,
            target=target,
            levels=LEVELS if fixed and levels is None else levels,
            together=together,
            important=important,
            pairs=pairs,
            positions=not fixed,
        )
        self._start(spec, invalid, threads)

    def _start(self, spec: TableSpec, invalid: str, threads: int | None) -> None:
        if invalid not in ("error", "drop"):
            raise parameter("invalid", "'error' or 'drop'", invalid)
        self._spec, self._invalid = spec, invalid
        self._threads = None if threads is None else checks.whole("threads", threads)
        # What is outside a column's bounds may be dropped, too: then what a record says decides whether it counts.
        drops = invalid == "drop" or any(getattr(column, "outside", "") == "drop" for column in spec.schema.values())
        self._hold(Secret(spec, drops=drops, words=len(spec.hashed)))

    @staticmethod
    def from_spec(
        spec: TableSpec, *, invalid: str = "error", engine: str = "auto", threads: int | None = None
    ) -> TableSketch:
        """An empty sketch with exactly these parameters; there is one engine, which is the processor."""
        if engine not in ("auto", "cpu"):
            raise parameter("engine", "'auto' or 'cpu', which count tables", engine)
        sketch = object.__new__(TableSketch)
        sketch._start(spec, invalid, threads)
        return sketch

    def empty(self) -> TableSketch:
        """A sketch with the same parameters and options, and no records."""
        return TableSketch.from_spec(self._spec, invalid=self._invalid, threads=self._threads)

    @property
    def spec(self) -> TableSpec:
        """All public parameters."""
        return self._spec

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._spec.schema

    @property
    def target(self) -> str | None:
        """The column whose levels are classes, or None."""
        return self._spec.target

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names."""
        return self._spec.columns

    # ---- filling ----

    def update(self, X: object) -> TableSketch:
        """Count the records of a table: pandas, polars, Arrow, NumPy, a dict of columns. Call it as often as you like.

        A record with a cell that has no level is refused, with its whole table, or dropped, as `invalid` says.
        """
        with self.secret.lock:
            self.secret.require_open("update")
        return self.add(self.levels(X))

    def levels(self, X: object) -> Levels:
        """What `update` counts of a table: a function of its records alone. Threads may ask at the same time."""
        (codes, dropped), found, words = self._spec.schema.find(
            X, invalid=self._invalid, positions=self._spec.placed, distinct=True
        )
        kept = codes[~dropped] if dropped.any() else codes
        return Levels(self._spec, counting.lines(self._spec, kept), dropped, found, words)

    def add(self, found: Levels) -> TableSketch:
        """Count what `levels` of this very sketch has found."""
        if found.of is not self._spec:
            raise PrivacyError("These are the levels of another sketch. Hint: `update` this one with the records.")
        with self.secret.changing("update") as counts:
            counting.add(self._spec, found.lines, counts, self._threads)
            self._add_words(found)
            self.secret.counted(found.lines.shape[1])
            self.dropped += int(np.count_nonzero(found.dropped))
        return self

    def count_aside(self, found: Levels, counts: np.ndarray) -> None:
        """Count the same into a thread's own counters (`Secret.aside`). Words are counted by one thread at a time."""
        counting.add(self._spec, found.lines, counts, 1)
        if found.words:
            with self.secret.changing("update"):
                self._add_words(found)

    def _add_words(self, found: Levels) -> None:
        for mine, words in zip(self.secret.words, found.words, strict=True):
            mine.update(*words)

    # ---- releasing ----

    def release(
        self,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        *,
        rho: Number | None = None,
        mu: Number | None = None,
        count_share: Number | None = None,
        n: int | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        part: str | None = None,
        keep: bool = False,
    ) -> TableRelease:
        """Add exact noise to every counter, once, and give up the exact counters.

        Parameters
        ----------
        epsilon, delta : Number
            The privacy budget. δ = 0 draws discrete Laplace noise; δ > 0 the quieter of that and discrete Gaussian
            noise.
        rho, mu : Number, optional
            The budget in another currency, instead of ε: zero-concentrated or Gaussian differential privacy.
        neighbors : {"add-remove", "replace"}
            "add-remove" hides whether a record is there; "replace" hides its content, and N is public.
        records_per_person : int
            The most records that one person may own.
        count_share : Number, optional
            The part of the budget that pays for the noisy count.
        n : int, optional
            Roughly how many records there are, if that is public. Otherwise the noisy count says so, which comes first,
            and the budget is divided by that.
        ledger, dataset, part : Ledger, path-like, str or None
            Charge the release to this dataset of a `scumble.Ledger` before noise is drawn; refused if too little is
            left. `part` names one of the dataset's disjoint parts.
        keep : bool
            Keep the exact counters for a further release. Each needs its own budget, so this needs a ledger.

        Returns
        -------
        TableRelease
            The release.
        """
        share = COUNT_SHARE if count_share is None else count_share
        budget = Budget.of(epsilon, delta, neighbors, records_per_person, share, rho=rho, mu=mu)
        return publish(self.secret, self._spec, budget, Account.of(ledger, dataset, part), n=n, keep=keep)

    def release_share(
        self,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        *,
        custodians: int,
        dropouts: int = 0,
        rho: Number | None = None,
        mu: Number | None = None,
        count_share: Number | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        part: str | None = None,
    ) -> TableShare:
        """Add this custodian's share of the noise, and give up the exact counters.

        The parameters are those of `release` and of :meth:`Sketch.release_share`. All views get the same noise, so the
        sketch must name its `pairs`. The shares of all `custodians` (except up to `dropouts`) add up to a release with
        the noise of one: :func:`scumble.combine`. One share alone does not keep the promise.
        """
        share = COUNT_SHARE if count_share is None else count_share
        budget = Budget.of(epsilon, delta, neighbors, records_per_person, share, rho=rho, mu=mu)
        payer = Account.of(ledger, dataset, part)
        return share_of(self.secret, self._spec, budget, payer, custodians=custodians, dropouts=dropouts)

    # ---- files ----

    @staticmethod
    def from_container(container: files.Container, **options: Any) -> TableSketch:
        """A sketch out of a secret file's content."""
        require_unreleased(container)
        try:
            spec = TableSpec.from_dict(container.metadata["spec"])
        except KeyError as problem:
            raise CorruptFileError(f"The file lacks a part of a sketch: {problem}.") from problem
        sketch = TableSketch.from_spec(spec, **options)
        sketch.secret.fill(container)
        return sketch

    def __getattr__(self, name: str) -> NoReturn:
        if name == "start_with_noise":
            raise AttributeError(f"A TableSketch has no `{name}`: its cells depend on noise. Hint: call release().")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        state, spec = "closed" if self.secret.closed else "secret", self._spec
        return f"<TableSketch ({state}): {many(len(spec.lengths), 'view')} of {many(len(spec.schema), 'column')}>"


COUNT_SHARE = Fraction(1, 100)


def publish(
    secret: Secret,
    spec: TableSpec,
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    n: int | None = None,
    keep: bool = False,
) -> TableRelease:
    """Publish the views of a table, the count and single columns first, and give up the exact counters."""
    rest, discovery = divided(spec, budget)
    planner, found = Planner(usual(spec), rest, n), list[Found]()
    if n is not None and spec.pairs and not planner.predicted(n).pairs:  # where some are measured, the card says which
        delta = "a δ such as 1e-6, " if planner.noise.law == "laplace" else ""
        hint = f"Hint: a larger ε, {delta}coarser cells, or fewer columns."
        warn(f"With about {n:,} records, no pair of columns will be measured; relationships are inferred. {hint}")
    if discovery is not None:

        def made(words: Sequence[Ranked]) -> Plan | Groups:
            found.append(Found(spec, words, rest, n, planner.most))
            return found[0] if spec.pairs else found[0].groups

        discovery = discovery._replace(made=made)
    if spec.pairs:
        plan = discovery or planner
        published = publish_as_planned(secret, rest, payer, most=planner.most, plan=plan, keep=keep)
    else:  # nothing to plan
        published = publish_rows(secret, rest, payer, shares=shares_of(spec), discovery=discovery, keep=keep)
    return TableRelease(
        (found[0].planner if found else planner).grouped,
        np.concatenate([row.counts for row in published.rows]),
        published.privacy,
        noisy_count=published.noisy_count,
        count_variance=published.count_variance,
        identity=published.identity,
        scales=tuple(row.scale for row in published.rows),
    )


def price(spec: TableSpec, budget: Budget) -> PrivacyClaim:
    """What a release will claim, and cost: known before any record is."""
    budget, discovery = divided(spec, budget)
    shares = shares_of_claim(usual(spec), budget)
    claim = budget.claim(len(shares), shares, spec.reach)
    return claim if discovery is None else overlapping([discovery.claim, claim])


class TableShare(Share):
    """A table's counters with one custodian's part of the noise, made by `TableSketch.release_share`.

    It is used as a :class:`scumble.Share` is: `combine` gives a `TableRelease`.
    """

    if TYPE_CHECKING:

        def from_sum(self, total: npt.ArrayLike, *, arrived: int) -> TableRelease: ...  # type: ignore[override]

    @staticmethod
    def spec_of(data: Any) -> TableSpec:
        return TableSpec.from_dict(data)

    def _released(self, counts: np.ndarray, count: int | None, arrived: int) -> TableRelease:
        spec, claim = self._spec, self._privacy
        larger = {own: tuple(np.arange(int(axis.max()) + 1) for axis in spec.axes_of(own)) for own in spec.together}
        # More shares than are enough have more noise than is claimed: the scale of their sum, rounded up.
        scale = claim.scales.counters * Fraction(math.sqrt(arrived / enough(claim)) * (1 + 1e-12))
        return TableRelease(
            Grouped(spec, tuple(map(np.arange, spec.widths)), spec.pairs, larger),
            counts,
            claim,
            noisy_count=count,
            count_variance=variances(claim, arrived)[1],
            identity=str(uuid.uuid4()),
            scales=None if arrived == enough(claim) else (scale,) * spec.rows,
        )


def share_of(
    secret: Secret, spec: TableSpec, budget: Budget, payer: Account | None, *, custodians: int, dropouts: int
) -> TableShare:
    """One custodian's share of a release in which every view has the same noise."""
    require_declared(spec, "with noise in shares")
    if spec.triples or spec.positions:
        raise ParameterError("Noise in shares needs fixed views. Hint: TableSketch(schema, pairs=[('age', 'sex')]).")
    if spec.sketched:
        name = next(iter(spec.sketched))
        raise ParameterError(f"Custodians' distinct values of {name!r} cannot be added up. Hint: leave it out.")
    made = publish_share(secret, budget, payer, custodians=custodians, dropouts=dropouts)
    return TableShare(spec, made.counts, made.noisy_count, made.privacy, made.identity)
