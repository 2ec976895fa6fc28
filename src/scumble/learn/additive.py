"""Additive models from cross-tables of hat functions: a curve for each column, and a table for one pair of them.

**Knots** are put at equal shares of the records, by histograms of the columns. **Curves** are written in polynomials on
the knots, the k-th with a prior deviation of 1/k; in these coordinates the penalty (`moment_release.py`) takes out what
the noise hides, rough functions first.

**A pair** of columns is chosen when the curves have been found, and the mean of what is left over, y − f(x), is
released for each cell of the two (the records nearest to one knot of either column). It is clipped to a quarter of the
target's range on either side, and counted as a whole number t from −B to B. The score of a pair is Σ over its cells of
|Σ t over the records in the cell|, and :func:`scumble.gate.selection.noisy_best` names the best.

*Claim.* One record moves a score by at most B, a replaced one by at most 2B. *Proof.* The curves and the knots are
released by then, and cell and t of a record are functions of them and of that record, made by comparisons and by
floating-point operations number by number in one order. An added or removed record moves the sum of one cell by
|t| ≤ B. ∎
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from scumble.checks import whole
from scumble.columns.cells import Column as Cells
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.density.draws import masses
from scumble.errors import ParameterError, parameter
from scumble.gate.selection import claim_of_choice, noisy_best
from scumble.gate.spending import Prepaid
from scumble.learn.base import estimator
from scumble.learn.columns import Bounds, check_is_fitted
from scumble.learn.moment_release import MomentRelease, MomentSketch, mean_of_target, publish, solved
from scumble.learn.moments import (
    MOST_KNOTS,
    PARTS,
    TARGET_PARTS,
    Floats,
    HatMoments,
    Integers,
    Span,
    enough_knots,
    most_knots,
    steps,
)
from scumble.learn.supervised import Classifier, LearnsFromMoments, Regressor, choice_epsilon, laplace_is_quieter
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.table.release import TableRelease
from scumble.table.sketch import TableSketch, price
from scumble.table.sketch import publish as publish_table
from scumble.table.spec import TableSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KNOTS_SHARE, CHOICE_SHARE, PAIR_SHARE = Fraction(1, 16), Fraction(1, 20), Fraction(3, 20)
"""Parts of the budget: for the histograms, of what a pair leaves; for the choice of a pair, and for its table."""
LEAST_EPSILON, MOST_COLUMNS = Fraction(1, 10), 64
"""From which ε on, and up to how many columns, a pair is looked for."""
PAIR_KNOTS = 6
"""Cells of a column in a pair, at most."""


class _Learnt:
    """What is learned, and written to files."""

    knots_: list[np.ndarray]
    shapes_: list[np.ndarray]
    intercept_: float
    slope_: float
    offset_: float
    columns_: TableRelease | None = None
    pair_: MomentRelease | None = None
    pair_columns_: tuple[int, int] | None = None
    pair_knots_: tuple[np.ndarray, np.ndarray] | None = None
    pair_effects_: np.ndarray | None = None


@estimator
class Additive(_Learnt, LearnsFromMoments):
    """What additive models share: curves of the target, which lies within `target_bounds_`, and a pair.

    Each column's curve is straight between a few knots. A sixteenth of the budget pays for histograms of the columns,
    which place the knots. Then the sums of products of the columns' hat functions with each other and with the target
    are released (:mod:`scumble.learn.moments`). Curves follow by least squares, with a preference for smooth
    ones and a penalty that follows from the noise. From ε = 0.1 on, a fifth of the budget finds a pair of columns and
    pays for a table of what the curves leave over there. `kernel`, `rows`, `buckets` and `random_state` are not used.

    Parameters
    ----------
    knots : int or None
        How many a column has at most. None: as many as the noise bears.
    pair : bool or None
        Whether a pair of columns has a table, too. None: from ε = 0.1 on, with up to 64 columns.

    Attributes
    ----------
    knots_, shapes_, shape_errors_ : list of numpy.ndarray
        Each column's knots; its curve there, in units of the target, with mean zero over the records; and the standard
        error that the noise makes in that.
    intercept_ : float
        The mean of the target.
    release_, pair_, columns_ : MomentRelease or TableRelease
        The cross-tables; what the curves leave over in the cells of a pair, or None; the histograms, or None.
    pair_columns_, pair_knots_, pair_effects_ : tuple of int, tuple of numpy.ndarray, numpy.ndarray
        Which pair, by their places; the knots whose nearest records are a cell; what each cell adds. None without.
    """

    knots: int | None = None
    pair: bool | None = None

    _learnt = (*_Learnt.__annotations__, "shares_", "target_bounds_", "classes_")
    _made_again = ("_errors",)
    _always_needs_bounds = True
    _moments = HatMoments

    # ---- fitting ----

    def _publish(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        """Histograms of the columns; with the knots that follow from them, the cross-tables; then a pair, if any."""
        assert self.bounds_ is not None
        self.pair_ = self.pair_columns_ = self.pair_knots_ = self.pair_effects_ = None
        spec = self._spec()
        cells = TableSketch.from_spec(TableSpec.of(cells_of(self._sizes()), pairs=(), positions=False))
        most = None if self.knots is None else whole("knots", self.knots, 2, most=MOST_KNOTS)
        table = pair_spec(PAIR_KNOTS**2, spec.pure, self.target_bounds_)
        shares = [KNOTS_SHARE, 1 - KNOTS_SHARE]
        if self._pairs():
            shares = [(1 - CHOICE_SHARE - PAIR_SHARE) * share for share in shares] + [CHOICE_SHARE, PAIR_SHARE]

        def claims(budgets: Sequence[Budget]) -> list[PrivacyClaim]:
            placing, learning, *more = budgets
            found = [price(cells.spec, placing), learning.claim(spec.rows, spec.shares, spec.reach)]
            if more:
                found += [self._choice_claim(more[0]), more[1].claim(table.rows, table.shares, table.reach)]
            return found

        if spec.pure:  # such noise needs no δ
            budgets = [self.price().share(share, 0) for share in shares]
        else:
            budgets = self.price().divide(shares, claims)
        largest = replace(spec, knots=most or min(most_knots(spec.dimensions), enough_knots(0.0)))
        self._require_ready(largest)
        counters = cells.spec.counters[0] + largest.counters[0] + table.counters[0]
        low, high = self.bounds_
        cells.update(np.clip((X - low) / (high - low), 0.0, 1.0))
        paid = self._pay(claims(budgets), account, counters=counters)
        self.columns_ = publish_table(cells.secret, cells.spec, budgets[0], paid)
        if most is None:
            made = budgets[1].claim(spec.rows, spec.shares, spec.reach)
            noise = np.sqrt(made.law.variance(made.row_scales[-1])) / spec.step / records(self.columns_)
            most = min(most_knots(spec.dimensions), enough_knots(noise))
        spec = replace(spec, knots=placed(self.columns_, self.bounds_, most))
        self.release_ = publish(MomentSketch(spec).update(X, y), budgets[1], paid)
        # Its knots follow from the histograms: a reader of this release has what both cost.
        self.release_.privacy = overlapping([self.columns_.privacy, self.release_.privacy])
        if self._pairs():
            self._learn()
            self._release_pair(X, y, budgets[2:], paid)

    def _spec(self) -> HatMoments:
        d = self._width  # the knots will follow
        rows = d * (d + 1) // 2 + 1
        pure = laplace_is_quieter(self.price(), rows / np.sqrt(rows))
        return HatMoments(self._spans(), self._names(), pure, self.target_bounds_, 2)

    def _indicators(self) -> bool:
        return False  # each column has a curve, and a category's levels are its knots, or lie between them

    def _sizes(self) -> list[int | None]:
        coded = self._coding()
        return [None] * self._width if coded is None else coded.sizes

    def _pairs(self) -> bool:
        """Whether there will be a pair: decided by public facts alone."""
        if self.pair not in (None, True, False):
            raise parameter("pair", "True, False or None", self.pair)
        if self.pair is not None:
            return self._width >= 2 and bool(self.pair)
        return 2 <= self._width <= MOST_COLUMNS and Fraction(self.price().claim(1).epsilon) >= LEAST_EPSILON

    def _choice_claim(self, budget: Budget) -> PrivacyClaim:
        return claim_of_choice(choice_epsilon(budget), self.neighbors, self.records_per_person)

    def _release_pair(self, X: np.ndarray, y: np.ndarray, budgets: Sequence[Budget], paid: Prepaid) -> None:
        """The pair that shows most of what the curves leave over, and a table of that."""
        assert self.columns_ is not None and self.bounds_ is not None
        choosing, learning = budgets
        places = [np.array(one) for one in placed(self.columns_, self.bounds_, PAIR_KNOTS)]
        codes = np.column_stack([nearest(X[:, j], one) for j, one in enumerate(places)])
        left, sizes = y - self._curves(X), list(map(len, places))
        claim = self._choice_claim(choosing)
        paid.charge(claim)
        moves = self.records_per_person * (2 if self.neighbors == "replace" else 1)
        epsilon = Fraction(claim.epsilon)  # what is claimed, to the last bit
        i, j = best_pair(codes, sizes, left, largest_rest(self.target_bounds_), epsilon=epsilon, moves=moves)
        spec = pair_spec(sizes[i] * sizes[j], self._spec().pure, self.target_bounds_)
        cell = (codes[:, i] * sizes[j] + codes[:, j]).astype(float)[:, None]
        self.pair_ = publish(MomentSketch(spec).update(cell, left), learning, paid)
        self.pair_.privacy = overlapping([self.release_.privacy, claim, self.pair_.privacy])
        self.pair_columns_, self.pair_knots_ = (i, j), (places[i], places[j])
        self.pair_effects_ = effects(self.pair_).reshape(sizes[i], sizes[j])

    def _curves(self, X: np.ndarray) -> np.ndarray:
        """What the curves predict, to the last bit a function of each record alone: number by number, in one order."""
        spec = self.release_.spec
        hats, found = spec.hats(X), np.full(len(X), self.intercept_)
        for part, shape in zip(spec.parts, self.shapes_, strict=True):
            for k, height in zip(range(part.start, part.stop), shape, strict=True):
                found += hats[:, k] * (height / PARTS)
        return np.clip(found, *self.target_bounds_)

    # ---- from the release alone ----

    @abstractmethod
    def _learn(self) -> None:
        """The curves."""
        spec = self.release_.spec
        bottom, top = self.target_bounds_ = spec.target_bounds
        half = (top - bottom) / 2.0
        shapes, mean = additive_model(self.release_, self.release_.rows)
        self.knots_ = list(spec.places)
        self.shapes_ = [half * shapes[part] for part in spec.parts]
        self.intercept_ = float(bottom + half * (1.0 + mean))

    def _claim(self) -> PrivacyClaim:
        return self.release_.privacy if self.pair_ is None else self.pair_.privacy

    @property
    def shape_errors_(self) -> list[np.ndarray]:
        """The standard error that the noise makes in `shapes_`; found when it is first asked for.

        Noise like the release's own is added to it, from a public generator: post-processing, like every answer.
        """
        check_is_fitted(self)
        if "_errors" not in vars(self):
            release, (bottom, top) = self.release_, self.target_bounds_
            rng, drawn = np.random.default_rng(int(release.identity.replace("-", "")[:15], 16)), []
            for _ in range(DRAWS):
                each = zip(release.rows, release.errors, strict=True)
                noisier = [row + error * rng.standard_normal(row.shape) for row, error in each]
                drawn.append(additive_model(release, noisier)[0])
            self._errors = (top - bottom) / 2.0 * np.std(drawn, axis=0, ddof=1)
        return [self._errors[part] for part in self.release_.spec.parts]

    def contributions(self, X: object) -> np.ndarray:
        """(n, columns): what each column adds to the target's mean, `intercept_`; of a pair, half each."""
        return self._added(self._read(X, clip=True))

    def _added(self, X: np.ndarray) -> np.ndarray:
        spec = self.release_.spec
        hats = spec.hats(X) / PARTS
        # Column by column: a record's number must not depend on who else is asked about.
        each = zip(spec.parts, self.shapes_, strict=True)
        found = np.stack([np.einsum("nk,k->n", hats[:, part], shape) for part, shape in each], axis=1)
        if self.pair_columns_ is not None and self.pair_knots_ is not None and self.pair_effects_ is not None:
            i, j = self.pair_columns_
            cell = nearest(X[:, i], self.pair_knots_[0]), nearest(X[:, j], self.pair_knots_[1])
            found[:, [i, j]] += self.pair_effects_[cell][:, None] / 2.0
        return found

    def plot(self, **options: Any) -> Figure:
        """The curves with bands of two standard errors of the noise, a matplotlib Figure. Option: `title`.

        With the options `ranges`, `at` or `units`, predictions over one or two columns, as for other estimators.
        """
        from scumble.show import pictures

        check_is_fitted(self)
        return super().plot(**options) if set(options) - {"title"} else pictures.shapes(self, **options)


