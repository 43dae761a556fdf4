"""What a broker's files must show: the rules of all themes that the audit decides, and the settings that they are decided under.

Each rule is a property of the modelling language over facts of a stored row; the audit decides it for every row, and prints its
`expected` and `found` terms where it fails. An error is something that no broker of the profile writes; a warning may have a
reason that the files do not tell; a note is something that a broker does write and an operator may want to know of.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from rocketproof_profiles import PAIR, PROFILES, inherited
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE
from rocketproof_traces.audit.rules import Rule

from . import beside, delay, entries, log, offsets, persistence, queues, records, retries, routes, topics, transactions

_UNTIL_46, _UNTIL_490, _FROM_47, _LATER = "up to 4.6", "4.7 to 4.9.0", "4.7 to 4.9", "later"
_AGES = {"P40": _UNTIL_46, "P49": _FROM_47, "P494": _LATER, "P490": _UNTIL_490, "P461": _UNTIL_46}
"""How old the releases are that a profile describes, and those that refine it, unless they have an age of their own."""
_THEMES = (records, log, offsets, entries, queues, routes, delay, retries, transactions, topics, persistence, beside)


@cache
def stored_rules() -> tuple[Rule, ...]:
    """Every rule, in the order in which a summary shows them."""
    return tuple(each for theme in _THEMES for each in theme.RULES)


def settings(profile: str) -> dict[str, Any]:
    """The switches of a profile that rules ask for. Raises KeyError for an unknown profile.

    `early_batches`: up to 4.9.0 a batch takes its time before it waits for the log's lock (INV-42); P49 says otherwise. `before_49`: up
    to 4.9.0 a text with a second byte 1 is read as no property, and up to 4.8.0 the dead letter of a first send-back has no id of its first
    record. `below_zero`: queue ids below 0 are drawn, as by 4.7.0 to 4.9.1. For these two P49 is of such releases, whatever its own broker
    does.

    `refuses_inner`: only a release that has inner batches counts their messages.
    `plain_halves`: anybody may send what is no half message to the half topic. `plain_delays`: and what he likes to the schedule topic.
    """
    chosen = PROFILES[profile]
    age = inherited(_AGES, profile.partition(PAIR)[0])
    names = ("limits_record", "stores_parsed", "stores_wait", "half_messages", "check_names", "refuses_inner")
    return {name: getattr(chosen, name) for name in names} | {
        "topic_limit": max(chosen.topic_limit, chosen.retry_limit),
        "plain_halves": HALF_TOPIC not in chosen.forbidden,
        "plain_delays": SCHEDULE not in chosen.forbidden,
        "early_batches": age in (_UNTIL_46, _UNTIL_490),
        "before_49": age != _LATER,
        "below_zero": chosen.keeps_sign or age == _FROM_47,
    }
