"""Who only reads releases of densities needs NumPy alone."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import special

import scumble
from scumble.cli import main
from scumble.density.grid_cells import fast_length
from scumble.density.student import reach
from scumble.files.lazy_modules import lacking
from scumble.privacy import gaussian as functions

ALONE = """
import json, sys
import numpy as np, scumble
from scumble.cli import main
dated, hashed, mixed = (scumble.load(path) for path in sys.argv[1:4])
print(json.dumps([
    [dated.density({"age": [30.0], "seen": ["2024-02-01"]}).tolist(), dated.interval([[30.0, 19754]])[1].tolist()],
    [hashed.density([[30.0]]).tolist(), hashed.interval([[30.0]], 0.9)[0].tolist()],
    [mixed.density([[30.0, "Ulm"]]).tolist(), mixed.interval({"age": [30], "town": ["Ulm"]})[0].tolist()],
]))
assert main(["info", sys.argv[1]]) == 0 and main(["info", sys.argv[2], "--nist"]) == 0
assert main(["info", sys.argv[4], "--registry"]) == 0
assert main(["query", sys.argv[1], "--at", "age=$30,seen=2024-02-01"]) == 0
assert main(["query", sys.argv[3], "--at", "age=30,town=Ulm"]) == 0
assert main(["query", sys.argv[1], "--at", "age=30,seen=2024-02-01", "--json"]) == 2
third = {"numba", "pyarrow", "scipy", "threadpoolctl", "pandas", "matplotlib"}
assert not third & {name.partition(".")[0] for name in sys.modules}
"""


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Densities with and without a grid, with dates and with words, pure and Gaussian; and a table."""
    folder, days = tmp_path_factory.mktemp("releases"), ["2024-01-01", "2024-03-01"] * 150
    table = pa.table({"age": np.arange(300) % 90 + 0.0, "town": ["Ulm", "Bonn", "Kiel"] * 100, "seen": days})
    near, towns = scumble.EuclideanKernel(5.0, columns=["age"]), scumble.HammingKernel(columns=["town"])
    both = scumble.EuclideanKernel(5.0, scale={"age": 1, "seen": 10})
    size = {"rows": 8, "buckets": 32}
    ends = {"age": (0, 100), "seen": ("2024-01-01", "2024-12-31")}
    made = [
        scumble.build(table, both, ["age", "seen"], bounds=ends, buckets=(11, 13), dates=["seen"], rho=0.1),
        scumble.build(table, near, ["age"], epsilon=1.0, delta=1e-6, **size),
        scumble.build(table, near * towns, ["age", "town"], epsilon=1.0, **size),
        scumble.build(table, schema=scumble.Schema(seen=scumble.Category(days[:2])), epsilon=1.0),
    ]
    paths = [str(folder / f"{k}.scumble") for k in range(len(made))]
    for path, release in zip(paths, made, strict=True):
        release.save(path)
    return paths


