"""Further cases of real brokers, in the format of the recordings.

They cover groups, send-backs at their limits, order topics, sizes, batches, delay levels and ended transactions. Later cases cover changes
of 5.x.

`python tests/recordings/further.py 4.9.4 further` records the former, with `later` the latter, into `tests/data`; `played` performs the
same requests on any recorder.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recorder import Recorder, batch

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.judging.reference.settings import OWN
from rocketproof_properties.programs.parts import NAME_SERVER
from rocketproof_protocol import codes, fastjson

SETTLES_MILLIS = 2500
"""What a dispatcher, a registration and a group of operation records take at most."""
SLOW = (codes.GET_MAX_OFFSET, codes.GET_ROUTEINFO_BY_TOPIC)


class RealRecorder(Recorder):
    """The recorder for a running release."""

    def __init__(self, cfg: str, version: str, running: Deployment) -> None:
        self.cfg, self.version, self.deployment, self.rows = cfg, version, running, []
        (self.part,) = running.brokers

    def now(self) -> float:
        return time.monotonic() * 1000

    def sleep(self, millis: int) -> None:
        time.sleep(millis / 1000)

    def topic(self, name: str) -> dict[str, Any] | None:
        answer = self.deployment.connect(self.part).ask(Command(codes.GET_ALL_TOPIC_CONFIG), 6.0)
        found: dict[str, dict[str, Any]] = fastjson.loads(answer.body or b"{}")["topicConfigTable"]
        return {key: value for key, value in found[name].items() if key != "topicName"} if name in found else None


def played(recorder: Recorder) -> None:
    (CASES | LATER)[recorder.cfg](Player(recorder))


class Player:
    """Requests by subject; a value of an earlier response is read from its row."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def send(self, topic: str, queue: int = 0, body: bytes = b"x", **letters: Any) -> int:
        """Send a message and return its log offset, -1 if refused."""
        return place(self.recorder.send(topic, queue, body, **letters))

    def batch(self, topic: str, count: int = 2, **letters: Any) -> int:
        items = batch(*((b"b%d" % number, "") for number in range(count)))
        return self.send(topic, body=items, **({"code": codes.SEND_BATCH_MESSAGE, "m": True} | letters))

    def back(self, offset: int, group: str = "gd", level: int = 0, **fields: Any) -> None:
        named = {"offset": offset, "group": group, "delayLevel": level, "unitMode": False, "originTopic": "w"}
        self.recorder.ask(codes.CONSUMER_SEND_MSG_BACK, named | fields)

    def group(self, name: str, retries: int = 16, queues: int = 1) -> None:
        body = json.dumps({"groupName": name, "retryMaxTimes": retries, "retryQueueNums": queues})
        self.recorder.ask(codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, text=body)

    def topic(self, name: str, *, order: bool = False, perm: int = 6, queues: int = 4, filtered: str = "SINGLE_TAG") -> None:
        fields = {"topic": name, "defaultTopic": "TBW102", "readQueueNums": queues, "writeQueueNums": queues, "perm": perm}
        fields |= {"topicFilterType": filtered, "topicSysFlag": 0, "order": order}
        self.recorder.ask(codes.UPDATE_AND_CREATE_TOPIC, fields)

    def end(self, offset: int, half: int, kind: int, group: str = "pg") -> None:
        fields = {"producerGroup": group, "tranStateTableOffset": half, "commitLogOffset": offset, "commitOrRollback": kind}
        self.recorder.ask(codes.END_TRANSACTION, fields | {"fromTransactionCheck": False, "msgId": "U", "transactionId": "U"})

    def reached(self, topic: str, queue: int = 0) -> None:
        self.recorder.sleep(SETTLES_MILLIS if isinstance(self.recorder, RealRecorder) else 100)
        self.recorder.ask(codes.GET_MAX_OFFSET, {"topic": topic, "queueId": queue})

    def offset(self, topic: str, group: str, queue: int, **fields: Any) -> None:
        self.recorder.ask(codes.QUERY_CONSUMER_OFFSET, {"consumerGroup": group, "topic": topic, "queueId": queue} | fields)

    def commit(self, topic: str | None, group: str | None, queue: int | None, offset: int | None) -> None:
        fields = {"consumerGroup": group, "topic": topic, "queueId": queue, "commitOffset": offset}
        self.recorder.ask(codes.UPDATE_CONSUMER_OFFSET, fields)

    def delete_group(self, name: str | None, **fields: Any) -> None:
        self.recorder.ask(codes.DELETE_SUBSCRIPTIONGROUP, {"groupName": name} | fields)

    def register(self, topic: str | None, queues: list[tuple[str, int, int]]) -> None:
        """Register a topic with its queues (broker, permission, number), and then query its route."""
        data = [
            {"brokerName": broker, "perm": perm, "readQueueNums": nums, "writeQueueNums": nums, "topicSysFlag": 0}
            for broker, perm, nums in queues
        ]
        text = json.dumps({"brokerDatas": [], "filterServerTable": {}, "queueDatas": data})
        self.recorder.ask(codes.REGISTER_TOPIC, {"topic": topic}, text=text)
        self.route(topic)

    def route(self, topic: str | None) -> None:
        self.recorder.ask(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})


