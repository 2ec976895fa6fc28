"""``scumble demo``: everything, on a synthetic table. Every number in it is computed as you watch."""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from functools import partial
from typing import TYPE_CHECKING

from scumble.cli.output import check_out, write_release
from scumble.errors import ParameterError
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    from scumble import Schema

EXAMPLE = """
scumble demo --out demo-output
scumble demo --table people.parquet
"""
NOTHING_PRIVATE = "its tables are synthetic"
_say = partial(print, flush=True)

COLUMNS, SCALE, BOUNDS = ("age", "income"), {"age": 10.0, "income": 20_000.0}, ((16.0, 0.0), (90.0, 200_000.0))
POINTS = {"in the middle": (45, 50_000), "young, low income": (20, 20_000), "old, high income": (70, 120_000)}
PEOPLE = 40_000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", default="demo-output", metavar="FOLDER", help="where to write (default: demo-output)")
    parser.add_argument(
        "--table", metavar="FILE", help="only write a synthetic table, .parquet or .csv, to practice on"
    )


def run(args: argparse.Namespace) -> None:
    if args.table is not None:
        _write_people(args.table)
        return
    os.makedirs(args.out, exist_ok=True)
    began = time.monotonic()
    following = _story(args.out)
    print(f"\nDone in {time.monotonic() - began:.0f} s. Try next:")
    print("\n".join(f"   {line}" for line in following), flush=True)


def _story(folder: str) -> list[str]:
    """A density and a whole table of the same people; gives what to try next."""
    import numpy as np
    import pyarrow.parquet as pq

    import scumble
    from scumble.privacy.wording import human_bytes
    from scumble.show.cards import card

    names = ("people.parquet", "density.scumble", "people.scumble", "people.html", "points.csv", "map.png")
    table_file, density_file, people_file, page_file, points_file, map_file = (
        os.path.join(folder, name) for name in names
    )
    for path in (density_file, people_file):
        check_out(path, ours=True)
    _say(f"1. A private table. {PEOPLE:,} people: age, income, how they travel, where they live.")
    table = people()
    pq.write_table(table, table_file)
    _say(f"   {table_file}, {human_bytes(os.path.getsize(table_file))}. It must never leave the house.\n")

    _say("2. One pass: each person adds one to a counter of every row. Then noise, once, and the counts are gone.")
    _say(f"   scumble build {table_file} --columns {','.join(COLUMNS)} --scale age=10,income=20000 \\")
    _say("           --bandwidth 1 --power 2 --bounds age=16:90,income=0:200000 --epsilon 1 \\")
    _say(f"           --out {density_file}")
    kernel = scumble.EuclideanKernel(bandwidth=1.0, power=2, scale=SCALE)
    release = scumble.build(table_file, kernel, columns=COLUMNS, epsilon=1.0, bounds=BOUNDS, n=PEOPLE)
    write_release(release, density_file)  # synthetic: nothing is lost with the last one
    if importlib.util.find_spec("matplotlib") is not None:
        from scumble.show import plots

        plots.save(plots.density(release, units={"age": "years", "income": "€ a year"}), map_file)
        _say(f"   {map_file}: a map of the release")
    _say(card(release, os.path.basename(density_file)))

    _say("\n3. Questions. How many people are near here? (An equal one counts 1, one 10 years older about 0.14.)\n")
    Q, X = np.array(list(POINTS.values()), float), np.column_stack([table[name] for name in COLUMNS])
    truth = kernel(dict(zip(COLUMNS, Q.T, strict=True)), dict(zip(COLUMNS, X.T, strict=True))).sum(axis=1)
    rows = zip(truth, release.kernel_sum(Q), *release.interval(Q), strict=True)
    _tell({place: (*row, ",.0f") for place, row in zip(POINTS, rows, strict=True)}, "place")

    _say("\n4. The whole table. A schema says what is public about its columns; counts of them and of their pairs are")
    _say("   released, and any question about several columns can be asked, each answer with its 95 % interval.\n")
    schema = public_schema()
    whole = scumble.TableSketch(schema).update(table).release(epsilon=1.0)
    write_release(whole, people_file)
    age, income, mode, town = (table[name].to_numpy() for name in schema)
    asked = {
        "people of 60 and more on the bus": (
            *(((age >= 60) & (mode == "bus")).sum(), *whole.count("age >= 60 and mode == 'bus'"), ",.0f"),
        ),
        "mean age in Ulm": (age[town == "Ulm"].mean(), *whole.mean("age", "town == 'Ulm'"), ".2f"),
        "share under 30 with 60,000 and more": (
            *(((age < 30) & (income >= 60_000)).mean(), *whole.share("age < 30 and income >= 60000"), ".2%"),
        ),
    }
    _tell(asked, "question")
    scumble.explore(whole, page_file, title="The people", units={"income": "€ a year"})
    _say(f"\n   {people_file}, {human_bytes(os.path.getsize(people_file))}: groups, quantiles and synthetic rows too.")
    _say(f"   {page_file}, {human_bytes(os.path.getsize(page_file))}: open it, drag over a picture, and ask.")
    with open(points_file, "wb") as file:
        file.write(points())
    return [
        f"scumble query {density_file} {points_file}",
        f"scumble plot {density_file} --at income=50000 --out {os.path.join(folder, 'ages.svg')}",
        f"scumble count {people_file} --where \"age >= 65 and mode == 'bus'\"",
        f"scumble explore {people_file}",
        "scumble build YOUR_TABLE.csv --help",
    ]


