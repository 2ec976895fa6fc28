"""The loop of a fit: χ², its slope, steps downhill. NumPy alone, in place, mostly outside the interpreter's lock.

Names are those of `fitting` and `targets`: w (weights), A (stack, K × all groups), both as logarithms, the last column
being log w.

    χ² = ½ Σ_ab P_ab (M_ab − Y_ab)² + Σ_a p_a (m_a − y_a)²,    M = Aᵀ diag(w) A,    m = wᵀ A.

Every pair stands twice in the symmetric P and Y, hence the half. With Q = P ∘ (M − Y) and q = p ∘ (m − y),

    ∂χ²/∂A = 2 diag(w) (A Q + q),    ∂χ²/∂w_k = Σ_a A_ka ((A Q)_ka + 2 q_a),

and in logarithms, where each column of A and w itself are normalised, x ∂/∂x minus x times the sum of those.

(A compiled loop is no faster: most of the time goes into the two products. And it takes seven seconds to compile.)
"""

from __future__ import annotations

import numpy as np

from scumble.views.targets import Numbers, Targets

MOMENTUM, MEMORY, TINY, FARTHEST = 0.9, 0.99, np.float32(1e-12), 30.0
"""Adam's constants: how much of the slope and of its square is kept, what is added to the root; and log's limit."""


def distribution(
    targets: Targets, logs: Numbers, stack: Numbers | None = None, room: Numbers | None = None
) -> tuple[Numbers, Numbers]:
    """w and the stack A, the latter in the arrays that are given, if any."""
    weights = np.exp(logs[:, -1] - logs[:, -1].max())
    weights /= weights.sum()
    stack = np.exp(logs[:, :-1], out=stack)
    stack /= _summed(targets, stack, room)
    return weights, stack


def _summed(targets: Targets, stack: Numbers, room: Numbers | None) -> Numbers:
    """In place of each group's number the sum of its column's."""
    sums = np.add.reduceat(stack, targets.starts, axis=1)
    return np.take(sums, targets.column_of, axis=1, out=room, mode="clip")


class Slope:
    """χ² per cell and its gradient in the logarithms, with room for all that is in between.

    Parameters
    ----------
    targets : Targets
        What is to be met.
    logs : ndarray of float32
        (K, S + 1): where the fit is, read anew at each call.
    """

    def __init__(self, targets: Targets, logs: Numbers) -> None:
        self.targets, self.logs, self.gradient = targets, logs, np.empty_like(logs)
        inner = logs[:, :-1]
        self._stack, self._weighed, self._by_pairs, self._room = (np.empty_like(inner, order="C") for _ in range(4))
        self._off, self._pull = (np.empty_like(targets.pairs) for _ in range(2))

    def __call__(self) -> float:
        """χ² per cell; its gradient is then in `gradient`."""
        t, off, pull, by_pairs = self.targets, self._off, self._pull, self._by_pairs
        weights, stack = distribution(t, self.logs, self._stack, self._room)
        weighed = np.multiply(stack, weights[:, None], out=self._weighed)
        np.matmul(stack.T, weighed, out=off)
        off -= t.pairs
        np.multiply(off, t.pair_precision, out=pull)
        own = weighed.sum(axis=0)
        own -= t.singles
        pull_own = own * t.single_precision
        chi = 0.5 * float(np.vdot(pull, off)) + float(np.vdot(pull_own, own))
        np.matmul(stack, pull, out=by_pairs)
        by_pairs += pull_own
        inner = np.multiply(by_pairs, weighed, out=self.gradient[:, :-1])
        inner *= 2 / t.cells
        by_pairs += pull_own
        by_weight = np.einsum("ka,ka->k", stack, by_pairs)
        stack *= _summed(t, inner, self._room)
        inner -= stack
        self.gradient[:, -1] = weights * (by_weight - weights @ by_weight) / t.cells
        return chi / t.cells


def descent(targets: Targets, logs: Numbers, *, goal: float, steps: int, rate: float, near: float) -> float:
    """Steps of Adam on `logs` (Kingma & Ba 2015), until χ² per cell reaches the goal; the χ² before the last step.

    Steps grow smaller at the end. Who is farther than `near` times the goal after half of them goes no further.
    """
    slope = Slope(targets, logs)
    gradient, step = slope.gradient, np.empty_like(logs)
    first, second = np.zeros_like(logs), np.zeros_like(logs)
    chi = np.inf
    for number in range(steps):
        chi = slope()
        pace = rate * min(1.0, 2.2 - 2 * number / steps) / (1 - MOMENTUM ** (number + 1))
        first *= np.float32(MOMENTUM)
        first += np.multiply(gradient, np.float32(1 - MOMENTUM), out=step)
        second *= np.float32(MEMORY)
        gradient *= gradient
        second += np.multiply(gradient, np.float32(1 - MEMORY), out=gradient)
        np.multiply(second, np.float32(1 / (1 - MEMORY ** (number + 1))), out=step)
        np.sqrt(step, out=step)
        step += TINY
        np.divide(first, step, out=step)
        step *= np.float32(pace)
        logs -= step
        np.clip(logs, -FARTHEST, FARTHEST, out=logs)
        if chi <= goal or (number == steps // 2 and chi > near * goal):
            break
    return chi
