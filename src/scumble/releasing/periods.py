"""A stream at the gate: noise for each node, once, and the sums that leave with it.

A stream is charged once, before the first noise is drawn (`begin`). Then each of its nodes, a period or a block of
them, has noise of its own: drawn when it opens, held under its name, and used in one published sum. What a node's exact
numbers are is the method's business (:mod:`scumble.continual`); that all of them together cost no more than the claim
is its column's. The proof is ``continual/continual.proof.md``.
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Sequence

import numpy as np

from scumble.privacy import seam
from scumble.privacy.account import Account
from scumble.privacy.calibration import Calibration
from scumble.privacy.noise import Integers, require_backend
from scumble.releasing.gate import require_ones
from scumble.releasing.secret import Secret
from scumble.releasing.spending import publish_once, require_public_count


def begin(secret: Secret, calibration: Calibration, payer: Account | None, payment: str | None = None) -> str:
    """Charge a whole stream, before any of its noise is drawn; gives its identity. Nothing is ever refunded."""
    require_ones(secret)
    require_public_count(calibration.claim, [secret])
    return str(uuid.uuid4()) if payer is None else payer.charge(calibration.claim, payment)


class Nodes:
    """The noise of a stream's nodes: one number for each counter, and one for the count if there is one.

    Parameters
    ----------
    calibration : Calibration
        The scales, and the claim that they justify.
    shape : tuple of int
        The shape of the counters.
    identity : str
        The stream's, under which each node's noise has a name of its own.
    backend : str
        What draws.
    """

    def __init__(self, calibration: Calibration, shape: tuple[int, ...], identity: str, backend: str = "exact") -> None:
        self._calibration, self._shape, self._identity = calibration, shape, identity
        self._backend = require_backend(backend)
        self._hidden = calibration.count_scale is not None
        self._counted = self._hidden or calibration.claim.neighbors == "replace"

    @property
    def size(self) -> int:
        """How many numbers a node has."""
        return math.prod(self._shape) + self._counted

    def exact(self, secret: Secret) -> Integers:
        """The numbers of a period, SECRET."""
        counts = secret.counts.ravel()
        return np.append(counts, np.int64(secret.total)) if self._counted else counts.copy()

    def draw(self, node: str) -> Integers:
        """Fresh noise for a node."""
        noise = self._calibration.draw_counters(self._shape, backend=self._backend)
        count = self._calibration.draw_count(backend=self._backend) if self._hidden else None
        seam.hold(self._name(node), self._calibration.claim, noise, count)
        return self._flat(noise, count)

    def publish(self, node: str, noise: Integers, exact: Integers) -> Integers:
        """A node's exact numbers with its noise: public."""
        name, out = self._name(node), noise + exact
        publish_once(name, hashlib.sha256(out.tobytes()).hexdigest())
        return self._flat(*seam.publish(*self._apart(out), name))

    def pin(self, block: str, nodes: Sequence[str], left: Integers) -> Integers:
        """A block's noise less its nodes': public, and no number of any record is in it."""
        return self._flat(*seam.pin(self._name(block), [self._name(node) for node in nodes], *self._apart(left)))

    def _name(self, node: str) -> str:
        return f"{self._identity} {node}"

    def _flat(self, counters: np.ndarray, count: int | None) -> Integers:
        flat = counters.ravel()
        return np.append(flat, np.int64(count or 0)) if self._counted else flat.copy()

    def _apart(self, flat: Integers) -> tuple[np.ndarray, int | None]:
        size = math.prod(self._shape)
        return flat[:size].reshape(self._shape), int(flat[size]) if self._counted else None
