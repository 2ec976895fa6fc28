"""``scumble modes``: where records are densest."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scumble.cli.inputs import load_release, one_release
from scumble.cli.options import TABLE_OUT, Whole, given, take
from scumble.cli.output import TableWriter, check_table, remarked, rounded, say
from scumble.cli.terminal import waiting
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    import numpy as np

    from scumble.show.usefulness import Model

EXAMPLE = """
scumble modes people.scumble --bounds age=0:100,income=0:200000 --out -
scumble modes people.scumble --bounds age=0:100,income=0:200000 --json
"""
NOTHING_PRIVATE = "reads a released file"


def arguments(parser: argparse.ArgumentParser) -> None:
    take(parser, "release class starts significance replace json", out=TABLE_OUT)
    take(parser, bounds="where to look; a grid knows its own")
    take(parser, seed={"type": Whole(0, 2**32 - 1), "help": "of the search (default: 0)"})


def run(args: argparse.Namespace) -> None:
    from scumble.checks import by_column
    from scumble.columns.containers import free
    from scumble.columns.kinds import bounds_by, values
    from scumble.show.ranges import column_names

    check_table(args)
    release = one_release(load_release(args.release), args.release, args.label)
    from scumble.learn.modes import HINTED, PrivateModes  # needs scikit-learn: first the file must have modes

    names = column_names(release)
    with remarked() as remarks, waiting(args.quiet, "Looking for modes …"):
        within = by_column(bounds_by(release.kinds, args.bounds), names)
        search = given(args, "starts significance")
        model = PrivateModes.from_release(release, bounds=within, random_state=args.seed, **search)
    unsure = model._as_dense()
    doubts = [further(unsure)] if unsure else []
    with TableWriter(args) as writer:
        places, found = model.modes_.T, [model.densities_, *model.intervals_.T]
        if writer.kind == "csv":
            places, found = _short(model, found)
        columns = [values(column, release.kinds.get(name)) for name, column in zip(names, places, strict=True)]
        columns += map(pa.array, found)
        answers = free(["density", "lower", "upper", "remarks"][: 3 + (writer.kind == "json")], names)
        if writer.kind == "json":
            columns.append(pa.array([[*remarks, *doubts]] * len(model.modes_), pa.list_(pa.string())))
        writer.write(pa.RecordBatch.from_arrays(columns, names=[*names, *answers]))
    if not len(model.modes_):
        say(args, f"No mode stands out from the noise. Hint: --significance {HINTED} shows what noise could explain.")
    for line in doubts:
        say(args, line)


def _short(model: Model, found: list[np.ndarray]) -> tuple[np.ndarray, list[list[float]]]:
    """Places to a hundred-thousandth of where modes were looked for, and densities without digits that are noise."""
    import numpy as np

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
