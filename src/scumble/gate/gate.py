"""The gate: check everything, charge, draw, add. The one place where counters and noise meet.

The order matters. Everything that can be refused is refused first, at no cost; then the budget is spent, in the ledger
if there is one; then noise is drawn for every counter; only then are the exact counters touched. A failure after the
charge empties the secret. The locks are held throughout.

`publish` draws noise and adds it; `begin_with_noise` draws it before the first record, and `finish` releases it;
`publish_share` adds one custodian's share. A stream is charged once (`begin`), and each of its `Nodes` has noise of its
own, which is used in one published sum (``streams/continual.proof.md``). Other ways through the gate:
:mod:`scumble.gate.rows` and :mod:`scumble.density.planned_release`.
"""

from __future__ import annotations

import hashlib
import math
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, NoReturn, Self

import numpy as np

from scumble import files
from scumble.checks import Json
from scumble.errors import BudgetError, MergeError, PrivacyError, parameter
from scumble.files.places import Owned
from scumble.gate.secret import NoiseFirst, Secret, Shape, held
from scumble.gate.spending import Prepaid, derived, publish_once, require_public_count, spend
from scumble.privacy import audit_hooks
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.noise import Integers, require_backend
from scumble.privacy.sensitivity import ONE
from scumble.privacy.splitting import calibrate_shares, draw_count_share, draw_counters_share

RELEASED = "This sketch has been released, and a sketch can be released only once."


class Published(NamedTuple):
    """What leaves the gate: noisy counters with their claim. Public."""

    counts: np.ndarray
    privacy: PrivacyClaim
    noisy_count: int | None
    counter_variance: float
    count_variance: float
    identity: str


@contextmanager
def releasing(
    secrets: Sequence[Secret], claim: PrivacyClaim, payer: Account | Prepaid | None, verb: str, *, keep: bool = False
) -> Iterator[str]:
    """Pay for secrets and give the identity of their release. Any failure wipes the exact counters.

    Afterwards they are empty, or open again if they `keep` their counters.
    """
    identity = spend(secrets, claim, payer, verb)
    try:
        yield identity
    except BaseException:
        for secret in secrets:
            secret.give_up("Its release failed after the budget was spent.")
        raise
    for secret in secrets:
        if keep:
            secret.closed = ""
        else:
            secret.give_up(RELEASED)


def drawn(claim: PrivacyClaim, shape: tuple[int, ...], backend: str) -> tuple[Integers, int | None]:
    """Fresh noise for the counters, and for the count if that is hidden."""
    noise = claim.draw_counters(shape, backend=backend)
    return noise, claim.draw_count(backend=backend) if claim.scales.count else None


def names_of(identity: str, secrets: Sequence[Secret]) -> list[str]:
    """The identity of each release that was paid for together."""
    return [derived(identity, f"class {k}", len(secrets)) for k in range(len(secrets))]


def require_ledger(keep: bool, payer: Account | Prepaid | None) -> None:
    """Refuse to keep counters for another release unless a ledger adds up the costs."""
    if keep and not isinstance(payer, Account):
        raise BudgetError("A further release needs a ledger with budget left. Hint: pass ledger=... and dataset=...")


def publish(
    secrets: Sequence[Secret],
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    backend: str = "exact",
    keep: bool = False,
) -> list[Published]:
    """Add noise to secrets of disjoint records, one per class, for the price of one (parallel composition).

    A person has at most `budget.records_per_person` records in all of them together. All specs are equal, so one claim
    is charged once. Afterwards the secrets are empty, unless they `keep` their counters for a further, charged release.
    """
    require_ledger(keep, payer)
    with held(secrets):
        claim, published = _priced(secrets, budget, backend), []
        with releasing(secrets, claim, payer, "release", keep=keep) as identity:
            pairs = [drawn(claim, secret.counts.shape, backend) for secret in secrets]
            for secret, name, (noise, count) in zip(secrets, names_of(identity, secrets), pairs, strict=True):
                audit_hooks.hold(name, claim, noise, count)
                total = secret.add_to(noise)
                noisy = total if budget.neighbors == "replace" else (None if count is None else total + count)
                counts, noisy = audit_hooks.publish(noise, noisy, name)
                variances = claim.counter_variance, claim.count_variance or 0.0
                published.append(Published(counts, claim, noisy, *variances, name))
        return published


