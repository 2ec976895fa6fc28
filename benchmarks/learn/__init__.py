"""What the estimators promise, measured: ``python -m benchmarks.learn.modes`` and so on."""
