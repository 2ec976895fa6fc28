"""Linear regression: rivals, floors and ours, one per file.

Every `fit(X, y, epsilon, delta, rng)` gets records with |x| ≤ 1 and |y| ≤ 1 (the constant is one of the columns) and
returns the coefficients. Ours, which scale by bounds themselves, are in `race` and `scumble`.
"""
