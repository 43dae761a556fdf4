"""Offset commits (request 15) and queries (14) of groups in concurrent histories: the judge equals an enumeration of all orders.

It also finds brokers that store other offsets.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from many_histories import assert_judged_as_alone

from nonempty import nonempty
from proportion import in_proportion
from rocketproof_impl.broker.offsets import ConsumerOffsetManager
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_traces.checker.group_offsets import changes_offsets_unseen
from rocketproof_traces.checker.histories import HistoryVerdict, judge_history
from rocketproof_traces.history import Event, Header

BROKER = "broker-a"
NOT_FOUND, NO_GROUP, NO_TOPIC = 22, 26, 17
Line = tuple[str, int, str, dict[str, Any]]
"""Type, client, op, and what is asked or answered."""


class Told:
    """A history line by line: `+` begins a request, `-` ends one."""

    def __init__(self, topics: dict[str, Any] | None = None) -> None:
        self.events: list[Event] = []
        if topics is not None:
            self._add("state", BROKER, "topics", {"topics": topics})

    def _add(self, type_: str, process: str, op: str, value: dict[str, Any]) -> Told:
        self.events.append(Event(len(self.events), type_, process, op, value, None))
        return self

    def begins(self, client: int, op: str, offset: int | None = None, *, group: str = "g", topic: str = "T", queue: int = 0) -> Told:
        fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue)} | ({} if offset is None else {"commitOffset": str(offset)})
        return self._add("invoke", f"client {client}", op, {"to": BROKER, "fields": fields})

    def ends(self, client: int, op: str, offset: int | None = None, code: int = 0) -> Told:
        fields = {} if offset is None else {"offset": str(offset)}
        return self._add("ok", f"client {client}", op, {"code": code, "fields": fields})

    def nobody_knows(self, client: int, op: str) -> Told:
        return self._add("info", f"client {client}", op, {})

    def asks(self, op: str, answer: dict[str, Any], **fields: str) -> Told:
        self._add("invoke", "other", op, {"to": BROKER, "fields": fields})
        return self._add("ok", "other", op, answer)

    def judged(self, profile: str = "P49") -> HistoryVerdict:
        return judge_history(Header({}), self.events, profile)


def overlapping() -> Told:
    """Two clients commit offsets concurrently."""
    return Told().begins(0, "commit", 1).begins(1, "commit", 2).ends(0, "commit").ends(1, "commit").begins(0, "progress")


@pytest.mark.parametrize(("offset", "verdict"), [(1, "ok"), (2, "ok"), (0, "illegal"), (3, "illegal")])
def test_concurrent_commits_count_in_either_order(offset: int, verdict: str) -> None:
    judged = overlapping().ends(0, "progress", offset).judged()
    assert judged.verdict == verdict and not judged.out_of_reach
    if verdict == "ok":
        assert judged.explained == 3 and "commit_offset" in judged.actions


def test_second_query_never_decreases() -> None:
    first = overlapping().ends(0, "progress", 1).begins(1, "progress")
    assert first.ends(1, "progress", 2).judged().verdict == "illegal"


@pytest.mark.parametrize("offset", [0, 5])
def test_commit_with_lost_response_is_optional(offset: int) -> None:
    lost = Told().begins(0, "commit", 5).nobody_knows(0, "commit").begins(1, "progress")
    assert lost.ends(1, "progress", offset).judged().verdict == "ok"


def test_finding_states_where_group_continues() -> None:
    finding = overlapping().ends(0, "progress", 7).judged().findings[0]
    assert (finding.op == "progress" and "answers offset 1" in str(finding)) or "answers offset 2" in str(finding)


def test_groups_and_queues_are_independent() -> None:
    told = Told().begins(0, "commit", 4).ends(0, "commit")
    for more in ({"group": "h"}, {"queue": 1}, {"topic": "U"}):
        other = Told().begins(0, "commit", 4).ends(0, "commit").begins(0, "progress", **more)  # type: ignore[arg-type]
        assert other.ends(0, "progress", 4).judged().verdict == "illegal"
    assert told.begins(0, "progress").ends(0, "progress", 4).judged().verdict == "ok"


def test_earlier_commit_counts_until_group_commits() -> None:
    there = {"T": {"readQueueNums": 4, "writeQueueNums": 4, "perm": 6}}
    seen = Told(there).begins(0, "progress").ends(0, "progress", 9)
    assert seen.judged().verdict == "ok"
    seen.begins(0, "commit", 3).ends(0, "commit").begins(0, "progress")
    assert seen.ends(0, "progress", 9).judged().verdict == "illegal"


@pytest.mark.behaviour("TCM-31")
@pytest.mark.parametrize(("profile", "answer"), [("P49", (4, 0)), ("P533", (None, NOT_FOUND))])
def test_later_releases_drop_offsets_with_topic(profile: str, answer: tuple[int | None, int]) -> None:
    def told() -> Told:
        made = Told().asks("update_topic", {"code": 0}, topic="T", readQueueNums="1", writeQueueNums="1", perm="6")
        made.begins(0, "commit", 4).ends(0, "commit").asks("delete_topic", {"code": 0}, topic="T")
        return made.begins(0, "progress")

    for offset, code in ((4, 0), (None, NOT_FOUND)):
        verdict = told().ends(0, "progress", offset, code).judged(profile).verdict
        assert verdict == ("ok" if (offset, code) == answer else "illegal")


def test_later_releases_refuse_offset_of_unknown_topic_or_group() -> None:
    assert Told().begins(0, "commit", 1).ends(0, "commit", code=NO_TOPIC).judged("P533").verdict == "ok"
    assert Told().begins(0, "commit", 1).ends(0, "commit", code=NO_GROUP).judged("P533").verdict == "ok"
    assert Told().begins(0, "commit", 1).ends(0, "commit").judged("P533").verdict == "illegal"
    assert Told().begins(0, "commit", 1).ends(0, "commit", code=NO_TOPIC).judged("P49").verdict == "illegal"


@pytest.mark.parametrize(
    ("op", "fields"),
    [
        ("pull", {"topic": "T", "sysFlag": "1"}),
        ("delete_group", {"groupName": "g", "removeOffset": "true"}),
        ("other", {}),
        ("commit", {"topic": "T@a", "consumerGroup": "g", "queueId": "0", "commitOffset": "1"}),
    ],
)
def test_offsets_that_others_may_have_committed_are_not_judged(op: str, fields: dict[str, str]) -> None:
    assert changes_offsets_unseen(op, fields)
    verdict = overlapping().ends(0, "progress", 2).asks(op, {"code": 0}, **fields).begins(0, "progress").ends(0, "progress", 77).judged()
    assert verdict.verdict == "ok" and verdict.out_of_reach["offsets of groups of which others may have told"] >= 1


def test_many_histories_are_judged_as_each_alone(tmp_path: Path) -> None:
    unheard = overlapping().ends(0, "progress", 2).asks("pull", {"code": 0}, topic="T", sysFlag="1").begins(0, "progress")
    cases = {"right": overlapping().ends(0, "progress", 1), "wrong": overlapping().ends(0, "progress", 3)}
    cases["unheard"] = unheard.ends(0, "progress", 77)
    assert_judged_as_alone(tmp_path, Header({}), {name: case.events for name, case in cases.items()})


# All orders


def walk(chance: random.Random, steps: int, *, lies: bool) -> list[Line]:
    """Generate a history of one queue: each request takes effect between its begin and end; a lie changes one response."""
    lines, told, under_way = list[Line](), 0, dict[int, list[Any]]()
    for _ in range(steps):
        client = chance.randrange(3)
        if client not in under_way:
            op = chance.choice(("commit", "progress"))
            offset = chance.randrange(1, 4)
            under_way[client] = [op, offset, None]
            lines.append(("invoke", client, op, {"offset": offset} if op == "commit" else {}))
        elif under_way[client][2] is None:
            op, offset, _ = under_way[client]
            told = offset if op == "commit" else told
            under_way[client][2] = told
        else:
            op, _, seen = under_way.pop(client)
            lines.append(("ok", client, op, {} if op == "commit" else {"offset": seen}))
    answers = [k for k, line in enumerate(lines) if "offset" in line[3] and line[0] == "ok"]
    if lies and answers:
        k = chance.choice(answers)
        lines[k] = (*lines[k][:3], {"offset": chance.randrange(4)})
    return lines


def explained(lines: Sequence[Line]) -> bool:
    """Return whether a register that begins at 0 explains the lines. All positions between begin and end of each query are tried."""

    def go(at: int, told: int, waiting: tuple[tuple[int, str, int, int | None], ...]) -> bool:
        for k, (client, op, offset, seen) in enumerate(waiting):
            if seen is None:
                after = offset if op == "commit" else told
                if go(at, after, (*waiting[:k], (client, op, offset, after), *waiting[k + 1 :])):
                    return True
        if at == len(lines):
            return True
        type_, client, op, value = lines[at]
        if type_ == "invoke":
            return go(at + 1, told, (*waiting, (client, op, value.get("offset", -1), None)))
        mine = next(call for call in waiting if call[0] == client)
        rest = tuple(call for call in waiting if call is not mine)
        return mine[3] is not None and (op == "commit" or mine[3] == value["offset"]) and go(at + 1, told, rest)

    return go(0, 0, ())


def as_told(lines: Sequence[Line]) -> Told:
    told = Told()
    for type_, client, op, value in lines:
        if type_ == "invoke":
            told.begins(client, op, value.get("offset"))
        else:
            told.ends(client, op, value.get("offset"))
    return told


@pytest.mark.parametrize("lies", [False, True])
def test_judge_agrees_with_enumeration_of_all_orders(lies: bool) -> None:
    verdicts = set()
    for seed in range(in_proportion(150)):
        lines = walk(random.Random(seed), 24, lies=lies)
        expected = "ok" if explained(lines) else "illegal"
        assert as_told(lines).judged().verdict == expected, f"seed {seed}"
        verdicts.add(expected)
    assert verdicts == ({"ok", "illegal"} if lies else {"ok"})


# Brokers


def answered(profile: str, seed: int, calls: int = 40) -> Told:
    """Return a simulated broker's responses to three clients with overlapping requests."""
    cluster, chance, told = Cluster(0, profile=PROFILES[profile]), random.Random(seed), Told()
    cluster.add(BrokerSettings(broker_name=BROKER, name_servers=(NAME_SERVER,)))
    under_way: dict[int, Any] = {}
    for _ in range(3 * calls):
        client = chance.randrange(3)
        if client not in under_way:
            op, offset, queue = chance.choice(("commit", "progress")), chance.randrange(5), chance.randrange(2)
            under_way[client] = (op, {"queue": queue, **({"offset": offset} if op == "commit" else {})})
            told.begins(client, op, offset if op == "commit" else None, queue=queue)
        elif isinstance(under_way[client], tuple):
            op, given = under_way[client]
            under_way[client] = [op, cluster.call(plain(op, topic="T", group="g", **given))]
        else:
            op, answer = under_way.pop(client)
            told.ends(
                client, op, *((int(answer.ext_fields["offset"]),) if (answer.ext_fields or {}).get("offset") else ()), code=answer.code
            )
    return told


