"""The page in a real browser: exported as a file and served; it computes what Python computes and asks nobody."""

from __future__ import annotations

import hashlib
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

import scumble
from scumble.density.bundle import Bundle
from scumble.kernels import Kernel, ProductKernel
from scumble.learn import PrivateKDEClassifier
from scumble.show.exhibit import Exhibit
from scumble.show.pages import Content, export

KERNELS = sorted(
    (kind for kind in Kernel.registry.values() if kind is not ProductKernel and kind.__module__.startswith("scumble.")),
    key=lambda kind: kind.name,
)
ROOT = Path(__file__).parents[2]
NEAR = 1e-9
"""The relative difference that rounding may make."""
DONE = ".figures[data-state=done]"
"""The picture is complete."""


def sketched(kernel: Any, X: Any, columns: Any, **options: Any) -> scumble.Release:
    """A release at ε = 1."""
    settings = {"rows": 200, "buckets": 1024, "seed": 7, "design": "sobol", **options}
    return scumble.Sketch(kernel, columns=columns, **settings).update(X).release(epsilon=1.0)


@pytest.fixture(scope="session")
def town() -> scumble.Release:
    """Two columns, three crowds."""
    rng = np.random.default_rng(1)
    centers = np.array([[20.0, 30.0], [60.0, 70.0], [75.0, 25.0]])
    X = np.vstack(
        [centers[rng.integers(0, 3, 60_000)] + rng.normal(0, 6, (60_000, 2)), rng.uniform(0, 100, (8_000, 2))]
    )
    return sketched(scumble.EuclideanKernel(8.0), X, ["east", "north"])


@pytest.fixture(scope="session")
def wards() -> Bundle:
    """Three classes, not in the order of the alphabet."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 20_000)
    X = np.array([[2.0, 2.0], [6.0, 3.0], [4.0, 7.0]])[y] + rng.normal(0, 1.1, (20_000, 2))
    kernel = scumble.EuclideanKernel(1.5, 2)
    names = ["well", "ill", "unsure"]
    return Bundle({name: sketched(kernel, X[y == k], ["heat", "pulse"], rows=60) for k, name in enumerate(names)})


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory, town: scumble.Release, wards: Bundle) -> dict[str, Path]:
    """Exported pages by name."""
    folder = tmp_path_factory.mktemp("pages")
    whole = {"east": (0.0, 100.0), "north": (0.0, 100.0)}
    shown = {
        "town": Exhibit(town, "town.scumble", ranges=whole, units={"east": "km", "north": "km"}),
        "wards": Exhibit(wards, "wards.scumble", ranges={"heat": (-2.0, 10.0), "pulse": (-2.0, 11.0)}),
    }
    for name, exhibit in shown.items():
        export(exhibit, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in shown}


def relative(found: Any, truth: Any) -> np.ndarray:
    found, truth = np.asarray(found, float), np.asarray(truth, float)
    return np.abs(found - truth) / np.maximum(np.abs(truth), 1e-300)


def tables() -> dict[str, tuple[scumble.Release, Any, list[list[Any]], list[str]]]:
    """For each kernel a release, 200 points for Python, the same for the page, and the columns' roles."""
    rng = np.random.default_rng(4)
    X, Q = rng.normal(0, 2, (3000, 3)), rng.normal(0, 2, (200, 3))
    names = ["a", "b", "c"]
    words = [" ".join(rng.choice(list("abcdefgh"), 3)) for _ in range(3000)]
    towns = rng.choice(["Ulm", "Köln", "x" * 300, "東京"], 3000).tolist()
    mixed = {"a": X[:, 0], "town": towns, "words": words}
    asked = {"a": Q[:, 0], "town": towns[:200], "words": words[:200]}
    small = {"rows": 200, "buckets": 777}
    grid = {"rows": None, "buckets": None, "design": "grid"}
    out: dict[str, Any] = {}

    def add(name: str, kernel: Any, X: Any, Q: Any, columns: list[str], *roles: str, **options: Any) -> None:
        release = sketched(kernel, X, columns, **{**small, **options})
        cells = list(Q.values()) if isinstance(Q, dict) else list(Q.T)
        points = [[x if isinstance(x, str) else float(x) for x in row] for row in zip(*cells, strict=True)]
        out[name] = release, Q, points, roles or ["number"] * len(columns)

    for kind in KERNELS:
        for power in (1, 3):
            name = f"{kind.name} {power}"
            if kind.name == "hamming":
                add(name, kind(power), {"town": towns}, {"town": towns[:200]}, ["town"], "category")
            elif kind.name == "jaccard":
                add(name, kind(power), {"words": words}, {"words": words[:200]}, ["words"], "tokens")
            else:
                add(name, kind(power=power), X, Q, names, design=("iid", "orthogonal")[power > 1])
    flags = (rng.random((2000, 5)) < 0.4).astype(float)
    add("jaccard of flags", scumble.JaccardKernel(2), flags, flags[:200], list("abcde"))
    add("column within bounds", scumble.kernels.ColumnKernel(0.2, 2, scale=8, origin=-4), X, Q, names)
    add("euclidean, tiny steps", scumble.EuclideanKernel(1e-9), X, Q, names)
    product = scumble.EuclideanKernel(2.0, columns=["a"]) * scumble.HammingKernel(columns=["town"])
    product = product * scumble.JaccardKernel(columns=["words"])
    add("product", product, mixed, asked, list(mixed), "number", "category", "tokens")
    for d in (1, 2, 3):
        bounds = ([-6.5] * d, [6.0] * d)
        add(f"grid {d}", scumble.EuclideanKernel(4.0, 2), X[:, :d], 1.5 * Q[:, :d], names[:d], bounds=bounds, **grid)
    heaps = np.rint(X[:, :2] / 3.0) * 3.0
    whole = {"bounds": ([-6, -6], [6, 6]), "buckets": (13, 13), "whole": ["a"]}
    add("grid of whole numbers", scumble.EuclideanKernel(4.0, 2), heaps, Q[:, :2], names[:2], **grid | whole)
    plain, *asking = out["euclidean 1"]
    spec = replace(plain.spec, bounds=((-6.5,) * 3, (6.0,) * 3))  # as rows that were made of a grid's cells have
    out["rows of cells"] = plain._with(spec=spec), *asking
    two = scumble.EuclideanKernel(1.5, columns=["a"]) * scumble.ManhattanKernel(2.0, 2, scale=3.0, columns=["b"])
    add("grid product", two, X[:, :2], Q[:, :2], names[:2], bounds=([-6, -6], [6, 6]), **grid)
    return out


