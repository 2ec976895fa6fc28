"""``make bench``: every part, in one run; results as JSON beside this file, a table and a plot in the docs."""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.speed import clock, counting, growth, path, rivals, scaling, start

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PARTS = ("start", "rivals", "counting", "scaling", "growth", "path")
BEGIN, END = "<!-- begin: written by make bench -->", "<!-- end -->"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts; all by default")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written: does everything run?")
    given = parser.parse_args()
    wanted = given.parts or PARTS
    results = HERE / "results.json"
    found: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    found = found if given.parts else {"scaling": found.get("scaling", {})}
    found["machine"] = clock.machine()
    for part in wanted:
        print(f"\n== {part} ==\n", flush=True)
        for line in run(part, found, quick=given.quick):
            print(line, flush=True)
    if not given.quick:
        results.write_text(json.dumps(found, indent=1) + "\n")
        write_docs(found)


def run(part: str, found: dict[str, Any], *, quick: bool) -> list[str]:
    """Measure one part into `found`; returns its table."""
    if part == "start":
        found[part] = start.measure(quick)
        return start.table(found[part])
    if part == "rivals":
        found[part] = rivals.measure(quick)
        return rivals.table(found[part])
    if part == "path":
        found[part] = path.measure(quick)
        return path.table(found[part])
    if part == "scaling":  # other architectures' lines stay
        found[part] = found.get(part, {}) | scaling.measure(quick)
        return scaling.table(found[part])
    if part == "growth":
        found[part] = {"records": growth.with_records(quick), "size": growth.with_size(quick)}
        return growth.table(found[part]["records"])
    found[part] = []
    for line in counting.lines(quick):
        found[part].append(line)
        print(counting.table([line])[-1], flush=True)
    return ["", *counting.table(found[part]), "", summary(found[part])]


def summary(lines: list[dict[str, Any]]) -> str:
    shares, strict = ([line[key] for line in lines] for key in ("fraction", "fraction_single"))
    return (
        f"Of the limit: {min(shares):.2f} at least, {statistics.median(shares):.2f} in the median; of that in single "
        f"precision {min(strict):.2f} and {statistics.median(strict):.2f}."
    )


def write_docs(found: dict[str, Any]) -> None:
    """Put the tables into docs/speed.md, between its marks, and the plot beside it."""
    page = DOCS / "speed.md"
    text = page.read_text()
    machine = found["machine"]
    threads, kind = machine["threads"], machine["architecture"]
    parts = [f"Measured on {threads} threads of an {kind} processor, each part in one run."]
    if "rivals" in found:
        parts += ["### Beside the alternatives", "\n".join(rivals.table(found["rivals"]))]
    if "start" in found:
        parts += ["### What people wait for", "\n".join(start.table(found["start"]))]
    if "counting" in found:
        parts += ["### Beside the machine's limit", summary(found["counting"])]
        parts += ["\n".join(counting.table(found["counting"]))]
    if "scaling" in found:
        parts += ["### What threads are worth", "\n".join(scaling.table(found["scaling"]))]
    if "growth" in found:
        growth.plot(found["growth"]["records"], found["growth"]["size"], DOCS / "speed.svg")
        parts += ["### How cost grows", "![cost against records, rows, columns and power](speed.svg)"]
        parts += ["\n".join(growth.table(found["growth"]["records"]))]
    if "path" in found:
        parts += ["### From Parquet to a release", *path.table(found["path"])]
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}")


if __name__ == "__main__":
    main()