def _priced(secrets: Sequence[Secret], budget: Budget, backend: str) -> PrivacyClaim:
    """What these secrets cost together."""
    require_disjoint(secrets, budget, backend)
    require_one_each(secrets[0].spec)
    return budget.claim(secrets[0].spec.rows, reach=secrets[0].spec.reach)


def begin_with_noise(
    secrets: Sequence[Secret], budget: Budget, payer: Account | None = None, *, backend: str = "exact"
) -> None:
    """Draw the noise of empty secrets of disjoint records, one per class, for the price of one."""
    with held(secrets):
        claim = _priced(secrets, budget, backend)
        for secret in secrets:
            secret.require_open("start_with_noise")
            if secret.noise is not None or secret.touched or len(secret.lineage) != 1:
                raise PrivacyError("Noise comes first, before the first record. Hint: begin with a new sketch.")
        with releasing(secrets, claim, payer, "start_with_noise", keep=True) as identity:
            for secret, name in zip(secrets, names_of(identity, secrets), strict=True):
                noise, count = drawn(claim, secret.counts.shape, backend)
                audit_hooks.hold(name, claim, noise, count)
                # Noise is kept only in the array that the records will be added to.
                secret.counts += noise
                noise.fill(0)
                known = 0 if budget.neighbors == "replace" else count
                variances = claim.counter_variance, claim.count_variance or 0.0
                secret.noise = NoiseFirst(claim, name, known, *variances)


def finish(secret: Secret) -> Published:
    """Release a secret that began with noise: once, by one process, even if several have loaded its file."""
    with held([secret]):
        secret.require_open("release")
        noise = secret.noise
        assert noise is not None and not secret.planned, "noise goes to counters that are fixed"
        require_public_count(noise.claim, [secret])
        if secret.home is not None:
            keep_noise(secret, secret.home, finished=True)
        publish_once(noise.identity, _digest(secret.counts, noise.count))
        secret.closed = RELEASED
        mine, secret.counts = secret.counts, np.zeros((0, 0), np.int64)
        counts, count = audit_hooks.publish(mine, noise.count, noise.identity)
        return Published(counts, noise.claim, count, noise.counter_variance, noise.count_variance, noise.identity)


def _digest(counts: np.ndarray, count: int | None) -> str:
    return hashlib.sha256(counts.tobytes() + repr(count).encode()).hexdigest()


def keep_noise(secret: Secret, home: str, *, finished: bool = False) -> None:
    """Write a secret that began with noise over its file `home`, unless another process has released that.

    The file's lock is held from reading to writing. A `finished` file holds just the release.
    """
    assert secret.noise is not None
    file = Owned(home, only=True)
    if not os.path.exists(home):
        raise BudgetError(f"The sketch's file {home!r} is gone: perhaps it was released. Hint: query that release.")
    try:
        if not file.take():
            raise _another_has(home)
        found = files.read(home, expect="secret")
        there = NoiseFirst.from_dict(found.metadata.get("noise_first"), secret.spec.rows)
        content = _digest(secret.counts, secret.noise.count)
        gone = there.finished and _digest(found.arrays["counts"], there.count) != content
        if gone or there.identity != secret.noise.identity:
            raise BudgetError(f"The sketch in {home!r} was released with other records. Hint: query that release.")
        secret.noise.finished = there.finished or finished
        if not file.write(files.bytes_of("secret", *secret.contents(), bound=True)):
            raise _another_has(home)
    finally:
        file.let_go()


def _another_has(home: str) -> BudgetError:
    return BudgetError(f"Another process is using the sketch's file {home!r}. Hint: wait for it.")


def publish_share(
    secret: Secret, budget: Budget, payer: Account | None = None, *, custodians: int, dropouts: int
) -> Published:
    """Add one custodian's share of the noise; see `Sketch.release_share`."""
    with held([secret]):
        secret.require_open("release_share")
        require_ones(secret)
        if secret.noise is not None:
            raise PrivacyError("This sketch has its full noise already. Hint: call release().")
        claim = calibrate_shares(secret.spec.rows, budget, custodians=custodians, dropouts=dropouts)
        with releasing([secret], claim, payer, "release_share") as identity:
            noise = draw_counters_share(claim, secret.counts.shape)
            count = draw_count_share(claim) if claim.exact_count_scale is not None else None
            audit_hooks.hold(identity, claim, noise, count)
            total = secret.add_to(noise)
        if count is not None or budget.neighbors == "replace":
            count = total + (count or 0)
        return Published(noise, claim, count, 0.0, 0.0, identity)


