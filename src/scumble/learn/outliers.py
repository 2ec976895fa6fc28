"""Outliers: records with hardly any private record like them.

**Scores.** Where a release has hashed rows, three scores are combined:

    h(x) = Σⱼ log pⱼ(xⱼ)                 the columns' histograms, as if columns were independent
    k(x) = log(f(x) + s)                 the kernel sum f of the release, of noise of standard deviation s − 1
    q(x) = k(x) − log(f₀(x) + s)         what f has beyond f₀: the kernel sum of records of independent columns

f₀ comes from records drawn from the histograms and counted by the release's own hash functions, so that errors of
hashing cancel. The score is h/σ(h) + r(k) k/σ(k) + r(q) q/σ(q), with the spread σ of each among the drawn records, and
the reliability r: the share of its variance that is not noise, which is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from scumble import checks
from scumble.columns.number import Number
from scumble.columns.schema import MOST_COLUMNS, Schema
from scumble.density.draws import masses
from scumble.density.release import Release
from scumble.density.sketch import release_disjoint
from scumble.density.spec import Spec
from scumble.errors import ParameterError, parameter
from scumble.learn import score_histograms
from scumble.learn.base import PrivateEstimator, estimator
from scumble.learn.columns import OutlierMixin, coding, lasting
from scumble.learn.levels import Levels, log_likelihoods
from scumble.learn.sampling import Sampler
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.exact import as_fraction
from scumble.table.release import TableRelease
from scumble.table.sketch import TableSketch, price, publish
from scumble.table.spec import TableSpec

EVEN = 9
"""Columns whose histograms get half of the budget: the variance of their noise is as d (d/ε)², so their share is to the
kernel's as d is to that."""
MOST_SHARE, MOST_SHARES = Fraction(4, 5), Fraction(9, 10)
"""Of the histograms, and with the threshold."""
ROWS, GAUSSIAN_ROWS = 128, 512
"""The most hashed rows. At δ = 0 noise grows with their number, and ranks depend on noise more than on hashing."""
TABLE_DRAWS, DRAWS = 20_000, 10_000
"""Records drawn from a table's model, to find the threshold, and from the histograms of columns."""


class _Learnt:
    """What the detector learns."""

    offset_: float
    columns_: TableRelease | None = None
    scores_: Release | None = None
    _blend: Blend