def brokers(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield brokers that store offsets incorrectly, one after the other."""
    real = ConsumerOffsetManager.commit

    def largest(self: ConsumerOffsetManager, group: str, topic: str, queue_id: int, offset: int) -> None:
        real(self, group, topic, queue_id, max(offset, self.query(group, topic, queue_id) or 0))

    def of_any_queue(self: ConsumerOffsetManager, group: str, topic: str, queue_id: int, offset: int) -> None:
        real(self, group, topic, 0, offset)

    def of_the_first(self: ConsumerOffsetManager, group: str, topic: str, queue_id: int, offset: int) -> None:
        if self.query(group, topic, queue_id) is None:
            real(self, group, topic, queue_id, offset)

    for change in (largest, of_any_queue, of_the_first):
        monkeypatch.setattr(ConsumerOffsetManager, "commit", change)
        yield change.__name__


@pytest.mark.parametrize("profile", ["P45", "P49", "P533"])
def test_broker_responses_are_explained(profile: str) -> None:
    for seed in range(5):
        verdict = answered(profile, seed).judged(profile)
        assert verdict.verdict == "ok" and verdict.explained > 20 and not verdict.out_of_reach.keys() - {"no answer came"}


def test_broker_storing_other_offset_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for change in nonempty(brokers(monkeypatch)):
        assert answered("P49", 1).judged().verdict == "illegal", change
