"""Imported once by the process that test builds are forked from, so each of them starts in milliseconds."""

import numpy as np

import scumble
import scumble.sources.database
import scumble.sources.opening

scumble.Sketch(scumble.EuclideanKernel(1.0, 2), 2, rows=16, buckets=64, design="iid", threads=1).update(np.ones((3, 2)))