def _tell(answers: dict[str, tuple[float, float, float, float, str]], what: str) -> None:
    """Answers next to the truth, which only the curator can know."""
    _say(f"   {what:<40}{'truth':>10}{'release':>10}   95 % interval")
    for asked, (truth, value, low, high, form) in answers.items():
        _say(f"   {asked:<40}{truth:>10{form}}{value:>10{form}}   {low:{form}} to {high:{form}}")


def people() -> pa.Table:
    """A realistic table: incomes grow with age, and who travels how depends on age and town."""
    import numpy as np

    rng = np.random.default_rng(2020)  # synthetic people: seeded, so everybody sees the same table
    age = np.clip(rng.gamma(9.0, 4.8, PEOPLE), 16, 90).round()
    income = np.exp(rng.normal(10.2, 0.35, PEOPLE) + 0.012 * np.minimum(age - 16, 35)).round(-2)
    town = rng.choice(["Ulm", "Köln", "Jena"], PEOPLE, p=[0.5, 0.3, 0.2])
    mode = np.where(rng.random(PEOPLE) < 0.25 + 0.3 * (town == "Köln"), "bus", np.where(age < 30, "bike", "car"))
    return pa.table({"age": age, "income": np.minimum(income, 200_000), "mode": mode, "town": town})


def points() -> bytes:
    """A few points to ask about, as CSV."""
    lines = (f"{age},{income}\n" for age, income in POINTS.values())
    return f"{','.join(COLUMNS)}\n{''.join(lines)}".encode()


def public_schema() -> Schema:
    """What is public about the columns."""
    import scumble

    return scumble.Schema(
        age=scumble.Number(16, 90, whole=True),
        income=scumble.Number(600, 200_000, scale="log", cells=29),
        mode=scumble.Category(("bus", "bike", "car"), other=False, missing=False),
        town=scumble.Category(("Ulm", "Köln", "Jena"), other=False, missing=False),
    )


def _write_people(path: str) -> None:
    """The table of the README, and a few points to ask about; nothing is replaced."""
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from scumble.files.places import write_whole

    check_out(path, like=(".parquet", ".csv"))
    beside = os.path.join(os.path.dirname(path), "points.csv")
    for file in (path, beside):
        if os.path.lexists(file):
            raise ParameterError(f"{file!r} already exists. Hint: name another file, or an empty folder.")
    sink, table = pa.BufferOutputStream(), people()
    pq.write_table(table, sink) if path.lower().endswith(".parquet") else pacsv.write_csv(table, sink)
    write_whole(path, sink.getvalue().to_pybytes())
    write_whole(beside, points())
    _say(f"Wrote {PEOPLE:,} synthetic people: {path}. Points to ask about: {beside}.")
