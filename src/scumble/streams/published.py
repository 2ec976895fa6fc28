"""What a stream has published so far: one release of the running total per period, and all that follows from them.

Each is a `Release` like any other, and a file of its own. The total of periods 3 to 9 is that of 1 to 9 less that of 1
to 2, so any window is the difference of two files, exactly, and nothing is ever revised. Its noise is less than theirs
together, since they share most of it: the method says how much (`Method.variance`).
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scumble import files
from scumble.checks import whole
from scumble.density.release import Release, Span
from scumble.density.spec import Spec
from scumble.errors import CorruptFileError, DataError, ForeignFileError, MissingFileError, ParameterError
from scumble.privacy.claim import PrivacyClaim
from scumble.streams.choosing import method_of
from scumble.streams.method import Integers, Method

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDING = 1 / 12
"""The variance that rounding a total to whole numbers adds."""


def release_of(
    spec: Spec, claim: PrivacyClaim, span: Span, numbers: Integers, *, rounded: int = 1, engine: str = "auto"
) -> Release:
    """The release of some periods: `numbers` are its counters, and its count if there is one."""
    size = int(np.prod(spec.counters))
    method = method_of(span.method)
    times = method.variance(span.first, span.last)
    count = int(numbers[size]) if len(numbers) > size else None
    scales = claim.scales
    return Release(
        spec,
        numbers[:size].reshape(spec.counters),
        claim,
        noisy_count=count,
        counter_variance=claim.law.variance(scales.counters) * times + rounded * ROUNDING,
        count_variance=0.0 if scales.count is None else claim.law.variance(scales.count) * times + rounded * ROUNDING,
        identity=str(uuid.uuid5(uuid.UUID(span.identity), f"{span.first} to {span.last}")),
        parts=(span.identity,),
        engine=engine,
        stream=span,
    )


_NAME = re.compile(r"total-([0-9]{5})\.scumble")
AS_PUBLISHED = "a window holds no more periods than are published."


class StreamRelease:
    """All that a stream has published, public: the running total, any window, any period, each a `Release`.

    Made by :meth:`scumble.Stream.published` or, from the folder that a stream publishes into, by :func:`scumble.load`.

    Parameters
    ----------
    totals : mapping, str or path-like
        The releases of the running total by their period, from 1 on; or the folder that they are in.
    """

    def __init__(self, totals: Mapping[int, Release] | str | os.PathLike[str]) -> None:
        self._folder = None if isinstance(totals, Mapping) else os.fsdecode(totals)
        self._totals: Mapping[int, Release] = totals if isinstance(totals, Mapping) else {}
        self._known = sorted(self._totals) if self._folder is None else _numbers(self._folder)
        if not self._known:
            hint = "close a period first; in a folder without a stream, name a release."
            raise MissingFileError(f"There is nothing published yet. Hint: {hint}")
        last = self._read(self._known[-1])
        assert last.stream is not None
        self._last, self._span = last, last.stream
        self._method = _method(last)

    @property
    def periods(self) -> int:
        """How many periods have been published."""
        return self._known[-1]

    @property
    def horizon(self) -> int:
        """The most periods that there will be."""
        return self._method.periods

    @property
    def method(self) -> str:
        """How it is published: "daily", "bridge" or "toeplitz"."""
        return self._method.name

    @property
    def privacy(self) -> PrivacyClaim:
        """What is promised to each record's owner, for all releases of the stream together, those to come included."""
        return self._last.privacy

    @property
    def identity(self) -> str:
        """The stream's UUID."""
        return self._span.identity

    def __len__(self) -> int:
        return self.periods

    def total(self, upto: int | None = None) -> Release:
        """Everything up to the end of period `upto`, from 1 on; by default, of the last that is published."""
        return self._total(self.periods if upto is None else self._period("upto", upto))

    def window(self, width: int | None = None, *, first: int | None = None, last: int | None = None) -> Release:
        """The periods `first` to `last`, counted from 1, both included; or `width` periods up to `last`."""
        if (width is None) == (first is None):
            raise ParameterError("Give `width`, how many periods, or `first` (and `last`), which.")
        end = self.periods if last is None else self._period("last", last)
        if width is None:
            start = self._period("first", first)
        else:
            start = end - whole("width", width, 1, end, hint=AS_PUBLISHED) + 1
        if start > end:
            raise ParameterError(f"`first` must not be after `last`, got {start} and {end}.")
        if start == 1:
            return self._total(end)
        upto, before = self._total(end), self._total(start - 1)
        numbers = _numbers_of(upto) - _numbers_of(before)
        span = Span(self._span.identity, start, end, self._span.method)
        return release_of(upto.spec, upto.privacy, span, numbers, rounded=2, engine=upto._engine)

    def period(self, number: int) -> Release:
        """One period, counted from 1."""
        which = self._period("number", number)
        return self.window(first=which, last=which)

    def series(self, Q: object, *, width: int | None = 1, confidence: float = 0.95) -> np.ndarray:
        """The kernel sum at points over time, (periods, points, 3): the estimate and its interval.

        `width` is that of each window: 1 for single periods, None for the running total.
        """
        start = 1 if width is None else whole("width", width, 1, self.periods, hint=AS_PUBLISHED)
        found = []
        for last in range(start, self.periods + 1):
            release = self.total(last) if width is None else self.window(width, last=last)
            found.append(np.stack([release.kernel_sum(Q), *release.interval(Q, confidence=confidence)], axis=-1))
        return np.array(found)

    def plot(self, Q: npt.ArrayLike | None = None, **options: Any) -> Figure:
        """A matplotlib Figure over time: lines with bands at the points `Q`, or without points a map per window.

        Options: `width` (None for the running total), `confidence`, and `panels`, how many maps.
        """
        from scumble.show.pictures import lines, multiples

        return multiples(self, **options) if Q is None else lines(self, Q, **options)

    def _period(self, name: str, number: object) -> int:
        return whole(name, number, 1, self.periods)

    def _total(self, number: int) -> Release:
        release = self._last if number == self.periods else self._read(number)
        span = release.stream
        assert span is not None
        same = span.identity == self._span.identity and span.method == self._span.method
        if not same or release.spec != self._last.spec or release.privacy != self._last.privacy:
            raise ForeignFileError(f"The release of period {number} belongs to another stream.")
        return release

    def _read(self, number: int) -> Release:
        if self._folder is None:
            if number not in self._totals:
                raise MissingFileError(f"The release of period {number} was not kept.")
            return self._totals[number]
        path = os.path.join(self._folder, name_of(number))
        release = Release.from_container(files.read(path, expect="release"))
        span = release.stream
        if span is None or (span.first, span.last) != (1, number):
            raise ForeignFileError(f"Cannot read {path!r}: it is not the running total of a stream up to that period.")
        _method(release)
        return release

    def __repr__(self) -> str:
        return f"<StreamRelease: {self.periods} of {self.horizon} periods, {self.method}, {self.privacy}>"


