"""Beyond one machine: sketches are built where the table lies. ``scumble.cluster.spark`` builds on Apache Spark."""

from scumble.cluster import spark

__all__ = ["spark"]
