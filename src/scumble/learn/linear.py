"""Linear classification, from moments; or the paper's margin loss, minimised on a sketch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scumble import checks
from scumble.errors import DataError, ParameterError, PrivacyError, parameter
from scumble.kernels import AngularKernel, Kernel
from scumble.learn.base import PrivateEstimator, require_kernel
from scumble.learn.by_moments import LearnsFromMoments, laplace_is_quieter, names, release_moments, spans
from scumble.learn.class_moments import ANCHOR, UNIT_ANCHOR, class_model, class_scores
from scumble.learn.columns import Bounds
from scumble.learn.erm import minimize
from scumble.learn.moments import first_moment, require_signs
from scumble.learn.targets import Classifies, labelled, public_classes, require_rule_for_unknown, require_target
from scumble.moments.fixed import longer
from scumble.moments.products import ClassMoments, UnitMoments, anchored
from scumble.moments.release import MomentRelease
from scumble.privacy.account import Account
from scumble.release import Release
from scumble.schema import Schema
from scumble.sketch import Sketch, release_disjoint

METHODS = ("auto", "moments", "surrogate")
POWER = 4
GAUSSIAN_ROWS, LAPLACE_ROWS = 2000, 200
MOST_LENGTH = 1e300


class PrivateLinearClassifier(LearnsFromMoments, Classifies, PrivateEstimator):
    """A linear classifier in closed form, for any number of classes: made for wide records, such as embeddings.

    **Idea.** Columns are scaled to [−1, 1] by their public bounds, a constant is set beside them, and each record's
    vector z is divided by its length. What is released, once, are Σ zzᵀ over all records, Σ z over each class, and how
    many records each class has: whole numbers with exact noise (:mod:`scumble.moments.products`). Least squares on the
    classes' indicators follows from these (:mod:`scumble.learn.class_moments`). One pass, no search; the noise does
    not grow with the number of classes, since a record is in one of them.

    ``method="moments"``
        as described; with δ = 0 for some dozen columns, and with δ > 0 for a thousand.
    ``method="surrogate"``
        the paper's section 4, for two classes: y [x, 1] is sketched under the angular kernel, and the loss
        Σ (1 − acos(−t)/π)ᵖ of the margins t is minimised on the sketch (:func:`scumble.learn.minimize`). For
        experiments: it is far less accurate.
    ``method="auto"``
        takes moments, unless `kernel`, `rows` or `buckets` ask for a sketch.

    **Embeddings** have no bounds of their own for each column. With `length` instead of `bounds`, a record is a vector
    as it points: what is longer than `length` is made that long.

    Where classes are not separated by planes, take :class:`~scumble.learn.PrivateKDEClassifier`.

    The parameters that are not listed are those of :class:`~scumble.learn.base.PrivateEstimator`. `bounds` are
    needed, or `length`.

    Parameters
    ----------
    classes : sequence or None
        The class labels, public; of two, the second one is the positive class. `public=("classes",)` declares that
        those in `y` are public.
    method : {"auto", "moments", "surrogate"}
        What to release, and how to learn from it.
    unknown : {"error", "drop"}
        What to do with records of other labels: "error" or "drop".
    length : float or None
        The greatest length (Euclidean) of a record, public; 1 for vectors of unit length. For moments, and instead of
        `bounds`, `schema` and `categories`.
    kernel : Kernel or None
        Of the surrogate: an AngularKernel; None takes power 4.

    Attributes
    ----------
    classes_, coef_, intercept_ : numpy.ndarray
        The labels, and planes in the columns' own units, one per class, or one for two classes. From moments they are
        those of the records' vectors of equal length, and the classes' shares, `shares_`, are added.
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

    _learnt = ("classes_", "coef_", "intercept_", "planes_", "shares_")
    _always_needs_bounds = True
    _moments = ClassMoments
    planes_: np.ndarray
    shares_: np.ndarray
    classes_: np.ndarray

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        unknown: str = "error",
        method: str = "auto",
        length: float | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        rho: float | None = None,
        mu: float | None = None,
        neighbors: str = "add-remove",
        kernel: Kernel | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        bounds: Any = None,
        schema: Schema | str | os.PathLike[str] | None = None,
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
        self.classes = classes
        self.unknown = unknown
        self.method = method
        self.length = length

    def fit(
        self, X: Any, y: Any, *, ledger: Any = None, dataset: str | None = None, part: str | None = None
    ) -> PrivateLinearClassifier:
        """Release moments or a sketch, then find the planes. `ledger`, `dataset`, `part`: where to charge."""
        if self.method not in METHODS:
            raise parameter("method", f"one of {', '.join(METHODS)}", self.method)
        require_rule_for_unknown(self)
        self._check_length()
        require_target(self, y)
        account = Account.of(ledger, dataset, part)
        X, y = self._begin(X, y)
        if self.length is not None:
            self.clipped_ = longer(X, float(self.length))
        self._take_classes(y)
        X, y = labelled(self, X, y)
        if self._by_moments():
            self.release_ = release_moments(self, self._spec(), X, np.searchsorted(self.classes_, y), account)
        else:
            self._release_signs(X, y, account)
        self._learn()
        return self

    def _by_moments(self) -> bool:
        plain = self.kernel is None and self.rows is None and self.buckets is None
        return self.method == "moments" or (self.method == "auto" and plain)

    def _check_length(self) -> None:
        if self.length is None:
            return
        must = f"a number between {1 / MOST_LENGTH:g} and {MOST_LENGTH:g}"
        checks.number("length", self.length, must, lambda long: 1 / MOST_LENGTH <= long <= MOST_LENGTH)
        if self.bounds is not None or self.schema is not None or self.categories is not None:
            raise ParameterError(
                "`length` stands instead of `bounds`, `schema` and `categories`. Hint: leave them out."
            )
        if not self._by_moments():
            raise ParameterError("`length` is for moments. Hint: leave out `method`, `kernel`, `rows` and `buckets`.")

    def _public_bounds(self, X: np.ndarray) -> Bounds | None:
        return super()._public_bounds(X) if self.length is None else None

    def _spec(self) -> ClassMoments:
        d = self._width
        pure = laplace_is_quieter(self.price(), 0.75 * (d + 1))
        if self.length is not None:
            sides = (-float(self.length),) * d, (float(self.length),) * d
            return UnitMoments(sides, names(self), pure, anchored(1, UNIT_ANCHOR), len(self.classes_))
        return ClassMoments(spans(self.bounds_), names(self), pure, anchored(d, ANCHOR), len(self.classes_))

    def _release_signs(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        """Release one sketch of y [x, 1]."""
        kernel = self._kernel()
        require_kernel(kernel, (AngularKernel,), "Linear classification")
        sketch = Sketch(
            kernel,
            self._width + 1,
            rows=self.rows or (GAUSSIAN_ROWS if not self.price().pure else LAPLACE_ROWS),
            buckets=self.buckets or 2**kernel.power,
            seed=self._seed(),
            design="orthogonal",
        )
        require_signs(sketch.spec)
        side = np.where(y == self.classes_[1], 1.0, -1.0)
        sketch.update(side[:, None] * self._extended(X))  # what it refuses costs nothing
        budget = self.price()
        paid = self._pay([budget.claim(sketch.rows)], account, counters=sketch.rows * sketch.buckets)
        (self.release_,) = release_disjoint([sketch], budget, paid)

    def _take_classes(self, y: np.ndarray | None) -> None:
        self.classes_ = public_classes(self, y)
        if len(self.classes_) < 2 or (len(self.classes_) > 2 and not self._by_moments()):
            many = f"{len(self.classes_)} class{'' if len(self.classes_) == 1 else 'es'}"
            raise ParameterError(
                f"Only binary classification is supported here. `classes` must be two classes, got {many}. "
                "Hint: method='moments' takes more."
            )

    def _default_kernel(self) -> Kernel:
        return AngularKernel(power=POWER)

    def _extended(self, X: np.ndarray) -> np.ndarray:
        low, high = self.bounds_
        return np.column_stack([2.0 * (X - low) / (high - low) - 1.0, np.ones(len(X))])

    def _learn(self) -> None:
        if isinstance(self.release_, MomentRelease):
            self.planes_, self.shares_ = class_model(self.release_)
            spec = self.release_.spec
            assert isinstance(spec, ClassMoments)
            planes = self.planes_ if len(self.classes_) > 2 else np.diff(self.planes_, axis=0)
            planes = np.column_stack([planes[:, :-1], planes[:, -1] * spec.anchor])
            if isinstance(spec, UnitMoments):
                self.coef_, self.intercept_ = planes[:, :-1] / spec.length, planes[:, -1]
            else:
                self._in_units(planes)
            return
        start = first_moment(self.release_)
        start /= np.linalg.norm(start) or 1.0
        theta = minimize(self.release_, lambda models: -models, start, spread=0.3, rounds=50)
        theta /= np.linalg.norm(theta) or 1.0
        self._in_units(theta[None, :])

    def _in_units(self, planes: np.ndarray) -> None:
        low, high = self.bounds_
        self.coef_ = 2.0 * planes[:, :-1] / (high - low)
        self.intercept_ = planes[:, -1] - planes[:, :-1].sum(axis=1) - self.coef_ @ low

    def decision_function(self, X: object) -> np.ndarray:
        """Two classes: (n,), positive for the second one. More: (n, classes), the largest for the likeliest."""
        X = self._read(X, clip=True)
        if isinstance(self.release_, MomentRelease):
            scores = class_scores(self.release_, self.planes_, self.shares_, X)
            return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores
        return X @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: object) -> np.ndarray:
        """The class on whose side of the planes each record lies."""
        z = self.decision_function(X)
        return self.classes_[(z > 0.0).astype(int) if z.ndim == 1 else z.argmax(axis=1)]

    def _take_moments(self, release: MomentRelease) -> None:
        super()._take_moments(release)
        assert isinstance(release.spec, ClassMoments)
        if isinstance(release.spec, UnitMoments):
            self.length, self.bounds_ = release.spec.length, None
        if self.classes is None:
            raise PrivacyError("Pass the `classes` that the release was made with; it holds none.")
        self._take_classes(None)
        if len(self.classes_) != release.spec.classes:
            raise parameter("classes", f"the {release.spec.classes} that the release has", len(self.classes_))

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
