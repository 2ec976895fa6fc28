"""The gate: look at everything, charge, draw, add. The one place where counters and noise meet.

The order matters. Whatever can be refused is refused first, at no cost. Then the budget is spent, in the ledger if
there is one. Then noise is drawn for every counter. Only then are the exact counters touched: a failure before that
leaves none of them in a traceback, and a failure after the charge leaves the secret empty. All of it happens with the
secrets' locks held: no other thread counts, reads or releases meanwhile.

Several ways lead through it: `publish` draws noise and adds it; `begin_with_noise` draws it before the first record,
and `finish` gives it out; `publish_share` adds one custodian's share; rows with noise of their own leave in steps
(:mod:`scumble.releasing.steps`), as a plan says (:mod:`scumble.releasing.adaptive`), or after the noisy facts that they
are chosen by (:mod:`scumble.releasing.planned`); and the periods of a stream (:mod:`scumble.releasing.periods`). What
comes out is `Published`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from scumble import files
from scumble.errors import BudgetError, MergeError, PrivacyError
from scumble.machine.owned import Owned
from scumble.privacy import seam
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.noise import require_backend
from scumble.privacy.sensitivity import ONE
from scumble.privacy.splitting import calibrate_shares, draw_count_share, draw_counters_share
from scumble.releasing.secret import NoiseFirst, Secret, held
from scumble.releasing.spending import Prepaid, derived, publish_once, require_public_count, spend

RELEASED = "This sketch has been released, and a sketch can be released only once."


class Published(NamedTuple):
    """What leaves the gate: noisy counters, and what is promised and known of them. Public."""

    counts: np.ndarray
    privacy: PrivacyClaim
    noisy_count: int | None
    counter_variance: float
    count_variance: float
    identity: str


@contextmanager
def or_give_up(secrets: Sequence[Secret], why: str) -> Iterator[None]:
    """After the budget is spent: whatever goes wrong now leaves no exact counter behind."""
    try:
        yield
    except BaseException:
        for secret in secrets:
            secret.give_up(why)
        raise


def require_ledger(keep: bool, payer: Account | Prepaid | None) -> None:
    """Refuse to keep counters for a further release that nobody would add up."""
    if keep and not isinstance(payer, Account):
        raise BudgetError("A further release needs a ledger with budget left. Hint: pass ledger=... and dataset=...")


def close(secrets: Sequence[Secret], keep: bool) -> None:
    """After a release: empty the secrets, or open them again."""
    for secret in secrets:
        if keep:
            secret.closed = ""
        else:
            secret.give_up(RELEASED)


def publish(
    secrets: Sequence[Secret],
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    backend: str = "exact",
    keep: bool = False,
) -> list[Published]:
    """Add noise to secrets of disjoint records, one per class, for the price of one (parallel composition).

    One person's records may be spread over several of them: together there are at most `budget.records_per_person`.
    All have equal specs, so all are published with one claim, which is charged once: to an account, or to what was
    prepaid. Afterwards the secrets are empty, unless they are to `keep` their counters for a further, charged release.
    """
    require_ledger(keep, payer)
    with held(secrets):
        require_disjoint(secrets, budget, backend)
        calibration = budget.calibrate(secrets[0].spec.rows, reach=secrets[0].spec.reach)
        identity = spend(secrets, calibration.claim, payer, "release")
        with or_give_up(secrets, "Its release failed after the budget was spent."):
            drawn = []
            for secret in secrets:
                noise = calibration.draw_counters(secret.counts.shape, backend=backend)
                drawn.append((noise, calibration.draw_count(backend=backend) if calibration.count_scale else None))
            published = []
            for k, (secret, (noise, count)) in enumerate(zip(secrets, drawn, strict=True)):
                name = derived(identity, f"class {k}", len(secrets))
                seam.hold(name, calibration.claim, noise, count)
                total = secret.add_to(noise)
                noisy = total if budget.neighbors == "replace" else (None if count is None else total + count)
                counts, noisy = seam.publish(noise, noisy, name)
                variances = calibration.counter_variance, calibration.count_variance or 0.0
                published.append(Published(counts, calibration.claim, noisy, *variances, name))
        close(secrets, keep)
        return published


def begin_with_noise(
    secrets: Sequence[Secret], budget: Budget, payer: Account | None = None, *, backend: str = "exact"
) -> None:
    """Draw the noise of empty secrets of disjoint records, one per class, for the price of one."""
    with held(secrets):
        require_disjoint(secrets, budget, backend)
        calibration = budget.calibrate(secrets[0].spec.rows, reach=secrets[0].spec.reach)
        for secret in secrets:
            secret.require_open("start_with_noise")
            if secret.noise is not None or secret.touched or len(secret.lineage) != 1:
                raise PrivacyError("Noise comes first, before the first record. Hint: begin with a new sketch.")
        identity = spend(secrets, calibration.claim, payer, "start_with_noise")
        with or_give_up(secrets, "Drawing its noise failed."):
            for k, secret in enumerate(secrets):
                noise = calibration.draw_counters(secret.counts.shape, backend=backend)
                hidden = calibration.count_scale is not None
                count = calibration.draw_count(backend=backend) if hidden else None
                name = derived(identity, f"class {k}", len(secrets))
                seam.hold(name, calibration.claim, noise, count)
                # Into the one array that the records will be added to, and nowhere else.
                secret.counts += noise
                noise.fill(0)
                secret.noise = NoiseFirst(
                    calibration.claim,
                    name,
                    0 if budget.neighbors == "replace" else count,
                    calibration.counter_variance,
                    calibration.count_variance or 0.0,
                )
        for secret in secrets:
            secret.closed = ""


def finish(secret: Secret) -> Published:
    """Give out a secret that began with noise: once, by one process, however many have loaded its file."""
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
        counts, count = seam.publish(mine, noise.count, noise.identity)
        return Published(counts, noise.claim, count, noise.counter_variance, noise.count_variance, noise.identity)


def _digest(counts: np.ndarray, count: int | None) -> str:
    return hashlib.sha256(counts.tobytes() + repr(count).encode()).hexdigest()


def keep_noise(secret: Secret, home: str, *, finished: bool = False) -> None:
    """Write a secret that began with noise over its file `home`, unless another process has released that.

    Its lock is held from reading it to writing it. What a `finished` one holds is the release and no more: to read it
    again gives the same release.
    """
    assert secret.noise is not None
    file = Owned(home, only=True)
    if not os.path.exists(home):
        raise BudgetError(
            f"The file {home!r}, in which this sketch is kept, is gone; another process may have released it. "
            "Hint: query the release that there is; that is free."
        )
    try:
        if not file.take():
            raise _another_has(home)
        found = files.read(home, expect="secret")
        there = NoiseFirst.from_dict(found.metadata.get("noise_first"), secret.spec.rows)
        content = _digest(secret.counts, secret.noise.count)
        gone = there.finished and _digest(found.arrays["counts"], there.count) != content
        if gone or there.identity != secret.noise.identity:
            raise BudgetError(
                f"The sketch in {home!r} has been released, with other records. Hint: query that release; that is free."
            )
        secret.noise.finished = there.finished or finished
        if not file.write(files.bytes_of("secret", *secret.contents(), bound=True)):
            raise _another_has(home)
    finally:
        file.let_go()


def _another_has(home: str) -> BudgetError:
    return BudgetError(
        f"Another process is using the file {home!r}, in which this sketch is kept, and its noise can be released only "
        "once. Hint: wait for it."
    )


def publish_share(
    secret: Secret, budget: Budget, payer: Account | None = None, *, custodians: int, dropouts: int
) -> Published:
    """Add one custodian's share of the noise; see `Sketch.release_share`."""
    with held([secret]):
        secret.require_open("release_share")
        require_ones(secret)
        if secret.noise is not None:
            raise PrivacyError("This sketch has its full noise already. Hint: call release().")
        claim = calibrate_shares(
            secret.spec.rows,
            custodians=custodians,
            dropouts=dropouts,
            epsilon=budget.epsilon if budget.rho is None else None,
            delta=budget.delta,
            rho=budget.rho,
            neighbors=budget.neighbors,
            records_per_person=budget.records_per_person,
            count_share=budget.count_share,
        )
        identity = spend([secret], claim, payer, "release_share")
        with or_give_up([secret], "Its release failed after the budget was spent."):
            noise = draw_counters_share(claim, secret.counts.shape)
            count = draw_count_share(claim) if claim.exact_count_scale is not None else None
            seam.hold(identity, claim, noise, count)
            total = secret.add_to(noise)
        secret.give_up(RELEASED)
        if count is not None:
            count += total
        elif budget.neighbors == "replace":
            count = total
        return Published(noise, claim, count, 0.0, 0.0, identity)


def require_ones(*secrets: Secret) -> None:
    """Refuse moments where noise is made for counters that a record moves by one."""
    if any(secret.spec.reach != ONE for secret in secrets):
        raise PrivacyError("This way out is for counters that each record moves by one; moments have their own.")


def require_disjoint(secrets: Sequence[Secret], budget: Budget, backend: str) -> None:
    """Refuse secrets that cannot be released for the price of one, at no cost."""
    first = secrets[0]
    for other in secrets[1:]:
        first.spec.require_equal(other.spec)
    if sum(len(secret.lineage) for secret in secrets) > len({one for each in secrets for one in each.lineage}):
        raise MergeError("Cannot release as disjoint: two of the sketches hold the same records.")
    if len(secrets) > 1 and budget.neighbors == "replace":
        raise PrivacyError("Classes do not go with neighbors='replace': a changed record may change its class.")
    require_backend(backend)
