"""``scumble demo``: everything, on a synthetic town. Reads as a story; every number in it is computed as you watch."""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from typing import Any

EXAMPLE = """
scumble demo --out demo-output
scumble demo --table people.parquet
scumble demo --stream --out demo-trips
"""
NOTHING_PRIVATE = "makes its town up"

PEOPLE = 200_000
COLUMNS = ("home_east", "home_north")
BOUNDS = ((0.0, 0.0), (60.0, 40.0))
TOWNS = {  # name: place (km east, km north), share of the people, spread (km)
    "Harbour": ((12.3, 9.6), 0.30, 2.2),
    "Market": ((31.1, 24.2), 0.24, 1.8),
    "Mill": ((46.8, 11.4), 0.16, 1.5),
    "Abbey": ((17.4, 30.7), 0.12, 1.3),
    "Quarry": ((50.2, 31.9), 0.10, 1.1),
}

CYCLISTS, ON_THE_BUS = "age >= 60 and mode == 'bike'", "mode == 'bus'"
YOUNG_AND_RICH = "age < 30 and income >= 60000"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("--out", default="demo-output", metavar="FOLDER", help="where to write (default: demo-output)")
    parser.add_argument("--table", metavar="FILE", help="only make up a table, .parquet or .csv, to try things on")
    parser.add_argument("--stream", action="store_true", help="a year of trips, published every night for one budget")
    parser.add_argument("--days", type=int, default=365, help=argparse.SUPPRESS)
    parser.add_argument("--people", type=int, default=PEOPLE, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> None:
    """Do what the verb says."""
    if args.table is not None:
        from scumble.cli.people import write

        write(args.table)
        return
    if args.stream:
        from scumble.cli import trips

        os.makedirs(args.out, exist_ok=True)
        trips.tell(args.out, args.days)
        return
    import numpy as np
    import pyarrow.parquet as pq

    import scumble
    from scumble.cli.output import check_out, write_release
    from scumble.show.wording import human_bytes

    began = time.monotonic()
    os.makedirs(args.out, exist_ok=True)
    table_file, release_file = (os.path.join(args.out, name) for name in ("commuters.parquet", "commuters.scumble"))

    for name in ("commuters.scumble", "people.scumble"):
        check_out(os.path.join(args.out, name), ours=True)
    _say(f"1. A private table. {args.people:,} commuters: where they live, age, income, how they travel.")
    table = commuters(args.people)
    pq.write_table(table, table_file)
    _say(f"   {table_file}, {human_bytes(os.path.getsize(table_file))}. It must never leave the house.\n")

    _say("2. A plan, from public facts alone: the map's bounds, roughly how many people, and the budget ε = 1.")
    kernel = scumble.EuclideanKernel(bandwidth=2.0, power=2)  # near: within about 2 km
    plan = scumble.plan(n=200_000, dimensions=2, epsilon=1.0, kernel=kernel, bounds=BOUNDS, columns=COLUMNS)
    cells = f" of {' × '.join(map(str, plan.shape))} cells" if plan.shape else ""
    rows = "1 row" if plan.rows == 1 else f"{plan.rows:,} rows"
    _say(f"   {rows} × {plan.buckets:,} counters, design: {plan.design}{cells}.")
    _say(f"   Expected error of a typical density: {plan.relative_error:.2%}.\n")

    _say(
        "3. One pass: each person adds one to a counter of every row. Then noise, once, and the exact counts are gone."
    )
    _say(f"   scumble build {table_file} --columns {','.join(COLUMNS)} --bandwidth 2 --power 2 \\")
    _say(f"           --bounds home_east=0:60,home_north=0:40 --epsilon 1 --out {release_file}")
    before = time.monotonic()
    release = scumble.build(table_file, kernel, columns=COLUMNS, epsilon=1.0, bounds=BOUNDS, n=200_000)
    write_release(release, release_file)  # made up: nothing is lost with the last one
    took = time.monotonic() - before
    _say(f"   {took:.1f} s, {human_bytes(os.path.getsize(release_file))}. This file may go to anyone.")

    _say("\n4. Where are the town centres? The analyst climbs to the peaks of the released density.\n")
    homes = np.column_stack([table[name].to_numpy() for name in COLUMNS])
    peaks = find_peaks(release)
    _towns(peaks)
    pictures = _Pictures(args.out)
    pictures.map(homes, release, peaks)

    _say("\n5. What the file says of itself. (Cells were counted finely, as planned. The release adds some of them up,")
    _say("   where noisy numbers tell that the map is smoother than the plan allows for.)\n")
    from scumble.show.cards import card  # not before the first picture: it takes a second to load

    _say(card(release, os.path.basename(release_file)))

    _say("\n6. Questions. How many people live near here? (A neighbour counts 1, someone 2 km away about 0.14.)\n")
    _questions(release, kernel, homes)
    pictures.cut(release, kernel, homes)
    pictures.plan(plan, kernel)

    _say("\n7. The whole table. A schema says what is public of its columns; counts of them and of their pairs are")
    _say("   released, and any question about several columns can be asked, each answer with its 95 % interval.\n")
    people_file, page_file = (os.path.join(args.out, name) for name in ("people.scumble", "people.html"))
    people = whole_table(table)
    write_release(people, people_file)
    _three_questions(people, table)
    scumble.explore(people, page_file, title="The commuters", units={"income": "€ a year", "distance": "km"})
    _say(f"\n   {people_file}, {human_bytes(os.path.getsize(people_file))}: groups, quantiles and synthetic rows too.")
    _say(f"   {page_file}, {human_bytes(os.path.getsize(page_file))}: open it, drag over a picture, and ask.")

    _say(f"\nDone in {time.monotonic() - began:.0f} s. Try next:")
    points = os.path.join(args.out, "places.csv")
    with open(points, "w", encoding="utf-8") as file:
        file.write("home_east,home_north\n" + "".join(f"{x},{y}\n" for (x, y), _, _ in TOWNS.values()))
    _say(f"   scumble info {release_file}")
    _say(f"   scumble query {release_file} {points}")
    _say(f"   scumble plot {release_file} --at home_north=24 --out {os.path.join(args.out, 'cut.svg')}")
    _say(f"   scumble count {people_file} --where \"age >= 65 and mode == 'bus'\"")
    _say(f"   scumble explore {people_file}")
    _say("   scumble build YOUR_TABLE.csv --help")


def commuters(people: int) -> Any:
    """A realistic table: towns and a thin countryside; age, income, distance and travel mode hang together."""
    import numpy as np

    from scumble.machine.later import pa

    rng = np.random.default_rng(2020)  # synthetic people: seeded, so everybody sees the same town
    shares = np.array([share for _, share, _ in TOWNS.values()])
    town = rng.choice(len(TOWNS) + 1, people, p=[*shares, 1.0 - shares.sum()])
    low, high = (np.array(side) for side in BOUNDS)
    homes = rng.uniform(low, high, (people, 2))
    for k, (centre, _, spread) in enumerate(TOWNS.values()):
        here = town == k
        # A dense core with a wide skirt.
        width = spread * rng.choice([1.0, 2.2], here.sum(), p=[0.7, 0.3])[:, None]
        homes[here] = np.array(centre) + rng.normal(0.0, 1.0, (here.sum(), 2)) * width
    # Mirrored at the border: clipped, they would pile up on it.
    homes = high - np.abs((homes - low) % (2.0 * (high - low)) - (high - low))
    work = np.array([centre for centre, _, _ in TOWNS.values()])[
        rng.choice(len(TOWNS), people, p=shares / shares.sum())
    ]
    distance = np.hypot(*(homes - work).T) * rng.uniform(1.1, 1.4, people)
    age = np.clip(rng.gamma(9.0, 4.8, people), 16, 90).round()
    income = np.exp(rng.normal(10.2, 0.45, people) + 0.012 * np.minimum(age - 16, 35)).round(-2)
    mode = np.where(
        distance < 3, "walk", np.where(distance < 8, "bike", np.where(rng.random(people) < 0.35, "bus", "car"))
    )
    return pa.table(
        {
            "home_east": homes[:, 0].round(3),
            "home_north": homes[:, 1].round(3),
            "age": age,
            "income": income,
            "distance": distance.round(2),
            "mode": mode,
        }
    )


def public_schema() -> Any:
    """What is public of four columns."""
    import scumble

    return scumble.Schema(
        age=scumble.Number(16, 90, whole=True),
        income=scumble.Number(600, 600_000, scale="log", cells=33),  # so 60,000 is between two cells, and cuts none
        distance=scumble.Number(0, 80, cells=40),
        mode=scumble.Category(("walk", "bike", "bus", "car"), other=False, missing=False),
    )


def whole_table(table: Any) -> Any:
    """The release of these columns, each alone and in pairs."""
    import scumble

    schema = public_schema()
    return scumble.TableSketch(schema).update(table.select(list(schema))).release(epsilon=1.0)


def _three_questions(release: Any, table: Any) -> None:
    """Each beside the truth, which only the curator can know."""
    age, income, distance, mode = (table[name].to_numpy() for name in ("age", "income", "distance", "mode"))
    rows = [
        ("people of 60 and more who cycle", release.count(CYCLISTS), ",.0f"),
        ("mean distance of those on the bus, km", release.mean("distance", ON_THE_BUS), ".2f"),
        ("share under 30 with 60,000 and more", release.share(YOUNG_AND_RICH), ".2%"),
    ]
    truths = [
        ((age >= 60) & (mode == "bike")).sum(),
        distance[mode == "bus"].mean(),
        ((age < 30) & (income >= 60_000)).mean(),
    ]
    _say(f"   {'question':<40}{'truth':>10}{'release':>10}   95 % interval")
    for (question, found, form), truth in zip(rows, truths, strict=True):
        _say(f"   {question:<40}{truth:>10{form}}{found.value:>10{form}}   {found.low:{form}} to {found.high:{form}}")


def find_peaks(release: Any, least: float = 0.25) -> Any:
    """The density's peaks, highest first: the best of a grid of points, each climbed to its top in ever smaller steps.

    Peaks lower than `least` of the highest, or within the noise, are left out. Reads the release only.
    """
    import numpy as np

    x, y = (np.linspace(a, b, 81) for a, b in zip(*release.bounds, strict=True))
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    height = release.density(grid.reshape(-1, 2), shrink=False).reshape(grid.shape[:2])
    padded = np.pad(height, 1, constant_values=-1.0)
    around = [np.roll(padded, (a, b), (0, 1))[1:-1, 1:-1] for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    floor = 4.0 * float(np.median(release.standard_error(grid.reshape(-1, 2)))) / release.divisor
    tops = (height > np.max(around, axis=0)) & (height > max(least * height.max(), floor))
    peaks = grid[tops]
    step = np.array([x[1] - x[0], y[1] - y[0]])
    moves = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)])
    for _ in range(12):
        tries = peaks[:, None, :] + moves[None] * step
        best = release.density(tries.reshape(-1, 2), shrink=False).reshape(tries.shape[:2]).argmax(axis=1)
        peaks = tries[np.arange(len(peaks)), best]
        step = step * 0.7
    return peaks[np.argsort(-release.density(peaks, shrink=False))]


