"""``scumble ledger``: what has been spent on each dataset, and what is left; open a dataset with its budget."""

from __future__ import annotations

import argparse
import os
from typing import Any

from scumble.cli.options import given, names, take
from scumble.cli.output import print_json
from scumble.errors import ParameterError, readable

EXAMPLE = """
scumble ledger town.ledger --open people-2024 --epsilon 3 --delta 1e-6
scumble ledger town.ledger --open visits --epsilon 2 --delta 1e-6 --composition zcdp --parts north,south
scumble ledger town.ledger
scumble ledger town.ledger --dataset visits
scumble ledger town.ledger --json
scumble build people.csv --columns age --bandwidth 5 --epsilon 1 --ledger town.ledger --dataset visits --out p.scumble
"""
NOTHING_PRIVATE = "writes what has been spent, which is public"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the ledger; --open makes it if there is none")
    take(parser, dataset="show this one alone (default: all)")
    group = parser.add_argument_group("open a dataset (its budget never changes afterwards)")
    group.add_argument("--open", metavar="NAME", help="a name of your choice for the records")
    take(group, epsilon={"type": str, "help": "the total budget, such as 3"})
    take(group, delta={"type": str, "default": "0", "help": "the total δ, such as 1e-6 (default: 0)"})
    take(group, rho={"type": str, "help": "for zcdp: the total ρ, instead of --epsilon"})
    group.add_argument("--composition", choices=["pure", "zcdp"], help="ε adds up (default), or ρ does")
    take(group, "neighbors", records_per_person={"default": 1})
    group.add_argument("--parts", type=names, default=[], metavar="X,Y", help="disjoint parts, by name")
    take(parser, "json")


def run(args: argparse.Namespace) -> None:
    from scumble.privacy.ledger import Ledger

    if args.open is not None and args.dataset is not None:
        raise ParameterError("--open opens a dataset and shows it; --dataset shows one. Hint: give one of them.")
    if args.open is None and (args.epsilon is not None or args.rho is not None or args.parts):
        raise ParameterError("A budget needs a name. Hint: --open NAME.")
    if args.open is not None:
        book = Ledger(args.file) if os.path.lexists(args.file) else Ledger.create(args.file)
        budget = given(args, "epsilon delta rho composition neighbors records_per_person parts")
        book.open_dataset(args.open, **budget)
    book = Ledger(args.file)
    shown = args.dataset if args.open is None else args.open
    accounts = [*book.accounts().values()] if shown is None else [book.account(shown)]
    if args.json:
        print_json({"datasets": [account.to_dict() for account in accounts]})
    else:
        print("\n\n".join(map(_card, accounts)) or "No dataset has been opened yet. Hint: --open NAME --epsilon 3.")


def _card(account: Any) -> str:
    """One dataset, for people."""
    from scumble.privacy.exact import show

    what = "record" if account.records_per_person == 1 else f"person with up to {account.records_per_person} records"
    lines = [f"{account.dataset}: {account.composition} composition, {account.neighbors} one {what}"]
    spent, left = account.spent, account.left()
    if account.composition == "pure":
        rows = [("ε", account.epsilon, spent.epsilon, left.epsilon), ("δ", account.delta, spent.delta, left.delta)]
    else:
        rows = [("ρ", account.rho, spent.rho, left.rho)]
    for name, total, used, left_exactly in rows:
        rest = left_exactly if left_exactly * 10**6 >= total else 0  # below the digits that are shown, it buys nothing
        lines.append(
            f"  {name}  budget {show(total, up=False):>12}   spent {show(used):>12}   left {show(rest, up=False):>12}"
        )
    if account.composition == "zcdp":
        so_far = show(account.spent_epsilon(), digits=4)
        lines.append(f"     spent so far means ε = {so_far} at δ = {show(account.delta, up=False)}")
    for part in account.parts:
        rest = account.left(part)
        text = f"ε = {show(rest.epsilon, up=False)}" if rest.rho is None else f"ρ = {show(rest.rho, up=False)}"
        lines.append(f"  part {part}: {text} left")
    for charge in account.charges:
        cost = charge.cost
        price = f"ε = {show(cost.epsilon)}" + (f", δ = {show(cost.delta)}" if cost.delta else "")
        rho = "" if cost.rho is None else f", ρ = {show(cost.rho)}"
        part = f"  part {charge.part}" if charge.part is not None else ""
        lines.append(f"  {charge.charged}  {charge.identity}  {price}{rho}{part}")
    return "\n".join(map(readable, lines))