@estimator
class PrivateAdditiveRegressor(Additive, Regressor):
    """Regression by a sum of curves, one per column, that can be looked at: see :class:`Additive`.

    With few records, many columns or a small ε take :class:`~scumble.learn.PrivateLinearRegression`. For other
    parameters, see :class:`~scumble.learn.base.PrivateEstimator` and :class:`~scumble.learn.supervised.Regressor`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = np.abs(X[:, 0] - 5) + X[:, 1]
    >>> model = PrivateAdditiveRegressor(epsilon=5.0, bounds=(0, 10), target_bounds=(0, 15)).fit(X, y)
    >>> r2 = model.score(X, y)                      # 0.95 or so: the noise is fresh each time
    >>> len(model.shapes_[0]) == len(model.knots_[0]), round(model.privacy_.epsilon, 9)
    (True, 5.0)
    """

    def _learn(self) -> None:
        super()._learn()

    def predict(self, X: object) -> np.ndarray:
        """The model's values, within the public bounds of the target."""
        return np.clip(self.contributions(X).sum(axis=1) + self.intercept_, *self.target_bounds_)


@estimator
class PrivateAdditiveClassifier(Additive, Classifier):
    """Two classes separated by a sum of curves, one per column, that can be looked at: see :class:`Additive`.

    The curves are those of the indicator of the second class: what a column adds to its share. Its log-odds are
    `offset_` and `slope_` times the sum of a record's `contributions`. For the parameters, see :class:`Additive`,
    :class:`~scumble.learn.base.PrivateEstimator` and :class:`~scumble.learn.supervised.Classifier`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = (np.abs(X[:, 0] - 5) + X[:, 1] > 7).astype(int)
    >>> model = PrivateAdditiveClassifier(epsilon=5.0, bounds=(0, 10), classes=[0, 1]).fit(X, y)
    >>> accuracy = model.score(X, y)                # 0.95 or so: the noise is fresh each time
    >>> len(model.shapes_[0]) == len(model.knots_[0]), round(model.privacy_.epsilon, 9)
    (True, 5.0)
    """

    target_bounds_ = (0.0, 1.0)  # of the indicator

    @classmethod
    def _learns(cls, release: object) -> bool:
        return super()._learns(release) and release.spec.target_bounds == cls.target_bounds_  # type: ignore[attr-defined]

    def _take_classes(self, y: Cells | None) -> None:
        super()._take_classes(y)
        if len(self.classes_) > 2:  # in scikit-learn's words
            raise ParameterError(
                "Only binary classification is supported. The type of the target is multiclass: use PrivateClassifier."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _learn(self) -> None:
        super()._learn()
        self.shares_, self.slope_, self.offset_ = log_odds(self.release_, np.concatenate(self.shapes_))

    def _log_probabilities(self, X: np.ndarray) -> np.ndarray:
        z = self.offset_ + self.slope_ * self._added(X).sum(axis=1)
        return np.column_stack([np.zeros_like(z), z])


# ---- knots ----

CELLS = 64
"""Of the histogram of a column that can hold any number."""
EVENLY = 0.3
"""The share of the knots that follows the bounds, not the records: far out there are some, too."""
SEEN, LEAST = 4.0, 1 / 2000
"""Deviations of its noise, and the share of the records, that a cell must hold to have a knot of its own."""
NEARLY_ALL = 0.95
"""The share of the records that such cells together must hold."""


def cells_of(levels: Sequence[int | None]) -> Schema:
    """The columns' places between their bounds, from 0 to 1, to be counted; one cell for each level, if it has any."""
    sizes = [CELLS if size is None else max(2, min(size, CELLS)) for size in levels]
    return Schema({f"column {j}": Number(0.0, 1.0, cells=size) for j, size in enumerate(sizes)})


def records(columns: TableRelease) -> float:
    """How many records the histograms show."""
    return max(columns._answers.total.value, 1.0)


def placed(columns: TableRelease, bounds: Bounds, most: int) -> tuple[tuple[float, ...], ...]:
    """At most so many knots for each column, at equal shares of its records: two at least, rising, in the bounds."""
    total = records(columns)
    counted = columns._grouped.tables(columns.counts)
    found = []
    for counts, noise, low, high in zip(counted, columns.variances, *bounds, strict=True):
        mass = masses(counts, noise, total)
        seen = np.flatnonzero(mass > max(SEEN * np.sqrt(noise), LEAST * total))
        if len(seen) <= most and mass[seen].sum() >= NEARLY_ALL * total:
            spots = seen / (len(mass) - 1)  # within their cells; the first and last at the bounds
        else:
            edges = np.append(0.0, np.cumsum((1.0 - EVENLY) * mass / mass.sum() + EVENLY / len(mass)))
            spots = np.interp(np.linspace(0.0, edges[-1], most), edges, np.linspace(0.0, 1.0, len(edges)))
        knots = np.unique(np.clip(low + (high - low) * spots, low, high)).tolist()
        found.append(tuple(knots) if len(knots) > 1 else (float(low), float(high)))
    return tuple(found)


# ---- curves ----

CAUTION, TRUST = 1.0, 2.0
"""λ over the noise's largest eigenvalue. Of many curves most are small and shrink on their own: the guard takes off the
square of the noise's share."""
LEAST_COUNT, CLEAREST = 2.0, 0.95
"""Standard errors of a count: no class is taken to be smaller. The most of an indicator that curves may explain."""
SUMS, DRAWS = 4000, 20
"""Draws of sums, for the mean of the probabilities; and of noise like the release's own."""


class _Tables(NamedTuple):
    """Noisy sums of products of hats with hats, and with the target; and the deviations of their noise."""

    parts: tuple[slice, ...]
    """Where each column's knots are among those of all."""
    products: Floats
    cross: Floats
    of_pairs: float
    of_columns: float


def additive_model(release: MomentRelease, rows: list[Floats]) -> tuple[Floats, float]:
    """In units of the bounds: the functions at the knots, each with mean zero over the records, and the target's mean.

    `rows` are the release's own, or noisier ones.
    """
    tables = _tables(release, rows)
    parts, shares = tables.parts, _shares(tables)
    each = [_smooth(part.stop - part.start) for part in parts]
    basis, sizes = block_diag(*each), np.concatenate([np.linalg.norm(one, axis=0) for one in each])
    total, mean = max(release.count, 1.0), mean_of_target(release)
    products = tables.products - total * np.outer(shares, shares)
    cross = tables.cross - total * mean * shares
    penalty = CAUTION * tables.of_pairs * sizes.max() * np.linalg.norm(sizes)
    # An entry of `cross` adds up two cells, and halves of two cells on each side.
    variances = 3.0 * tables.of_columns**2 * sizes**2
    shapes = basis @ solved(basis.T @ products @ basis, basis.T @ cross, penalty, variances, TRUST)
    for part in parts:
        shapes[part] -= shapes[part] @ shares[part]
    return shapes, mean


def log_odds(release: MomentRelease, shapes: Floats) -> tuple[Floats, float, float]:
    """The classes' shares, and slope and offset of the log-odds in the sum s of curves, which has mean zero.

    Sums are drawn for each class, column by column from its noisy records at the knots, and spread about the class's
    mean so that s explains as much of the indicator's variance as the moments say: the part g, where the variance
    within classes is π(1 − π)g(1 − g). The most likely line in these sums is taken.
    """
    from sklearn.linear_model import LogisticRegression

    tables, spec = _tables(release, release.rows), release.spec
    assert isinstance(spec, HatMoments)
    counts = np.maximum(release.rows[0], max(LEAST_COUNT * release.errors[0], 1.0))
    shares = counts / counts.sum()
    size, total = float(shares.prod()), max(release.count, 1.0)
    cross = tables.cross - total * mean_of_target(release) * _shares(tables)
    explained = float(np.clip(shapes @ cross / (2.0 * total * size), 0.0, CLEAREST))
    rng = np.random.default_rng(0)  # any will do; a fixed one gives the same answers to everybody
    sums = np.zeros((2, SUMS))
    for part, knots, row in zip(tables.parts, spec.sizes, release.rows[1:], strict=False):
        for one, counted in enumerate(row.reshape(-1, 2).T):
            at_knots = masses(_own(counted, knots).sum(axis=1), 3.0 * tables.of_columns**2, float(counts[one]))
            sums[one] += rng.choice(shapes[part], SUMS, p=at_knots / at_knots.sum())
    means = np.array([-shares[1], shares[0]])[:, None] * explained
    within = max(float(shares @ sums.var(axis=1)), 1e-300)
    sums = means + (sums - sums.mean(axis=1, keepdims=True)) * np.sqrt(size * explained * (1.0 - explained) / within)
    unit = max(float(np.sqrt(size * explained)), 1e-9)
    line = LogisticRegression(C=SUMS, tol=1e-6).fit(
        sums.reshape(-1, 1) / unit, np.repeat([0, 1], SUMS), np.repeat(shares, SUMS)
    )
    return shares, float(line.coef_[0, 0]) / unit, float(line.intercept_[0])


def _tables(release: MomentRelease, rows: list[Floats]) -> _Tables:
    spec = release.spec
    assert isinstance(spec, HatMoments)
    d, parts, knots = spec.dimensions, spec.parts, sum(spec.sizes)
    products, cross = np.zeros((knots, knots)), np.zeros(knots)
    for part, size, row in zip(parts, spec.sizes, rows[1 : d + 1], strict=True):
        low, high = row.reshape(-1, 2).T
        products[part, part] = _own(low + high, size)
        cross[part] = _own(high - low, size).sum(axis=1)
    for (i, j), row in zip(spec.pairs, rows[d + 1 :], strict=True):
        table = row.reshape(spec.sizes[i], spec.sizes[j])
        products[parts[i], parts[j]], products[parts[j], parts[i]] = table, table.T
    of_pairs = release.errors[d + 1] if d > 1 else release.errors[1]
    return _Tables(parts, products, cross, of_pairs, release.errors[1])


def _own(row: Floats, k: int) -> Floats:
    """The products of a column's own hats, of which only neighbors overlap."""
    off = np.diag(row[k:] / 2.0, 1)
    return np.diag(row[:k]) + off + off.T


def _shares(tables: _Tables) -> Floats:
    """The share of the records at each knot, from the column's own row and from all its pairs."""
    others = len(tables.parts) - 1
    shares = np.empty(len(tables.cross))
    weight_own = 1.0 / (3.0 * tables.of_columns**2)
    for part in tables.parts:
        found = tables.products[part, part].sum(axis=1)
        if others:
            off = (tables.products[part].sum(axis=1) - found) / others
            knots = (len(shares) - len(found)) / others
            weight_pairs = others / (knots * tables.of_pairs**2)
            found = (weight_own * found + weight_pairs * off) / (weight_own + weight_pairs)
        found = np.maximum(found, 0.0) + 1e-9
        shares[part] = found / found.sum()
    return shares


def _smooth(k: int) -> Floats:
    """(knots, knots − 1): polynomials of degree 1, 2, … that are orthogonal on the knots, the k-th of size 1/k."""
    powers = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, k), k - 1)
    found, _ = np.linalg.qr(powers)
    scaled: Floats = found[:, 1:] * np.sqrt(k) / np.arange(1, k)
    return scaled


