"""Linear regression, from moments or from one sketch of signs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from scumble.errors import DataError, PrivacyError, parameter
from scumble.kernels import ColumnKernel, FoldedKernel, Kernel
from scumble.learn.base import PrivateEstimator, require_kernel
from scumble.learn.by_moments import LearnsFromMoments, laplace_is_quieter, names, release_moments, spans
from scumble.learn.erm import minimize
from scumble.learn.least_squares import ratio
from scumble.learn.levels import RIDGE, Levels, least_squares, target_of
from scumble.learn.linear_moments import ANCHORS, linear_model
from scumble.learn.moments import kappa, require_folded, second_moments
from scumble.learn.targets import Regresses, public_target_bounds, require_target
from scumble.moments.products import LinearMoments, anchored
from scumble.moments.release import MomentRelease
from scumble.privacy.account import Account
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.release import Release
from scumble.schema import Described
from scumble.sketch import Sketch, release_disjoint
from scumble.tabular.release import TableRelease

METHODS = ("auto", "moments", "closed", "surrogate")
MEAN_KERNEL, MEAN_SHARE = ColumnKernel(1.0 / 16.0, origin=0.0), Fraction(1, 5)
ANCHOR = (0.15, 0.5)
"""a² over the number of columns, with δ > 0 and with δ = 0."""
CAUTION = (2.0, 10.0)
"""λ/(s √q), with δ > 0 and with δ = 0, where the model should stay near the mean."""
DOUBT = 0.5
"""How much of what noise would show on average is subtracted from the products of columns and target."""
GAUSSIAN_ROWS, WIDE_ROWS, LAPLACE_ROWS = 20_000, 10_000, 240
"""Gaussian noise allows any number of rows, so hashing can be made as accurate as time allows (fewer for tables of
more than 40 columns); Laplace noise does not."""
LARGEST = 1.5
"""The longest θ, in units of the bounds, that the surrogate's lift has room for."""


