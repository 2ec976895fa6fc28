"""``scumble demo --stream``: a year of trips, published every night, on synthetic commuters, for one budget."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

DAYS = 365
TRIPS = 400
"""About how many a day."""
BOUNDS = ((0.0, 0.0), (60.0, 40.0))
CENTRES = {"Harbour": (12.3, 9.6), "Market": (31.1, 24.2), "Mill": (46.8, 11.4)}
FAIR = range(190, 211)
"""In these three weeks of July there is a fair at Mill."""
SHUT = 274
"""From October on the harbour is closed."""


def trips(day: int) -> np.ndarray:
    """Where the trips of a day end (km east, km north): fewer on Sundays, more in summer."""
    rng = np.random.default_rng(day)
    many = int(TRIPS * (1.0 + 0.3 * np.sin(2 * np.pi * (day - 100) / DAYS)) * (0.6 if day % 7 == 0 else 1.0))
    shares = np.array([0.0 if day >= SHUT else 0.3, 0.4, 0.6 if day in FAIR else 0.2])
    towns = rng.choice(3, many, p=shares / shares.sum())
    ends = np.array(list(CENTRES.values()))[towns] + rng.normal(0.0, 1.8, (many, 2))
    return np.clip(ends, *BOUNDS)


def tell(folder: str, days: int = DAYS) -> None:
    """The story, with figures that are computed as you watch."""
    import scumble
    from scumble.continual.choosing import compare
    from scumble.continual.published import name_of

    began = time.monotonic()
    kernel = scumble.EuclideanKernel(bandwidth=3.0, power=2)
    out, secret = os.path.join(folder, "trips"), os.path.join(folder, "trips.secret")
    if os.path.exists(secret) or (os.path.isdir(out) and os.listdir(out)):
        raise scumble.ParameterError(f"There is a stream in {folder!r} already. Hint: choose another --out.")

    _say(f"1. A stream. Every night the day's trips are counted and a release is published, on {days} nights.")
    _say("   All of it together, for ever, costs one budget: ε = 1, δ = 1e-6 for each trip.\n")
    stream = scumble.Stream(
        kernel, columns=["east", "north"], periods=days, epsilon=1.0, delta=1e-6,
        rows=400, buckets=64, seed=7, design="sobol", folder=out,
    )  # fmt: skip
    stream.save(secret)
    _say("2. What to expect, before any record is read. Times the noise of a single release:\n")
    _say(f"   {'':<34}{'running total':>15}{'window of 7':>13}{'one day':>10}")
    for one in compare(days, stream.spec.rows, epsilon=1.0, delta=1e-6)[:2]:
        what = (
            "this stream" if one.method.name == stream.expected.method.name else f"{one.method.name} releases, added up"
        )
        week = 0.0 if one.week is None else one.week / one.single
        _say(f"   {what:<34}{one.total / one.single:>15.2f}{week:>13.2f}{one.period / one.single:>10.2f}")

    _say(f"\n3. The year. {secret} is SECRET; {out} is public, one file a night.")
    truth, places = np.zeros((days, len(CENTRES))), np.array(list(CENTRES.values()))
    for day in range(days):
        ends = trips(day)
        truth[day] = kernel(places, ends).sum(axis=1)
        stream.update(ends_of(ends), batch=f"day {day}")
        stream.close_period(day + 1)
        if day % 60 == 0:
            _say(f"   night {day + 1}: {os.path.join(out, name_of(day + 1))}")
    stream.close()

    _say("\n4. Anybody may ask, of the public folder alone: totals, any window, any day.\n")
    published = scumble.load(out)
    asked: list[tuple[str, Any, np.ndarray]] = [(f"all {days} days", published.total(), truth.sum(axis=0))]
    if days > FAIR[-1]:
        first, last = FAIR[0] + 1, FAIR[-1] + 1
        asked.append(("the fair at Mill", published.window(first=first, last=last), truth[FAIR[0] : last].sum(axis=0)))
    asked.append(("the last 7 days", published.window(min(7, days)), truth[-7:].sum(axis=0)))
    _say(f"   {'trips near':<20}" + "".join(f"{name:>12}{'±':>9}{'truth':>9}" for name in CENTRES))
    for title, release, exact in asked:
        value, error = release.kernel_sum(places), 1.96 * release.standard_error(places)
        cells = "".join(f"{v:>12,.0f}{e:>9,.0f}{t:>9,.0f}" for v, e, t in zip(value, error, exact, strict=True))
        _say(f"   {title:<20}{cells}")
    _picture(folder, published, places)
    _page(folder, published)
    _say(f"\nDone in {time.monotonic() - began:.0f} s. Try next:")
    _say(f"   scumble stream window {out} --width 7 --out week.scumble")
    _say("   scumble stream start --help")


def ends_of(ends: np.ndarray) -> Any:
    """As a table."""
    from scumble.machine.later import pa

    return pa.table({"east": ends[:, 0], "north": ends[:, 1]})


def _picture(folder: str, published: Any, places: np.ndarray) -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    from scumble.show.plots import save

    path = os.path.join(folder, "trips.png")
    width = min(28, published.periods)
    save(published.plot(places, width=width, labels=list(CENTRES)), path)
    _say(f"\n5. A picture: {path}, trips near three towns in the last {width} days, night after night, with intervals.")


def _page(folder: str, published: Any) -> None:
    import scumble

    path = os.path.join(folder, "trips.html")
    ranges = {name: (BOUNDS[0][j], BOUNDS[1][j]) for j, name in enumerate(("east", "north"))}
    scumble.explore(published, path, title="A year of trips", ranges=ranges, units={"east": "km", "north": "km"})
    _say(f"\n6. A page: {path}. Open it, move through time, and click where you want to know more.")


def _say(text: str) -> None:
    print(text, flush=True)
