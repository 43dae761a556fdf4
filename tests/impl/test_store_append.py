"""The append: offsets, limits, blanks, and the effect on a queue's offset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import behaviour, either
from simulated import present
from storing import Stand, appended, message, sized

from rocketproof_impl.message import Message
from rocketproof_impl.store.result import AppendMessageStatus, PutMessageStatus

MIB4 = 4 << 20
BLANK = bytes.fromhex("CBD43194")


@behaviour("APP-02", "APP-10", "INV-43")
@either
def test_result_has_the_offset_of_the_record(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message())
    result = appended(stand.put(message()))
    assert (result.status, result.wrote_offset, result.wrote_bytes, result.queue_offset) == (AppendMessageStatus.PUT_OK, 105, 105, 1)
    assert result.msg_id == "7F00000100002A9F0000000000000069"
    assert result.msg_num == 1
    found = present(stand.store.look_message_by_offset(105))
    assert found.msg_id == result.msg_id
    assert found.store_timestamp == result.store_timestamp == stand.clock.now()


@behaviour("APP-02")
def test_message_id_has_the_store_host_not_the_born_host() -> None:
    result = appended(Stand().put(message(born_host=("10.9.8.7", 1), store_host=("127.0.0.2", 10921))))
    assert result.msg_id == "7F00000200002AA9" + "0" * 16


@behaviour("APP-03", "APP-05", "APP-06")
@pytest.mark.parametrize(("profile", "table"), [("P45", {"T-3": 0}), ("P49", {})])
def test_failed_append_leaves_a_new_queue_in_the_older_table(profile: str, table: dict[str, int]) -> None:
    for given_message in (message("T", 3, b"x" * MIB4), message("T", 3, properties_text="é" * 16384)):
        stand = Stand(profile)
        assert not stand.put(given_message).ok
        assert stand.store.topic_queue_table == table


@behaviour("APP-06", "INV-40", "M-89")
@either
def test_whole_record_has_4_mib_at_most(profile: str) -> None:
    stand = Stand(profile)
    assert stand.put(sized(MIB4)).ok
    for too_large in (sized(MIB4 + 1), message(body=b"x" * MIB4)):
        result = stand.put(too_large)
        assert result.status is PutMessageStatus.MESSAGE_ILLEGAL
        if profile == "P45":
            assert appended(result).status is AppendMessageStatus.MESSAGE_SIZE_EXCEEDED
        else:
            assert result.append is None
    assert stand.store.max_phy_offset == MIB4


@behaviour("APP-05", "APP-06")
def test_properties_are_checked_before_the_size() -> None:
    result = Stand("P45").put(message(body=b"x" * MIB4, properties_text="é" * 16384))
    assert appended(result).status is AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED
    assert Stand("P49").put(message(body=b"x" * MIB4, properties_text="é" * 16384)).status is PutMessageStatus.PROPERTIES_SIZE_EXCEEDED


@behaviour("APP-06", "APP-07")
def test_oversized_record_writes_no_blank() -> None:
    """The size is checked first, so the file's end stays unchanged."""
    for profile in ("P45", "P49"):
        stand = Stand(profile, mapped_file_size_commit_log=1000, max_message_size=500)
        stand.put(sized(300))
        stand.put(sized(300))
        assert not stand.put(sized(501)).ok
        assert stand.store.max_phy_offset == 600


@behaviour("APP-07", "INV-38", "INV-39", "M-82", "M-83", "M-84")
@either
@pytest.mark.parametrize(("second", "fits"), [(891, True), (892, True), (893, False), (900, False), (901, False)])
def test_eight_bytes_stay_free_after_a_record(profile: str, second: int, fits: bool) -> None:
    stand = Stand(profile, mapped_file_size_commit_log=1000)
    stand.put(sized(100))
    result = appended(stand.put(sized(second)))
    assert result.wrote_offset == (100 if fits else 1000)
    assert stand.store.max_phy_offset == (100 + second if fits else 1000 + second)
    if not fits:
        assert stand.log(0)[100:108] == (900).to_bytes(4, "big") + BLANK
        assert stand.store.commit_log.files.files[0].is_full
    assert [found.store_size for found in stand.store.records()] == [100, second]


@behaviour("APP-07", "APP-12", "INV-38", "M-83")
def test_the_smallest_blank_has_eight_bytes() -> None:
    stand = Stand("P49", mapped_file_size_commit_log=1000)
    stand.put(sized(992))
    stand.put(sized(100))
    assert stand.log(0)[992:] == (8).to_bytes(4, "big") + BLANK
    assert stand.store.max_phy_offset == 1100


