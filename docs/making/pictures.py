"""The pictures of the site, drawn from real sketches and releases while the site is built.

Each function below makes one picture: a matplotlib Figure. To see them: ``python docs/making/pictures.py FOLDER``.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

import scumble
from scumble import learn
from scumble.kernels import Records
from scumble.show import plots
from scumble.show.plots import FAINT, INK, LINES, SECOND, new_figure, plain, thousands

PALE = "#f3d9dc"
PICTURES: dict[str, Callable[[], Any]] = {}


def picture(make: Callable[[], Any]) -> Callable[[], Any]:
    """Marks a function that makes a picture of its own name."""
    PICTURES[f"{make.__name__.replace('_', '-')}.png"] = make
    return make


def all_of_them() -> dict[str, bytes]:
    """File name → PNG."""
    return {name: _png(make()) for name, make in PICTURES.items()}


def _png(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120, facecolor="white", metadata={"Software": None})
    return out.getvalue()


# ---- data ----


def salaries(n: int = 20_000) -> np.ndarray:
    """A synthetic payroll: most earn near 45,000, some near 90,000, a few far more."""
    rng = np.random.default_rng(1)
    parts = [rng.normal(45_000, 9_000, n * 7 // 10), rng.normal(92_000, 11_000, n // 4)]
    rest = n - sum(map(len, parts))
    return np.clip(np.concatenate([*parts, rng.lognormal(11.8, 0.4, rest)]), 12_000, 250_000)


def towns(n: int = 20_000) -> tuple[pd.DataFrame, np.ndarray]:
    """Homes in three towns, and which town each is in."""
    rng = np.random.default_rng(2)
    which = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    centers, spread = np.array([[22, 24], [55, 58], [70, 22]]), np.array([9.0, 7.0, 6.0])
    homes = np.clip(centers[which] + rng.normal(size=(n, 2)) * spread[which, None], 0, 100)
    return pd.DataFrame(homes, columns=["east", "north"]), which


def _truth(kernel: scumble.Kernel, Q: np.ndarray, X: np.ndarray) -> np.ndarray:
    return np.concatenate([kernel(part, X).mean(axis=1) for part in np.array_split(Q, 8)])


# ---- how it works ----


@picture
def views() -> Any:
    """Six records, the views that count them, and a view with noise; one record is marked everywhere."""
    records = [
        ("18–39", "Ulm"),
        ("40–64", "Bonn"),
        ("65+", "Ulm"),
        ("40–64", "Ulm"),
        ("18–39", "Bonn"),
        ("40–64", "Bonn"),
    ]
    ages, places, marked = ["18–39", "40–64", "65+"], ["Ulm", "Bonn"], 3
    age, place = (np.array([names.index(record[k]) for record in records]) for k, names in enumerate((ages, places)))
    pair = np.zeros((3, 2), dtype=int)
    np.add.at(pair, (age, place), 1)
    noisy = pair + np.array([[1, -2], [0, 1], [2, -1]])
    figure = new_figure(10.5, 2.6)
    axes = figure.subplots(1, 5, width_ratios=[1.3, 0.7, 0.7, 1.2, 1.2])

    def cells(
        panel: Any, numbers: np.ndarray, title: str, mark: tuple[int, int] | None, rows: list[str], columns: list[str]
    ) -> None:
        panel.imshow(np.zeros(numbers.shape), cmap="Greys", vmin=0, vmax=1, aspect="auto")
        for (i, j), number in np.ndenumerate(numbers):
            panel.text(j, i, str(number).replace("-", "−"), ha="center", va="center", fontsize=10, color=INK)
        panel.xaxis.tick_top()
        panel.set_xticks(range(len(columns)), columns)
        panel.set_yticks(range(len(rows)), rows)
        panel.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
        panel.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
        panel.grid(which="minor", color=FAINT, linewidth=0.7)
        panel.tick_params(which="both", length=0, labelsize=9)
        panel.spines[:].set_visible(False)
        panel.set_title(title, fontsize=10, color=INK)
        if mark is not None:
            box = (mark[1] - 0.5, mark[0] - 0.5)
            panel.add_patch(Rectangle(box, 1, 1, fill=False, edgecolor=SECOND, linewidth=2.4, clip_on=False, zorder=3))

    cells(axes[0], np.array(records), "the table (private)", None, [""] * 6, ["age", "town"])
    for column in range(2):
        axes[0].add_patch(Rectangle((column - 0.5, marked - 0.5), 1, 1, fill=True, color=PALE, zorder=0.5))
    at = (int(age[marked]), int(place[marked]))
    cells(axes[1], np.bincount(age)[:, None], "age", (at[0], 0), ages, [""])
    cells(axes[2], np.bincount(place)[:, None], "town", (at[1], 0), places, [""])
    cells(axes[3], pair, "age × town", at, ages, places)
    cells(axes[4], noisy, "released, with noise", None, ages, places)
    return figure


@picture
def posterior() -> Any:
    """A statistic on each draw from a release's posterior, and the interval that follows."""
    pay = salaries(4_000)
    schema = scumble.Schema(salary=scumble.Number(0, 200_000, cells=50))
    release = scumble.TableSketch(schema).update({"salary": pay}).release(epsilon=0.05)
    drawn = [table["salary"].to_numpy() for table in release.draws(24)]
    answer = release.estimate(lambda table: (table["salary"] > 80_000).mean())
    figure = new_figure(10.5, 3.3)
    left, right = figure.subplots(1, 2)
    edges = np.arange(0, 164_000, 4_000)
    for color, values in zip(LINES, drawn[:3], strict=False):
        left.stairs(np.histogram(values, edges)[0] / len(values), edges, color=color, linewidth=1.3)
    left.axvline(80_000, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
    left.set(xlabel="salary", ylabel="share of records", xlim=(0, 160_000))
    left.set_ylim(bottom=0)
    left.set_xticks([0, 50_000, 100_000, 150_000])
    left.set_title("Three tables drawn from the posterior", fontsize=10, color=INK)
    thousands(left.xaxis)
    shares = [100 * np.mean(values > 80_000) for values in drawn]
    right.axvspan(100 * answer.low, 100 * answer.high, color=PALE, label="95 % interval")
    right.plot(shares, range(len(shares)), "o", color=SECOND, ms=4.5, label="each draw")
    right.axvline(100 * answer.value, color=SECOND, linewidth=1.6, label="answer")
    right.axvline(100 * np.mean(pay > 80_000), color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="truth")
    right.set(xlabel="percent above 80,000", yticks=[])
    right.set_title("The same statistic on 24 draws", fontsize=10, color=INK)
    right.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for axes in (left, right):
        plain(axes, grid=False)
    return figure


@picture
def hashing() -> Any:
    """Three rows of one sketch: each cuts the plane into stripes of its own."""
    rng = np.random.default_rng(5)
    people = rng.normal([4, 3], [1.8, 1.3], (70, 2))
    query = np.array([[4.2, 3.1]])
    kernel = scumble.EuclideanKernel(bandwidth=2.0)
    hasher = scumble.Sketch(kernel, 2, rows=3, buckets=64, seed=4, design="iid").spec.layout.hasher
    x, y = np.linspace(-1, 9, 400), np.linspace(-1.5, 7.5, 360)
    plane = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    codes = [kernel.codes(Records(points), hasher.parameters[0])[:, :, 0] for points in (plane, people, query)]
    figure = new_figure(10.5, 3.7)
    for row, axes in enumerate(figure.subplots(1, 3, sharex=True, sharey=True)):
        stripes, theirs, mine = (code[:, row] for code in codes)
        shade = np.where(stripes == mine[0], 2.0, np.abs(stripes) % 2)
        axes.contourf(
            x, y, shade.reshape(len(y), len(x)), levels=[-0.5, 0.5, 1.5, 2.5], colors=["#ffffff", "#eef2f4", PALE]
        )
        meets = theirs == mine[0]
        axes.plot(*people[~meets].T, "o", color=FAINT, ms=4)
        axes.plot(*people[meets].T, "o", color=SECOND, ms=4)
        axes.plot(*query.T, "*", color=INK, ms=15)
        axes.set_title(f"row {row + 1}: {meets.sum()} of {len(people)} meet the star", fontsize=10, color=INK)
        axes.set_aspect("equal")
        axes.set(xticks=[], yticks=[])
    return figure


@picture
def grid() -> Any:
    """Few columns and public bounds: one row whose buckets are cells."""
    homes, _ = towns(8_000)
    near = scumble.EuclideanKernel(bandwidth=10.0)
    sketch = scumble.Sketch(near, columns=["east", "north"], design="grid", buckets=(34, 34), bounds=(0, 100))
    release = sketch.update(homes).release(epsilon=0.3)
    figure = new_figure(10.5, 4.1)
    left, right = figure.subplots(1, 2)
    cells = release.counts.reshape(release.spec.shape).T
    image = left.imshow(cells, origin="lower", extent=(0, 100, 0, 100), cmap="YlGnBu", aspect="equal")
    figure.colorbar(image, ax=left, label="noisy count of a cell", shrink=0.9)
    left.set(xlabel="east", ylabel="north")
    left.set_title("What is in the file (ε = 0.3)", fontsize=10, color=INK)
    view = plots.View(release, {}, {}, {})
    image = plots.draw_map(right, view, "east", "north", points=121)
    figure.colorbar(image, ax=right, label="density", shrink=0.9)
    right.set_aspect("equal")
    right.set_title("What a query reads: every cell, weighed by the kernel", fontsize=10, color=INK)
    return figure


# ---- choosing ----


def _curves(releases: dict[str, scumble.Release], X: np.ndarray) -> Any:
    x = np.linspace(0, 160_000, 240)[:, None]
    figure = new_figure(10.5, 3.1)
    panels = figure.subplots(1, len(releases))
    for axes, (title, release) in zip(panels, releases.items(), strict=True):
        lower, upper = (np.maximum(side / release.count, 0) for side in release.interval(x))
        axes.fill_between(x[:, 0], lower, upper, color=SECOND, alpha=0.25, linewidth=0)
        axes.plot(x[:, 0], release.density(x), color=SECOND, linewidth=1.6, label="released, with its interval")
        axes.plot(x[:, 0], _truth(release.kernel, x, X), color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label="truth")
        axes.set_title(title, fontsize=10, color=INK)
        axes.set(xlim=(0, 160_000), xlabel="salary", xticks=[0, 75_000, 150_000])
        axes.set_ylim(bottom=0)
        thousands(axes.xaxis)
        axes.tick_params(labelsize=8)
        plain(axes)
    panels[0].set_ylabel("density")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=9
    )
    return figure


