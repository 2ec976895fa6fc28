"""Tables as streams of Arrow batches: files, folders, standard input, databases.

`build` goes from a source to a release in one pass, `build_by` to one per class. `open_source` gives the stream::

    source.names                    the columns
    source.pieces(roles)            batches with their positions, each a few MB
    source.fingerprint()            shows whether a source is still the same

The files, in the order in which a build meets them::

    building.py     `build` and `build_by`: from a source to a release
    job.py          `Build`: what was asked for, checked; then counted, then released
    settings.py     what a build is told: size, groups, running
    apart.py        an output is never an input
    opening.py      from what the user wrote to a source
    source.py       what a source is
    paths.py        names, folders, patterns and partitions to files; endings to formats
    filesource.py   files of one format as one source; `READERS`, the formats
    formats.py      what a file format offers; standard input
    delimited.py    CSV
    parquet.py      Parquet
    arrow.py        Arrow files and streams, Feather
    jsonlines.py    JSON lines
    excel.py        Excel workbooks
    text.py         text of any encoding as UTF-8
    database.py     SQLite and PostgreSQL
    duckfile.py     DuckDB files
    memory.py       tables in memory
    onepass.py      one pass: read, count, keep checkpoints, report progress
    crew.py         the threads of a pass; many of them count batches of their own
    readahead.py    a thread that reads while another counts
    tally.py        what a pass fills: one sketch, or one per class
    labels.py       which class a record is of
    rehearsal.py    what a build will publish, from public arguments alone
    advice.py       which column decides, and what is probably not meant
    tableadvice.py  pairs, levels and years that a table's release will not tell apart
    madeup.py       records that nobody has, to rehearse with
    causes.py       why rows were left out: for the curator
    strays.py       cells of a grid that were counted where they do not stand
    people.py       at most m records of each person (people.proof.md)
    checkpoint.py   counters and position in one secret file
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scumble.sources.building import build, build_by
    from scumble.sources.job import Build
    from scumble.sources.onepass import Progress
    from scumble.sources.opening import open_source
    from scumble.sources.rehearsal import Rehearsal
    from scumble.sources.source import Source

# Public names, and the module that each comes from: imported when first asked for.
_HOMES = {
    "Build": "scumble.sources.job",
    "Progress": "scumble.sources.onepass",
    "Rehearsal": "scumble.sources.rehearsal",
    "Source": "scumble.sources.source",
    "build": "scumble.sources.building",
    "build_by": "scumble.sources.building",
    "open_source": "scumble.sources.opening",
}

__all__ = ["Build", "Progress", "Rehearsal", "Source", "build", "build_by", "open_source"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'scumble.sources' has no attribute {name!r}")
