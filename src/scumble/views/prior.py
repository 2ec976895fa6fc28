"""The prior over tables, and how finely its posterior is computed: every constant of table answers.

A release holds noisy counts. Together with this prior they define a posterior distribution over tables
(`views.posterior`). The prior is deliberately vague: where the counts say much it hardly matters, and where they say
little an interval should be wide. Each constant was set on Adult, thirteen public tables and three synthetic ones, by
the 95 % interval score of random questions; `benchmarks.tables.coverage` reports it on tables that took no part in it.
"""

DEPENDENCE = 1.0
"""φ: prior standard deviation of the correlation between two conditions on two columns, whatever their size. One is
vague: any dependence is possible. Halving or doubling it moves the score by 3 %."""

EMPTY = 0.1
"""Probability that one half of a column's levels holds no record at all, at each split of the column's tree."""

EVEN = 1.0
"""Concentration of the Beta law by which two halves of a column's levels share their records: 1 is uniform for equal
halves, so nothing is assumed. Doubling it, which favors even shares, moves the score by 1 %."""

COMPONENTS = 80
"""Products in each mixture, or as many as there are groups if those are fewer. Twice as many move the score by 1 %."""

DRAWS = 32
"""Tables drawn from the posterior; even, as they come in antithetic pairs. The relative error of an interval's width is
1/√(2·DRAWS)."""

STEPS, RATE = 150, 0.2
"""Steps of each fit, and how far a logarithm moves in the first of them."""

START = 1.0
"""Standard deviation of the logarithms that a fit starts from: where no count decides, a draw stays near its start."""

COARSE, WEIGHT = 4, 3.0
"""How many neighbouring levels make one coarse level of a fit, and how much coarse cells count beside fine ones. Counts
cannot be negative, so noise in empty cells only adds; coarse sums show it, and take it back."""
