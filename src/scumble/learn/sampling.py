"""Synthetic records: for people who need rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from scumble.bundle import Bundle
from scumble.checks import Sides, by_column, sides, whole
from scumble.errors import DataError, ParameterError, parameter
from scumble.release import Release
from scumble.schema.kinds import bounds_by, nearest


def sample(release: Any, n: int, random_state: int | None = None, *, bounds: Any = None) -> Any:
    """Draw `n` synthetic records from what a release says about its table. Post-processing: it costs no privacy.

    Parameters
    ----------
    release : Release or Bundle
        A Release, or a Bundle with one release per class: then labels are drawn too, in proportion to the counts.
    n : int
        How many records.
    random_state : int or None
        The seed of the draw; None takes a fresh one. (The release's noise was drawn long ago.)
    bounds : pair of float, pair of array-like or None
        (low, high), public, each a number or one per column. Grids know theirs; hashed rows need them.

    Returns
    -------
    An (n, columns) array; for a bundle the pair of such an array and the labels.

    The records follow the counters themselves, not the density that `release.density` computes from them: that one is
    blurred by the kernel, and drawing from it would blur the records once more.

    *Grids.* The cells are halved again and again, along one axis at a time. Half A of a node with mass m has the noisy
    count a, of variance s². Its mass is the mean of what is plausible: a normal law around a, cut to [0, m], with some
    prior probability that all the mass, or none, lies in A. So noise is averaged over wide empty regions before it can
    do harm, no mass is negative, and all masses sum to the count. Within a cell records are spread evenly; columns that
    the release declares as whole numbers, dates or booleans (`release.kinds`) then go to the nearest of those.

    *Hashed rows.* Each row is a histogram of the table along a random projection, so finding records from rows is
    tomography. A cloud of weighted particles is counted by the release's own hash functions. The weights follow
    w ← w · exp(η · mean over rows of (released − counted) at the particle's own buckets),
    the exponentiated gradient (Kivinen & Warmuth 1997) of the squared distance between both tables; heavy particles
    multiply, light ones die, and all move a little, in steps that shrink from the bounds' width to a part of the
    bandwidth.

    >>> import numpy as np, scumble
    >>> from scumble.learn import sample
    >>> X = np.random.default_rng(0).normal(3.0, 0.5, (5000, 2))
    >>> sketch = scumble.Sketch(scumble.EuclideanKernel(0.5), 2, bounds=(0, 6), design="grid")
    >>> synthetic = sample(sketch.update(X).release(epsilon=1.0), 2000, random_state=0)
    >>> synthetic.shape, bool(np.all((synthetic >= 0) & (synthetic <= 6)))     # their mean is about (3, 3)
    ((2000, 2), True)
    """
    n = whole("n", n, 0)
    rng = np.random.default_rng(random_state)
    if isinstance(release, Bundle):
        return _sample_bundle(release, int(n), rng, bounds)
    if not isinstance(release, Release):
        raise parameter("release", "a Release or a Bundle", type(release).__name__, "scumble.load reads a file.")
    return Sampler(release, rng, bounds=bounds).draw(int(n))


def _sample_bundle(bundle: Bundle, n: int, rng: np.random.Generator, bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    counts = np.array([max(release.count, 0.0) for release in bundle.values()])
    if counts.sum() <= 0.0:
        counts[:] = 1.0
    which = rng.choice(len(counts), n, p=counts / counts.sum())
    X = np.empty((n, bundle.spec.dimensions))
    for k, release in enumerate(bundle.values()):
        X[which == k] = Sampler(release, rng, bounds=bounds).draw(int(np.sum(which == k)))
    return X, np.array(bundle.classes)[which]


class Sampler:
    """What `sample` prepares once, for drawing from the same release again and again."""

    def __init__(self, release: Release, rng: np.random.Generator, *, bounds: Any = None) -> None:
        self.release, self.rng = release, rng
        self.bounds = bounds_of(release, bounds)
        self._source = release.spec.layout.source(release, self.bounds, rng)

    def draw(self, n: int) -> np.ndarray:
        """(n, columns) records within the bounds; columns that hold whole numbers have such."""
        X = self._source.draw(n, self.rng)
        for name, kind in self.release.kinds.items():
            j = (self.release.columns or ()).index(name)
            X[:, j] = np.clip(nearest(X[:, j], kind), self.bounds[0][j], self.bounds[1][j])
        return X


def bounds_of(release: Release, bounds: Any) -> Sides:
    """The bounds to draw records within: those given, or the release's own."""
    for factor in release.kernel.factors:
        if factor.reads != "number":
            raise DataError(
                f"Records cannot be drawn from a release with the {factor.name or type(factor).__name__} kernel: "
                "its columns are categories or sets, without bounds to draw within."
            )
    if bounds is None:
        bounds = release.bounds
    if bounds is None:
        raise ParameterError(
            "A release of hashed rows has no bounds to draw within. Hint: --bounds 0:100 (bounds=(0, 100)), or a pair "
            "per column, from what is known without the data."
        )
    return sides(by_column(bounds_by(release.kinds, bounds), release.columns), release.dimensions)
