"""Additive regression from cross-tables of hat functions: a curve for each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from scumble.checks import whole
from scumble.errors import parameter
from scumble.kernels import Kernel
from scumble.learn import knots, pairs
from scumble.learn.additive_moments import additive_errors, additive_model
from scumble.learn.base import PrivateEstimator, check_is_fitted
from scumble.learn.by_moments import LearnsFromMoments, laplace_is_quieter, names, require_ready, spans
from scumble.learn.columnwise import column_sketch
from scumble.learn.targets import Regresses, public_target_bounds, require_target
from scumble.moments.hats import MOST_ENOUGH, MOST_KNOTS, PARTS, HatMoments, enough_knots, most_knots
from scumble.moments.release import MomentRelease
from scumble.moments.sketch import MomentSketch, publish
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.parts import in_parts
from scumble.releasing.selection import claim_of_choice
from scumble.releasing.spending import Prepaid
from scumble.schema import Described
from scumble.tabular.publishing import price
from scumble.tabular.publishing import publish as publish_table
from scumble.tabular.release import TableRelease


class PrivateAdditiveRegressor(LearnsFromMoments, Regresses, PrivateEstimator):
    """Regression by a sum of curves, one per column, that can be looked at.

    **Idea.** Each column has a few knots; curves are straight between them. A sixteenth of the budget pays for
    histograms of the columns, by which the knots are put where the records are (:mod:`scumble.learn.knots`). What is
    released then are the sums of products of the columns' hat functions with each other and with the target
    (:mod:`scumble.moments.hats`): a cross-table for each pair of columns, in which a record is shared out between
    neighbouring knots. These are the normal equations of least squares for all curves at once. They are solved with a
    preference for smooth curves and a penalty that follows from the noise, which is known
    (:mod:`scumble.learn.additive_moments`). Where there is more noise than signal, the answer is the mean.

    **A pair.** What no sum of curves can say may still be said of two columns together. From ε = 0.1 on, a twentieth of
    the budget chooses a pair, and three twentieths pay for a table of what the curves leave over there:
    :mod:`scumble.learn.pairs`.

    Curves beat straight lines wherever the target is not linear in the columns, at a price: there are about d²/2
    cross-tables for d columns. With few records, many columns or a small ε take
    :class:`~scumble.learn.PrivateLinearRegression`.

    The parameters that are not listed are those of :class:`~scumble.learn.base.PrivateEstimator`. `bounds` are always
    needed. Moments have no hash functions: `kernel`, `rows`, `buckets` and `random_state` are not used.

    Parameters
    ----------
    target_bounds : tuple of float or None
        (low, high) of the target, public; targets outside are clipped. `public=("target_bounds",)` declares that the
        data's own are public.
    knots : int or None
        How many a column has at most. None: as many as the noise bears.
    pair : bool or None
        Whether a pair of columns has a table, beside the curves. None: from ε = 0.1 on, with up to 64 columns.

    Attributes
    ----------
    knots_ : list of numpy.ndarray
        Where each column's knots are, in its own units.
    shapes_ : list of numpy.ndarray
        Each column's curve at its knots, in units of the target; its mean over the records is zero.
    shape_errors_ : list of numpy.ndarray
        The standard error that the noise makes in them.
    intercept_ : float
        The mean of the target.
    release_ : MomentRelease
        The cross-tables.
    pair_ : MomentRelease or None
        What the curves leave over in the cells of a pair of columns.
    pair_columns_, pair_knots_, pair_effects_ : tuple of int, tuple of numpy.ndarray, numpy.ndarray
        Which pair, by their places; the knots whose nearest records are a cell; what each cell adds. None without.
    columns_ : TableRelease or None
        The histograms by which the knots were put; None if the model was made from a release of cross-tables.
    privacy_ : PrivacyClaim
        The claim of all together.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = np.abs(X[:, 0] - 5) + X[:, 1]
    >>> model = PrivateAdditiveRegressor(epsilon=5.0, bounds=(0, 10), target_bounds=(0, 15)).fit(X, y)
    >>> r2 = model.score(X, y)                      # 0.95 or so: the noise is fresh each time
    >>> len(model.shapes_[0]) == len(model.knots_[0]), round(model.privacy_.epsilon, 9)
    (True, 5.0)
    """

    _learnt = (
        "knots_",
        "shapes_",
        "intercept_",
        "target_bounds_",
        "columns_",
        "pair_",
        "pair_columns_",
        "pair_knots_",
        "pair_effects_",
    )
    _made_again = ("_errors",)
    _always_needs_bounds = True
    _moments = HatMoments
    knots_: list[np.ndarray]
    shapes_: list[np.ndarray]
    columns_: TableRelease | None = None
    pair_: MomentRelease | None = None
    pair_columns_: tuple[int, int] | None = None
    pair_knots_: tuple[np.ndarray, np.ndarray] | None = None
    pair_effects_: np.ndarray | None = None
    intercept_: float
    target_bounds_: tuple[float, float]
    release_: MomentRelease  # type: ignore[assignment]

    def __init__(
        self,
        *,
        target_bounds: tuple[float, float] | None = None,
        knots: int | None = None,
        pair: bool | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        rho: float | None = None,
        mu: float | None = None,
        neighbors: str = "add-remove",
        kernel: Kernel | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        bounds: Any = None,
        schema: Described | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        public: Sequence[str] = (),
        records_per_person: int = 1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            mu=mu,
            neighbors=neighbors,
            kernel=kernel,
            rows=rows,
            buckets=buckets,
            bounds=bounds,
            schema=schema,
            categories=categories,
            public=public,
            records_per_person=records_per_person,
            random_state=random_state,
        )
        self.target_bounds = target_bounds
        self.knots = knots
        self.pair = pair

    def fit(
        self, X: Any, y: Any, *, ledger: Any = None, dataset: str | None = None, part: str | None = None
    ) -> PrivateAdditiveRegressor:
        """Release histograms and cross-tables, then find the curves. `ledger`, `dataset`, `part`: where to charge."""
        require_target(self, y)
        account = Account.of(ledger, dataset, part)
        X, y = self._begin(X, y, numeric=True)
        self.target_bounds_ = public_target_bounds(self, y)
        low, high = self.target_bounds_
        self.clipped_ += int(((y < low) | (y > high)).sum())
        self.curator.look_at_target(y, self.target_bounds_)
        self.pair_ = self.pair_columns_ = self.pair_knots_ = self.pair_effects_ = None
        self._release_all(X, y, account)
        return self

    def _release_all(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        """Histograms of the columns; with the knots that follow from them, the cross-tables; then a pair, if any."""
        assert self.bounds_ is not None
        spec, cells = self._spec(), column_sketch(knots.cells_of(self.bounds_, self._sizes()))
        most = None if self.knots is None else whole("knots", self.knots, 2, most=MOST_KNOTS)
        table = pairs.table_spec(pairs.KNOTS**2, spec.pure, self.target_bounds_)
        shares = [knots.SHARE, 1 - knots.SHARE]
        if self._pairs():
            left = 1 - pairs.CHOICE_SHARE - pairs.TABLE_SHARE
            shares = [left * share for share in shares] + [pairs.CHOICE_SHARE, pairs.TABLE_SHARE]

        def claims(budgets: Sequence[Budget]) -> list[PrivacyClaim]:
            placing, learning, *more = budgets
            found = [price(cells.spec, placing), learning.claim(spec.rows, spec.shares, spec.reach)]
            if more:
                found += [self._choice_claim(more[0]), more[1].claim(table.rows, table.shares, table.reach)]
            return found

        if spec.pure:  # such noise needs no δ
            budgets = [self.price().share(share, 0) for share in shares]
        else:
            budgets = in_parts(self.price(), shares, claims)
        largest = replace(spec, knots=most or min(MOST_ENOUGH, most_knots(spec.dimensions)))
        require_ready(self, largest)
        counters = cells.spec.counters[0] + largest.counters[0] + table.counters[0]
        cells.update(knots.places(X, self.bounds_))
        paid = self._pay(claims(budgets), account, counters=counters)
        self.columns_ = publish_table(cells.secret, cells.spec, budgets[0], paid)
        assert isinstance(largest.knots, int)
        most = most or min(largest.knots, self._enough(spec, budgets[1], knots.records(self.columns_)))
        spec = replace(spec, knots=knots.placed(self.columns_, self.bounds_, most))
        self.release_ = publish(MomentSketch(spec).update(X, y), budgets[1], paid)
        # Where its knots are tells of the histograms: whoever has the one release has what both of them cost.
        self.release_.privacy = overlapping([self.columns_.privacy, self.release_.privacy])
        self._learn()
        if self._pairs():
            self._release_pair(X, y, budgets[2:], paid)

    def _pairs(self) -> bool:
        """Whether there will be a pair: decided by public facts alone."""
        if self.pair not in (None, True, False):
            raise parameter("pair", "True, False or None", self.pair)
        if self._width < 2 or self.pair is False:
            return False
        return self.pair is True or pairs.pays(self._width, Fraction(self.price().claim(1).epsilon))

    def _choice_claim(self, budget: Budget) -> PrivacyClaim:
        return claim_of_choice(pairs.choice_epsilon(budget), self.neighbors, self.records_per_person)

    def _release_pair(self, X: np.ndarray, y: np.ndarray, budgets: Sequence[Budget], paid: Prepaid) -> None:
        """The pair that shows most of what the curves leave over, and a table of that."""
        assert self.columns_ is not None and self.bounds_ is not None
        choosing, learning = budgets
        places = [np.array(one) for one in knots.placed(self.columns_, self.bounds_, pairs.KNOTS)]
        codes = np.column_stack([pairs.cells(X[:, j], one) for j, one in enumerate(places)])
        left, sizes, far = y - self._curves(X), list(map(len, places)), pairs.reach(self.target_bounds_)
        claim = self._choice_claim(choosing)
        paid.charge(claim)
        moves = self.records_per_person * (2 if self.neighbors == "replace" else 1)
        told: dict[str, Any] = {"epsilon": Fraction(claim.epsilon), "moves": moves}  # what is claimed, to the last bit
        i, j = pairs.best_pair(codes, sizes, left, far, **told)
        spec = pairs.table_spec(sizes[i] * sizes[j], self._spec().pure, self.target_bounds_)
        cell = (codes[:, i] * sizes[j] + codes[:, j]).astype(float)[:, None]
        self.pair_ = publish(MomentSketch(spec).update(cell, left), learning, paid)
        self.pair_.privacy = overlapping([self.release_.privacy, claim, self.pair_.privacy])
        self.pair_columns_, self.pair_knots_ = (i, j), (places[i], places[j])
        self.pair_effects_ = pairs.effects(self.pair_).reshape(sizes[i], sizes[j])

    def _curves(self, X: np.ndarray) -> np.ndarray:
        """What the curves predict, to the last bit a function of each record alone: number by number, in one order."""
        spec = self.release_.spec
        assert isinstance(spec, HatMoments)
        hats, found = spec.hats(X), np.full(len(X), self.intercept_)
        for part, shape in zip(spec.parts, self.shapes_, strict=True):
            for k, height in zip(range(part.start, part.stop), shape, strict=True):
                found += hats[:, k] * (height / PARTS)
        return np.clip(found, *self.target_bounds_)

    def _indicators(self) -> bool:
        return False  # each column has a curve, and a category's levels are its knots, or lie between them

    def _sizes(self) -> list[int | None]:
        """How many levels each column has; None of a number."""
        coded = self._coding()
        return [None] * self._width if coded is None else coded.sizes

    def _spec(self) -> HatMoments:
        """What is summed up, but for the knots: decided by public facts alone."""
        d = self._width
        rows = d * (d + 1) // 2 + 1
        pure = laplace_is_quieter(self.price(), rows / np.sqrt(rows))
        return HatMoments(spans(self.bounds_), names(self), pure, self.target_bounds_, 2)

    def _enough(self, spec: HatMoments, budget: Budget, records: float) -> int:
        """How many knots the noise bears."""
        calibration = budget.calibrate(spec.rows, spec.shares, spec.reach)
        deviation = np.sqrt(calibration.law.variance(calibration.row_scales[-1])) / spec.step
        return enough_knots(deviation / records)

    def _learn(self) -> None:
        spec = self.release_.spec
        assert isinstance(spec, HatMoments)
        bottom, top = self.target_bounds_ = spec.target_bounds
        half = (top - bottom) / 2.0
        found = additive_model(self.release_)
        self.__dict__.pop("_errors", None)
        self.knots_ = list(spec.places)
        self.shapes_ = [half * found.shapes[part] for part in spec.parts]
        self.intercept_ = float(bottom + half * (1.0 + found.mean))

    def _claim(self) -> PrivacyClaim:
        return self.release_.privacy if self.pair_ is None else self.pair_.privacy

    @property
    def shape_errors_(self) -> list[np.ndarray]:
        """The standard error that the noise makes in `shapes_`; found when it is first asked for."""
        check_is_fitted(self)
        spec = self.release_.spec
        assert isinstance(spec, HatMoments)
        if "_errors" not in vars(self):  # whoever shows a model asks several times
            bottom, top = self.target_bounds_
            self._errors = (top - bottom) / 2.0 * additive_errors(self.release_)
        return [self._errors[part] for part in spec.parts]

    def predict(self, X: object) -> np.ndarray:
        """The model's values, within the public bounds of the target."""
        return np.clip(self.contributions(X).sum(axis=1) + self.intercept_, *self.target_bounds_)

    def contributions(self, X: object) -> np.ndarray:
        """(n, columns): what each column adds to the prediction, beside the intercept; of a pair, half each."""
        X = self._read(X, clip=True)
        spec = self.release_.spec
        assert isinstance(spec, HatMoments)
        hats = spec.hats(X) / PARTS
        # Column by column: a record's number must not depend on who else is asked about.
        each = zip(spec.parts, self.shapes_, strict=True)
        found = np.stack([np.einsum("nk,k->n", hats[:, part], shape) for part, shape in each], axis=1)
        if self.pair_columns_ is not None and self.pair_knots_ is not None and self.pair_effects_ is not None:
            added = pairs.Pair(self.pair_columns_, self.pair_knots_, self.pair_effects_)(X)
            found[:, list(self.pair_columns_)] += added[:, None] / 2.0
        return found

    def _take_moments(self, release: MomentRelease) -> None:
        super()._take_moments(release)
        assert isinstance(release.spec, HatMoments)
        self.target_bounds_ = release.spec.target_bounds

    def plot(self, **options: Any) -> Any:
        """The curves with bands of two standard errors of the noise, a matplotlib Figure. Option: `title`.

        With the options `ranges`, `at` or `units`, predictions over one or two columns, as for other estimators.
        """
        from scumble.show import shapes

        check_is_fitted(self)
        return super().plot(**options) if set(options) - {"title"} else shapes.draw(self, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on a few hundred records: noise is not meant for those
        return tags
