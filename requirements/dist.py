"""Build a source archive and a wheel, the same bytes wherever the same commit is built, and write their checksums.

    make dist

They hold what is committed, nothing else. Times in them are the commit's; the tools are those of the lock.
`sha256sum --check SHA256SUMS` in the folder verifies what was downloaded.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def checksums(folder: Path) -> str:
    """A line for each file, in the form of `sha256sum`."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def main(out: str) -> None:
    folder = Path(out).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("scumble-*.tar.gz"), *folder.glob("scumble-*.whl")]:
        old.unlink()
    git = ["git", "-C", str(ROOT), "-c", "core.autocrlf=false"]
    commit = subprocess.run([*git, "log", "-1", "--format=%ct"], check=True, capture_output=True, text=True).stdout
    files = subprocess.run([*git, "archive", "HEAD"], check=True, capture_output=True).stdout
    # From the commit, not from the folder: whatever else lies there, a table perhaps, must not be published.
    with tempfile.TemporaryDirectory() as clean:
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            archive.extractall(clean, filter="data")
        build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
        subprocess.run(build, cwd=clean, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": commit.strip()})
    said = checksums(folder)
    (folder / "SHA256SUMS").write_bytes(said.encode())
    print(said, end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
