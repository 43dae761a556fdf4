"""Record a history of eight concurrent producers against a real broker: `python eight_producers.py VERSION FILE`."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.runs.client import ProgramClient
from rocketproof_properties.brokers.runs.performing import perform
from rocketproof_properties.brokers.runs.recording import HistoryRecorder
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.vocabulary import Step

PRODUCERS = 8
UNHURRIED = {"brokerFastFailureEnable": "false"}


def steps(rounds: int, each: int, seed: int) -> list[Step]:
    """In each round all producers send to the same two topics, initially new ones; some send batches, and some change a topic."""
    chance = random.Random(seed)
    found: list[Step] = []
    for number in range(rounds):
        topics = [f"T{number}", f"T{chance.randrange(number + 1)}"]
        for client in range(PRODUCERS):
            for _ in range(each):
                found.append(_step(chance, client, chance.choice(topics)))
        found.append(("meet", {}))
    return found


def _step(chance: random.Random, client: int, topic: str) -> Step:
    kind = chance.random()
    if kind < 0.02:
        return ("topic", {"client": client, "topic": topic, "read": 4, "write": chance.randint(1, 4)})
    if kind < 0.07:
        return ("send", {"client": client, "topic": topic, "queue": 0, "items": [["x", {}], ["y", {}], ["z", {}]]})
    return ("send", {"client": client, "topic": topic, "queue": chance.choice((-1, 0, 0, 1, 2, 3, 5))})


def record(version: str, path: Path, rounds: int = 8, each: int = 8, seed: int = 1) -> None:
    with Apache(version).open(Setup(settings=UNHURRIED)) as running:
        context = Context(ProgramNames("p-", 0), "broker-a")
        recording = HistoryRecorder(
            path, {"target": f"apache:{version}", "cluster": "DefaultCluster", "settings": {"autoCreateTopicEnable": "true"}}
        )
        clients = {number: ProgramClient(number, running, context, recording) for number in range(PRODUCERS)}
        try:
            perform(steps(rounds, each, seed), clients, lambda: False)
        finally:
            for client in clients.values():
                client.close()
            recording.close()


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]))
