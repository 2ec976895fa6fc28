"""Sketches and releases of points: hashed rows and grids, the plan, the answers.

Hashed rows have R rows of W buckets. A grid is one row whose buckets are the cells over public bounds; a query reads
every counter, weighted by the kernel: f(q) = Σ over cells S[c] k(q, c).

Both ends: `sketch.py` (exact, secret) and `release.py` (noisy, public), with the public parameters in `spec.py`.
Several releases in a file are in `bundle.py`, one custodian's share is in `share.py`, and `loading.py` opens any file.

Counters and answers: `layout.py` says what a layout provides; `hashed_layout.py` and `grid_layout.py` are the two, the
latter with its cells in `grid_cells.py` and its queries in `field.py`. Questions are in `answers.py`, with Student's t
in `student.py`; `draws.py` makes synthetic records and `comparing.py` compares releases.

The plan: `expected_error.py` is the one formula, `release_plan.py` searches the candidates, `planned_release.py`
publishes what the noisy facts favor, and `plan.py` predicts that. `advice.py` names arguments that are probably
mistakes.
"""
