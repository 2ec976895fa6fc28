"""The general case: minimise any loss that is a collision probability, over a released sketch.

A sketch answers L(q) = Σₓ k(x, q) for every q. If a loss of a record x under a model θ can be written as
ℓ(x, θ) = k(φ(x), ψ(θ)), then inserting φ(x) and asking at ψ(θ) gives the empirical risk of every model, for ever, at no
further cost: empirical risk minimisation becomes the search for the least answer (the paper's section 4).

The answers carry noise and are flat between hyperplanes, so gradients are useless. The search here keeps a
cloud of models, asks for all of them, and moves the cloud to the mean of the better half: averages over many answers
suppress the noise (a (μ/μ, λ) evolution strategy with a diagonal cloud; Beyer & Schwefel 2002).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scumble.errors import parameter
from scumble.release import Release

Queries = Callable[[np.ndarray], np.ndarray]


def minimize(
    release: Release,
    loss: Queries,
    start: object,
    *,
    penalty: Callable[[np.ndarray], np.ndarray] | None = None,
    spread: float = 0.5,
    rounds: int = 60,
    random_state: int = 0,
) -> np.ndarray:
    """The parameters θ that minimise Σₓ k(φ(x), ψ(θ)) + penalty(θ), from the release alone.

    Parameters
    ----------
    release : Release
        The release of φ(x) for all records x.
    loss : callable
        ψ, from an array of models, (n, parameters), to the queries that represent them, (n, columns).
    start : int or array-like
        The first model, or how many parameters there are.
    penalty : callable or None
        Takes models to (n,) numbers, in units of records.
    spread : float
        How far from `start` to look initially.
    rounds : int
        How long to search.
    random_state : int
        The seed of the search.

    A worked example. *Where is the centre of a cloud?* Take ℓ(x, θ) = 1 − k(x, θ) with a wide kernel: the best θ is the
    mode. The sketch answers Σ k, so its negative is minimised; for a loss that falls with k, pass a release
    and a ψ, and let `penalty` turn it round:

    >>> import numpy as np, scumble
    >>> X = np.random.default_rng(0).normal([2.0, -1.0], 0.5, (5000, 2))
    >>> sketch = scumble.Sketch(scumble.EuclideanKernel(3.0, power=2), 2, rows=200, buckets=256, seed=1)
    >>> release = sketch.update(X).release(epsilon=1.0)
    >>> centre = minimize(release, lambda theta: theta, [0.0, 0.0],
    ...                   penalty=lambda theta: -2.0 * release.kernel_sum(theta), spread=1.0)
    >>> centre.shape                                  # near (2, −1): the noise is fresh each time
    (2,)

    *A linear classifier*: insert y·x with the angular kernel of power p and ask at −θ. A record on the correct side of
    θ is far from −θ and seldom meets it, so Σ k is the margin loss (1 − acos(−t)/π)^p:

    >>> y = np.where(X[:, 0] > 2.0, 1.0, -1.0)
    >>> sketch = scumble.Sketch(scumble.AngularKernel(power=4), 2, rows=500, buckets=16, seed=1)
    >>> release = sketch.update(y[:, None] * (X - [2.0, -1.0])).release(epsilon=1.0)
    >>> theta = minimize(release, lambda theta: -theta, [0.0, 1.0])
    >>> theta.shape                                   # in the direction of (1, 0)
    (2,)
    """
    try:
        middle = np.zeros(start) if isinstance(start, int) else np.array(start, float)
    except (TypeError, ValueError):  # NumPy's words would quote it
        middle = np.empty(0)
    if middle.ndim != 1 or not middle.size or not np.isfinite(middle).all():
        raise parameter("start", "a list of finite numbers, or how many parameters there are", start)
    if not spread > 0.0 or rounds < 1:
        raise parameter("spread", "positive, with at least one round", f"{spread} with {rounds}")
    rng = np.random.default_rng(random_state)
    size = 8 + 4 * int(np.ceil(np.sqrt(middle.size)) + np.log2(1 + middle.size))
    widths = np.full(middle.size, float(spread))
    kept = size // 2
    weights = np.log(kept + 0.5) - np.log(np.arange(1, kept + 1))
    weights /= weights.sum()
    trail = []
    for turn in range(rounds):
        # Mirrored pairs: what is odd in the noise cancels.
        half = rng.normal(size=(size // 2, middle.size))
        cloud = middle + widths * np.vstack([half, -half])
        values = release.kernel_sum(loss(cloud))
        if penalty is not None:
            values = values + penalty(cloud)
        best = cloud[np.argsort(values)[:kept]]
        moved = weights @ best
        step = np.sqrt(weights @ (best - middle) ** 2)
        widths = 0.7 * widths + 0.3 * np.maximum(step, 1e-4 * spread)
        widths *= 0.97
        middle = moved
        if turn >= rounds // 2:
            trail.append(middle)
    return np.mean(trail, axis=0)
