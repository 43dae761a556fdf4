"""The topic table: its first topics, creation by a message, and what other threads see meanwhile."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import behaviour, every
from simulated import present
from table_bench import MAIN, TableBench

from rocketproof_impl.broker.topics import UNIT, UNIT_SUB, like_template
from rocketproof_impl.java import JavaError
from rocketproof_impl.tasks import TaskInterrupted
from rocketproof_impl.topic import MULTI_TAG, DataVersion, TopicConfig, is_inherited, is_readable, is_writeable, perm_text, without_inherit

ints = st.integers(-(2**31), 2**31 - 1)


def entries(bench: TableBench) -> dict[str, tuple[int, int, int]]:
    return {name: (config.read_queue_nums, config.write_queue_nums, config.perm) for name, config in bench.topics.table.items()}


def stored(bench: TableBench) -> dict[str, int]:
    """Return the topics in the file with their permissions."""
    return {name: entry["perm"] for name, entry in json.loads(bench.disk.files[MAIN])["topicConfigTable"].items()}


# Data


@behaviour("TCM-01")
def test_a_configuration_has_defaults_and_is_equal_over_all_fields() -> None:
    config = TopicConfig("T")
    assert config == TopicConfig("T", 16, 16, 6, "SINGLE_TAG", 0, False)
    others = {
        "topic_name": "U",
        "read_queue_nums": 1,
        "write_queue_nums": 1,
        "perm": 7,
        "topic_filter_type": MULTI_TAG,
        "topic_sys_flag": 1,
        "order": True,
    }
    for field, value in others.items():
        changed = config.copy()
        setattr(changed, field, value)
        assert changed != config, field


@behaviour("TCM-02")
def test_next_version_has_the_changes_time_and_counter_plus_one() -> None:
    version = DataVersion(5)
    version.next_version(9)
    assert version == DataVersion(9, 1)
    assert version != DataVersion(9, 2)
    assert version != DataVersion(8, 1)


@behaviour("PERM-01")
@pytest.mark.parametrize(
    ("perm", "without", "text"), [(7, 6, "RWX"), (6, 6, "RW-"), (1, 0, "--X"), (15, 14, "RWX"), (3, 2, "-WX"), (0, 0, "---"), (4, 4, "R--")]
)
def test_a_permission_is_a_set_of_bits(perm: int, without: int, text: str) -> None:
    assert without_inherit(perm) == without
    assert perm_text(perm) == text
    assert (is_readable(perm), is_writeable(perm), is_inherited(perm)) == ("R" in text, "W" in text, "X" in text)


SYSTEM = {"SELF_TEST_TOPIC": (1, 1, 6), "BenchmarkTest": (1024, 1024, 6), "OFFSET_MOVED_EVENT": (1, 1, 6)}
OWN = {"DefaultCluster": (16, 16, 7), "broker-a": (1, 1, 7)}
TEMPLATE = {"TBW102": (8, 8, 7)}
NEWER = {"SCHEDULE_TOPIC_XXXX": (18, 18, 6), "DefaultCluster_REPLY_TOPIC": (1, 1, 6)}
TRACE = {"RMQ_SYS_TRACE_TOPIC": (1, 1, 6)}


@behaviour("TCM-03")
@every
def test_the_table_starts_with_system_topics(profile: str) -> None:
    newer = NEWER if profile in ("P49", "P494") else {}
    bench = TableBench(profile)
    assert entries(bench) == SYSTEM | OWN | TEMPLATE | newer
    assert bench.topics.data_version == DataVersion(bench.scheduler.clock.now(), 0)
    assert not bench.disk.files
    trace = {} if profile == "P40" else TRACE
    assert entries(TableBench(profile, trace_topic_enable=True)) == SYSTEM | OWN | TEMPLATE | newer | trace


@behaviour("TCM-01", "TCM-03")
@pytest.mark.parametrize(("profile", "attributes"), [("P494", None), ("P533", {})])
def test_system_topics_have_attributes_where_topics_have_any(profile: str, attributes: dict[str, str] | None) -> None:
    table = TableBench(profile).topics.table
    assert [config.attributes for config in table.values()] == [attributes] * len(table)


@behaviour("TCM-03")
@pytest.mark.parametrize("wheel", [True, False])
def test_timer_topic_exists_with_the_wheel(wheel: bool) -> None:
    assert ("rmq_sys_wheel_timer" in TableBench("P533", timer_wheel_enable=wheel).topics.table) is wheel
    for earlier in ("P494", "P514", "P520"):
        assert "rmq_sys_wheel_timer" not in TableBench(earlier, timer_wheel_enable=wheel).topics.table


@behaviour("TCM-03", "HAZ-05")
def test_settings_change_the_system_topics() -> None:
    off = TableBench("P45", auto_create_topic_enable=False, cluster_topic_enable=False, broker_topic_enable=False)
    assert entries(off) == SYSTEM | {"DefaultCluster": (16, 16, 1), "broker-a": (1, 1, 1)}
    named = TableBench("P49", broker_cluster_name="C", broker_name="b", default_topic_queue_nums=3)
    expected = {"C": (16, 16, 7), "b": (1, 1, 7), "TBW102": (3, 3, 7), "SCHEDULE_TOPIC_XXXX": (18, 18, 6), "C_REPLY_TOPIC": (1, 1, 6)}
    assert entries(named) == SYSTEM | expected


# Creation from a template


@every
@behaviour("TCM-10", "TCM-15", "TCM-16", "TCM-17", "NS-10", "INV-21", "INV-24", "TCM-34")
def test_creation_steps_are_in_order(profile: str) -> None:
    bench = TableBench(profile)
    seen: list[tuple[str, bool, int, bool]] = []

    def look(task: object, name: str) -> bool:
        file = bench.disk.files.get(MAIN)
        seen.append((name, bench.topics.select("T") is not None, bench.topics.data_version.counter, file is not None and b'"T"' in file))
        return False

    bench.stop = look
    config = bench.create("T", flag=2)
    assert config == TopicConfig("T", 4, 4, 6, topic_sys_flag=2)
    assert bench.topics.select("T") is config
    steps = ["missing", "locked", "template", "inherit", "built", "put", "versioned", "persisted", "unlocked", "register"]
    free = {"missing", "unlocked", "register"}
    assert bench.events == [(step, step not in free) for step in steps]
    assert seen[4:] == [
        ("built", False, 0, False),
        ("put", True, 0, False),
        ("versioned", True, 1, False),
        ("persisted", True, 1, True),
        ("unlocked", True, 1, True),
    ]
    assert bench.registered == ["T"]


@pytest.fixture
def bench() -> TableBench:
    return TableBench()


@behaviour("TCM-16", "PER-01", "INV-17", "LIV-01")
def test_file_has_the_version_in_memory(bench: TableBench) -> None:
    bench.scheduler.clock.time += 7
    for number in range(1, 4):
        bench.create(f"T{number}")
        version = json.loads(bench.disk.files[MAIN])["dataVersion"]
        assert version == {"counter": number, "timestamp": bench.scheduler.clock.now()}
        assert bench.topics.data_version == DataVersion(bench.scheduler.clock.now(), number)


@behaviour("TCM-15", "INV-10", "INV-11", "HAZ-05")
@pytest.mark.parametrize(("template", "created"), [(7, 6), (15, 14), (1, 0), (5, 4), (3, 2)])
def test_the_permission_is_the_templates_without_inherit(bench: TableBench, template: int, created: int) -> None:
    bench.topics.update(TopicConfig("D", 8, 8, template))
    config = present(bench.create("T", "D"))
    assert config.perm == created


@behaviour("TCM-15", "INV-12", "HAZ-07", "HAZ-16")
@pytest.mark.parametrize(
    ("client", "read", "write", "created"),
    [(4, 8, 8, 4), (8, 8, 8, 8), (9, 8, 8, 8), (4, 2, 8, 4), (4, 8, 2, 2), (0, 8, 8, 0), (-3, 8, 8, 0), (4, 8, 0, 0), (4, 8, -1, 0)],
)
def test_queue_count_is_the_minimum_of_client_and_template(bench: TableBench, client: int, read: int, write: int, created: int) -> None:
    bench.topics.update(TopicConfig("D", read, write, 7))
    config = present(bench.create("T", "D", client))
    assert (config.read_queue_nums, config.write_queue_nums) == (created, created)
    assert json.loads(bench.disk.files[MAIN])["topicConfigTable"]["T"]["writeQueueNums"] == created


@behaviour("TCM-15")
def test_filter_type_is_inherited_and_order_is_not(bench: TableBench) -> None:
    bench.topics.update(TopicConfig("D", 8, 8, 7, MULTI_TAG, 3, order=True))
    assert bench.create("T", "D", flag=1) == TopicConfig("T", 4, 4, 6, MULTI_TAG, 1, order=False)


@behaviour("TCM-15", "INV-10", "INV-11", "INV-12")
@given(client=ints, read=ints, write=ints, perm=st.integers(0, 15))
def test_a_created_topic_keeps_within_its_template(client: int, read: int, write: int, perm: int) -> None:
    made = like_template("T", TopicConfig("D", read, write, perm), client, 0)
    assert made.read_queue_nums == made.write_queue_nums == (0 if client < 0 or write < 0 else sorted((client, write))[0])
    assert not is_inherited(made.perm)
    assert made.perm in (perm, perm - 1)


@behaviour("TCM-12")
def test_missing_template_creates_no_topic(bench: TableBench, caplog: pytest.LogCaptureFixture) -> None:
    assert bench.create("T", "nobody") is None
    assert bench.names == ["missing", "locked", "template", "refused"]
    assert bench.events[-1] == ("refused", True)
    assert not bench.topics.lock.held
    assert bench.topics.select("T") is None
    assert not bench.disk.files
    assert "nobody" in caplog.text


@behaviour("TCM-12", "INV-23")
def test_null_template_is_a_null_pointer_and_releases_the_lock(bench: TableBench) -> None:
    with pytest.raises(JavaError, match=r"java\.lang\.NullPointerException"):
        bench.create("T", None)
    assert not bench.topics.lock.held
    assert bench.registered == []


@behaviour("TCM-13", "HAZ-02", "INV-16", "INV-18")
def test_with_auto_creation_off_the_template_itself_loses_inherit(bench: TableBench) -> None:
    bench.create("before")
    bench.settings.auto_create_topic_enable = False
    version = bench.topics.data_version.copy()
    template = bench.topics.select("TBW102")
    assert bench.create("T") is None
    assert bench.topics.select("TBW102") is template
    assert template is not None
    assert template.perm == 6
    assert (template.read_queue_nums, template.write_queue_nums) == (8, 8)
    assert bench.topics.data_version == version
    assert stored(bench)["TBW102"] == 7
    assert len(bench.registered) == 1
    bench.topics.update(TopicConfig("other"))
    assert stored(bench)["TBW102"] == 6


@behaviour("HAZ-03", "PER-04")
def test_start_restores_the_lost_permission_from_the_file(bench: TableBench) -> None:
    bench.settings.auto_create_topic_enable = False
    bench.create("T")
    bench.topics.update(TopicConfig("other"))
    again = bench.restarted(auto_create_topic_enable=True)
    assert again.topics.load()
    assert again.topics.table["TBW102"].perm == 6
    assert again.create("T") is None


@behaviour("HAZ-03", "TCM-03", "PER-04")
def test_stored_template_exists_with_auto_creation_off(bench: TableBench) -> None:
    bench.create("T")
    again = bench.restarted(auto_create_topic_enable=False)
    assert again.topics.select("TBW102") is None
    assert again.topics.load()
    assert again.topics.table["TBW102"].perm == 7


@behaviour("TCM-14", "HAZ-04", "INV-14")
def test_another_template_creates_with_auto_creation_off() -> None:
    bench = TableBench(auto_create_topic_enable=False)
    assert bench.create("T", "DefaultCluster") == TopicConfig("T", 4, 4, 6)
    assert bench.topics.table["DefaultCluster"].perm == 7
    assert bench.registered == ["T"]


@behaviour("TCM-14")
def test_a_template_without_inherit_creates_nothing(bench: TableBench, caplog: pytest.LogCaptureFixture) -> None:
    assert bench.create("T", "SELF_TEST_TOPIC") is None
    assert bench.names == ["missing", "locked", "template", "inherit", "refused"]
    assert "has no perm" in caplog.text
    assert bench.topics.data_version.counter == 0


# The lock


@behaviour("TCM-10", "TCM-11", "TCM-04", "INV-17", "INV-19", "INV-23", "HAZ-10")
def test_second_first_send_finds_the_topic_of_the_first(bench: TableBench) -> None:
    bench.stop = lambda task, name: name == "versioned" or (task.name == "second" and name == "found")
    first = bench.start("T")
    assert bench.topics.select("T") is not None
    second = bench.start("T", nums=8, flag=1, name="second")
    assert bench.names.count("missing") == 2
    bench.scheduler.resume(first)
    assert bench.events[-1] == ("found", True)
    bench.scheduler.resume(second)
    assert first.result() is second.result() is bench.topics.select("T")
    assert bench.topics.data_version.counter == 1
    assert bench.disk.operations.count(("rename", MAIN + ".tmp")) == 1
    assert len(bench.registered) == 1
    assert bench.names.count("unlocked") == 1
    assert not bench.topics.lock.held


@behaviour("TCM-10", "TCM-11", "INV-23")
def test_known_topic_is_looked_up_under_the_lock(bench: TableBench) -> None:
    bench.topics.update(TopicConfig("T", 2, 2))
    assert bench.create("T") == TopicConfig("T", 2, 2)
    assert bench.events == [("missing", False), ("locked", True), ("found", True)]
    assert not bench.topics.lock.held
    assert bench.registered == []


@behaviour("TCM-10", "HAZ-08", "INV-20", "INV-25")
def test_lock_wait_times_out_after_three_seconds(bench: TableBench) -> None:
    bench.hold()
    late = bench.start("T")
    bench.scheduler.advance(2999)
    assert not late.done.done
    bench.scheduler.advance(1)
    assert late.result() is None
    assert bench.topics.select("T") is None
    assert bench.topics.data_version.counter == 1


@behaviour("TCM-10", "HAZ-09", "HAZ-08")
def test_lock_is_granted_within_three_seconds(bench: TableBench) -> None:
    holder = bench.hold()
    late = bench.start("T")
    bench.scheduler.advance(2999)
    bench.scheduler.resume(holder)
    assert late.result() == TopicConfig("T", 4, 4, 6)
    assert list(stored(bench))[-2:] == ["slow", "T"]
    assert not bench.topics.lock.held


@behaviour("TCM-10", "INV-23")
def test_interrupted_wait_is_logged_and_returns_none(bench: TableBench, caplog: pytest.LogCaptureFixture) -> None:
    holder = bench.hold()
    late = bench.start("T")
    bench.scheduler.interrupt(late, TaskInterrupted())
    assert bench.events[-1] == ("missing", True)
    assert late.result() is None
    assert "Interrupted" in caplog.text
    assert bench.topics.data_version.counter == 1
    bench.scheduler.resume(holder)
    assert not bench.topics.lock.held
    assert bench.registered == ["slow"]


@behaviour("TCM-18", "PER-01")
def test_input_output_error_leaves_an_unsaved_registered_topic(bench: TableBench, caplog: pytest.LogCaptureFixture) -> None:
    with bench.failing(error=OSError("No space left on device")):
        config = present(bench.create())
        assert bench.topics.select("T") is config
        assert bench.topics.data_version.counter == 1
        assert bench.registered == ["T"]
        assert not bench.topics.lock.held
        assert MAIN not in bench.disk.files
        assert "No space left" in caplog.text


@behaviour("TCM-18", "TCM-17", "INV-23", "HAZ-11")
@pytest.mark.parametrize("back", [False, True])
def test_runtime_error_in_persist_releases_the_lock_without_registration(bench: TableBench, back: bool) -> None:
    with bench.failing(error=JavaError("java.lang.RuntimeException", "broken")), pytest.raises(JavaError, match="broken"):
        bench.create_back("T") if back else bench.create("T")
    assert not bench.topics.lock.held
    assert bench.topics.select("T") is not None
    assert bench.registered == []


# Creation by a send-back


@behaviour("TCM-22", "TCM-23", "INV-24", "NS-10")
def test_send_back_creates_its_topic() -> None:
    bench = TableBench(auto_create_topic_enable=False)
    assert bench.create_back("%RETRY%G", -1, 2, 3) == TopicConfig("%RETRY%G", -1, -1, 2, topic_sys_flag=3)
    steps = ["missing", "locked", "template", "built", "put", "versioned", "persisted", "unlocked", "register"]
    free = {"missing", "unlocked", "register"}
    assert bench.events == [(step, step not in free) for step in steps]
    assert bench.registered == ["%RETRY%G"]
    assert stored(bench)["%RETRY%G"] == 2
    assert bench.topics.data_version.counter == 1


@behaviour("TCM-20", "INV-16", "HAZ-41")
def test_send_back_keeps_an_existing_topic_without_a_lock(bench: TableBench) -> None:
    made = bench.create("%RETRY%G")
    bench.events.clear()
    bench.topics.lock.held = True
    assert bench.create_back("%RETRY%G", 1, 2, 3) is made
    assert made == TopicConfig("%RETRY%G", 4, 4, 6)
    assert bench.events == []


@behaviour("TCM-21", "HAZ-08")
def test_send_back_waits_three_seconds_for_the_lock(bench: TableBench) -> None:
    bench.hold()
    before = bench.scheduler.clock.now()
    assert bench.create_back("%RETRY%G") is None
    assert bench.scheduler.clock.now() - before == 3000


@behaviour("TCM-21", "INV-19")
def test_send_back_repeats_the_look_up_under_the_lock(bench: TableBench) -> None:
    bench.stop = lambda task, name: task.name == "holder" and name == "built"
    holder = bench.start("%RETRY%G", name="holder")
    late = bench.scheduler.spawn(bench.topics.create_topic_in_send_message_back("%RETRY%G", 1, 6, 0), "late")
    bench.scheduler.settle()
    bench.scheduler.resume(holder)
    assert late.result() is holder.result()
    assert "found" in bench.names
    assert len(bench.registered) == 1
    assert bench.topics.data_version.counter == 1


# Other changes


@behaviour("TCM-30")
def test_an_update_takes_no_lock_and_registers_nothing(bench: TableBench) -> None:
    bench.topics.lock.held = True
    config = TopicConfig("T", 1, 2, 6)
    bench.topics.update(config)
    assert bench.topics.select("T") is config
    assert bench.topics.data_version.counter == 1
    assert "T" in stored(bench)
    assert bench.registered == []


@behaviour("TCM-31")
def test_delete_advances_the_version_only_for_existing_topics(bench: TableBench, caplog: pytest.LogCaptureFixture) -> None:
    bench.topics.update(TopicConfig("T"))
    bench.topics.delete("nobody")
    assert bench.topics.data_version.counter == 1
    assert "nobody" in caplog.text
    bench.topics.delete("T")
    assert bench.topics.select("T") is None
    assert bench.topics.data_version.counter == 2
    assert "T" not in stored(bench)


@behaviour("TCM-32")
def test_unit_flags_are_single_bits_and_are_registered(bench: TableBench) -> None:
    bench.topics.update(TopicConfig("T"))
    for count, (bit, on, flag) in enumerate([(UNIT, True, 1), (UNIT_SUB, True, 3), (UNIT, False, 2), (UNIT_SUB, False, 0)], 1):
        bench.scheduler.complete(bench.topics.set_flag("T", bit, on))
        assert bench.topics.table["T"].topic_sys_flag == flag
        assert json.loads(bench.disk.files[MAIN])["topicConfigTable"]["T"]["topicSysFlag"] == flag
        assert bench.topics.data_version.counter == count + 1
    assert bench.registered == ["T"] * 4
    bench.scheduler.complete(bench.topics.set_flag("nobody", UNIT, True))
    assert bench.topics.data_version.counter == 5
    assert bench.topics.select("nobody") is None


@behaviour("TCM-33")
def test_only_a_known_topic_is_an_order_topic(bench: TableBench) -> None:
    bench.topics.update(TopicConfig("T", order=True))
    assert bench.topics.is_order_topic("T")
    assert not bench.topics.is_order_topic("TBW102")
    assert not bench.topics.is_order_topic("nobody")
