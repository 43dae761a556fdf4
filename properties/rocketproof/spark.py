"""Read a broker's files and recorded histories as DataFrames of Spark, and join them with tables of your own.

    from rocketproof.spark import records, session

    log = records(session(), "/data/rocketmq/store")
    log.where("topic = 'orders'").groupBy("keys").count().where("count > 1").show()

`session` returns the active session, or else creates one. Any other session of PySpark works too.
"""

from rocketproof_traces.spark.frames import entries, histories, index, records, topics
from rocketproof_traces.spark.session import session

__all__ = ["entries", "histories", "index", "records", "session", "topics"]
