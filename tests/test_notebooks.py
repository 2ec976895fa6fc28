"""The notebooks run from top to bottom, show what they promise, and are stored without output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))

# In a process of its own: a kernel's client has threads, sockets and warnings of its own.
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_output(path: Path) -> None:
    for cell in json.loads(path.read_text())["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path)}
    environment["JUPYTER_PLATFORM_DIRS"] = "1"
    executed = tmp_path / "executed.ipynb"
    command = [sys.executable, "-c", RUN, str(path), str(executed)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    outputs = [output for cell in json.loads(executed.read_text())["cells"] for output in cell.get("outputs", [])]
    shown = [output["data"] for output in outputs if "data" in output]
    assert any("image/png" in data for data in shown), "no picture"
    assert any("scumble-card" in "".join(data.get("text/html", "")) for data in shown), "no card"
    assert not any(output.get("name") == "stderr" for output in outputs), "a warning was shown"
