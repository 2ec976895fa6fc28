"""Releases: noisy counters, their privacy claim, and the questions they answer."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from scumble import files
from scumble.checks import Json, keywords
from scumble.checks import confidence as confidence_of
from scumble.density.answers import Answers
from scumble.density.comparing import claim, densities
from scumble.density.layout import Reader
from scumble.density.spec import Spec
from scumble.errors import CorruptFileError, MergeError, ParameterError, many, parameter
from scumble.files.format import fits
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import disjoint as of_disjoint_persons
from scumble.privacy.composition import of_disjoint_records, overlapping

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scumble.show.comparison import Comparison


@dataclass(frozen=True)
class Span:
    """The periods of a stream that a release covers (:mod:`scumble.streams`), and the publishing method."""

    identity: str
    """The stream's UUID."""
    first: int
    last: int
    method: Json
    """JSON values; see :func:`scumble.streams.choosing.method_of`."""

    def to_dict(self) -> Json:
        """As JSON values."""
        return dict(vars(self))

    @staticmethod
    def from_dict(data: Any) -> Span | None:
        """Read what `to_dict` wrote; anything else is refused."""
        if data is None:
            return None
        found = Span(**data)
        periods = type(found.first) is int and type(found.last) is int and 1 <= found.first <= found.last < 1 << 31
        if not periods or not isinstance(found.method, dict):
            raise TypeError("not the periods of a stream")
        try:
            uuid.UUID(found.identity)
        except (ValueError, AttributeError):
            raise TypeError("not the identity of a stream") from None
        return found


T = TypeVar("T")


def _of(read: Callable[[Release], T], doc: str) -> T:
    """A property of releases; to type checkers, what it reads."""
    found: Any = property(read, doc=doc)
    return found


