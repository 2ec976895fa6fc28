"""``scumble plan``: rows, buckets and the error to expect, before any data is touched."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble plan --n 1000000 --dimensions 8 --bandwidth 1 --epsilon 1
scumble plan --n 200000 --columns east,north --bandwidth 2 --bounds east=0:60,north=0:40 --epsilon 1 --json
scumble plan --n 1000000 --dimensions 8 --bandwidth 1 --epsilon 1 --plot plan.png
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    from scumble.cli import arguments as shared

    parser.add_argument(
        "--dimensions", type=shared.Whole(1, 10**6), help="how many columns, if --columns does not name them"
    )
    parser.add_argument("--columns", type=shared.names, metavar="A,B", help="the columns")
    parser.add_argument("--density", type=float, default=0.1, help="of the queries that matter (default: 0.1)")
    shared.kernel(parser)
    shared.budget(parser)
    shared.size(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw the error against rows and epsilon: .png, .svg or .pdf")
    parser.add_argument("--config", metavar="FILE.toml", help="options in a file; those given here take precedence")
    shared.json_flag(parser)


def run(args: argparse.Namespace) -> None:
    from scumble.cli.arguments import bounds_for, promised, require
    from scumble.cli.kernels import kernel_from
    from scumble.cli.output import check_out, human_bytes, print_json, say
    from scumble.errors import ParameterError
    from scumble.planning import plan, require_dimensions
    from scumble.tables.roles import roles_of

    require(args, n="roughly how many records there are (a public guess)")
    budget = promised(args, "the privacy budget; typical are 0.1 to 10")
    if args.columns is None and args.dimensions is None:
        raise ParameterError("Give --dimensions, the number of columns, or --columns, their names.")
    require_dimensions(len(args.columns) if args.columns else args.dimensions)
    columns = args.columns or [f"column{j}" for j in range(args.dimensions)]
    kernel = kernel_from(args, columns)
    roles = roles_of(kernel, columns) if args.columns or args.bounds else {}
    settings: dict[str, Any] = {
        "n": args.n,
        "dimensions": len(columns),
        **budget,
        "kernel": kernel,
        "density": args.density,
        "bounds": bounds_for(args.bounds, columns, lambda name: roles[name] == "number"),
        "columns": columns,
        "design": args.design,
        "rows": args.rows,
        "buckets": args.buckets,
    }
    chosen = plan(**settings)
    if args.plot:
        check_out(args.plot)
        _draw(args.plot, chosen, settings)
        say(args, f"Drew {args.plot}.")
    if args.json:
        print_json(chosen.to_dict())
        return
    cells = f" ({' × '.join(map(str, chosen.shape))} cells)" if chosen.shape else ""
    print(
        f"design          {chosen.design}{cells}\n"
        f"rows            {chosen.rows:,}\n"
        f"buckets         {chosen.buckets:,}\n"
        f"expected error  {chosen.relative_error:.2%} of a density of {args.density:g} "
        f"(± {chosen.standard_error:,.3g} records)\n"
        f"released file   {human_bytes(chosen.bytes)}\n"
        f"counting        about {chosen.seconds:,.1f} s on one core"
    )


def _draw(path: str, chosen: Any, settings: dict[str, Any]) -> None:
    from scumble.planning import plan
    from scumble.show import plots

    settings = {name: value for name, value in settings.items() if name not in ("rho", "mu")}
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
