"""Logistic regression by noisy steps: each publishes the gradient of all records, at what is known by then.

**The release.** Rows of whole numbers, each with Gaussian noise of its own, and each counted in a way that follows from
the rows before it: how many records each class has; the records' sum, hence their middle; how long the records are as
seen from there, hence the radius of the ball that half of them are in; the products Σ zzᵀ of the records z, moved to
the middle and shortened to that ball; and then, step by step, the gradients Σ (e_y − p(z)) zᵀ of the logistic loss,
with the residual e_y − p shortened to `CLIP`. A record adds a vector of bounded length to every row, whatever the rows
before it were (`descent.proof.md`), so they all compose as Gaussian mechanisms do.

**The steps.** At the weights W, a gradient in the direction of an eigenvector of Σ zzᵀ is about H (W* − W), with the
curvature H = eigenvalue · π(1 − π), plus noise of known variance. With a normal prior on W*, the best step is that of
Kalman's filter. So there is no rate to choose: where noise is all there is, hardly a step is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NoReturn

import numpy as np
from scipy.special import softmax

from scumble.errors import MergeError, ParameterError
from scumble.gate.rows import PublishedRows
from scumble.learn.moments import (
    LENGTH,
    ONCE,
    UNIT,
    Floats,
    Integers,
    Products,
    across,
    require_classes,
    root_above,
    shortened,
)

OPENING = Fraction(3), Fraction(3), Fraction(2), Fraction(10)
"""Per cent of the budget: the classes' counts, the middle, the radius, the products. Gradients share the rest."""
CLIP = 0.5
"""The greatest length of a residual: near 1 for a record that is hardly known, near 0 for others."""
SPREAD = 2.0
"""A prior: the standard deviation of a record's log-odds."""
FRESH = 0.5
"""How much of the information in a gradient is believed: the loss is no parabola, so later steps must matter, too."""
CAUTION = 2.0
"""What is added to eigenvalues, over s √(q/2): the noise in a matrix of q² entries moves them by up to 2s√q."""
LEAST = 2.0
"""Standard errors of a count: no class is taken to be smaller."""
ANCHOR = 0.25
"""The constant column, in units of the radius."""

COARSE = 4
"""Cells are whole numbers from −UNIT/COARSE to UNIT/COARSE: squares of differences add up below 2**52."""
BINS, PER_OCTAVE = 48, 4
"""Of lengths: geometric, from twice the ball's radius down."""
WHOLE = 2**15
"""A probability of 1."""
FINE = 2**10
"""A weight of 1."""
GRAIN, FAR = 256, 16
"""Steps of log-odds for which the exponential is in a table, and where it ends."""
EXPONENTIALS = np.array([round(2**20 * math.exp(-k / GRAIN)) for k in range(GRAIN * FAR)] + [0], np.int64)
BLOCK = 2**12
DRAWS, TURNS = 2**11, 20
"""Points for the mean of probabilities, and turns until it is the shares."""
STEEPER = np.geomspace(1.0, 4.0, 9)
"""What weights may be multiplied by in the end."""


