"""One experiment a file: `NAME`, `tasks(quick)` and `run(task)`."""
