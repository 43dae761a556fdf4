"""A beginner's broker in one file, without this project. Without the address of a name server it is one.

It answers route queries and takes sends, and stores only the number of messages of each queue. `SPOILT`, from the environment, names a
missing or wrong feature.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import struct
import sys
import threading
from typing import Any

MAX_OFFSET, REGISTER, ROUTE, CLUSTER, SEND, SEND_SHORT = 30, 103, 105, 106, 10, 310
SUCCESS, SYSTEM_ERROR, NOT_SUPPORTED, NO_TOPIC = 0, 1, 3, 17
NAMES = {"a": "producerGroup", "b": "topic", "c": "defaultTopic", "d": "defaultTopicQueueNums", "e": "queueId", "f": "sysFlag"}
CLUSTER_NAME, BROKER_NAME = "DefaultCluster", "broker-a"

Answer = tuple[int, dict[str, str], bytes, str]


class Young:
    """The state: topics with the number of messages of each queue, and the next log offset.

    A name server (`names` is None) knows the topics of the broker at `address` and their numbers of queues.
    """

    def __init__(self, address: str, names: str | None, spoilt: str = "") -> None:
        self.address = address
        self.names = names
        self.spoilt = spoilt
        self.topics: dict[str, list[int]] = {}
        self.end = 0
        self.lock = threading.Lock()
        if names is not None:
            self.make("TBW102", 8)

    def answer(self, code: int, fields: dict[str, str], body: bytes) -> Answer | None:
        """Return the response to a request; None means no response."""
        if self.spoilt == f"no {code}":
            return NOT_SUPPORTED, {}, b"", f"request type {code} not supported"
        if self.spoilt == f"silent {code}":
            return None
        if self.names is None and code == CLUSTER:
            return self.cluster()
        if self.names is None and code == ROUTE:
            return self.route(fields.get("topic", ""))
        if self.names is None and code == REGISTER:
            return self.registered(fields["brokerAddr"], json.loads(body))
        if self.names and code in (SEND, SEND_SHORT):
            return self.send({NAMES.get(name, name): value for name, value in fields.items()}, body)
        if self.names and code == MAX_OFFSET:
            return SUCCESS, {"offset": "0"}, b"", ""  # it keeps nothing: a queue has nothing
        if self.spoilt == "silent":
            return None
        return NOT_SUPPORTED, {}, b"", f"request type {code} not supported"

    def make(self, topic: str, queues: int) -> None:
        """Create a topic, and register all topics at the name server."""
        self.topics[topic] = [0] * queues
        host, _, port = str(self.names).rpartition(":")
        table = {name: {"topicName": name, "writeQueueNums": len(queues)} for name, queues in self.topics.items()}
        body = as_json({"topicConfigSerializeWrapper": {"topicConfigTable": table}})
        with socket.create_connection((host, int(port))) as line:
            line.sendall(frame({"code": REGISTER, "opaque": 0, "flag": 0, "extFields": {"brokerAddr": self.address}}, body))
            line.recv(4096)

    def registered(self, address: str, body: Any) -> Answer:
        self.address = address
        table = body["topicConfigSerializeWrapper"]["topicConfigTable"]
        self.topics = {name: [0] * config["writeQueueNums"] for name, config in table.items()}
        return SUCCESS, {}, b"", ""

    def cluster(self) -> Answer:
        broker = {"cluster": CLUSTER_NAME, "brokerName": BROKER_NAME, "brokerAddrs": {"0": self.address}}
        table = {BROKER_NAME: broker} if self.address else {}
        return SUCCESS, {}, as_json({"brokerAddrTable": table, "clusterAddrTable": {CLUSTER_NAME: [*table]}}), ""

    def route(self, topic: str) -> Answer:
        queues = self.topics.get(topic)
        if queues is None:
            return NO_TOPIC, {}, b"", f"No topic route info in name server for the topic: {topic}"
        perm = 7 if topic == "TBW102" else 6
        width = 0 if self.spoilt == "route without queues" else len(queues)
        data = {"brokerName": BROKER_NAME, "readQueueNums": width, "writeQueueNums": width, "perm": perm, "topicSysFlag": 0}
        address = {"cluster": CLUSTER_NAME, "brokerName": BROKER_NAME, "brokerAddrs": {"0": self.address}}
        route = {"queueDatas": [data] * (2 if self.spoilt == "route twice" else 1), "brokerDatas": [address], "filterServerTable": {}}
        return SUCCESS, {}, b"{" if self.spoilt == "route that is no JSON" else as_json(route), ""

    def send(self, fields: dict[str, str], body: bytes) -> Answer:
        if self.spoilt == "send fails":
            return SYSTEM_ERROR, {}, b"", "not yet implemented"
        topic, queue = fields["topic"], int(fields["queueId"])
        with self.lock:
            if topic not in self.topics:
                if self.spoilt == "no new topics":
                    return NO_TOPIC, {}, b"", f"topic[{topic}] not exist, apply first please!"
                self.make(topic, min(8, int(fields["defaultTopicQueueNums"])))
            if not 0 <= queue < len(self.topics[topic]):
                return SYSTEM_ERROR, {}, b"", "request queueId is illegal"
            offset = self.topics[topic][queue]
            self.topics[topic][queue] += 1
            place = self.end
            self.end += 91 + len(body) + len(topic)
        host, port = self.address.split(":")
        id_ = bytes(map(int, host.split("."))) + struct.pack(">iq", int(port), place)
        if self.spoilt == "another queue":
            queue += 1
        answered = {"queueId": str(queue), "queueOffset": str(offset), "msgId": id_.hex().upper()}
        return SUCCESS, answered | {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}, b"", ""


def frame(header: dict[str, Any], body: bytes) -> bytes:
    written = as_json(header)
    return struct.pack(">ii", 4 + len(written) + len(body), len(written)) + written + body


def as_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        young: Young = self.server.young  # type: ignore[attr-defined]
        while (head := self.rfile.read(8)) and len(head) == 8:
            length, header_length = struct.unpack(">ii", head)
            header_length &= 0xFFFFFF  # the highest byte gives the header's encoding; 0 is JSON
            header = json.loads(self.rfile.read(header_length))
            body = self.rfile.read(length - 4 - header_length)
            found = young.answer(header["code"], header.get("extFields") or {}, body)
            if young.spoilt == "closes":
                return
            if found is None or header.get("flag", 0) & 2:
                continue
            code, fields, answer, remark = found
            opaque = header["opaque"] + (young.spoilt == "another opaque")
            written = {"code": code, "language": "PYTHON", "version": 399, "opaque": opaque, "flag": 1, "extFields": fields}
            self.wfile.write(frame(written | ({"remark": remark} if remark else {}), answer))


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, names: str | None = None, spoilt: str = "") -> None:
        super().__init__(("127.0.0.1", port), Connection)
        self.address = f"127.0.0.1:{self.server_address[1]}"
        self.young = Young("" if names is None else self.address, names, spoilt)


if __name__ == "__main__":
    with Server(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None, os.environ.get("SPOILT", "")) as serving:
        serving.serve_forever()