def _questions(release: Any, kernel: Any, homes: Any) -> None:
    import numpy as np

    places = {f"{name} centre": place for name, (place, _, _) in TOWNS.items()}
    places |= {"Fields, far out": (38.0, 37.0), "Between two towns": (22.0, 17.0)}
    Q = np.array(list(places.values()))
    truth, estimate = kernel(Q, homes).sum(axis=1), release.kernel_sum(Q)
    lower, upper = release.interval(Q)
    _say(f"   {'place':<20}{'truth':>10}{'release':>10}   {'95 % interval':<20}{'error':>8}")
    for k, name in enumerate(places):
        bar = f"{lower[k]:,.0f} to {upper[k]:,.0f}"
        error = f"{(estimate[k] - truth[k]) / truth[k]:+.2%}"
        _say(f"   {name:<20}{truth[k]:>10,.0f}{estimate[k]:>10,.0f}   {bar:<20}{error:>8}")


def _towns(peaks: Any) -> None:
    import numpy as np

    for east, north in peaks:
        name, away = min(
            ((name, float(np.hypot(east - place[0], north - place[1]))) for name, (place, _, _) in TOWNS.items()),
            key=lambda pair: pair[1],
        )
        _say(f"   a centre at {east:5.1f} km east, {north:5.1f} km north: {name}, {1000 * away:,.0f} m off")
    _say(f"   {len(peaks)} found, {len(TOWNS)} there are.")


