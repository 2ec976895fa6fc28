"""Sketches of Spark DataFrames of any source and any size::

    from scumble.cluster import spark

    spark.sketch(df, kernel, columns=["age", "income"])                   a secret Sketch, like any other
    spark.build(df, kernel, columns=["age", "income"], epsilon=1.0)       a Release
    spark.build_by(df, "town", kernel, classes=[...], epsilon=1.0)        a Bundle, one release per key
    spark.register(session, kernel, columns=["age", "income"])            scumble_sketch and scumble_merge in SQL
    spark.Stream(kernel, columns=["age"], checkpoint="state.secret")      for foreachBatch
    spark.into(stream)                                                    the same, for a scumble.Stream
    spark.session("local[4]")                                             a session, where there is none yet

Each partition is counted where it is, with the same engine as on one machine (``task.py``). The partial sketches travel
in pieces (``wire.py``) through Spark's own shuffle and are added up by a tree (``tree.py``); the driver gets one
sketch, and noise is drawn there, once. ``engine.py`` alone imports PySpark.

``building.py`` has `sketch`, `build` and `build_by`, and ``counting.py`` the driver's side of their pass; ``sql.py``
has the functions for SQL, ``streaming.py`` the `Stream` and `into`, ``reading.py`` what the command line reads,
``progress.py`` how far a job is.
"""

from scumble.cluster.spark.building import build, build_by, sketch
from scumble.cluster.spark.engine import session
from scumble.cluster.spark.progress import Partitions
from scumble.cluster.spark.sql import register, sketch_from
from scumble.cluster.spark.streaming import Stream, into

__all__ = ["Partitions", "Stream", "build", "build_by", "into", "register", "session", "sketch", "sketch_from"]
