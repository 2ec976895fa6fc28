"""scumble: turn a private table into a small, shareable, differentially private sketch in one pass.

A sketch is R rows of W counters. Each record adds one to exactly one counter in every row. A release adds integer noise
once. Everything after that is post-processing: unlimited, and free of privacy cost.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scumble._version import __version__ as __version__
from scumble.learn import HOMES as _ESTIMATORS

# Public names, and the module that each comes from: imported when first asked for, so `import scumble` is quick.
# Type checkers read the same list in `__init__.pyi`; a test holds the two together.
_HOMES = {
    "scumble.density.bundle": ("Bundle",),
    "scumble.errors": (
        "BudgetError",
        "CorruptFileError",
        "DataError",
        "FileError",
        "ForeignFileError",
        "MergeError",
        "MissingFileError",
        "NewerFileError",
        "ParameterError",
        "PrivacyError",
        "ScumbleError",
        "SecretFileError",
    ),
    "scumble.show.opening": ("explore",),
    "scumble.kernels": (
        "AngularKernel",
        "ColumnKernel",
        "EuclideanKernel",
        "FoldedKernel",
        "HammingKernel",
        "JaccardKernel",
        "Kernel",
        "ManhattanKernel",
        "ProductKernel",
    ),
    "scumble.sources.people": ("PersonLimit",),
    "scumble.density.plan": ("Plan", "plan"),
    "scumble.streams.published": ("StreamRelease",),
    "scumble.streams.stream": ("Stream", "load_stream"),
    "scumble.privacy.claim": ("PrivacyClaim",),
    "scumble.privacy.ledger": ("Ledger",),
    "scumble.density.loading": ("load", "load_secret", "merge"),
    "scumble.sql.asking": ("sql",),
    "scumble.sql.functions": ("register",),
    "scumble.density.release": ("Release",),
    "scumble.density.share": ("Share", "combine", "load_share"),
    "scumble.columns.category": ("Boolean", "Category"),
    "scumble.columns.distinct": ("Distinct",),
    "scumble.columns.date": ("Date",),
    "scumble.columns.number": ("Number",),
    "scumble.columns.schema": ("Schema",),
    "scumble.columns.tokens": ("Tokens",),
    "scumble.density.sketch": ("Sketch",),
    "scumble.sources": ("build", "build_by", "draft"),
    "scumble.table.estimate": ("Estimate",),
    "scumble.table.release": ("TableRelease",),
    "scumble.table.sketch": ("TableSketch",),
}
_OTHERS = {
    **dict.fromkeys(("open", "read", "read_file", "from_file"), "scumble.load(path) reads a release"),
    **dict.fromkeys(("table", "fit", "from_pandas", "create"), "scumble.build(table, schema=…, epsilon=1.0) makes one"),
}
"""What people ask for by other names, and what to call."""
_HOME = {name: home for home, names in _HOMES.items() for name in names} | _ESTIMATORS

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name in ("cluster", "explore"):  # rooms of their own, imported when first entered; the latter can be called
        return import_module(f"scumble.{name}")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in _OTHERS:  # without the module, of which Python would add a guess of its own
        raise AttributeError(f"scumble has no {name!r}. Hint: {_OTHERS[name]}.", name=name, obj=None)
    raise AttributeError(f"module 'scumble' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
