"""Records that arrive in periods: a release after each, for one budget.

A sketch is linear, so a stream of T periods is, at every counter, a vector x of T whole numbers, and the running total
is A x with A a triangle of ones. What is published is C x and noise, where C is a triangle of whole numbers: row t can
be said when period t ends. A record of period j moves it by column j of C, and noise for the largest column hides that,
once and for all. The rest is arithmetic on published numbers: A C⁻¹ times them is the running total with a noise that
grows with a logarithm of T, not with its root. The proof: ``continual.proof.md``.

The secret side::

    stream.py     `Stream`: count, close a period, publish
    state.py      its secret file, for one process at a time
    spark.py      micro-batches of Spark, each counted once

What is published, and how to read it::

    method.py      what a method is: its column, its variances, its machine; every period by itself, or,
                   for pure ε, periods and blocks of them with noise that is drawn beforehand
    toeplitz.py    for δ > 0: a triangle of whole numbers with two decaying memories
    choosing.py    which method is the quietest, and what to expect of it
    published.py   what has been published so far: totals, windows, periods
"""
