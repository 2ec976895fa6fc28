"""The prior over tables, and how finely its posterior is computed: every constant of table answers.

A release holds noisy counts. Together with this prior they define a posterior distribution over tables
(`table.posterior`). The prior is deliberately vague: where the counts say much it hardly matters, and where they say
little an interval should be wide. Each constant was set on Adult, thirteen public tables and three synthetic ones, by
the 95 % interval score of random questions; `benchmarks.tables.coverage` reports it on tables that took no part in it.
"""

DEPENDENCE = 1.0
"""φ: prior standard deviation of the correlation between two conditions on two columns, whatever their size. One is
vague: any dependence is possible. Halving or doubling it moves the score by 3 %."""

EMPTY = 0.2
"""Probability that one half of a column's levels holds all its records, at each split of the column's tree."""

COMPONENTS, FEWEST = 3, 40
"""Products in each mixture: three for each direction in which the counts differ from independent columns by more than
noise, and no fewer than forty, which leave room for the prior. Products cannot be negative, so a direction takes more
than one of them."""

DRAWS = (16, 32)
"""Tables drawn from the posterior: the fewest and the most; even, as they come in antithetic pairs. The relative error
of an interval's width is 1/√(2·draws)."""

STEPS, RATE = (100, 5, 600), 0.2
"""The fewest steps of a fit among coarse levels; how many more for each multiple of the noise by which the clearest
direction stands out; and the most. And how far a logarithm moves in the first of them. Half as many steps follow among
all levels, a quarter as far."""

START = 1.0
"""Standard deviation of the logarithms that a fit starts from: where no count decides, a draw stays near its start."""

COARSE, WEIGHT = 4, 3.0
"""How many neighboring levels make one coarse cell of a fit, and the weight of coarse cells relative to fine ones.
Counts cannot be negative, so noise in empty cells only adds; coarse sums show it, and take it back."""

LINES = 30.0
"""The weight of correlations, of values and of ranks, relative to the cells that they sum up. Cells that cannot be
negative pull them toward zero, and a fit gives way by one part in so many."""
