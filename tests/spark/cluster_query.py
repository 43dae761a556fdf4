"""Reads a store on a cluster, slowly: MASTER STORE MARKS. Each task leaves a file in MARKS, named after its executor, when it begins.

Prints count and sum as JSON.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator

import pyarrow as pa

from rocketproof_traces.spark.session import session


def slowly(marks: str):  # type: ignore[no-untyped-def]
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        os.close(tempfile.mkstemp(dir=marks, prefix=f"{os.getppid()}-")[0])
        time.sleep(0.5)
        yield from batches

    return run


def main(master: str, store: str, marks: str) -> None:
    conf = {
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # begin with both executors
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    }
    spark = session(master=master, conf=conf)
    log = spark.read.format("rocketmq-commitlog").option("columns", "physicalOffset").option("maxPartitionBytes", 8192).load(store)
    row = log.mapInArrow(slowly(marks), "physicalOffset long").selectExpr("count(*) AS n", "sum(physicalOffset) AS total").collect()[0]
    sys.stdout.write(json.dumps({"count": row.n, "sum": row.total}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
