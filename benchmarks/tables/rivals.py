"""Others' programs on the same private rows, each in an environment of its own, which is made when first asked for.

A rival gets the integer codes and the number of levels of each column, and gives synthetic rows back, ten times as many
as there are, lest the luck of the draw be taken for its error. Rivals run with their own settings, on one core:

- **dpmm's MST and AIM** (0.1.9; Python 3.10 or 3.11). Its mirror descent always takes 2,500 and then 5,000 steps (AIM:
  1,000 a round), each with sums of exponentials of a few dozen numbers. SciPy takes 270 μs for one since 1.15, 40 μs
  before, so SciPy 1.14 is put in, although dpmm asks for 1.15: it does the same sooner.
- **OpenDP's MST and AIM** (0.16, with mbi): cuts between all codes, so that it has the same levels and no more. MST
  composes its own parts to a budget that can be too small by a last digit, and refuses itself; it gets 10⁻⁹ of a
  part's budget less. Its rows are drawn one by one: "rounded rows", its default, gives two columns that depend on the
  same third one in the same order, and so a dependence that its model does not have. The budget
  is ρ for a δ, as dpmm converts it, or ε alone.
- **16 cells**: neighboring cells of numbers are put together until there are at most 16, and synthetic rows drawn
  evenly within: what a user would do for whom all of a number's cells are too many to measure in pairs.
- **AIM, 1 MB**: with room for models of 1 MB instead of 80, which its authors suggest where it must end soon; of
  OpenDP with pairs instead of triples, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass, replace
from pathlib import Path

HOME = Path(os.environ.get("SCUMBLE_RIVALS", Path.home() / ".cache" / "scumble-rivals"))

DPMM = """
import sys, numpy as np, pandas as pd
from dpmm.models.{module} import {name}
given = np.load(sys.argv[1])
codes, sizes = given["codes"], given["sizes"]
frame = pd.DataFrame(codes, columns=[f"c{{j}}" for j in range(codes.shape[1])])
domain = {{name: int(size) for name, size in zip(frame, sizes)}}
model = {name}(epsilon={epsilon}, delta={delta}, domain=domain, n_jobs=1{options})
model.set_random_state(np.random.RandomState())
model.fit(frame)
rows = model.generate(n_records=10 * len(frame))[list(frame)].to_numpy()
"""
OPENDP = """
import math, sys, numpy as np, polars as pl
import opendp.prelude as dp
from opendp.extras.mbi import _mst
dp.enable_features("contrib")
_mst.prior = lambda x: float(x) * (1 - 1e-9)
given = np.load(sys.argv[1])
codes, sizes = given["codes"], given["sizes"]
frame = pl.DataFrame({{f"c{{j}}": codes[:, j] for j in range(codes.shape[1])}})

def delta_of(rho):
    low, high = 1.01, {epsilon} / rho + 2
    for _ in range(1000):
        a = (low + high) / 2
        low, high = (a, high) if (2 * a - 1) * rho - {epsilon} + math.log1p(-1 / a) < 0 else (low, a)
    return math.exp((a - 1) * (a * rho - {epsilon}) + a * math.log1p(-1 / a)) / (a - 1)

low, high = 0.0, {epsilon} + 1
for _ in range(200):
    rho = (low + high) / 2
    low, high = (rho, high) if delta_of(rho) <= {delta} else (low, rho)
whole = dict(rho=low) if {delta} else dict(epsilon={epsilon})
context = dp.Context.compositor(
    data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(**whole)
)
query = context.query(**{{name: loss * (1 - 1e-9) for name, loss in whole.items()}}).select(*frame.columns)
cuts = {{name: list(range(int(size) - 1)) for name, size in zip(frame.columns, sizes)}}
table = query.contingency_table(cuts=cuts, algorithm=dp.mbi.{name}({options})).release()
rows = table.synthesize(10 * len(frame), method="{draw}").select(frame.columns).to_numpy()
"""


@dataclass(frozen=True)
class Rival:
    """What to install, the program, what to fill in, and whether it can do without a δ."""

    wanted: tuple[str, ...]
    program: str
    filled: dict[str, str]
    pure: bool
    forced: tuple[str, ...] = ()
    """Put in last, whatever the packages ask for."""
    newest: tuple[int, int] = (3, 14)
    """The newest Python that it runs on."""
    cells: int | None = None
    """At most so many of a number; None for all that there are."""

    def script(self, epsilon: float, delta: float) -> str:
        """The program, which leaves its synthetic rows as `rows`."""
        return self.program.format(epsilon=epsilon, delta=delta, **{"options": "", **self.filled})

    def python(self) -> str:
        """The interpreter of its environment, which is made if it is not there."""
        folder = HOME / self.wanted[0].translate(str.maketrans("[]=", "---"))
        python = folder / "bin" / "python"
        if not (folder / "ready").exists():
            if sys.version_info[:2] <= self.newest:
                venv.create(folder, with_pip=True, clear=True)
            else:
                older = shutil.which("python{}.{}".format(*self.newest))
                if older is None:
                    raise OSError("needs Python {}.{}".format(*self.newest))
                subprocess.run([older, "-m", "venv", "--clear", folder], check=True, capture_output=True)
            install = [python, "-m", "pip", "install", "-q"]
            subprocess.run([*install, *self.wanted], check=True, capture_output=True)
            if self.forced:
                subprocess.run([*install, "--no-deps", *self.forced], check=True, capture_output=True)
            (folder / "ready").touch()
        return str(python)


def _dpmm(module: str, name: str, options: str = "") -> Rival:
    filled = {"module": module, "name": name, "options": options}
    return Rival(("dpmm==0.1.9",), DPMM, filled, False, ("scipy==1.14.1",), (3, 11))


def _opendp(name: str, options: str = "", draw: str = "sample") -> Rival:
    wanted = ("opendp[mbi]==0.16.0", "mbi==1.1.0", "jax==0.10.2", "numpy==2.4.6", "pandas==3.1.1")
    return Rival(wanted, OPENDP, {"name": name, "options": options, "draw": draw}, True)


RIVALS = {
    "MST (dpmm)": _dpmm("mst", "MSTGM"),
    "MST (OpenDP)": _opendp("MST"),
    "MST, rounded rows (OpenDP)": _opendp("MST", draw="round"),
    "MST, 16 cells (dpmm)": replace(_dpmm("mst", "MSTGM"), cells=16),
    "MST, 16 cells (OpenDP)": replace(_opendp("MST"), cells=16),
    "AIM (dpmm)": _dpmm("aim", "AIMGM"),
    "AIM (OpenDP)": _opendp("AIM"),
    "AIM, 1 MB (dpmm)": _dpmm("aim", "AIMGM", ", max_model_size=1"),
    "AIM, 1 MB (OpenDP)": _opendp("AIM", "queries=2, max_size=1.0"),
}