@behaviour("APP-04", "APP-10", "HAZ-12", "INV-35", "M-78", "M-79", "M-80", "APP-03")
@either
def test_only_ordinary_and_committed_messages_have_queue_offsets(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message(sys_flag=4))
    assert stand.store.topic_queue_table == {"TopicTest-0": 0}
    results = [0, *(appended(stand.put(message(sys_flag=flag))).queue_offset for flag in (0, 4, 8, 12, 1, 5, 9))]
    assert results == [0, 0, 0, 1, 0, 2, 0, 3]
    assert [found.queue_offset for found in stand.store.records()] == results
    assert stand.store.topic_queue_table == {"TopicTest-0": 4}


@behaviour("APP-06", "APP-11", "CL-07")
@pytest.mark.parametrize(("profile", "in_the_append"), [("P40", True), ("P45", True), ("P49", False), ("P494", False)])
def test_record_refused_in_the_append_creates_a_file(profile: str, in_the_append: bool) -> None:
    """The refusal also resets the file's time, because its result has time 0.

    A record refused before the append leaves the file unchanged.
    """
    too_large = b"x" * (MIB4 + 1)
    stand = Stand(profile)
    stand.put(message(body=too_large))
    assert len(stand.store.commit_log.files.files) == in_the_append
    stand.put(message())
    (mapped,) = stand.store.commit_log.files.files
    stand.put(message("t" * 128))
    assert mapped.store_timestamp == stand.clock.now()
    stand.put(message(body=too_large))
    assert (mapped.store_timestamp, mapped.wrote_position) == (0 if in_the_append else stand.clock.now(), 105)


@behaviour("APP-08", "APP-09", "APP-11")
def test_log_accepts_only_appended_bytes() -> None:
    stand = Stand()
    stand.put(message())
    assert stand.settings.mapped_file_size_commit_log == 1 << 30
    assert len(stand.log()) == 105


messages = st.builds(
    Message,
    topic=st.sampled_from(["A", "B", "TopicTest"]),
    queue_id=st.integers(0, 1),
    body=st.binary(max_size=300) | st.none(),
    properties_text=st.sampled_from([None, "", "K\x01v", "K\x01é\x02L\x01w\x02"]),
    sys_flag=st.sampled_from([0, 1, 4, 8, 12]),
    flag=st.integers(-(2**31), 2**31 - 1),
    born_timestamp=st.integers(0, 2**60),
    reconsume_times=st.integers(0, 20),
)


@behaviour(
    *("INV-34", "INV-35", "INV-36", "INV-37", "INV-38", "INV-39", "INV-40", "INV-41", "INV-42", "INV-43", "APP-03", "APP-07", "APP-12"),
    *("REC-01", "REC-04", "M-78", "M-79", "M-80", "M-81", "M-82", "M-83", "M-84", "M-85"),
)
@given(
    profile=st.sampled_from(["P45", "P49"]),
    size=st.integers(600, 1500),
    puts=st.lists(st.tuples(messages, st.integers(0, 3)), max_size=40),
)
def test_invariants_of_the_log(profile: str, size: int, puts: list[tuple[Message, int]]) -> None:
    stand = Stand(profile, mapped_file_size_commit_log=size, mapped_file_size_consume_queue=100)
    given_messages: list[Message] = []
    for each, pause in puts:
        stand.scheduler.advance(pause)
        given_messages.append(each.copy())
        assert stand.put(given_messages[-1]).ok
        left = size - stand.store.commit_log.files.files[-1].wrote_position
        assert left == 0 or left >= 8
    found = list(stand.store.records())
    assert len(found) == len(puts)
    where = time = 0
    counts: dict[tuple[str, int], int] = {}
    ids = set()
    for each, original in zip(found, given_messages, strict=True):
        if each.physical_offset != where:
            assert stand.log(where // size)[where % size :] == (size - where % size).to_bytes(4, "big") + BLANK
            where = -(-where // size) * size
        assert each.physical_offset == where
        assert each.physical_offset // size == (each.physical_offset + each.store_size - 1) // size
        where += each.store_size
        assert each.store_size == 91 + len(each.body or b"") + len(each.topic) + len((each.properties_text or "").encode())
        assert each.store_timestamp >= time
        time = each.store_timestamp
        assert each.body_crc >= 0
        ids.add(each.msg_id)
        assert int(each.msg_id[16:], 16) == each.physical_offset
        counted = each.transaction in (0, 8)
        key = (each.topic, each.queue_id)
        assert each.queue_offset == (counts.get(key, 0) if counted else 0)
        counts[key] = counts.get(key, 0) + counted
        assert (each.body or b"", each.flag, each.sys_flag) == (original.body or b"", original.flag, original.sys_flag)
    assert len(ids) == len(found)
    assert stand.store.dispatch() == len(found)
    assert {f"{topic}-{queue}": count for (topic, queue), count in counts.items()} == stand.store.topic_queue_table
    for (topic, queue), count in counts.items():
        assert stand.store.max_offset(topic, queue) == count
        for at in range(count):
            there = present(stand.store.get_message(topic, queue, at))
            assert (there.topic, there.queue_id, there.queue_offset) == (topic, queue, at)
