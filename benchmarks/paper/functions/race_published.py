"""Private RACE with the noise of the published code, Laplace of scale R/(N ε): N times too little.

Not ε-private, but N ε-private. It is here to show where the paper's curves come from, not to compete; so it has the
thousand rows of the paper, and no search for better.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.paper.functions.method import Setting
from benchmarks.paper.functions.race_paper import RacePaper


@dataclass(frozen=True)
class RacePublished(RacePaper):
    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        return ((("rows", 1024),),)

    def scale(self, rows: int, n: int, epsilon: float) -> float:
        return rows / (n * epsilon)


METHOD = RacePublished("Private RACE, as published", "Coleman & Shrivastava 2020, code", "not as claimed")
