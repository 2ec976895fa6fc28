"""Views of a table after the noise: what is measured, the model that agrees with all of it, answers with errors.

Everything here is post-processing: functions of numbers that are public already. No noise is drawn and no record seen.

The files::

    budgeting.py    how the budget goes to views, and how fine they are
    grouping.py     fine cells put together, by noisy single columns
    evidence.py     the measured views, and the shapes within groups
    coarsening.py   fewer runs of numbers, for fits
    mixture.py      the model: a mixture of products, with answers in closed form
    fitting.py      the mixture that agrees with all views
    targets.py      what it is to meet, as matrices
    descent.py      its loop: χ², slope, steps
    halving.py      the shares of a line's cells, most of which may be empty
    raking.py       a mixture brought to shares that are known
    estimates.py    a view's own cells and the model's answer, together
    columnsums.py   sums of a column by its views alone: an exact law
    interaction.py  sums over a pair's cells by views alone: an exact law
    rehearsal.py    how far answers are off, in worlds like this one
    records.py      synthetic records that are asked again and again
    smoothing.py    squared errors of a few rehearsals, and laws that smooth them
    misfit.py       how far the model is off in the cells of a measured pair
    unseen.py       what no view shows of pairs
    alike.py        columns and words that may be one thing, given twice
    ties.py         words that have most of their records in one place
    pools.py        what pools of words hide, beside another column
    allowed.py      between what a count lies in any table with the same views
    intervals.py    answers with intervals
    agreement.py    how far tables of the model are from measured and true ones
    drawing.py      chance for synthetic rows
"""
