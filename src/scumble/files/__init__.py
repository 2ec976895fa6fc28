"""Bytes on disk: one container for releases, bundles, models, secrets and checkpoints.

A scumble file is a `safetensors <https://github.com/huggingface/safetensors>`_ file: a JSON header
and raw little-endian arrays. Any safetensors reader opens it; nothing in it can run. The code here
is our own because it is stricter than the format asks for::

    offset   bytes
    0        8      H, the length of the header, unsigned, little-endian
    8        H      header, ASCII JSON, filled up with spaces to a multiple of 8:
                      {"__metadata__":{"format":"scumble",
                                       "format_version":"2",
                                       "sha256":"<64 hexadecimal digits>",
                                       "kind":"release",
                                       "library":"0.1.0",
                                       "scumble":"<the metadata, JSON in a string>"},
                       "counts":{"dtype":"I32","shape":[1000,1024],"data_offsets":[0,4096000]},
                       ...}
                    (written without the line breaks; the first three values stand at fixed places)
    8 + H    rest   the arrays, row-major, one after the other: no gap, no overlap, nothing after.
                    Widest items first, then by name, so each array is aligned.

Whole numbers of 64 bits that all fit into 32, as noisy counters nearly always do, are stored in 32 and read as 64. That
is format version 2, and for public files only: what can be seen of a number's width is then a fact about published
numbers. A file with arrays of 16 bits, such as the draws of a table, is of version 3. All other files are of version 1,
so that older readers read them.

``sha256`` is taken over the whole file with its own 64 digits replaced by zeros: no bit can change and
no byte can come or go unnoticed. That detects accidents. It is not a signature: whoever can write the
file can also write a new checksum.

A reader trusts no number in the header before it has compared it with the real size, checks the version
first (a newer format may do all the rest otherwise), then the checksum, and only then parses.
Equal content gives equal bytes.

The files::

    rules.py    what a file may hold: kinds, types, limits
    writing.py  content to bytes
    reading.py  bytes to content, or why not
    headers.py  what a file at a place is, by its first bytes
    headroom.py counters of files do not wrap when they are added up
    near.py     which file somebody means who names one that is not there
    paid.py     a release or a model whose name another file takes: it stays, under a second one
    disk.py     reading and writing, for files that have a place
"""

from scumble.files.disk import BOUND, bytes_of, read, write
from scumble.files.headers import is_foreign, is_ours, kind_at
from scumble.files.paid import forget, is_paid, keep_paid, kept_as
from scumble.files.reading import from_bytes
from scumble.files.rules import FORMAT_VERSION, KINDS, PUBLIC_KINDS, RELEASES, SECRET_KINDS, Container
from scumble.files.writing import to_bytes

__all__ = [
    "BOUND",
    "FORMAT_VERSION",
    "KINDS",
    "PUBLIC_KINDS",
    "RELEASES",
    "SECRET_KINDS",
    "Container",
    "bytes_of",
    "forget",
    "from_bytes",
    "is_foreign",
    "is_ours",
    "is_paid",
    "keep_paid",
    "kept_as",
    "kind_at",
    "read",
    "to_bytes",
    "write",
]
