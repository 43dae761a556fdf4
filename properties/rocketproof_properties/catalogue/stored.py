"""The rules for a broker's files: the rules of all themes that the audit decides, and their settings.

A rule is a property of the modelling language over facts of a stored row. The audit decides it for every row. If it fails, the audit prints
the rule's `expected` and `found` terms. An error is a state that no broker of the profile writes. A warning may have a cause that the files
do not show. A note is a state that brokers do write, and that may interest an operator.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from rocketproof_profiles import PAIR, PROFILES, inherited
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE
from rocketproof_traces.audit.rules import Rule

from . import delay, entries, log, offsets, otherfiles, persistence, queues, records, retries, routes, topics, transactions

_UNTIL_46, _UNTIL_490, _FROM_47, _LATER = "up to 4.6", "4.7 to 4.9.0", "4.7 to 4.9", "later"
_AGES = {"P40": _UNTIL_46, "P49": _FROM_47, "P494": _LATER, "P490": _UNTIL_490, "P461": _UNTIL_46}
"""The age of the releases that a profile describes. A refining profile inherits it unless it has an entry."""
_THEMES = (records, log, offsets, entries, queues, routes, delay, retries, transactions, topics, persistence, otherfiles)


@cache
def stored_rules() -> tuple[Rule, ...]:
    """Return every rule, in the order of summaries."""
    return tuple(rule for theme in _THEMES for rule in theme.RULES)


def settings(profile: str) -> dict[str, Any]:
    """Return the switches of a profile that rules use. Raises KeyError for an unknown profile.

    `early_batches`: up to 4.9.0 a batch gets its timestamp before it waits for the log's lock (INV-42); P49 has the later behaviour.
    `before_49`: up to 4.9.0 a text with a second byte 1 is not read as a property, and up to 4.8.0 the dead letter of a first send-back
    lacks the id of its first record. `below_zero`: queue ids below 0 are drawn, as by 4.7.0 to 4.9.1. For these two settings P49 counts as
    such a release, even if its own broker behaves otherwise.

    `refuses_inner`: the release has inner batches and counts their messages. `plain_halves`: clients may send any message to the half
    topic.
    `plain_delays`: clients may send any message to the schedule topic.
    """
    switches = PROFILES[profile]
    age = inherited(_AGES, profile.partition(PAIR)[0])
    names = ("limits_record", "stores_parsed", "stores_wait", "half_messages", "check_names", "refuses_inner")
    return {name: getattr(switches, name) for name in names} | {
        "topic_limit": max(switches.topic_limit, switches.retry_limit),
        "plain_halves": HALF_TOPIC not in switches.forbidden,
        "plain_delays": SCHEDULE not in switches.forbidden,
        "early_batches": age in (_UNTIL_46, _UNTIL_490),
        "before_49": age != _LATER,
        "below_zero": switches.keeps_sign or age == _FROM_47,
    }
