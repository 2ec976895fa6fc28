"""A triangle of whole numbers with decaying memories, for Gaussian noise.

The best known triangle C for running totals is nearly the root of A: its entry (t, j) falls off slowly with t − j. A
sum of one or two powers, c_0 = 1 and c_k = Σ_i ω_i θ_i^(k−1), does as well within a few percent, and needs one vector
Σ_j θ^(t−j) x_j for each power instead of all periods.

Whole numbers cannot decay for ever, so time is cut into epochs of L periods, with θ^−L at most 80. Period j enters
memory i with the weight round(q₁ h_j θ_i^−(j mod L)), and row t reads it with round(q₂ ω_i θ_i^((t mod L) − 1)). The
last epoch's memory is read, by a factor θ^L less, until the next one ends. Its own period, row t reads with round(q₁ q₂
h_t). The factors h_j make all columns equally long.

Rounding makes it another triangle, by about 0.1 %, but an exact one: the largest column is found in whole numbers, and
the reader undoes this very triangle. Weights are made in decimal arithmetic of a fixed precision, so they are the same
on every machine. Decaying buffers: Choquette-Choo et al. 2023 and Dvijotham et al. 2024.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from scumble.checks import Json
from scumble.errors import parameter
from scumble.privacy.laws import GAUSSIAN
from scumble.privacy.sensitivity import Column
from scumble.streams.method import Draw, Floats, Integers, Machine, Method, Pin, Publish

ONE_MEMORY = 52
"""Up to so many periods a second memory saves less than 2 %."""


@lru_cache(maxsize=64)
def fitted(periods: int) -> tuple[tuple[str, str], ...]:
    """θ and ω of one or two memories."""
    from scipy.optimize import minimize  # slow to load, and few people make streams

    memories = 1 if periods <= ONE_MEMORY else 2
    thetas = [1 - 1 / max(2.0, periods ** ((k + 1) / (memories + 1))) for k in range(memories)]
    start = [math.log(theta / (1 - theta)) for theta in thetas] + [math.log(0.3 / 3**k) for k in range(memories)]
    best = minimize(
        _cost, start, args=(periods,), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-8, "maxiter": 2000}
    )
    thetas, omegas = _modes(best.x)
    return tuple((_digits(theta, 0.01), _digits(omega, 0.001)) for theta, omega in zip(thetas, omegas, strict=True))


def _digits(value: float, least: float) -> str:
    return f"{min(max(value, least), 0.999999):.6f}"


def _modes(x: np.ndarray) -> tuple[list[float], list[float]]:
    half = len(x) // 2
    return [1 / (1 + math.exp(-one)) for one in x[:half]], [math.exp(one) for one in x[half:]]


def _cost(x: np.ndarray, periods: int) -> float:
    from scipy.signal import lfilter

    thetas, omegas = _modes(np.clip(x, -15.0, 15.0))
    below = np.array([1.0])
    for theta in thetas:
        below = np.convolve(below, [1.0, -theta])
    above = below.copy()
    for k, omega in enumerate(omegas):
        term = np.array([omega])
        for other in thetas[:k] + thetas[k + 1 :]:
            term = np.convolve(term, [1.0, -other])
        above[1:] += term
    impulse = np.zeros(periods)
    impulse[0] = 1.0
    with np.errstate(all="ignore"):
        column = lfilter(above, below, impulse)
        noise = lfilter(below, np.convolve(above, [1.0, -1.0]), impulse)
        cost = float(np.log((column @ column) * np.mean(np.cumsum(noise * noise))))
    return cost if math.isfinite(cost) else 1e9


ENTER, READ = 256, 4096
"""q₁ and q₂: into how many steps a weight of one is divided."""
GROWTH = 80
"""How much a memory's weights may grow within an epoch."""
TABLE = 2000
"""Periods up to which variances are kept as a table."""
_EXACT = Context(40, ROUND_HALF_EVEN)
_SHORT = re.compile(r"0\.[0-9]{1,9}")

Modes = tuple[tuple[str, str], ...]
"""θ and ω of each memory, as decimal fractions."""


class _Memory(NamedTuple):
    """The whole weights of one memory."""

    epoch: int
    enter: Integers
    """For each period."""
    now: Integers
    """For each place in an epoch: what is read of the same epoch."""
    before: Integers | None
    """And of the epoch before; None if there is but one."""


