"""From counters to answers: how records become counters (a layout), and what a question reads off them.

The files::

    layout.py       what every layout answers, and what its reader does
    hashed.py       the layout of hashed rows: R rows of W buckets
    grid.py         the layout of a grid: one row of cells
    answers.py      the questions that a sketch and a release share: kernel sums, densities, intervals
    shrinking.py    answers that noise has drowned, drawn towards their mean
    student.py      how far Student's t reaches: for intervals
    moments.py      from sums over rows to an estimate and its spread
    spread.py       the error to expect of hashed rows, before any data is seen
    likeness.py     the kernel between plain arrays, and how far it reaches
    masses.py       the cells of a grid as masses, and records drawn from them
    particles.py    records drawn from hashed rows
    slabs.py        the heaviest place near a point, in hashed rows
"""
