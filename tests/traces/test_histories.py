"""The judge of histories: requests of many clients at once, what it finds, what it leaves out, and its bound."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proportion import in_proportion
from rocketproof_lab.bench.contention import Load, contend
from rocketproof_protocol.codes import SEND_BATCH_MESSAGE
from rocketproof_spec.remarks import REMARKS, remarked
from rocketproof_traces.checker import histories
from rocketproof_traces.checker.histories import HistoryVerdict, judge_history
from rocketproof_traces.checker.machine import machine
from rocketproof_traces.checker.shape import MachineShape
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import Event, Header

QUICK = settings(max_examples=in_proportion(8), deadline=None, suppress_health_check=list(HealthCheck), database=None)


def stored(events: list[Event]) -> list[int]:
    return [k for k, e in enumerate(events) if e.type == "ok" and e.op == "send" and e.value["code"] == 0]


def answered(event: Event, **fields: object) -> Event:
    changed = {**event.value["fields"], **{name: str(value) for name, value in fields.items()}}
    return replace(event, value={**event.value, "fields": changed})


def numbers(event: Event) -> tuple[int, int]:
    fields = event.value["fields"]
    return int(fields["queueId"]), int(fields["queueOffset"])


def asked(events: list[Event], place: int) -> str:
    """Return the topic of the request answered at `place`."""
    return next(
        str(e.value["fields"]["topic"]) for e in reversed(events[:place]) if e.type == "invoke" and e.process == events[place].process
    )


LOADS = [
    Load(events=200, topics=2),
    Load(events=200, topics=1, queues=1),
    Load(events=200, topics=1, queues=2, lost=0.1, asked=0.1, random_queues=0.4),
    Load(events=200, topics=2, updates=0.15, asked=0.1, lost=0.05),
    Load(events=200, topics=2, updates=0.15, settings={"auto_create_topic_enable": False}),
    Load(events=200, topics=1, producers=3, lost=0.3),
]


@QUICK
@given(st.sampled_from(LOADS), st.integers(0, 10**6))
def test_immediate_responses_of_implementation_are_explained(load: Load, seed: int) -> None:
    header, events = contend(load, seed)
    verdict = judge_history(header, events, load.profile)
    assert verdict.verdict == "ok", [str(f) for f in verdict.findings]
    closed = sum(e.type == "ok" for e in events)
    assert verdict.explained >= closed


def swapped(events: list[Event], chance: Any) -> list[Event] | None:
    """Exchange the offsets of two non-overlapping responses about one queue."""
    places = stored(events)
    begun = {}
    for k, e in enumerate(events):
        if e.type == "invoke":
            begun[e.process] = k
        if k in places:
            begun[k] = begun[e.process]
    pairs = [
        (a, b) for a in places for b in places
        if a < begun[b] and asked(events, a) == asked(events, b) and numbers(events[a])[0] == numbers(events[b])[0]
    ]  # fmt: skip
    if not pairs:
        return None
    a, b = chance.choice(pairs)
    first, second = numbers(events[a])[1], numbers(events[b])[1]
    changed = list(events)
    changed[a], changed[b] = answered(events[a], queueOffset=second), answered(events[b], queueOffset=first)
    return changed


def doubled(events: list[Event], chance: Any) -> list[Event] | None:
    """Repeat the offset of another response about the queue."""
    places = stored(events)
    pairs = [
        (a, b) for a in places for b in places
        if a < b and asked(events, a) == asked(events, b) and numbers(events[a])[0] == numbers(events[b])[0]
    ]  # fmt: skip
    if not pairs:
        return None
    a, b = chance.choice(pairs)
    changed = list(events)
    changed[b] = answered(events[b], queueOffset=numbers(events[a])[1])
    return changed


def beyond(events: list[Event], chance: Any) -> list[Event] | None:
    """Let the broker accept a message in a missing queue."""
    k = chance.choice(stored(events))
    changed = list(events)
    changed[k] = answered(events[k], queueId=7)
    return changed


def forgotten(events: list[Event], chance: Any) -> list[Event] | None:
    """The request of a stored message is missing, so that no request took its offset, while a later message exists."""
    places = stored(events)
    last: dict[tuple[str, int], int] = {}
    for k in places:
        key = (asked(events, k), numbers(events[k])[0])
        last[key] = max(last.get(key, 0), numbers(events[k])[1])
    inner = [k for k in places if numbers(events[k])[1] < last[asked(events, k), numbers(events[k])[0]]]
    if not inner:
        return None
    k = chance.choice(inner)
    begun = max(j for j in range(k) if events[j].process == events[k].process)
    rest = [e for j, e in enumerate(events) if j not in (k, begun)]
    return [replace(e, seq=n) for n, e in enumerate(rest)]


def narrowed(events: list[Event], chance: Any) -> list[Event] | None:
    """Show a topic with an impossible permission."""
    places = [k for k, e in enumerate(events) if e.type == "state" and k and "topic-0" in e.value["topics"]]
    if not places:
        return None
    k = chance.choice(places)
    topics = {**events[k].value["topics"]}
    topics["topic-0"] = {**topics["topic-0"], "perm": 2}
    changed = list(events)
    changed[k] = replace(events[k], value={"topics": topics})
    return changed


@pytest.mark.parametrize("change", [swapped, doubled, beyond, forgotten, narrowed])
@pytest.mark.parametrize("seed", range(3))
def test_changed_history_is_illegal(change: Callable[[list[Event], Any], list[Event] | None], seed: int) -> None:
    """Seeds are fixed: some loads with updates and without a second topic need tens of thousands of states."""
    header, events = contend(Load(events=210, topics=2, queues=3), seed)
    changed = change(events, Random(seed))
    assert changed is not None, "the history has no place for this change"
    verdict = judge_history(header, changed, "P49")
    assert verdict.verdict == "illegal"
    first = verdict.findings[0]
    assert changed[first.seq].type in ("ok", "state")
    cut = [e for e in changed if e.seq < first.seq]
    assert judge_history(header, cut, "P49").verdict == "ok", "the history before the finding is not explained"
    assert all(seq < first.seq for seq in first.prefix)


# Single requests


def send(topic: str = "T", queue: int = 0, **more: object) -> dict[str, Any]:
    fields = {
        "producerGroup": "g", "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "queueId": str(queue),
        "sysFlag": "0", "bornTimestamp": "0", "flag": "0", **{name: str(value) for name, value in more.items()},
    }  # fmt: skip
    return {"to": "broker-a", "code": 10, "fields": fields}


def place(queue: int, offset: int) -> dict[str, Any]:
    return {"code": 0, "fields": {"queueId": str(queue), "queueOffset": str(offset)}}


Line = tuple[str, str, str, dict[str, Any]]


def call(process: str, op: str, asked: dict[str, Any], answer: dict[str, Any]) -> list[Line]:
    return [("invoke", process, op, asked), ("ok", process, op, answer)]


def sent(process: str, offset: int, queue: int = 0) -> list[Line]:
    return call(process, "send", send(queue=queue), place(queue, offset))


def verdict(*lines: Line, limit: int = histories.LIMIT, times: tuple[int, ...] = (), profile: str = "P494") -> HistoryVerdict:
    events = [Event(k, *line, time=times[k] if times else None) for k, line in enumerate(lines)]
    return judge_history(Header({"settings": {"autoCreateTopicEnable": "true"}}), events, profile, limit)


@pytest.mark.parametrize(("profile", "template"), [("P430", "AUTO_CREATE_TOPIC_KEY"), ("P432", "TBW102")])
def test_topic_is_created_from_template_of_its_release(profile: str, template: str) -> None:
    for named in ("AUTO_CREATE_TOPIC_KEY", "TBW102"):
        made = verdict(*call("a", "send", send(defaultTopic=named), place(0, 0)), profile=profile)
        refused = verdict(*call("a", "send", send(defaultTopic=named), {"code": 17, "fields": {}}), profile=profile)
        assert (made.verdict, refused.verdict) == (("ok", "illegal") if named == template else ("illegal", "ok"))


def test_finding_states_event_reason_and_explained_prefix() -> None:
    judged = verdict(*sent("a", 0), *sent("a", 0, queue=8))
    finding = judged.findings[0]
    assert (judged.verdict, finding.seq, finding.process, finding.op, finding.prefix) == ("illegal", 3, "a", "send", (1,))
    assert (finding.refused.action, finding.refused.guard) == ("accept_queue", "legal queue id")
    assert finding.refused.values["job.queue"] == 8
    assert str(finding).startswith(
        "event 3 (send of a; T at broker-a): recorded code 0 SUCCESS, queue 8, offset 0; the specification answers"
    )
    assert finding.steps[-1] == "store (event 0, a)"
    assert finding.state["offsets"] == {"T-0": 1}
    assert finding.data()["refused"]["guard"] == "legal queue id"


BLANK = "The specified topic is blank."
NO_QUEUE = "request queueId[8] is illegal, TopicConfig [topicName=T, readQueueNums=4] Producer: 127.0.0.1:41234"


@pytest.mark.parametrize(
    ("topic", "queue", "profile", "code", "remark", "named"),
    [
        ("T", 8, "P494", 1, NO_QUEUE, None),
        ("T", 8, "P533", 29, NO_QUEUE, None),
        ("T", 8, "P494", 1, "in words of a port", None),
        ("T", 8, "P494", 1, None, None),
        (" ", 0, "P494", 1, BLANK, None),
        ("T", 8, "P494", 1, BLANK, "answers SYSTEM_ERROR by refuse_queue; refuse_blank is refused by guard 'blank name'"),
        ("T", 8, "P533", 29, BLANK, "answers INVALID_PARAMETER by refuse_queue; refuse_blank is refused by guard 'blank name'"),
        (" ", 8, "P494", 1, NO_QUEUE, "answers SYSTEM_ERROR by refuse_blank; look_up_missing is refused by guard 'not: blank name'"),
        ("T", 9, "P494", 1, "java.lang.ArithmeticException: / by zero", "by refuse_queue; the remark is that of divide_by_zero"),
        ("T", 0, "P494", 1, NO_QUEUE, "refuse_queue is refused by guard 'illegal queue id'"),
        ("T", 0, "P494", 1, "java.lang.ArithmeticException: / by zero, org", "answers SUCCESS, queue 0, offset 0"),
    ],
)
def test_remark_is_that_of_refusal(topic: str, queue: int, profile: str, code: int, remark: str | None, named: str | None) -> None:
    """Many refusals share one code. A characteristic remark identifies the refusal; another remark, or none, does not."""
    judged = verdict(*call("a", "send", send(topic, queue), {"code": code, "remark": remark}), profile=profile)
    assert [named in str(finding) for finding in judged.findings] == ([] if named is None else [True])
    assert judged.verdict == ("ok" if named is None else "illegal")


def test_each_remark_belongs_to_one_action() -> None:
    assert REMARKS.keys() <= {function.action.name for function in machine(MachineShape("P494", ("ordinary",), 1)).handler}
    assert {action: remarked(text.replace("{}", "T")) for action, text in REMARKS.items()} == {action: {action} for action in REMARKS}


def test_unanswered_request_takes_effect_late_or_never() -> None:
    lost: list[Line] = [("invoke", "a", "send", send()), ("info", "a", "send", {"error": "timeout"})]
    first, second, third, again = (sent("b", offset) for offset in (0, 2, 3, 5))
    assert verdict(*lost, *first).verdict == "ok"
    assert verdict(*lost, *first, *second).verdict == "ok"
    assert verdict(*lost, *first, *second, *third).verdict == "ok"
    assert verdict(*first, *second).verdict == "illegal"
    assert verdict(*lost, *first, *second, *again).verdict == "illegal"


def test_request_that_failed_had_no_effect() -> None:
    failed: list[Line] = [("invoke", "a", "send", send()), ("fail", "a", "send", {"error": "connect"})]
    assert verdict(*failed, *sent("b", 1)).verdict == "illegal"


def test_lock_is_waited_for_three_seconds() -> None:
    lines: list[Line] = [
        ("invoke", "a", "send", send()), ("invoke", "b", "send", send()),
        ("ok", "b", "send", {"code": 17, "fields": {}}), ("ok", "a", "send", place(0, 0)),
    ]  # fmt: skip
    assert verdict(*lines).verdict == "ok"
    assert verdict(*lines, times=(0, 1, 3_100_000_000, 3_200_000_000)).verdict == "ok"
    assert verdict(*lines, times=(0, 1, 2_900_000_000, 3_200_000_000)).verdict == "illegal"


def test_lock_may_be_held_for_another_topic() -> None:
    other: Line = ("invoke", "a", "send", send("elsewhere"))
    lines = call("b", "send", send(), {"code": 17, "fields": {}})
    assert verdict(*lines).verdict == "illegal"
    assert verdict(other, *lines).verdict == "ok"


def test_lock_may_be_held_for_retry_topic() -> None:
    back: Line = ("invoke", "a", "send_back", {"to": "broker-a", "fields": {"group": "g"}})
    assert verdict(back, *call("b", "send", send(), {"code": 17, "fields": {}})).verdict == "ok"


def test_finding_names_first_event_despite_lookahead_of_earlier_request() -> None:
    """The update took effect before its response, whose code denies that."""
    there = {"T": {"readQueueNums": 1, "writeQueueNums": 1, "perm": 6}}
    wanted = {"to": "broker-a", "fields": {"topic": "T", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6"}}
    judged = verdict(
        ("state", "broker-a", "topics", {"topics": {}}), ("invoke", "a", "update_topic", wanted),
        ("state", "broker-a", "topics", {"topics": there}), ("ok", "a", "update_topic", {"code": 3, "fields": {}}),
    )  # fmt: skip
    assert [(finding.seq, finding.op, finding.prefix) for finding in judged.findings] == [(3, "update_topic", (2,))]
    assert judged.findings[0].state["topics"]["T"] == {"read": 1, "write": 1, "perm": 6, "order": False}


def test_request_that_ended_before_response_has_ended() -> None:
    """The first response has the later offset: the other request is complete before its response."""
    lines: list[Line] = [
        ("invoke", "a", "send", send(queue=0, defaultTopicQueueNums=9)), ("invoke", "b", "send", send(queue=-1, defaultTopicQueueNums=2)),
        ("ok", "b", "send", place(0, 1)), ("ok", "a", "send", place(0, 0)),
    ]  # fmt: skip
    assert verdict(*lines).verdict == "ok"


def test_batch_takes_consecutive_offsets_atomically() -> None:
    body = ((23).to_bytes(4, "big") + bytes(12) + (1).to_bytes(4, "big") + b"x" + bytes(2)) * 3
    batch = {**send(), "code": SEND_BATCH_MESSAGE, "body": b64encode(body).decode(), "bodySize": len(body)}
    many = call("a", "batch", batch, place(0, 0))
    for offset, expected in ((3, "ok"), (1, "illegal"), (4, "illegal")):
        assert verdict(*many, *sent("b", offset)).verdict == expected


def test_delayed_messages_are_delivered_unasked() -> None:
    delayed = send(properties="DELAY\x013\x02")
    judged = verdict(*call("a", "send", delayed, place(0, 5)), *sent("b", 1))
    assert (judged.verdict, judged.explained, judged.out_of_reach) == ("ok", 2, {})
    assert verdict(*sent("b", 1)).verdict == "illegal"
    assert verdict(*call("a", "send", delayed, place(0, 5)), *sent("b", 2)).verdict == "illegal"


def test_part_ends_where_specification_has_no_word() -> None:
    stop = call("a", "configure", {"to": "broker-a", "fields": {}}, {"code": 0, "fields": {}})
    judged = verdict(*sent("a", 0), *stop, *sent("b", 9))
    assert (judged.verdict, judged.explained) == ("ok", 1)
    assert sum(judged.out_of_reach.values()) == 2


def deleted(topic: str = "T", code: int = 0, remark: str = "", by: str = "a") -> list[Line]:
    return call(by, "delete_topic", {"to": "broker-a", "fields": {"topic": topic}}, {"code": code, "remark": remark, "fields": {}})


@pytest.mark.behaviour("TCM-31", "INV-34")
def test_queues_of_deleted_topic_restart_or_continue() -> None:
    """A queue without an entry is not found, and continues; each queue does one of the two."""
    before = [*sent("a", 0), *sent("a", 0, queue=1), *sent("a", 1), *deleted()]
    for after, expected in (((0, 1), "ok"), ((2, 3), "ok"), ((1,), "illegal"), ((3,), "illegal"), ((0, 3), "illegal"), ((2, 0), "illegal")):
        judged = verdict(*before, *(line for offset in after for line in sent("b", offset)))
        assert judged.verdict == expected, after
        assert not judged.out_of_reach
    assert verdict(*before, *sent("b", 0), *sent("b", 1, queue=1)).verdict == "ok"
    assert verdict(*before, *deleted(), *sent("b", 2), *deleted(), *sent("b", 3), *sent("b", 0, queue=1)).verdict == "ok"


@pytest.mark.behaviour("TCM-31", "CHK-05")
def test_deleted_topic_is_missing_until_next_send() -> None:
    def looked(answer: dict[str, Any]) -> list[Line]:
        return call("c", "topic_config", {"to": "broker-a", "fields": {"topic": "T"}}, answer)

    body = b64encode(json.dumps({"readQueueNums": 4, "writeQueueNums": 4, "perm": 6, "order": False}).encode()).decode()
    gone, there = looked({"code": 17}), looked({"code": 0, "body": body})
    assert verdict(*sent("a", 0), *there, *deleted(), *gone, *sent("a", 0), *there).verdict == "ok"
    assert verdict(*sent("a", 0), *deleted(), *there).verdict == "illegal"
    assert verdict(*sent("a", 0), *deleted(code=1), *gone).verdict == "illegal"


@pytest.mark.behaviour("SEND-21", "HAZ-18")
def test_send_may_find_topic_deleted() -> None:
    under_way: list[Line] = [("invoke", "b", "send", send())]
    error: list[Line] = [("ok", "b", "send", {"code": 1, "remark": "java.lang.NullPointerException", "fields": {}})]
    assert verdict(*sent("a", 0), *under_way, *deleted(), *error).verdict == "ok"
    assert verdict(*sent("a", 0), *under_way, *error, *deleted()).verdict == "illegal"
    stored: list[Line] = [("ok", "b", "send", place(0, 0))]
    assert verdict(*sent("a", 0), *under_way, *deleted(), *stored).verdict == "ok"


@pytest.mark.behaviour("TCM-31")
@pytest.mark.parametrize(
    ("topic", "profile", "refused"), [("TBW102", "P494", True), ("a b", "P494", True), ("a b", "P533", False), ("U", "P494", False)]
)
def test_only_topics_of_users_are_deleted(topic: str, profile: str, refused: bool) -> None:
    code = 29 if profile == "P533" else 1
    assert verdict(*deleted(topic, code), profile=profile).verdict == ("ok" if refused else "illegal")
    assert verdict(*deleted(topic), profile=profile).verdict == ("illegal" if refused else "ok")


@pytest.mark.behaviour("TCM-31")
def test_without_timer_wheel_deletion_fails_after_deleting() -> None:
    failed = deleted(code=1, remark='Cannot invoke "org.apache.rocketmq.store.timer.TimerMessageStore.getTimerMetrics()"')
    assert verdict(*sent("a", 0), *failed, *sent("a", 0), profile="P533").verdict == "ok"
    assert verdict(*sent("a", 0), *failed, *sent("a", 0)).verdict == "illegal"


@pytest.mark.behaviour("TCM-31")
def test_queues_of_deleted_topic_may_have_begun_anywhere() -> None:
    """The history does not show how far they were."""
    table = {"TBW102": (8, 8, 7), "T": (4, 4, 6)}
    known = {name: {"readQueueNums": r, "writeQueueNums": w, "perm": p} for name, (r, w, p) in table.items()}
    there: Line = ("state", "broker-a", "topics", {"topics": known})
    for after, expected in (((0, 1), "ok"), ((8, 9), "ok"), ((9,), "illegal"), ((8, 0), "illegal")):
        assert verdict(there, *sent("a", 7), *deleted(), *(x for o in after for x in sent("b", o))).verdict == expected, after
    assert verdict(there, *deleted(), *sent("b", 7), *sent("b", 8)).verdict == "ok"
    assert verdict(there, *deleted(), *sent("b", 7), *sent("b", 7)).verdict == "illegal"


def test_queue_end_after_deletion_is_not_judged() -> None:
    """Earlier entries may follow."""
    looked = call("a", "max_offset", {"to": "broker-a", "fields": {"topic": "T", "queueId": "0"}}, {"code": 0, "fields": {"offset": "7"}})
    judged = verdict(*sent("a", 0), *deleted(), *looked)
    assert (judged.verdict, judged.out_of_reach) == ("ok", {"the ends of queues after a deletion": 1})


def test_how_far_queue_is() -> None:
    question = {"to": "broker-a", "fields": {"topic": "T", "queueId": "0"}}
    for offset, expected in ((0, "ok"), (1, "ok"), (2, "illegal")):
        looked = call("a", "max_offset", question, {"code": 0, "fields": {"offset": str(offset)}})
        assert verdict(*sent("a", 0), *looked).verdict == expected


def test_end_of_queue_does_not_go_back() -> None:
    """A response may be smaller than another only for overlapping queries, or for different ends."""
    question = {"to": "broker-a", "fields": {"topic": "T", "queueId": "0"}}
    inflight = {"to": "broker-a", "fields": {"topic": "T", "queueId": "0", "committed": "false"}}

    def end(offset: int) -> dict[str, Any]:
        return {"code": 0, "fields": {"offset": str(offset)}}

    lines = [*sent("a", 0), *sent("a", 1), *call("b", "max_offset", question, end(2))]
    assert verdict(*lines, *call("c", "max_offset", question, end(2))).verdict == "ok"
    judged = verdict(*lines, *call("c", "max_offset", question, end(1)))
    assert [(finding.seq, finding.refused.specified) for finding in judged.findings] == [(7, "has answered 2 for queue 0 before")]
    assert "never goes back" in judged.findings[0].refused.sentence
    assert verdict(*sent("a", 0), *call("b", "max_offset", inflight, end(1)), *call("b", "max_offset", question, end(0))).verdict == "ok"
    at_once: list[Line] = [("invoke", "b", "max_offset", question), *call("c", "max_offset", question, end(1))]
    assert verdict(*sent("a", 0), *at_once, ("ok", "b", "max_offset", end(0))).verdict == "ok"


def test_slow_judgement_is_undecided_by_name() -> None:
    """The unanswered updates may have taken effect in any order, or never."""
    lines = sent("a", 0)
    for k in range(12):
        counts = {"readQueueNums": str(k), "writeQueueNums": str(k), "perm": "6"}
        lines.append(("invoke", f"c{k}", "update_topic", {"to": "broker-a", "fields": {"topic": "T", **counts}}))
    lines += call("b", "topic_config", {"to": "broker-a", "fields": {"topic": "T"}}, {"code": 17})
    events = [Event(k, *line) for k, line in enumerate(lines)]
    header = Header({"settings": {"autoCreateTopicEnable": "true"}})
    verdict = judge_history(header, events, "P494", seconds=0.02)
    said = "0.02 seconds are spent at event 15 (topic_config of b), with 12 requests open that have no answer"
    assert (verdict.verdict, verdict.unknown) == ("unknown", (f"T at broker-a: after 1 answers, {said}",))


@pytest.mark.parametrize(("profile", "made"), [("P40", True), ("P45", True), ("P49", False)])
def test_schedule_topic_exists_at_start_since_4_9(profile: str, made: bool) -> None:
    """In earlier releases the first send creates it, with as many queues as the send requests (TCM-03)."""
    entry = {"readQueueNums": 4, "writeQueueNums": 4, "perm": 6}
    look: Line = ("state", "broker-a", "topics", {"topics": {"SCHEDULE_TOPIC_XXXX": entry}})
    asked = send("SCHEDULE_TOPIC_XXXX", defaultTopicQueueNums="4")
    judged = verdict(*call("a", "send", asked, place(0, 0)), look, profile=profile)
    assert (judged.verdict == "ok") is made


def test_topic_created_by_no_request_is_finding() -> None:
    entry = {"readQueueNums": 4, "writeQueueNums": 4, "perm": 6}

    def look(*names: str) -> Line:
        return ("state", "broker-a", "topics", {"topics": {**dict.fromkeys(names, entry), "TBW102": {**entry, "perm": 7}}})

    judged = verdict(look("U"), *sent("a", 0, queue=0), look("T", "U"), look("T", "U", "V"), look("T", "V"))
    assert [(finding.seq, finding.part, finding.refused.specified) for finding in judged.findings] == [
        (4, "V at broker-a", "has topic unknown")
    ]
    assert "made by a request that names it" in judged.findings[0].refused.sentence
    for own in ("RMQ_SYS_TRACE_TOPIC", "%DLQ%g", "DefaultCluster_REPLY_TOPIC", "rmq_sys_REVIVE_LOG_DefaultCluster"):
        assert verdict(*sent("a", 0), look("T", own)).verdict == "ok"
    heartbeat = call("b", "heartbeat", {"to": "broker-a"}, {"code": 0})
    assert verdict(*sent("a", 0), look("T", "%RETRY%g"), *heartbeat).verdict == "illegal"
    assert verdict(*sent("a", 0), *heartbeat, look("T", "%RETRY%g")).verdict == "ok"
    assert verdict(*sent("a", 0), *call("b", "create_many", {"to": "broker-a"}, {"code": 0}), look("T", "V")).verdict == "ok"


def test_existing_queue_begins_at_messages_not_at_dispatcher() -> None:
    there = {"T": {"readQueueNums": 4, "writeQueueNums": 4, "perm": 6}}
    question = {"to": "broker-a", "fields": {"topic": "T", "queueId": "0"}}
    fifth, ninth = (call("a", "max_offset", question, {"code": 0, "fields": {"offset": offset}}) for offset in ("5", "9"))
    looked: list[Line] = [("state", "broker-a", "topics", {"topics": there}), *fifth]
    assert verdict(*looked, *sent("a", 7)).verdict == "ok"
    assert verdict(*looked, *sent("a", 4)).verdict == "illegal"
    assert verdict(*looked, *ninth).verdict == "ok"


@pytest.mark.parametrize("more", [{"sysFlag": 4}, {"properties": "DELAY\x013\x02"}, {"properties": "TRAN_MSG\x01true\x02"}])
def test_records_stored_elsewhere_do_not_locate_queue_begin(more: dict[str, object]) -> None:
    """The topic already existed; prepared messages count nowhere, the others in the broker's own queues."""
    there = {"T": {"readQueueNums": 4, "writeQueueNums": 4, "perm": 6}}
    lines: list[Line] = [("state", "broker-a", "topics", {"topics": there}), *sent("a", 17)]
    lines += call("a", "send", send(**more), place(0, 0))
    assert verdict(*lines, *sent("a", 18)).verdict == "ok"
    assert verdict(*lines, *sent("a", 20)).verdict == "illegal"


