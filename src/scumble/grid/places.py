"""What is not known of a grid's records: where in its cell each of them lies.

A record that lies u beside its cell's centre changes an answer by u·∇k, and u is spread evenly over the cell: h²/12
along each axis. How such errors add up depends on how the records lie. On their own, their squares add up. Where many
records share one value (a salary of 50,000, a weight rounded to a tenth), all move together, and it is the square of
their number that counts. A rounded column beside a smooth one is the worst of both: no cell stands out, but all the
cells of a slab across the rounded axis hide the same u.

Of whole numbers more is known, if somebody has said that they are whole: where each has a cell of its own, it lies at
the centre, and nothing is hidden (`Grid.hidden`).

So the errors along axis j have the variance Σ_c W_j[c] h_j²/12 (∂_j k)². W_j, the *roughness*, compares counters with
their neighbours along the axis: (value − mean of both)² less its share of noise, for a cell by itself and for the slab
of cells around it that the kernel sees as one. Cells of a block share what is found (`roughness`): the kernel hardly
differs between them, and one answer then takes a fifth of the time. For smooth data
that is the number of records; for a clump it is its square.

**Steps.** The values of a rounded column lie in their cells one after the other, a little further each time: where
steps and cells are nearly as wide, or one is nearly a multiple of the other, all values that a query sees lie to one
side of their cells. Then the errors of slabs do not add up as squares: all records move together by u, and the answer
is off by u ∂f, its own slope. So where counters jump from cell to cell, a share of h_j²/12 (∂_j f)² is added for each
axis (`stepped` says how much). Steps that the cells follow, one to a cell, do not show in the counters at all; but
tables that have such a column mostly have others that jump. So the axis that jumps most speaks for all. Where none
does, such steps stay unseen. Where all do, each speaks for itself too: if its jumps are regular, like a comb, it has
steps; if not, it has clumps at random places, each with a u of its own, and roughness suffices.

**Ceiling.** However the records lie, the deviation along an axis is at most the sum of theirs, Σ_c S[c] h_j/√12 |∂_j k|
(Minkowski). Roughness can be more than that beside a lone clump: the slabs around it share its square with cells where
the kernel is steep. There the ceiling holds. A cell may hold more than its counter says: noise is allowed for, and
where it rules the ceiling is out of reach. It is for places that the tables know, within the bounds and near them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from scumble.grid.profile import TILE, fast_length, tiles


def roughness(counts: np.ndarray, noise_variance: float, slab: Sequence[int]) -> list[np.ndarray]:
    """For each axis, how much the counters vary along it beyond noise: of its cells, but of `blocks` along the others.

    Of slabs one cell thick, of cells (at half weight, their mean in the block), and of slabs two cells thick: those are
    for the value that lies on an edge and makes a pair of cells with nothing odd about either. For independent records
    each yields about the number of records. Along the other axes slabs are three blocks wide, and share what they find
    among the cells of the block in the middle.
    """
    sides, found = blocks(slab), []
    before, before_cells = counts, np.ones([1] * counts.ndim)
    for axis in range(counts.ndim):  # adding up along the others and bending along this one may change places
        slabs, cells = before, before_cells
        for other in range(axis + 1, counts.ndim):
            slabs, cells = blocked(slabs, other, sides[other]), cells * _sizes(counts.shape, other, sides[other])
        alone = cells
        for other in range(counts.ndim):
            if other != axis:
                slabs, cells = _with_neighbours(slabs, other), _with_neighbours(cells, other)
        rough = _bent(slabs, 1, axis, 1.0 / cells)
        rough += _pairs(_bent(_pairs(_edged(slabs, axis), axis), 2, axis, 0.25 / cells), axis)
        if counts.ndim > 1:
            rough += _of_cells(counts, axis, sides) / alone
        rough -= (2.5 if counts.ndim > 1 else 2.0) * noise_variance
        found.append(rough)
        before = blocked(before, axis, sides[axis])
        before_cells = before_cells * _sizes(counts.shape, axis, sides[axis])
    return found


def _of_cells(counts: np.ndarray, axis: int, sides: Sequence[int]) -> np.ndarray:
    """Half of what cells yield by themselves, added up in blocks along the other axes; a part at a time."""
    parts, block, beside = [], 1 if axis == 0 else sides[0], int(axis == 0)
    rows = max(1, TILE // (block * prod(counts.shape[1:]))) * block
    for first in range(0, len(counts), rows):
        begin = max(first - beside, 0)
        bends = _bends(counts[begin : first + rows + beside], axis)[first - begin :][:rows]
        np.square(bends, out=bends)
        for other, size in enumerate(sides):
            bends = bends if other == axis else blocked(bends, other, size)
        parts.append(bends)
    return np.concatenate(parts) / 12.0


def spread_out(rough: Sequence[np.ndarray], shape: Sequence[int], slab: Sequence[int]) -> np.ndarray:
    """(axes, n₁, …, n_d): the roughness of each cell."""
    out = np.empty((len(shape), *shape))
    for axis, (found, blocked) in enumerate(zip(out, rough, strict=True)):
        for other, (cells, block) in enumerate(zip(shape, blocks(slab), strict=True)):
            if other != axis:
                blocked = blocked.take(np.arange(cells) // block, other)
        found[:] = blocked
    return out


def blocks(slab: Sequence[int]) -> list[int]:
    """How many cells along each axis make a block: three of them reach about `slab` cells to both sides.

    >>> blocks([1, 3, 11])
    [1, 2, 8]
    """
    return [max(1, (2 * reach + 2) // 3) for reach in slab]


def _sizes(shape: Sequence[int], axis: int, block: int) -> np.ndarray:
    """How many cells the blocks along an axis have."""
    return blocked(np.ones([n if k == axis else 1 for k, n in enumerate(shape)]), axis, block)


def _with_neighbours(values: np.ndarray, axis: int) -> np.ndarray:
    """Each value and those to both sides of it along an axis, added up."""
    out, before = values.copy(), (slice(None),) * axis
    lower, upper = (*before, slice(-1)), (*before, slice(1, None))
    out[upper] += values[lower]
    out[lower] += values[upper]
    return out


def blocked(values: np.ndarray, axis: int, block: int) -> np.ndarray:
    """Sums over blocks of so many cells along an axis; the last may be shorter."""
    before = (slice(None),) * axis
    out = values[(*before, slice(0, None, block))].copy()
    for first in range(1, min(block, values.shape[axis])):
        part = values[(*before, slice(first, None, block))]
        out[(*before, slice(part.shape[axis]))] += part
    return out


def _bent(values: np.ndarray, gap: int, axis: int, share: np.ndarray | float) -> np.ndarray:
    """A share of the square of: value − mean of the two at a distance, scaled so that noise keeps its variance; of a
    lone cell, its own value. Beyond an edge there is what is at the edge."""
    if values.shape[axis] <= gap:
        return np.square(values) * share
    before = (slice(None),) * axis
    lower, upper = (*before, slice(-gap)), (*before, slice(gap, None))
    out = 2.0 * values
    out[upper] -= values[lower]
    out[lower] -= values[upper]
    out[(*before, slice(gap))] -= values[(*before, slice(1))]
    out[(*before, slice(-gap, None))] -= values[(*before, slice(-1, None))]
    np.square(out, out=out)
    out *= np.divide(share, 6.0)
    return out


def _bends(values: np.ndarray, axis: int) -> np.ndarray:
    """The sum of both neighbours along an axis less twice the value. Beyond an edge there is what is at the edge.

    All are in one line, where a neighbour is so many places further on: nothing is as quick.
    """
    if values.shape[axis] == 1:
        return np.sqrt(6.0) * values
    stride, size = int(np.prod(values.shape[axis + 1 :])), values.size
    line, change = values.reshape(-1), np.empty(size + stride)
    np.subtract(line[stride:], line[:-stride], out=change[stride:size])
    change[:size].reshape(values.shape)[(slice(None),) * axis + (0,)] = 0.0  # from a line's end to the next begin
    change[size:] = 0.0
    return (change[stride:] - change[:size]).reshape(values.shape)


def _edged(values: np.ndarray, axis: int) -> np.ndarray:
    """One cell wider on both sides of an axis, each with what is at the edge."""
    before = (slice(None),) * axis
    return np.concatenate([values[(*before, slice(1))], values, values[(*before, slice(-1, None))]], axis)


def _pairs(values: np.ndarray, axis: int) -> np.ndarray:
    """Sums of neighbours along an axis."""
    before = (slice(None),) * axis
    return values[(*before, slice(1, None))] + values[(*before, slice(None, -1))]


def along(numbers: np.ndarray) -> np.ndarray:
    """A number for each axis, to go with what there is for each axis and cell."""
    return numbers.reshape(-1, *[1] * len(numbers))


def stepped(counts: np.ndarray, noise_variance: float) -> np.ndarray:
    """(axes,), from 0 to ½: what is added of the variance that there is if all records move at once along an axis.

    As much as the counters jump from cell to cell along that axis which has the most of it. Half is enough: in a table
    like a list of earthquakes, whose magnitudes fill one cell each, 95 % intervals covered 0.52 without, 0.84 with a
    quarter, 0.99 with a half. Where all axes jump, those that do so irregularly need less; the fewer the jumps, the
    less that is believed.

    >>> stepped(np.array([90.0, 100, 95, 105, 100, 95]), 1.0), stepped(np.array([200.0, 0, 190, 0, 210, 0, 200]), 1.0)
    (array([0.]), array([0.5]))
    """
    jumps, irregular = np.zeros(counts.ndim), np.zeros(counts.ndim)
    for axis, cells in enumerate(counts.shape):
        sums = counts.sum(axis=tuple(other for other in range(counts.ndim) if other != axis))
        jumps[axis] = _jumping(sums, noise_variance * counts.size / cells)
        irregular[axis] = 1.0 - _regular(sums)
    out: np.ndarray = jumps.max() - 2.0 * jumps.min() ** 2 * irregular
    return out


def _jumping(sums: np.ndarray, noise_variance: float) -> float:
    """From 0 to ½: whether the sums at the places along an axis jump, beyond noise and chance.

    In third differences slopes and bends of a smooth density vanish. The sum of their squares, less what noise and
    independent records explain and three of its standard deviations, is compared with the sum of squares.
    """
    chance = noise_variance + np.maximum(sums, 0.0)
    jumps = np.square(np.diff(sums, 3)) / 20.0  # noise keeps its variance
    beyond = jumps.sum() - chance.mean() * len(jumps) - 3.0 * np.sqrt(2.0 * np.sum(np.square(chance)))
    return min(0.5, max(0.0, 2.0 * float(beyond / max(np.sum(np.square(sums)), 1.0))))


def _regular(sums: np.ndarray) -> float:
    """From 0 to 1: whether the jumps repeat after some number of cells, as steps do, more than chance explains.

    That is their autocorrelation at the best lag. Roots and the division by the jumps nearby let a peak and a tail
    count alike. Third differences of independent values have the correlations −3/4, 3/10 and −1/20, and so (Bartlett)
    Σρ² / n = 2.3 / n is the variance of a correlation that is none; the greatest of n/2 such is about √(2 ln n/2)
    standard deviations. Of clumps at random places, 95 % stay below that; from three quarters of it on, it counts.
    """
    jumps = np.diff(np.sqrt(np.maximum(sums, 0.0)), 3)
    n = len(jumps)
    if n < 16 or not jumps.any():  # too few to tell
        return 1.0
    near, widths = _boxes(np.square(jumps), 0, 8)
    near /= widths
    jumps /= np.sqrt(near + 0.03 * near.mean())
    length = fast_length(2 * n)
    alike = np.fft.irfft(np.square(np.abs(np.fft.rfft(jumps, length))), length)[2 : n // 2]
    alike /= np.sum(np.square(jumps))
    alike[0] = (alike[0] - 0.3) / 0.7
    chance = np.sqrt(4.6 * np.log(n / 2) / n)
    return float(np.clip(4.0 * alike.max() / chance - 3.0, 0.0, 1.0))


def _boxes(values: np.ndarray, axis: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums over boxes that reach so many cells to both sides along an axis, and how many cells each box has."""
    n, place = values.shape[axis], np.arange(values.shape[axis])
    first, last = np.maximum(place - reach, 0), np.minimum(place + reach + 1, n)
    widths = (last - first).reshape([-1 if k == axis else 1 for k in range(values.ndim)])
    reach, before = min(reach, n), (slice(None),) * axis
    running = np.zeros([n + 2 * reach + 1 if k == axis else side for k, side in enumerate(values.shape)])
    end = reach + 1 + n
    np.cumsum(values, axis, out=running[(*before, slice(reach + 1, end))])
    running[(*before, slice(end, None))] = running[(*before, slice(end - 1, end))]
    return running[(*before, slice(2 * reach + 1, None))] - running[(*before, slice(n))], widths


