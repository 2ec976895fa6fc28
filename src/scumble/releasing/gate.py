"""From sketches to releases: look at everything, charge, draw, add. The one place where counters and noise meet.

The order matters. Whatever can be refused is refused first, at no cost. Then the budget is spent, in the ledger if
there is one. Then noise is drawn for every counter. Only then are the exact counters touched: a failure before that
leaves none of them in a traceback, and a failure after the charge leaves the sketch empty. All of it happens with the
sketches' locks held: no other thread counts, reads or releases meanwhile.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble import files
from scumble.errors import BudgetError, CorruptFileError, MergeError, ParameterError, PrivacyError
from scumble.machine import places
from scumble.privacy import seam
from scumble.privacy.calibration import DEFAULT_COUNT_SHARE, Calibration, calibrate
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number
from scumble.privacy.noise import require_backend
from scumble.privacy.splitting import calibrate_shares, draw_count_share, draw_counters_share
from scumble.release import Release
from scumble.releasing.share import Share
from scumble.releasing.spending import Prepaid, charging, derived, publish_once, require_public_count, spend

if TYPE_CHECKING:
    from scumble.privacy.ledger import Ledger
    from scumble.sketch import Sketch


@dataclass
class NoiseFirst:
    """What is known of a sketch whose noise was drawn first. `count` is the noisy count so far; None: there is none."""

    claim: PrivacyClaim
    identity: str
    count: int | None
    counter_variance: float
    count_variance: float
    finished: bool = False
    """Whether it was released: then no record can be added."""

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "claim": self.claim.to_dict()}

    @staticmethod
    def from_dict(data: Any, rows: int) -> NoiseFirst:
        try:
            found = NoiseFirst(**{**data, "claim": PrivacyClaim.from_dict(data["claim"])})
            if not all(
                type(v) in (int, float) and 0 <= v < 1e300 for v in (found.counter_variance, found.count_variance)
            ):
                raise TypeError
            if found.count is not None and (type(found.count) is not int or abs(found.count) >= 2**62):
                raise TypeError
            if type(found.identity) is not str or type(found.finished) is not bool or found.claim.rows != rows:
                raise TypeError
        except (KeyError, TypeError, ValueError, OverflowError):
            raise CorruptFileError("The file lacks a part of a sketch that began with noise.") from None
        return found


@contextmanager
def held(sketches: Sequence[Sketch]) -> Iterator[None]:
    """All locks of these sketches, always in the same order: two threads cannot wait for each other."""
    with ExitStack() as locks:
        for _, sketch in sorted({id(sketch): sketch for sketch in sketches}.items()):
            locks.enter_context(sketch._lock)
        yield


@contextmanager
def _or_give_up(sketches: Sequence[Sketch], why: str) -> Iterator[None]:
    """After the budget is spent: whatever goes wrong now leaves no exact counter behind."""
    try:
        yield
    except BaseException:
        for sketch in sketches:
            sketch._give_up(why)
        raise


def begin_with_noise(
    sketches: Sequence[Sketch],
    epsilon: Number | None = None,
    delta: Number = 0.0,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    *,
    count_share: Number | None = None,
    backend: str = "exact",
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    part: str | None = None,
) -> None:
    """`Sketch.start_with_noise` for sketches of disjoint records, one per class, for the price of one."""
    with held(sketches):
        calibration = _calibration(sketches, epsilon, delta, neighbors, records_per_person, count_share, backend)
        for sketch in sketches:
            sketch._require_open("start_with_noise")
            if sketch._noise is not None or sketch._touched or len(sketch._lineage) != 1:
                raise PrivacyError("Noise comes first, before the first record. Hint: begin with a new sketch.")
        identity = spend(sketches, calibration.claim, charging(ledger, dataset, part), "start_with_noise")
        with _or_give_up(sketches, "Drawing its noise failed."):
            for k, sketch in enumerate(sketches):
                noise = calibration.draw_counters(sketch._counts.shape, backend=backend)
                hidden = calibration.count_scale is not None
                count = calibration.draw_count(backend=backend) if hidden else None
                name = derived(identity, f"class {k}", len(sketches))
                seam.hold(name, calibration.claim, noise, count)
                # Into the one array that the records will be added to, and nowhere else.
                sketch._counts += noise
                noise.fill(0)
                sketch._noise = NoiseFirst(
                    calibration.claim,
                    name,
                    0 if neighbors == "replace" else count,
                    calibration.counter_variance,
                    calibration.count_variance or 0.0,
                )
        for sketch in sketches:
            sketch._closed = ""


def finish(sketch: Sketch) -> Release:
    """The release of a sketch that began with noise: once, by one process, however many have loaded its file."""
    with held([sketch]):
        sketch._require_open("release")
        noise = sketch._noise
        assert noise is not None
        require_public_count(noise.claim, [sketch])
        if sketch._home is not None:
            keep_noise(sketch, sketch._home, finished=True)
        publish_once(noise.identity, _digest(sketch._counts, noise.count))
        sketch._closed = "This sketch has been released, and a sketch is released once."
        mine, sketch._counts = sketch._counts, np.zeros((0, 0), np.int64)
        counts, count = seam.publish(mine, noise.count, noise.identity)
        return Release(
            sketch._spec,
            counts,
            noise.claim,
            noisy_count=count,
            counter_variance=noise.counter_variance,
            count_variance=noise.count_variance,
            identity=noise.identity,
            engine=sketch._engine,
        )


def _digest(counts: np.ndarray, count: int | None) -> str:
    return hashlib.sha256(counts.tobytes() + repr(count).encode()).hexdigest()


def keep_noise(sketch: Sketch, home: str, *, finished: bool = False) -> None:
    """Write a sketch that began with noise over its file `home`, unless another process has released that.

    Its lock is held from reading it to writing it. What a `finished` one holds is the release and no more: to read it
    again gives the same release.
    """
    assert sketch._noise is not None
    file = places.Owned(home)
    if not os.path.exists(home):
        raise BudgetError(
            f"The file {home!r}, in which this sketch is kept, is gone; another process may have released it. "
            "Hint: query the release that there is; that is free."
        )
    try:
        if not file.take():
            raise _another_has(home)
        found = files.read(home, expect="secret")
        there = NoiseFirst.from_dict(found.metadata.get("noise_first"), sketch._spec.rows)
        content = _digest(sketch._counts, sketch._noise.count)
        gone = there.finished and _digest(found.arrays["counts"], there.count) != content
        if gone or there.identity != sketch._noise.identity:
            raise BudgetError(
                f"The sketch in {home!r} has been released, with other records. Hint: query that release; that is free."
            )
        sketch._noise.finished = there.finished or finished
        if not file.write(files.bytes_of("secret", *sketch.contents(), bound=True)):
            raise _another_has(home)
    finally:
        file.let_go()


def _another_has(home: str) -> BudgetError:
    return BudgetError(
        f"Another process uses the file {home!r} just now, in which this sketch is kept, and its noise is released "
        "once. Hint: wait for it."
    )


def release_disjoint(
    sketches: Sequence[Sketch],
    epsilon: Number | None = None,
    delta: Number = 0.0,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    *,
    count_share: Number | None = None,
    backend: str = "exact",
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    part: str | None = None,
    keep: bool = False,
    prepaid: Prepaid | None = None,
) -> list[Release]:
    """Release sketches of disjoint records, one per class, for the price of one (parallel composition).

    One person's records may be spread over several of the sketches: together there are at most `records_per_person`.
    All sketches have equal specs, so all releases have one claim, which is charged once: to a ledger, or to what
    was `prepaid`. Other arguments as of `Sketch.release`.
    """
    if keep and ledger is None:
        raise BudgetError("A further release needs a ledger with budget left. Hint: pass ledger=... and dataset=...")
    with held(sketches):
        calibration = _calibration(sketches, epsilon, delta, neighbors, records_per_person, count_share, backend)
        payer = charging(ledger, dataset, part) if prepaid is None else prepaid
        identity = spend(sketches, calibration.claim, payer, "release")
        with _or_give_up(sketches, "Its release failed after the budget was spent."):
            drawn = []
            for sketch in sketches:
                noise = calibration.draw_counters(sketch._counts.shape, backend=backend)
                drawn.append((noise, calibration.draw_count(backend=backend) if calibration.count_scale else None))
            releases = []
            for k, (sketch, (noise, count)) in enumerate(zip(sketches, drawn, strict=True)):
                name = derived(identity, f"class {k}", len(sketches))
                seam.hold(name, calibration.claim, noise, count)
                total = sketch._add_to(noise)
                noisy = total if neighbors == "replace" else (None if count is None else total + count)
                counts, noisy = seam.publish(noise, noisy, name)
                releases.append(
                    Release(
                        sketch._spec,
                        counts,
                        calibration.claim,
                        noisy_count=noisy,
                        counter_variance=calibration.counter_variance,
                        count_variance=calibration.count_variance or 0.0,
                        identity=name,
                        engine=sketch._engine,
                    )
                )
        for sketch in sketches:
            if keep:
                sketch._closed = ""
            else:
                sketch._give_up("This sketch has been released, and a sketch is released once.")
        return releases


def release_share(
    sketch: Sketch,
    *,
    epsilon: Number,
    delta: Number,
    neighbors: str,
    records_per_person: int,
    custodians: int,
    dropouts: int,
    count_share: Number | None,
    ledger: Ledger | str | os.PathLike[str] | None,
    dataset: str | None,
    part: str | None,
) -> Share:
    """One custodian's share; see `Sketch.release_share`."""
    with held([sketch]):
        sketch._require_open("release_share")
        if sketch._noise is not None:
            raise PrivacyError("This sketch has its full noise already. Hint: call release().")
        claim = calibrate_shares(
            sketch._spec.rows,
            custodians=custodians,
            dropouts=dropouts,
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            records_per_person=records_per_person,
            count_share=DEFAULT_COUNT_SHARE if count_share is None else count_share,
        )
        identity = spend([sketch], claim, charging(ledger, dataset, part), "release_share")
        with _or_give_up([sketch], "Its release failed after the budget was spent."):
            noise = draw_counters_share(claim, sketch._counts.shape)
            count = draw_count_share(claim) if claim.exact_count_scale is not None else None
            seam.hold(identity, claim, noise, count)
            total = sketch._add_to(noise)
        sketch._give_up("This sketch has been released, and a sketch is released once.")
        if count is not None:
            count += total
        elif neighbors == "replace":
            count = total
        return Share(sketch._spec, noise, count, claim, identity)


def _calibration(
    sketches: Sequence[Sketch],
    epsilon: Number | None,
    delta: Number,
    neighbors: str,
    records_per_person: int,
    count_share: Number | None,
    backend: str,
) -> Calibration:
    """The noise for disjoint sketches, everything that can be refused looked at."""
    first = sketches[0]
    for other in sketches[1:]:
        first._spec.require_equal(other._spec)
    if sum(len(sketch._lineage) for sketch in sketches) > len({one for each in sketches for one in each._lineage}):
        raise MergeError("Cannot release as disjoint: two of the sketches hold the same records.")
    if len(sketches) > 1 and neighbors == "replace":
        raise PrivacyError("Classes do not go with neighbors='replace': a changed record may change its class.")
    if epsilon is None:
        raise ParameterError("Give `epsilon`, the privacy budget. Hint: typical budgets are 0.1 to 10.")
    require_backend(backend)
    return calibrate(
        first._spec.rows,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        records_per_person=records_per_person,
        count_share=DEFAULT_COUNT_SHARE if count_share is None else count_share,
    )
