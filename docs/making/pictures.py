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

import scumble
from scumble import learn
from scumble.counting import reference
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
    centres, spread = np.array([[22, 24], [55, 58], [70, 22]]), np.array([9.0, 7.0, 6.0])
    homes = np.clip(centres[which] + rng.normal(size=(n, 2)) * spread[which, None], 0, 100)
    return pd.DataFrame(homes, columns=["east", "north"]), which


def _truth(kernel: scumble.Kernel, Q: np.ndarray, X: np.ndarray) -> np.ndarray:
    return np.concatenate([kernel(part, X).mean(axis=1) for part in np.array_split(Q, 8)])


# ---- how it works ----


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
def kernel() -> Any:
    """How often two points meet over many rows, beside the formula."""
    distances = np.linspace(0.0, 4.0, 21)
    points = np.column_stack([distances, np.zeros_like(distances)])
    fine = np.linspace(0.0, 4.0, 200)
    figure = new_figure(7.0, 4.0)
    axes = figure.subplots()
    for colour, power in zip(LINES, (1, 2, 4), strict=False):
        near = scumble.EuclideanKernel(bandwidth=1.0, power=power)
        hasher = scumble.Sketch(near, 2, rows=2000, buckets=2**16, seed=1, design="sobol").spec.layout.hasher
        bucket = reference.buckets(hasher, [Records(points)])
        axes.plot(fine, near([[0.0]], fine[:, None])[0], color=colour, linewidth=1.6, label=f"k, power {power}")
        axes.plot(distances, (bucket == bucket[0]).mean(axis=1), "o", color=colour, ms=4.5)
    axes.plot([], [], "o", color=FAINT, ms=4.5, label="share of 2,000 rows in which the two meet")
    axes.set(xlabel="distance in bandwidths", ylabel="probability of meeting", xlim=(0, 4), ylim=(0, 1.02))
    axes.legend(frameon=False, fontsize=9)
    plain(axes)
    return figure


@picture
def counting() -> Any:
    """A small sketch as it is: one record has added one to the marked counter of each row."""
    rng = np.random.default_rng(3)
    people = rng.normal(size=(300, 2))
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.5), 2, rows=8, buckets=20, seed=2).update(people)
    hasher = sketch.spec.layout.hasher
    where = reference.buckets(hasher, [Records(people)])
    counts = np.stack([np.bincount(where[:, r], minlength=20) for r in range(8)])
    one = where[17]
    figure = new_figure(9.0, 3.6)
    axes = figure.subplots()
    axes.imshow(counts, cmap="Blues", vmax=counts.max() * 1.3, aspect="auto")
    for r, w in np.ndindex(counts.shape):
        axes.text(w, r, counts[r, w], ha="center", va="center", fontsize=8.5, color=INK)
    from matplotlib.patches import Rectangle

    for r, w in enumerate(one):
        axes.add_patch(Rectangle((w - 0.5, r - 0.5), 1, 1, fill=False, edgecolor=SECOND, linewidth=2.4))
    axes.set(xlabel="bucket", ylabel="row", xticks=range(20), yticks=range(8))
    axes.set_yticklabels(range(1, 9))
    axes.tick_params(length=0, labelsize=8)
    axes.set_title("300 records; the marked counters are where one of them was counted", fontsize=10, color=INK)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure


