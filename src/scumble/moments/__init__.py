"""Moments: sums of products of columns, as whole numbers: what linear and additive models are learnt from.

A record adds bounded whole numbers to every row of counters, where other sketches add one to one counter. How large
they can be is exact (`moments.proof.md`), so the noise is what that size asks for, and no more.

The files::

    fixed.py        records as whole numbers, and vectors of at most a given length
    spec.py         what a kind of moments answers
    products.py     products of all columns with each other and with a target, or with classes; also of unit vectors
    hats.py         the same of hat functions: cross-tables with interpolation
    kinds.py        the list of kinds, and how a file names them
    engines.py      where sums are taken: processor or GPU
    sketch.py       the secret sums
    release.py      what is published
"""