def place(row: dict[str, Any]) -> int:
    ids = (row["response"]["extFields"] or {}).get("msgId", "")
    return int(ids[16:32], 16) if ids else -1


def props(**items: object) -> str:
    return "".join(f"{name}\1{value}\2" for name, value in items.items())


TRANSACTION = props(TRAN_MSG="true", PGROUP="pg", UNIQ_KEY="U")


def default_broker(p: Player) -> None:
    p.route("TBW102")
    p.route(None)
    backs(p)
    limits(p)
    sizes(p)
    batches(p)
    delays(p)
    transactions(p)
    p.topic("ordered", order=True)
    p.send("ordered", 1)
    p.topic("ordered", order=False, perm=4)
    p.send("ordered", 1)
    p.topic("odd", filtered="BOGUS")
    p.topic("odd", filtered="MULTI_TAG")
    p.send("odd", k=True)
    p.send("w", 9999999999)
    p.send("not there", f="a")


def backs(p: Player) -> None:
    """Send-backs of unknown groups and of known ones."""
    first = p.send("w")
    for level in (0, 1, -1, 18, 19, 0):
        p.back(first, level=level)
    p.back(1 << 40)
    p.back(first, unitMode=True, group="unit")
    p.back(first, group="CID_RMQ_SYS_x")
    p.group("silent", queues=0)
    p.back(first, group="silent")
    p.group("never", retries=0, queues=2)
    p.back(first, group="never")
    p.topic("%RETRY%shut", perm=4)
    p.back(first, group="shut")
    p.back(first, group="a b")
    for times in (2, 3, 15, 16):
        old = p.send("w", 1, j=times)
        p.group("three", retries=3)
        p.back(old, group="three")
        p.back(old, group="three", maxReconsumeTimes=16)
        p.back(old, group="sixteen")
    p.back(p.send("w", 1, f=4))
    p.reached("%DLQ%three")
    p.reached("%DLQ%sixteen")
    p.reached("w", 1)


def limits(p: Player) -> None:
    """Messages that a client sends to retry topics."""
    for times in (0, 2, 3, 4):
        p.send("%RETRY%three", j=times)
    p.group("three", retries=5)
    for times in (4, 5, 6):
        p.send("%RETRY%three", j=times)
    p.send("%RETRY%three", j=2, l=2)
    p.send("%RETRY%three", j=3, l=2)
    p.send("%RETRY%three", j=9, l=2, i=props(DELAY=2))
    p.send("%RETRY%three", j=-1, l=-1)
    p.send("%RETRY%three", -1, j=9)
    p.send("%DLQ%three")
    p.send("%DLQ%nobody")
    p.reached("%DLQ%three")


