"""Formats, places on disk that survive a crash, locks and cores.

One container holds releases, bundles, models, secrets and checkpoints.

It is a `safetensors <https://github.com/huggingface/safetensors>`_ file, a JSON header and raw little-endian arrays,
with stricter rules (``docs/file-format.md``). Nothing in it can run. A reader checks the version first, then the
checksum, and only then parses; it trusts no number in the header before it has compared it with the real size. Equal
content gives equal bytes. The checksum detects accidents; it is not a signature.

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