@estimator
class PrivateOutlierDetector(OutlierMixin, _Learnt, PrivateEstimator):
    """Records of low density are outliers (the paper's section 4; Luo & Shrivastava 2018).

    The signs are scikit-learn's: `score_samples` is high for usual records, `decision_function` = `score_samples` −
    `offset_` is negative for outliers, and `predict` says −1 for them and 1 for the others.

    With hashed rows (many columns), `columns_share` of ε pays for a histogram of each column, and the score combines
    values that are rare in their column with values that hardly ever come together (:mod:`scumble.learn.outliers`).
    From the release of a table the score is the logarithm of the density, as far as pairs of columns determine it.

    `offset_` should be the `contamination` quantile of the private records' own scores. Grids determine it themselves.
    For hashed rows, `threshold_share` of ε pays for a histogram of the records' scores; without it (`from_release`),
    records are drawn from the release: with 16 or more columns that threshold can be far off.

    If the curator publishes `predict(X)` for the private X itself, that reveals whether each record is an outlier: not
    private.

    For the other parameters, see :class:`~scumble.learn.base.PrivateEstimator`. Bounds are always needed.

    Parameters
    ----------
    contamination : float
        The share of records to call outliers, in (0, 0.5].
    threshold_share : float
        The part of ε that finds the threshold of hashed rows, from 0 to 0.5.
    columns_share : float or None
        The part of ε for histograms of single columns next to hashed rows, from 0 to 0.8. None is d/(d + 9) for d
        columns; 0 leaves scores to the kernel alone, as do more than 10,000 columns. With δ, it is a part of ρ.
    rows : int or None
        Hashed rows. None takes 128 at the most, 512 with δ: fewer than densities need.

    Attributes
    ----------
    release_, columns_, scores_ : Release, TableRelease or None
        What scores are read from; the columns' histograms, and the private records' scores, if they were released.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(5.0, 0.5, (10_000, 2))
    >>> model = PrivateOutlierDetector(contamination=0.05, bounds=(0, 10)).fit(X)
    >>> model.predict([[5.0, 5.0], [9.0, 1.0]])      # 30 standard errors above and below the threshold
    array([ 1, -1])
    """

    contamination: float = 0.05
    threshold_share: float = 0.1
    columns_share: float | None = None

    _learnt = ("offset_", "columns_", "scores_")
    _made_again = ("_blend",)
    _always_needs_bounds = True
    _learns_from = (Release, TableRelease)

    # ---- fitting ----

    def _check(self) -> None:
        checks.number("contamination", self.contamination, "in (0, 0.5]", lambda share: 0.0 < share <= 0.5)
        found = checks.number("threshold_share", self.threshold_share, "between 0 and 0.5", lambda one: 0 <= one <= 0.5)
        if self.columns_share is None:
            return
        found += checks.number("columns_share", self.columns_share, "between 0 and 0.8", lambda one: 0 <= one <= 0.8)
        if found > MOST_SHARES:
            raise parameter("columns_share", "at most 0.9 together with `threshold_share`", self.columns_share)

    def _twice(self, X: object) -> object:
        """A table, which a schema reads as numbers and as levels, in a form that can be read twice."""
        return X if self.schema is None and self.schema_ is None else lasting(X)

    def _records(self, X: object, y: object) -> tuple[np.ndarray, object]:
        """The records as numbers, and as the table whose columns are counted."""
        table = self._twice(X)
        return self._enter(table), table

    def _publish(self, X: np.ndarray, y: Any, account: Account | None) -> None:
        """Release a sketch, and if it has hashed rows its columns' histograms and the records' scores."""
        whole = self.price()
        sketch = self._sketch(self._kernel(), X, whole)
        hashed = not sketch.spec.layout.has_places
        finding = hashed * as_fraction("threshold_share", self.threshold_share)
        if self.columns_share is None:
            apart = hashed * min(Fraction(X.shape[1], X.shape[1] + EVEN), MOST_SHARE, MOST_SHARES - finding)
        else:
            apart = hashed * as_fraction("columns_share", self.columns_share)
        columns = columns_of(self.schema_, self.bounds_) if apart else None
        singles = None if columns is None else TableSketch.from_spec(TableSpec.of(columns, pairs=(), positions=False))

        def claims(budgets: Sequence[Budget]) -> list[PrivacyClaim]:
            each = [budgets[0].claim(sketch.rows)]
            return each if singles is None else [*each, price(singles.spec, replace(budgets[1], count_share=0))]

        # A threshold needs no δ; the others share what it leaves.
        counting, rest = whole.share(finding, 0, count_share=0), whole.share(1 - finding, 1)
        of_rest = apart / (1 - finding)
        budgets = rest.divide([Fraction(1)] if singles is None else [1 - of_rest, of_rest], claims)
        counters = sketch.rows * sketch.buckets + score_histograms.MOST + (singles.spec.counters[0] if singles else 0)
        sketch.update(X)
        paid = self._pay([*claims(budgets), *([counting.claim(1)] if finding else [])], account, counters=counters)
        (self.release_,) = release_disjoint([sketch], budgets[0], paid)
        self.columns_ = self.scores_ = None
        if singles is not None:
            singles.update(X if self.schema_ is None else y)
            self.columns_ = publish(singles.secret, singles.spec, replace(budgets[1], count_share=0), paid)
        if finding:
            blend = self._blended()
            if blend is None:
                found, low, high = score_histograms.roots(self.release_, X)
            else:
                found, low, high = blend.squashed(self._scores(X, y)), -1.0, 1.0
            scores = score_histograms.counted(found, low, high, counting.epsilon, self.release_.count)
            (self.scores_,) = release_disjoint([scores], counting, paid)

    def _most_rows(self, spec: Spec) -> int:
        return ROWS if self.price().pure else GAUSSIAN_ROWS

    # ---- from the releases alone ----

    def _blended(self) -> Blend | None:
        """What scores records by kernel and columns, made once from the releases; None where columns have none."""
        if self.columns_ is None:
            return None
        if "_blend" not in vars(self):
            self._blend = Blend(self.release_, self.columns_)
        return self._blend

    def _learn(self) -> None:
        """The threshold: the score below which the requested share of the private records falls."""
        blend, release = self._blended(), self.release_
        if self.scores_ is not None:
            place = score_histograms.of_counted(self.scores_, release.count, self.contamination)
            self.offset_ = blend.unsquashed(place) if blend is not None else float(_score(place * abs(place)))
        elif release.spec.layout.has_places:
            self.offset_ = float(_score(score_histograms.on_grid(release, self.contamination)))
        else:
            drawn = Sampler(release, np.random.default_rng(self._seed()), bounds=self.bounds_).draw(DRAWS)
            coded = self._coding()
            scores = self._scores(drawn, drawn if coded is None else coded.table(drawn))
            self.offset_ = float(np.quantile(scores, self.contamination))

    def _scores(self, numbers: np.ndarray, records: object) -> np.ndarray:
        """`numbers` are what the kernel reads of `records`."""
        blend = self._blended()
        if blend is None:
            return _score(self.release_.kernel_sum(numbers))
        return blend.scores(numbers, numbers if self.schema_ is None else records)

    def _claim(self) -> PrivacyClaim:
        each = (self.release_, self.columns_, self.scores_)
        return overlapping(release.privacy for release in each if release is not None)

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        if target is not None:
            raise parameter("target", "left out: outliers are of all columns", target)
        self._check()
        self.release_, self.columns_, self.scores_ = release, None, None
        drawn = release._answers.model.draw(TABLE_DRAWS, np.random.default_rng(self._seed()))
        levels = Levels(release)
        self.offset_ = float(np.quantile(log_likelihoods(levels, levels.grouped(drawn)), self.contamination))

    def score_samples(self, X: object) -> np.ndarray:
        """How usual each record is: a number without a unit, larger for the more usual.

        Of a grid, or of hashed rows without histograms of the columns, log(1 + kernel sum).
        """
        X = self._twice(X)
        numbers = self._read(X, clip=True)
        levels = self._levels()
        return self._scores(numbers, X) if levels is None else log_likelihoods(levels, numbers)

    def decision_function(self, X: object) -> np.ndarray:
        """`score_samples` less the threshold: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: object) -> np.ndarray:
        """1 for usual records, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)