ASK = """async ([content, points]) => {
    const { description, arrays } = await ScumbleEngine.unpack(content[0], content[1]);
    const engine = new ScumbleEngine.Engine(description, arrays);
    const table = engine.table(points.length, points[0].map((_, j) => points.map((point) => point[j])));
    const found = engine.answers(0, table, 0.9);
    return Object.fromEntries(Object.entries(found).map(([name, values]) => [name, Array.from(values)]));
}"""


@pytest.mark.filterwarnings("ignore::scumble.density.answers.BeyondBounds")  # some points are, on purpose
def test_the_page_computes_what_python_computes(visit: Callable[..., Any], pages: dict[str, Path]) -> None:
    page = visit().open(pages["town"].as_uri())
    looked, astray = 0, 0
    for name, (release, Q, points, roles) in tables().items():
        content = Content()
        content.release(release)
        description, arrays = content.with_all({"columns": [{"role": role} for role in roles], "classifier": None})
        found = page.evaluate(ASK, [[json.dumps(description), arrays], points])
        lower, upper = release.interval(Q, 0.9)
        truth = {
            "kernelSum": release.kernel_sum(Q),
            "density": release.density(Q, shrink=False),
            "lower": lower,
            "upper": upper,
            "error": release.standard_error(Q),
        }
        off = np.max([relative(found[key], values) for key, values in truth.items()], axis=0) > NEAR
        looked += len(points) * release.rows
        astray += int(off.sum())
        assert off.mean() < 0.02, name  # a wrong hash would be off nearly everywhere
    assert astray <= looked / 1e5


@pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose
def test_classes_are_those_of_python(
    visit: Callable[..., Any], pages: dict[str, Path], wards: Bundle, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    Q = rng.uniform(-1, 10, (200, 2))
    page = visit().open(pages["wards"].as_uri())
    truth = PrivateKDEClassifier.from_release(wards).predict_proba(pd.DataFrame(Q, columns=["heat", "pulse"]))
    found = np.array(page.evaluate("(points) => scumble.probabilities(points)", Q.tolist())).reshape(truth.shape)
    assert np.mean(np.abs(found - truth).max(axis=1) > NEAR) <= 0.01

    # A fitted model with its calibration, and a bundle of grids, which the rule "map" reads.
    y = rng.integers(0, 2, 4000)
    X = rng.normal(3 + 3 * y[:, None], 1, (4000, 2))
    model = PrivateKDEClassifier(epsilon=1.0, bounds=(0, 10), classes=["no", "yes"]).fit(X, np.array(["no", "yes"])[y])
    parts = {
        int(k): scumble.Sketch(
            scumble.EuclideanKernel(1.0, 2), 2, bounds=(0, 10), design="grid", buckets=(24, 24)
        ).update(X[y == k])
        for k in (1, 0)
    }
    bundle = Bundle({k: sketch.release(epsilon=1.0) for k, sketch in parts.items()})
    unsure = PrivateKDEClassifier(epsilon=0.1, bounds=(0, 10), classes=[0, 1]).fit(
        X[::4], (rng.uniform(size=1000) < 0.3).astype(int)
    )
    assert unsure._curve_of_scores().side == 1
    for name, shown, by in (
        ("model", model, model),
        ("unsure", unsure, unsure),
        ("grids", bundle, PrivateKDEClassifier.from_release(bundle, rule="map")),
    ):
        export(Exhibit(shown, name), tmp_path / f"{name}.html")
        page = visit().open((tmp_path / f"{name}.html").as_uri())
        truth = by.predict_proba(Q)
        found = np.array(page.evaluate("(points) => scumble.probabilities(points)", Q.tolist())).reshape(truth.shape)
        assert np.mean(np.abs(found - truth).max(axis=1) > NEAR) <= 0.01, name


def test_noise_is_not_taken_for_certainty(visit: Callable[..., Any], tmp_path: Path) -> None:
    """A class is as probable at least as if its sum were two standard errors lower, and the others' as much higher.

    Where no sum is five above nothing, that is not known: of the many places of a map some pass two by chance.
    """
    rng = np.random.default_rng(6)
    shape: dict[str, Any] = {"bounds": (0, 10), "design": "grid", "buckets": (16, 16)}
    parts = {name: scumble.Sketch(scumble.EuclideanKernel(1.0, 2), 2, **shape) for name in "abc"}
    for k, sketch in enumerate(parts.values()):
        sketch.update(rng.normal(2 + k, 1.0, (400, 2)))
    bundle = Bundle({name: sketch.release(epsilon=1.0) for name, sketch in parts.items()})
    export(Exhibit(bundle, "classes"), tmp_path / "classes.html")
    page = visit().open((tmp_path / "classes.html").as_uri())
    Q = np.vstack([rng.normal(3.0, 1.0, (40, 2)).clip(0, 10), rng.uniform(7.0, 10.0, (40, 2))])
    found = np.array(page.evaluate("(points) => scumble.sure(points)", Q.tolist()))
    model = PrivateKDEClassifier.from_release(bundle, rule="map")
    truth = model.predict_proba(Q)
    sums = [bundle[name]._estimate(Q) for name in model.classes_]
    half = [2.0 * np.sqrt(one.noise_variance + one.caution**2 * one.hashing_variance) for one in sums]
    counts = np.array([max(bundle[name].count, 1.0) for name in model.classes_])
    low, high = (
        np.maximum([one.value + side * h for one, h in zip(sums, half, strict=True)], 0.5).T / counts * model._shares()
        for side in (-1.0, 1.0)
    )
    best = (np.arange(len(Q)), truth.argmax(axis=1))
    doubted = high.copy()
    doubted[best] = low[best]
    expected = np.minimum(truth[best], doubted[best] / doubted.sum(axis=1))
    clear = np.any([one.value > 2.5 * h for one, h in zip(sums, half, strict=True)], axis=0)
    np.testing.assert_allclose(found, np.where(clear, expected, 0.0), rtol=1e-9)
    assert clear[:40].mean() > 0.5 and not clear[40:].all(), "where nobody is, noise makes one class look likely"
    assert "not known" in page.locator("figure").nth(0).text_content()
    page.get_by_text("The same in numbers").click()
    expect(page.locator("details.numbers")).to_contain_text("not known")
    page.locator(".readout").scroll_into_view_if_needed()
    box = page.locator("figure svg image").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4)
    expect(page.locator(".readout")).to_contain_text("not known, for no class rises above the noise there")
    far = Q[40:][~clear[40:]][:1]
    chances = page.evaluate("(points) => scumble.probabilities(points)", far.tolist())
    assert abs(sum(chances) - 1.0) < 1e-9, "who asks for probabilities gets them"


def test_modes_are_listed_and_visited(visit: Callable[..., Any], pages: dict[str, Path]) -> None:
    page = visit().open(pages["town"].as_uri())
    rows = page.locator("section[aria-labelledby=modes] tbody tr")
    found = np.array(
        [[float(rows.nth(k).locator("td").nth(j).inner_text()) for j in (0, 1)] for k in range(rows.count())]
    )
    centers = np.array([[20.0, 30.0], [60.0, 70.0], [75.0, 25.0]])
    assert np.abs(found[:, None] - centers).max(axis=2).min(axis=0).max() < 6.0
    rows.nth(1).get_by_role("button").click()
    assert "density" in page.locator(".readout").inner_text()


def test_pictures_can_be_taken_away(visit: Callable[..., Any], pages: dict[str, Path]) -> None:
    page = visit(accept_downloads=True).open(pages["wards"].as_uri())
    for kind in ("SVG", "PNG"):
        with page.expect_download() as loading:
            page.get_by_role("button", name=f"({kind})").click()
        data = Path(loading.value.path()).read_bytes()
        if kind == "PNG":
            assert data.startswith(b"\x89PNG") and len(data) > 10_000
        else:
            assert ElementTree.fromstring(data).tag.endswith("svg")


