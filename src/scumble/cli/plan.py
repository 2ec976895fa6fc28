"""``scumble plan``: rows, buckets and the error to expect, before any data is touched."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from scumble.cli import options
from scumble.cli.options import Settings, given, take
from scumble.cli.output import aligned, check_out, print_json, say
from scumble.errors import ParameterError, many

if TYPE_CHECKING:
    from scumble.density.plan import Plan

EXAMPLE = """
scumble plan --n 1000000 --dimensions 8 --bandwidth 1 --epsilon 1
scumble plan --n 200000 --columns east,north --bandwidth 2 --bounds east=0:60,north=0:40 --epsilon 1 --json
scumble plan --n 200000 --columns age --whole age --bandwidth 2 --bounds age=0:100 --epsilon 1
scumble plan --n 1000000 --dimensions 8 --bandwidth 1 --error 2%
scumble plan --schema town.toml --n 18000
scumble plan --schema town.toml --n 18000 --delta 1e-6 --out plan.png
"""
NOTHING_PRIVATE = "reads no table"
ASSUMED = {
    "given": "a density of {:.3g} at a typical query, as given",
    "bounds": "a density of {:.3g} at a typical query: usual within these bounds; give --density if you know better",
    "default": "a density of {:.3g} at a typical query, whatever the bandwidth; give --bounds or --density",
}
"""Where the density comes from that the expected error is for."""


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, "n", columns="the columns")
    parser.add_argument(
        "--dimensions", type=options.Whole(1, 10**6), help="how many columns, if --columns does not name them"
    )
    parser.add_argument(
        "--density", type=options.real, help="at the queries that matter (default: 0.1 at power 1, or by --bounds)"
    )
    parser.add_argument("--error", metavar="5%", help="instead of a budget: the relative error to aim for")
    take(parser, "KERNEL KINDS WHOLE_TABLE BUDGET SIZE config replace json")
    take(parser, out="for a --schema: one picture of it, .png, .svg or .pdf")


def run(args: argparse.Namespace) -> None:
    from scumble.columns.kinds import bounds_by, declared
    from scumble.density.advice import advice
    from scumble.density.plan import by_epsilon, plan
    from scumble.privacy.wording import AS_USUAL

    if args.schema is not None:
        _of_schema(args)
        return
    for name in ("target", "levels", "together", "important", "out"):
        if getattr(args, name) is not None:
            raise ParameterError(f"--{name} goes with --schema, which describes a whole table.")
    if isinstance(args.buckets, tuple):
        raise ParameterError("`plan` chooses the cells along each axis. Hint: give --buckets one number, the most.")
    options.require(args, n="roughly how many records there are (a public guess)")
    if args.error is None:
        budget = options.promised(
            args, "the privacy budget, typical are 0.1 to 3; or --error, the relative error to aim for"
        )
    else:
        budget = given(args, "error epsilon rho mu delta neighbors")
        budget["records_per_person"] = options.per_person(args)
    if args.columns is None and args.dimensions is None:
        raise ParameterError("Give --dimensions, the number of columns, or --columns, their names.")
    columns = args.columns or [f"column{j}" for j in range(args.dimensions)]
    settings: Settings = {
        **given(args, "n density bounds design rows buckets KINDS"),
        **budget,
        "dimensions": len(columns),
        "columns": columns,
        "kernel": options.kernel_from(args, columns),
    }
    chosen = plan(**settings)
    errors = by_epsilon(lambda epsilon: plan(**settings | {"epsilon": epsilon, "error": None, "rho": None, "mu": None}))
    spread = AS_USUAL if args.density is None and args.bounds is not None else ""
    sides = bounds_by(declared(**given(args, "KINDS")), args.bounds)
    doubts = advice(settings["kernel"], columns, sides) if args.columns else []
    if args.json:
        more = {
            "spread": spread,
            "advice": doubts,
            "meaning": chosen.sentence(),
            "by_epsilon": {f"{e:g}": errors[e] for e in errors},
        }
        print_json(chosen.to_dict() | more)
    else:
        _print(chosen, errors, [spread, *(f"Advice: {one}" for one in doubts)])


def _print(chosen: Plan, errors: dict[float, float], more: list[str]) -> None:
    """The plan, for people."""
    from scumble.privacy.exact import show
    from scumble.privacy.wording import decided_later, human_bytes, sized

    about = "" if chosen.denser is None else "about "
    cells = f" ({about}{' × '.join(map(str, chosen.shape))} cells)" if chosen.shape else ""
    print(
        f"design          {chosen.design}{cells}\n"
        f"rows            {chosen.rows:,}\n"
        f"buckets         {chosen.buckets:,}\n"
        f"epsilon         {show(chosen.epsilon)}{f', delta {show(chosen.delta)}' if chosen.delta else ''}\n"
        f"expected error  {chosen.relative_error:.2%} of a density of {chosen.density:.3g} "
        f"(± {many(chosen.standard_error, 'record', digits=3)}, one standard error)\n"
        f"assumed         {ASSUMED[chosen.density_from].format(chosen.density)}\n"
        f"released file   {human_bytes(chosen.bytes)}\n"
        f"counting        about {chosen.seconds:,.1f} s on one core\n\n"
        f"epsilon  {'  '.join(f'{epsilon:>8g}' for epsilon in errors)}\n"
        f"error    {'  '.join(f'{error:>8.2%}' for error in errors.values())}\n"
    )
    later = ""
    if chosen.denser is not None:
        size = sized(chosen.shape or (chosen.rows,), chosen.design)
        later = decided_later(size, sized(chosen.denser, chosen.denser_design), chosen.either)
    for sentence in filter(None, (*more, later, chosen.sentence())):
        print("\n".join(textwrap.wrap(sentence.replace(" %", "\xa0%"), 100)).replace("\xa0", " "))


def _of_schema(args: argparse.Namespace) -> None:
    """Errors by ε for a whole table, and a picture of them."""
    from scumble.columns.schema import Schema
    from scumble.privacy.budget import Budget
    from scumble.show import plots
    from scumble.show.expected import EPSILONS, outlook, picture
    from scumble.table.spec import TableSpec

    options.require(args, n="roughly how many records there are (a public guess)")
    others = given(args, "columns dimensions density error KERNEL KINDS bounds rho mu rows")
    for name in (name for name, value in others.items() if value is not None):
        raise ParameterError(f"--{name} does not go with --schema: errors are shown by ε. Hint: leave it out.")
    if args.out is not None:
        check_out(args.out, like=plots.FORMATS, replace=args.replace, piped=False)
    of_views = {name: value for name, value in given(args, "target levels together important").items() if value}
    spec = TableSpec.of(Schema.load(args.schema), **of_views)
    promise = given(args, "delta neighbors") | {"records_per_person": options.per_person(args)}
    epsilons = sorted({*EPSILONS, *([] if args.epsilon is None else [args.epsilon])})
    found = outlook(spec, args.n, {epsilon: Budget.of(epsilon=epsilon, **promise) for epsilon in epsilons})
    if args.json:
        print_json(found.to_dict())
    else:
        print(f"{args.n:,} records; half of the 95 % interval, from privacy noise alone:\n")
        print(aligned([found.headings, *found.rows()]))
        notes = ["A count is that of one level of a column."]
        notes += [f"A group by {found.by} has about {found.group:,.0f} records."] if found.by else []
        notes += ["Pairs that are not measured are inferred."] if found.pairs else []
        print("\n" + "\n".join(textwrap.wrap(" ".join(notes), 100)))
    if args.out is not None:
        plots.save(picture(found), args.out)
        say(args, f"Drew {args.out}.")