def _score(sums: np.ndarray | float) -> np.ndarray:
    """The signed logarithm log(1 + |f|): in the order of the kernel sums, also below zero, and finite."""
    return np.sign(sums) * np.log1p(np.abs(sums))


# ---- scores of kernel and columns ----

CELLS = 10
"""Of a column of numbers: with more the noise of each counts for more, with fewer what is rare gets lost."""
NARROWEST = 1e-300
"""Bounds: the least width whose cells floating-point numbers can separate."""
TILE = 1 << 16
WIDTHS = 3.0
"""Standard deviations of scores that half the line of places is for."""


def columns_of(schema: Schema | None, bounds: tuple[np.ndarray, np.ndarray] | None) -> Schema | None:
    """The columns to be counted one at a time: those of the schema, or numbers within the bounds; None of too many."""
    if schema is not None or bounds is None:
        return schema
    low, high = bounds
    if (high - low < NARROWEST).any():
        raise ParameterError(f"`bounds` must be at least {NARROWEST:g} apart. Hint: give the column in smaller units.")
    sides = zip(low.tolist(), high.tolist(), strict=True)
    if len(low) > MOST_COLUMNS:
        return None
    return Schema({f"column {j}": Number(*ends, cells=CELLS) for j, ends in enumerate(sides)})


class Blend:
    """The scores of records, from a release of hashed rows and one of single columns."""

    def __init__(self, release: Release, columns: TableRelease) -> None:
        self.schema, self.layout, self.reader = columns.schema, release.spec.layout, release._reader()
        self.deviation, self.total = self.reader.lone_deviation, release.divisor
        histograms = columns._grouped.tables(columns.counts)
        mass = [masses(one, noise, self.total) for one, noise in zip(histograms, columns.variances, strict=True)]
        self.logs = [np.log((one + 0.5) / (self.total + 0.5 * len(one))) for one in mass]
        rng = np.random.default_rng(0)  # any will do; a fixed one gives the same answers to everybody
        codes = np.column_stack([rng.choice(len(one), DRAWS, p=one / one.sum()) for one in mass])
        drawn = coding(self.schema, True).read(self.schema.decode(codes, rng))[0]
        counts = np.zeros(self.layout.spec.counters, np.int64)
        parts, _ = self.layout.read(drawn, invalid="error")
        self.layout.count(parts, counts, engine_name="auto", threads=None)
        self.apart = self.layout.reader(counts, 0.0, None)
        h, k, apart = self._three(codes, drawn)
        q = k - apart
        noises = [0.0, *(np.mean((self.deviation / np.exp(logs)) ** 2) for logs in (k, apart))]
        self.weights = [_weight(values, float(variance)) for values, variance in zip((h, k, q), noises, strict=True)]
        of_h, of_k, of_q = self.weights
        scores = of_h * h + of_k * k + of_q * q
        self.center, self.width = float(scores.mean()), WIDTHS * float(scores.std()) or 1.0

    def scores(self, numbers: np.ndarray, records: object) -> np.ndarray:
        """How usual each record is; `numbers` are what the kernel reads of `records`."""
        codes = self.schema.encode(records, invalid="error")[0]
        of_h, of_k, of_q = self.weights
        found = [np.empty(0)]
        for first in range(0, len(numbers), TILE):
            h, k, apart = self._three(codes[first : first + TILE], numbers[first : first + TILE])
            found.append(of_h * h + of_k * k + of_q * (k - apart))
        return np.concatenate(found)

    def squashed(self, scores: np.ndarray) -> np.ndarray:
        """Scores between −1 and 1, to be counted: finely where most are, coarsely far out."""
        t = (scores - self.center) / self.width
        return t / (1.0 + np.abs(t))

    def unsquashed(self, place: float) -> float:
        """The score at this place."""
        return self.center + self.width * place / max(1.0 - abs(place), 1e-9)

    def _three(self, codes: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        parts, _ = self.layout.read(numbers, invalid="error")
        h = np.zeros(len(codes))
        for logs, column in zip(self.logs, codes.T, strict=True):
            h += logs[column]
        sums = self.reader.lone_sums(parts), self.apart.lone_sums(parts) * (self.total / DRAWS)
        k, apart = (_log(np.maximum(one, 0.0) + (1.0 + self.deviation)) for one in sums)
        return h, k, apart


def _log(values: np.ndarray) -> np.ndarray:
    """The logarithm, number by number: NumPy's may depend on where in an array a number stands."""
    return np.fromiter(map(math.log, values.tolist()), float, len(values))


def _weight(values: np.ndarray, noise: float) -> float:
    """1/σ, times the share of the variance that is not noise."""
    variance = float(values.var())
    return max(0.0, 1.0 - noise / variance) / math.sqrt(variance) if variance > 0.0 else 0.0
