"""What cannot be tested on Windows, and why: left out there, with these words in the report, and nowhere else.

Each line is a file of tests, or one test. What they hold scumble to elsewhere is not there on Windows, or is different;
docs/platforms.md says how.
"""

from __future__ import annotations

FORKS = "Windows has no fork, and no signal that kills"
MODES = "Windows has no mode bits: the folder's access list says who may read"
PIPES = "Windows has no named pipes in folders"
INTERRUPTS = "Windows interrupts whole groups of processes, not one"
SCRIPTS = "Windows runs no scripts as programs"
TERMINALS = "Windows has no terminals that a program can hold the other end of"
SERVER = "the tests' PostgreSQL listens on a Unix socket"

NOT_ON_WINDOWS = {
    "test_faults.py": FORKS,
    "test_ledger.py": FORKS,
    "test_checkpoint.py": FORKS,
    "privacy/test_noise.py::test_forked_processes_draw_different_noise": FORKS,
    "test_secrecy.py::test_secret_files_are_for_the_owner_only": MODES,
    "test_shares.py::test_a_share_is_kept_like_a_secret": MODES,
    "test_people.py::test_a_resumed_build_remembers_whom_it_has_counted": MODES,
    "test_cli.py::test_stages_on_several_machines_equal_one_build": MODES,
    "test_cli_errors.py::test_no_read_permission": MODES,
    "test_files.py::test_modes": MODES,
    "test_files.py::test_a_secret_that_others_may_read_is_read_with_a_warning": MODES,
    "test_files.py::test_what_is_no_file_is_neither_written_nor_read": PIPES,
    "test_hostile_words.py::test_csv_is_exact_for_a_program_and_text_for_a_person": TERMINALS,
    "test_sources.py::test_postgresql": SERVER,
    "show/test_server.py::test_the_verb_opens_a_browser": INTERRUPTS,
    "sources/test_spark.py": FORKS,
    "test_installer.py::test_uv_hears_what_pip_was_told_and_nothing_else": SCRIPTS,
    "test_installer.py::test_where_uv_fails_pip_says_why_and_does_it": SCRIPTS,
    "test_installer.py::test_what_is_at_work_is_left_alone_and_ends_when_told_to": SCRIPTS,
}


def reason(nodeid: str, entries: dict[str, str] = NOT_ON_WINDOWS) -> str | None:
    """Why a test is left out on Windows, if it is. Of a test with parameters, all go."""
    file, _, test = nodeid.removeprefix("tests/").partition("::")
    return entries.get(file) or entries.get(f"{file}::{test.partition('[')[0]}")
