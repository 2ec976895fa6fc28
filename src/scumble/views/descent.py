"""The loop of a fit: χ², its slope, steps downhill. NumPy alone, in place, mostly outside the interpreter's lock.

Names are those of `fitting` and `targets`: w (weights) and A (all groups × K), both as logarithms, log w being the last
row. That row is one more group, which all records are in: with

    s = √w A,    M = s sᵀ

the table of every pair is a block of M, and the single columns are its last row. χ² per cell is ¼ Σ_ab P_ab (M_ab −
Y_ab)², where everything stands twice in the symmetric P and Y, and P is twice the inverse variance, over the number of
cells. Its slope in s is P ∘ (M − Y) s. From there to logarithms, with D = s ∘ slope,

    ∂/∂log A_ak = D_ak − A_ak Σ_b D_bk,    ∂/∂log w_k = T_k − w_k Σ_l T_l,    T_k = ½ Σ_a D_ak,

where b goes over the groups of a's column: they sum to one, as w does.

M is symmetric: of a block of its rows only what is right of the diagonal is computed, used twice, and forgotten; where
little was measured, only that (`Targets.blocks`).

(A compiled loop is no faster: most of the time goes into the products. And it takes seven seconds to compile.)
"""

from __future__ import annotations

import numpy as np

from scumble.views.targets import Block, Numbers, Targets

KEPT, TINY, FARTHEST = 0.9, np.float32(1e-12), 30.0
"""How much of the slope, and of its square, is kept for the next step; what is added to the root; and log's limit.

Adam's usual .99 or .999 of squares is for slopes that chance has made. These are exact, and fall by thousands on the
way down: whoever remembers the first squares for long goes too slowly ever after."""


def distribution(targets: Targets, logs: Numbers) -> tuple[Numbers, Numbers]:
    """w and A."""
    weights, roots = _roots(targets, logs, np.empty_like(logs), np.empty_like(logs))
    return weights, roots[:-1] / roots[-1]


def _roots(targets: Targets, logs: Numbers, roots: Numbers, room: Numbers) -> tuple[Numbers, Numbers]:
    """w and s, the latter in the array that is given."""
    np.exp(logs, out=roots)
    weights = roots[-1] / roots[-1].sum()
    scale = np.sqrt(weights) / (targets.columns @ roots)
    roots *= np.take(scale, targets.column_of, axis=0, out=room, mode="clip")
    return weights, roots


class Slope:
    """χ² per cell and its gradient in the logarithms, with room for all that is in between.

    Parameters
    ----------
    targets : Targets
        What is to be met.
    logs : ndarray of float32
        (S + 1, K): where the fit is, read anew at each call.
    """

    def __init__(self, targets: Targets, logs: Numbers) -> None:
        self.targets, self.logs, self.gradient = targets, logs, np.empty_like(logs)
        self._s, self._room = np.empty_like(logs), np.empty_like(logs)
        size = max(block.shares.size for block in targets.blocks)
        self._off, self._pull = (np.empty(size, logs.dtype) for _ in range(2))

    def __call__(self) -> float:
        """χ² per cell; its gradient is then in `gradient`."""
        t, slope = self.targets, self.gradient
        weights, s = _roots(t, self.logs, self._s, self._room)
        slope[:] = 0
        chi = sum(self._block(s, block) for block in t.blocks)
        slope *= s
        sums = t.columns @ slope
        by_weight = sums.sum(axis=0) / 2
        sums /= s[-1]
        s *= np.take(sums, t.column_of, axis=0, out=self._room, mode="clip")
        slope -= s
        slope[-1] = by_weight - weights * by_weight.sum()
        return chi

    def _block(self, s: Numbers, block: Block) -> float:
        """What some rows of M and, by symmetry, their columns add to χ² and to the slope in s."""
        shape, size = block.shares.shape, block.shares.size
        off, pull = self._off[:size].reshape(shape), self._pull[:size].reshape(shape)
        mine, beside = s[block.rows], s[block.beside]
        np.matmul(mine, beside.T, out=off)
        off -= block.shares
        np.multiply(off, block.precision, out=pull)
        self.gradient[block.rows] += np.matmul(pull, beside, out=self._room[block.rows])
        chi = float(np.vdot(pull, off)) / 2
        if shape[1] > shape[0]:
            room = self._room[: shape[1] - shape[0]]
            self.gradient[block.others] += np.matmul(pull[:, shape[0] :].T, mine, out=room)
        square = slice(shape[0])
        return chi - float(np.einsum("ab,ab->", pull[:, square], off[:, square])) / 4


def descent(targets: Targets, logs: Numbers, *, goal: float, steps: int, rate: float) -> float:
    """Steps of Adam on `logs` (Kingma & Ba 2015), until χ² per cell reaches the goal; the last χ² that was seen.

    They grow smaller in the second half: large steps go round the bottom, and small ones down to it.
    """
    slope = Slope(targets, logs)
    gradient, first, second = slope.gradient, np.zeros_like(logs), np.zeros_like(logs)
    chi = np.inf
    for number in range(steps):
        chi = slope()
        if chi <= goal:
            break
        kept = (1 - KEPT) / (1 - KEPT ** (number + 1))  # makes sums of slopes their mean
        pace = rate * min(1.0, 2 * (1 - number / steps)) * kept**0.5
        first *= np.float32(KEPT)
        first += gradient
        second *= np.float32(KEPT)
        gradient *= gradient
        second += gradient
        step = np.sqrt(second, out=gradient)
        step += TINY
        np.divide(first, step, out=step)
        step *= np.float32(pace)
        logs -= step
        np.clip(logs, -FARTHEST, FARTHEST, out=logs)
    return chi
