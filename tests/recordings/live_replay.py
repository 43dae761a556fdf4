"""Replay a recording on a running broker: send the recorded requests over the wire and compare the responses.

Unlike a simulated cluster, a broker has its own address, draws its own queues, and delivers delayed messages at its own time. The replay
therefore first rewrites the recorded case to this broker's address, drawn queue and queue end. A drawn queue must belong to the topic. A
queue may have gained at most as many messages as are delayed or were committed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.judging.reference.cases import ReplayCase
from rocketproof_properties.judging.reference.comparison import FieldDifference, record_data
from rocketproof_properties.judging.reference.driver import CaseReplay
from rocketproof_properties.judging.reference.settings import OWN, SHARED
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol import fastjson
from rocketproof_protocol.codes import (
    END_TRANSACTION,
    GET_MAX_OFFSET,
    GET_ROUTEINFO_BY_TOPIC,
    SUCCESS,
)
from rocketproof_protocol.flags import COMMIT, NOT, TRANSACTION_BITS
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE
from rocketproof_traces.history.exchange import places

READS: Final = (GET_ROUTEINFO_BY_TOPIC, GET_MAX_OFFSET)
LOOKS: Final = 100
"""How often to ask for what is only read until it is as recorded: registrations and consume queues lag behind."""
POLL_MILLIS: Final = 100

Queue = tuple[str, int]


class Queues:
    """The number of messages in the queues of this broker, as far as observed.

    `committed` messages have entered a queue unobserved, `delayed` ones may have.
    """

    def __init__(self) -> None:
        self._next: Counter[Queue] = Counter()
        self._committed: Counter[Queue] = Counter()
        self._delayed: Counter[Queue] = Counter()

    def explains(self, queue: Queue, offset: int) -> bool:
        """Return whether the queue may have held `offset` messages."""
        unseen = offset - self._next[queue] - self._committed[queue]
        return 0 <= unseen <= self._delayed[queue]

    def seen(self, queue: Queue, held: int) -> None:
        """Record that the queue holds `held` messages."""
        unseen = held - self._next[queue] - self._committed[queue]
        self._delayed[queue] = max(0, self._delayed[queue] - max(0, unseen))
        self._committed[queue] = 0
        self._next[queue] = held

    def delays(self, queue: Queue) -> None:
        self._delayed[queue] += 1

    def commits(self, queue: Queue) -> None:
        self._committed[queue] += 1


class LiveReplay(CaseReplay):
    """The cases of one `cfg` on a broker started for them with the settings of that `cfg`."""

    def __init__(self, deployment: Deployment, broker: str, cases: Sequence[ReplayCase]) -> None:
        super().__init__(deployment, broker, cases)
        self._address = deployment.brokers[broker]
        self._host = next((case.answer.host for case in cases if case.answer.host is not None), None)
        self._queues = Queues()
        self._halves: dict[int, Queue] = {}  # recorded position of a half message to the queue it is meant for

    def perform(self, case: ReplayCase) -> Iterator[FieldDifference]:
        """Perform once. A read-only request is repeated until nothing differs, up to a limit."""
        found = list(self.compare(case))
        for _ in range(LOOKS if case.code in READS else 0):
            if not found:
                break
            self._deployment.act("time", millis=POLL_MILLIS)
            found = list(self.compare(case))
        yield from found

    def topic(self, name: str) -> TopicConfig | None:
        answer = self.ask(plain("topics"))
        table, _ = table_from_data(fastjson.loads((answer and answer.body) or b"{}"))
        return table.get(name)

    # Moving a case to this broker

    def expected(self, case: ReplayCase, answer: Command | None, stored: Sequence[bytes | None]) -> tuple[ReplayCase, int]:
        """Rewrite the expected response, and keep what it reveals about queues."""
        found = places(answer.ext_fields or {}) if answer is not None else []
        moved = case if answer is None else self._moved(case, answer, [None if data is None else record_data(data) for data in stored])
        return moved, found[0] - case.positions[0] if found and case.positions else 0

    def _moved(self, case: ReplayCase, answer: Command, found: Sequence[Mapping[str, Any] | None]) -> ReplayCase:
        fields = dict(case.answer.fields)
        answered = answer.ext_fields or {}
        if "msgId" in fields:
            fields["msgId"] = ",".join(_with_host(id_, self._address) for id_ in fields["msgId"].split(","))
        drawn = self._drawn(case, answered)
        if drawn is not None:
            fields["queueId"] = str(drawn)
        stored = [self._moved_record(case, entry, record, drawn) for entry, record in zip(case.stored or (), found, strict=False)]
        if stored and "queueOffset" in stored[0] and "queueOffset" in fields:
            fields["queueOffset"] = str(stored[0]["queueOffset"])
        if case.code == GET_MAX_OFFSET and "offset" in answered:
            queue = (case.topic, int(case.fields["queueId"]))
            if self._queues.explains(queue, int(answered["offset"])):
                self._queues.seen(queue, int(answered["offset"]))
                fields["offset"] = answered["offset"]
        if case.code == END_TRANSACTION and answer.code == SUCCESS and int(case.fields["commitOrRollback"]) == COMMIT:
            self._queues.commits(self._halves[int(case.fields["commitLogOffset"])])
        moved = replace(case, answer=replace(case.answer, fields=fields), body=self._moved_body(case.body))
        return replace(moved, stored=(*stored, *(case.stored or ())[len(stored) :])) if case.stored is not None else moved

    def _drawn(self, case: ReplayCase, answered: Mapping[str, str]) -> int | None:
        """Return the queue that the broker drew, if it had to draw one of the topic's queues."""
        config = self.topic(case.topic)
        if case.random_queue is None or config is None or "queueId" not in answered:
            return None
        return int(answered["queueId"]) if 0 <= int(answered["queueId"]) < config.write_queue_nums else None

    def _moved_record(
        self, case: ReplayCase, entry: Mapping[str, Any], found: Mapping[str, Any] | None, drawn: int | None
    ) -> dict[str, Any]:
        """Rewrite a recorded record to the drawn queue and its current end."""
        moved = dict(entry)
        if found is None or "topic" not in entry:
            return moved
        properties = moved["props"] = dict(entry["props"])
        if drawn is not None and properties.get("REAL_QID") == str(case.random_queue):
            properties["REAL_QID"] = str(drawn)
        elif drawn is not None and entry["queueId"] == case.random_queue:
            moved["queueId"] = drawn
        queue = (entry["topic"], moved["queueId"])
        if int(entry["sysFlag"]) & TRANSACTION_BITS in (NOT, COMMIT):
            if self._queues.explains(queue, found["queueOffset"]):
                moved["queueOffset"] = found["queueOffset"]
            self._queues.seen(queue, found["queueOffset"] + 1)
        if entry["topic"] == SCHEDULE and "REAL_TOPIC" in properties:
            self._queues.delays((properties["REAL_TOPIC"], int(properties["REAL_QID"])))
        if entry["topic"] == HALF_TOPIC and "REAL_TOPIC" in properties:
            self._halves[entry["physOffset"]] = (properties["REAL_TOPIC"], int(properties["REAL_QID"]))
        return moved

    def _moved_body(self, body: Any) -> Any:
        """Rewrite a route to this broker's address."""
        if body is None or self._host is None:
            return body
        return json.loads(json.dumps(body).replace(f"{self._host[0]}:{self._host[1]}", self._address))


def started_with(cfg: str) -> dict[str, str]:
    """Return the settings that start a broker for a `cfg`, except its address."""
    return {**SHARED, **OWN.get(cfg, {})}


def _with_host(msg_id: str, address: str) -> str:
    """Rewrite a message id to this broker's address (APP-02)."""
    host, _, port = address.rpartition(":")
    return "".join(f"{int(part):02X}" for part in host.split(".")) + f"{int(port):08X}" + msg_id[16:] if len(msg_id) == 32 else msg_id
