"""An environment is whole, or it is marked: what an interruption has left half-made is made anew the next time.

A package that is half there looks installed, to pip as to uv, and nothing would ever mend it. So a file in the
environment's folder says from the first step to the last that somebody is at work. Who is at work also holds a lock on
that file, and so do the processes started meanwhile: where the file is there and nobody holds it, they were killed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where two at once look like one that was killed
    fcntl = None  # type: ignore[assignment]

MARK = ".installing"  # the Makefile looks for it as well
OURS = (MARK, "pyvenv.cfg")


@contextmanager
def whole(folder: Path) -> Iterator[None]:
    """Within, packages come into an environment: all of them, or the folder is emptied before the next attempt."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not any((folder / name).exists() for name in OURS):
        raise SystemExit(f"{folder} must be an environment, or empty. Hint: name another folder.")
    done = False
    try:
        with (folder / MARK).open("a+", encoding="utf-8") as mark:
            hold(mark.fileno(), folder)
            mark.seek(0)
            if mark.read():
                print(f"What was begun in {folder} did not end: it is made anew.", flush=True)
                empty(folder)
                mark.truncate(0)
            mark.write("Packages are being installed here, or were when somebody interrupted it.\n")
            mark.flush()
            before = packages(folder)
            try:
                yield
                done = True
            except SystemExit:  # it failed, but of itself; an index may have been out of reach
                done = packages(folder) == before
                raise
            finally:
                if done:
                    mark.truncate(0)
    finally:
        if done:
            (folder / MARK).unlink()


def hold(file: int, folder: Path) -> None:
    """Lock the mark, for this process and for those it starts; end if others have it."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(f"Packages are being installed into {folder}. Hint: wait for it to end.") from None
    os.set_inheritable(file, True)


def empty(folder: Path) -> None:
    """Remove all but the mark."""
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        elif each.name != MARK:
            each.unlink()


def packages(folder: Path) -> dict[Path, int]:
    """The folders of packages, and when something came into each or left it."""
    found = [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")]
    return {each: each.stat().st_mtime_ns for each in found}
