"""Sketches and releases of points: hashed rows and grids, the plan, the answers.

Hashed rows have R rows of W buckets. A grid is one row whose buckets are the cells over public bounds; a query reads
every counter, weighted by the kernel: f(q) = Σ over cells S[c] k(q, c).

Sketches and releases::

    sketch.py            `Sketch`: exact counters, secret
    spec.py              its public parameters, and its layout of counters
    release.py           `Release`: noisy counters, public; merging releases
    bundle.py            a release per class, in one file
    share.py             one custodian's share of a release, and how shares are combined
    loading.py           opens any file by its kind

From counters to answers::

    layout.py            what every layout and its reader provide
    hashed_layout.py     the layout of hashed rows
    grid_layout.py       the layout of a grid
    grid_cells.py        its cells, and the kernel as a function of x − y
    field.py             queries of a grid: every counter, weighted by the kernel
    student.py           quantiles of Student's t
    answers.py           kernel sums, densities and intervals of sketches and releases
    draws.py             synthetic records
    comparing.py         differences of two releases, with exact tails and corrected p-values

The plan::

    expected_error.py    the one formula for the expected error of grids and of rows
    release_plan.py      the candidates, what noisy facts say about a table, and the search for the best candidate
    planned_release.py   releases whose size is chosen after counting, by these facts
    plan.py              `plan`: what a build will do; what a sketch counts where its size is left open
"""
