"""Classification: rivals, floors and ours, one per file.

Every `fit(X, y, epsilon, seed)` gets columns within [0, 1] and labels 0 and 1, and returns the function that predicts.
"""