@picture
def noise() -> Any:
    """One row before and after; and what the mean over all rows says in spite of it."""
    X = salaries()[:, None]
    near = scumble.EuclideanKernel(bandwidth=5_000)
    sketch = scumble.Sketch(near, 1, rows=400, buckets=64, seed=1).update(X)
    x = np.linspace(0, 160_000, 240)[:, None]
    where = reference.buckets(sketch.spec.layout.hasher, [Records(X)])
    exact = np.bincount(where[:, 0], minlength=64)
    release = sketch.release(epsilon=1.0)
    figure = new_figure(10.5, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    left.bar(range(64), exact, color=INK, width=0.8, label="exact: secret, and gone")
    left.plot(range(64), release.counts[0], "o", color=SECOND, ms=4, label="released")
    left.set(xlabel="bucket of row 1", ylabel="counter")
    left.axhline(0.0, color=INK, linewidth=0.6)
    left.legend(frameon=False, fontsize=9)
    spread = np.sqrt(2.0) * release.privacy.scale
    left.set_title(f"One row: ± {spread:,.0f} records of noise on every counter", fontsize=10, color=INK)
    lower, upper = (side / release.count for side in release.interval(x))
    right.fill_between(x[:, 0], lower, upper, color=SECOND, alpha=0.25, linewidth=0, label="95 % interval")
    right.plot(x[:, 0], release.density(x), color=SECOND, linewidth=1.8, label="released")
    right.plot(x[:, 0], _truth(near, x, X), color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="truth")
    right.set(xlabel="salary", ylabel="density", xlim=(0, 160_000))
    right.set_ylim(bottom=0)
    right.legend(frameon=False, fontsize=9)
    right.set_title("The mean over 400 rows", fontsize=10, color=INK)
    thousands(right.xaxis)
    right.set_xticks([0, 50_000, 100_000, 150_000])
    for axes in (left, right):
        plain(axes)
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


@picture
def rows() -> Any:
    """Measured error against rows: three designs without noise, and Sobol rows with it."""
    X = np.random.default_rng(4).normal(size=(6_000, 3))
    Q = np.random.default_rng(5).normal(size=(200, 3))
    near = scumble.EuclideanKernel(bandwidth=1.0)
    truth = _truth(near, Q, X)
    sizes = [16, 32, 64, 128, 256, 512, 1024, 2048]

    def error(density: np.ndarray) -> float:
        return float(np.mean(np.abs(density - truth) / truth))

    def measured(size: int, design: str, **budget: float) -> float:
        seeds = range(2)
        errors = []
        for seed in seeds:
            sketch = scumble.Sketch(near, 3, rows=size, buckets=512, seed=seed, design=design).update(X)
            errors.append(error((sketch.release(**budget) if budget else sketch).density(Q)))
        return float(np.mean(errors))

    figure = new_figure(7.0, 4.4)
    axes = figure.subplots()
    lines = [
        ("independent rows, no noise", FAINT, "--", "iid", {}),
        ("Sobol rows, no noise", INK, "--", "sobol", {}),
        ("Sobol rows, ε = 1 (Laplace)", SECOND, "-", "sobol", {"epsilon": 1.0}),
        ("Sobol rows, ε = 1, δ = 1e-6 (Gaussian)", LINES[2], "-", "sobol", {"epsilon": 1.0, "delta": 1e-6}),
    ]
    for label, colour, dashes, design, budget in lines:
        values = [measured(size, design, **budget) for size in sizes]
        axes.loglog(sizes, values, color=colour, linestyle=dashes, marker="o", ms=4, linewidth=1.6, label=label)
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(base=2))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g} %"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.set(xlabel="rows", ylabel="mean relative error of a density")
    axes.legend(frameon=False, fontsize=9)
    plain(axes)
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


@picture
def plan() -> Any:
    """What `scumble plan --plot` draws."""
    near = scumble.EuclideanKernel(1.0)
    lines = {
        budget: [scumble.plan(100_000, 6, budget, kernel=near, rows=2**k) for k in range(3, 14)]
        for budget in (0.1, 0.3, 1.0, 3.0)
    }
    return plots.plan_errors(lines, chosen=scumble.plan(100_000, 6, 1.0, kernel=near))


# ---- tutorials and how-tos ----


@picture
def payroll() -> Any:
    """The curator's tutorial: what was published."""
    rng = np.random.default_rng(7)
    pay = salaries(6_000)
    age = np.clip(rng.normal(34 + pay / 9_000, 9), 18, 70)
    near = scumble.EuclideanKernel(1.0, 2, scale={"age": 10.0, "salary": 20_000.0})
    sketch = scumble.Sketch(near, columns=["age", "salary"], design="grid", bounds=([18, 0], [70, 200_000]))
    release = sketch.update(np.column_stack([age, pay])).release(epsilon=1.0)
    return release.plot(units={"age": "years", "salary": "€"})


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
    for axes, points, colour, title in zip(
        figure.subplots(1, 2, sharex=True, sharey=True),
        (homes.to_numpy(), drawn),
        (INK, SECOND),
        ("5,000 private records", "5,000 synthetic ones, ε = 1"),
        strict=True,
    ):
        axes.plot(*points.T, ".", color=colour, ms=1.6, alpha=0.6)
        axes.set_title(title, fontsize=10, color=INK)
        axes.set(xlabel="east", xlim=(0, 100), ylim=(0, 100))
        axes.set_aspect("equal")
        plain(axes, grid=False)
    figure.axes[0].set_ylabel("north")
    return figure


@picture
def regression() -> Any:
    """The private line beside the one that least squares would have found."""
    rng = np.random.default_rng(6)
    years = rng.uniform(0, 30, (5_000, 1))
    pay = 32_000 + 1_400 * years[:, 0] + rng.normal(0, 9_000, 5_000)
    model = learn.PrivateLinearRegression(bounds=(0, 30), target_bounds=(0, 120_000), delta=1e-6, rows=2_000)
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