@dataclass(frozen=True)
class DescentSpec(Products):
    """What is public about a descent: `classes` is how many there are, `steps` how many gradients."""

    kind: ClassVar[str] = "descent"
    classes: int
    steps: int

    @property
    def lengths(self) -> tuple[int, ...]:
        q = self.width
        return self.classes, self.dimensions, BINS, q * (q + 1) // 2, *[self.classes * q] * self.steps

    @property
    def shares(self) -> tuple[Fraction, ...]:
        return (*OPENING, *[(100 - sum(OPENING, Fraction(0))) / self.steps] * self.steps)

    def totals(self, X: Floats, y: np.ndarray) -> list[Integers]:
        return self.laid_out([])

    def laid_out(self, totals: list[Integers]) -> NoReturn:
        raise ParameterError("Steps follow from one another. Hint: fit a PrivateLogisticRegression.")

    def require_equal(self, other: object) -> None:
        raise MergeError("The steps of two models cannot be added up. Hint: fit one model to both tables.")

    def check(self) -> None:
        super().check()
        if self.pure is not False:
            raise ParameterError("`pure` must be false.")
        require_classes(self.classes)
        if type(self.steps) is not int or not 1 <= self.steps <= 64:
            raise ParameterError("`steps` must be a whole number from 1 to 64.")

    # ---- a record as whole numbers: each a function of that record and of what is public ----

    @cached_property
    def radius(self) -> int:
        """Of the ball that all cells are in."""
        return (UNIT // COARSE) * (1 if self.ball else math.isqrt(self.dimensions - 1) + 1)

    @cached_property
    def edges(self) -> Integers:
        """The upper edges of the bins of lengths, rising."""
        return np.array([math.ceil(2 * self.radius * 2 ** (-k / PER_OCTAVE)) for k in range(BINS)][::-1], np.int64)

    def cells(self, X: Floats) -> Integers:
        """The records' columns, in a ball about 0."""
        found = super().cells(X)
        return np.sign(found) * (np.abs(found) // COARSE)

    def vectors(self, cells: Integers, middle: Integers, radius: int) -> Integers:
        """Records as seen from the middle, with the anchor, each at most `LENGTH` long."""
        anchor = max(round(ANCHOR * radius), 1)
        moved = np.column_stack([cells - middle, np.full(len(cells), anchor)])
        least = math.isqrt(radius**2 + anchor**2 - 1) + 1
        return shortened(moved, np.maximum(root_above((moved * moved).sum(axis=1)), least), LENGTH)


def residuals(logits: Integers, y: Integers) -> Integers:
    """e_y − p of each record, `WHOLE` being 1, made at most `CLIP` long; of log-odds in units of 1/`GRAIN`."""
    behind = np.minimum(logits.max(axis=1, keepdims=True) - logits, GRAIN * FAR)
    weights = EXPONENTIALS[behind]
    total = weights.sum(axis=1, keepdims=True)
    found = -((2 * WHOLE * weights + total) // (2 * total))
    found[np.arange(len(y)), y] += WHOLE
    most = int(CLIP * WHOLE)
    return shortened(found, np.maximum(root_above((found * found).sum(axis=1)), most), most)


class Descent:
    """What follows from the published rows, taken one after the other: the middle, the radius, and the weights."""

    def __init__(self, spec: DescentSpec) -> None:
        self.spec, self.taken = spec, 0

    def take(self, row: Floats, error: float) -> None:
        """The next row, in units of one record, and the standard deviation of its noise."""
        spec, number = self.spec, self.taken
        self.taken += 1
        if number == 0:
            counts = np.maximum(row, max(LEAST * error, 1.0))
            self.count, self.shares = float(counts.sum()), counts / counts.sum()
        elif number == 1:
            sides = UNIT // COARSE
            found = np.clip(np.rint(row / self.count * spec.radius), -sides, sides).astype(np.int64)
            long = np.maximum(root_above((found * found).sum(keepdims=True)), spec.radius)
            self.middle = shortened(found[None], long, spec.radius)[0]
        elif number == 2:
            half = int((np.cumsum(row) < self.count / 2).sum())
            self.radius = int(spec.edges[min(half, BINS - 1)])
        elif number == 3:
            self._curve(row, error)
        else:
            self._step(row.reshape(spec.classes, spec.width), error)

    def _curve(self, row: Floats, error: float) -> None:
        """Curvatures along the eigenvectors, and the prior's variance along each."""
        self.matrix = self.spec.matrix(row)
        values, self.directions = np.linalg.eigh(self.matrix)
        values = np.maximum(values, 0.0) + CAUTION * error * math.sqrt(self.spec.width / 2.0)
        self.curves = (self.shares * (1.0 - self.shares))[:, None] * values
        self.weights, self.variances = np.zeros_like(self.curves), np.full_like(self.curves, SPREAD**2)

    def _step(self, gradient: Floats, error: float) -> None:
        """Kalman's step: H V/(H²V + s²), which is the share of the signal in the gradient's variance, over H."""
        gradient, error = gradient * CLIP, error * CLIP
        if not self.weights.any():
            self._tell(gradient, error)
        signal = self.curves**2 * self.variances
        known = signal / (signal + error**2)
        self.weights += (gradient @ self.directions * known / self.curves) @ self.directions.T
        self.variances *= 1.0 - FRESH * known

    def _tell(self, gradient: Floats, error: float) -> None:
        """The classes' means, from the first gradient: without weights, all records of a class have one residual.

        So a row is a known mixture of the classes' sums, which add up to the sum of all. What sets a mean apart is
        shrunk by the share of noise in it (James & Stein).
        """
        center = self.matrix[-1] / math.sqrt(max(self.matrix[-1, -1], 1.0) * self.count)  # the anchor is a constant
        counts, mixture = self.count * self.shares[:, None], np.eye(len(self.shares)) - self.shares
        mixture *= np.minimum(1.0, CLIP / np.linalg.norm(mixture, axis=1, keepdims=True))
        solve = np.linalg.pinv(np.vstack([mixture.T, np.ones(len(mixture))]))
        apart = solve @ np.vstack([gradient, self.count * center]) / counts - center
        noise = self.spec.width * (error * np.linalg.norm(solve[:, :-1], axis=1, keepdims=True) / counts) ** 2
        lengths = np.maximum((apart**2).sum(axis=1, keepdims=True), 1e-300)
        self.means = center + apart * np.maximum(1.0 - noise / lengths, 0.0)

    def settled(self) -> tuple[Floats, Floats]:
        """Weights and offsets: those of most likelihood for classes of normal laws.

        Their covariances differ in size alone: vectors are at most 1 long, so a class with the mean m has at most the
        variance 1 − |m|². Shortened residuals hold weights and rare classes down, so the weights get steeper, all
        alike, and with the offsets the mean of the probabilities is the classes' shares.
        """
        own = np.arange(max(DRAWS, len(self.shares))) % len(self.shares)
        weights = self.shares[own] / np.bincount(own)[own]
        within = self.matrix / self.count - self.means.T * self.shares @ self.means
        values, vectors = np.linalg.eigh(self.weights @ within @ self.weights.T)
        draws = np.random.Generator(np.random.Philox(0)).standard_normal((len(own), len(self.shares)))
        room = np.maximum(1.0 - (self.means**2).sum(axis=1), 0.0)
        narrow = np.sqrt(room / max(self.shares @ room, 1e-300))[own, None]
        odds = (self.means @ self.weights.T)[own] + narrow * draws * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
        best, settled = math.inf, (self.weights, np.log(self.shares))
        for steeper in STEEPER:
            found = settled[1]
            for _ in range(TURNS):
                chances = softmax(steeper * odds + found, axis=1)
                found = found + np.log(self.shares / np.maximum(weights @ chances, 1e-12))
            loss = -float(weights @ np.log(np.maximum(chances[np.arange(len(own)), own], 1e-12)))
            if loss >= best:
                break
            best, settled = loss, (steeper * self.weights, found)
        return settled


def exact_logits(vectors: Integers, weights: Floats, offsets: Floats) -> Floats:
    """z·w + offset of whole vectors, from weights rounded to 1/`FINE`: a record's are the same in any company."""
    whole = np.clip(np.rint(weights * FINE), -(2.0**24), 2.0**24)
    found: Floats = vectors.astype(np.float64) @ whole.T + np.rint(offsets * (FINE * LENGTH))
    return found


class Counting:
    """The records of one fit: counts the next row, wherever the descent is by then."""

    def __init__(self, spec: DescentSpec, X: Floats, y: Integers) -> None:
        self.spec, self.y = spec, y
        self.cells = np.empty(X.shape, np.int32)
        for part in self._blocks():
            self.cells[part] = spec.cells(X[part])
        self.descent = Descent(spec)
        self.vectors = np.empty((0, 0), np.int16)

    def __call__(self, found: PublishedRows) -> Integers:
        """The next row of exact sums, from those that are published."""
        spec, descent, number = self.spec, self.descent, len(found.rows)
        row = found.rows[-1]
        descent.take(row.counts / spec.step, math.sqrt(row.variance) / spec.step)
        once = spec.step // LENGTH
        if number == 1:
            radius = np.array([spec.radius])
            sums = (shortened(self._cells(part), radius, LENGTH).sum(axis=0) for part in self._blocks())
            return sum(sums, np.zeros(spec.dimensions, np.int64)) * once
        if number == 2:
            places = np.concatenate([np.zeros(0, np.int64), *(self._bins(part) for part in self._blocks())])
            return np.bincount(places, minlength=BINS) * spec.step
        if number == 3:
            self.vectors = np.empty((len(self.y), spec.width), np.int16)  # LENGTH is 2**14
            matrix = np.zeros((spec.width, spec.width), np.int64)
            for part in self._blocks():
                z = spec.vectors(self._cells(part), descent.middle, descent.radius)
                self.vectors[part] = z
                matrix += across(z, z)
            self.cells = np.empty((0, 0), np.int32)  # no further row needs them
            return spec.products(matrix)
        gradient = np.zeros((spec.classes, spec.width), np.int64)
        for part in self._blocks():
            z = self.vectors[part].astype(np.float64)
            logits = np.floor(exact_logits(z, descent.weights, np.log(descent.shares)) / (FINE * LENGTH // GRAIN))
            gradient += across(residuals(logits.astype(np.int64), self.y[part]), z)
        return gradient.ravel() * ONCE[False]

    def _blocks(self) -> Iterator[slice]:
        return (slice(first, first + BLOCK) for first in range(0, len(self.y), BLOCK))

    def _cells(self, part: slice) -> Integers:
        return self.cells[part].astype(np.int64)

    def _bins(self, part: slice) -> Integers:
        """The bin of each record's distance from the middle."""
        moved = self._cells(part) - self.descent.middle
        places = np.searchsorted(self.spec.edges, root_above((moved * moved).sum(axis=1)))
        return np.minimum(places, BINS - 1).astype(np.int64)
