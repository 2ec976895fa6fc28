"""From sketches to releases: look at everything, charge, draw, add. The one place where counters and noise meet.

The order matters. Whatever can be refused is refused first, at no cost. Then the budget is spent, in the ledger if
there is one. Then noise is drawn for every counter. Only then are the exact counters touched: a failure before that
leaves none of them in a traceback, and a failure after the charge leaves the sketch empty.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scumble.errors import BudgetError, CorruptFileError, MergeError, ParameterError, PrivacyError
from scumble.privacy import seam
from scumble.privacy.calibration import DEFAULT_COUNT_SHARE, Calibration, calibrate
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number
from scumble.privacy.noise import require_backend
from scumble.release import Release
from scumble.spending import charging, spend

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
            if type(found.identity) is not str or found.claim.rows != rows:
                raise TypeError
        except (KeyError, TypeError, ValueError, OverflowError):
            raise CorruptFileError("The file lacks a part of a sketch that began with noise.") from None
        return found


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
    """`Sketch.start_with_noise` for sketches of disjoint records, one a class, for the price of one."""
    calibration = _calibration(sketches, epsilon, delta, neighbors, records_per_person, count_share, backend)
    for sketch in sketches:
        sketch._require_open("start_with_noise")
        if sketch._noise is not None or sketch._touched or len(sketch._lineage) != 1:
            raise PrivacyError("Noise comes first, before the first record. Hint: begin with a new sketch.")
    identity = spend(sketches, calibration.claim, charging(ledger, dataset, part), "start_with_noise")
    try:
        for k, sketch in enumerate(sketches):
            noise = calibration.draw_counters(sketch._counts.shape, backend=backend)
            hidden = calibration.count_scale is not None
            count = calibration.draw_count(backend=backend) if hidden else None
            name = _identity(identity, k, len(sketches))
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
    except BaseException:
        for sketch in sketches:
            sketch._give_up("Drawing its noise failed.")
        raise
    for sketch in sketches:
        sketch._closed = ""


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
) -> list[Release]:
    """Release sketches of disjoint records, one a class, for the price of one (parallel composition).

    One person's records may be spread over several of the sketches: together there are at most `records_per_person`.
    All sketches have equal specs, so that all releases have one claim, which is charged once. Arguments as of
    `Sketch.release`.
    """
    if keep and ledger is None:
        raise BudgetError("A further release needs a ledger with budget left. Hint: pass ledger=... and dataset=...")
    calibration = _calibration(sketches, epsilon, delta, neighbors, records_per_person, count_share, backend)
    identity = spend(sketches, calibration.claim, charging(ledger, dataset, part), "release")
    try:
        drawn = []
        for sketch in sketches:
            noise = calibration.draw_counters(sketch._counts.shape, backend=backend)
            drawn.append((noise, calibration.draw_count(backend=backend) if calibration.count_scale else None))
    except BaseException:
        for sketch in sketches:
            sketch._give_up("Its release failed after the budget was spent.")
        raise
    releases = []
    for k, (sketch, (noise, count)) in enumerate(zip(sketches, drawn, strict=True)):
        name = _identity(identity, k, len(sketches))
        seam.hold(name, calibration.claim, noise, count)
        total = sketch._add_to(noise, keep=keep)
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
            )
        )
    return releases


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


def _identity(charged: str, place: int, of: int) -> str:
    """The identity that was charged; of several releases for one charge, each has its own, derived from it."""
    return charged if of == 1 else str(uuid.uuid5(uuid.UUID(charged), f"class {place}"))
