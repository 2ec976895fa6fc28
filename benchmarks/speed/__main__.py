"""``make bench``: measures every part, keeps the results as JSON next to this file, and writes docs/speed.md."""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks import page
from benchmarks.speed import clock, counting, growth, path, rivals, scaling, start
from scumble.counting import cpu

HERE = Path(__file__).parent
PARTS = ("start", "rivals", "counting", "scaling", "growth", "path")
Found = dict[str, Any]
"""What was found, by part."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts; all by default")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written: does everything run?")
    parser.add_argument(
        "--write", action="store_true", help="measure nothing: the tables from the results that are there"
    )
    given = parser.parse_args()
    results = HERE / "results.json"
    everywhere: dict[str, Found] = json.loads(results.read_text()) if results.exists() else {}
    machine = clock.machine()
    found = everywhere.get(machine["architecture"], {})
    cpu.numpy_first.limits = cpu.exact_first.limits = (0, 0)  # `start` alone measures what comes before
    for part in () if given.write else given.parts or PARTS:
        print(f"\n== {part} ==\n", flush=True)
        for line in run(part, found, quick=given.quick):
            print(line, flush=True)
        found[part]["machine"] = machine
        if not given.quick:  # part by part: who is interrupted has what was done
            everywhere[machine["architecture"]] = found
            results.write_text(json.dumps(everywhere, indent=1) + "\n")
    if not given.quick:
        write_docs(everywhere)


def run(part: str, found: Found, *, quick: bool) -> list[str]:
    """Measure one part into `found`; returns its table."""
    if part == "start":
        found[part] = {"found": start.measure(quick)}
        return start.table({"here": found[part]["found"]})
    if part == "rivals":
        found[part] = {"found": rivals.measure(quick)}
        return rivals.table({"here": found[part]["found"]})
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
        f"{statistics.median(shares):.2f} times the limit at the median of {len(lines)} shapes, {min(shares):.2f} at "
        f"least; with the product in single precision {statistics.median(strict):.2f} and {min(strict):.2f}"
    )


def write_docs(everywhere: dict[str, Found]) -> None:
    """Put the tables of every architecture into docs/speed.md, and the plots next to it."""
    page.put("speed.md", "make bench", "\n\n".join(sections(everywhere)))


def sections(everywhere: dict[str, Found]) -> list[str]:
    """One section per question, with a column for every architecture that was measured."""
    out = ["## How long you wait", "First results are wall-clock times of fresh processes; tables share one process."]
    out += ["\n".join(start.table(_by_machine(everywhere, "start")))]
    out += ["## Compared with alternatives", "Preparing and querying the density of the paper's skin table."]
    out += ["\n".join(rivals.table(_by_machine(everywhere, "rivals")))]
    out += ["## Compared with the machine's limit", "Speed of counting, relative to the bare product and increments."]
    out += ["\n".join(f"- {name}: {summary(found)}." for name, found in _by_machine(everywhere, "counting").items())]
    out += ["## What threads gain", "Time with all cores, and in brackets how many times as fast as one thread."]
    out += ["\n".join(scaling.summary(_by_machine(everywhere, "scaling")))]
    out += ["## How cost grows", "The dashed line is proportional growth."]
    for kind, parts in sorted(everywhere.items()):
        if "growth" in parts:
            name = f"speed-{kind}.svg"
            growth.plot(parts["growth"]["found"]["records"], parts["growth"]["found"]["size"], page.DOCS / name)
            out.append(f"![Cost against records, rows, columns and power on {kind}]({name})")
    out += ["## From Parquet to a release"]
    out += ["\n".join(f"- {name}: {path.table(found)[0]}" for name, found in _by_machine(everywhere, "path").items())]
    return out


def _by_machine(everywhere: dict[str, Found], part: str) -> dict[str, Any]:
    """What one part found, by architecture and number of cores."""
    return {
        f"{kind}, {parts[part]['machine']['threads']} cores": parts[part]["found"]
        for kind, parts in sorted(everywhere.items())
        if part in parts
    }


if __name__ == "__main__":
    main()
