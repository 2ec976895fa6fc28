"""``scumble info``: a privacy card that a lawyer can read."""

from __future__ import annotations

import argparse
import os
from typing import Any

EXAMPLE = """
scumble info people.scumble
scumble info people.scumble --json
scumble info people.scumble --nist
scumble info people.scumble --registry > people.yaml
"""
NOTHING_PRIVATE = "reads a released file, and a ledger, which is public"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import json_flag

    parser.add_argument("release", help="a released file, or a fitted model; '-' for standard input")
    form = parser.add_mutually_exclusive_group()
    json_flag(form)
    form.add_argument("--nist", action="store_true", help="the points of NIST SP 800-226, answered")
    form.add_argument("--registry", action="store_true", help="an entry for the registry of deployments, in YAML")
    parser.add_argument("--ledger", metavar="FILE", help="for --nist: where other releases of the data are charged")
    parser.add_argument("--dataset", metavar="NAME", help="for --nist: the dataset in the ledger")


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.cli.output import load_release, print_json
    from scumble.errors import ParameterError
    from scumble.show import nist, registry
    from scumble.show.cards import card, estimator_card, estimator_facts, facts

    if (args.ledger is None) != (args.dataset is None):
        raise ParameterError("Give --ledger and --dataset together. Hint: scumble ledger FILE lists the datasets.")
    if args.ledger is not None and not args.nist:
        raise ParameterError("--ledger is for --nist alone: it tells of other releases of the same data.")
    found = load_release(args.release, tables=True, moments=True, models=True)
    name = "Standard input" if args.release == "-" else os.path.basename(args.release)
    if hasattr(found, "privacy_"):  # a fitted estimator
        if args.nist or args.registry:
            raise ParameterError(f"{args.release} is a fitted model: --nist and --registry tell of releases.")
        print_json(estimator_facts(found)) if args.json else print(estimator_card(found, name))
    elif args.json:
        print_json(facts(found))
    elif args.nist:
        data = facts(found)
        print(nist.text(name, nist.points(data, _others(args, data.get("identity")), args.dataset)))
    elif args.registry:
        print(registry.yaml(registry.entry(facts(found), name)))
    else:
        print(card(found, name))


def _others(args: argparse.Namespace, identity: Any) -> list[str] | None:
    """What else the ledger has on these records."""
    from scumble.privacy.ledger import Ledger

    if args.ledger is None:
        return None
    charges = Ledger(args.ledger).account(args.dataset).charges
    return [_charge(one) for one in charges if one.identity != identity]


def _charge(charge: Any) -> str:
    from scumble.privacy.exact import show

    part = "" if charge.part is None else f", part {charge.part}"
    delta = f", δ = {show(charge.cost.delta)}" if charge.cost.delta else ""
    return f"{charge.charged[:10]} ε = {show(charge.cost.epsilon)}{delta} ({charge.mechanism}{part})"