def test_numpy_alone_reads_densities(releases: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a Python whose only package is NumPy: what is said and answered is what all packages together say."""
    home = Path(np.__file__).parent.parent
    for name in ("numpy", "numpy.libs"):  # the libraries of its wheel, where it has some
        if (home / name).exists():
            (tmp_path / name).symlink_to(home / name)
    path = os.pathsep.join([str(tmp_path), str(Path(scumble.__file__).parent.parent)])
    alone = {**os.environ, "PYTHONPATH": path}
    words = [sys.executable, "-S", "-c", ALONE, *releases]
    done = subprocess.run(words, capture_output=True, text=True, env=alone, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [f"scumble: {lacking('pyarrow')}"]
    dated, hashed, mixed = (scumble.load(one) for one in releases[:3])
    expected = [
        [dated.density([[30.0, 19754]]), dated.interval([[30.0, 19754]])[1]],
        [hashed.density([[30.0]]), hashed.interval([[30.0]], 0.9)[0]],
        [mixed.density([[30.0, "Ulm"]]), mixed.interval([[30.0, "Ulm"]])[0]],
    ]
    first, _, rest = done.stdout.partition("\n")
    assert np.allclose(json.loads(first), expected, rtol=1e-9)
    assert main(["info", releases[0]]) == 0 and main(["info", releases[1], "--nist"]) == 0
    assert main(["info", releases[3], "--registry"]) == 0
    assert main(["query", releases[0], "--at", "age=30,seen=2024-02-01"]) == 0
    assert main(["query", releases[2], "--at", "age=30,town=Ulm"]) == 0
    assert rest == capsys.readouterr().out


def test_functions_are_as_exact_as_scipys() -> None:
    x = np.concatenate([np.linspace(-20, 20, 801), np.geomspace(1e-9, 1e9, 200)])
    assert np.allclose(functions.erfcx(x), special.erfcx(x), rtol=1e-12, atol=0)
    assert functions.erfcx(0.5) == pytest.approx(special.erfcx(0.5), rel=1e-14)
    positive = np.concatenate([x[x > 0], np.arange(1, 40), np.geomspace(1e-300, 1e-9, 50)])
    assert np.allclose(functions.gammaln(positive), special.gammaln(positive), rtol=1e-13, atol=1e-13)
    for one in (1e-9, 0.5, 3, 15.999, 16, 1e7):
        assert functions.gammaln(one) == pytest.approx(math.lgamma(one), rel=1e-13, abs=1e-13)
    for valley, least in ((lambda x: (x - 0.3) ** 2 - 7, -7), (lambda x: abs(x + 3), 0), (math.exp, math.exp(-20))):
        assert functions.lowest(valley, -20, 5) == pytest.approx(least, abs=2e-9)
    for power in (1, 3, 5):
        place = functions.crossing(lambda x, power=power: x**power - 2, 0.0, 7.0)
        assert place**power <= 2 and place == pytest.approx(2 ** (1 / power), rel=4e-16)
    assert functions.crossing(lambda x: x, 0.0, 1.0) == 0.0
    assert [fast_length(n) for n in range(1, 500)] == [special_length(n) for n in range(1, 500)]


def special_length(n: int) -> int:
    from scipy import fft

    return int(fft.next_fast_len(n, real=True))


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.999999, 1 - 2**-53])
def test_students_t_reaches_as_far_as_scipy_says(confidence: float) -> None:
    degrees = np.concatenate([np.geomspace(1, 1e6, 500), [1, 2, 999.999, 1000]])
    wanted = -special.stdtrit(degrees, (1 - confidence) / 2)
    assert np.allclose(reach(degrees, confidence), wanted, rtol=1e-9)
    few = np.array([reach(np.array([one]), confidence)[0] for one in degrees])  # another way, where there are few
    assert np.allclose(few, wanted, rtol=1e-9)


TABLE = """
import sys
sys.modules["numba"] = None
import scumble
release = scumble.load(sys.argv[1])
print(release.count("age > 50 and town = 'Ulm'").value, len(release.sample(7, random_state=1)))
"""


def test_tables_are_read_without_numba(tmp_path: Path) -> None:
    schema = scumble.Schema(age=scumble.Number(0, 100), town=scumble.Category(["Ulm", "Bonn"]))
    frame = {"age": np.arange(200.0) % 100, "town": np.array(["Ulm", "Bonn", "Ulm", "Ulm"] * 50)}
    release = scumble.TableSketch(schema).update(frame).release(epsilon=5.0)
    release.save(tmp_path / "table.scumble")
    done = subprocess.run(
        [sys.executable, "-c", TABLE, str(tmp_path / "table.scumble")], capture_output=True, text=True, check=True
    )
    value, rows = done.stdout.split()
    assert float(value) == release.count("age > 50 and town = 'Ulm'").value and rows == "7"


FIRST = """
import sys
import numpy
import scumble
from scumble.cli import main
grid, rows = (scumble.load(path) for path in sys.argv[1:])
for release in (grid, rows):
    release.density([[30.0]]), release.interval(numpy.array([[30.0]])), release.kernel_sum([[30.0]])
    assert main(["query", sys.argv[1], "--at", "age=30"]) == 0
print(*sys.modules)
"""
NEEDLESS = {
    *("scipy", "numba", "pyarrow", "pandas", "numpy.ma", "threadpoolctl", "tempfile", "scumble.columns.schema"),
    *("scumble.table", "scumble.learn.moment_release", "scumble.streams.published", "scumble.density.plan"),
    *("scumble.gate", "scumble.density.sketch", "scumble.sources.building"),
}


def test_a_first_answer_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    """Where everything is installed too: what takes longest in a first answer is what it imports."""
    X, kernel = np.arange(300.0)[:, None] % 90, scumble.EuclideanKernel(5.0)
    made = [
        scumble.Sketch(kernel, columns=["age"], bounds=(0, 100), design="grid", buckets=(40,)),
        scumble.Sketch(kernel, columns=["age"], rows=8, buckets=32, design="iid"),
    ]
    paths = [str(tmp_path / f"{k}.scumble") for k in range(len(made))]
    for path, sketch in zip(paths, made, strict=True):
        sketch.update(X).release(epsilon=1.0).save(path)
    done = subprocess.run([sys.executable, "-c", FIRST, *paths], capture_output=True, text=True, check=True)
    assert not NEEDLESS & set(done.stdout.splitlines()[-1].split())


BUILT = """
import sys
from scumble.cli import main
table, out = sys.argv[1:]
rows = ["--rows", "8", "--buckets", "32"]
for number, more in enumerate((rows, [*rows, "--delta", "1e-6"], ["--bounds", "age=0:100"])):
    assert main(["build", table, "--bandwidth", "5", "--epsilon", "1", *more, "--out", f"{out}{number}.scumble"]) == 0
    assert main(["info", f"{out}{number}.scumble"]) == 0
print(*sys.modules)
"""


def test_a_build_and_its_card_load_no_scipy(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age\n" + "41\n52\n" * 500)
    words = [sys.executable, "-c", BUILT, str(table), str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert not {"scipy", "numba", "matplotlib", "pandas", "sklearn"} & set(done.stdout.splitlines()[-1].split())