class PrivateLinearRegression(LearnsFromMoments, Regresses, PrivateEstimator):
    """Linear regression in closed form: from moments, or from the folded sketch.

    **Idea.** Columns and target are scaled to [−1, 1] by their public bounds.

    ``method="moments"``
        the normal equations themselves are released, as whole numbers with exact noise: Σ zzᵀ with z = [x, a, ay]/w,
        w making each record equally long (:mod:`scumble.moments.products`). Ridge regression solves them, with a
        penalty that follows from the noise, which is known; where noise is all there is, the answer is the mean of the
        target (:mod:`scumble.learn.least_squares`).
    ``method="auto"``
        takes moments or, where they foretell a smaller error, the sketch below: for tables of very many columns with
        δ = 0. `kernel`, `rows` or `buckets` ask for the sketch.

    **The sketch.** The record z = [x, 1, y] goes to the
    unit sphere by a factor that depends on x alone and a lift, z̃ = [x, a, ay, a√(1 − y²), 0]/√(|x|² + 2a²), with a²
    a fixed part of the number of columns, lest the target drown among them. One sketch of signs
    (:class:`~scumble.kernels.FoldedKernel`: z̃ and −z̃ are one) of z̃ is released. Then

    ``method="closed"``
        Σ z̃z̃ᵀ is estimated from the signs (:mod:`scumble.learn.moments`); its blocks are the normal equations of
        least squares with weights 1/(|x|² + 2a²), and ridge regression solves them. The penalty is λ = 2 s √q, with q
        columns and s the standard error of an entry: the largest eigenvalue that noise alone would show, the least
        penalty that is safe. It costs nothing, as s is read from the release.
    ``method="surrogate"``
        the paper's method: ask the sketch at θ̃ = c[θ, −1/a, 0, rest]. The answer, Σ (1 − τ)ᵐ + τᵐ with τ =
        acos(c·residual)/π, is convex in the residual and least where it is zero; a search that tolerates noise finds
        the best θ. It reads one counter per row where the closed form uses them all: it needs many rows and does worse.

    With δ > 0 rows are free and their number is large. With δ = 0 noise grows with the rows: there are few, and
    unless there are very many records the answer is pulled to the mean of the target, for which a fifth of ε then buys
    a separate histogram, `release_of_target_`.

    From the release of a table, ``from_release(release, target="hours")`` is least squares in the levels of all other
    columns (:mod:`scumble.learn.levels`): `coef_` has one weight for each, and records are tables with these columns.

    The parameters that are not listed are those of :class:`~scumble.learn.base.PrivateEstimator`. `bounds` are always
    needed.

    Parameters
    ----------
    target_bounds : tuple of float or None
        (low, high) of the target, public; targets outside are clipped. `public=("target_bounds",)` declares that the
        data's own are public.
    method : {"auto", "moments", "closed", "surrogate"}
        What to release, and how to solve.
    kernel : Kernel or None
        A FoldedKernel; None takes four hyperplanes per row.

    Attributes
    ----------
    coef_, intercept_ : numpy.ndarray or float
        The model, in the columns' own units.
    penalty_ : float
        λ, in records.
    release_ : Release
        The release of z̃, not of the columns themselves; or a MomentRelease.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (4000, 2))
    >>> y = 3 * X[:, 0] - X[:, 1] + rng.normal(0, 1, 4000)
    >>> model = PrivateLinearRegression(delta=1e-6, bounds=(0, 10), target_bounds=(-15, 35), rows=2000).fit(X, y)
    >>> r2 = model.score(X, y)                      # 0.98 or so: the noise is fresh each time
    >>> answers = model.predict(X)                  # within the bounds of the target, always
    >>> bool(np.all((answers >= -15) & (answers <= 35))), model.privacy_.delta
    (True, 1e-06)
    """

    _learnt = ("coef_", "intercept_", "penalty_", "target_bounds_", "release_of_target_", "target_")
    _always_needs_bounds = True
    _moments = LinearMoments
    coef_: np.ndarray
    penalty_: float
    intercept_: float
    target_bounds_: tuple[float, float]
    release_of_target_: Release | None

    def __init__(
        self,
        *,
        target_bounds: tuple[float, float] | None = None,
        method: str = "auto",
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
        self.method = method

    def fit(
        self, X: Any, y: Any, *, ledger: Any = None, dataset: str | None = None, part: str | None = None
    ) -> PrivateLinearRegression:
        """Release moments or a sketch, then solve for the model. `ledger`, `dataset`, `part`: where to charge."""
        self._check_method()
        require_target(self, y)
        account = Account.of(ledger, dataset, part)
        X, y = self._begin(X, y, numeric=True)
        self.target_bounds_ = public_target_bounds(self, y)
        low, high = self.target_bounds_
        self.clipped_ += int(((y < low) | (y > high)).sum())
        self.curator.look_at_target(y, self.target_bounds_)
        self.release_of_target_ = None
        if self._by_moments(X):
            self.release_ = release_moments(self, self._spec(), X, y, account)
        else:
            self._release_signs(X, np.clip(y, low, high), account)
        self._learn()
        return self

    def _by_moments(self, X: np.ndarray) -> bool:
        """Whether moments are asked for, or foretell the smaller error: by public facts alone."""
        if self.method != "auto":
            return self.method == "moments"
        if not (self.kernel is None and self.rows is None and self.buckets is None):
            return False
        spec, q = self._spec(), self._width + 2
        made = self.price().calibrate(spec.rows, spec.shares, spec.reach)
        noise = np.sqrt(made.law.variance(made.row_scales[-1])) / spec.step
        # A vector of length 1 in L1 has a square of 1/q or more, on which the signs' errors are measured.
        return bool(noise * (q / 2.0 if spec.pure else 1.0) < self._error_of_signs(self._public_count(X)))

    def _spec(self) -> LinearMoments:
        d = self._width
        pure = laplace_is_quieter(self.price(), 0.75 * (d + 2))
        anchor = anchored(d, ANCHORS[pure])
        return LinearMoments(spans(self.bounds_), names(self), pure, anchor, self.target_bounds_)

    def _error_of_signs(self, records: int) -> float:
        """The standard error of a product of columns that the sketch of signs has among so many records."""
        q, m = self._width + 4, FoldedKernel(projections=4).projections
        rows, pairs = self._rows(), m * (m - 1) / 2
        noise = 2.0 ** (m - 1) * self.price().calibrate(rows).counter_variance
        size = q * kappa(q) ** 2  # 2/π, nearly
        return float(np.sqrt((noise + (records / 2.0) ** 2) / (2.0 * rows * pairs)) / size)

    def _rows(self) -> int:
        many = GAUSSIAN_ROWS if self._width <= 40 else WIDE_ROWS
        return self.rows or (LAPLACE_ROWS if self.price().pure else many)

    def _release_signs(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        """Release the sketch of signs, and with pure noise a histogram of the target."""
        low, high = self.target_bounds_
        kernel = self._kernel()
        require_kernel(kernel, (FoldedKernel,), "Regression")
        share = MEAN_SHARE if self.price().pure else Fraction(0)
        budget, mean_budget = self.price().share(1 - share, 1), self.price().share(share)
        rows = self._rows()
        sketch = Sketch(
            kernel,
            self._width + 4,
            rows=rows,
            buckets=self.buckets or kernel.radix,
            seed=self._seed(),
            design="orthogonal",
        )
        require_folded(sketch.spec)
        sketch.update(self._lifted(X, y))  # what it refuses costs nothing
        claims = [*([mean_budget.claim(1)] if share else []), budget.claim(rows)]
        paid = self._pay(claims, account, counters=rows * sketch.buckets + MEAN_KERNEL.radix)
        if share:
            histogram = Sketch(MEAN_KERNEL, 1, rows=1, buckets=MEAN_KERNEL.radix, seed=self._seed(), design="iid")
            histogram.update((y[:, None] - low) / (high - low))
            (self.release_of_target_,) = release_disjoint([histogram], mean_budget, paid)
        (self.release_,) = release_disjoint([sketch], budget, paid)

    def _check_method(self) -> None:
        if self.method not in METHODS:
            raise parameter("method", f"one of {', '.join(METHODS)}", self.method)

    def _default_kernel(self) -> Kernel:
        return FoldedKernel(projections=4)

    def _lifted(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """z̃, (n, columns + 4): a public function of each record, of length 1."""
        low, high = self.bounds_
        x = 2.0 * (X - low) / (high - low) - 1.0
        t = 2.0 * (y - self.target_bounds_[0]) / (self.target_bounds_[1] - self.target_bounds_[0]) - 1.0
        a = self._anchor()
        z = np.column_stack([x, np.full_like(t, a), a * t, a * np.sqrt(np.maximum(1.0 - t * t, 0.0)), np.zeros_like(t)])
        return z / np.sqrt(np.sum(x * x, axis=1) + 2.0 * a * a)[:, None]

    def _anchor(self) -> float:
        """a, the length of the constant beside the columns: among many of them 1 would drown."""
        return float(np.sqrt(max(ANCHOR[self.price().pure] * self._width, 1.0)))

    def _learn(self) -> None:
        if isinstance(self.release_, MomentRelease):
            theta, self.penalty_ = linear_model(self.release_)
            self._in_units(theta)
            return
        moments, error = second_moments(self.release_)
        q = self._width
        self.penalty_ = CAUTION[self.price().pure] * error * np.sqrt(q)
        unit = np.append(np.ones(q), np.full(2, 1.0 / self._anchor()))
        moments = moments[: q + 2, : q + 2] * np.outer(unit, unit)
        errors = (error * unit[q], error * unit[q] ** 2)
        theta = _ridge(moments, self.penalty_, errors, self._mean_of_target())
        if self.method == "surrogate":
            theta = self._searched(theta)
        self._in_units(theta)

    def _mean_of_target(self) -> float | None:
        """In [−1, 1], from the histogram of the target: the middles of its steps, weighted by their noisy counts."""
        release = self.release_of_target_
        if release is None:
            return None
        _, steps, offset, _, _ = release.spec.layout.hasher.parameters[0][0, 0]
        places = np.clip((np.arange(release.buckets) + 0.5 - offset) / steps, 0.0, 1.0)
        # The noise's own mean, 0, must not be multiplied by the distance from the edge: count from the middle.
        weights = 2.0 * places - 1.0
        noise = np.sqrt(2.0) * (release.privacy.scale or 0.0) * np.linalg.norm(weights)
        return ratio(float(release.counts[0] @ weights), release.count, float(noise))

    def _searched(self, start: np.ndarray) -> np.ndarray:
        """The surrogate's least answer, from the closed form on, with the same penalty in the surrogate's own units."""
        c = 1.0 / np.sqrt(1.0 + LARGEST**2)

        def query(models: np.ndarray) -> np.ndarray:
            models = models * np.minimum(1.0, LARGEST / np.linalg.norm(models, axis=1, keepdims=True).clip(1e-12))
            inner = np.column_stack([models, np.full(len(models), -1.0), np.zeros(len(models))]) * c
            inner[:, -3:] /= self._anchor()
            return np.column_stack([inner, np.sqrt(np.maximum(1.0 - np.sum(inner**2, axis=1), 0.0))])

        # Near t = 0 the kernel rises as m(m−1) 2^(2−m) (t/π)²: what a square of the residual weighs in the answer.
        m = self.release_.kernel.projections
        curvature = m * (m - 1) * 2.0 ** (2 - m) * (c / np.pi) ** 2
        return minimize(
            self.release_,
            query,
            start,
            penalty=lambda models: curvature * self.penalty_ * np.sum(models[:, :-1] ** 2, axis=1),
            spread=0.1,
            rounds=40,
        )

    def _in_units(self, theta: np.ndarray) -> None:
        low, high = self.bounds_
        bottom, top = self.target_bounds_
        half = (top - bottom) / 2.0
        slope = 2.0 * theta[:-1] / (high - low)
        self.coef_ = half * slope
        self.intercept_ = float(bottom + half * (1.0 + theta[-1] - np.sum(slope * low) - np.sum(theta[:-1])))

    def _claim(self) -> PrivacyClaim:
        parts = [part for part in (self.release_of_target_, self.release_) if part is not None]
        return overlapping(part.privacy for part in parts)

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        self.target_ = target_of(release, target, type(self).__name__, ("number",))
        self.coef_, self.intercept_, self.target_bounds_ = least_squares(Levels(release, self.target_))
        self.penalty_ = RIDGE * max(release._answers.total.value, 1.0)
        self.release_of_target_, self.release_ = None, release

    def predict(self, X: object) -> np.ndarray:
        """The model's values, within the public bounds of the target."""
        X = self._read(X, clip=True)
        if self._levels() is not None:  # of a table: X has the places of the levels
            return np.clip(self.coef_[X].sum(axis=1) + self.intercept_, *self.target_bounds_)
        return np.clip(X @ self.coef_ + self.intercept_, *self.target_bounds_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on a few hundred records: noise is not meant for those
        return tags

    def _take_moments(self, release: MomentRelease) -> None:
        super()._take_moments(release)
        assert isinstance(release.spec, LinearMoments)
        self.target_bounds_, self.release_of_target_ = release.spec.target_bounds, None

    def _take(self, release: Release) -> None:
        self._check_method()
        require_kernel(release.kernel, (FoldedKernel,), "Regression")
        if release.dimensions < 5:
            raise DataError("This release has too few columns for a regression: it needs four more than the table had.")
        if self.bounds is None and self.schema is None:
            raise PrivacyError("Pass the `bounds` and `target_bounds` that the release was made with; it holds none.")
        self.release_of_target_ = None
        self._take_columns(release.dimensions - 4, None, self.bounds)
        self.target_bounds_ = public_target_bounds(self, None)


def _ridge(moments: np.ndarray, penalty: float, errors: tuple[float, float], mean: float | None = None) -> np.ndarray:
    """θ and intercept from the (weighted) moments of [x, 1, y]; the intercept is not penalised.

    `errors` are those of an entry of x with y, and of 1 with y or 1. Columns are centred first, so an infinite penalty
    gives the mean of the target; and where noise is all there is, nothing is learnt from it: the
    products of x and y shrink by what noise alone would show (James & Stein 1961), and the mean to the middle.
    """
    q = len(moments) - 2
    total = moments[q, q]
    means = np.array([ratio(moments[j, q], total, errors[1]) for j in [*range(q), q + 1]])
    if mean is not None:
        means[q] = mean
    total = max(total, 4.0 * errors[1])
    covariance = moments[:q, :q] - total * np.outer(means[:q], means[:q])
    cross = moments[:q, q + 1] - total * means[:q] * means[q]
    cross *= max(0.0, 1.0 - DOUBT * q * errors[0] ** 2 / max(float(cross @ cross), 1e-300))
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    slopes = vectors @ ((vectors.T @ cross) / (np.maximum(values, 0.0) + penalty))
    return np.append(slopes, means[q] - means[:q] @ slopes)
