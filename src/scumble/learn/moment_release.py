"""Moments: the secret sums, and what is published, which anyone may hold, save, merge and learn from.

**Penalty.** The noise in a matrix of moments moves its eigenvalues by up to about 2s√q, s being the deviation of an
entry and q its size: directions in which the columns vary less than that are not known, and a penalty of that order
takes them out. It follows from public numbers alone.

**Guard.** Noise alone also seems to explain something of a target: Σ over directions of the noise's variance over
(eigenvalue + penalty). The model shrinks by the share which that is of what it seems to explain, and to nothing, the
mean, if it is all (James & Stein 1961); or by a power of that share.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import KW_ONLY, dataclass
from typing import Any, Unpack

import numpy as np

from scumble import files
from scumble.checks import Json
from scumble.density.release import COMBINE, Disjoint
from scumble.errors import CorruptFileError, DataError, MergeError, ParameterError, many, parameter
from scumble.files.format import fits
from scumble.gate.gate import Holder
from scumble.gate.rows import PublishedRows, publish_rows
from scumble.gate.secret import Secret, require_unreleased
from scumble.gate.spending import Prepaid
from scumble.learn.descent import DescentSpec
from scumble.learn.moments import (
    ClassMoments,
    Floats,
    HatMoments,
    LinearMoments,
    MomentSpec,
    Spans,
    engine,
    finite,
    require_engine,
)
from scumble.privacy.account import Account, Promise, charged
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import MERGED
from scumble.privacy.exact import Number


@dataclass(eq=False, repr=False)
class MomentRelease:
    """Moments of a table, released once: what linear and additive models are solved from. `scumble.load` reads it."""

    spec: MomentSpec
    counts: np.ndarray
    """The noisy sums of all rows, one after the other, read-only."""
    privacy: PrivacyClaim
    """What is promised to each record's owner."""
    _: KW_ONLY
    variances: tuple[float, ...]
    """The variance of the noise on each sum, for each row."""
    noisy_count: int | None
    count_variance: float
    identity: str = ""
    """The release's UUID: the same in every copy of its file."""
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.counts = np.ascontiguousarray(self.counts, np.int64)
        self.counts.flags.writeable = False
        self.identity = self.identity or str(uuid.uuid4())
        self.parts = self.parts or (self.identity,)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns' names, or None."""
        return self.spec.columns

    @property
    def bounds(self) -> Spans:
        """The public bounds, (low, high)."""
        return self.spec.bounds

    @property
    def rows(self) -> list[Floats]:
        """The rows of sums, in units of one record."""
        return self.spec.split(self.counts)

    @property
    def errors(self) -> list[float]:
        """The standard deviation of the noise in each row, in units of one record."""
        return [float(np.sqrt(one)) / self.spec.step for one in self.variances]

    @property
    def count(self) -> float:
        """Estimated number of records; exact only where the neighboring relation makes it public."""
        first = self.rows[0]
        sums, variance = float(first.sum()), len(first) * self.errors[0] ** 2
        if self.noisy_count is None:
            return sums
        weight = variance / (variance + self.count_variance)
        return weight * self.noisy_count + (1.0 - weight) * sums

    def merge(self, other: MomentRelease, *, disjoint: Disjoint = None) -> MomentRelease:
        """A new release of both tables together; `disjoint` declares what they have in common, as for `Release`."""
        if disjoint not in COMBINE:
            raise parameter("disjoint", "True (no record is in two), 'persons' (no person is), or False", disjoint)
        self.spec.require_equal(other.spec)
        if set(self.parts) & set(other.parts):
            raise MergeError("Cannot merge: one release is already part of another. Hint: merge each release once.")
        if not fits(self.counts, other.counts):
            raise MergeError("Cannot merge: a sum could pass 2**62. Hint: is one of the releases damaged?")
        counts = self.noisy_count, other.noisy_count
        return MomentRelease(
            self.spec,
            self.counts + other.counts,
            COMBINE[disjoint]([self.privacy, other.privacy]),
            variances=tuple(one + two for one, two in zip(self.variances, other.variances, strict=True)),
            noisy_count=None if None in counts else sum(counts),  # type: ignore[arg-type]
            count_variance=self.count_variance + other.count_variance,
            parts=self.parts + other.parts,
        )

    # ---- files ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release to a file, atomically. By convention its name ends in ``.scumble``."""
        files.write(path, "moments", self.metadata(), {"counts": self.counts})

    def to_bytes(self) -> bytes:
        """The bytes that `save` would write."""
        return files.to_bytes("moments", self.metadata(), {"counts": self.counts})

    @staticmethod
    def from_bytes(data: bytes) -> MomentRelease:
        """The release in such bytes."""
        return MomentRelease.from_container(files.from_bytes(data, expect="moments"))

    def metadata(self) -> Json:
        """Everything but the sums, as JSON values."""
        return {
            "spec": self.spec.to_dict(),
            "privacy": self.privacy.to_dict(),
            "variances": list(self.variances),
            "noisy_count": self.noisy_count,
            "count_variance": self.count_variance,
            "identity": self.identity,
            "parts": list(self.parts),
        }

    @staticmethod
    def from_container(container: files.Container) -> MomentRelease:
        """A release out of a file's content; what does not fit together is refused."""
        data = container.metadata
        try:
            spec = spec_from_dict(data["spec"])
            counts = container.arrays["counts"]
            if counts.shape != spec.counters or counts.dtype != np.int64 or not fits(counts):
                raise CorruptFileError("The sums do not have the shape or the size that the file's header states.")
            privacy, noisy, variances = PrivacyClaim.from_dict(data["privacy"]), data["noisy_count"], data["variances"]
            noises = [*variances, data["count_variance"]]
            if len(variances) != spec.rows or not all(type(v) in (int, float) and 0 <= v < 1e300 for v in noises):
                raise TypeError("a variance that is none")
            if noisy is not None and (type(noisy) is not int or abs(noisy) >= 2**62):
                raise TypeError("a count that is none")
            _require_about(privacy, spec)
            return MomentRelease(
                spec,
                counts,
                privacy,
                variances=tuple(float(v) for v in variances),
                noisy_count=noisy,
                count_variance=float(data["count_variance"]),
                identity=str(data["identity"]),
                parts=tuple(str(part) for part in data["parts"]),
            )
        except (KeyError, TypeError, OverflowError, ParameterError) as problem:
            raise CorruptFileError(f"The file lacks a part of a release: {type(problem).__name__}.") from None

    def _repr_html_(self) -> str:
        from scumble.show import cards

        return cards.release_html(self)

    def __repr__(self) -> str:
        return f"<MomentRelease of about {many(self.count, 'record', ',.0f')}: {self.spec.kind}, {self.privacy}>"