class Toeplitz(Method):
    """A triangle with one or two memories; `modes` are θ and ω of each, None for the best.

    >>> method = Toeplitz(365)
    >>> root = (method.variances(0).mean() * method.column.squared) ** 0.5
    >>> float(round(root, 2))              # of the running total, relative to a single release; daily releases: 13.5
    2.69
    """

    name = "toeplitz"
    law = GAUSSIAN.name

    def __init__(self, periods: int, modes: Modes | None = None) -> None:
        super().__init__(periods)
        self.modes = fitted(self.periods) if modes is None else _checked(modes)

    def about(self) -> Json:
        return {"modes": [list(mode) for mode in self.modes]}

    @cached_property
    def _stretch(self) -> list[Decimal]:
        """h_j: how much longer the first column is than the j-th."""
        with localcontext(_EXACT):
            terms = [(Decimal(theta), Decimal(omega)) for theta, omega in self.modes]
            squares, weights = [Decimal(1)], [omega for _, omega in terms]
            for _ in range(self.periods - 1):
                own = sum(weights, Decimal(0))
                squares.append(squares[-1] + own * own)
                weights = [weight * theta for weight, (theta, _) in zip(weights, terms, strict=True)]
            return [(squares[-1] / square).sqrt() for square in reversed(squares)]

    @cached_property
    def own(self) -> Integers:
        """What row t reads of period t."""
        with localcontext(_EXACT):
            return _whole([ENTER * READ * h for h in self._stretch])

    @cached_property
    def memories(self) -> tuple[_Memory, ...]:
        """Their weights."""
        with localcontext(_EXACT):
            return tuple(self._memory(Decimal(theta), Decimal(omega)) for theta, omega in self.modes)

    def _memory(self, theta: Decimal, omega: Decimal) -> _Memory:
        epoch = max(1, min(int(Decimal(GROWTH).ln() / -theta.ln()), self.periods))
        powers = [Decimal(1)]
        for _ in range(2 * epoch):
            powers.append(powers[-1] * theta)
        enter = _whole([ENTER * h / powers[j % epoch] for j, h in enumerate(self._stretch)])
        read = READ * omega / theta
        now = _whole([read * power for power in powers[:epoch]])
        before = _whole([read * power for power in powers[epoch : 2 * epoch]])
        return _Memory(epoch, enter, now, before if epoch < self.periods else None)

    def entries(self, period: int) -> Integers:
        """A column of the triangle, from its own row on."""
        entries = np.zeros(self.periods - period, np.int64)
        entries[0] = self.own[period]
        for memory in self.memories:
            ends, later = (period // memory.epoch + 1) * memory.epoch, (period // memory.epoch + 2) * memory.epoch
            weight, same = memory.enter[period], entries[1 : ends - period]
            begin = period % memory.epoch + 1
            same += weight * memory.now[begin : begin + len(same)]
            if memory.before is not None:
                next_epoch = entries[ends - period : later - period]
                next_epoch += weight * memory.before[: len(next_epoch)]
        return entries

    @cached_property
    def column(self) -> Column:
        """The largest of all columns, in whole numbers."""
        largest = [0, 0, 0]
        for period in range(self.periods):
            entries = self.entries(period)
            if not 0 < int(entries.max()) < 1 << 24:  # below, no sum of squares of 10,000 of them passes 2⁶²
                raise parameter("modes", "those of a triangle with entries below 2**24", list(self.modes))
            found = [int(np.count_nonzero(entries)), int(entries.sum()), int(entries @ entries)]
            largest = [max(here, there) for here, there in zip(largest, found, strict=True)]
        return Column(*largest)

    def _running(self) -> Iterator[Floats]:
        """What the running totals make of each row's noise, one after the other, from nothing on."""
        reader, total = _Reader(self, self.periods), np.zeros(self.periods)
        yield total
        for period in range(self.periods):
            alone = np.zeros(self.periods)
            alone[period] = 1.0
            total = total + reader.read(period, alone)
            yield total

    @cached_property
    def _totals(self) -> Floats | None:
        """All of them, if that is a table of a moderate size."""
        return np.array(list(self._running())) if self.periods <= TABLE else None

    def variance(self, first: int, last: int) -> float:
        totals = self._running() if self._totals is None else self._totals
        before, upto = (total for number, total in enumerate(islice(totals, last + 1)) if number in (first - 1, last))
        return float((upto - before) @ (upto - before))

    def variances(self, width: int) -> Floats:
        found, kept = [], deque[Floats](maxlen=width + 1)
        for number, total in enumerate(self._running() if self._totals is None else self._totals):
            kept.append(total)
            if number >= max(width, 1):
                window = total - kept[0] if width else total
                found.append(float(window @ window))
        return np.array(found)

    def machine(self, size: int) -> Machine:
        return _Machine(self, size)


class _Memories:
    """What both sides remember: the writer in whole numbers, SECRET; the reader of what it has read."""

    def __init__(self, method: Toeplitz, arrays: dict[str, np.ndarray], kind: str, size: int, dtype: Any) -> None:
        self._method, self._arrays, self._kind = method, arrays, kind
        for k, memory in enumerate(method.memories):
            arrays[f"{kind}.{k}.now"] = np.zeros(size, dtype)
            if memory.before is not None:
                arrays[f"{kind}.{k}.before"] = np.zeros(size, dtype)

    def recall(self, period: int) -> Any:
        """What row `period` reads of the periods before it."""
        found: Any = 0
        for k, memory in enumerate(self._method.memories):
            place, name = period % memory.epoch, f"{self._kind}.{k}"
            if place == 0 and period and memory.before is not None:
                self._arrays[f"{name}.before"] = self._arrays[f"{name}.now"]
                self._arrays[f"{name}.now"] = np.zeros_like(self._arrays[f"{name}.before"])
            found = found + memory.now[place] * self._arrays[f"{name}.now"]
            if memory.before is not None:
                found = found + memory.before[place] * self._arrays[f"{name}.before"]
        return found

    def remember(self, period: int, numbers: np.ndarray) -> None:
        """A period, after its row."""
        for k, memory in enumerate(self._method.memories):
            self._arrays[f"{self._kind}.{k}.now"] += memory.enter[period] * numbers


class _Reader:
    """Undoes the triangle, row by row: public numbers, in floating point."""

    def __init__(self, method: Toeplitz, size: int, arrays: dict[str, np.ndarray] | None = None) -> None:
        self._own = method.own
        self._memories = _Memories(method, {} if arrays is None else arrays, "read", size, np.float64)

    def read(self, period: int, row: np.ndarray) -> Floats:
        """The estimate of one period, from its row."""
        found: Floats = (row - self._memories.recall(period)) / float(self._own[period])
        self._memories.remember(period, found)
        return found


class _Machine(Machine):
    def __init__(self, method: Toeplitz, size: int) -> None:
        super().__init__()
        self._own = method.own
        self.arrays = {"noise": np.zeros(size, np.int64), "total": np.zeros(size, np.float64)}
        self._written = _Memories(method, self.arrays, "written", size, np.int64)
        self._reader = _Reader(method, size, self.arrays)

    def open(self, period: int, draw: Draw, pin: Pin) -> None:
        self.arrays["noise"] = draw(f"period {period}")

    def close(self, period: int, exact: Integers, publish: Publish) -> None:
        row = self._own[period] * exact + self._written.recall(period)
        self._written.remember(period, exact)
        out = publish(f"period {period}", self.arrays["noise"], row)
        self.arrays["noise"] = np.zeros_like(exact)
        self.arrays["total"] += self._reader.read(period, out)

    def total(self, period: int) -> Integers:
        found: Integers = np.rint(self.arrays["total"]).astype(np.int64)
        return found


def _whole(numbers: list[Decimal]) -> Integers:
    return np.array([int(number.to_integral_value(ROUND_HALF_EVEN)) for number in numbers], np.int64)


def _checked(modes: Any) -> Modes:
    """θ below 1 and ω below 1, in few digits: of a file, perhaps of somebody who means ill."""
    try:
        found = tuple((theta, omega) for theta, omega in modes)
        texts = [text for mode in found for text in mode]
        good = isinstance(modes, list | tuple) and 1 <= len(found) <= 2 and all(map(_SHORT.fullmatch, texts))
    except (TypeError, ValueError):
        good = False
    if not good or not all(0.01 <= float(theta) <= 0.9999999 and float(omega) >= 0.0001 for theta, omega in found):
        raise parameter("modes", "one or two pairs of decimal fractions, such as ('0.99', '0.13')", type(modes))
    return found
