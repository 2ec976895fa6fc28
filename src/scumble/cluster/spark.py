"""Sketches, releases and streams of Spark DataFrames: :mod:`scumble.sources.spark`."""

from scumble.sources.spark import Partitions, build, build_by, register, session, sketch, sketch_from
from scumble.streams.spark import into

__all__ = ["Partitions", "build", "build_by", "into", "register", "session", "sketch", "sketch_from"]
