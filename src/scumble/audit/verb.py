"""``scumble audit``: try to catch the release path, a kernel or a mechanism of your own breaking its promise.

``--grey-box`` looks at every kind of release, with the noise played back; ``--canaries`` at one release alone.
"""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble audit --releases 300 --pairs 50
scumble audit --kernel hamming --epsilon 3 --neighbors replace --releases 200 --pairs 50 --json
scumble audit --grey-box --path "Sketch.release, pure"
scumble audit --canaries --epsilon 1
"""
NOTHING_PRIVATE = "generates its own tables"


def arguments(parser: argparse.ArgumentParser) -> None:
    from scumble.cli.options import take

    own = "a function of your own, from a list of numbers to whole numbers with noise (or to these and a count)"
    take(
        parser.add_mutually_exclusive_group(),
        kernel="euclidean (default), manhattan, angular, hamming, jaccard, or module:name for a kernel of your own",
        mechanism={"metavar": "MODULE:NAME", "help": own},
        mutant={"metavar": "NAME", "help": "a mechanism that is wrong on purpose, to see it caught"},
    )
    grey = "every kind of release, on neighboring tables, with the noise recorded and played back"
    canaries = "one release with synthetic records in it: ε from how many of them can be detected (also with --mutant)"
    take(
        parser.add_mutually_exclusive_group(),
        grey_box={"action": "store_true", "help": grey},
        canaries={"action": "store_true", "help": canaries},
    )
    take(
        parser,
        path={"default": "*", "metavar": "PATTERN", "help": "--grey-box: paths with such names, '*merge*'"},
        count={"type": int, "default": 1000, "metavar": "N", "help": "--canaries: how many (default: 1000)"},
    )
    take(
        parser.add_argument_group("the promise to test"),
        "epsilon delta neighbors records_per_person",
        epsilon={"default": 2.0, "help": "2 to 3 shows most in few releases (default: 2)"},
        records_per_person={"default": 1, "help": "at most this many (default: 1)"},
    )
    take(
        parser.add_argument_group("how hard to look"),
        releases={"type": int, "default": 12_500, "metavar": "N", "help": "of each of two neighbors (default: 12500)"},
        pairs={"type": int, "default": 300, "metavar": "N", "help": "of neighboring tables to count (default: 300)"},
        seed="of the synthetic tables (default: 0)",
        false_alarm={"type": float, "default": 1e-6, "metavar": "P", "help": "chance of accusing a correct mechanism"},
    )
    take(parser, "json")


def run(args: argparse.Namespace) -> int:
    from scumble.cli import REFUSED
    from scumble.cli.output import print_json

    report = _report(args)
    if args.json:
        print_json(report.to_dict())
    else:
        print(report.summary if args.grey_box else report)
    return 0 if report.passed else REFUSED


def _report(args: argparse.Namespace) -> Any:
    from scumble.audit import mechanisms
    from scumble.audit.mutants import CHANGES, audit_mutant
    from scumble.cli.options import kernel_named
    from scumble.cli.output import say
    from scumble.errors import ParameterError
    from scumble.kernels import Kernel

    if args.grey_box:
        from scumble.audit.greybox import audit_paths

        if args.kernel or args.mechanism or args.mutant:
            raise ParameterError("--grey-box looks at scumble's own paths. Hint: --path PATTERN picks some of them.")
        return audit_paths(args.path, lambda line: say(args, str(line)) if args.json else print(line, flush=True))
    if args.mutant is not None and args.mutant not in CHANGES:
        raise ParameterError(f"There is no mutant {args.mutant!r}. Hint: one of {', '.join(CHANGES)}.")
    promise = {"epsilon": args.epsilon, "delta": args.delta}
    rate = {"false_alarm": args.false_alarm}
    if args.canaries:
        if args.kernel or args.mechanism or args.neighbors != "add-remove" or args.records_per_person != 1:
            raise ParameterError("--canaries are put into Sketch.release, under add-remove, one record each.")
        return mechanisms.audit_canaries(**promise, **rate, count=args.count, mutant=args.mutant)
    effort = {**promise, **rate, "neighbors": args.neighbors, "releases": args.releases}
    if args.mutant is not None:
        return audit_mutant(args.mutant, **effort)
    named = args.mechanism or args.kernel or "euclidean"
    own = args.mechanism is not None or ":" in named
    found = mechanisms.load_target(named) if own else kernel_named(named, {})
    if not isinstance(found, Kernel):
        if args.mechanism is None:
            raise ParameterError(f"{named!r} is not a kernel. Hint: --mechanism takes functions.")
        return mechanisms.audit_mechanism(found, **effort, subject=named)
    more = {"records_per_person": args.records_per_person, "pairs": args.pairs, "seed": args.seed}
    return mechanisms.audit_kernel(found, **effort, **more)
