"""Linear regression, from moments or from one sketch of signs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from scumble.density.release import Release
from scumble.density.sketch import Sketch, release_disjoint
from scumble.errors import DataError, ParameterError, PrivacyError, parameter
from scumble.kernels import ColumnKernel, FoldedKernel, Kernel
from scumble.learn.base import estimator, require_kernel
from scumble.learn.levels import RIDGE, Levels, least_squares, target_of
from scumble.learn.moment_products import ONCE, TWICE, LinearMoments, UnitLinearMoments, anchored
from scumble.learn.moment_release import MomentRelease, mean_of_target, ratio, solved
from scumble.learn.moment_spec import Floats, MomentSpec, pointing
from scumble.learn.signs import kappa, minimize, require_folded, second_moments
from scumble.learn.supervised import LearnsFromMoments, Regressor, TakesVectors, laplace_is_quieter
from scumble.privacy.account import Account
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.table.release import TableRelease

METHODS = ("auto", "moments", "closed", "surrogate")
MEAN_KERNEL, MEAN_SHARE = ColumnKernel(1.0 / 16.0, origin=0.0), Fraction(1, 5)
ANCHORS = {True: 0.5, False: 0.15}
"""a² over the number of columns, for pure noise and for Gaussian noise."""
UNIT_COLUMNS = 3
"""Columns that are even within their bounds have a mean square of a third: so many are as long as a unit vector."""
CAUTION = 1.5
"""λ/(s √q) of moments."""
SIGNS_CAUTION = {True: 10.0, False: 2.0}
"""The same of signs, for pure noise, where the model should stay near the mean, and for Gaussian noise."""
UNKNOWN = 8.0
"""Deviations of its noise below which a weighted number of records says nothing."""
GAUSSIAN_ROWS, WIDE_ROWS, LAPLACE_ROWS = 20_000, 10_000, 240
"""Gaussian noise allows any number of rows, so hashing can be made as accurate as time allows (fewer for tables of
more than 40 columns); Laplace noise does not."""
LARGEST = 1.5
"""The longest θ, in units of the bounds, that the surrogate's lift has room for."""


