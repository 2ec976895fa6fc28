"""A release: noisy integers, what they promise, and the questions that they answer."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from scumble import files
from scumble.errors import CorruptFileError, ParameterError, many, parameter
from scumble.files.headroom import fits
from scumble.privacy.claim import PrivacyClaim
from scumble.reading.answers import Answers
from scumble.reading.layout import Reader
from scumble.release.merging import Disjoint, merge_releases
from scumble.release.span import Span
from scumble.spec import Spec


class Release(Answers):
    """A private sketch, released: all that is made public about the table, and nothing more.

    A release is made by :meth:`Sketch.release` or :func:`scumble.load`. Whatever is computed from it is
    post-processing: it costs no privacy, however often it is asked.

    >>> import numpy as np, scumble
    >>> sketch = scumble.Sketch(scumble.EuclideanKernel(bandwidth=1.0), dimensions=2, rows=100, buckets=256)
    >>> release = sketch.update(np.zeros((5000, 2))).release(epsilon=1.0)
    >>> bool(abs(release.kernel_sum([[0.0, 0.0]])[0] - 5000) < 300)      # 20 standard errors
    True
    """

    _spec: Spec

    def __init__(
        self,
        spec: Spec,
        counts: np.ndarray,
        privacy: PrivacyClaim,
        *,
        noisy_count: int | None,
        counter_variance: float,
        count_variance: float,
        identity: str | None = None,
        parts: tuple[str, ...] = (),
        engine: str = "auto",
        stream: Span | None = None,
    ) -> None:
        self._spec = spec
        self._stream = stream
        self._counts = np.ascontiguousarray(counts, np.int64)
        self._counts.flags.writeable = False
        self._privacy = privacy
        self._own_count = noisy_count
        self._noise_of_counters = counter_variance
        self._noise_of_count = count_variance
        self._identity = identity or str(uuid.uuid4())
        self._parts = parts or (self._identity,)
        self._engine = engine  # of this process: not in files

    # ---- what it is ----

    @property
    def counts(self) -> np.ndarray:
        """The noisy integers, (rows, buckets), read-only."""
        return self._counts

    @property
    def privacy(self) -> PrivacyClaim:
        """What is promised to each record's owner."""
        return self._privacy

    @property
    def identity(self) -> str:
        """The release's UUID: the same in every copy of its file."""
        return self._identity

    @property
    def kernel(self) -> Any:
        """The kernel that the counters estimate."""
        return self._spec.kernel

    @property
    def spec(self) -> Spec:
        """All public parameters of the sketch."""
        return self._spec

    @property
    def kinds(self) -> dict[str, str]:
        """Which columns hold whole numbers, dates, times or booleans: {"age": "whole", "seen": "date"}.

        A "date" is counted in days since 1970-01-01, a "time" too, with the time of day as a fraction. Points may be
        given in dates or in these numbers.
        """
        return dict(self._spec.kinds)

    def _declared_as(self, kinds: Mapping[str, str]) -> Release:
        """The same release, naming what its columns hold."""
        return self._with(spec=replace(self._spec, kinds=dict(kinds)))

    def _with(self, **changes: Any) -> Release:
        """The same release but for what is named."""
        same: dict[str, Any] = {
            "spec": self._spec,
            "counts": self._counts,
            "privacy": self.privacy,
            "noisy_count": self.noisy_count,
            "counter_variance": self.counter_variance,
            "count_variance": self.count_variance,
            "identity": self.identity,
            "parts": self._parts,
            "engine": self._engine,
            "stream": self._stream,
        }
        return Release(**same | changes)

    @property
    def stream(self) -> Span | None:
        """Which periods of which stream it is of; None if it is no stream's."""
        return self._stream

    rows = property(lambda self: self._spec.rows, doc="How many rows.")
    buckets = property(lambda self: self._spec.buckets, doc="How many counters a row has.")
    dimensions = property(lambda self: self._spec.dimensions, doc="How many columns a record has.")
    columns = property(lambda self: self._spec.columns, doc="The columns' names, or None.")
    seed = property(lambda self: self._spec.seed, doc="The public seed of the hash functions.")
    design = property(lambda self: self._spec.design, doc="How the rows were drawn, or grid.")
    bounds = property(lambda self: self._spec.bounds, doc="The public bounds, (low, high), or None.")

    @property
    def counter_variance(self) -> float:
        """The variance of the noise on each counter."""
        return self._noise_of_counters

    @property
    def noisy_count(self) -> int | None:
        """The number of records with noise of its own, as it was released beside the counters; None if it was not.

        `count` combines it with what the counters tell. Under ``neighbors="replace"`` the number is public, and exact.
        """
        return self._own_count

    @property
    def count_variance(self) -> float:
        """The variance of the noise on `noisy_count`; 0 if that is exact, or was not released."""
        return self._noise_of_count

    @cached_property
    def _count_and_variance(self) -> tuple[float, float]:
        """The count's own noisy coordinate and the mean of the row sums, weighted by inverse variance.

        Algorithm 2 of the paper uses the row sums alone, with a variance of W/R times a counter's.
        """
        sums, sums_variance = self._spec.layout.total(self._counts, self.counter_variance)
        if self.noisy_count is None:
            return sums, sums_variance
        if self.count_variance == 0.0:
            return float(self.noisy_count), 0.0
        weight = sums_variance / (sums_variance + self.count_variance)
        value = weight * self.noisy_count + (1.0 - weight) * sums
        return value, weight * self.count_variance

    @property
    def count(self) -> float:
        """Estimated number of records; exact only where the neighbouring relation makes it public."""
        return self._count_and_variance[0]

    @property
    def count_standard_error(self) -> float:
        """Standard error of `count`."""
        return float(np.sqrt(self._count_and_variance[1]))

    @property
    def divisor(self) -> float:
        """The number of records that densities are shares of: `count`, or its standard error where that is larger.

        A count below its own standard error says no more than that there are not many times as many.
        """
        return max(super().divisor, self.count_standard_error)

    # ---- merging ----

    @property
    def _summed(self) -> int:
        """How many releases that may share records are added up here; 1 where no record can count twice."""
        return len(self._parts) if self.privacy.combination == "overlapping" else 1

    def merge(self, other: Release, *, disjoint: Disjoint = None) -> Release:
        """A new release of both tables together; `disjoint` declares what they have in common.

        ==============  ==============================================================================================
        left out        a person may be in both: the costs add up, as tightly as can be proven
        ``True``        no *record* is in both: each costs the larger of the two. Where the promise is to persons with
                        several records, somebody may have records in both, and the costs add up all the same
        ``"persons"``   no *person* is in both: the larger of the two, also for persons
        ==============  ==============================================================================================

        scumble takes your word for it: it cannot see who is in a release.
        """
        if not isinstance(other, Release):
            raise parameter("other", "a Release", other, "scumble.load(path) reads one from its file.")
        return merge_releases([self, other], disjoint=disjoint)

    # ---- files ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release, atomically, to a file such as ``people.scumble``; none but scumble's own is replaced."""
        files.write(path, "release", self.metadata(), {"counts": self._counts})

    def to_bytes(self) -> bytes:
        """The bytes that `save` would write."""
        return files.to_bytes("release", self.metadata(), {"counts": self._counts})

    @staticmethod
    def from_bytes(data: bytes) -> Release:
        """The release in such bytes."""
        return Release.from_container(files.from_bytes(data, expect="release"))

    def metadata(self) -> dict[str, Any]:
        """Everything but the counters, as JSON values."""
        stream = {} if self._stream is None else {"stream": self._stream.to_dict()}
        spec = self._spec.to_dict()
        kinds = {"kinds": spec.pop("kinds")} if "kinds" in spec else {}
        return {
            **stream,
            **kinds,
            "spec": spec,
            "privacy": self._privacy.to_dict(),
            "noisy_count": self.noisy_count,
            "counter_variance": self.counter_variance,
            "count_variance": self.count_variance,
            "identity": self._identity,
            "parts": list(self._parts),
        }

    @staticmethod
    def from_container(container: files.Container) -> Release:
        """A release out of a file's content; what does not fit together is refused."""
        data = container.metadata
        try:
            kinds = {"kinds": data["kinds"]} if "kinds" in data else {}
            spec = Spec.from_dict({**data["spec"], **kinds})
            counts = container.arrays["counts"]
            if counts.shape != spec.counters or counts.dtype != np.int64:
                raise CorruptFileError("The counters do not have the shape that the file's header states.")
            if not fits(counts):
                raise CorruptFileError("The file has counters beyond 2**62: no table has as many records.")
            privacy, noisy_count = PrivacyClaim.from_dict(data["privacy"]), data["noisy_count"]
            variances = data["counter_variance"], data["count_variance"]
            if not all(type(v) in (int, float) and 0 <= v < 1e300 for v in variances):
                raise TypeError("not a variance")
            if noisy_count is not None and (type(noisy_count) is not int or abs(noisy_count) >= 2**63):
                raise TypeError("not a count")
            if privacy.rows not in (None, spec.rows):
                raise CorruptFileError("The privacy claim is about another number of rows.")
            return Release(
                spec,
                counts,
                privacy,
                noisy_count=noisy_count,
                counter_variance=float(variances[0]),
                count_variance=float(variances[1]),
                identity=str(data["identity"]),
                parts=tuple(str(part) for part in data["parts"]),
                stream=Span.from_dict(data.get("stream")),
            )
        except (KeyError, TypeError, OverflowError, ParameterError) as problem:
            raise CorruptFileError(f"The file lacks a part of a release: {problem}.") from problem

    # ---- answers ----

    @cached_property
    def _answering(self) -> Reader:
        count = None if self.noisy_count is None else (float(self.noisy_count), self.count_variance)
        return self._spec.layout.reader(self._counts, self.counter_variance, count, engine_name=self._engine)

    def _reader(self) -> Reader:
        return self._answering

    # ---- to look at ----

    def plot(self, **options: Any) -> Any:
        """A picture of the density, a matplotlib Figure: a curve with its band, a map, or all pairs of columns.

        Options: `ranges={"age": (0, 100)}` says what to draw (the bounds by default), `at={"town": "Ulm"}` fixes
        columns; see :func:`scumble.show.plots.density`. Needs ``pip install 'scumble[plot]'``.
        """
        from scumble.show import plots

        return plots.density(self, **options)

    def _repr_html_(self) -> str:
        from scumble.show import cards

        return cards.release_html(self)

    def __repr__(self) -> str:
        spec = self._spec
        return (
            f"<Release of about {many(self.count, 'record', ',.0f')}: {spec.rows} x {spec.buckets} counters, "
            f"{spec.kernel!r}, {self._privacy}>"
        )
