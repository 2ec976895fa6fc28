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
of cells around it that the kernel sees as one. For smooth data that is the number of records; for a clump it is its
square.

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

import numpy as np

from scumble.grid.profile import tiles


def roughness(counts: np.ndarray, noise_variance: float, slab: Sequence[int]) -> np.ndarray:
    """(axes, n₁, …, n_d): how much the counters vary along each axis beyond noise.

    Of slabs one cell thick, of cells (at half weight), and of slabs two cells thick: those are for the value that lies
    on an edge and makes a pair of cells with nothing odd about either. For independent records each yields about the
    number of records. Slabs reach `slab` cells to both sides along the other axes, and share what they find among their
    cells.
    """
    out = np.empty((counts.ndim, *counts.shape))
    boxed = [_boxes(counts, side, slab[side]) for side in range(2 if counts.ndim > 1 else 0)]
    for axis in range(counts.ndim):
        if counts.ndim == 1:
            _along(axis, counts, counts, np.ones(1), (), noise_variance, slab, out[axis])
            continue
        side = int(axis == 0)  # across which the grid is taken apart, so that all of a part stays in the cache
        others = [other for other in range(counts.ndim) if other not in (axis, side)]
        for along_side in tiles(counts.swapaxes(side, 0)):
            here = (slice(None),) * side + (along_side,)
            raw, summed, sizes, into = (part[here] for part in (counts, *boxed[side], out[axis]))
            _along(axis, raw, summed, sizes, others, noise_variance, slab, into)
    return out


def _along(
    axis: int,
    counts: np.ndarray,
    boxed: np.ndarray,
    sizes: np.ndarray,
    others: Sequence[int],
    noise_variance: float,
    slab: Sequence[int],
    out: np.ndarray,
) -> None:
    """Put it for one axis into `out`. `boxed` are sums over `sizes` cells along one of the other axes; the rest of
    these are the `others`."""
    for other in others:  # adding up along the others and bending along this one may change places
        boxed, widths = _boxes(boxed, other, slab[other])
        sizes = sizes * widths
    found = _bent(boxed, 1, axis, 1.0 / sizes)
    found += _pairs(_bent(_pairs(_edged(boxed, 1, axis), axis), 2, axis, 0.25 / sizes), axis)
    if counts.ndim > 1:
        found += _bent(counts, 1, axis, 0.5)
    np.subtract(found, (2.5 if counts.ndim > 1 else 2.0) * noise_variance, out=out)


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


def _bent(values: np.ndarray, gap: int, axis: int, share: np.ndarray | float) -> np.ndarray:
    """A share of the square of: value − mean of the two at a distance, scaled so that noise keeps its variance; of a
    lone cell, its own value."""
    if values.shape[axis] <= gap:
        return np.square(values) * share
    before = (slice(None),) * axis
    padded = _edged(values, gap, axis)
    out = padded[(*before, slice(None, -2 * gap))] + padded[(*before, slice(2 * gap, None))]
    out *= -0.5
    out += values
    np.square(out, out=out)
    out *= np.divide(share, 1.5)
    return out


def _edged(values: np.ndarray, gap: int, axis: int) -> np.ndarray:
    """So many cells wider on both sides of an axis, each with what is at the edge."""
    before = (slice(None),) * axis
    first, last = values[(*before, slice(1))], values[(*before, slice(-1, None))]
    return np.concatenate([*[first] * gap, values, *[last] * gap], axis)


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
    alike = np.fft.irfft(np.square(np.abs(np.fft.rfft(jumps, 2 * n))))[2 : n // 2]
    alike /= np.sum(np.square(jumps))
    alike[0] = (alike[0] - 0.3) / 0.7
    chance = np.sqrt(4.6 * np.log(n / 2) / n)
    return float(np.clip(4.0 * alike.max() / chance - 3.0, 0.0, 1.0))


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
            sides = [part[(*middle[:axis], side, *middle[axis + 1 :])] for side in (slice(None, -2), slice(2, None))]
            np.square(sides[0] - part[middle], out=found)
            found += np.square(sides[1] - part[middle])
            found /= 24.0
    return out
