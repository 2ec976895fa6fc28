"""Records that nobody has: drawn within public bounds, to rehearse a build with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scumble import checks
from scumble.kernels import Kernel
from scumble.machine.later import pa
from scumble.sources.advice import reaches
from scumble.tables.roles import in_order

SEED = 20_260
WORDS = [f"word {k}" for k in range(12)]


def records(kernel: Kernel, columns: Sequence[str], bounds: Any, rows: int) -> pa.Table:
    """So many of them: evenly over the middle third of the bounds, about as densely as plans assume.

    Without bounds, over six bandwidths (of all columns together); words and sets out of a few.

    >>> from scumble.kernels import EuclideanKernel
    >>> ages = records(EuclideanKernel(1.0), ["age"], (0, 100), 1000).column("age").to_numpy()
    >>> bool(33 <= ages.min() < 36 and 64 < ages.max() <= 67)
    True
    """
    rng = np.random.default_rng(SEED)
    reach = reaches(kernel, columns)
    spans: dict[str, tuple[float, float]] = {}
    if bounds is not None:
        low, high = (side.tolist() for side in checks.sides(in_order(bounds, kernel, columns), len(columns)))
        spans = {name: ((2 * a + b) / 3, (a + 2 * b) / 3) for name, a, b in zip(columns, low, high, strict=True)}
    out: dict[str, Any] = {}
    for factor in kernel.factors:
        for name in (columns[j] for j in factor.which(len(columns), columns)):
            if factor.reads == "category":
                out[name] = rng.choice(WORDS[:4], rows)
            elif factor.reads == "tokens":
                alone = len(factor.which(len(columns), columns)) == 1
                out[name] = _sets(rng, rows) if alone else rng.integers(0, 2, rows).astype(float)
            else:
                wide = 6.0 / np.sqrt(len(reach)) * reach[name] if name in reach else 2.0
                first, last = spans.get(name, (-wide / 2, wide / 2))
                out[name] = rng.uniform(first, last, rows)
    return pa.table({name: out.get(name, np.zeros(rows)) for name in columns})


def _sets(rng: np.random.Generator, rows: int) -> list[str]:
    return [" ".join(row) for row in np.array(WORDS).astype(object)[rng.integers(0, len(WORDS), (rows, 3))]]
