"""The paper's experiments: ``python -m benchmarks.paper``, or ``make paper``.

Writes results.json, REPORT.md and the figures. May be stopped and started again at any time.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import page
from benchmarks.paper import report, results, runner, synthetic


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="EXPERIMENT", help="may be given several times")
    parser.add_argument("--without", action="append", default=[], metavar="EXPERIMENT", help="leave this one for later")
    parser.add_argument("--dataset", action="append", default=[], help="may be given several times")
    parser.add_argument("--method", action="append", default=[], help="may be given several times")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes, one core each (default: 2)")
    parser.add_argument("--again", action="store_true", help="forget the chosen rows first, and run them anew")
    parser.add_argument("--report", action="store_true", help="run nothing: write the report from what there is")
    parser.add_argument(
        "--quick", action="store_true", help="every method on small synthetic data, into a folder of its own"
    )
    parser.add_argument("--out", type=Path, default=runner.HERE, help="folder for the results (default: this one)")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    options = arguments(given)
    if not options.quick:
        run(options)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SCUMBLE_DATA"] = folder
        synthetic.write(Path(folder))
        if options.out == runner.HERE:
            options.out = Path(folder)
        run(options)
    return 0


def run(options: argparse.Namespace) -> None:
    names = [name for name in runner.modules() if not options.only or name in options.only]
    unknown = {*options.only, *options.without} - {*runner.modules()}
    if unknown:
        raise SystemExit(f"There is no experiment {', '.join(unknown)}. Hint: there are {', '.join(runner.modules())}.")
    names = [name for name in names if name not in options.without]
    chosen = runner.all_tasks(options.quick, names, options.dataset, options.method)
    journal = runner.Journal(options.out / runner.JOURNAL.name)
    if options.again:
        for task in chosen:
            if task.key in journal.rows:
                journal.write({"forget": task.key})
    if not options.report:
        runner.run(chosen, journal, options.jobs)
    path = options.out / results.PATH.name
    if options.report and not journal.rows:
        found = results.read(path)  # all that there is: the tables themselves are not needed
    else:
        found = results.write(path, journal, runner.all_tasks(options.quick))
    report.write(options.out, found)
    if options.out == runner.HERE:
        page.put("benchmarks.md", "make paper", report.in_short(found))
    print(f"{len(found['rows'])} rows in {results.PATH.name}, and the report in {report.NAME}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