def sizes(p: Player) -> None:
    """Properties and bodies around their limits."""
    for length in (32_640, 32_660, 32_680, 32_690, 32_700, 32_744, 32_745, 32_746, 32_767, 32_768, 40_000):
        p.send("w", i="K\1" + "v" * (length - 3) + "\2")
    p.send("w", i="K\1" + "é" * 16_350 + "\2")
    p.send("w", i="K\1" + "é" * 16_400 + "\2")
    p.send("w", body=bytes(1000))
    p.send("w", body=bytes(4_194_305))
    p.send("w", -1, body=bytes(4_194_305))
    p.send("w", body=b"")
    p.send("w")


def batches(p: Player) -> None:
    for count in (1, 2, 5):
        p.batch("w", count)
    p.batch("batched", 3, e=-1)
    p.batch("w", i=props(DELAY=1))
    p.batch("w", i=props(DELAY=-1))
    p.batch("w", f=4)
    p.batch("w", f=8)
    p.batch("w", i=TRANSACTION)
    p.batch("%RETRY%three")
    p.batch("w", m=False)
    p.batch("w", code=codes.SEND_MESSAGE_V2)
    p.send("w", code=codes.SEND_BATCH_MESSAGE)
    p.batch("w", e=7)
    p.reached("w")


def delays(p: Player) -> None:
    for level in (17, 18, 19, 2_147_483_647, 2_147_483_648, 0, -1, "x", "+16"):
        p.send("w", 2, i=props(DELAY=level))
    for flag in (4, 8, 12):
        p.send("w", 2, f=flag, i=props(DELAY=17))
    p.send("w", -1, i=props(DELAY=16))
    p.send("w", 7, i=props(DELAY=16))
    p.reached("SCHEDULE_TOPIC_XXXX", 17)
    p.reached("SCHEDULE_TOPIC_XXXX", 16)


def transactions(p: Player) -> None:
    """Half messages, ended in each way and twice."""
    for number in range(2):
        half = p.send("w", 3, f=4, i=TRANSACTION)
        for kind in ((8, 8, 12), (12, 8))[number]:
            p.end(half, number, kind)
    other = p.send("w", 3, i=TRANSACTION)
    p.end(other, 2, 8, group="another")
    p.end(other, 1, 8)
    p.end(1 << 40, 2, 8)
    p.end(other, 2, 0)
    p.end(other, 2, 8)
    p.send("w", 3, i=props(TRAN_MSG="yes"))
    p.send("w", 3, i=props(TRAN_MSG="TRUE", PGROUP="pg", DELAY=18))
    p.send("%RETRY%three", j=9, i=TRANSACTION)
    p.send("w", 7, i=TRANSACTION)
    p.reached("RMQ_SYS_TRANS_HALF_TOPIC")
    p.reached("w", 3)


def nothing_by_itself(p: Player) -> None:
    """A broker that creates neither topics nor groups."""
    p.route("TBW102")
    p.topic("w")
    first = p.send("w")
    p.back(first)
    p.send("%RETRY%gd")
    p.group("gd", retries=1)
    p.back(first)
    p.send("%RETRY%gd", j=0)
    p.send("%RETRY%gd", j=1)
    p.send("%RETRY%gd", j=2)
    p.back(first, group="CID_RMQ_SYS_x")
    p.back(first, group="TOOLS_CONSUMER")
    p.recorder.ask(codes.DELETE_SUBSCRIPTIONGROUP, {"groupName": "gd"})
    p.back(first)
    p.send("w", i=TRANSACTION)
    p.send("new")


def slave(p: Player) -> None:
    """A slave without a master."""
    p.route("TBW102")
    p.send("TBW102")
    p.send("a b")
    p.send("new", 1)
    p.send("new", 9)
    p.batch("new")
    p.send("new", i=TRANSACTION)
    p.send("%RETRY%gd", j=20)
    p.back(0)
    p.group("gd")
    p.topic("w")
    p.end(0, 0, 8)
    p.reached("new")
    p.route("new")


