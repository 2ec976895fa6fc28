"""``scumble plan``: rows, buckets and the error to expect, before any data is touched."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

EXAMPLE = """
scumble plan --n 1000000 --dimensions 8 --bandwidth 1 --epsilon 1
scumble plan --n 200000 --columns east,north --bandwidth 2 --bounds east=0:60,north=0:40 --epsilon 1 --json
scumble plan --n 200000 --columns age --whole age --bandwidth 2 --bounds age=0:100 --epsilon 1
scumble plan --n 1000000 --dimensions 8 --bandwidth 1 --error 2%
scumble plan --n 1000000 --dimensions 8 --bandwidth 1 --epsilon 1 --plot plan.png
"""
NOTHING_PRIVATE = "reads no table"
ASSUMED = {
    "given": "a density of {:.3g} at a typical query, as given",
    "bounds": "a density of {:.3g} at a typical query: usual within these bounds; give --density if you know better",
    "default": "a density of {:.3g} at a typical query, whatever the bandwidth; give --bounds or --density",
}
"""Where the density comes from that the expected error is for."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli import arguments as shared

    parser.add_argument(
        "--dimensions", type=shared.Whole(1, 10**6), help="how many columns, if --columns does not name them"
    )
    parser.add_argument("--columns", type=shared.names, metavar="A,B", help="the columns")
    parser.add_argument(
        "--density", type=shared.real, help="of the queries that matter (left out: 0.1 at power 1, or by --bounds)"
    )
    parser.add_argument("--error", metavar="5%", help="instead of a budget: the relative error that is wanted")
    parser.add_argument("--schema", metavar="FILE.toml", help=argparse.SUPPRESS)  # known only to say what does it
    shared.kernel(parser)
    shared.kinds(parser)
    shared.budget(parser)
    shared.size(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw the error against rows and epsilon: .png, .svg or .pdf")
    shared.replace_flag(parser)
    parser.add_argument("--config", metavar="FILE.toml", help="options in a file; those given here take precedence")
    shared.json_flag(parser)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.cli.arguments import per_person, promised, require
    from scumble.cli.kernels import kernel_from
    from scumble.cli.output import check_out, print_json, say
    from scumble.errors import ParameterError, many
    from scumble.planning import plan, require_dimensions
    from scumble.planning.wanted import by_epsilon
    from scumble.privacy.exact import show
    from scumble.schema.declarations import KINDS
    from scumble.show import plots
    from scumble.show.wording import AS_USUAL, decided_later, human_bytes, sized

    if args.schema is not None:
        size = "" if args.n is None else f" --n {args.n}"
        raise ParameterError(
            "`plan` is for densities. A table is rehearsed, which reads no record either. Hint: scumble build TABLE "
            f"--schema {args.schema}{size} --epsilon {args.epsilon or 1:g} --rehearse."
        )
    if isinstance(args.buckets, tuple):
        raise ParameterError(
            "`plan` chooses the cells along each axis; one number for --buckets is the most there may be. Hint: "
            "scumble build with --buckets 200,100 --rehearse tells what to expect of such a grid."
        )
    require(args, n="roughly how many records there are (a public guess)")
    if args.error is None:
        budget = promised(args, "the privacy budget, typical are 0.1 to 3; or --error, the error that is wanted")
    else:
        names = ("error", "epsilon", "rho", "mu", "delta", "neighbors")
        budget = {name: getattr(args, name) for name in names} | {"records_per_person": per_person(args)}
    if args.columns is None and args.dimensions is None:
        raise ParameterError("Give --dimensions, the number of columns, or --columns, their names.")
    require_dimensions(len(args.columns) if args.columns else args.dimensions)
    columns = args.columns or [f"column{j}" for j in range(args.dimensions)]
    kernel = kernel_from(args, columns)
    settings: dict[str, Any] = {
        "n": args.n,
        "dimensions": len(columns),
        **budget,
        "kernel": kernel,
        "density": args.density,
        "bounds": args.bounds,
        "columns": columns,
        "design": args.design,
        "rows": args.rows,
        "buckets": args.buckets,
        **{name: getattr(args, name) for name in KINDS},
    }
    chosen = plan(**settings)
    if args.plot:
        check_out(args.plot, like=plots.FORMATS, replace=args.replace)
        _draw(args.plot, chosen, settings)
        say(args, f"Drew {args.plot}.")
    errors = by_epsilon(lambda epsilon: plan(**settings | {"epsilon": epsilon, "error": None, "rho": None, "mu": None}))
    spread = AS_USUAL if args.density is None and args.bounds is not None else ""
    if args.json:
        told = {"spread": spread, "meaning": chosen.sentence(), "by_epsilon": {f"{e:g}": errors[e] for e in errors}}
        print_json(chosen.to_dict() | told)
        return
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
    later = []
    if chosen.denser is not None:
        size = sized(chosen.shape or (chosen.rows,), chosen.design)
        later = [decided_later(size, sized(chosen.denser, chosen.denser_design), chosen.either)]
    for sentence in filter(None, (spread, *later, chosen.sentence())):
        print(
            "\n".join(textwrap.wrap(sentence.replace(" %", "\N{NO-BREAK SPACE}%"), 100)).replace(
                "\N{NO-BREAK SPACE}", " "
            )
        )


def _draw(path: str, chosen: Any, settings: dict[str, Any]) -> None:
    from scumble.planning import plan
    from scumble.show import plots

    settings = {name: value for name, value in settings.items() if name not in ("rho", "mu", "error")}
    hashed = settings | {"design": "sobol" if settings["design"] in ("auto", "grid") else settings["design"]}
    budgets = sorted({0.1, 0.3, 1.0, 3.0, chosen.epsilon})
    lines = {
        epsilon: [plan(**hashed | {"epsilon": epsilon, "rows": 2**k}) for k in range(3, 14)] for epsilon in budgets
    }
    grids = None
    if chosen.design == "grid":
        grid = settings | {"design": "grid", "rows": None}
        grids = {epsilon: plan(**grid | {"epsilon": epsilon}) for epsilon in budgets}
    plots.save(plots.plan_errors(lines, chosen=None if grids else chosen, grids=grids), path)