def name_of(period: int) -> str:
    """The file of the running total up to a period."""
    return f"total-{period:05d}.scumble"


def _numbers(folder: str) -> list[int]:
    """The periods whose totals are in a folder."""
    try:
        names = os.listdir(folder)
    except OSError as problem:
        hint = "name the folder that the stream publishes into (--folder of scumble stream start)."
        raise MissingFileError(f"Cannot read {folder!r}: {problem.strerror}. Hint: {hint}") from None
    found = [int(its[1]) for its in map(_NAME.fullmatch, names) if its]
    return sorted(number for number in found if number > 0)


def _numbers_of(release: Release) -> Integers:
    counts = release.counts.ravel()
    return counts if release.noisy_count is None else np.append(counts, np.int64(release.noisy_count))


def _method(release: Release) -> Method:
    """The method of a release from a file, which must be what its claim and its variances say."""
    assert release.stream is not None
    try:
        method = method_of(release.stream.method)
        if release.stream.last > method.periods or release.privacy.moves.column != method.column:
            raise ParameterError("its claim is that of another method")
        made = release_of(release.spec, release.privacy, release.stream, _numbers_of(release))
    except (ParameterError, ValueError, OverflowError) as problem:
        raise CorruptFileError(f"The release does not fit the stream that it says it is of: {problem}") from None
    near = np.allclose(
        [made.counter_variance, made.count_variance], [release.counter_variance, release.count_variance], rtol=1e-9
    )
    if not near:
        raise CorruptFileError("The release states another noise than the stream that it says it is of.")
    return method


def require_folder(folder: str | os.PathLike[str]) -> str:
    """A folder to publish into, made if it is not there."""
    path = os.path.abspath(os.fsdecode(folder))
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as problem:
        raise DataError(f"Cannot use the folder {path!r}: {(problem.strerror or 'not a folder').lower()}.") from None
    return path
