"""``scumble modes``: where records are densest."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """
scumble modes people.scumble --bounds age=0:100,income=0:200000 --out -
scumble modes people.scumble --bounds age=0:100,income=0:200000 --method lp --json
"""
NOTHING_PRIVATE = "reads a released file"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    from scumble.cli.arguments import Whole, bounds, json_flag, real, replace_flag

    parser.add_argument("release", help="a released file; '-' for standard input")
    parser.add_argument("--bounds", type=bounds, metavar="A=0:100", help="where to look; a grid knows its own")
    parser.add_argument("--class", dest="label", metavar="NAME", help="of a bundle: the class to look at")
    parser.add_argument("--method", default="climb", help="climb (default), or lp: linear programs over the hash cells")
    parser.add_argument("--starts", type=Whole(1, 10**6), default=100, help="where to start from (default: 100 places)")
    parser.add_argument("--significance", type=real, default=5.0, help="in standard errors (default: 5)")
    parser.add_argument("--seed", type=Whole(0, 2**32 - 1), default=0, help="of the search (default: 0)")
    parser.add_argument("--out", default="-", metavar="FILE", help=".csv, .parquet, .arrow, .json or '-' (default)")
    replace_flag(parser)
    json_flag(parser)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    from scumble.checks import by_column
    from scumble.cli.output import TABLES, TableWriter, check_out, load_release, one_release, remarked, say
    from scumble.cli.progress import waiting
    from scumble.machine.later import pa
    from scumble.schema.kinds import bounds_by, values
    from scumble.tables.beside import free

    check_out(args.out, like=tuple(TABLES), replace=args.replace)
    release = one_release(load_release(args.release), args.release, args.label)
    from scumble.learn.modes import HINTED, PrivateModes  # needs scikit-learn: a file that has no modes is told first

    names = column_names(release)
    with remarked() as remarks, waiting(args.quiet, "Looking for modes …"):
        model = PrivateModes.from_release(
            release,
            bounds=by_column(bounds_by(release.kinds, args.bounds), names),
            method=args.method,
            starts=args.starts,
            significance=args.significance,
            random_state=args.seed,
        )
    unsure = model._as_dense()
    told = [further(unsure)] if unsure else []
    with TableWriter(args.out, args.json) as writer:
        places, found = model.modes_.T, [model.densities_, *model.intervals_.T]
        if writer.kind == "csv":
            places, found = _short(model, found)
        columns = [values(column, release.kinds.get(name)) for name, column in zip(names, places, strict=True)]
        columns += map(pa.array, found)
        answers = free(["density", "lower", "upper", "remarks"][: 3 + (writer.kind == "json")], names)
        if writer.kind == "json":
            columns.append(pa.array([[*remarks, *told]] * len(model.modes_), pa.list_(pa.string())))
        writer.write(pa.RecordBatch.from_arrays(columns, names=[*names, *answers]))
    if not len(model.modes_):
        say(args, f"No mode stands out of the noise. Hint: --significance {HINTED} shows what noise could explain.")
    for line in told:
        say(args, line)
    if args.out != "-":
        say(args, f"Wrote {args.out}.")


def _short(model: Any, found: list[Any]) -> tuple[Any, list[Any]]:
    """Places to a hundred-thousandth of where modes were looked for, and densities without digits that are noise."""
    import numpy as np

    from scumble.cli.digits import rounded

    low, high = model.bounds_
    sides = [[high_ - low_] * len(model.modes_) for low_, high_ in zip(low, high, strict=True)]
    places = [rounded([column], width)[0] for column, width in zip(model.modes_.T, sides, strict=True)]
    return np.array(places).reshape(model.modes_.T.shape), rounded(found, found[2] - found[1])


def further(places: int) -> str:
    """What was left out as unsure, though it is as dense by estimate."""
    from scumble.learn.modes import HINTED

    which, them = ("1 further place is", "it") if places == 1 else (f"{places:,} further places are", "them")
    return (
        f"{which} at least as dense by estimate as the last of these, but noise could explain {them}: "
        f"--significance {HINTED} shows {them}."
    )


def column_names(release: object) -> list[str]:
    """The release's columns, or x0, x1 and so on."""
    found = getattr(release, "columns", None)
    return list(found) if found is not None else [f"x{i}" for i in range(getattr(release, "dimensions", 0))]
