"""``scumble verify``: recompute a claim about a release, or check a file of evidence."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import zipfile
from typing import Any

from scumble.cli.inputs import table_release
from scumble.columns.column import Column
from scumble.columns.schema import Schema, parse_toml
from scumble.errors import DataError, ScumbleError

EXAMPLE = "scumble verify answer.json town.scumble"
NOTHING_PRIVATE = "reads released files, and what is said of them"
MOST = 1 << 30
"""Bytes of what is checked."""
EVIDENCE, MANIFEST, RELEASE = "scumble-evidence-1", "manifest.json", "release.scumble"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("claim", help="an answer of scumble mcp, as JSON; or what scumble evidence wrote")
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help="the releases that an answer is about")


def run(args: argparse.Namespace) -> None:
    with open(args.claim, "rb") as file:
        data = file.read(MOST)
    if data.startswith(b"PK"):
        said = evidence(data)
        print(f"The evidence is complete, and its claim follows from the noise: {said}.")
        return
    from scumble.show.claims import verify

    try:
        claim = json.loads(data)
    except (ValueError, RecursionError):
        raise DataError(f"{args.claim!r} is not an answer of `scumble mcp`. Hint: save all of it, as JSON.") from None
    if differences := verify(claim, map(table_release, args.releases)):
        more = f" And {len(differences) - 1} more." if len(differences) > 1 else ""
        raise DataError(f"The answer disagrees with the release. {differences[0]}{more}")
    print(f"The answer agrees with the release: {claim['understood']}.")


def evidence(data: bytes) -> str:
    """The claim, if every part of the evidence has its hash, and the claim and the ledger agree with the release."""
    from scumble import files
    from scumble.density.loading import release_in
    from scumble.privacy.claim import PrivacyClaim
    from scumble.privacy.costs import Cost

    parts = _parts(data)
    release: Any = release_in(files.from_bytes(parts[RELEASE], expect=files.RELEASES))
    try:
        claim = PrivacyClaim.from_dict(json.loads(parts["claim.json"])["claim"])  # it follows from its own scales
        charges = json.loads(parts["ledger.json"])["charges"] if "ledger.json" in parts else None
        mine = [one for one in charges or () if one["identity"] == release.identity]
        costs = [[one["exact_epsilon"], one["exact_delta"]] for one in mine]
        passed = [json.loads(parts[name])["passed"] for name in ("sampler.json", "greybox.json") if name in parts]
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise DataError(f"The evidence is damaged or incomplete: {type(problem).__name__}.") from None
    if claim != release.privacy:
        raise DataError("The evidence disagrees: its claim is not the release's own.")
    known = [Cost.of(claim), Cost.of(claim, rounded=False)]
    if charges is not None and not any([str(cost.epsilon), str(cost.delta)] in costs for cost in known):
        raise DataError("The evidence disagrees: the ledger was not charged for this claim.")
    if "schema.toml" in parts and _schema(parts["schema.toml"]) != getattr(release, "schema", None):
        raise DataError("The evidence disagrees: its schema is not the release's own.")
    if not all(passed):
        raise DataError("The evidence holds a failed test of the sampler or of the path. Hint: see its index.html.")
    return str(claim)


def _schema(data: bytes) -> Schema | None:
    try:
        columns, rules = parse_toml(data, "schema.toml")
        made = {name: Column.from_dict(one, name) for name, one in columns.items()}
        return Schema(made, rules=rules)
    except (ScumbleError, TypeError, ValueError):
        return None


def _parts(data: bytes) -> dict[str, bytes]:
    """The parts, each with the hash that the manifest states."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = file.infolist()
            if sum(entry.file_size for entry in entries) > MOST:
                raise DataError("The evidence is larger than 1 GiB. Hint: is it a file of scumble evidence?")
            parts = {entry.filename: file.read(entry) for entry in entries}
        manifest = json.loads(parts.pop(MANIFEST))
        stated, form = dict(manifest["sha256"]), manifest["format"]
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError):
        raise DataError("This is not a complete file of `scumble evidence`. Hint: download or make it again.") from None
    if (
        form != EVIDENCE
        or {*stated} != {*parts}
        or not {RELEASE, "claim.json"} <= {*parts}
        or len(entries) != len(parts) + 1
    ):
        raise DataError("The evidence does not have the parts that its manifest lists.")
    for name, part in parts.items():
        if hashlib.sha256(part).hexdigest() != stated[name]:
            raise DataError(f"The evidence was changed: {name[:60]!r} does not have its SHA-256.")
    return parts
