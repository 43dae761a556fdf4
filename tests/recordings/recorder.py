"""Record the responses of a simulated broker in the recordings' format, without bodies and long values.

Between two cases unrecorded time passes, in which delayed messages are delivered.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.topic import DataVersion, table_to_data
from rocketproof_properties.brokers.simulated import SimulatedDeployment
from rocketproof_properties.judging.reference.comparison import record_data
from rocketproof_properties.judging.reference.settings import settings_of
from rocketproof_properties.programs.parts import NAME_SERVER
from rocketproof_properties.programs.requests import batch_item
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol import fastjson
from rocketproof_protocol.codes import GET_ROUTEINFO_BY_TOPIC, REGISTER_TOPIC, SEND_BATCH_MESSAGE, SEND_MESSAGE_V2

CLIENT_SECONDS = 6.0
POLL_MILLIS = 100
NOT_KEPT = ("bodyCRC", "bornTimestamp", "storeHost")
"""What recordings leave out of a record."""


class Recorder:
    """One broker of a `cfg`, and the rows of its requests."""

    def __init__(self, cfg: str = "A", *settings: str, profile: str = "P494", seed: int = 0) -> None:
        self.cfg, self.version = cfg, "4.9.4"
        self.cluster = Cluster(0, profile=profile, seed=seed)
        node = self.cluster.add(settings_of(cfg, (), {}, settings))
        self.broker = node.running
        self.deployment = SimulatedDeployment(self.cluster)
        (self.part,) = self.deployment.brokers
        self.rows: list[dict[str, Any]] = []

    def ask(self, code: int, fields: dict[str, Any], body: bytes = b"", *, text: str | None = None) -> dict[str, Any]:
        """Perform one case; a text is recorded, a body is not."""
        data = body if text is None else text.encode()
        request = Command(code, {name: _wire(value) for name, value in fields.items() if value is not None}, data or None)
        began = self.now()
        to = NAME_SERVER if code in (GET_ROUTEINFO_BY_TOPIC, REGISTER_TOPIC) else self.part
        answer: Command | None
        try:
            answer = self.deployment.connect(to).ask(request, CLIENT_SECONDS)
        except TimedOut:
            answer = None
        row: dict[str, Any] = {
            "n": len(self.rows),
            "cfg": self.cfg,
            "version": self.version,
            "to": "ns" if to == NAME_SERVER else "b",
            "case": f"request {code}",
            "request": {"code": code, "extFields": {name: _short(value) for name, value in fields.items()}, "body_len": len(data)},
            "response": {"code": None, "remark": "CLIENT:TimeoutError:timed out", "extFields": None},
            "ms": float(self.now() - began),
        }
        if text is not None:
            row["request"]["body"] = text
        if answer is not None:
            row["response"] = {"code": answer.code, "remark": answer.remark, "extFields": answer.ext_fields}
            if answer.body is not None:
                row["body"] = fastjson.loads(answer.body)
            if "msgId" in (answer.ext_fields or {}):
                row["stored"] = [self._view(id_) for id_ in (answer.ext_fields or {})["msgId"].split(",")]
        topic = fields.get("b" if code in (SEND_MESSAGE_V2, SEND_BATCH_MESSAGE) else "topic")
        if topic is not None:
            row["topicConfig"] = self.topic(topic)
        self.rows.append(row)
        self.sleep(0)
        return row

    def now(self) -> float:
        return self.cluster.clock.now()

    def topic(self, name: str) -> dict[str, Any] | None:
        """Return the broker's configuration of a topic."""
        config = self.broker.topics.select(name)
        found: dict[str, Any] | None = config and table_to_data({name: config}, DataVersion(0))["topicConfigTable"][name]
        return found

    def sleep(self, millis: int) -> None:
        """Let time pass, in which the delay service checks its queues."""
        for step in (0, *[POLL_MILLIS] * (millis // POLL_MILLIS), millis % POLL_MILLIS):
            self.deployment.act("time", millis=step)

    def send(self, topic: str, queue: int = 0, body: bytes = b"x", **letters: Any) -> dict[str, Any]:
        """A send of code 310; other fields by their letters."""
        code = letters.pop("code", SEND_MESSAGE_V2)
        fields = {"a": "pg", "b": topic, "c": "TBW102", "d": 4, "e": queue, "f": 0, "g": 1_700_000_000_000, "h": 0, "i": "", "j": 0}
        return self.ask(code, fields | {"k": False, "m": False} | letters, body)

    def save(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows), "utf-8")
        return path

    def _view(self, msg_id: str) -> dict[str, Any]:
        answer = self.deployment.connect(self.part).ask(plain("view", place=int(msg_id[16:], 16)))
        found = None if answer.body is None else record_data(answer.body)
        if found is None:
            return {"error": answer.remark}
        kept = {name: value for name, value in found.items() if name not in NOT_KEPT}
        return kept | {"props": {name: _short(value) for name, value in found.get("props", {}).items()}}


def _wire(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _short(value: object) -> object:
    return f"{value[:60]}...({len(value)})" if isinstance(value, str) and len(value) > 300 else value


def batch(*messages: tuple[bytes, str]) -> bytes:
    """A batch body of (body, properties)."""
    return b"".join(batch_item(body, properties) for body, properties in messages)
