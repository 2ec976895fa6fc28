"""One custodian's share of a release: counters with a part of the noise, good for one thing, to be added up."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

import numpy as np

from scumble import files
from scumble.errors import CorruptFileError, MergeError, PrivacyError, parameter
from scumble.files.headroom import fits
from scumble.machine.owned import Owned
from scumble.privacy import seam
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.splitting import enough, variances
from scumble.release import Release
from scumble.releasing.spending import publish_once
from scumble.spec import Spec


class Share:
    """Counters with one custodian's part of the noise, made by `Sketch.release_share`.

    A share answers no queries. `combine` adds up the shares of all custodians (or all but `dropouts` of them) to a
    release, and that release keeps its promise. **One share alone does not**: it has only a part of the noise. Hand it
    to an aggregator whom you would trust with it, or add the shares by secure aggregation: `payload` is the share as a
    vector of integers modulo 2^64, and `from_sum` makes the release from the sum of such vectors.

    **One sum.** With `dropouts`, several sets of shares would be enough for a release; but the difference of two sums
    is a bare share. So a share goes into only one sum: `combine` records which, also in the share's own file, and
    refuses another. Under secure aggregation, it is the aggregator who must publish only one sum.

    >>> import scumble
    >>> def share(records):
    ...     sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, rows=20, buckets=16)
    ...     return sketch.update(records).release_share(epsilon=1.0, custodians=3, dropouts=1)
    >>> release = combine([share([[1.0]] * 500), share([[2.0]] * 500)])   # one of the three did not come
    >>> release.privacy.epsilon, release.privacy.custodians
    (1.0, 3)
    """

    def __init__(self, spec: Spec, counts: np.ndarray, count: int | None, privacy: PrivacyClaim, identity: str) -> None:
        self._spec, self._counts, self._count = spec, counts, count
        self._privacy, self._identity = privacy, identity
        self._process = os.getpid()
        self._path: str | None = None
        self._sum: str | None = None

    spec = property(lambda self: self._spec, doc="All public parameters.")
    privacy = property(lambda self: self._privacy, doc="What the *sum* of the shares will promise.")
    identity = property(lambda self: self._identity, doc="The share's UUID.")

    @property
    def payload(self) -> np.ndarray:
        """Counters, and the count if there is one, as unsigned integers modulo 2^64: what secure aggregation adds."""
        extra = [] if self._count is None else [self._count]
        return np.append(self._counts.ravel(), np.array(extra, np.int64)).view(np.uint64)

    def from_sum(self, total: Any, *, arrived: int) -> Release:
        """The release from the sum of `arrived` payloads modulo 2^64. This share only supplies the parameters.

        `arrived`, as the aggregator states it, sets the error bars; that there are enough is checked.
        """
        _require_enough(self._privacy, arrived)
        vector = np.asarray(total)
        if vector.dtype != np.uint64 or vector.shape != self.payload.shape:
            raise parameter("total", f"{self.payload.size} unsigned 64-bit integers", f"{vector.dtype}{vector.shape}")
        signed = np.ascontiguousarray(vector).view(np.int64)
        cells = self._counts.size
        if not fits(signed[:cells].reshape(self._counts.shape)):
            raise MergeError("Cannot combine: the sum has counters beyond 2**62. Hint: were all vectors added once?")
        count = None if self._count is None else int(signed[cells])
        _note([self], _digest(signed))
        counts, count = seam.publish(signed[:cells].reshape(self._counts.shape), count)
        return _release(self._spec, counts, count, self._privacy, arrived)

    # ---- files ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the share to a file of mode 0600: it is not yet fit for the public. By convention ``.share``.

        One file: a second one would be a second share with the same noise.
        """
        if self._path not in (None, os.path.realpath(path)):
            raise PrivacyError(
                f"This share is kept in {self._path!r} already: a second file could go into a second sum. "
                "Hint: move that file."
            )
        with self._alone():
            self._write(self._path or os.fsdecode(path))

    def _write(self, path: str) -> None:
        metadata = {
            "spec": self._spec.to_dict(),
            "count": self._count,
            "privacy": self._privacy.to_dict(),
            "identity": self._identity,
            "sum": self._sum,
        }
        files.write(path, "share", metadata, {"counts": self._counts}, secret=True)
        self._path = os.path.realpath(path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process adds up this share meanwhile; what one has noted in its file is known."""
        if self._path is None:
            if os.getpid() != self._process:
                raise PrivacyError(
                    "This share was made before the process was forked, and stays with the other one: both could add "
                    "it up. Hint: save it there, and load it here."
                )
            yield
            return
        file = Owned(self._path)
        if not file.take():
            raise MergeError(f"Another process is adding up the share {self._path!r}. Hint: wait for it.")
        try:
            there = load_share(self._path)
            if there._identity != self._identity:
                raise MergeError(f"The file {self._path!r} now holds another share. Hint: load that.")
            self._sum = self._sum or there._sum
            yield
        finally:
            file.let_go()

    def _require_free_for(self, whole: str) -> None:
        """Refuse a second sum."""
        if self._sum not in (None, whole):
            raise MergeError(
                "Cannot combine: a share is in another sum already, and the difference of two sums is a bare share. "
                "Hint: use the release that was made of it; a late share needs a new round of all custodians."
            )

    def _go_into(self, whole: str) -> None:
        """Note, durably where the share has a file, into which sum it goes."""
        publish_once(self._identity, whole)
        self._sum = whole
        if self._path is not None:
            self._write(self._path)

    @staticmethod
    def from_container(container: files.Container) -> Share:
        """A share out of a file's content."""
        data = container.metadata
        try:
            spec = Spec.from_dict(data["spec"])
            privacy = PrivacyClaim.from_dict(data["privacy"])
            counts, count = container.arrays["counts"], data["count"]
            if counts.shape != spec.counters or counts.dtype != np.int64:
                raise CorruptFileError("The counters do not have the shape that the file's header states.")
            if privacy.custodians is None or privacy.rows != spec.rows:
                raise ValueError
            if count is not None and (type(count) is not int or abs(count) >= 2**63):
                raise ValueError
            share = Share(spec, counts, count, privacy, str(data["identity"]))
            share._sum = None if data.get("sum") is None else str(data["sum"])
            return share
        except (KeyError, TypeError, ValueError):
            raise CorruptFileError("The file lacks a part of a share.") from None

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("A Share is not pickled or copied: it has only a part of the noise. Hint: share.save(path).")

    def __repr__(self) -> str:
        spec, claim = self._spec, self._privacy
        return f"<Share ({spec.rows} x {spec.buckets} counters; not private alone; the sum will have {claim})>"


def load_share(path: str | os.PathLike[str]) -> Share:
    """Read a share, to add it up with the others."""
    share = Share.from_container(files.read(path, expect="share"))
    share._path = os.path.realpath(path)
    return share


def combine(shares: Iterable[Share]) -> Release:
    """Add up shares to a release. All must have been made with the same parameters, and each goes into only one sum."""
    found = list(shares)
    if not found or not all(isinstance(share, Share) for share in found):
        raise parameter("shares", "at least one share", ", ".join(type(share).__name__ for share in found))
    first = found[0]
    for other in found[1:]:
        first._spec.require_equal(other._spec)
        if other._privacy != first._privacy:
            raise MergeError(
                f"Cannot combine: one share is for {first._privacy} and another for {other._privacy}. "
                "Hint: all custodians must agree on the budget, on `custodians` and on `dropouts`."
            )
    if len({share._identity for share in found}) < len(found):
        raise MergeError("Cannot combine: one share is there twice. Its records would count twice.")
    _require_enough(first._privacy, len(found))
    if not fits(*(share._counts for share in found)):
        raise MergeError("Cannot combine: a counter could pass 2**62. Hint: is one of the shares damaged?")
    counts = np.asarray(np.sum([share._counts for share in found], axis=0, dtype=np.int64))
    known = [share._count for share in found if share._count is not None]
    whole = _digest(np.append(counts.ravel(), np.array([sum(known)] if known else [], np.int64)))
    _note(found, whole)
    counts, count = seam.publish(counts, sum(known) if known else None, *(share._identity for share in found))
    return _release(first._spec, counts, count, first._privacy, len(found))


def _note(shares: list[Share], whole: str) -> None:
    """Before the sum is given out: all of these shares go into it and into no other, or none is touched."""
    with ExitStack() as alone:
        for share in shares:
            alone.enter_context(share._alone())
        for share in shares:
            share._require_free_for(whole)
        for share in shares:
            share._go_into(whole)


def _digest(total: np.ndarray) -> str:
    return hashlib.sha256(total.tobytes()).hexdigest()


def _require_enough(claim: PrivacyClaim, arrived: int) -> None:
    least, most = enough(claim), claim.custodians or 0
    if arrived < least:
        raise PrivacyError(
            f"Only {arrived} shares have come, and {least} are needed for the noise that was promised. "
            "Hint: wait for the others, or begin anew with a larger `dropouts`."
        )
    if arrived > most:
        raise MergeError(f"There are {arrived} shares, and only {most} custodians.")


def _release(spec: Spec, counts: np.ndarray, count: int | None, claim: PrivacyClaim, arrived: int) -> Release:
    counter_variance, count_variance = variances(claim, arrived)
    return Release(
        spec,
        counts,
        claim,
        noisy_count=count,
        counter_variance=counter_variance,
        count_variance=count_variance,
        identity=str(uuid.uuid4()),
    )
