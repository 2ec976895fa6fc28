"""``make bench``: every part, in one run; results as JSON beside this file, a table and a plot in the docs."""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.speed import clock, counting, first, growth, path, rivals, scaling, start
from scumble.counting import early

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PARTS = ("start", "first", "rivals", "counting", "scaling", "growth", "path")
BEGIN, END = "<!-- begin: written by make bench -->", "<!-- end -->"
Found = dict[str, Any]
"""What was found, by part."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts; all by default")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written: does everything run?")
    parser.add_argument(
        "--write", action="store_true", help="measure nothing: the tables from the results that are there"
    )
    parser.add_argument("--beside", metavar="FOLDER", help="for `first`: the src/ of another version, asked the same")
    given = parser.parse_args()
    results = HERE / "results.json"
    everywhere: dict[str, Found] = json.loads(results.read_text()) if results.exists() else {}
    machine = clock.machine()
    found = everywhere.get(machine["architecture"], {})
    early.numpy_first.limits = early.exact_first.limits = (0, 0)  # `start` alone measures what comes before
    for part in () if given.write else given.parts or PARTS:
        print(f"\n== {part} ==\n", flush=True)
        for line in run(part, found, quick=given.quick, beside=given.beside):
            print(line, flush=True)
        found[part]["machine"] = machine
        if not given.quick:  # part by part: who is interrupted has what was done
            everywhere[machine["architecture"]] = found
            results.write_text(json.dumps(everywhere, indent=1) + "\n")
    if not given.quick:
        write_docs(everywhere)


def run(part: str, found: Found, *, quick: bool, beside: str | None = None) -> list[str]:
    """Measure one part into `found`; returns its table."""
    if part == "start":
        found[part] = {"found": start.measure(quick)}
        return start.table(found[part]["found"])
    if part == "first":
        found[part] = {"found": first.measure(quick, beside)}
        return first.table(found[part]["found"])
    if part == "rivals":
        found[part] = {"found": rivals.measure(quick)}
        return rivals.table(found[part]["found"])
    if part == "path":
        found[part] = {"found": path.measure(quick)}
        return path.table(found[part]["found"])
    if part == "growth":
        found[part] = {"found": {"records": growth.with_records(quick), "size": growth.with_size(quick)}}
        return growth.table(found[part]["found"]["records"])
    module = {"counting": counting, "scaling": scaling}[part]
    each: list[Found] = []
    found[part] = {"found": each}
    for line in module.lines(quick):
        each.append(line)
        print(module.table([line])[-1], flush=True)
    return ["", *module.table(each), "", *([summary(each)] if part == "counting" else [])]


def summary(lines: list[Found]) -> str:
    shares, strict = ([line[key] for line in lines] for key in ("fraction", "fraction_single"))
    return (
        f"Of the limit: {min(shares):.2f} at least, {statistics.median(shares):.2f} in the median; of that in single "
        f"precision {min(strict):.2f} and {statistics.median(strict):.2f}."
    )


def write_docs(everywhere: dict[str, Found]) -> None:
    """Put the tables of every architecture into docs/speed.md, between its marks, and the plots beside it."""
    page = DOCS / "speed.md"
    text = page.read_text()
    parts = [part for kind, found in sorted(everywhere.items()) for part in section(kind, found)]
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}")


TITLES = {
    "rivals": "Beside the alternatives",
    "start": "What people wait for",
    "first": "First answers",
    "counting": "Beside the machine's limit",
    "scaling": "What threads are worth",
    "growth": "How cost grows",
    "path": "From Parquet to a release",
}


def section(kind: str, found: Found) -> list[str]:
    """One architecture's tables. Parts may come from different machines and days; each says how many cores it had."""
    out = [f"## On {kind}"]
    for part, title in TITLES.items():
        if part not in found:
            continue
        what, cores = found[part]["found"], found[part]["machine"]["threads"]
        out += [f"### {title}, {kind}", f"Measured in one run, with {cores} cores."]
        if part == "counting":
            out.append(summary(what))
        if part == "growth":
            name = f"speed-{kind}.svg"
            growth.plot(what["records"], what["size"], DOCS / name)
            out.append(f"![cost against records, rows, columns and power]({name})")
            what = what["records"]
        module = {
            "rivals": rivals,
            "start": start,
            "first": first,
            "counting": counting,
            "scaling": scaling,
            "growth": growth,
        }
        out.append("\n".join(module.get(part, path).table(what)))  # type: ignore[attr-defined]
    return out


if __name__ == "__main__":
    main()