@estimator
class PrivateLinearRegression(LearnsFromMoments, TakesVectors, Regressor):
    """Linear regression in closed form: from moments, or from the folded sketch.

    Columns and target are scaled to [−1, 1] by their public bounds.

    ``method="moments"``
        the normal equations themselves are released, as whole numbers with exact noise: Σ zzᵀ with z = [x, a, ay]/w,
        w making each record equally long (:mod:`scumble.learn.moment_products`). Ridge regression solves them, with a
        penalty that follows from the noise, which is known; where noise is all there is, the answer is the mean of the
        target (:mod:`scumble.learn.by_moments`).
    ``method="auto"``
        takes moments or, where they predict a smaller error, the sketch below: for tables of very many columns with
        δ = 0. `kernel`, `rows` or `buckets` ask for the sketch.

    **The sketch.** The record z = [x, 1, y] goes to the unit sphere by a factor that depends on x alone and a lift,
    z̃ = [x, a, ay, a√(1 − y²), 0]/√(|x|² + 2a²), with a² a fixed part of the number of columns. One sketch of signs
    (:class:`~scumble.kernels.FoldedKernel`: z̃ and −z̃ are one) of z̃ is released. Then

    ``method="closed"``
        Σ z̃z̃ᵀ is estimated from the signs (:mod:`scumble.learn.signs`); its blocks are the normal equations of
        least squares with weights 1/(|x|² + 2a²), and ridge regression solves them, with the penalty λ = 2 s √q for q
        columns and the standard error s of an entry.
    ``method="surrogate"``
        the paper's method: ask the sketch at θ̃ = c[θ, −1/a, 0, rest]. The answer, Σ (1 − τ)ᵐ + τᵐ with τ =
        acos(c·residual)/π, is convex in the residual and least where it is zero; a search that tolerates noise finds
        the best θ. It is less accurate than the closed form.

    With δ = 0 noise grows with the rows of the sketch: there are few, and a fifth of ε buys a separate histogram of the
    target, `release_of_target_`.

    From the release of a table, ``from_release(release, target="hours")`` is least squares in the levels of all other
    columns (:mod:`scumble.learn.levels`): `coef_` has one weight for each, and records are tables with these columns.

    For the other parameters, see :class:`~scumble.learn.base.PrivateEstimator` and
    :class:`~scumble.learn.supervised.Regressor`. `bounds` are always needed.

    Parameters
    ----------
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

    method: str = "auto"

    _learnt = ("coef_", "intercept_", "penalty_", "target_bounds_", "release_of_target_", "target_")
    _always_needs_bounds = True
    _moments = LinearMoments

    # ---- fitting ----

    def _check(self) -> None:
        if self.method not in METHODS:
            raise parameter("method", f"one of {', '.join(METHODS)}", self.method)
        super()._check()
        if self.length is not None and not self._may_take_moments():
            raise ParameterError("`length` is for moments. Hint: leave out `method`, `kernel`, `rows` and `buckets`.")

    def _publish(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        self.release_of_target_: Release | None = None
        if self._by_moments(X):
            self.release_ = self._release_moments(self._spec(), X, y, account)
        else:
            self._release_signs(X, np.clip(y, *self.target_bounds_), account)

    def _by_moments(self, X: np.ndarray) -> bool:
        """Whether moments are asked for, or predict the smaller error: by public facts alone."""
        if self.method == "moments" or self.length is not None or not self._may_take_moments():
            return self._may_take_moments()
        spec, q = self._spec(), self._width + 2
        made = self.price().claim(spec.rows, spec.shares, spec.reach)
        noise = np.sqrt(made.law.variance(made.row_scales[-1])) / spec.step
        # A vector of length 1 in L1 has a square of 1/q or more, on which the signs' errors are measured.
        return bool(noise * (q / 2.0 if spec.pure else 1.0) < self._error_of_signs(self._public_count(X)))

    def _may_take_moments(self) -> bool:
        plain = self.kernel is None and self.rows is None and self.buckets is None
        return self.method == "moments" or (self.method == "auto" and plain)

    def _spec(self) -> LinearMoments:
        d = self._width
        pure = laplace_is_quieter(self.price(), 0.75 * (d + 2))
        if self.length is not None:
            anchor = anchored(UNIT_COLUMNS, ANCHORS[pure])
            return UnitLinearMoments(self._spans(), self._columns(), pure, anchor, self.target_bounds_)
        return LinearMoments(self._spans(), self._columns(), pure, anchored(d, ANCHORS[pure]), self.target_bounds_)

    def _error_of_signs(self, records: int) -> float:
        """The standard error of a product of columns that the sketch of signs has among so many records."""
        q, m = self._width + 4, FoldedKernel(projections=4).projections
        rows, pairs = self._rows(), m * (m - 1) / 2
        noise = 2.0 ** (m - 1) * self.price().claim(rows).counter_variance
        size = q * kappa(q) ** 2  # 2/π, nearly
        return float(np.sqrt((noise + (records / 2.0) ** 2) / (2.0 * rows * pairs)) / size)

    def _rows(self) -> int:
        many = GAUSSIAN_ROWS if self._width <= 40 else WIDE_ROWS
        return self.rows or (LAPLACE_ROWS if self.price().pure else many)

    def _release_signs(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        """Release the sketch of signs, and with pure noise a histogram of the target."""
        kernel, rows, seed = self._kernel(), self._rows(), self._seed()
        require_kernel(kernel, (FoldedKernel,), "Regression")
        share = MEAN_SHARE if self.price().pure else Fraction(0)
        budget, mean_budget = self.price().share(1 - share, 1), self.price().share(share)
        buckets = self.buckets or kernel.radix
        sketch = Sketch(kernel, self._width + 4, rows=rows, buckets=buckets, seed=seed, design="orthogonal")
        require_folded(sketch.spec)
        sketch.update(self._lifted(X, y))  # what it refuses costs nothing
        claims = [*([mean_budget.claim(1)] if share else []), budget.claim(rows)]
        paid = self._pay(claims, account, counters=rows * sketch.buckets + MEAN_KERNEL.radix)
        if share:
            low, high = self.target_bounds_
            histogram = Sketch(MEAN_KERNEL, 1, rows=1, buckets=MEAN_KERNEL.radix, seed=seed, design="iid")
            histogram.update((y[:, None] - low) / (high - low))
            (self.release_of_target_,) = release_disjoint([histogram], mean_budget, paid)
        (self.release_,) = release_disjoint([sketch], budget, paid)

    def _default_kernel(self) -> Kernel:
        return FoldedKernel(projections=4)

    def _lifted(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """z̃, (n, columns + 4): a public function of each record, of length 1."""
        (low, high), (bottom, top) = self.bounds_, self.target_bounds_  # type: ignore[misc]
        x = 2.0 * (X - low) / (high - low) - 1.0
        t = 2.0 * (y - bottom) / (top - bottom) - 1.0
        a = self._anchor()
        z = np.column_stack([x, np.full_like(t, a), a * t, a * np.sqrt(np.maximum(1.0 - t * t, 0.0)), np.zeros_like(t)])
        return z / np.sqrt(np.sum(x * x, axis=1) + 2.0 * a * a)[:, None]

    def _anchor(self) -> float:
        """a, the length of the constant column, which must not be lost among many others."""
        return float(np.sqrt(max(ANCHORS[self.price().pure] * self._width, 1.0)))

    # ---- from the release alone ----

    def _learn(self) -> None:
        if isinstance(self.release_, MomentRelease):
            theta, self.penalty_ = linear_model(self.release_)
            self._in_units(theta)
            return
        moments, error = second_moments(self.release_)
        q = self._width
        self.penalty_ = SIGNS_CAUTION[self.price().pure] * error * np.sqrt(q)
        unit = np.append(np.ones(q), np.full(2, 1.0 / self._anchor()))
        moments = moments[: q + 2, : q + 2] * np.outer(unit, unit)
        errors = (error * unit[q], error * unit[q] ** 2)
        theta = plane(moments, self.penalty_, errors, self._mean_of_target())
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
        weight = m * (m - 1) * 2.0 ** (2 - m) * (c / np.pi) ** 2 * self.penalty_

        def penalty(models: np.ndarray) -> np.ndarray:
            return weight * np.sum(models[:, :-1] ** 2, axis=1)

        return minimize(self.release_, query, start, penalty=penalty, spread=0.1, rounds=40)

    def _in_units(self, theta: np.ndarray) -> None:
        bottom, top = self.target_bounds_
        half = (top - bottom) / 2.0
        low, high = map(np.array, self._spans())
        slope = 2.0 * theta[:-1] / (high - low)
        self.coef_ = half * slope
        self.intercept_ = float(bottom + half * (1.0 + theta[-1] - np.sum(slope * low) - np.sum(theta[:-1])))

    def _claim(self) -> PrivacyClaim:
        parts = [part for part in (self.release_of_target_, self.release_) if part is not None]
        return overlapping(part.privacy for part in parts)

    def predict(self, X: object) -> np.ndarray:
        """The model's values, within the public bounds of the target."""
        X = self._read(X, clip=True)
        if self._levels() is not None:  # of a table: X has the places of the levels
            return np.clip(self.coef_[X].sum(axis=1) + self.intercept_, *self.target_bounds_)
        if self.length is not None:
            X = pointing(X, float(self.length))
        return np.clip(X @ self.coef_ + self.intercept_, *self.target_bounds_)

    def _learn_table(self, release: TableRelease, target: str | None) -> None:
        self.target_ = target_of(release, target, type(self).__name__, ("number",))
        self.coef_, self.intercept_, self.target_bounds_ = least_squares(Levels(release, self.target_))
        self.penalty_ = RIDGE * max(release._answers.total.value, 1.0)
        self.release_of_target_, self.release_ = None, release

    def _take_moments(self, spec: MomentSpec) -> None:
        assert isinstance(spec, LinearMoments)
        self.target_bounds_, self.release_of_target_ = spec.target_bounds, None
        if isinstance(spec, UnitLinearMoments):
            self.length, self.bounds_ = spec.length, None

    def _take(self, release: Release) -> None:
        require_kernel(release.kernel, (FoldedKernel,), "Regression")
        if release.dimensions < 5:
            raise DataError("This release has too few columns for a regression: it needs four more than the table had.")
        if self.bounds is None and self.schema is None:
            raise PrivacyError("Pass the `bounds` and `target_bounds` that the release was made with; it holds none.")
        self.release_of_target_ = None
        self._take_columns(release.dimensions - 4, None, self.bounds)
        self.target_bounds_ = self._public_target_bounds(None)