@picture
def epsilon() -> Any:
    """The same 2,000 salaries at four budgets."""
    X = salaries(2_000)[:, None]
    near = scumble.EuclideanKernel(bandwidth=10_000, power=2)

    def release(budget: float) -> scumble.Release:
        sketch = scumble.Sketch(near, 1, design="grid", bounds=(0, 250_000))
        return sketch.update(X).release(epsilon=budget)

    return _curves({f"ε = {budget:g}": release(budget) for budget in (0.03, 0.1, 0.3, 1.0)}, X)


@picture
def bandwidth() -> Any:
    """The same salaries at three bandwidths: sharper is noisier."""
    X = salaries(2_000)[:, None]

    def release(width: float) -> scumble.Release:
        sketch = scumble.Sketch(scumble.EuclideanKernel(width, 2), 1, design="grid", bounds=(0, 250_000))
        return sketch.update(X).release(epsilon=0.3)

    widths = {"too narrow: 1,000": 1_000.0, "good: 10,000": 10_000.0, "too wide: 80,000": 80_000.0}
    return _curves({title: release(width) for title, width in widths.items()}, X)


# ---- tutorials and how-tos ----


@picture
def modes() -> Any:
    homes, _ = towns()
    return learn.PrivateModes(bounds=(0, 100)).fit(homes).plot()


