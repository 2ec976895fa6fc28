"""``scumble info``: a privacy card that a lawyer can read."""

from __future__ import annotations

import argparse
import hashlib
import os
from typing import TYPE_CHECKING

from scumble.cli.inputs import load_release
from scumble.cli.options import given, take
from scumble.cli.output import check_out, print_json, say
from scumble.errors import ParameterError

if TYPE_CHECKING:
    from scumble.show.cards import AnyRelease

EXAMPLE = """
scumble info people.scumble
scumble info people.scumble --json
scumble info people.scumble --nist
scumble info people.scumble --registry > people.yaml
scumble info people.scumble --html card.html --dataset "Commuters 2024" --publisher "City of Ulm"
"""
NOTHING_PRIVATE = "reads a released file, and a ledger, which is public"


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, release="a released file, or a fitted model; '-' for standard input")
    form = parser.add_mutually_exclusive_group()
    take(form, "json")
    form.add_argument("--nist", action="store_true", help="answer the points of NIST SP 800-226")
    form.add_argument("--registry", action="store_true", help="an entry for the registry of deployments, in YAML")
    form.add_argument("--html", metavar="FILE", help="a card to send or to print: .html")
    take(parser, "replace", ledger="for --nist: where other releases of the data are charged")
    take(parser, "CARD", dataset="its name in the ledger; with --html, what the card calls it")


def run(args: argparse.Namespace) -> None:
    from scumble.show import nist
    from scumble.show.cards import card, estimator_card, estimator_facts, facts

    if args.html is not None:
        check_out(args.html, like=(".html", ".htm"), replace=args.replace, piped=False)
    elif any(given(args, "CARD").values()):
        raise ParameterError("--publisher, --contact and --date go with --html.")
    if args.html is None and (args.ledger is None) != (args.dataset is None):
        raise ParameterError("Give --ledger and --dataset together. Hint: scumble ledger FILE lists the datasets.")
    if args.ledger is not None and not args.nist:
        raise ParameterError("--ledger is for --nist alone: it lists other releases of the same data.")
    found = load_release(args.release, tables=True, moments=True, models=True)
    name = "Standard input" if args.release == "-" else os.path.basename(args.release)
    if hasattr(found, "privacy_"):  # a fitted estimator
        if args.nist or args.registry or args.html:
            raise ParameterError(f"{args.release} is a fitted model: --nist, --registry and --html are for releases.")
        print_json(estimator_facts(found)) if args.json else print(estimator_card(found, name))
    elif args.json:
        print_json(facts(found))
    elif args.html:
        write_card(found, args, args.release, args.html)
        say(args, f"Wrote {args.html}. Print it from any browser.")
    elif args.nist:
        data = facts(found)
        print(nist.text(name, nist.points(data, _others(args, data.get("identity")), args.dataset)))
    elif args.registry:
        print(nist.entry(facts(found), name))
    else:
        print(card(found, name))


def write_card(found: AnyRelease, args: argparse.Namespace, path: str, out: str) -> None:
    """The card as a page, with what the options say of the publication."""
    from scumble.files.places import write_whole
    from scumble.show.cards import document

    if path == "-":
        raise ParameterError("The card needs the name of a file. Hint: save the release first.")
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    said = {name.capitalize(): value for name, value in given(args, "dataset CARD").items() if value}
    write_whole(out, document(found, os.path.basename(path), digest, said).encode("utf-8", "replace"))


def _others(args: argparse.Namespace, identity: object) -> list[str] | None:
    """What else the ledger has on these records."""
    from scumble.privacy.exact import show
    from scumble.privacy.ledger import Ledger

    if args.ledger is None:
        return None
    found = []
    for charge in Ledger(args.ledger).account(args.dataset).charges:
        if charge.identity != identity:
            delta = f", δ = {show(charge.cost.delta)}" if charge.cost.delta else ""
            part = "" if charge.part is None else f", part {charge.part}"
            found.append(f"{charge.charged[:10]} ε = {show(charge.cost.epsilon)}{delta} ({charge.mechanism}{part})")
    return found
