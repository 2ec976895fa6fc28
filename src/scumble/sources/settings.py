"""What a build is told, by topic: how large the sketch is, who is counted where, how the pass runs.

Each is a frozen value that checks itself. `sorted_out` hands the keywords of one call to all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from scumble import checks
from scumble.errors import ParameterError, PrivacyError, did_you_mean, parameter
from scumble.kernels import Kernel
from scumble.planning import Bounds, rows_to_plan
from scumble.planning.start import choose
from scumble.privacy.budget import Budget
from scumble.schema import Schema
from scumble.schema.declarations import KINDS
from scumble.sources.checkpoint import EVERY
from scumble.sources.labels import Labels
from scumble.sources.people import DEFAULT_MEMORY, PersonLimit
from scumble.spec import Spec
from scumble.tables.roles import in_order
from scumble.tabular.spec import TableSpec

Setting = TypeVar("Setting")


def sorted_out(kind: type[Setting], options: dict[str, Any]) -> Setting:
    """A setting, made of those of the keywords that are its own; the others are left."""
    mine = [one.name for one in fields(kind) if one.init and one.name in options]  # type: ignore[arg-type]
    return kind(**{name: options.pop(name) for name in mine})


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a sketch is, and which: what is None or "auto" is left to the plan."""

    rows: int | None = None
    buckets: int | None = None
    seed: int = 0
    design: str = "auto"
    bounds: Bounds | checks.Ranges = None
    n: int | None = None

    def __post_init__(self) -> None:
        checks.seed(self.seed)
        if self.n is not None:
            checks.whole("n", self.n)
        rows_to_plan(self.design, self.rows)

    def require_counted(self, columns: Sequence[str], known: Sequence[str]) -> None:
        """Refuse bounds of a column that the source has and nobody counts: no misspelt name of one that is counted."""
        for name in self.bounds if isinstance(self.bounds, Mapping) else ():
            if name in known and name not in columns:
                raise ParameterError(
                    f"`bounds` names {name!r}, which is not among the columns that are counted, {', '.join(columns)}. "
                    "Hint: add it to --columns (columns=), or leave out its bounds."
                )

    def spec(
        self,
        kernel: Kernel,
        columns: Sequence[str],
        budget: Budget,
        *,
        kinds: Mapping[str, str] | None = None,
        later: bool = False,
    ) -> tuple[Spec, int]:
        """All public parameters of the sketch of these columns, and whether its release decides how much is published.

        With `later` it does, where the size is left open. `kinds` says what declared columns hold.
        """
        about: dict[str, Any] = {"columns": tuple(columns), "dimensions": len(columns)}
        size: dict[str, Any] = {
            "rows": self.rows,
            "buckets": self.buckets,
            "design": self.design,
            "bounds": in_order(self.bounds, kernel, columns),
        }
        fields, planned = choose(kernel, **about, **size, kinds=kinds, budget=budget, n=self.n, later=later)
        return Spec(kernel=kernel, **about, seed=self.seed, **fields, kinds=dict(kinds or {})), planned


@dataclass(frozen=True, kw_only=True)
class Views:
    """Which views a table has: its schema, and what else decides about them."""

    schema: Schema | None = None
    target: str | None = None
    levels: int | None = None

    def __post_init__(self) -> None:
        if self.schema is not None:
            object.__setattr__(self, "schema", Schema.of(self.schema))

    def spec(self) -> TableSpec:
        """All public parameters of the sketch of this table."""
        assert self.schema is not None
        return TableSpec.of(self.schema, target=self.target, levels=self.levels)

    def require_alone(self, kernel: Any, columns: Any, size: Size, groups: Groups) -> None:
        """A table is described by its schema alone: refuse what describes it a second time."""
        if self.schema is None:
            for name in ("target", "levels"):
                if getattr(self, name) is not None:
                    raise ParameterError(f"`{name}` goes with `schema`. Hint: describe the table by a schema.")
            return
        if kernel is not None or columns is not None:
            raise ParameterError("Give `schema` or a kernel and columns, not both: a schema names the columns.")
        if size != Size(n=size.n):
            raise ParameterError("rows, buckets, design, bounds and seed are those of kernels. Hint: leave them out.")
        if groups.label is not None:
            raise ParameterError("`label` goes with kernels. Hint: give target=, one of the schema's columns.")


