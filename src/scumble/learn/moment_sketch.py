"""The secret sums: exact moments, to which records are added."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble import files
from scumble.errors import DataError, many, parameter
from scumble.gate.gate import Holder
from scumble.gate.rows import PublishedRows, publish_rows
from scumble.gate.secret import Secret, require_unreleased
from scumble.gate.spending import Prepaid
from scumble.learn.moment_release import MomentRelease, spec_from_dict
from scumble.learn.moment_spec import MomentSpec, engine, finite, require_engine
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.exact import Number

if TYPE_CHECKING:
    from scumble.privacy.ledger import Ledger

LIMIT = 2**62


class MomentSketch(Holder):
    """Exact sums of bounded whole numbers, one set per record. Secret, as every sketch is.

    Parameters
    ----------
    spec : MomentSpec
        What is summed up: public, and fixed before the first record.
    engine : {"auto", "cpu", "gpu"}
        What sums up. All give the same sums; "auto" takes a CUDA device for large tables, where there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from scumble.learn.moment_products import LinearMoments
    >>> spec = LinearMoments(((0.0,), (1.0,)), None, True, 1.0, (0.0, 1.0))
    >>> sketch = MomentSketch(spec).update(np.array([[0.2], [0.4]]), np.array([0.1, 0.3]))
    >>> sketch.count, round(sketch.release(epsilon=1.0).privacy.epsilon, 9)
    (2, 1.0)
    """

    def __init__(self, spec: MomentSpec, *, engine: str = "auto") -> None:
        if not isinstance(spec, MomentSpec):
            raise parameter("spec", "a MomentSpec", type(spec).__name__)
        require_engine(engine)
        spec.check()
        self.spec = spec
        self._engine = engine
        self._hold(Secret(spec, drops=False))

    def empty(self) -> MomentSketch:
        """A sketch with the same parameters, and no records."""
        return MomentSketch(self.spec, engine=self._engine)

    def update(self, X: np.ndarray, y: object) -> MomentSketch:
        """Add records: finite numbers, one line each, and a target for each. Call it as often as you like."""
        X = finite(X, "The records have")
        if X.ndim != 2 or X.shape[1] != self.spec.dimensions:
            raise DataError(f"The records must be a table of {many(self.spec.dimensions, 'column')}.")
        target = self.spec.target(y)
        if target.shape != (len(X),):
            raise DataError("There must be one target for each record.")
        by = engine(self._engine, X.size)
        with self.secret.changing("update") as counts:
            if (self.secret.total + len(X)) * self.spec.step * 2 >= LIMIT:
                raise DataError("There are too many records: a sum could pass 2**62. Hint: release them in parts.")
            self.spec.count(X, target, counts, by)
        return self

    def release(
        self,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        *,
        rho: Number | None = None,
        mu: Number | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        part: str | None = None,
    ) -> MomentRelease:
        """Add exact noise to every sum, once, and give up the exact ones; the arguments are those of `Sketch.release`.

        Sums that are bounded in L1 get Laplace noise, and those that are bounded in L2 Gaussian noise, which needs a δ.
        """
        budget = Budget.of(epsilon, delta, neighbors, records_per_person, rho=rho, mu=mu)
        return publish(self, budget, Account.of(ledger, dataset, part))

    @staticmethod
    def from_container(container: files.Container, *, engine: str = "auto", **options: Any) -> MomentSketch:
        """A sketch out of a secret file's content."""
        require_unreleased(container)
        sketch = MomentSketch(spec_from_dict(container.metadata.get("spec")), engine=engine)
        sketch.secret.fill(container)
        return sketch

    def __repr__(self) -> str:
        state = "closed" if self.secret.closed else "secret"
        return f"<MomentSketch ({state}): {self.spec.kind}, {self.spec.counters[0]} sums>"


def publish(sketch: MomentSketch, budget: Budget, payer: Account | Prepaid | None = None) -> MomentRelease:
    """Publish the sums, each row with noise of its own, and give up the exact ones."""
    return released(sketch.spec, publish_rows(sketch.secret, budget, payer, shares=sketch.spec.shares))


def released(spec: MomentSpec, made: PublishedRows) -> MomentRelease:
    """Rows that have left the gate, as a release."""
    return MomentRelease(
        spec,
        np.concatenate([row.counts for row in made.rows]),
        made.privacy,
        variances=tuple(row.variance for row in made.rows),
        noisy_count=made.noisy_count,
        count_variance=made.count_variance,
        identity=made.identity,
    )
