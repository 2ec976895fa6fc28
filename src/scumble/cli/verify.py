"""``scumble verify``: recompute what a claim says of a release."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scumble.cli.inputs import table_release
from scumble.errors import DataError, MissingFileError

EXAMPLE = "scumble verify claim.json town.scumble"
NOTHING_PRIVATE = "reads released files, and what is said of them"
MOST = 64 << 20
"""Bytes of a claim."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("claim", help="an answer of scumble mcp, as JSON")
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help="the releases that it is about")


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.show.claims import verify

    claim = _read(args.claim)
    differences = verify(claim, map(table_release, args.releases))
    if differences:
        more = f" And {len(differences) - 1} more." if len(differences) > 1 else ""
        raise DataError(f"The claim disagrees with the release. {differences[0]}{more}")
    if not args.quiet:
        print(f"The claim agrees with the release: {claim['understood']}.")


def _read(path: str) -> dict[str, object]:
    try:
        with Path(path).open("rb") as file:
            found = json.loads(file.read(MOST))
    except FileNotFoundError:
        raise MissingFileError(f"There is no file {path!r}.") from None
    except (OSError, ValueError, RecursionError):
        raise DataError(f"{path!r} is no claim. Hint: save the whole answer of `scumble mcp`, as JSON.") from None
    return found if isinstance(found, dict) else {}
