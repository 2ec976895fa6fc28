"""Linear classification, from moments; or the paper's margin loss, minimized on a sketch."""

from __future__ import annotations

import numpy as np

from scumble.columns.cells import Column
from scumble.density.release import Release
from scumble.density.sketch import Sketch, release_disjoint
from scumble.errors import DataError, ParameterError, PrivacyError, parameter
from scumble.kernels import AngularKernel, Kernel
from scumble.learn.base import estimator, require_kernel
from scumble.learn.moment_products import LENGTH, ONCE, TWICE, ClassMoments, UnitMoments, anchored
from scumble.learn.moment_release import MomentRelease
from scumble.learn.moment_spec import Floats, MomentSpec
from scumble.learn.signs import first_moment, minimize, require_signs
from scumble.learn.supervised import Classifier, LearnsFromMoments, TakesVectors, laplace_is_quieter
from scumble.privacy.account import Account

METHODS = ("auto", "moments", "surrogate")
POWER = 4
GAUSSIAN_ROWS, LAPLACE_ROWS = 2000, 200
ANCHOR, UNIT_ANCHOR = 0.15, 0.05
"""a² over the number of columns, and over the square of the greatest length."""
CAUTION = 1.0
"""λ/(s √q)."""
LEAST = 2.0
"""Standard errors of a count: no class is taken to be smaller."""
CLEAREST = 0.95
"""The most of a class's indicator that planes are taken to explain: log-odds stay finite."""


