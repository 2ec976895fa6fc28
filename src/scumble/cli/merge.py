"""``scumble merge``: several parts to one part, or several releases to one release."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Literal

from scumble.cli.options import take
from scumble.cli.output import check_out, say, secret_out, write_release
from scumble.errors import MergeError, ParameterError

if TYPE_CHECKING:
    from scumble import files
    from scumble.show.cards import AnyRelease

EXAMPLE = """
scumble merge part1.secret part2.secret --out all.secret
scumble merge north.scumble south.scumble --disjoint persons --out country.scumble
scumble merge monday.scumble tuesday.scumble --out week.scumble
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", help="secret parts, or released files; made with the same parameters")
    take(parser, out={"required": True, "help": "the merged file; '-' for a release to standard output"})
    parser.add_argument(
        "--disjoint",
        choices=["records", "persons"],
        help="releases: no record, or no person, is in two of them, so the largest budget counts. You vouch for that "
        "(default: the budgets add up)",
    )


def run(args: argparse.Namespace) -> None:
    from scumble import files
    from scumble.cli.handover import replacing
    from scumble.density.loading import NO_MERGED_TABLES
    from scumble.privacy.wording import human_bytes
    from scumble.show.cards import twice

    containers = [files.read(path, expect=("secret", *files.RELEASES)) for path in args.files]
    kinds = {container.kind for container in containers}
    check_out(args.out, text=False, ours=True, secret=kinds == {"secret"})
    if "table" in kinds:
        raise MergeError(NO_MERGED_TABLES)
    if len(kinds) > 1:
        raise ParameterError(f"Cannot merge {' with '.join(sorted(kinds))}. Hint: all parts, or all releases.")
    if kinds == {"secret"}:
        _merge_parts(args, containers)
        return
    result = _merged(containers, "persons" if args.disjoint == "persons" else args.disjoint is not None)
    with replacing(args.out, result.to_bytes()):
        size = write_release(result, args.out)
    if args.out != "-":
        say(args, f"Wrote {args.out} ({human_bytes(size)}): {result.privacy}.")
    if args.disjoint is None and len(containers) > 1:
        hint = "--disjoint records or persons, if no record or person is in two of them"
        say(args, f"The budgets of the {len(containers)} releases add up; {twice(len(containers))}. Hint: {hint}.")


def _merge_parts(args: argparse.Namespace, containers: list[files.Container]) -> None:
    from scumble.density.loading import merge, sketch_in

    if args.disjoint:
        raise ParameterError("--disjoint is for releases: parts are released together, once.")
    secret_out(args.out)
    merge([sketch_in(container) for container in containers]).save(args.out)
    say(args, f"Wrote {args.out}, which is SECRET: exact counters. Next: scumble release {args.out} --epsilon 1 ...")
    say(args, f"Delete {', '.join(args.files)}: releasing them too would publish their records twice.")


def _merged(containers: list[files.Container], disjoint: bool | Literal["persons"]) -> AnyRelease:
    from scumble.density.bundle import Bundle
    from scumble.density.release import Release, merge_releases

    if containers[0].kind == "release":
        return merge_releases([Release.from_container(container) for container in containers], disjoint=disjoint)
    bundles = [Bundle.from_container(container) for container in containers]
    if any(bundle.classes != bundles[0].classes for bundle in bundles):
        raise MergeError("Cannot merge: the classes differ. Hint: build every bundle with the same --classes.")
    return Bundle(
        {name: merge_releases([bundle[name] for bundle in bundles], disjoint=disjoint) for name in bundles[0]},
        label=bundles[0].label,
    )
