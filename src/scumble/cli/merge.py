"""``scumble merge``: several parts to one part, or several releases to one release."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble merge part1.secret part2.secret --out all.secret
scumble merge north.scumble south.scumble --disjoint persons --out country.scumble
scumble merge monday.scumble tuesday.scumble --out week.scumble
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("files", nargs="+", help="secret parts, or released files; made with the same parameters")
    parser.add_argument(
        "--out", metavar="FILE", required=True, help="the merged file; '-' for a release to standard output"
    )
    declared = parser.add_mutually_exclusive_group()
    declared.add_argument(
        "--disjoint",
        choices=["records", "persons"],
        help="releases: no record, or no person, is in two of them, so the largest budget counts. You vouch for that "
        "(left out: the budgets add up)",
    )
    declared.add_argument("--overlapping", action="store_true", help="releases: the budgets add up, as by default")


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble import files
    from scumble.bundle import Bundle
    from scumble.cli.output import check_out, like_a_release, misnamed, say, secret_out, write_release
    from scumble.cli.replacing import replacing
    from scumble.errors import MergeError, ParameterError
    from scumble.loading import NO_MERGED_TABLES, merge, sketch_in
    from scumble.release import Release, merge_releases
    from scumble.show.cards import twice
    from scumble.show.wording import human_bytes

    containers = [files.read(path, expect=("secret", *files.RELEASES)) for path in args.files]
    kinds = {container.kind for container in containers}
    check_out(args.out, text=False, ours=True, secret=kinds == {"secret"})
    if "table" in kinds:
        raise MergeError(NO_MERGED_TABLES)
    if len(kinds) > 1:
        raise ParameterError(f"Cannot merge {' with '.join(sorted(kinds))}. Hint: all parts, or all releases.")
    if kinds == {"secret"}:
        if args.overlapping or args.disjoint:
            raise ParameterError(
                "--overlapping and --disjoint are for releases: parts are counted together and released once."
            )
        secret_out(args.out)
        merge([sketch_in(container) for container in containers]).save(args.out)
        secret = f"It is SECRET: exact counters.{like_a_release(args.out)}"
        say(args, f"Wrote {args.out}. {secret} Next: scumble release {args.out} --epsilon 1 ...")
        say(
            args,
            f"{', '.join(args.files)} still hold{'s' * (len(args.files) == 1)} exact counters, and a release of one of "
            "them would publish its records a second time: delete what is no longer needed.",
        )
        return
    result: Any
    disjoint: Any = {"records": True, "persons": "persons"}.get(args.disjoint, False)
    if kinds == {"release"}:
        parts = [Release.from_container(container) for container in containers]
        result = merge_releases(parts, disjoint=disjoint)
    else:
        bundles = [Bundle.from_container(container) for container in containers]
        for bundle in bundles[1:]:
            if bundle.classes != bundles[0].classes:
                raise MergeError("Cannot merge: the classes differ. Hint: build every bundle with the same --classes.")
        result = Bundle(
            {name: merge_releases([bundle[name] for bundle in bundles], disjoint=disjoint) for name in bundles[0]},
            label=bundles[0].label,
        )
    with replacing(args.out, result.to_bytes()):
        size = write_release(result, args.out)
    if args.out != "-":
        say(args, f"Wrote {args.out} ({human_bytes(size)}): {result.privacy}.{misnamed(args.out)}")
    if args.disjoint is None and len(containers) > 1:
        meant = "declared" if args.overlapping else "taken"
        hint = "if no record is in two of them, --disjoint records; if no person is, --disjoint persons"
        said = f"The {len(containers)} releases are {meant} to be of the same records, so their budgets add up; "
        say(args, f"{said}{twice(len(containers))}.{'' if args.overlapping else f' Hint: {hint}.'}")
