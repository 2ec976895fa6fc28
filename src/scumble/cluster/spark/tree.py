"""Partial sketches to one, by a tree of two steps: partitions → shares → one. The driver gets one sketch, never all.

A step is a shuffle: rows of the same class and piece (and share) come to one task, which adds them up as they stream
by. Its memory is what it has to give on, whatever the number of partitions. Where there are more pieces than cores, one
step does: the pieces alone keep all cores busy.

**Exactly once.** A task's rows reach the next step only as a shuffle output that Spark has accepted, one for each
partition, however many attempts there were: retried, speculative, or on an executor that was lost later. An attempt
counts its partition from the beginning, into counters of its own, and what it gives depends only on which rows are in
the partition, not on their order. Should a partition hold other rows when it is read again (a shuffle upstream without
a fixed order), Spark sees it: by the plan's own level of determinism, and by checksums of shuffles that do not
depend on order. It then runs all partitions again. What Spark could not see is refused beforehand: see
`engine.require_same_again`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scumble.cluster.spark.engine import map_batches
from scumble.cluster.spark.wire import PIECE, SCHEMA, merged

TASK_BYTES = 32 * 2**20
"""Counters that one merging task adds up."""
MOST_SHARES = 64


class Tree(NamedTuple):
    """How wide each step is."""

    shares: int
    """Shares that the partitions are dealt out to, by their number."""
    first: int
    """Tasks of the first step."""
    last: int
    """Tasks of the last step, which the driver reads."""

    @staticmethod
    def planned(classes: int, counters: int, cores: int) -> Tree:
        """The tree for so many classes of so many counters.

        >>> Tree.planned(1, 10_000, cores=1000)             # a small sketch on a large cluster
        Tree(shares=64, first=64, last=1)
        >>> Tree.planned(1000, 1_000_000, cores=100)        # eight gigabytes of counters
        Tree(shares=1, first=238, last=238)
        """
        pieces = classes * -(-counters // PIECE)
        wide = max(1, 8 * classes * counters // TASK_BYTES)
        shares = max(1, min(cores // pieces, MOST_SHARES))
        return Tree(shares, max(wide, min(cores, pieces * shares)), wide)

    def gather(self, partials: Any) -> Any:
        """The DataFrame of the partial sketches' rows to one with a row a piece."""
        if self.shares > 1:
            partials = map_batches(partials.repartition(self.first, "part", "piece", "share"), merged, SCHEMA)
        return map_batches(partials.repartition(self.last, "part", "piece"), merged, SCHEMA)
