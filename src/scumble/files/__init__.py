"""Formats, places on disk that survive a crash, locks and cores.

One container holds releases, bundles, models, secrets and checkpoints.

It is a `safetensors <https://github.com/huggingface/safetensors>`_ file: a JSON header and raw little-endian arrays.
A safetensors reader opens it; nothing in it can run. The code here is stricter than the format asks for::

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

Whole numbers of 64 bits that all fit into 32, as noisy counters nearly always do, are stored in 32 and read as 64: that
is format version 2, for public files only. A file with arrays of 16 bits, such as the draws of a table, is of version
3. All other files are of version 1, so that older readers read them.

``sha256`` is taken over the whole file with its own 64 digits replaced by zeros: no change goes unnoticed. That detects
accidents; it is not a signature. A reader checks the version first, then the checksum, and only then parses; it trusts
no number in the header before it has compared it with the real size. Equal content gives equal bytes.

The files::

    format.py        what a file may hold; bytes to content, or why not; and content to bytes
    disk.py          reading and writing; what is at a name already, and stays if it was paid for
    places.py        a place on disk: reserved first, filled later, named at the end; whose turn it is, and who owns it
    interrupts.py    signals that ask a program to stop, and when they may
    compiling.py     loops compiled on first use and kept on disk, and when they are worth it
    lazy_modules.py  packages that are loaded when first used
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scumble.files.disk import *  # noqa: F403
    from scumble.files.format import *  # noqa: F403

# Imported when first asked for: the command line has help to show before NumPy is there.
_NAMES = {
    "disk": "BOUND bytes_of forget holds_noise is_foreign is_ours is_paid keep_paid kept_as kind_at read write",
    "format": "FORMAT_VERSION KINDS PUBLIC_KINDS RELEASES SECRET_KINDS Container from_bytes to_bytes",
}
_HOMES = {name: f"scumble.files.{home}" for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'scumble.files' has no attribute {name!r}")
