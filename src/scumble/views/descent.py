"""The loop of a fit, compiled, without the interpreter's lock: two fits run on two cores.

Names are those of `fitting`: w (weights), A (stack, K × all groups), both as logarithms, the last column being log w.

    χ² = ½ Σ_ab P_ab (M_ab − Y_ab)² + Σ_a p_a (m_a − y_a)²,    M = Aᵀ diag(w) A,    m = wᵀ A.

Every pair stands twice in the symmetric P and Y, hence the half. With Q = P ∘ (M − Y) and q = p ∘ (m − y),

    ∂χ²/∂A = 2 diag(w) (A Q + q),    ∂χ²/∂w_k = Σ_a A_ka ((A Q)_ka + 2 q_a),

and in logarithms, where each column of A and w itself are normalised, x ∂/∂x minus x times the sum of those.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scumble.machine.compiling import njit

Numbers = npt.NDArray[np.float32]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def slope(
    starts: npt.NDArray[np.int64],
    pairs: Numbers,
    pair_precision: Numbers,
    singles: Numbers,
    single_precision: Numbers,
    cells: int,
    logs: Numbers,
    gradient: Numbers,
) -> float:
    """χ² per cell; its gradient is written into `gradient`."""
    components, groups, columns = logs.shape[0], logs.shape[1] - 1, len(starts)
    stack = np.empty((components, groups), logs.dtype)
    weighed = np.empty_like(stack)
    weights = np.exp(logs[:, groups] - logs[:, groups].max())
    weights /= weights.sum()
    for k in range(components):
        for j in range(columns):
            end = starts[j + 1] if j + 1 < columns else groups
            total = logs[k, 0] * 0
            for a in range(starts[j], end):
                stack[k, a] = np.exp(logs[k, a])
                total += stack[k, a]
            for a in range(starts[j], end):
                stack[k, a] /= total
                weighed[k, a] = weights[k] * stack[k, a]
    pull = np.dot(stack.T, weighed)
    chi = 0.0
    for a in range(groups):
        line = pull[a, 0] * 0
        for b in range(groups):
            off = pull[a, b] - pairs[a, b]
            pull[a, b] = pair_precision[a, b] * off
            line += pull[a, b] * off
        chi += 0.5 * line
    own = np.empty(groups, logs.dtype)
    for a in range(groups):
        own[a] = 0
    for k in range(components):
        for a in range(groups):
            own[a] += weighed[k, a]
    for a in range(groups):
        off = own[a] - singles[a]
        own[a] = single_precision[a] * off
        chi += own[a] * off
    by_pairs = np.dot(stack, pull)
    by_weight = np.zeros_like(weights)
    mean = weights[0] * 0
    for k in range(components):
        for j in range(columns):
            end = starts[j + 1] if j + 1 < columns else groups
            within = logs[k, 0] * 0
            for a in range(starts[j], end):
                gradient[k, a] = 2 * (by_pairs[k, a] + own[a]) * weighed[k, a]
                within += gradient[k, a]
                by_weight[k] += stack[k, a] * (by_pairs[k, a] + 2 * own[a])
            for a in range(starts[j], end):
                gradient[k, a] = (gradient[k, a] - stack[k, a] * within) / cells
        mean += weights[k] * by_weight[k]
    for k in range(components):
        gradient[k, groups] = weights[k] * (by_weight[k] - mean) / cells
    return chi / cells


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def descent(
    starts: npt.NDArray[np.int64],
    pairs: Numbers,
    pair_precision: Numbers,
    singles: Numbers,
    single_precision: Numbers,
    cells: int,
    logs: Numbers,
    goal: float,
    steps: int,
    rate: float,
    near: float,
) -> float:
    """Steps of Adam on `logs` (Kingma & Ba 2015), until χ² per cell reaches the goal; the χ² before the last step.

    Steps grow smaller at the end. Who is not near the goal after half of them will not reach it.
    """
    gradient = np.empty_like(logs)
    first, second = np.zeros_like(logs), np.zeros_like(logs)
    chi = np.inf
    for number in range(steps):
        chi = slope(starts, pairs, pair_precision, singles, single_precision, cells, logs, gradient)
        pace = np.float32(rate * min(1.0, 2.2 - 2 * number / steps) / (1 - 0.9 ** (number + 1)))
        unbiased = np.float32(1 / (1 - 0.99 ** (number + 1)))
        for k in range(logs.shape[0]):
            for a in range(logs.shape[1]):
                first[k, a] += np.float32(0.1) * (gradient[k, a] - first[k, a])
                second[k, a] += np.float32(0.01) * (gradient[k, a] * gradient[k, a] - second[k, a])
                moved = logs[k, a] - pace * first[k, a] / (np.sqrt(unbiased * second[k, a]) + np.float32(1e-12))
                logs[k, a] = min(max(moved, np.float32(-30.0)), np.float32(30.0))
        if chi <= goal or (number == steps // 2 and chi > near * goal):
            break
    return chi