def linear_model(release: MomentRelease) -> tuple[Floats, float]:
    """Slopes, then the intercept, in units of the bounds; and the penalty, in (weighted) records."""
    spec = release.spec
    assert isinstance(spec, LinearMoments)
    q, error = spec.dimensions, release.errors[1]
    unit = np.append(np.ones(q), np.full(2, 1.0 / spec.anchor))
    moments = spec.matrix(release.rows[1]) * np.outer(unit, unit)
    across = error * ONCE[spec.pure] / TWICE[spec.pure]
    penalty = CAUTION * across * np.sqrt(q)
    theta = plane(moments, penalty, (across * unit[q], error * unit[q] ** 2))
    if not theta[:-1].any():
        theta[-1] = mean_of_target(release)
    return theta, penalty


def plane(moments: np.ndarray, penalty: float, errors: tuple[float, float], mean: float | None = None) -> Floats:
    """θ and intercept from the (weighted) moments of [x, 1, y]; the intercept is not penalized.

    `errors` are those of an entry of x with y, and of 1 with y or 1. Columns are centered first, so where noise is all
    there is, the answer is the mean of the target: `mean`, or by the moments.
    """
    q = len(moments) - 2
    total = moments[q, q]
    means = np.array([ratio(moments[j, q], total, errors[1]) for j in [*range(q), q + 1]])
    if mean is not None:
        means[q] = mean
    if total < UNKNOWN * errors[1]:
        return np.append(np.zeros(q), means[q])
    covariance = moments[:q, :q] - total * np.outer(means[:q], means[:q])
    cross = moments[:q, q + 1] - total * means[:q] * means[q]
    slopes = solved(covariance, cross, penalty, np.full(q, errors[0] ** 2))
    return np.append(slopes, means[q] - means[:q] @ slopes)
