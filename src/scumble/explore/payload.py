"""What a page needs to answer questions about a release: its hash functions and counters, as JSON and plain arrays.

Everything here is public: a release, and what its public seed makes. The page hashes points and reads counters in
JavaScript (``web/src/engine``), each file the twin of one of Python's.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scumble.errors import ParameterError
from scumble.release import Release

MOST_BYTES = 256 << 20
"""A page beyond this is more than a browser likes to open."""


class Arrays:
    """Arrays by name, one after the other in one block of bytes."""

    def __init__(self) -> None:
        self.index: dict[str, dict[str, Any]] = {}
        self._blocks: list[bytes] = []
        self._size = 0

    def add(self, values: np.ndarray) -> str:
        """Keep an array in the smallest kind that holds it exactly; gives its name."""
        values = np.ascontiguousarray(values)
        kind, stored = _stored(values)
        name = f"a{len(self.index)}"
        self.index[name] = {"kind": kind, "first": self._size, "size": stored.size}
        data = stored.tobytes()
        self._blocks.append(data + bytes(-len(data) % 8))
        self._size += len(self._blocks[-1])
        if self._size > MOST_BYTES:
            raise ParameterError(
                f"The release is too large for a page (more than {MOST_BYTES >> 20} MB). "
                "Hint: scumble explore --api serves it to programs; fewer cells or rows make a smaller one."
            )
        return name

    def to_base64(self) -> str:
        """All arrays as text, compressed: a page is no larger than its release."""
        return base64.b64encode(zlib.compress(b"".join(self._blocks), 9)).decode("ascii")


def _stored(values: np.ndarray) -> tuple[str, np.ndarray]:
    if values.dtype == np.uint64:  # two halves of 32 bits, the low one first
        return "u4", values.astype("<u8").view("<u4")
    if values.dtype == np.uint16:
        return "u2", values.astype("<u2")
    if values.dtype == np.float32:
        return "f4", values.astype("<f4")
    if values.dtype.kind == "i":
        most = max(abs(int(values.max(initial=0))), abs(int(values.min(initial=0))))
        kind = "i2" if most < 2**15 else "i4" if most < 2**31 else "f8"
        return kind, values.astype(f"<{kind}")
    return "f8", values.astype("<f8")


class Content:
    """The hash functions, releases and arrays of one page, each stored once."""

    def __init__(self) -> None:
        self.arrays = Arrays()
        self.hashers: list[dict[str, Any]] = []
        self.releases: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def hasher(self, release: Release) -> int:
        """The number of the release's hash functions; equal specs share them."""
        name = json.dumps(release.spec.to_dict(), sort_keys=True)
        if name not in self._numbers:
            self._numbers[name] = len(self.hashers)
            self.hashers.append(release.spec.layout.hasher_on_page(self.arrays.add))
        return self._numbers[name]

    def release(self, release: Release) -> int:
        """The number of a release: its counters and how to read them."""
        found = {"hasher": self.hasher(release)} if release.spec.layout.hashed else {}
        bounds = {} if release.bounds is None else {"bounds": [list(side) for side in release.bounds]}
        self.releases.append(
            {
                "count": release.count,
                "divisor": release.divisor,
                **bounds,
                **found,
                **release._reader().on_page(self.arrays.add),
            }
        )
        return len(self.releases) - 1

    def classifier(self, model: Any, numbers: Sequence[Mapping[Any, int]]) -> dict[str, Any]:
        """A classifier whose bundles' releases have these numbers, class by class."""
        from scumble.bundle import plain

        classes = [plain(label) for label in model.classes_]
        curve = model._curve_of_scores()
        ferns = model._ferns
        bundles = [
            {
                "releases": [known[label] for label in classes],
                "hasher": self.hasher(bundle[classes[0]]) if ferns else None,
                "variances": [bundle[label].counter_variance for label in classes],
            }
            for bundle, known in zip(model.releases_, numbers, strict=True)
        ]
        return {
            "rule": model.rule,
            "classes": classes,
            "priors": model._shares().tolist(),
            "curve": curve._asdict(),
            "bounds": None if model.bounds_ is None else [side.tolist() for side in model.bounds_],
            "totals": ferns.counts.tolist() if ferns else None,
            "bundles": bundles,
        }


def drawable(release: Release) -> bool:
    """Whether a page can hash for this release by itself."""
    return release.spec.layout.drawable