@estimator
class PrivateLinearClassifier(LearnsFromMoments, TakesVectors, Classifier):
    """A linear classifier in closed form, for any number of classes: made for wide records, such as embeddings.

    **Idea.** Columns are scaled to [−1, 1] by their public bounds, a constant column is added, and each record's vector
    z is divided by its length. What is released, once, are Σ zzᵀ over all records, Σ z over each class, and how many
    records each class has (:mod:`scumble.learn.moment_products`). Least squares on the classes' indicators follows from
    these (DP-FC: Mehta, Krichene, Thakurta, Kurakin & Cutkosky 2022): what a class has beyond its share of all vectors,
    times (Σ zzᵀ + λ)⁻¹, is its plane.

    ``method="moments"``
        as described; with δ = 0 for some dozen columns, and with δ > 0 for a thousand. Log-odds follow from how much
        the planes explain, so rare classes are named where they are separated.
    ``method="surrogate"``
        the paper's section 4, for two classes: y [x, 1] is sketched under the angular kernel, and the loss
        Σ (1 − acos(−t)/π)ᵖ of the margins t is minimized on the sketch (:func:`scumble.learn.minimize`). It is far less
        accurate.
    ``method="auto"``
        takes moments, unless `kernel`, `rows` or `buckets` ask for a sketch.

    **Embeddings** have no bounds of their own for each column. With `length` instead of `bounds`, a record is a vector
    as it points: what is longer than `length` is made that long.

    Where classes are not separated by planes, take :class:`~scumble.learn.PrivateKDEClassifier`. For the other
    parameters, see :class:`~scumble.learn.base.PrivateEstimator` and :class:`~scumble.learn.supervised.Classifier`.

    Parameters
    ----------
    method : {"auto", "moments", "surrogate"}
        What to release, and how to learn from it.
    kernel : Kernel or None
        Of the surrogate: an AngularKernel; None takes power 4.

    Attributes
    ----------
    classes_, coef_, intercept_ : numpy.ndarray
        The labels, and planes in the columns' own units, one per class, or one for two classes. From moments they are
        those of the records' vectors of equal length, and `offsets_` are added.
    offsets_, shares_ : numpy.ndarray
        From moments: the log-odds of each class at the middle of all records, and its share of them.
    release_ : Release
        The moments; or the release of y [x, 1], not of the columns themselves.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (4000, 3))
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> model = PrivateLinearClassifier(epsilon=5.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> accuracy = model.score(X, y)                # 0.97 or so: the noise is fresh each time
    >>> model.coef_.shape, model.classes_.tolist()
    ((1, 3), [0, 1])
    """

    method: str = "auto"

    _learnt = ("classes_", "coef_", "intercept_", "planes_", "offsets_", "shares_")
    _always_needs_bounds = True
    _moments = ClassMoments

    # ---- fitting ----

    def _check(self) -> None:
        if self.method not in METHODS:
            raise parameter("method", f"one of {', '.join(METHODS)}", self.method)
        super()._check()
        if self.class_weight == "balanced" and not self._by_moments():
            raise parameter("class_weight", "of moments: the surrogate does not know the classes' shares", "balanced")
        if self.length is not None and not self._by_moments():
            raise ParameterError("`length` is for moments. Hint: leave out `method`, `kernel`, `rows` and `buckets`.")

    def _by_moments(self) -> bool:
        plain = self.kernel is None and self.rows is None and self.buckets is None
        return self.method == "moments" or (self.method == "auto" and plain)

    def _take_classes(self, y: Column | None) -> None:
        super()._take_classes(y)
        if len(self.classes_) > 2 and not self._by_moments():
            raise ParameterError(
                f"The surrogate separates two classes, and there are {len(self.classes_)}. Hint: method='moments'."
            )

    def _publish(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        if self._by_moments():
            self.release_ = self._release_moments(self._spec(), X, y, account)
        else:
            self._release_signs(X, y, account)

    def _spec(self) -> ClassMoments:
        d, classes = self._width, len(self.classes_)
        pure = laplace_is_quieter(self.price(), 0.75 * (d + 1))
        if self.length is not None:
            return UnitMoments(self._spans(), self._columns(), pure, anchored(1, UNIT_ANCHOR), classes)
        return ClassMoments(self._spans(), self._columns(), pure, anchored(d, ANCHOR), classes)

    def _release_signs(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        """Release one sketch of y [x, 1]."""
        kernel, budget = self._kernel(), self.price()
        require_kernel(kernel, (AngularKernel,), "Linear classification")
        rows = self.rows or (LAPLACE_ROWS if budget.pure else GAUSSIAN_ROWS)
        buckets = self.buckets or 2**kernel.power
        sketch = Sketch(kernel, self._width + 1, rows=rows, buckets=buckets, seed=self._seed(), design="orthogonal")
        require_signs(sketch.spec)
        low, high = self.bounds_  # type: ignore[misc]
        extended = np.column_stack([2.0 * (X - low) / (high - low) - 1.0, np.ones(len(X))])
        sketch.update(np.where(y == 1, 1.0, -1.0)[:, None] * extended)  # what it refuses costs nothing
        paid = self._pay([budget.claim(rows)], account, counters=rows * buckets)
        (self.release_,) = release_disjoint([sketch], budget, paid)

    def _default_kernel(self) -> Kernel:
        return AngularKernel(power=POWER)

    # ---- from the release alone ----

    def _learn(self) -> None:
        if not isinstance(self.release_, MomentRelease):
            start = first_moment(self.release_)
            start /= np.linalg.norm(start) or 1.0
            theta = minimize(self.release_, lambda models: -models, start, spread=0.3, rounds=50)
            self._in_units(theta[None, :] / (np.linalg.norm(theta) or 1.0))
            return
        self.planes_, self.offsets_, self.shares_ = class_model(self.release_)
        spec = self.release_.spec
        assert isinstance(spec, ClassMoments)
        planes = self.planes_ if len(self.classes_) > 2 else self.planes_[1:]
        planes = np.column_stack([planes[:, :-1], planes[:, -1] * spec.anchor])
        if isinstance(spec, UnitMoments):
            self.coef_, self.intercept_ = planes[:, :-1] / spec.length, planes[:, -1]
        else:
            self._in_units(planes)

    def _in_units(self, planes: np.ndarray) -> None:
        low, high = self.bounds_  # type: ignore[misc]
        self.coef_ = 2.0 * planes[:, :-1] / (high - low)
        self.intercept_ = planes[:, -1] - planes[:, :-1].sum(axis=1) - self.coef_ @ low

    def _log_probabilities(self, X: np.ndarray) -> np.ndarray:
        """Of the class against all others; of the surrogate, distances from the plane."""
        if not isinstance(self.release_, MomentRelease):
            z = X @ self.coef_[0] + self.intercept_[0]
            return np.column_stack([np.zeros_like(z), z])
        if "offsets_" not in vars(self):  # a file of an older version
            self._learn()
        odds = class_scores(self.release_, self.planes_, self.offsets_, X)
        if len(self.classes_) == 2:
            odds[:, 0] = 0.0
            return odds
        return -np.logaddexp(0.0, -odds)

    def _shares(self) -> np.ndarray:
        return self.shares_

    def _take_moments(self, spec: MomentSpec) -> None:
        assert isinstance(spec, ClassMoments)
        if isinstance(spec, UnitMoments):
            self.length, self.bounds_ = spec.length, None
        if self.classes is None:
            raise PrivacyError("Pass the `classes` that the release was made with; it holds none.")
        self._take_classes(None)
        if len(self.classes_) != spec.classes:
            raise parameter("classes", f"the {spec.classes} that the release has", len(self.classes_))

    def _take(self, release: Release) -> None:
        require_kernel(release.kernel, (AngularKernel,), "Linear classification")
        if release.dimensions < 2:
            raise DataError(
                "This release has too few columns for a linear classifier: it needs one more than the table."
            )
        if self.bounds is None and self.schema is None:
            raise PrivacyError("Pass the `bounds` and `classes` that the release was made with; it holds neither.")
        self._take_columns(release.dimensions - 1, None, self.bounds)
        self._take_classes(None)


def class_model(release: MomentRelease) -> tuple[Floats, Floats, Floats]:
    """(classes, columns + 1) planes, (classes,) offsets and shares: the log-odds of a class are z·plane + offset.

    Ridge regression on a class's indicator makes scores s = z·w. How these are distributed follows from the moments:
    their mean and variance V over all records, and the gap g between their means inside and outside the class, whose
    share is π. As of two normal laws (Fisher's discriminant), the log-odds are

        log(π/(1 − π)) + (s − mean − (½ − π) g) g/(V − π(1 − π) g²),

    whatever scale the penalty gave to w. The noise in w goes along with that in the class's sum, and makes a gap of its
    own, which is taken off. What is left is drawn towards the gap that classes have on average, by as much as it is
    uncertain. V counts the penalty as variance: noise may have hidden as much. A class without a gap keeps its share as
    the probability of every record.
    """
    spec = release.spec
    assert isinstance(spec, ClassMoments)
    counts, products, sums = release.rows
    q, least, noise = spec.width, max(LEAST * release.errors[0], 1.0), release.errors[2] ** 2
    total = np.maximum(counts, least).sum()
    shares = np.maximum(counts, least) / total
    size = shares * (1.0 - shares)
    of_classes = sums.reshape(spec.classes, q)
    everyone = of_classes.sum(axis=0)
    values, vectors = np.linalg.eigh(spec.matrix(products))
    penalty = CAUTION * release.errors[1] * ONCE[spec.pure] / TWICE[spec.pure] * np.sqrt(q)
    inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
    along = (of_classes - shares[:, None] * everyone) @ vectors
    planes = (along * inverse) @ vectors.T
    found = along**2 @ inverse
    gaps = found - noise * inverse.sum()
    known = np.maximum(along**2 - noise, 0.0) @ inverse**2
    errors = np.sqrt(noise * (4.0 * known + 2.0 * noise * np.sum(inverse**2)))
    scale = size * total
    usual = max(float(gaps.sum()), 0.0) / float(scale.sum())
    trust = usual**2 / (usual**2 + (errors / scale) ** 2 + 1e-300)
    gap = np.maximum(trust * gaps / scale + (1.0 - trust) * usual, 0.0)
    mean = planes @ everyone / total
    spread = found / total - size * gap**2
    steep = gap / np.maximum(np.maximum(spread, (1.0 - CLEAREST) * gap * size), 1e-300)
    offsets = np.log(shares / (1.0 - shares)) - steep * (mean + (0.5 - shares) * gap)
    return steep[:, None] * planes, offsets, shares


def class_scores(release: MomentRelease, planes: Floats, offsets: Floats, X: Floats) -> Floats:
    """(n, classes): the log-odds of each class against all others."""
    spec = release.spec
    assert isinstance(spec, ClassMoments)
    # Plane by plane: a record's score must not depend on who else is asked about.
    z = spec.vectors(X) / LENGTH
    return np.stack([np.einsum("nq,q->n", z, plane) + one for plane, one in zip(planes, offsets, strict=True)], 1)