class Release(Answers):
    """A released sketch: everything that is made public about the table.

    It is made by :meth:`Sketch.release` or :func:`scumble.load`. Everything computed from it is post-processing, at no
    privacy cost.

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
        self._spec, self._stream, self._privacy = spec, stream, privacy
        self._counts = np.ascontiguousarray(counts, np.int64)
        self._counts.flags.writeable = False
        self._own_count, self._noise_of_counters, self._noise_of_count = noisy_count, counter_variance, count_variance
        self._identity = identity or str(uuid.uuid4())
        self._parts = parts or (self._identity,)
        self._engine = engine  # of this process: not in files

    counts = _of(lambda one: one._counts, "The noisy integers, (rows, buckets), read-only.")
    privacy = _of(lambda one: one._privacy, "The privacy claim.")
    identity = _of(lambda one: one._identity, "The release's UUID: the same in every copy of its file.")
    stream = _of(lambda one: one._stream, "The periods of the stream that it covers, or None.")
    bounds = _of(lambda one: one._spec.bounds, "The public bounds, (low, high), or None.")
    counter_variance = _of(lambda one: one._noise_of_counters, "The variance of the noise on each counter.")
    count_variance = _of(
        lambda one: one._noise_of_count, "The variance of `noisy_count`; 0 if that is exact or was not released."
    )

    @property
    def noisy_count(self) -> int | None:
        """The separately released number of records, or None. Exact under ``neighbors="replace"``, where it is public.

        `count` combines it with the counters.
        """
        return self._own_count

    @property
    def kinds(self) -> dict[str, str]:
        """Which columns hold whole numbers, dates, times or booleans: {"age": "whole", "seen": "date"}.

        Dates and times are counted in days since 1970-01-01.
        """
        return dict(self._spec.kinds)

    def _with(self, spec: Spec, counts: np.ndarray | None = None, parts: tuple[str, ...] = ()) -> Release:
        """The same release, read with another spec."""
        return Release(
            spec,
            self._counts if counts is None else counts,
            self._privacy,
            noisy_count=self._own_count,
            counter_variance=self._noise_of_counters,
            count_variance=self._noise_of_count,
            identity=self._identity,
            parts=parts or self._parts,
            engine=self._engine,
            stream=self._stream,
        )

    @cached_property
    def _count_and_variance(self) -> tuple[float, float]:
        """The noisy count and the mean of the row sums, weighted by inverse variance."""
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
        """Estimated number of records; exact only where it is public."""
        return self._count_and_variance[0]

    @property
    def count_standard_error(self) -> float:
        """Standard error of `count`."""
        return float(np.sqrt(self._count_and_variance[1]))

    @property
    def divisor(self) -> float:
        """The number of records for densities: `count`, at least its standard error."""
        return max(super().divisor, self.count_standard_error)

    @keywords
    def compare(self, other: Release, at: object, *, of: str = "populations", confidence: float = 0.95) -> Comparison:
        """How the density differs between this table and another, at each of the points `at`.

        `other` has the same kernel and columns; rows, seeds and budgets may differ. The claim is about the
        "populations" that the records are random samples of, so that the error is noise, hashing and sampling, or about
        the two "tables" themselves, without sampling. `confidence` is that of each interval by itself.

        Each point has a row with `first`, `second`, their `difference` second − first with `low`, `high` and
        `p_value`, and `p_adjusted`, corrected for all points by Holm's method. The frame's `plot` draws them.
        """
        if not isinstance(other, Release):
            raise parameter("other", "a Release", other, "scumble.load(path) reads one from its file.")
        return densities(self, other, at, claim(of), confidence_of(confidence))

    @property
    def _summed(self) -> int:
        """How many releases that may share records are added up here; 1 if no record counts twice."""
        return len(self._parts) if self.privacy.combination == "overlapping" else 1

    def merge(self, other: Release, *, disjoint: Disjoint = None) -> Release:
        """A new release of both tables together. `disjoint` declares what they have in common; scumble cannot check it.

        ==============  ==============================================================================================
        left out        a person may be in both: the costs add up, as tightly as can be proven
        ``True``        no *record* is in both: the larger cost. Costs add up if persons may own several records
        ``"persons"``   no *person* is in both: the larger cost
        ==============  ==============================================================================================
        """
        if not isinstance(other, Release):
            raise parameter("other", "a Release", other, "scumble.load(path) reads one from its file.")
        return merge_releases([self, other], disjoint=disjoint)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release atomically to a file such as ``people.scumble``; other files are not overwritten."""
        files.write(path, "release", self.metadata(), {"counts": self._counts})

    def to_bytes(self) -> bytes:
        """The bytes that `save` would write."""
        return files.to_bytes("release", self.metadata(), {"counts": self._counts})

    @staticmethod
    def from_bytes(data: bytes) -> Release:
        """The release in these bytes."""
        return Release.from_container(files.from_bytes(data, expect="release"))

    def metadata(self) -> Json:
        """Everything but the counters, as JSON values."""
        spec = self._spec.to_dict()
        kinds = {"kinds": spec.pop("kinds")} if "kinds" in spec else {}
        return {
            **({} if self._stream is None else {"stream": self._stream.to_dict()}),
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
        """A release from a file's content, validated."""
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

    @cached_property
    def _answering(self) -> Reader:
        count = None if self.noisy_count is None else (float(self.noisy_count), self.count_variance)
        return self._spec.layout.reader(self._counts, self.counter_variance, count, engine_name=self._engine)

    def _reader(self) -> Reader:
        return self._answering

    def plot(self, **options: Any) -> Figure:
        """A matplotlib Figure of the density: a curve with its band, a map, or all pairs of columns.

        `ranges={"age": (0, 100)}` sets the range (default: the bounds), `at={"town": "Ulm"}` fixes columns; see
        :func:`scumble.show.plots.density`. Needs ``pip install 'scumble[plot]'``.
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


Disjoint = bool | Literal["persons"] | None
COMBINE = {None: overlapping, False: overlapping, True: of_disjoint_records, "persons": of_disjoint_persons}
"""How each declaration combines claims."""
CHOSEN = ("rows", "buckets", "design", "shape")
"""What a release may have chosen by its noisy facts; checked last."""


def merge_releases(releases: Iterable[Release], *, disjoint: Disjoint = None) -> Release:
    """One release from several; see :meth:`Release.merge`."""
    if disjoint not in COMBINE:
        raise parameter("disjoint", "True (no record is in two), 'persons' (no person is), or False", disjoint)
    all_of = _with_common_kinds(_with_common_rows(list(releases)))
    first = all_of[0]
    for release in all_of:
        first.spec.require_equal(release.spec, but=CHOSEN)
    _require_common_cells(all_of)
    parts: list[str] = []
    for release in all_of:
        first.spec.require_equal(release.spec)
        if set(parts) & set(release._parts):
            raise MergeError("Cannot merge: one release is already part of another. Hint: merge each release once.")
        parts.extend(release._parts)
    if not fits(*(release.counts for release in all_of)):
        raise MergeError("Cannot merge: a counter could pass 2**62. Hint: is one of the releases damaged?")
    counts = [release.noisy_count for release in all_of]
    known = [count for count in counts if count is not None]
    return Release(
        first.spec,
        np.add.reduce([release.counts for release in all_of]),
        COMBINE[disjoint]([release.privacy for release in all_of]),
        noisy_count=sum(known) if len(known) == len(counts) else None,
        counter_variance=sum(release.counter_variance for release in all_of),
        count_variance=sum(release.count_variance for release in all_of),
        parts=tuple(parts),
        engine=first._engine,
    )


def _with_common_rows(releases: list[Release]) -> list[Release]:
    """Rows chosen by noisy facts may differ in number; keep the first rows that all have."""
    if not all(release.privacy.by_facts and release.spec.layout.hashed for release in releases):
        return releases
    least = min(release.rows for release in releases)
    return [one._with(replace(one.spec, rows=least), one.counts[:least]) for one in releases]


def _with_common_kinds(releases: list[Release]) -> list[Release]:
    """Keep declared kinds only if all releases have them; conflicting kinds are refused."""
    if all(release.kinds == releases[0].kinds for release in releases):
        return releases
    for name, kind in (said for release in releases for said in release.kinds.items()):
        other = next((one.kinds[name] for one in releases if one.kinds.get(name, kind) != kind), None)
        if other is not None:
            raise MergeError(
                f"Cannot merge: the column {name!r} is declared as {kind!r} here and as {other!r} there. "
                "Hint: build both with the same declarations."
            )
    return [release._with(replace(release.spec, kinds={})) for release in releases]


def _require_common_cells(releases: list[Release]) -> None:
    """Refuse layouts that were chosen by noisy facts and differ."""
    shapes = {release.spec.shape for release in releases}
    if len(shapes) > 1 and all(release.privacy.by_facts for release in releases):
        cells = min(shape for shape in shapes if shape is not None)
        raise MergeError(
            "Cannot merge: the releases chose different cells, or rows. Hint: merge the sketches and release once, or "
            f"build each with --buckets {','.join(map(str, cells))} (buckets={cells})."
        )