# ---- a pair ----

LEFT_OVER, SPREAD = 0.5, 0.4
"""What counts of what is left over, at most, in half the target's range; its usual deviation within a cell, in that."""


def largest_rest(target_bounds: Span) -> float:
    """What is left over of a record, at most."""
    return LEFT_OVER * (target_bounds[1] - target_bounds[0]) / 2.0


def nearest(values: Floats, knots: Floats) -> Integers:
    """The number of the knot that each value is nearest to: comparisons alone."""
    return np.searchsorted((knots[1:] + knots[:-1]) / 2.0, values, side="right")


def pair_spec(size: int, pure: bool, target_bounds: Span) -> HatMoments:
    """A row of so many cells, for what is left over."""
    far = largest_rest(target_bounds)
    return HatMoments(((0.0,), (size - 1.0,)), None, pure, (-far, far), (tuple(map(float, range(size))),))


def best_pair(
    codes: Integers, sizes: Sequence[int], left: Floats, far: float, *, epsilon: Fraction, moves: int
) -> tuple[int, int]:
    """The two columns whose cells show most of what is left over, chosen ε-privately.

    `codes` are the cells of each record in each column, (n, columns), and `moves` how many records come or go at most.
    """
    t = (2 * steps(left, -far, far, TARGET_PARTS) - TARGET_PARTS).astype(float)
    pairs, scores = list(combinations(range(len(sizes)), 2)), []
    for i, j in pairs:
        sums = np.bincount(codes[:, i] * sizes[j] + codes[:, j], t, sizes[i] * sizes[j])  # of whole numbers: exact
        scores.append(int(np.abs(sums).sum()))
    return pairs[noisy_best(scores, epsilon, sensitivity=TARGET_PARTS * moves)]


def effects(release: MomentRelease) -> Floats:
    """The mean of what is left over in each cell, shrunk by the share of its variance that is noise.

    Over all records it is zero, as the intercept is the target's mean: what is left over is not, once it is clipped.
    """
    spec = release.spec
    assert isinstance(spec, HatMoments)
    far, noise = spec.target_bounds[1], release.errors[1]
    low, high = release.rows[1].reshape(-1, 2)[: spec.sizes[0]].T
    records = np.maximum(low + high, noise)
    means = far * (high - low) / records
    variances = 2.0 * (far * noise / records) ** 2 + (SPREAD * far) ** 2 / records
    precision = 1.0 / variances**2
    signal = max(float(precision @ (means**2 - variances)) / float(precision.sum()), 0.0)
    found: Floats = np.clip(means * signal / (signal + variances), -far, far)
    return found - records @ found / records.sum()
