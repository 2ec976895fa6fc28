"""Write the lock files: for every group of `pyproject.toml` named below, all that it needs, exact, with hashes.

    make lock

One resolution serves all files, all platforms and every Python that is tested, so that a package has one version per
Python wherever it appears. Every run takes the newest versions that `pyproject.toml` allows. The files name no index:
they hold on any mirror, and hashes say whether a mirror is honest.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
GROUPS = ("installer", "build", "demo", "test", "tools", "flower")
PYTHONS = ">=3.11,<3.15"
"""What the lock covers. The package itself has no upper bound: what holds it back are its dependencies' own bounds."""
HEAD = "# Made by `make lock` from the group `{group}` in pyproject.toml, for Python {pythons}. Not to be edited.\n"


def static(project: str) -> str:
    """`pyproject.toml` with the version filled in, so that nothing has to be built, and the Pythons narrowed."""
    for old, new in (
        ('dynamic = ["version"]', 'version = "0"'),
        ('requires-python = ">=3.11"', f'requires-python = "{PYTHONS}"'),
    ):
        if project.count(old) != 1:
            raise SystemExit(f"pyproject.toml must hold {old!r} once. Hint: bring requirements/lock.py into line.")
        project = project.replace(old, new)
    return project


def main() -> None:
    uv = shutil.which("uv", path=sysconfig.get_path("scripts")) or "uv"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text(
            static((HERE.parent / "pyproject.toml").read_text("utf-8")), "utf-8"
        )
        ours = [uv, "--quiet", "--no-config", "--directory", folder]
        subprocess.run([*ours, "lock", "--python", sys.executable], check=True)
        for group in GROUPS:
            export = [*ours, "export", "--frozen", "--only-group", group, "--no-emit-project"]
            done = subprocess.run([*export, "--no-header", "--no-annotate"], check=True, stdout=subprocess.PIPE)
            head = HEAD.format(group=group, pythons=PYTHONS).encode()
            (HERE / f"{group}.txt").write_bytes(head + done.stdout.replace(b"\r\n", b"\n"))


if __name__ == "__main__":
    main()