def _require_about(claim: PrivacyClaim, spec: MomentSpec) -> None:
    """Refuse a claim about other rows, another size, or noise that hides another norm than was bounded."""
    expected = (spec.rows, spec.step, spec.signed, spec.reach.mechanism)
    about = [(one.rows, one.step, one.signed, one.mechanism) == expected for one in _single(claim)]
    if not (any if spec.follows else all)(about):
        raise CorruptFileError("The privacy claim is about other moments than these.")


def _single(claim: PrivacyClaim) -> list[PrivacyClaim]:
    if claim.mechanism != MERGED:
        return [claim]
    return [one for part in claim.parts for one in _single(part)]


KINDS: dict[str, type[MomentSpec]] = {
    kind.kind: kind for kind in (LinearMoments, HatMoments, ClassMoments, DescentSpec)
}
"""Each kind by its name in files."""


def spec_from_dict(data: Any) -> MomentSpec:
    """The spec that `MomentSpec.to_dict` described. Whatever else is refused."""
    try:
        values = {name: _tuples(value) for name, value in data.items()}
        name = values.pop("moments")
        if name.startswith("unit "):  # of a ball, as files of version 1 say it
            values["ball"] = True
        spec = KINDS[name.removeprefix("unit ")](**values)
        spec.check()
        return spec
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, IndexError) as problem:
        raise CorruptFileError(f"The parameters of the moments cannot be read: {type(problem).__name__}.") from None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


# ---- the secret sums ----

LIMIT = 2**62


class MomentSketch(Holder):
    """Exact sums of bounded whole numbers, one set per record. Secret, as every sketch is.

    `engine` is "auto", "cpu" or "gpu", all of which give the same sums.

    >>> import numpy as np
    >>> from scumble.learn.moments import LinearMoments
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

    def release(self, epsilon: Number | None = None, delta: Number = 0.0, **promise: Unpack[Promise]) -> MomentRelease:
        """Add exact noise to every sum, once, and give up the exact ones; arguments as for `Sketch.release`."""
        return publish(self, *charged(epsilon, delta, promise))

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


# ---- least squares from moments ----


def solved(covariance: Floats, cross: Floats, penalty: float, variances: Floats, trust: float = 1.0) -> Floats:
    """The slopes, (covariance + penalty)⁻¹ cross, shrunk by the guard; `variances` are those of `cross`'s noise.

    The larger `trust` is, the less is taken off before noise explains it all.

    >>> solved(np.eye(2) * 99.0, np.array([50.0, 0.0]), 1.0, np.zeros(2))
    array([0.5, 0. ])
    >>> solved(np.eye(2) * 99.0, np.array([50.0, 0.0]), 1.0, np.full(2, 2500.0))
    array([0., 0.])
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
    along = vectors.T @ cross
    by_noise = float(inverse @ (vectors**2).T @ variances)
    explained = max(float(inverse @ along**2), by_noise, 1e-300)
    keep = 1.0 - (by_noise / explained) ** trust
    found: Floats = vectors @ (keep * along * inverse)
    return found


def ratio(part: float, total: float, error: float) -> float:
    """A mean within [−1, 1] from two sums that have the same error: its best guess, if 0.4 is its usual size."""
    if total < 3.0 * error:
        return 0.0
    return float(np.clip(part * total / (total**2 + (error / 0.4) ** 2), -1.0, 1.0))


def mean_of_target(release: MomentRelease) -> float:
    """The target's mean, in [−1, 1], from the row of the target alone."""
    low, high = release.rows[0]
    return ratio(float(high - low), release.count, np.sqrt(2.0) * release.errors[0])
