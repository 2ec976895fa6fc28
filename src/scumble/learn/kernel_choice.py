"""Which kernel of a public list tells the classes apart best, chosen privately: `scumble.releasing.selection`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scumble.errors import parameter
from scumble.kernels import Kernel
from scumble.privacy.calibration import calibrate
from scumble.releasing import selection
from scumble.sketch import Sketch


def choose_kernel(
    kernels: Sequence[Kernel],
    parts: Sequence[np.ndarray],
    *,
    epsilon: Any,
    release_epsilon: Any,
    delta: Any = 0.0,
    records_per_person: int = 1,
    rows: int = 20,
    buckets: int = 256,
    seed: int = 0,
) -> Kernel:
    """The kernel of a public list that tells the classes apart best, chosen ε-privately.

    Parameters
    ----------
    kernels : sequence of Kernel
        The candidates.
    parts : sequence of numpy.ndarray
        The records of each class, (n, columns).
    epsilon : float, Fraction, Decimal or str
        The cost of the choice. It is added to that of the release.
    release_epsilon, delta, rows : float or int
        Facts of the release to come: how much noise the rows will have to be read through.

    >>> import numpy as np
    >>> from scumble.kernels import ColumnKernel
    >>> rng = np.random.default_rng(0)
    >>> parts = [rng.uniform(0, 1, (4000, 2)) + [[0, c]] for c in (0, 1)]
    >>> kernels = [ColumnKernel(0.5, 1), ColumnKernel(500.0, 1)]
    >>> choose_kernel(kernels, parts, epsilon=0.1, release_epsilon=0.9) is kernels[0]
    True
    """
    if not kernels:
        raise parameter("kernels", "at least one kernel", list(kernels))
    people = records_per_person
    noise = calibrate(rows, epsilon=release_epsilon, delta=delta, records_per_person=people).counter_variance
    margin = int(np.ceil(2.0 * np.sqrt(noise)))
    scores = []
    for kernel in kernels:
        sketches = [
            Sketch(kernel, part.shape[1], rows=rows, buckets=buckets, seed=seed, design="sobol").update(part)
            for part in parts
        ]
        scores.append(selection.credible_records([sketch.secret for sketch in sketches], margin))
    return kernels[selection.noisy_best(scores, epsilon, sensitivity=people, monotone=True)]
