"""Views of a table after the noise: what is measured, the model that agrees with all of it, answers with errors.

Everything here is post-processing: functions of numbers that are public already. No noise is drawn and no record seen.

The files::

    budgeting.py    how the budget goes to views, and how fine they are
    grouping.py     fine cells put together, by noisy single columns
    evidence.py     the measured views, and the shapes within groups
    mixture.py      a mixture of products, with answers in closed form
    prior.py        the prior over tables: every constant of answers
    fitting.py      the mixture that agrees with noisy views and prior
    margins.py      draws of a single column
    posterior.py    draws of whole tables
    drawing.py      chance for synthetic rows
"""
