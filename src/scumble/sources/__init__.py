"""Tables as streams of Arrow batches: files, folders, standard input, databases, Spark.

`build` goes from a source to a release in one pass, `build_by` to one per class. `open_source` gives the stream::

    source.names                    the columns
    source.pieces(roles)            batches with their positions, each a few MB
    source.fingerprint()            shows whether a source is still the same

The files, in the order in which a build meets them::

    building.py     `build`, `build_by`, and `Build`: the options of a build, checked; counts, then releases
    opening.py      `open_source`; files of one format as one source; `READERS`, the formats
    source.py       what a source is
    paths.py        names, folders and patterns to files; an output is never an input
    formats.py      what a file format is; standard input; text of any encoding
    delimited.py, jsonlines.py (Excel, too), arrow.py (Parquet and tables in memory, too)
    database.py     SQLite, PostgreSQL and DuckDB
    onepass.py      one pass: read, count in several threads, write checkpoints, report progress
    tally.py        what a pass fills: one sketch, or one per class; and why rows were left out
    people.py       at most m records of each person (people.proof.md)
    checkpoint.py   counters and position in one secret file
    drafting.py     `draft`: a schema from one charged pass
    spark/          tables on a cluster: `scumble.cluster.spark`
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scumble.sources.building import Build, build, build_by
    from scumble.sources.drafting import draft
    from scumble.sources.onepass import Progress
    from scumble.sources.opening import open_source
    from scumble.sources.source import Source

# Imported on first use.
_NAMES = {"building": "Build build build_by", "drafting": "draft", "onepass": "Progress", "opening": "open_source"}
_NAMES["source"] = "Source"
_HOMES = {name: f"scumble.sources.{home}" for home, names in _NAMES.items() for name in names.split()}

__all__ = ["Build", "Progress", "Source", "build", "build_by", "draft", "open_source"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'scumble.sources' has no attribute {name!r}")
