"""Spark's part of this room. Only its modules import pyspark, and only where they are called."""
