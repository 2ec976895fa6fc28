"""Where each number comes from: methods, data, runs."""

from __future__ import annotations

from typing import Any

from benchmarks.paper import data
from benchmarks.paper.report.density import lecture
from benchmarks.paper.report.markdown import table
from benchmarks.paper.report.methods import METHODS, guarantee


def text(results: dict[str, Any]) -> str:
    used = dict.fromkeys(row["method"] for row in results["rows"] if row["method"] in METHODS)
    methods = [[name, guarantee(name), METHODS[name].reference] for name in used]
    sets = [[name, f"`{checksum[:16]}…`"] for name, checksum in results["data"].items()]
    return "\n".join(
        [
            "## Methods\n",
            table(["method", "guarantee", "reference"], methods, text=3),
            "## Data\n",
            lecture(data),
            table(["set", "SHA-256 of its numbers"], sets, text=2) if sets else "",
            "## Runs\n",
            "Each row of results.json names its run.\n",
            table(["run", "commit", "machine", "software", "rows", "processor time"], _runs(results), text=4),
        ]
    )


def _runs(results: dict[str, Any]) -> list[list[str]]:
    lines = []
    for name, facts in results["runs"].items():
        mine = [row for row in results["rows"] if row["run"] == name]
        commit = facts["commit"] + (", with changes" if facts["changed"] else "")
        machine = f"{facts['system']}, {facts['architecture']}, {facts['cores']} cores"
        software = f"Python {facts['python']}, " + ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
        minutes = sum(row["cpu"] for row in mine) / 60.0
        lines.append([name, commit, machine, software, str(len(mine)), f"{minutes:.0f} min"])
    return lines
