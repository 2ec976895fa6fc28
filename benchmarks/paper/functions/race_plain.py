"""RACE without noise (Coleman & Shrivastava 2020): what hashing alone costs. Not private."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.paper.functions.method import Setting
from benchmarks.paper.functions.race_paper import RacePaper


@dataclass(frozen=True)
class RacePlain(RacePaper):
    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        return ((("rows", 1024),),)

    def scale(self, rows: int, n: int, epsilon: float) -> float:
        return 0.0


METHOD = RacePlain("RACE without noise", "Coleman & Shrivastava 2020", "none")
