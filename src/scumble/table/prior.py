"""The prior over tables, and how its posterior and its budget are computed: every constant that steers table releases.

A release holds noisy counts. Together with this prior they define a posterior distribution over tables
(`table.posterior`). The prior is deliberately vague: where the counts say much it hardly matters, and where they say
little an interval should be wide. Each constant was set on Adult, thirteen public tables and three synthetic ones, by
the 95 % interval score of random questions; `benchmarks.tables.coverage` reports it on tables that took no part in it.
"""

from fractions import Fraction

DEPENDENCE = 1.0
"""φ: prior standard deviation of the correlation between two conditions on two columns, whatever their size. One is
vague: any dependence is possible. Views say nothing of halves of a group, so there it is all that is known."""

UNEVEN = 0.2
"""Probability that halves of a column's levels differ by orders of magnitude, at each split of the column's tree
(`margins.BANDS`); and that values lie at one end of their cells."""

DRAWS = 20
"""Tables drawn from the posterior; even, as they come in antithetic pairs. The relative error of an interval's width is
1/√(2·draws) = 16 %. No more pairs are chosen, one after the other, as each takes a fit, too."""

STEPS, RATE = 600, 0.2
"""The most steps of a fit, and how far a logarithm moves in the first of them: further steps move no answer by a tenth
of its standard error."""

LEVELS = 16
"""Levels of an axis that are worth distinguishing: neighbors resemble each other, and what lies within a run of them is
known from the single column. Coarse cells of a fit have √LEVELS a side."""

SINGLES = {"all pairs": 0.15, "adaptive": 0.5}
"""The share of single columns: small where their pairs' margins inform about each of them, half where few pairs do."""

CHOOSING = Fraction(1, 10)
"""The part of a chosen set's share that pays for the choice (AIM: McKenna, Mullins, Sheldon & Miklau 2022)."""

FAVORED = Fraction(1, 4)
"""The share of what the curator has named, above what it would have otherwise."""

EXTRA = Fraction(1, 32)
"""The share of what is counted beyond columns and pairs: triples that are chosen; positions within cells, in relation
to the cells; twice as much for each count of distinct values. Other noise is larger by 2 %, or 3 % (Laplace)."""
