"""Cells of a grid that were counted where they do not stand, and what is declared of the columns that are read."""

from __future__ import annotations

import numpy as np

from scumble.machine.later import pa
from scumble.schema.column import Strays as OfBatch
from scumble.schema.strays import Declared, as_written
from scumble.spec import Spec
from scumble.tables import Table
from scumble.tabular.spec import TableSpec


def beyond_grid(batch: pa.RecordBatch, spec: Spec) -> dict[str, OfBatch]:
    """Of each axis of a grid, how many cells of a batch are outside its bounds, in records that it counts."""
    if spec.bounds is None or spec.columns is None:
        return {}
    table = Table.of(spec.declared(batch), columns=spec.columns, dimensions=spec.dimensions)
    axes = spec.kernel.which(spec.dimensions, spec.columns)
    values = table.numeric(axes)
    values = values[np.isfinite(values).all(axis=1)]
    low, high = (np.array(side)[list(axes)] for side in spec.bounds)
    outside = np.count_nonzero((values < low) | (values > high), axis=0).tolist()
    return {spec.columns[j]: OfBatch(len(values), beyond=beyond) for j, beyond in zip(axes, outside, strict=True)}


def declared(spec: Spec | TableSpec) -> Declared:
    """Of a table, its schema; of a grid, the bounds of its columns."""
    if isinstance(spec, TableSpec):
        return spec.schema
    if spec.bounds is None or spec.columns is None:
        return {}
    ends = zip(*spec.bounds, strict=True)
    return {name: as_written(pair, spec.kinds.get(name)) for name, pair in zip(spec.columns, ends, strict=True)}
