"""Run searches, audits and judging on Spark, and read stores as Spark tables.

Input: a model, stores or histories. Output: the same results as the local engines. `session` creates the Spark session, `spread`
distributes items, `search` distributes a search, `source` registers the tables. Only functions import pyspark, when they are called. Read
`spread` first.
"""
