"""One custodian's share of a release: counters with a part of the noise, to be added up."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np
import numpy.typing as npt

from scumble import files
from scumble.density.release import Release
from scumble.density.spec import Spec
from scumble.errors import CorruptFileError, MergeError, PrivacyError, parameter
from scumble.files.format import fits
from scumble.files.places import Owned
from scumble.gate.spending import publish_once
from scumble.privacy import audit_hooks
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.splitting import enough, variances

if TYPE_CHECKING:
    from scumble.table.release import TableRelease
    from scumble.table.sketch import TableShare


class Share:
    """Counters with one custodian's part of the noise, made by `Sketch.release_share` or `TableSketch.release_share`.

    A share answers no queries. `combine` adds the shares of all custodians (except up to `dropouts`) to a release.
    **One share alone does not keep the promise**: give it only to a trusted aggregator, or use secure aggregation:
    `payload` is the share as integers modulo 2^64, and `from_sum` makes the release from their sum.

    **One sum.** The difference of two sums is a bare share, so a share goes into one sum only: `combine` records it,
    also in the share's file, and refuses another. Under secure aggregation the aggregator must publish only one sum.

    >>> import scumble
    >>> def share(records):
    ...     sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=1, rows=20, buckets=16)
    ...     return sketch.update(records).release_share(epsilon=1.0, custodians=3, dropouts=1)
    >>> release = combine([share([[1.0]] * 500), share([[2.0]] * 500)])   # one of the three is missing
    >>> release.privacy.epsilon, release.privacy.custodians
    (1.0, 3)
    """

    def __init__(self, spec: Any, counts: np.ndarray, count: int | None, privacy: PrivacyClaim, identity: str) -> None:
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
        """Counters, and the count if any, as unsigned integers modulo 2^64, for secure aggregation."""
        extra = [] if self._count is None else [self._count]
        return np.append(self._counts.ravel(), np.array(extra, np.int64)).view(np.uint64)

    def from_sum(self, total: npt.ArrayLike, *, arrived: int) -> Release:
        """The release from the sum of `arrived` payloads modulo 2^64. This share supplies the parameters.

        `arrived`, as stated by the aggregator, sets the error bars.
        """
        _require_enough(self._privacy, arrived)
        vector = np.asarray(total)
        if vector.dtype != np.uint64 or vector.shape != self.payload.shape:
            raise parameter("total", f"{self.payload.size} unsigned 64-bit integers", f"{vector.dtype}{vector.shape}")
        signed = np.ascontiguousarray(vector).view(np.int64)
        counts = signed[: self._counts.size].reshape(self._counts.shape)
        if not fits(counts):
            raise MergeError("Cannot combine: the sum has counters beyond 2**62. Hint: add every vector once.")
        _note([self], signed)
        published = audit_hooks.publish(counts, None if self._count is None else int(signed[-1]))
        found: Release = self._released(*published, arrived)
        return found

    def _released(self, counts: np.ndarray, count: int | None, arrived: int) -> Any:
        """The release with the sum of so many shares."""
        counters, own = variances(self._privacy, arrived)
        return Release(
            self._spec, counts, self._privacy, noisy_count=count, counter_variance=counters, count_variance=own
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the share to one file of mode 0600, by convention ``.share``. A second file is refused."""
        if self._path not in (None, os.path.realpath(path)):
            raise PrivacyError(
                f"This share is already saved in {self._path!r}: a second file could go into a second sum. "
                "Hint: move that file."
            )
        with self._alone():
            self._write(self._path or os.fsdecode(path))

    def _write(self, path: str) -> None:
        metadata = {"spec": self._spec.to_dict(), "count": self._count, "privacy": self._privacy.to_dict()}
        metadata |= {"identity": self._identity, "sum": self._sum}
        files.write(path, "share", metadata, {"counts": self._counts}, secret=True, again=self._path is not None)
        self._path = os.path.realpath(path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the share against other processes, and read what its file says about its sum."""
        if self._path is None:
            if os.getpid() != self._process:
                raise PrivacyError("This share belongs to the process that made it. Hint: save it there, load it here.")
            yield
            return
        file = Owned(self._path)
        if not file.take():
            raise MergeError(f"Another process is using the share {self._path!r}. Hint: wait for it.")
        try:
            there = load_share(self._path)
            if there._identity != self._identity:
                raise MergeError(f"The file {self._path!r} now holds another share. Hint: load that.")
            self._sum = self._sum or there._sum
            yield
        finally:
            file.let_go()

    @staticmethod
    def spec_of(data: Any) -> Any:
        """The public parameters in a file."""
        return Spec.from_dict(data)

    @classmethod
    def from_container(cls, container: files.Container) -> Share:
        """A share from a file's content."""
        data = container.metadata
        try:
            spec = cls.spec_of(data["spec"])
            privacy = PrivacyClaim.from_dict(data["privacy"])
            counts, count = container.arrays["counts"], data["count"]
            fitting = counts.shape == spec.counters and counts.dtype == np.int64
            whole = count is None or (type(count) is int and abs(count) < 2**63)
            if not fitting or not whole or privacy.custodians is None or privacy.rows != spec.rows:
                raise ValueError
            share = cls(spec, counts, count, privacy, str(data["identity"]))
            share._sum = None if data.get("sum") is None else str(data["sum"])
            return share
        except (KeyError, TypeError, ValueError):
            raise CorruptFileError("The file lacks a part of a share.") from None

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("A Share is not pickled or copied: it has only a part of the noise. Hint: share.save(path).")

    def __repr__(self) -> str:
        size = f"{self._counts.size:,} counters"
        return f"<{type(self).__name__} ({size}; not private alone; the sum will have {self._privacy})>"


def load_share(path: str | os.PathLike[str]) -> Share:
    """Read a share, to combine it with others."""
    container = files.read(path, expect="share")
    of_table = "schema" in container.metadata.get("spec", {})
    kind: Any = import_module("scumble.table.sketch").TableShare if of_table else Share
    share: Share = kind.from_container(container)
    share._path = os.path.realpath(path)
    return share


@overload
def combine(shares: Iterable[TableShare]) -> TableRelease: ...  # type: ignore[overload-overlap]
@overload
def combine(shares: Iterable[Share]) -> Release: ...
def combine(shares: Iterable[Share]) -> object:
    """Add up shares to a release. All must have the same parameters, and each goes into one sum only."""
    found = list(shares)
    if not found or not all(isinstance(share, Share) and type(share) is type(found[0]) for share in found):
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
        raise MergeError("Cannot combine: the same share is given twice. Hint: leave one out.")
    _require_enough(first._privacy, len(found))
    if not fits(*(share._counts for share in found)):
        raise MergeError("Cannot combine: a counter could pass 2**62. Hint: is one of the shares damaged?")
    counts = np.asarray(np.sum([share._counts for share in found], axis=0, dtype=np.int64))
    known = [share._count for share in found if share._count is not None]
    _note(found, np.append(counts.ravel(), np.array([sum(known)] if known else [], np.int64)))
    counts, count = audit_hooks.publish(counts, sum(known) if known else None, *(share._identity for share in found))
    return first._released(counts, count, len(found))


def _note(shares: list[Share], total: np.ndarray) -> None:
    """Record the sum in all shares, also in their files, or in none, before it is published."""
    whole = hashlib.sha256(total.tobytes()).hexdigest()
    with ExitStack() as alone:
        for share in shares:
            alone.enter_context(share._alone())
        if any(share._sum not in (None, whole) for share in shares):
            raise MergeError(
                "Cannot combine: a share is already in another sum, and the difference of two sums is a bare share. "
                "Hint: use the release made from it, or start a new round with all custodians."
            )
        for share in shares:
            publish_once(share._identity, whole)
            share._sum = whole
            if share._path is not None:
                share._write(share._path)


def _require_enough(claim: PrivacyClaim, arrived: int) -> None:
    least, most = enough(claim), claim.custodians or 0
    if arrived < least:
        raise PrivacyError(
            f"There are {arrived} shares, and {least} are needed for the promised noise. "
            "Hint: wait for the others, or start over with a larger `dropouts`."
        )
    if arrived > most:
        raise MergeError(f"There are {arrived} shares, and only {most} custodians.")