def waits(p: Player) -> None:
    """A SYNC_MASTER without a slave."""
    first = p.send("w")
    p.send("w", i=props(WAIT="false"))
    p.send("w", -1, i=props(DELAY=18))
    p.batch("w")
    p.back(first, level=18)
    half = p.send("w", i=TRANSACTION)
    p.end(half, 0, 8)
    p.send("w")
    p.reached("w")


def progress(p: Player) -> None:
    """Consumers' offsets, and deleted groups."""
    p.send("w")
    p.group("g")
    for topic, group, queue in (("not there", "g", 0), ("w", "nobody", 0), ("w", "g", 0), ("w", "g", 9)):
        p.offset(topic, group, queue)
    p.offset("w", "g", 0, setZeroIfNotFound=False)
    for topic, group, queue, offset in (
        ("not there", "g", 0, 1), ("w", "nobody", 0, 1), ("not there", "nobody", 0, 1), ("w", "a b", 0, 1), ("w", "g", 9, 5),
        ("", "g", 0, 1), (None, "g", 0, 1), ("w", None, 0, 1), ("w", "g", None, 1), ("w", "g", 0, None), ("w", "g", 0, 1),
    ):  # fmt: skip
        p.commit(topic, group, queue, offset)
    p.offset("w", "g", 0)
    p.offset("w", "nobody", 0)
    p.delete_group("g")
    p.offset("w", "g", 0)
    for field in ("removeOffset", "cleanOffset"):
        p.group("g")
        p.commit("w", "g", 0, 1)
        p.delete_group("g", **{field: True})
        p.offset("w", "g", 0)
    for name in ("g", "", None, "a b", "TOOLS_CONSUMER"):
        p.delete_group(name)
    p.group("h", retries=0)
    p.delete_group("h")
    p.back(p.send("w"), group="h")


def large(p: Player) -> None:
    """Batches above the body limit, and illegal fields of inner batches."""
    p.send("new", body=bytes(4_194_305), code=codes.SEND_BATCH_MESSAGE, m=True)
    p.send("new", -1, body=bytes(4_194_305), code=codes.SEND_BATCH_MESSAGE, m=True)
    p.send("new", 9, body=bytes(4_194_305), code=codes.SEND_BATCH_MESSAGE, m=True)
    p.send("new", body=bytes(4_194_305), code=codes.SEND_BATCH_MESSAGE, m=True, i=props(DELAY=1))
    p.send("new", body=bytes(4_194_305), code=codes.SEND_BATCH_MESSAGE, m=True, f=4)
    for text in (2, "x", ""):
        p.send("w", i=props(INNER_NUM=text))
    p.send("w", i=props(INNER_BASE=5))
    p.batch("w", i=props(INNER_NUM=2))
    p.send("w", f=64)
    p.send("w", f=128)
    p.batch("w", f=128)
    p.send("w", f=128, i=props(INNER_NUM=2))
    p.send("w", f=128 | 4, i=TRANSACTION)
    p.send("w")


