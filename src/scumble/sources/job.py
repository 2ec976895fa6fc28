"""A build, ready to run: what was asked for, checked; then counted, then released."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scumble.bundle import Bundle
from scumble.errors import CuratorWarning, ParameterError, PrivacyError, parameter
from scumble.kernels import Kernel
from scumble.loading import released
from scumble.planning.later import Menu
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.release import Release
from scumble.schema.declarations import Declarations
from scumble.schema.kinds import require_numbers, roles_by
from scumble.sources.apart import require_apart
from scumble.sources.checkpoint import Checkpoint
from scumble.sources.onepass import Report, one_pass
from scumble.sources.opening import _paths, open_source
from scumble.sources.rehearsal import NO_BUDGET, Rehearsal
from scumble.sources.rehearsal import rehearse as rehearsed
from scumble.sources.settings import Groups, Running, Size, Views, require_known, sorted_out
from scumble.sources.source import Source
from scumble.sources.tally import Tally
from scumble.spec import Spec
from scumble.tables.roles import roles_of
from scumble.tabular.publishing import COUNT_SHARE, price
from scumble.tabular.release import TableRelease
from scumble.tabular.spec import TableSpec

BOOK = ("ledger", "dataset", "part")
LET_GO = ("checkpoint", *BOOK)
"""What a build would write or charge, and its rehearsal does not."""
UNSAID = f"{NO_BUDGET[0].upper()}{NO_BUDGET[1:]}."


class Build:
    """A pass over a source, ready to run: everything that can be refused has been checked.

    `count` runs it, then `release` adds the noise. `tally` holds the secret sketches. The options are those of
    :func:`build`, by topic: `Size`, `Groups`, `Running` (:mod:`scumble.sources.settings`), the budget, the account,
    and what `open_source` takes.
    """

    def __init__(
        self, source: object, kernel: Kernel | None = None, columns: Sequence[str] | None = None, **options: Any
    ) -> None:
        self.running = sorted_out(Running, options)
        self.declared = Declarations.taken(options)
        self.size = sorted_out(Size, options)
        self.groups = sorted_out(Groups, options)
        labels = self.groups.labels(boolean=self.declared.drop(self.groups.label) == "boolean")
        self.size = replace(self.size, bounds=self.declared.bounds(self.size.bounds))
        self.views = sorted_out(Views, options)
        self.views.require_alone(kernel, columns, self.size, self.groups)
        schema = self.views.schema
        if schema is not None and self.declared.kinds:
            raise ParameterError("whole, dates, times and booleans go with kernels. Hint: the schema declares columns.")
        if schema is None and not isinstance(kernel, Kernel):
            must = "a scumble kernel, such as scumble.EuclideanKernel(bandwidth=1.0)"
            raise parameter("kernel", must, kernel, "or give schema=, for counts and synthetic rows of a whole table.")
        promised = taken(options, "epsilon", "delta", "neighbors", "records_per_person", "rho", "mu")
        self.unsaid = all(promised.get(currency) is None for currency in ("epsilon", "rho", "mu"))
        if self.unsaid:
            promised["epsilon"] = 1.0
        self.budget = Budget.of(**promised, count_share=None if schema is None else COUNT_SHARE)
        self.running = replace(self.running, invalid=self.running.invalid or self.budget.invalid)
        book = taken(options, "ledger", "dataset", "part")
        self.groups.require_hidden(self.budget)
        if self.running.noise_first and self.groups.person_column is not None:
            raise PrivacyError(
                "Noise first and a column of persons do not go together: the table of persons would be there to steal. "
                "Hint: leave out one of them."
            )
        if self.running.noise_first and schema is not None:
            raise PrivacyError(
                "Noise first does not go with a table: which of its cells are added up depends on the first noise. "
                "Hint: leave it out."
            )
        self._require_apart(source, book.get("ledger"), options)
        people = self.groups.people(self.budget.records_per_person)
        require_known(options)
        self.source: Source = open_source(source, **options)
        try:
            others = self.groups.columns
            names = self.source.columns(columns if schema is None else list(schema), besides=others)
            self.source.require(others)  # by themselves: one that is counted may be what was meant
            self.source.require([*names, *others])
            self.groups.require_beside(names)
            self.size.require_counted(names, [name for name in self.source.names if name not in others])
            roles = schema.roles if schema is not None else roles_of(kernel, names)  # type: ignore[arg-type]
            require_numbers(self.declared.kinds, roles)
            self.roles = {**roles_by(self.declared.kinds, roles), **self.groups.roles}
            spec: Spec | TableSpec
            planned = 0
            if schema is not None:
                spec = self.views.spec()
            else:
                # Noise that comes first goes to rows that will be published; and classes have a sketch each in memory.
                later = not self.running.noise_first and self.groups.label is None
                kinds = self.declared.kinds
                spec, planned = self.size.spec(kernel, names, self.budget, kinds=kinds, later=later)  # type: ignore[arg-type]
            self.account = Account.of(**{"ledger": None, "dataset": None, "part": None, **book})
            if self.account is not None and not self.running.goes_on:
                self.account.check(self.price_of(spec, planned))
            self.tally = Tally(
                spec,
                labels=labels,
                person=self.groups.person_column,
                people=people,
                noise=(self.budget, self.account) if self.running.noise_first else None,
                **self.running.counting,
            )
            for sketch in self.tally.sketches:
                sketch.secret.planned = planned
            self.checkpoint = self._checkpoint(spec)
        except BaseException:
            self.source.close()
            raise

    def price_of(self, spec: Spec | TableSpec, planned: int) -> PrivacyClaim:
        """What the release will claim."""
        if isinstance(spec, TableSpec):
            return price(spec, self.budget)
        return Menu(spec, self.budget, planned).price if planned else self.budget.claim(spec.rows)

    def _require_apart(self, source: object, ledger: object, reading: dict[str, Any]) -> None:
        """The checkpoint is written: it must be none of the files that are read."""
        if self.running.checkpoint is None:
            return
        book: Any = getattr(ledger, "path", ledger)
        inputs = {"the source": _paths(source) or [], "the ledger": [] if book is None else [os.fsdecode(book)]}
        written = {"checkpoint": os.fsdecode(self.running.checkpoint)}
        require_apart(written, inputs, every=reading.get("format") is not None)

    def _checkpoint(self, spec: Spec | TableSpec) -> Checkpoint | None:
        """The file that a killed build goes on from, for this very build and no other."""
        if self.running.checkpoint is None:
            return None
        about = {
            **spec.to_dict(),
            "invalid": self.running.invalid,
            "label": self.groups.label,
            "classes": self.tally.classes,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "neighbors": self.budget.neighbors,
            "records_per_person": self.budget.records_per_person,
            "person_column": self.groups.person_column,
            "noise_first": self.running.noise_first,
        }
        if self.tally.labels is not None and self.tally.labels.boolean:
            about["label_kind"] = "boolean"
        if self.budget.rho is not None:
            about["rho"] = str(self.budget.rho)
        return Checkpoint(self.running.checkpoint, self.source.fingerprint(), about, self.running.checkpoint_seconds)

    def count(self, progress: Report | None = None) -> Tally:
        """Count every row of the source once."""
        try:
            self._pass(progress)
        except BaseException:
            if self.checkpoint is not None:
                self.checkpoint.let_go()
            raise
        finally:
            self.source.close()
        if self.running.invalid == "error" and not self.running.allow_empty:
            self.tally.require_some(self.source)
        return self.tally

    def left_out(self) -> list[str]:
        """Why rows were left out so far, and how many, the most frequent cause first: for the curator alone.

        As private as the rows: it belongs in nothing that is kept. After `count` and before `release` it comes in time
        to mend a misspelt class or a column of a wrong kind, before anything is spent.
        """
        return self.tally.left_out()

    def strays(self) -> list[str]:
        """Which columns have cells that count as missing since they could not be read, or at a bound they lie beyond.

        How many there are of each, and where in the source the first unreadable one is; as private as `left_out`.
        (Where noise comes first, nothing is known beside it.)
        """
        return self.tally.astray(self.source)

    def warn_unsaid(self) -> None:
        """Warn whoever named no budget of the one that is taken, before anything is read or spent."""
        if self.unsaid:
            warnings.warn(UNSAID, CuratorWarning, stacklevel=3)

    def warn(self) -> None:
        """Warn the curator, between `count` and `release`, of all that the command line tells; see :func:`build`."""
        told = self.tally.told(self.source)
        if told:
            warnings.warn("\n".join(told), CuratorWarning, stacklevel=3)

    def _pass(self, progress: Any) -> None:
        one_pass(self.source, self.roles, self.tally, checkpoint=self.checkpoint, progress=progress)

    def rehearse(self, **book: Any) -> Rehearsal:
        """What would come out, from the public arguments alone; the build then has no further use.

        `book` is the ledger that the build would be charged to, with the dataset and its part: it is only read.
        """
        self.source.close()
        return rehearsed(self, book)

    def discard_checkpoint(self) -> None:
        """Before a release is given out: its counters must not be there for a second one."""
        if self.checkpoint is not None:
            self.checkpoint.discard()

    def release(self, pledged: dict[str, Any] | None = None) -> Release | Bundle | TableRelease:
        """Add the noise, once: a release, a bundle of one release per class, or the release of a table.

        Under what it is charged stands in the checkpoint first. That is gone when the release is given out, unless it
        is `pledged` to a file (:mod:`scumble.releasing.pledges`).
        """
        if self.checkpoint is not None:
            self.checkpoint.pledge(self.tally, pledged)
        releases = self._release()
        if pledged is None:
            self.discard_checkpoint()
        return releases

    def _release(self) -> Release | Bundle | TableRelease:
        if self.running.noise_first:
            releases = [sketch.release() for sketch in self.tally.sketches]
        else:
            releases = released(self.tally.sketches, self.budget, self.account, n=self.size.n)
        if self.tally.classes is None:
            only: Release | TableRelease = releases[0]
            return only
        return Bundle(dict(zip(self.tally.classes, releases, strict=True)), label=self.tally.label)


def taken(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """These of the keywords, which are then gone from the others."""
    return {name: options.pop(name) for name in names if name in options}
