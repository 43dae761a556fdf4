"""Judging histories without end: many files, or one of millions of events, with and without Spark.

The data's way: `ingest` reads what somebody recorded into pieces of histories (`cache`, Parquet), once; `partition` pairs the calls of one
history as they stream by and gives each to its part; `verdicts` judges one part. Each is a plain function over Arrow tables; `local` runs
them in processes of this machine, `spark/histories.py` runs the same ones on Spark.
"""
