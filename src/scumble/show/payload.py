"""The data of a page: a release's hash functions and counters, as JSON and plain arrays. All of it is public.

The page hashes points and reads counters in JavaScript (``web/src/engine``).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scumble.density.release import Release
from scumble.errors import ParameterError
from scumble.show.usefulness import Facts

MOST_BYTES = 256 << 20
"""Browsers struggle with larger pages."""


class Arrays:
    """Named arrays in one block of bytes."""

    def __init__(self) -> None:
        self.index: dict[str, Facts] = {}
        self._blocks: list[bytes] = []
        self._size = 0

    def add(self, values: np.ndarray) -> str:
        """Store an array in the smallest exact type; returns its name."""
        values = np.ascontiguousarray(values)
        kind, stored = _stored(values)
        name = f"a{len(self.index)}"
        self.index[name] = {"kind": kind, "first": self._size, "size": stored.size}
        data = stored.tobytes()
        self._blocks.append(data + bytes(-len(data) % 8))
        self._size += len(self._blocks[-1])
        if self._size > MOST_BYTES:
            raise ParameterError(
                f"The release is too large for a page (over {MOST_BYTES >> 20} MB). "
                "Hint: serve it with scumble explore --api, or use fewer cells or rows."
            )
        return name

    def to_base64(self) -> str:
        """All arrays as compressed text."""
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
        self.hashers: list[Facts] = []
        self.releases: list[Facts] = []
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

    def classifier(self, model: Any, numbers: Sequence[Mapping[Any, int]]) -> Facts:
        """A classifier; `numbers` are those of its bundles' releases, by class."""
        from scumble.density.bundle import plain

        classes = [plain(label) for label in model.classes_]
        curve = model._curve_of_scores()
        ferns = model._experts() if model.rule == "ferns" else None
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
