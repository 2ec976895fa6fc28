"""The page: one self-contained HTML file that makes no requests; the same bytes are served and exported.

Script and style are allowed by their digests only. The release is embedded as data and only ever shown as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np

from scumble.density.release import Release
from scumble.density.student import reach
from scumble.errors import ParameterError
from scumble.files.places import write_whole
from scumble.show.usefulness import Facts, Model, as_json

Questions = Mapping[str, tuple[set[str], Callable[[Facts], Facts]]]


class AnyExhibit(ABC):
    """What a page and the API show."""

    title: str
    parts: tuple[str | None, ...] = ("page.html", "page.css", "engine.js", "page.js")
    """The built files that make its page: frame, style, engine and script."""

    @cached_property
    def info(self) -> Facts:
        """The facts on the privacy card, as JSON can hold them."""
        told: Facts = as_json({"title": self.title, **self.facts()})
        return told

    @abstractmethod
    def facts(self) -> Facts:
        """The facts on the privacy card."""

    @abstractmethod
    def card(self) -> list[tuple[str, str]]:
        """The privacy card, line by line."""

    @abstractmethod
    def content(self) -> tuple[Facts, str]:
        """All that the page needs: JSON, and the arrays, compressed, as base64."""

    @property
    def questions(self) -> Questions:
        """What the API answers: for each path the fields of a question, and the answer."""
        return {}


def part(name: str) -> str:
    """A part of the page, as ``make page`` built it from ``web/``."""
    return resources.files("scumble.show").joinpath("page", name).read_text(encoding="utf-8")


def page(exhibit: AnyExhibit) -> str:
    """The whole page."""
    frame, style, engine, script = ("" if name is None else part(name) for name in exhibit.parts)
    description, arrays = exhibit.content()
    slots = {
        "policy": policy(style, engine, script),
        "title": html.escape(exhibit.title),
        "style": style,
        "release": data(description),
        "arrays": arrays,
        "engine": engine,
        "script": script,
    }
    before, *pieces = frame.split("{{")
    out = [before]
    for piece in pieces:
        name, after = piece.split("}}", 1)
        out += [slots[name], after]
    return "".join(out)


def policy(style: str, *scripts: str) -> str:
    """The Content-Security-Policy: these scripts, this style, their pictures, and nothing else."""
    allowed = " ".join(digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {digest(style)}; img-src data: blob:; worker-src blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """The hash that lets an inline script run under a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def data(value: object) -> str:
    """JSON that cannot close the element around it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (
        text.replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def export(exhibit: AnyExhibit, path: str | os.PathLike[str]) -> int:
    """Write the page to a file atomically; returns its size in bytes."""
    content = page(exhibit).encode("utf-8", "replace")
    name = os.fsdecode(path)
    write_whole(name, content)
    return len(content)


# ---- the data of a page: hash functions and counters, as JSON and plain arrays, all of it public ----


MOST_BYTES = 256 << 20
"""Browsers struggle with larger pages."""
CONFIDENCES = (0.9, 0.95, 0.99)
"""Of the intervals that a page of densities has."""
QUANTILES = 256
"""Parts of the inverse degrees of freedom, from none to one: cubic interpolation of log t is within 1e-9."""


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
            raise ParameterError("The release is too large for a page. Hint: scumble explore --api, or fewer cells.")
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

    def with_all(self, description: Facts) -> tuple[Facts, str]:
        """The description with all of it, and the arrays as text."""
        with np.errstate(divide="ignore"):
            degrees = 1.0 / (np.arange(QUANTILES + 1.0) / QUANTILES)
        logs = {str(share): self.arrays.add(np.log(reach(degrees, share))) for share in CONFIDENCES}
        own: Facts = {"hashers": self.hashers, "releases": self.releases, "reach": logs, "arrays": self.arrays.index}
        return description | own, self.arrays.to_base64()

    def classifier(self, model: Model, numbers: Mapping[Any, int]) -> Facts:
        """A classifier; `numbers` are those of its releases, by class."""
        from scumble.density.bundle import plain

        classes = [plain(label) for label in model.classes_]
        curve = model._curve_of_scores()
        ferns = model._experts() if model.rule == "ferns" else None
        bundle = model.releases_[0]
        return {
            "rule": model.rule,
            "classes": classes,
            "priors": model._shares().tolist(),
            "curve": curve._asdict(),
            "bounds": None if model.bounds_ is None else [side.tolist() for side in model.bounds_],
            "totals": ferns.counts.tolist() if ferns else None,
            "releases": [numbers[label] for label in classes],
            "hasher": self.hasher(bundle[classes[0]]) if ferns else None,
            "variances": [bundle[label].counter_variance for label in classes],
        }
