"""``scumble demo``: everything, on a synthetic town. Every number in it is computed as you watch."""

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
    import numpy as np

    from scumble import Schema

EXAMPLE = """
scumble demo --out demo-output
scumble demo --table people.parquet
"""
NOTHING_PRIVATE = "its tables are synthetic"
_say = partial(print, flush=True)

COLUMNS = ("home_east", "home_north")
BOUNDS = ((0.0, 0.0), (60.0, 40.0))
TOWNS = {  # name: place (km east, km north), share of the people, spread (km)
    "Harbour": ((12.3, 9.6), 0.30, 2.2),
    "Market": ((31.1, 24.2), 0.24, 1.8),
    "Mill": ((46.8, 11.4), 0.16, 1.5),
    "Abbey": ((17.4, 30.7), 0.12, 1.3),
    "Quarry": ((50.2, 31.9), 0.10, 1.1),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", default="demo-output", metavar="FOLDER", help="where to write (default: demo-output)")
    parser.add_argument(
        "--table", metavar="FILE", help="only write a synthetic table, .parquet or .csv, to practice on"
    )
    parser.add_argument("--people", type=int, default=200_000, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> None:
    if args.table is not None:
        _write_people(args.table)
        return
    os.makedirs(args.out, exist_ok=True)
    began = time.monotonic()
    following = _town(args.out, args.people)
    print(f"\nDone in {time.monotonic() - began:.0f} s. Try next:")
    print("\n".join(f"   {line}" for line in following), flush=True)


def _town(folder: str, people: int) -> list[str]:
    """A density and a whole table of the same people; gives what to try next."""
    import numpy as np
    import pyarrow.parquet as pq

    import scumble
    from scumble.privacy.wording import human_bytes
    from scumble.show.cards import card

    names = ("commuters.parquet", "commuters.scumble", "people.scumble", "people.html", "places.csv", "map.png")
    table_file, release_file, people_file, page_file, points_file, map_file = (
        os.path.join(folder, name) for name in names
    )
    for path in (release_file, people_file):
        check_out(path, ours=True)
    _say(f"1. A private table. {people:,} commuters: where they live, age, income, how they travel.")
    table = commuters(people)
    pq.write_table(table, table_file)
    _say(f"   {table_file}, {human_bytes(os.path.getsize(table_file))}. It must never leave the house.\n")

    _say("2. One pass: each person adds one to a counter of every row. Then noise, once, and the counts are gone.")
    _say(f"   scumble build {table_file} --columns {','.join(COLUMNS)} --bandwidth 2 --power 2 \\")
    _say(f"           --bounds home_east=0:60,home_north=0:40 --epsilon 1 --out {release_file}")
    kernel = scumble.EuclideanKernel(bandwidth=2.0, power=2)  # near: within about 2 km
    release = scumble.build(table_file, kernel, columns=COLUMNS, epsilon=1.0, bounds=BOUNDS, n=200_000)
    write_release(release, release_file)  # synthetic: nothing is lost with the last one
    if importlib.util.find_spec("matplotlib") is not None:
        from scumble.show import plots

        plots.save(plots.density(release, units=dict.fromkeys(COLUMNS, "km")), map_file)
        _say(f"   {map_file}: a map of the release")
    _say(card(release, os.path.basename(release_file)))

    _say("\n3. Questions. How many people live near here? (A neighbor counts 1, someone 2 km away about 0.14.)\n")
    places = {f"{name} center": place for name, (place, _, _) in TOWNS.items()} | {"Fields, far out": (38.0, 37.0)}
    Q, homes = np.array(list(places.values())), np.column_stack([table[name] for name in COLUMNS])
    rows = zip(kernel(Q, homes).sum(axis=1), release.kernel_sum(Q), *release.interval(Q), strict=True)
    _tell({place: (*row, ",.0f") for place, row in zip(places, rows, strict=True)}, "place")

    _say("\n4. The whole table. A schema says what is public about its columns; counts of them and of their pairs are")
    _say("   released, and any question about several columns can be asked, each answer with its 95 % interval.\n")
    schema = public_schema()
    whole = scumble.TableSketch(schema).update(table.select(list(schema))).release(epsilon=1.0)
    write_release(whole, people_file)
    age, income, distance, mode = (table[name].to_numpy() for name in ("age", "income", "distance", "mode"))
    cyclists = ((age >= 60) & (mode == "bike")).sum(), *whole.count("age >= 60 and mode == 'bike'"), ",.0f"
    on_the_bus = distance[mode == "bus"].mean(), *whole.mean("distance", "mode == 'bus'"), ".2f"
    rich = ((age < 30) & (income >= 60_000)).mean(), *whole.share("age < 30 and income >= 60000"), ".2%"
    asked = {"people of 60 and more who cycle": cyclists, "mean distance of those on the bus, km": on_the_bus}
    _tell(asked | {"share under 30 with 60,000 and more": rich}, "question")
    scumble.explore(whole, page_file, title="The commuters", units={"income": "€ a year", "distance": "km"})
    _say(f"\n   {people_file}, {human_bytes(os.path.getsize(people_file))}: groups, quantiles and synthetic rows too.")
    _say(f"   {page_file}, {human_bytes(os.path.getsize(page_file))}: open it, drag over a picture, and ask.")
    with open(points_file, "w", encoding="utf-8") as file:
        file.write("home_east,home_north\n" + "".join(f"{x},{y}\n" for (x, y), _, _ in TOWNS.values()))
    return [
        f"scumble query {release_file} {points_file}",
        f"scumble plot {release_file} --at home_north=24 --out {os.path.join(folder, 'line.svg')}",
        f"scumble count {people_file} --where \"age >= 65 and mode == 'bus'\"",
        f"scumble explore {people_file}",
        "scumble build YOUR_TABLE.csv --help",
    ]


def _tell(answers: dict[str, tuple[float, float, float, float, str]], what: str) -> None:
    """Answers next to the truth, which only the curator can know."""
    _say(f"   {what:<40}{'truth':>10}{'release':>10}   95 % interval")
    for asked, (truth, value, low, high, form) in answers.items():
        _say(f"   {asked:<40}{truth:>10{form}}{value:>10{form}}   {low:{form}} to {high:{form}}")


def commuters(people: int) -> pa.Table:
    """A realistic table: towns and a thin countryside; age, income, distance and travel mode are correlated."""
    import numpy as np

    rng = np.random.default_rng(2020)  # synthetic people: seeded, so everybody sees the same town
    shares = np.array([share for _, share, _ in TOWNS.values()])
    centers = np.array([center for center, _, _ in TOWNS.values()])
    town = rng.choice(len(TOWNS) + 1, people, p=[*shares, 1.0 - shares.sum()])
    low, high = (np.array(side) for side in BOUNDS)
    homes = rng.uniform(low, high, (people, 2))
    for k, (center, _, spread) in enumerate(TOWNS.values()):
        here = town == k
        # A dense core with a wide skirt.
        width = spread * rng.choice([1.0, 2.2], here.sum(), p=[0.7, 0.3])[:, None]
        homes[here] = np.array(center) + rng.normal(0.0, 1.0, (here.sum(), 2)) * width
    # Mirrored at the border: clipped, they would pile up on it.
    homes = high - np.abs((homes - low) % (2.0 * (high - low)) - (high - low))
    work = centers[rng.choice(len(TOWNS), people, p=shares / shares.sum())]
    distance = np.hypot(*(homes - work).T) * rng.uniform(1.1, 1.4, people)
    age, income = _incomes(rng, people, 0.45)
    far = np.where(rng.random(people) < 0.35, "bus", "car")
    mode = np.where(distance < 3, "walk", np.where(distance < 8, "bike", far))
    east, north = homes.round(3).T
    columns = {"home_east": east, "home_north": north, "age": age, "income": income}
    return pa.table(columns | {"distance": distance.round(2), "mode": mode})


def _incomes(rng: np.random.Generator, people: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Ages, and incomes that grow with them."""
    import numpy as np

    age = np.clip(rng.gamma(9.0, 4.8, people), 16, 90).round()
    return age, np.exp(rng.normal(10.2, spread, people) + 0.012 * np.minimum(age - 16, 35)).round(-2)


def public_schema() -> Schema:
    """What is public about four columns."""
    import scumble

    return scumble.Schema(
        age=scumble.Number(16, 90, whole=True),
        income=scumble.Number(600, 600_000, scale="log", cells=33),  # 60,000 is an edge between two cells
        distance=scumble.Number(0, 80, cells=40),
        mode=scumble.Category(("walk", "bike", "bus", "car"), other=False, missing=False),
    )


def _write_people(path: str) -> None:
    """The table of the README, and a few points to ask about; nothing is replaced."""
    import numpy as np
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from scumble.files.places import write_whole

    check_out(path, like=(".parquet", ".csv"))
    points, people = os.path.join(os.path.dirname(path), "points.csv"), 40_000
    for file in (path, points):
        if os.path.lexists(file):
            raise ParameterError(f"{file!r} already exists. Hint: name another file, or an empty folder.")
    rng = np.random.default_rng(2020)
    age, income = _incomes(rng, people, 0.35)
    town = rng.choice(["Ulm", "Köln", "Jena"], people, p=[0.5, 0.3, 0.2])
    mode = np.where(rng.random(people) < 0.25 + 0.3 * (town == "Köln"), "bus", np.where(age < 30, "bike", "car"))
    table = pa.table({"age": age, "income": np.minimum(income, 200_000), "mode": mode, "town": town})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink) if path.lower().endswith(".parquet") else pacsv.write_csv(table, sink)
    write_whole(path, sink.getvalue().to_pybytes())
    write_whole(points, b"age,income\n45,50000\n20,20000\n70,120000\n")
    _say(f"Wrote {people:,} synthetic people: {path}. Points to ask about: {points}.")
