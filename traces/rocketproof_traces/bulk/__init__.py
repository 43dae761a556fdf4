"""Judge many histories, or a history of millions of events, with or without Spark.

Input: history files, recordings or Parquet. Output: verdicts in a folder. Read `local` first.

`ingest` reads sources once into pieces of histories (`cache`, Parquet). `partition` pairs the calls of one history as a stream and assigns
each call to a partition. `verdicts` judges one partition. All of them are plain functions over Arrow tables. `local` runs them in processes
of this machine, `spark/histories.py` runs them on Spark.
"""
