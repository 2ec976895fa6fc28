"""Records that arrive in periods: a release after each, for one budget.

A sketch is linear, so a stream of T periods is, at every counter, a vector x of T whole numbers, and the running total
is A x with A a triangle of ones. What is published is C x and noise, where C is a triangle of whole numbers: row t can
be said when period t ends. A record of period j moves it by column j of C, and noise for the largest column hides that,
once and for all. The rest is arithmetic on published numbers: A C⁻¹ times them is the running total with a noise that
grows with a logarithm of T, not with its root. The proof: ``continual.proof.md``.

Secret: `stream.py` counts, publishes and keeps its file, `spark.py` feeds it micro-batches. Public: `method.py`
says what a method is and has two of them, `toeplitz.py` the one for δ > 0, `choosing.py` which is the quietest;
`published.py` holds what has been published so far.
"""
