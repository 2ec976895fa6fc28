"""Locality sensitive quantization by random Fourier features (Wagner, Naamad & Mishra, ICML 2023).

k(x, q) = E[cos ω·(x − q)] for a random frequency ω. Released are Σ cos ω·x and Σ sin ω·x for I frequencies, with
Laplace noise. Since |cos| + |sin| ≤ √2, the L1 sensitivity is √2 I. (The authors take one cosine of random phase, √2
cos(ω·x + β): the same sensitivity and noise, but the phase adds to the error.)

The frequencies of our own kernel: a hash cuts the line a·x into steps of w, so k = E[Λ(a·(x − q)/w)] with the
triangle Λ(u) = max(0, 1 − |u|), whose Fourier transform is Fejér's law (1 − cos s)/(π s²). Hence ω = a s/w, and a sum
of `power` such terms for a power.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.paper.functions.answer import density
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.functions.noise import laplace_count, laplace_scale
from benchmarks.paper.sums import distinct
from scumble import EuclideanKernel

BLOCK = 256
FEATURES = (256, 1024, 4096, 16384)
CHUNK = 8192


class Summary(NamedTuple):
    frequencies: np.ndarray
    cosines: np.ndarray
    sines: np.ndarray
    n: int


@dataclass(frozen=True)
class LsqFourier(Method):
    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        # The error of I features is about N/(5 √I), that of the noise 2 √I/ε: the best I is about N ε/10.
        good = [i for i in FEATURES if n * epsilon / 160.0 <= i <= n * epsilon]
        return tuple((("features", i),) for i in (good or [FEATURES[0 if n * epsilon < 4096 else -1]]))

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        blocks = [block_sums(X, kernel, seed, i) for i in range(dict(setting)["features"] // BLOCK)]
        return Summary(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)), len(X))

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        features = len(summary.frequencies)
        count = laplace_count(summary.n, epsilon, rng)
        scale = laplace_scale(np.sqrt(2.0) * features, epsilon)
        cosines, sines = (part + rng.laplace(0.0, scale, features) for part in (summary.cosines, summary.sines))

        def answer(Q: np.ndarray) -> np.ndarray:
            total = np.zeros(len(Q))
            for first in range(0, features, BLOCK):
                here = slice(first, first + BLOCK)
                angle = _angles(Q, summary.frequencies[here])
                total += np.cos(angle) @ cosines[here] + np.sin(angle) @ sines[here]
            return density(total / features, count)

        return answer


@remember(1024)
def block_sums(X: np.ndarray, kernel: EuclideanKernel, seed: int, block: int) -> tuple[np.ndarray, ...]:
    """A block of frequencies, and Σ cos ω·x and Σ sin ω·x over the records."""
    rng = np.random.default_rng([seed, block])
    frequencies = draw_frequencies(kernel, X.shape[1], BLOCK, rng)
    records, weights = _distinct(X)
    cosines, sines = np.zeros(BLOCK), np.zeros(BLOCK)
    for first in range(0, len(records), CHUNK):
        here = slice(first, first + CHUNK)
        angle = _angles(records[here], frequencies)
        cosines += weights[here] @ np.cos(angle)
        sines += weights[here] @ np.sin(angle)
    return frequencies, cosines, sines


_distinct = remember(4)(distinct)


def _angles(X: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """ω·x within [0, 2π), in single precision: its cosines are fast, and exact to 1e-7."""
    angle = X @ (frequencies.T / (2.0 * np.pi))
    return ((angle - np.floor(angle)) * (2.0 * np.pi)).astype(np.float32)


def draw_frequencies(kernel: EuclideanKernel, d: int, number: int, rng: np.random.Generator) -> np.ndarray:
    """(number, d): the law whose characteristic function is the kernel."""
    directions = rng.normal(size=(kernel.power, number, d))
    return np.sum(directions * fejer(rng, (kernel.power, number))[..., None], axis=0) / kernel.bandwidth


def fejer(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draws from (1 − cos s)/(π s²), by rejection from the law of density ∝ min(1/2, 2/s²)."""
    out = np.empty(int(np.prod(shape)))
    filled = 0
    while filled < len(out):
        u = rng.uniform(-2.0, 2.0, 2 * len(out) + 16)
        s = np.where(np.abs(u) <= 1.0, 2.0 * u, 2.0 * np.sign(u) / np.maximum(2.0 - np.abs(u), 1e-300))
        good = rng.uniform(size=len(s)) * np.minimum(0.5, 2.0 / np.square(s)) <= (1.0 - np.cos(s)) / np.square(s)
        s = s[good][: len(out) - filled]
        out[filled : filled + len(s)] = s
        filled += len(s)
    return out.reshape(shape)


METHOD = LsqFourier("LSQ, random Fourier features", "Wagner, Naamad & Mishra 2023", "pure")
