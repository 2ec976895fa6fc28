"""Linear classification: the margin loss, minimised on the sketch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scumble.checks import sides
from scumble.errors import DataError, ParameterError, PrivacyError
from scumble.kernels import AngularKernel, Kernel
from scumble.learn.base import ClassifierMixin, PrivateEstimator, require_kernel
from scumble.learn.erm import minimize
from scumble.learn.moments import first_moment
from scumble.learn.targets import labelled, public_classes, require_rule_for_unknown, require_target
from scumble.privacy.account import Account
from scumble.release import Release
from scumble.sketch import Sketch, release_disjoint

POWER = 4
GAUSSIAN_ROWS, LAPLACE_ROWS = 2000, 200


class PrivateLinearClassifier(ClassifierMixin, PrivateEstimator):
    """A linear classifier by empirical risk minimisation on a sketch.

    **Idea.** With y = ±1 and x scaled to [−1, 1] by the public bounds, [x, 1]·y is inserted under the angular kernel
    of power p. Asked at −θ, the sketch answers

        Σ (1 − acos(−t)/π)ᵖ,     t = y [x, 1]·θ / (|[x, 1]| |θ|),

    a loss that falls from 1 to 0 as the record's margin t goes from −1 to 1 (the paper's section 4). The search
    starts from the mean of all y [x, 1], which the signs give in closed form (:mod:`scumble.learn.moments`), and
    minimises the loss without gradients (:func:`scumble.learn.minimize`). One sketch, one increment per record,
    whatever its class.

    Two classes. For more, or where classes are not separated by a plane, take
    :class:`~scumble.learn.PrivateKDEClassifier`, which is also more accurate on most tables.

    The parameters that are not listed are those of :class:`~scumble.learn.base.PrivateEstimator`. `bounds` are always
    needed.

    Parameters
    ----------
    classes : sequence or None
        The two class labels, public; the second one is the positive class. `public=("classes",)` declares that those in
        `y` are public.
    unknown : {"error", "drop"}
        What to do with records of other labels: "error" or "drop".
    kernel : Kernel or None
        An AngularKernel; None takes power 4.

    Attributes
    ----------
    classes_, coef_, intercept_ : numpy.ndarray
        As in scikit-learn, of shapes (2,), (1, columns) and (1,).
    release_ : Release
        The release of y [x, 1], not of the columns themselves.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (4000, 3))
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> model = PrivateLinearClassifier(epsilon=5.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> accuracy = model.score(X, y)                # 0.95 or so: the noise is fresh each time
    >>> model.coef_.shape, model.classes_.tolist()
    ((1, 3), [0, 1])
    """

    _learnt = ("classes_", "coef_", "intercept_")
    _always_needs_bounds = True
    classes_: np.ndarray

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        unknown: str = "error",
        epsilon: float = 1.0,
        delta: float = 0.0,
        rho: float | None = None,
        mu: float | None = None,
        neighbors: str = "add-remove",
        kernel: Kernel | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        bounds: Any = None,
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
            public=public,
            records_per_person=records_per_person,
            random_state=random_state,
        )
        self.classes = classes
        self.unknown = unknown

    def fit(
        self, X: Any, y: Any, *, ledger: Any = None, dataset: str | None = None, part: str | None = None
    ) -> PrivateLinearClassifier:
        """Release one sketch of y [x, 1], then search for the plane. `ledger`, `dataset`, `part`: where to charge."""
        require_rule_for_unknown(self)
        require_target(self, y)
        account = Account.of(ledger, dataset, part)
        X, y = self._begin(X, y)
        self._take_classes(y)
        X, y = labelled(self, X, y)
        kernel = self._kernel()
        require_kernel(kernel, (AngularKernel,), "Linear classification")
        sketch = Sketch(
            kernel,
            self.n_features_in_ + 1,
            rows=self.rows or (GAUSSIAN_ROWS if not self.price().pure else LAPLACE_ROWS),
            buckets=self.buckets or 2**kernel.power,
            seed=self._seed(),
            design="orthogonal",
        )
        side = np.where(y == self.classes_[1], 1.0, -1.0)
        budget = self.price()
        paid = self._pay([budget.claim(sketch.rows)], account, counters=sketch.rows * sketch.buckets)
        (self.release_,) = release_disjoint([sketch.update(side[:, None] * self._extended(X))], budget, paid)
        self._learn()
        return self

    def _take_classes(self, y: np.ndarray | None) -> None:
        self.classes_ = public_classes(self, y)
        if len(self.classes_) != 2:
            many = f"{len(self.classes_)} class{'' if len(self.classes_) == 1 else 'es'}"
            raise ParameterError(
                f"Only binary classification is supported. `classes` must be two classes, got {many}. "
                "Hint: PrivateKDEClassifier takes more."
            )

    def _default_kernel(self) -> Kernel:
        return AngularKernel(power=POWER)

    def _extended(self, X: np.ndarray) -> np.ndarray:
        low, high = self.bounds_  # type: ignore[misc]
        return np.column_stack([2.0 * (X - low) / (high - low) - 1.0, np.ones(len(X))])

    def _learn(self) -> None:
        start = first_moment(self.release_)
        start /= np.linalg.norm(start) or 1.0
        theta = minimize(self.release_, lambda models: -models, start, spread=0.3, rounds=50)
        theta /= np.linalg.norm(theta) or 1.0
        low, high = self.bounds_  # type: ignore[misc]
        slope = 2.0 * theta[:-1] / (high - low)
        self.coef_ = slope[None, :]
        self.intercept_ = np.array([theta[-1] - np.sum(theta[:-1]) - np.sum(slope * low)])

    def decision_function(self, X: object) -> np.ndarray:
        """Positive for the second class; |θ| is 1 in units of the bounds."""
        X = self._read(X, clip=True)
        return X @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: object) -> np.ndarray:
        """The class on whose side of the plane each record lies."""
        positive = self.decision_function(X) > 0.0
        return self.classes_[positive.astype(int)]

    def _take(self, release: Release) -> None:
        require_kernel(release.kernel, (AngularKernel,), "Linear classification")
        if release.dimensions < 2:
            raise DataError(
                "This release has too few columns for a linear classifier: it needs one more than the table."
            )
        if self.bounds is None:
            raise PrivacyError("Pass the `bounds` and `classes` that the release was made with; it holds neither.")
        self.n_features_in_ = release.dimensions - 1
        self.bounds_ = sides(self.bounds, self.n_features_in_)
        self._take_classes(None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
