"""A PostgreSQL server of the tests' own: a folder, a socket, no network; started and stopped by them."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def binaries() -> str | None:
    """Where the server's programs are. Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    if found:
        return os.path.dirname(os.path.realpath(found))
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))
    return places[-1] if places and os.path.exists(os.path.join(places[-1], "initdb")) else None


class Server:
    """A server on a Unix socket in a temporary folder. As root it runs as `postgres`: it refuses to be root."""

    def __init__(self, programs: str) -> None:
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="scumble-pg-"))
        self._before: list[str] = []
        if os.geteuid() == 0:
            import pwd  # not on Windows, where nothing of this runs

            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._before = ["runuser", "-u", "postgres", "--"]
        self._run("initdb", "-D", f"{self.folder}/data", "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        self._log = open(self.folder / "log", "wb")  # noqa: SIM115  closed in `stop`
        options = ["-D", f"{self.folder}/data", "-k", str(self.folder), "-c", "listen_addresses=", "-F"]
        self._process = subprocess.Popen(
            [*self._before, f"{programs}/postgres", *options], cwd=self.folder, stdout=self._log, stderr=self._log
        )
        self._wait()

    def uri(self, database: str = "postgres") -> str:
        return f"postgresql:///{database}?host={self.folder}&user=tester"

    def sql(self, script: str, data: bytes = b"") -> None:
        command = [
            "psql",
            "-v",
            "ON_ERROR_STOP=1",
            "-q",
            "-h",
            str(self.folder),
            "-U",
            "tester",
            "postgres",
            "-c",
            script,
        ]
        subprocess.run(command, input=data, check=True, capture_output=True)

    def stop(self) -> None:
        # The immediate way, through pg_ctl: it reads the server's own process id from its folder.
        self._run("pg_ctl", "stop", "-D", f"{self.folder}/data", "-m", "immediate")
        self._process.wait(timeout=30)
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._before, f"{self._programs}/{program}", *arguments]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def _wait(self) -> None:
        for _ in range(300):
            ready = ["pg_isready", "-q", "-h", str(self.folder)]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())