def require_ones(*secrets: Secret) -> None:
    """Refuse moments, and rows in which a record touches several counters, where a record is to move one by one."""
    require_counts(*secrets)
    require_one_each(*(secret.spec for secret in secrets))


def require_counts(*secrets: Secret) -> None:
    """Refuse moments where the noise is for counters that a record moves by one."""
    if any(secret.spec.reach != ONE for secret in secrets):
        raise PrivacyError("Moments cannot be released this way. Hint: call release().")


def require_one_each(*specs: Shape) -> None:
    """Refuse rows in which a record touches several counters where no row has a scale of its own."""
    if any(spec.touches for spec in specs):
        raise PrivacyError("Columns of tokens cannot be released this way. Hint: call release(), or leave them out.")


def require_disjoint(secrets: Sequence[Secret], budget: Budget, backend: str) -> None:
    """Refuse secrets that cannot be released for the price of one, at no cost."""
    first = secrets[0]
    for other in secrets[1:]:
        first.spec.require_equal(other.spec)
    if sum(len(secret.lineage) for secret in secrets) > len({one for each in secrets for one in each.lineage}):
        raise MergeError("Cannot release as disjoint: two sketches hold the same records.")
    if len(secrets) > 1 and budget.neighbors == "replace":
        raise PrivacyError("Classes need neighbors='add-remove': a replaced record may change its class.")
    require_backend(backend)


class Holder:
    """The part of a sketch that holds its secret."""

    secret: Secret
    dropped: int

    def _hold(self, secret: Secret) -> None:
        self.secret = secret
        """The exact counters, for the gate alone."""
        self.dropped = 0
        """Rows dropped as invalid so far: for the curator only."""

    @property
    def count(self) -> int:
        """The exact number of records: secret."""
        with self.secret.lock:
            self._require_exact("count")
            return self.secret.total

    def merge(self, other: Self) -> Self:
        """Add another sketch's counters to this one's: exactly the sketch of both tables together."""
        if not isinstance(other, type(self)):
            kind = type(self).__name__
            raise parameter("other", f"a {kind}", type(other).__name__, "two releases merge with Release.merge.")
        self.secret.merge(other.secret)
        self.dropped += other.dropped
        return self

    @property
    def noisy(self) -> bool:
        """Whether `start_with_noise` has added the noise already."""
        return self.secret.noise is not None

    def _require_exact(self, verb: str) -> None:
        self.secret.require_open(verb)
        self.secret.require_exact()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the exact counters to a secret file, mode 0600, to merge them elsewhere. By convention ``.secret``."""
        secret = self.secret
        with secret.lock:
            if secret.home not in (None, os.path.realpath(path)):
                raise PrivacyError(f"A sketch with noise is kept in {secret.home!r} alone. Hint: save it there.")
            if secret.home is not None:
                keep_noise(secret, secret.home)
                return
            files.write(path, "secret", *secret.contents(), secret=True, bound=self.noisy)
            if self.noisy:
                secret.home = os.path.realpath(path)

    def to_bytes(self) -> bytes:
        """The bytes that `save` would write: secret."""
        if self.noisy:
            raise PrivacyError("This sketch began with noise, so it is kept in one file. Hint: call save().")
        return files.to_bytes("secret", *self.contents())

    def contents(self) -> tuple[Json, dict[str, np.ndarray]]:
        """What a secret file holds, metadata and arrays: for `save` and for checkpoints."""
        return self.secret.contents()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        hint = "Hint: `sketch.save('part.secret')` writes a secret file; `sketch.release(epsilon=...)` makes it public."
        raise PrivacyError(f"A {type(self).__name__} cannot be pickled or copied, as it holds exact counters. {hint}")


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
        self._counted = claim.scales.count is not None or claim.neighbors == "replace"

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
        noise, count = drawn(self._claim, self._shape, self._backend)
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