def most_records(counts: np.ndarray, noise_variance: float) -> np.ndarray:
    """What a ceiling takes each cell to hold: what its counter says, and two standard deviations of the noise.

    >>> most_records(np.array([-3.0, 10.0]), 4.0)
    array([ 4., 14.])
    """
    most: np.ndarray = np.maximum(counts, 0.0) + 2.0 * np.sqrt(noise_variance)
    return most


def capped(variance: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """A variance by roughness, but no more than the ceiling.

    >>> capped(np.array([9.0, 9.0]), np.array([2.0, 4.0]))
    array([4., 9.])
    """
    return np.minimum(variance, np.square(deviation))


def displacement(k: np.ndarray) -> np.ndarray:
    """(axes, …): h²/12 (∂k)² along each axis from the values on a lattice, on the points that have both neighbours.

    Right at a cusp too.
    """
    middle = (slice(1, -1),) * k.ndim
    out = np.empty((k.ndim, *k[middle].shape))
    for here in tiles(out[0]):
        part = k[here.start : here.stop + 2]
        for axis, found in enumerate(out[:, here]):
            steps = np.diff(part[(*middle[:axis], slice(None), *middle[axis + 1 :])], axis=axis)
            np.square(steps, out=steps)
            steps /= 24.0
            before = (slice(None),) * axis
            np.add(steps[(*before, slice(None, -1))], steps[(*before, slice(1, None))], out=found)
    return out
