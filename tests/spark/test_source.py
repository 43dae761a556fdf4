"""The data sources in Spark: pushed-down filters, columns visible to SQL, damage as rows, and usage mistakes."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import datasource as api
from pyspark.sql.types import LongType, StringType, StructField, StructType
from pyspark.testing import assertSchemaEqual
from written_store import Sent, Stored, write_store, write_topics

from rocketproof_traces.spark.source import clause_of
from rocketproof_traces.spark.tables import commitlog
from rocketproof_traces.spark.tables.clauses import Clause
from unpacking import unpack

GOLDEN = Path(__file__).parents[1] / "data" / "store-4.9.4.tar.gz"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    folder = tmp_path_factory.mktemp("source") / "store"
    sent = [
        Sent(("orders", "payments", "%RETRY%g")[n % 3], n % 4, bytes(n % 50), {"TAGS": "ab"[n % 2]}, 1_700_000_000_000 + 60_000 * n)
        for n in range(500)
    ]
    found = write_store(folder, sent, 1 << 15)
    write_topics(folder, {"orders": {"perm": 6}, "payments": {"readQueueNums": 8, "perm": 4}})
    return folder, found


def log(spark: SparkSession, folder: Path, columns: str | None = None, **options: object) -> DataFrame:
    reader = spark.read.format("rocketmq-commitlog")
    for name, value in (options | ({"columns": columns} if columns else {})).items():
        reader = reader.option(name, str(value))
    return reader.load(str(folder))


def test_all_records_in_any_number_of_partitions(spark: SparkSession, stored: tuple[Path, list[Stored]]) -> None:
    folder, messages = stored
    for size, partitions in ((6000, 12), (1 << 27, 2)):
        frame = log(spark, folder, maxPartitionBytes=size)
        assert frame.rdd.getNumPartitions() == partitions
        assert frame.selectExpr("count(*)", "sum(size)", "count(error)").first() == (500, sum(m.size for m in messages), 0)


def test_filters_select_rows(spark: SparkSession, stored: tuple[Path, list[Stored]]) -> None:
    folder, messages = stored
    conditions = [
        ("topic", "in", ["orders", "payments"]), ("queueId", "<", 3), ("queueOffset", ">=", 3), ("error", "is null", None),
        ("physicalOffset", ">=", 1000), ("storeTime", ">=", "2023-11-14T23:13:20+00:00"), ("storeTimestamp", "<=", 1700020000000),
    ]  # fmt: skip
    frame = log(spark, folder, "physicalOffset", filters=json.dumps(conditions))
    expected = [
        m
        for m in messages
        if m.topic in ("orders", "payments") and m.queue_id < 3 and m.queue_offset >= 3 and m.offset >= 1000
        and 3_600_000 <= m.stored_at - 1_700_000_000_000 <= 20_000_000
    ]  # fmt: skip
    assert sorted(row.physicalOffset for row in frame.collect()) == [m.offset for m in expected]
    assert 0 < len(expected) < len(messages)


@pytest.mark.parametrize(
    ("given", "clause"),
    [
        (api.EqualTo(("topic",), "orders"), Clause("topic", "=", "orders")),
        (api.StringStartsWith(("TOPIC",), "%RETRY%"), Clause("topic", "begins", "%RETRY%")),
        (api.In(("queueid",), (1, None, 3)), Clause("queueId", "among", (1, 3))),
        (api.GreaterThan(("physicalOffset",), 7), Clause("physicalOffset", ">", 7)),
        (api.LessThanOrEqual(("storeTime",), datetime(1970, 1, 1, 0, 0, 1, 5, UTC)), Clause("storeTime", "<=", 1_000_005)),
        (api.IsNotNull(("error",)), Clause("error", "present")),
        (api.IsNull(("queueId",)), Clause("queueId", "absent")),
        (api.EqualTo(("error",), "x"), None),
        (api.EqualTo(("tags",), "x"), None),
        (api.LessThan(("topic",), "x"), None),
        (api.EqualTo(("queueId",), Decimal("1.5")), None),
        (api.Not(api.EqualTo(("queueId",), 1)), None),
        (api.StringContains(("topic",), "x"), None),
        (api.EqualNullSafe(("topic",), "x"), None),
    ],
)
def test_filter_becomes_clause_or_is_left_to_spark(given: api.Filter, clause: Clause | None) -> None:
    assert clause_of(given, commitlog.TABLE) == clause


def test_queries_of_one_load_do_not_share_their_conditions(spark: SparkSession, stored: tuple[Path, list[Stored]]) -> None:
    """Spark keeps the filters that it pushed last for every scan of a load, also for one without a filter."""
    folder, messages = stored
    frame = log(spark, folder)
    orders, payments = frame.where("topic = 'orders'"), frame.where("topic = 'payments'")
    counts = [sum(message.topic == topic for message in messages) for topic in ("orders", "payments")]
    assert [orders.count(), frame.count(), payments.count()] == [counts[0], len(messages), counts[1]]
    assert orders.unionAll(payments).count() == sum(counts)
    assert orders.unionAll(frame).count() == counts[0] + len(messages)
    frame.createOrReplaceTempView("shared")
    query = "SELECT (SELECT count(*) FROM shared WHERE topic = 'orders'), (SELECT count(*) FROM shared WHERE topic = 'payments')"
    assert spark.sql(query).first() == tuple(counts)


def test_conditions_of_a_query_apply(spark: SparkSession, stored: tuple[Path, list[Stored]]) -> None:
    folder, messages = stored
    frame = log(spark, folder).where("tags = 'a' AND queueId <> 1 AND (topic = 'orders' OR size > 130)")
    expected = [m for m in messages if m.properties["TAGS"] == "a" and m.queue_id != 1 and (m.topic == "orders" or m.size > 130)]
    assert frame.count() == len(expected) > 0


def test_columns_by_option_or_by_schema(spark: SparkSession, stored: tuple[Path, list[Stored]]) -> None:
    folder, messages = stored
    assert "body" not in log(spark, folder).columns
    row = log(spark, folder, "+body, properties").orderBy("physicalOffset").first()
    assert row is not None and (bytes(row.body), row.properties) == (messages[0].body, messages[0].properties)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW few (TOPIC STRING, size BIGINT) USING `rocketmq-commitlog` OPTIONS (path '{folder}')")
    view = spark.table("few")
    assertSchemaEqual(view.schema, StructType([StructField("TOPIC", StringType()), StructField("size", LongType())]))
    assert view.where("topic = 'orders'").selectExpr("sum(size)").first() == (sum(m.size for m in messages if m.topic == "orders"),)


def test_several_stores_are_one_table(spark: SparkSession, stored: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, messages = stored
    other = write_store(tmp_path / "other", [Sent("orders")] * 7)
    frame = spark.read.format("rocketmq-commitlog").option("columns", "file").load([str(folder), str(tmp_path / "other")])
    assert frame.count() == len(messages) + len(other)
    assert frame.where(f"startswith(file, '{tmp_path}/')").count() == 7


def test_damage_is_returned_as_rows_and_job_continues(spark: SparkSession, tmp_path: Path) -> None:
    messages = write_store(tmp_path / "store", [Sent("orders", n % 4, bytes(60)) for n in range(400)], 1 << 15)
    hurt, file = messages[40], tmp_path / "store" / "commitlog" / f"{0:020d}"
    with file.open("r+b") as log_file:
        log_file.seek(hurt.offset)
        log_file.write(bytes(range(80)))
    frame = log(spark, tmp_path / "store", maxPartitionBytes=8192)
    bad = [row.asDict() for row in frame.where("error IS NOT NULL").select("physicalOffset", "size", "topic", "file", "error").collect()]
    assert frame.where("error IS NULL").count() == 399
    reason = "no magic number of a record or a blank"
    assert bad == [{"physicalOffset": hurt.offset, "size": hurt.size, "topic": None, "file": str(file), "error": reason}]


def test_file_that_vanishes_after_planning_is_row(spark: SparkSession, tmp_path: Path) -> None:
    messages = write_store(tmp_path / "store", [Sent("orders", 0, bytes(60)) for _ in range(500)], 1 << 15)
    frame = log(spark, tmp_path / "store", "physicalOffset, size, error")
    frame._jdf.queryExecution().toRdd().partitions()  # the files are listed now
    (tmp_path / "store" / "commitlog" / f"{1 << 15:020d}").unlink()
    rows = frame.collect()
    assert sorted(row.physicalOffset for row in rows if row.error is None) == [m.offset for m in messages if m.offset >> 15 != 1]
    assert [(row.physicalOffset, row.size) for row in rows if row.error is not None] == [(1 << 15, 1 << 15)]


def test_queues_topics_and_index_of_real_broker(spark: SparkSession, tmp_path: Path) -> None:
    unpack(GOLDEN, tmp_path)
    for name in ("commitlog", "consumequeue", "index", "topics"):
        spark.read.format(f"rocketmq-{name}").load(str(tmp_path / "store-4.9.4")).createOrReplaceTempView(f"real_{name}")
    # Each entry of a queue and of the index leads to a record; each topic that is stored is in the table or is the broker's own.
    joined = spark.sql(
        "SELECT count(*) FROM real_consumequeue q JOIN real_commitlog l USING (topic, queueId, queueOffset, physicalOffset, size)"
    )
    assert joined.first() == spark.sql("SELECT count(*) FROM real_consumequeue").first()
    assert spark.sql("SELECT count(*) FROM real_index LEFT ANTI JOIN real_commitlog USING (physicalOffset)").first() == (0,)
    unknown = spark.sql("SELECT DISTINCT topic FROM real_commitlog LEFT ANTI JOIN real_topics USING (topic)").collect()
    assert {row.topic for row in unknown} <= {"RMQ_SYS_TRANS_OP_HALF_TOPIC", "rmq_sys_wheel_timer"}


def test_clauses_choose_queues(spark: SparkSession, stored: tuple[Path, list[Stored]]) -> None:
    folder, messages = stored
    conditions = '[["topic", "=", "orders"], ["queueId", "=", 1], ["queueOffset", ">=", 5]]'
    frame = spark.read.format("rocketmq-consumequeue").option("filters", conditions).load(str(folder))
    assert frame.rdd.getNumPartitions() == 1
    expected = [m.offset for m in messages if (m.topic, m.queue_id) == ("orders", 1) and m.queue_offset >= 5]
    assert sorted(row.physicalOffset for row in frame.collect()) == expected


def test_table_of_topics(spark: SparkSession, stored: tuple[Path, list[Stored]]) -> None:
    rows = spark.read.format("rocketmq-topics").load(str(stored[0])).orderBy("topic").collect()
    assert [(row.topic, row.readQueueNums, row.perm, row.counter) for row in rows] == [("orders", 4, 6, 3), ("payments", 8, 4, 3)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"columns": "colour", "path": "x"}, "column colour: does not exist"),
        ({"path": "/no/such/store"}, "/no/such/store: does not exist"),
        ({}, "has no path to read"),
        ({"maxPartitionBytes": "many", "path": "x"}, "maxPartitionBytes: is many"),
        ({"colums": "topic", "path": "x"}, "option colums: does not exist; did you mean columns?"),
        (
            {"mergeSchema": "true", "path": "x"},
            "option mergeschema: does not exist; choose among path, paths, columns, filters, maxPartitionBytes",
        ),
        ({"filters": "topic = 1", "path": "x"}, "filters: is not JSON"),
        ({"filters": "{}", "path": "x"}, "filters: is no list"),
        ({"filters": '["topic"]', "path": "x"}, "filters: 'topic' is no condition"),
        ({"filters": '[["topi", "=", "a"]]', "path": "x"}, "column topi: does not exist"),
        ({"filters": '[["tags", "=", "a"]]', "path": "x"}, "filters: tags has no operator '='; filter the rows with where()"),
        ({"filters": '[["topic", "<", "a"]]', "path": "x"}, "filters: topic has no operator '<'"),
        ({"filters": '[["topic", "=", 1]]', "path": "x"}, "filters: topic: 1 is no text"),
        ({"filters": '[["queueId", "in", 1]]', "path": "x"}, "filters: queueId in 1 is no list"),
        ({"filters": '[["storeTime", ">", "2026-11-01"]]', "path": "x"}, "storeTime: '2026-11-01' is no time with a zone"),
    ],
)
def test_mistakes_of_reader_are_one_line(options: dict[str, str], says: str, spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.read.format("rocketmq-commitlog").options(**options).load().count()
    (line,) = [line for line in str(caught.value).splitlines() if says.lower() in line.lower()]
    assert line.lower().endswith(says.lower()) or "; " in line
    assert "Traceback" not in str(caught.value)


def test_options_ignore_case(spark: SparkSession, stored: tuple[Path, list[Stored]]) -> None:
    frame = log(spark, stored[0], COLUMNS="topic", maxpartitionbytes=1 << 20)
    assert (frame.columns, frame.count()) == (["topic"], 500)


def test_schema_of_other_types_is_refused(spark: SparkSession, stored: tuple[Path, list[Stored]]) -> None:
    with pytest.raises(PySparkException, match="column queueId: has another type in the schema given; declare it int"):
        spark.read.format("rocketmq-commitlog").schema("queueId string").load(str(stored[0])).count()
