"""What cannot be tested on Windows, and why: the tests are left out there, with these words, and nowhere else.

Each line is a file or a test of it. What they test is said to be different on Windows, or not to exist there, in
docs/platforms.md.
"""

from __future__ import annotations

FORKS = "Windows has no fork: processes are killed there by other means, and nothing is inherited"
MODES = "Windows has no mode bits: the folder's access list says who may read"
PIPES = "Windows has no named pipes in folders, and no limit on a file's size"
PROC = "reads /proc"
SIGNALS = "Windows sends no SIGINT to one process alone"
SOCKET = "the tests' server listens on a Unix socket and runs as another user"

NOT_ON_WINDOWS = {
    "test_faults.py": FORKS,
    "test_faults_files.py": FORKS,
    "test_ledger.py": FORKS,
    "test_checkpoint.py": FORKS,
    "test_files.py": PIPES,
    "paper/test_runner.py": FORKS,
    "privacy/test_noise.py::test_forked_processes_draw_different_noise": FORKS,
    "test_cli.py": MODES,
    "test_cli_errors.py": MODES,
    "test_secrecy.py": MODES,
    "test_shares.py": MODES,
    "test_people.py": MODES,
    "test_sources.py": SOCKET,
    "explore/test_server.py": SIGNALS,
    "cluster/test_spark.py": PROC,
}