@dataclass(frozen=True, kw_only=True)
class Groups:
    """Who is counted where: the column of classes, and that of persons."""

    label: str | None = None
    classes: Sequence[Any] | None = None
    person_column: str | None = None
    person_memory: int = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        if self.label is None and self.classes is None:
            return
        if self.label is None:
            raise ParameterError("`classes` needs `label`, the column that holds them.")
        if self.classes is not None:
            Labels(self.label, self.classes)  # refused before the source is opened

    def labels(self, boolean: bool) -> Labels | None:
        """How the classes are told apart, if there are any; `boolean` if the label was declared as one."""
        return None if self.label is None else Labels(self.label, self.classes, boolean=boolean)

    @property
    def columns(self) -> list[str]:
        """The columns that say who, beside those that are counted."""
        return [name for name in (self.label, self.person_column) if name is not None]

    @property
    def roles(self) -> dict[str, str]:
        """What they are read as: of a label, the classes say which words are values."""
        found = {self.label: "word", self.person_column: "category"}
        return {name: found[name] for name in self.columns}

    def require_hidden(self, budget: Budget) -> None:
        """Where the number of records is public, refuse what makes it depend on whose they are."""
        if budget.neighbors != "replace":
            return
        if self.label is not None:
            raise PrivacyError(
                "Classes do not go with neighbors='replace': the number of records of each class would be public. "
                "Hint: use neighbors='add-remove'."
            )
        if self.person_column is not None:
            raise PrivacyError(
                "A column of persons does not go with neighbors='replace': how many records are counted then depends "
                "on whose they are, and that number would be public. Hint: use neighbors='add-remove'."
            )

    def people(self, records_per_person: int) -> PersonLimit | None:
        """What limits each person's records, if a column says whose they are."""
        return None if self.person_column is None else PersonLimit(records_per_person, memory=self.person_memory)

    def require_beside(self, columns: Sequence[str]) -> None:
        """Refuse a column with two uses."""
        for name in self.columns:
            if name in columns or self.columns.count(name) > 1:
                hint = f"{name!r} says whose record it is, or of which class: leave it out of them."
                raise parameter("columns", f"without {name!r}, which has another use", list(columns), hint)


@dataclass(frozen=True, kw_only=True)
class Running:
    """How the pass runs: what becomes of bad rows, on what, and what survives a crash."""

    invalid: str | None = None
    engine: str = "auto"
    threads: int | None = None
    allow_empty: bool = False
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_seconds: float = EVERY
    noise_first: bool = False

    def __post_init__(self) -> None:
        if self.invalid not in (None, "error", "drop"):
            raise parameter("invalid", "'error' or 'drop'", self.invalid)
        if self.threads is not None:
            checks.whole("threads", self.threads)
        if self.checkpoint is not None:
            checks.path(self.checkpoint, "checkpoint")

    @property
    def counting(self) -> dict[str, Any]:
        """The options of the sketches."""
        return {"invalid": self.invalid, "engine": self.engine, "threads": self.threads}

    @property
    def goes_on(self) -> bool:
        """Whether there is a checkpoint of an earlier run, which may have been charged already."""
        return self.checkpoint is not None and os.path.exists(self.checkpoint)


_READING = ("table", "query", "format", "delimiter", "decimal", "encoding")
"""What is left for whoever opens the source."""
_TAKEN = ("epsilon", "delta", "neighbors", "records_per_person", "rho", "mu", "ledger", "dataset", "part")
_SETTINGS: tuple[Any, ...] = (Size, Views, Groups, Running)


def require_known(options: Mapping[str, Any]) -> None:
    """Refuse an option that nobody took and that says nothing of how to read the source: a misspelt one.

    >>> require_known({"bound": (0, 100)})
    Traceback (most recent call last):
    TypeError: There is no option 'bound'. Did you mean 'bounds'?
    """
    for name in options.keys() - {*_READING}:
        known = [*_READING, *_TAKEN, *KINDS, *(one.name for kind in _SETTINGS for one in fields(kind) if one.init)]
        raise TypeError(f"There is no option {name!r}.{did_you_mean(name, known)}")
