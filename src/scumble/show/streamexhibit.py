"""What a stream has published, as a page over time: maps or curves of every period, and a line at any point.

Python asks the stream's own releases at a grid of points, for a number of periods: the running total, windows, and
single periods. So any kernel can be shown, and the page's numbers are Python's, as 32-bit floats. The page draws them;
of any two single periods it computes the differences and p-values of `Release.compare`, as there are too many pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property

import numpy as np

from scumble.density.comparing import shares
from scumble.density.release import Release
from scumble.errors import ParameterError
from scumble.show import cards
from scumble.show import ranges as ranging
from scumble.show.exhibit import Exhibit
from scumble.show.pages import AnyExhibit, Arrays, finite
from scumble.show.usefulness import Facts
from scumble.streams.published import StreamRelease

MOST_PERIODS = 60
"""More are thinned out, evenly: a page of a year stays small and is made in seconds."""
WINDOWS = (28, 7)
CURVE, MAP = (120,), (32, 24)
"""Points along each column."""
HALF = 1.96
"""Standard errors in half a 95 % interval."""


class StreamExhibit(AnyExhibit):
    """What is shown of a stream of one or two columns of numbers; `ranges` to draw and `units` of columns by name.

    Examples
    --------
    >>> import numpy as np, scumble
    >>> stream = scumble.Stream(scumble.EuclideanKernel(5.0), columns=["age"], periods=3, epsilon=1.0, rows=8)
    >>> for year in range(3):
    ...     _ = stream.update(np.full((100, 1), 30.0 + year))
    ...     _ = stream.close_period()
    >>> StreamExhibit(stream.published(), "Ages", ranges={"age": (0, 100)}).shown_periods
    [1, 2, 3]
    """

    parts = ("page.html", "stream.css", None, "stream.js")
    # no release is read there, so there is no engine

    def __init__(
        self,
        stream: StreamRelease,
        title: str = "A private stream",
        *,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> None:
        self.title, self.stream = title, stream
        self._total = stream.total()
        self.names = _names(self._total)
        self._shown = Exhibit(self._total, title, ranges=ranges, units=units)

    # ---- what is shown ----

    @property
    def shown_periods(self) -> list[int]:
        """The last period of each picture: all of them, or so many, evenly spread."""
        last = self.stream.periods
        spread: list[int] = np.unique(np.rint(np.linspace(1, last, min(last, MOST_PERIODS))).astype(int)).tolist()
        return spread

    @property
    def widths(self) -> list[int | None]:
        """What can be chosen: the running total (None), windows of so many periods, and single periods."""
        return [None, *(width for width in WINDOWS if width < self.stream.periods), 1]

    @cached_property
    def columns(self) -> list[Facts]:
        """The columns, with what to draw of each."""
        return [asdict(column) for column in self._shown.columns]

    @cached_property
    def places(self) -> list[np.ndarray]:
        """Where the stream is asked, along each column."""
        sizes = CURVE if len(self.names) == 1 else MAP
        return [_spread(column["range"], n) for column, n in zip(self.columns, sizes, strict=True)]

    def points(self) -> np.ndarray:
        """All of these points, the first column changing fastest."""
        axes = np.meshgrid(*self.places[::-1], indexing="ij")
        return np.column_stack([axis.ravel() for axis in axes[::-1]])

    def release(self, width: int | None, last: int) -> Release:
        """The release behind one picture; early windows begin with the first period."""
        return self.stream.total(last) if width is None else self.stream.window(min(width, last), last=last)

    # ---- for the page ----

    def facts(self) -> Facts:
        own = {"kind": "stream", "periods": self.stream.periods, "horizon": self.stream.horizon}
        return {**cards.facts(self._total), **own}

    def card(self) -> list[tuple[str, str]]:
        return cards.lines(self._total)

    def content(self) -> tuple[Facts, str]:
        arrays, asked = Arrays(), self.points()
        told = ("epsilon", "delta", "count", "count_standard_error", "meaning", "periods", "horizon")
        return {
            "title": self.title,
            "card": self.card(),
            "info": {name: self.info[name] for name in told},
            "columns": self.columns,
            "places": [place.tolist() for place in self.places],
            "ends": self.shown_periods,
            "choices": [self._choice(width, asked, arrays) for width in self.widths],
            "compared": self._compared(asked, arrays),
            "arrays": arrays.index,
        }, arrays.to_base64()

    def _choice(self, width: int | None, asked: np.ndarray, arrays: Arrays) -> Facts:
        """Kernel sums and half their 95 % intervals, period by period; and the records in all, likewise."""
        sums, halves, counts = [], [], []
        for last in self.shown_periods:
            release = self.release(width, last)
            low, high = release.interval(asked)
            sums.append((low + high) / 2.0)
            halves.append((high - low) / 2.0)
            counts.append([release.count, HALF * release.count_standard_error])
        return {
            "width": width,
            "sums": arrays.add(np.array(sums, np.float32).ravel()),
            "halves": arrays.add(np.array(halves, np.float32).ravel()),
            "counts": finite(np.array(counts).tolist()),
        }

    def _compared(self, asked: np.ndarray, arrays: Arrays) -> Facts:
        """What a comparison of two single periods needs of each: shares, their noise, and the records in all."""
        releases = [self.release(1, last) for last in self.shown_periods]
        both = np.array([shares(release, asked) for release in releases], np.float32)
        return {
            "shares": arrays.add(both[:, 0].ravel()),
            "noises": arrays.add(both[:, 1].ravel()),
            "divisors": [release.divisor for release in releases],
        }


def _names(release: Release) -> list[str]:
    names, kinds = ranging.column_names(release), ranging.roles(release)
    if len(names) not in (1, 2) or any(kind != "number" for kind in kinds) or not release.kernel.numeric:
        raise ParameterError(
            f"The page of a stream shows one or two columns of numbers, this stream has {', '.join(names)} "
            f"({', '.join(kinds)}). Hint: `series` gives numbers over time at any points, and `plot` draws them; "
            "`window` makes a release, which `scumble explore` shows."
        )
    return names


def _spread(ends: tuple[float, float], n: int) -> np.ndarray:
    """The middles of `n` equal parts; a file may state bounds whose difference is beyond all numbers."""
    share = (np.arange(n) + 0.5) / n
    return ends[0] * (1.0 - share) + ends[1] * share
