"""A stream at the gate: noise for each node, once, and the sums published with it.

A stream is charged once, before any noise is drawn (`begin`). Each node, a period or a block of them, has noise of its
own: drawn when it opens, held under its name, and used in one published sum. The method (:mod:`scumble.streams`)
decides a node's exact numbers; its column bounds the cost of all of them (``streams/continual.proof.md``).
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Sequence

import numpy as np

from scumble.gate.gate import require_ones
from scumble.gate.secret import Secret
from scumble.gate.spending import publish_once, require_public_count
from scumble.privacy import audit_hooks
from scumble.privacy.account import Account
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.noise import Integers, require_backend


def begin(secret: Secret, claim: PrivacyClaim, payer: Account | None, payment: str | None = None) -> str:
    """Charge a whole stream before any of its noise is drawn, and return its identity. Nothing is ever refunded."""
    require_ones(secret)
    require_public_count(claim, [secret])
    return str(uuid.uuid4()) if payer is None else payer.charge(claim, payment)


class Nodes:
    """The noise of a stream's nodes: one number per counter of this shape, and one for the count if there is one.

    Each node's noise has a name of its own under the stream's `identity`.
    """

    def __init__(self, claim: PrivacyClaim, shape: tuple[int, ...], identity: str, backend: str = "exact") -> None:
        self._claim, self._shape, self._identity = claim, shape, identity
        self._backend = require_backend(backend)
        self._hidden = claim.scales.count is not None
        self._counted = self._hidden or claim.neighbors == "replace"

    @property
    def size(self) -> int:
        """How many numbers a node has."""
        return math.prod(self._shape) + self._counted

    def exact(self, secret: Secret) -> Integers:
        """The exact numbers of a period: SECRET."""
        counts = secret.counts.ravel()
        return np.append(counts, np.int64(secret.total)) if self._counted else counts.copy()

    def draw(self, node: str) -> Integers:
        """Fresh noise for a node."""
        noise = self._claim.draw_counters(self._shape, backend=self._backend)
        count = self._claim.draw_count(backend=self._backend) if self._hidden else None
        audit_hooks.hold(self._name(node), self._claim, noise, count)
        return self._flat(noise, count)

    def publish(self, node: str, noise: Integers, exact: Integers) -> Integers:
        """A node's exact numbers plus its noise: public."""
        name, out = self._name(node), noise + exact
        publish_once(name, hashlib.sha256(out.tobytes()).hexdigest())
        return self._flat(*audit_hooks.publish(*self._apart(out), name))

    def pin(self, block: str, nodes: Sequence[str], left: Integers) -> Integers:
        """A block's noise less its nodes': public, and independent of the records."""
        return self._flat(*audit_hooks.pin(self._name(block), [self._name(node) for node in nodes], *self._apart(left)))

    def _name(self, node: str) -> str:
        return f"{self._identity} {node}"

    def _flat(self, counters: np.ndarray, count: int | None) -> Integers:
        flat = counters.ravel()
        return np.append(flat, np.int64(count or 0)) if self._counted else flat.copy()

    def _apart(self, flat: Integers) -> tuple[np.ndarray, int | None]:
        size = math.prod(self._shape)
        return flat[:size].reshape(self._shape), int(flat[size]) if self._counted else None
