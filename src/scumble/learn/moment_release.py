"""Moments, released: noisy sums that anyone may hold, save, merge and learn from.

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
from typing import Any

import numpy as np

from scumble import files
from scumble.checks import Json
from scumble.density.release import COMBINE, Disjoint
from scumble.errors import CorruptFileError, MergeError, ParameterError, many, parameter
from scumble.files.format import fits
from scumble.learn.descent import DescentSpec
from scumble.learn.hats import HatMoments
from scumble.learn.moment_products import ClassMoments, LinearMoments, UnitLinearMoments, UnitMoments
from scumble.learn.moment_spec import Floats, MomentSpec, Spans
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import MERGED


class MomentRelease:
    """Moments of a table, released once: what linear and additive models are solved from.

    It is made by :class:`scumble.learn.moment_sketch.MomentSketch`, or by an estimator's `fit`, and read by
    `scumble.load`. Whatever is computed from it is post-processing: it costs no privacy.
    """

    def __init__(
        self,
        spec: MomentSpec,
        counts: np.ndarray,
        privacy: PrivacyClaim,
        *,
        variances: tuple[float, ...],
        noisy_count: int | None,
        count_variance: float,
        identity: str | None = None,
        parts: tuple[str, ...] = (),
    ) -> None:
        self.spec = spec
        self.counts = np.ascontiguousarray(counts, np.int64)
        """The noisy sums of all rows, one after the other, read-only."""
        self.counts.flags.writeable = False
        self.privacy = privacy
        """What is promised to each record's owner."""
        self.variances = variances
        """The variance of the noise on each sum, for each row."""
        self.noisy_count, self.count_variance = noisy_count, count_variance
        self.identity = identity or str(uuid.uuid4())
        """The release's UUID: the same in every copy of its file."""
        self._parts = parts or (self.identity,)

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
        if set(self._parts) & set(other._parts):
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
            parts=self._parts + other._parts,
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
            "parts": list(self._parts),
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
    kind.kind: kind for kind in (LinearMoments, HatMoments, ClassMoments, UnitMoments, UnitLinearMoments, DescentSpec)
}
"""Each kind by its name in files."""


def spec_from_dict(data: Any) -> MomentSpec:
    """The spec that `MomentSpec.to_dict` described. Whatever else is refused."""
    try:
        kind = KINDS[data["moments"]]
        values = {name: _tuples(value) for name, value in data.items() if name != "moments"}
        spec = kind(**values)
        spec.check()
        return spec
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as problem:
        raise CorruptFileError(f"The parameters of the moments cannot be read: {type(problem).__name__}.") from None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


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
