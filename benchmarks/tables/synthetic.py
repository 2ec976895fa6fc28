"""Tables that nobody has: structures that differ on purpose from mixtures of products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.tables.data import Table
from scumble.table.grouping import Column

SYNTHETIC = ("chain", "interactions", "curved", "independent")
KINDS = (2, 5, 12, 40, -60, -60, -30, 8, 3, -99)


def synthetic(name: str, rows: int, seed: int, kinds: Sequence[int] = KINDS) -> Table:
    """A synthetic mixed table; negative kinds are numbers."""
    generator = np.random.default_rng(seed)
    hidden = generator.standard_normal((rows, 3))
    if name == "chain":  # each column depends on the one before
        signals = [generator.standard_normal(rows)]
        for _ in kinds[1:]:
            signals.append(0.8 * signals[-1] + 0.6 * generator.standard_normal(rows))
    elif name == "interactions":  # third-order structure: products of hidden signs
        signs = np.sign(hidden)
        signals = [
            signs[:, i % 3] * signs[:, (i + 1) % 3] * np.abs(generator.standard_normal(rows))
            if i % 2
            else hidden[:, i % 3] + 0.3 * generator.standard_normal(rows)
            for i in range(len(kinds))
        ]
    elif name == "curved":  # functions of few factors, little noise
        signals = [
            np.sin((1 + i % 3) * hidden[:, i % 3])
            + hidden[:, (i + 1) % 3] ** 2 * (i % 2)
            + 0.1 * generator.standard_normal(rows)
            for i in range(len(kinds))
        ]
    else:  # "independent"
        signals = [generator.standard_normal(rows) for _ in kinds]
    columns, codes = [], []
    for kind, signal in zip(kinds, signals, strict=True):
        levels = abs(kind)
        if kind < 0:
            code = np.clip(((signal + 4) / 8 * levels).astype(int), 0, levels - 1)
        else:
            bounds = np.quantile(signal, np.cumsum(generator.dirichlet(np.full(levels, 0.7)))[:-1])
            code = generator.permutation(levels)[np.searchsorted(bounds, signal)]
        columns.append(Column(levels, levels if kind < 0 else 0))
        codes.append(code)
    values = tuple(np.arange(c.levels, dtype=float) if c.ordered else None for c in columns)
    names = tuple(f"c{i}" for i in range(len(kinds)))
    return Table(name, names, tuple(columns), values, np.stack(codes, 1).astype(np.int64), 0)