def timers(p: Player) -> None:
    """Timed messages: their maximal delay, the property that counts, and the effect of a delay level."""
    for text in ("x", "", 259_201, 259_200, "+3000", 9_223_372_036_854_775_807):
        p.send("w", i=props(TIMER_DELAY_SEC=text))
    for text in ("x", -5, 0, 259_200_001, 3_000_000, 99_999_999_999_999_999_999):
        p.send("w", i=props(TIMER_DELAY_MS=text))
    for text in (1, "x", 9_999_999_999_999):
        p.send("w", i=props(TIMER_DELIVER_MS=text))
    p.send("w", i=props(TIMER_DELAY_SEC=3000, TIMER_DELAY_MS="x"))
    p.send("w", i=props(TIMER_DELAY_MS="x", TIMER_DELIVER_MS=1))
    for level in (18, 0, -1, "x"):
        p.send("w", i=props(TIMER_DELAY_SEC=3000, DELAY=level))
    p.send("w", i=props(TIMER_DELAY_SEC=3000, TIMER_OUT_MS=5))
    p.send("w", i=props(TIMER_OUT_MS=5))
    p.send("w", i=props(TIMER_DELAY_SEC=3000, UNIQ_KEY="U", TAGS="t", WAIT="false"))
    p.send("w", i=props(TIMER_DEL_UNIQKEY="k"))
    p.send("w", i=props(TIMER_DEL_UNIQKEY="k", TIMER_DELAY_MS=0))
    p.send("w", i=props(TIMER_DEL_UNIQKEY="k", TIMER_DELAY_SEC=3000))
    for flag in (4, 8, 12):
        p.send("w", f=flag, i=props(TIMER_DELAY_SEC=3000))
    p.send("w", i=props(TRAN_MSG="true", PGROUP="pg", TIMER_DELAY_SEC=3000))
    p.send("%RETRY%g", i=props(TIMER_DELAY_SEC=3000))
    p.send("w", -1, i=props(TIMER_DELAY_SEC=3000))
    p.batch("w", i=props(TIMER_DELAY_SEC=3000))
    p.send("rmq_sys_wheel_timer", i=props(TIMER_DELAY_SEC=3000))
    p.send("rmq_sys_wheel_timer", i=props(TIMER_OUT_MS=9_999_999_999_999, REAL_TOPIC="w", REAL_QID=1))
    p.recorder.ask(codes.DELETE_TOPIC_IN_BROKER, {"topic": "not there"})
    p.reached("w")
    p.reached("rmq_sys_wheel_timer")


def no_timers(p: Player) -> None:
    """The timer wheel is off."""
    p.send("w", i=props(TIMER_DELAY_SEC=3000))
    p.send("w", i=props(TIMER_DELAY_SEC="x"))
    p.send("w", i=props(TIMER_DELAY_SEC=3000, DELAY=18))
    p.batch("w", i=props(TIMER_DELAY_SEC=3000))
    p.recorder.ask(codes.DELETE_TOPIC_IN_BROKER, {"topic": "not there"})


def administered_slave(p: Player) -> None:
    """Requests of administrators and consumers to a slave."""
    p.group("g")
    p.topic("w")
    p.commit("w", "g", 0, 1)
    p.offset("w", "g", 0)
    p.delete_group("g")
    p.recorder.ask(codes.DELETE_TOPIC_IN_BROKER, {"topic": "w"})


def registered(p: Player) -> None:
    """Automatic creation is switched off at run time, and a client registers topics in a broker's name."""
    p.route("TBW102")
    p.recorder.ask(codes.UPDATE_BROKER_CONFIG, {}, text="autoCreateTopicEnable=false")
    p.send("not there")
    p.route("TBW102")
    p.topic("made")
    p.route("TBW102")
    p.send("%RETRY%g")
    p.recorder.sleep(SETTLES_MILLIS)
    p.route("TBW102")
    for topic, queues in (
        ("one", [("broker-a", 6, 4)]), ("one", [("broker-a", 4, 2)]), ("two", [("nobody", 6, 4)]), ("three", []),
        ("one", [("nobody", 6, 4), ("broker-a", 6, 8)]), ("one", [("broker-a", 2, 9), ("nobody", 6, 4)]),
        ("five", [("broker-a", 6, 4), ("nobody", 6, 4)]), (None, [("broker-a", 6, 4)]),
    ):  # fmt: skip
        p.register(topic, queues)


CASES: dict[str, Callable[[Player], None]] = {"A": default_broker, "N": nothing_by_itself, "L": slave, "M": waits}
LATER: dict[str, Callable[[Player], None]] = {
    "P": progress,
    "B": large,
    "T": timers,
    "W": no_timers,
    "S": administered_slave,
    "R": registered,
}


def main(version: str, which: str) -> None:
    rows = []
    for cfg in {"further": CASES, "later": LATER}[which]:
        with Apache(version).open(Setup(settings=OWN.get(cfg, {}))) as running:
            recorder = RealRecorder(cfg, version, running)
            played(recorder)
            rows += recorder.rows
    path = Path(__file__).parents[1] / "data" / f"{which}-{version}.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(), mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])

__all__ = ["NAME_SERVER", "RealRecorder", "played"]