def test_unreported_switch_has_either_value() -> None:
    lines = call("b", "send", send(), {"code": 17, "fields": {}})
    events = [Event(k, *line) for k, line in enumerate(lines)]
    assert judge_history(Header(), events, "P494").verdict == "ok"
    assert verdict(*lines).verdict == "illegal"


def test_bound_is_reported() -> None:
    header, events = contend(Load(events=100, topics=1), 0)
    verdict = judge_history(header, events, "P49", limit=5)
    assert verdict.verdict == "unknown"
    assert "5 expanded states are reached at event 13" in verdict.unknown[0]


def test_interruption_keeps_judged_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    header, events = contend(Load(events=200, topics=3), 0)
    tried = histories._search_settings
    calls = iter([True, False])

    def stop(*args: Any) -> Any:
        if not next(calls):
            raise KeyboardInterrupt
        return tried(*args)

    monkeypatch.setattr(histories, "_search_settings", stop)
    verdict = judge_history(header, events, "P49")
    assert verdict.interrupted and verdict.verdict == "unknown"
    assert verdict.explained > 0 and len(verdict.unknown) == 2


def test_events_that_are_no_requests_are_named() -> None:
    with pytest.raises(TraceError, match="event 0: does not say whom it asks"):
        verdict(("invoke", "a", "send", {}))
    with pytest.raises(TraceError, match="event 0: holds no topics"):
        verdict(("state", "broker-a", "topics", {"topics": {"T": {"perm": 6}}}))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("x", "'origin.settings' is 'x'"),
        ({"autoCreateTopicEnable": "yes"}, "'autoCreateTopicEnable' is 'yes'"),
        ({"autoCreateTopicEnable": 1}, "'autoCreateTopicEnable' is 1"),
        ({"brokerPermission": "six"}, "'brokerPermission' is 'six'"),
        ({"brokerPermission": 16}, "'brokerPermission' is 16"),
    ],
)
def test_settings_that_no_broker_has_are_named(settings: object, said: str) -> None:
    header, events = contend(Load(events=20))
    with pytest.raises(TraceError, match=f"header: {said}; give "):
        judge_history(replace(header, origin={"settings": settings}), events, "P49")


@pytest.mark.parametrize("settings", [None, {}, {"autoCreateTopicEnable": None, "brokerPermission": None}, {"autoCreateTopicEnable": True}])
def test_settings_may_be_unsaid(settings: object) -> None:
    header, events = contend(Load(events=20))
    assert judge_history(replace(header, origin={"settings": settings}), events, "P49").verdict == "ok"
