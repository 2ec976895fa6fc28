"""Others' programs on the same private rows, each in an environment of its own, which is made when first asked for.

A rival gets the integer codes and the number of levels of each column, and gives back as many synthetic rows: so all of
them are judged on equal terms. Whoever is not done in time, or does not install, is reported as that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

from benchmarks.tables.data import Table
from scumble.views.mixture import Mixture

LIMIT = 1800
"""Seconds for a fit and its rows."""
HOME = Path(os.environ.get("SCUMBLE_RIVALS", Path.home() / ".cache" / "scumble-rivals"))

DPMM = """
import sys, numpy as np, pandas as pd
from dpmm.models.{module} import {name}
codes, sizes = (np.load(sys.argv[1])[k] for k in ("codes", "sizes"))
frame = pd.DataFrame(codes, columns=[f"c{{j}}" for j in range(codes.shape[1])])
model = {name}(epsilon={epsilon}, delta={delta}, domain={{f"c{{j}}": int(s) for j, s in enumerate(sizes)}}, n_jobs=1)
model.set_random_state(np.random.RandomState())
model.fit(frame)
rows = model.generate(n_records=len(frame))[list(frame)].to_numpy().astype(np.int64)
np.save(sys.argv[2], rows)
"""
RIVALS: dict[str, tuple[str, str, dict[str, str]]] = {
    "MST (dpmm)": ("dpmm==0.1.9", DPMM, {"module": "mst", "name": "MSTGM"}),
    "AIM (dpmm)": ("dpmm==0.1.9", DPMM, {"module": "aim", "name": "AIMGM"}),
}
"""What to install, the program, and what to fill in."""


def synthesised(name: str, table: Table, epsilon: float, delta: float) -> tuple[np.ndarray, float] | str:
    """Synthetic rows and the seconds that they took, or why there are none."""
    wanted, program, filled = RIVALS[name]
    if not delta:
        return "needs a δ"
    try:
        python = _environment(wanted)
        with tempfile.TemporaryDirectory() as folder:
            given, made = Path(folder, "codes.npz"), Path(folder, "rows.npy")
            np.savez(given, codes=table.codes, sizes=[column.levels for column in table.columns])
            begun = time.perf_counter()
            script = program.format(epsilon=epsilon, delta=delta, **filled)
            subprocess.run([python, "-c", script, given, made], check=True, timeout=LIMIT, capture_output=True)
            return np.load(made), time.perf_counter() - begun
    except subprocess.TimeoutExpired:
        return f"not done in {LIMIT} s"
    except (subprocess.CalledProcessError, OSError) as problem:
        told = getattr(problem, "stderr", None) or str(problem).encode()
        return "failed: " + told.decode(errors="replace").strip().splitlines()[-1][:100].replace("|", "/")


def _environment(wanted: str) -> str:
    """The interpreter that has it."""
    folder = HOME / f"{wanted.replace('==', '-')}-{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", wanted], check=True, capture_output=True)
        (folder / "ready").touch()
    return str(python)


def as_model(rows: np.ndarray, table: Table) -> Mixture:
    """Rows as a mixture with one component for each different row: so they are judged by the same program."""
    different, counts = np.unique(rows, axis=0, return_counts=True)
    columns = tuple(np.eye(column.levels)[different[:, j]] for j, column in enumerate(table.columns))
    return Mixture(counts / counts.sum(), columns)