@picture
def classes() -> Any:
    homes, town = towns()
    names = np.array(["Aldorf", "Brück", "Celle"])
    return learn.PrivateKDEClassifier(bounds=(0, 100), classes=list(names)).fit(homes, names[town]).plot()


@picture
def outliers() -> Any:
    homes, _ = towns()
    return learn.PrivateOutlierDetector(bounds=(0, 100), contamination=0.05).fit(homes).plot()


@picture
def synthetic() -> Any:
    """Records that were, and records that were drawn from a release."""
    homes, _ = towns(5_000)
    sketch = scumble.Sketch(scumble.EuclideanKernel(5.0), columns=["east", "north"], design="grid", bounds=(0, 100))
    drawn = learn.sample(sketch.update(homes).release(epsilon=1.0), 5_000, random_state=0)
    figure = new_figure(9.5, 4.4)
    for axes, points, color, title in zip(
        figure.subplots(1, 2, sharex=True, sharey=True),
        (homes.to_numpy(), drawn),
        (INK, SECOND),
        ("5,000 private records", "5,000 synthetic ones, ε = 1"),
        strict=True,
    ):
        axes.plot(*points.T, ".", color=color, ms=1.6, alpha=0.6)
        axes.set_title(title, fontsize=10, color=INK)
        axes.set(xlabel="east", xlim=(0, 100), ylim=(0, 100))
        axes.set_aspect("equal")
        plain(axes, grid=False)
    figure.axes[0].set_ylabel("north")
    return figure


@picture
def regression() -> Any:
    """The private line and the one that least squares would find."""
    rng = np.random.default_rng(6)
    years = rng.uniform(0, 30, (5_000, 1))
    pay = 32_000 + 1_400 * years[:, 0] + rng.normal(0, 9_000, 5_000)
    model = learn.PrivateLinearRegression(bounds=(0, 30), target_bounds=(0, 120_000), delta=1e-6)
    model.fit(years, pay)
    figure = new_figure(7.0, 4.2)
    axes = figure.subplots()
    axes.plot(years[:800, 0], pay[:800], ".", color=FAINT, ms=3, label="private records (never shared)")
    x = np.array([[0.0], [30.0]])
    slope, start = np.polyfit(years[:, 0], pay, 1)
    axes.plot(x, start + slope * x, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), label="least squares, not private")
    axes.plot(x, model.predict(x), color=SECOND, linewidth=2.2, label="private: ε = 1, δ = 1e-6")
    axes.set(xlabel="years of service", ylabel="salary")
    axes.legend(frameon=False, fontsize=9)
    thousands(axes.yaxis)
    plain(axes)
    return figure


@picture
def favicon() -> Any:
    """A brush stroke over a drawing."""
    figure = new_figure(0.6, 0.6)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    x = np.linspace(0.1, 0.9, 60)
    axes.plot(x, 0.45 + 0.22 * np.sin(7 * x), color=INK, linewidth=3)
    axes.plot(x, np.full_like(x, 0.5), color=SECOND, linewidth=13, alpha=0.55, solid_capstyle="round")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in all_of_them().items():
        (folder / name).write_bytes(content)