def test_curves_categories_and_the_columns_that_stay(visit: Callable[..., Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    where = rng.choice(["Ulm", "Bonn"], 20_000, p=[0.7, 0.3])
    age = rng.normal(np.where(where == "Ulm", 35.0, 60.0), 6.0)
    kernel = scumble.EuclideanKernel(10.0, columns=["age"]) * scumble.HammingKernel(columns=["town"])
    release = sketched(kernel, {"age": age, "town": where}, ["age", "town"], rows=200)
    exhibit = Exhibit(release, "mixed", values={"town": ["Ulm", "Bonn"]})
    export(exhibit, tmp_path / "mixed.html")
    assert exhibit.columns[0].range is not None and exhibit.columns[0].range[0] < 30 < 65 < exhibit.columns[0].range[1]
    page = visit().open((tmp_path / "mixed.html").as_uri())
    peak = page.locator("figure svg").get_attribute("aria-label")
    assert peak is not None and abs(float(peak.rsplit(" ", 1)[1].rstrip(".")) - 35) < 5
    page.get_by_label("town", exact=True).fill("Bonn")
    expect(page.locator("figure svg")).to_have_attribute("aria-label", re.compile("near age [56]"))
    page.get_by_label("town", exact=True).fill("")
    assert "Write a value" in page.locator(".figures").inner_text()
    page.get_by_label("Across").select_option(label="town")
    page.wait_for_selector("figure svg rect")
    page.get_by_label("Up").select_option(label="age")
    page.wait_for_selector(f"{DONE} figure:nth-child(2)")
    page.get_by_text("The same in numbers").click()
    assert page.locator(".numbers thead").inner_text().split()[-2:] == ["Ulm", "Bonn"]


def test_the_keyboard_alone_does_everything(visit: Callable[..., Any], pages: dict[str, Path]) -> None:
    page = visit().open(pages["wards"].as_uri())
    page.locator(".pictures").focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    assert "probability" in page.locator(".readout").inner_text()
    page.locator("input[name=show]:checked").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("figure svg text").first).to_have_text(re.compile("Density of"))
    before = page.evaluate("document.documentElement.dataset.theme")
    page.get_by_role("button", name="light and dark").focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.documentElement.dataset.theme") != before


class _Parity(scumble.kernels.Kernel):
    """A kernel of somebody's own: Python, which no page runs."""

    name = "parity-of-the-page-tests"

    def _draw_one(self, draws: Any, dimensions: int) -> np.ndarray:
        return draws.uniform(1)

    @staticmethod
    def code(record: np.ndarray, parameters: np.ndarray) -> float:
        return np.floor(record[0] + parameters[0])

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - np.abs(X[:, :1] - Y[None, :, 0]), 0.0)


def test_a_kernel_written_in_python_is_served_by_the_api_alone(visit: Callable[..., Any], tmp_path: Path) -> None:
    release = sketched(_Parity(), np.zeros((1000, 1)), ["a"], rows=30, buckets=64)
    exhibit = Exhibit(release, "own")
    export(exhibit, tmp_path / "own.html")
    seen = visit()
    page = seen.open((tmp_path / "own.html").as_uri(), drawn=False)
    assert "--api" in page.locator("main").inner_text()
    assert seen.said == []
    assert exhibit.density([[0.0]])["density"] == release.density([[0.0]]).tolist()


def test_the_built_page_is_that_of_the_sources() -> None:
    web = ROOT / "web"
    digest = hashlib.sha256()
    names = ["package-lock.json", *(str(path.relative_to(web)) for path in (web / "src").rglob("*") if path.is_file())]
    for name in sorted(names):
        digest.update(f"{name}\n".encode())
        digest.update((web / name).read_bytes())
    built = ROOT / "src/scumble/show/page"
    assert (built / "sources.sha256").read_text().strip() == digest.hexdigest(), "Run `make page`."
    assert "d3-contour" in (built / "LICENSES.txt").read_text()
    assert "</script" not in (built / "engine.js").read_text() + (built / "page.js").read_text()


def test_screenshots_for_the_docs(visit: Callable[..., Any], pages: dict[str, Path], tmp_path: Path) -> None:
    """With SCUMBLE_PICTURES=docs/pictures it is that of the docs."""
    folder = Path(os.environ.get("SCUMBLE_PICTURES", tmp_path))
    page = visit(viewport={"width": 1180, "height": 1180}).open(pages["town"].as_uri())
    box = page.locator("figure svg").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 0.45 * box["height"])
    page.screenshot(path=folder / "explore-town.png")
    assert (folder / "explore-town.png").stat().st_size > 30_000
