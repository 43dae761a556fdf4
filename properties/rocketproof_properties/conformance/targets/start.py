"""What there is when an instance of the specification begins: names of topics, TBW102, the table that an earlier run has left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocketproof_impl.pretty import pretty
from rocketproof_impl.topic import DataVersion, TopicConfig, table_to_data
from rocketproof_protocol.topics import HALF_TOPIC, RETRY_PREFIX, SCHEDULE, TEMPLATE, WHEEL_TIMER_TOPIC
from rocketproof_spec import Scope

GROUP = "consumers"
"""The group of a scope's retry topic."""


def template(constants: Mapping[str, Any]) -> TopicConfig:
    """TBW102 as the instance has it."""
    return TopicConfig(TEMPLATE, constants["template_read"], constants["template_write"], constants["template_perm"])


def earlier_table(constants: Mapping[str, Any], scope: Scope, subject: str, millis: int) -> bytes | None:
    """The topic table that an earlier run has left in a broker's files, None if none did. `subject`: the name of the scope's own topic."""
    kept = [template(constants)] if constants["template_in_file"] and "template" in scope.topics else []
    if constants["existing"]:
        read, write, perm = (constants[f"existing_{name}"] for name in ("read", "write", "perm"))
        kept.append(TopicConfig(subject, read, write, perm, order=constants["order_topic"]))
    return pretty(table_to_data({one.topic_name: one for one in kept}, DataVersion(millis))).encode() if kept else None


def topic_names(scope: Scope) -> list[str]:
    """What the topics of the scope are called on a simulated cluster; forbidden ones are those of delayed messages, half messages and
    timers, in this order."""
    known = {"template": TEMPLATE, "cluster": "DefaultCluster", "retry": RETRY_PREFIX + GROUP, "blank": "  ", "illegal": "a b"}
    known["long"] = "x" * 128
    forbidden = iter((SCHEDULE, HALF_TOPIC, WHEEL_TIMER_TOPIC))
    kinds = enumerate(scope.topics)
    return [next(forbidden) if kind == "forbidden" else known.get(kind, f"topic-{t}") for t, kind in kinds]