class _Pictures:
    """The story's pictures, each drawn as soon as it can be: people wait for the first one."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._there = importlib.util.find_spec("matplotlib") is not None
        if not self._there:
            _say("   (no pictures: pip install 'scumble[plot]' for them)")

    def map(self, homes: Any, release: Any, peaks: Any) -> None:
        if self._there:
            from scumble.show import demoplots

            units = {"home_east": "km", "home_north": "km"}
            names = {name: place for name, (place, _, _) in TOWNS.items()}
            figure = demoplots.town_map(homes, release, peaks, names=names, units=units)
            self._save(figure, "map.png", "the private homes, and the release with the centres found")

    def cut(self, release: Any, kernel: Any, homes: Any) -> None:
        if self._there:
            import numpy as np

            from scumble.show import demoplots

            x = np.linspace(0.0, 60.0, 241)
            Q = np.column_stack([x, np.full_like(x, 24.0)])
            lower, upper = release.interval(Q)
            truth = kernel(Q, homes).sum(axis=1)
            along = "home_east (km), along home_north = 24 km"
            figure = demoplots.line_cut(x, truth, release.kernel_sum(Q), lower, upper, xlabel=along)
            self._save(figure, "cut.png", "a line through Market: the release, its error band, the truth")

    def plan(self, plan: Any, kernel: Any) -> None:
        if self._there:
            from scumble.planning import plan as make
            from scumble.show import plots

            settings: dict[str, Any] = {"n": 200_000, "dimensions": 2, "kernel": kernel, "columns": COLUMNS}
            settings["density"] = plan.density
            budgets = (0.1, 0.3, 1.0, 3.0)
            lines = {
                epsilon: [make(**settings, epsilon=epsilon, design="sobol", rows=2**k) for k in range(3, 14)]
                for epsilon in budgets
            }
            grids = {epsilon: make(**settings, epsilon=epsilon, design="grid", bounds=BOUNDS) for epsilon in budgets}
            self._save(plots.plan_errors(lines, grids=grids), "plan.png", "how the error depends on rows and ε")

    def _save(self, figure: Any, name: str, about: str) -> None:
        from scumble.show import plots

        path = os.path.join(self._folder, name)
        plots.save(figure, path)
        _say(f"   {path}: {about}")


def _say(text: str) -> None:
    print(text, flush=True)
