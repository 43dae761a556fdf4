"""The initial state of an instance: names of topics, TBW102, and the topic table of an earlier run."""

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
    """Return TBW102 as in the instance."""
    return TopicConfig(TEMPLATE, constants["template_read"], constants["template_write"], constants["template_perm"])


def earlier_table(constants: Mapping[str, Any], scope: Scope, subject: str, millis: int) -> bytes | None:
    """Return the topic table in a broker's files from an earlier run, None without one. `subject`: the name of the scope's own topic."""
    kept = [template(constants)] if constants["template_in_file"] and "template" in scope.topics else []
    if constants["existing"]:
        read, write, perm = (constants[f"existing_{name}"] for name in ("read", "write", "perm"))
        kept.append(TopicConfig(subject, read, write, perm, order=constants["order_topic"]))
    return pretty(table_to_data({config.topic_name: config for config in kept}, DataVersion(millis))).encode() if kept else None


def topic_names(scope: Scope) -> list[str]:
    """Return the names of the scope's topics on a simulated cluster.

    Forbidden topics are those of delayed messages, half messages and timers, in this order.
    """
    known = {"template": TEMPLATE, "cluster": "DefaultCluster", "retry": RETRY_PREFIX + GROUP, "blank": "  ", "illegal": "a b"}
    known["long"] = "x" * 128
    forbidden = iter((SCHEDULE, HALF_TOPIC, WHEEL_TIMER_TOPIC))
    kinds = enumerate(scope.topics)
    return [next(forbidden) if kind == "forbidden" else known.get(kind, f"topic-{t}") for t, kind in kinds]
