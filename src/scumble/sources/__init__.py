"""Tables as streams of Arrow batches: files, folders, standard input, databases.

`build` goes from a source to a release in one pass, `build_by` to one per class. `open_source` gives the stream::

    source.names                    the columns
    source.pieces(roles)            batches with their positions, each a few MB
    source.fingerprint()            shows whether a source is still the same

``roles.py`` says what each column is read as, ``paths.py`` finds files, ``delimited.py``, ``parquet.py``, ``arrow.py``,
``jsonlines.py`` and ``database.py`` read, ``onepass.py`` counts, ``checkpoint.py`` keeps.
"""

from scumble.sources.building import Build, build, build_by
from scumble.sources.onepass import Progress
from scumble.sources.opening import open_source
from scumble.sources.source import Source

__all__ = ["Build", "Progress", "Source", "build", "build_by", "open_source"]
