"""Public names for clusters: ``scumble.cluster.spark`` builds on Apache Spark.

``spark.py`` hands on what is in ``sources/spark/`` and ``streams/spark.py``.
"""

from scumble.cluster import spark

__all__ = ["spark"]
