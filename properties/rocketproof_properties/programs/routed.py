"""The phrases for a name server: requests of brokers, clients and administrators."""

from __future__ import annotations

from typing import Final

from rocketproof_protocol.topics import TEMPLATE

from .phrase import Phrase, Values, series, single
from .phrases import ANY, OF_A, TOPIC

_REGISTERED: Final[Values] = {
    "address": ("10.0.0.1:1", "10.0.0.2:1"),
    "broker_id": (0, 1),
    "topics": ({"A": (8, 2, 4), "B": (4, 4, 6)}, {"A": (4, 4, 6)}, {}),
    "version": (1, 2),
}
"""Later name servers reject a broker's first registration if it has a single topic."""
_ROUTE_OF_A: Final = ("route", OF_A)
_BROKERS: Final = ("broker-x", "broker-y")
_CLUSTERS: Final = ("cluster", "other")

ROUTED: Final[tuple[Phrase, ...]] = (
    single("route", {"topic": ("A", "B", "T", "nowhere", TEMPLATE)}, server=True),
    series("a topic's route", ("topic", {**TOPIC, "topic": ("A",)}), _ROUTE_OF_A, server=True),
    series("a topic's rights", ("topic", {"topic": ("A",), "perm": TOPIC["perm"]}), ("send", ANY), _ROUTE_OF_A, server=True),
    series("a first message's route", ("send", ANY), _ROUTE_OF_A, server=True),
    series("brokers that register", ("register", _REGISTERED), _ROUTE_OF_A, lasting=True, server=True),
    series("brokers of before that register", ("register", {**_REGISTERED, "packed": (True,)}), _ROUTE_OF_A, lasting=True, server=True),
    series(
        "an address replaced", ("register", _REGISTERED), ("register", {**_REGISTERED, "address": ("10.0.0.2:1", "10.0.0.1:1")}),
        ("unregister", {"address": ("10.0.0.1:1", "10.0.0.2:1"), "broker_id": (0, 1)}), _ROUTE_OF_A, lasting=True, server=True,
    ),
    series(
        "an address under another id", ("register", _REGISTERED), ("register", {**_REGISTERED, "broker_id": (1, 0)}), _ROUTE_OF_A,
        lasting=True, server=True,
    ),
    series(
        "a broker's connection closed", ("register", _REGISTERED), ("lose", {"address": ("10.0.0.1:1", "10.0.0.2:1")}), _ROUTE_OF_A,
        lasting=True, server=True,
    ),
    series(
        "a version that a broker has", ("register", _REGISTERED),
        ("has_to_register", {"address": ("10.0.0.1:1", "10.0.0.2:1"), "version": (1, 2)}), lasting=True, server=True,
    ),
    series(
        "write permission in a name server", ("register", _REGISTERED), ("permit_writes", {"permitted": (False, True), "name": _BROKERS}),
        _ROUTE_OF_A, lasting=True, server=True,
    ),
    series(
        "a topic that a name server forgets", ("register", {"topics": ({"R": (4, 4, 6), "S": (4, 4, 6)},), "cluster": _CLUSTERS}),
        ("forget_topic", {"topic": ("R",), "cluster": ("nobody", "other")}), ("route", {"topic": ("R", "S")}),
        ("forget_topic", {"topic": ("R",), "cluster": (None, "cluster", "nobody")}), ("route", {"topic": ("R", "S")}),
        lasting=True, server=True,
    ),
    series(
        "a topic that a name server is told of", ("register", _REGISTERED),
        ("register_topic", {
            "topic": ("R", "A"),
            "brokers": (
                {"broker-x": (4, 2, 6)}, {"broker-x": (0, 1, 4)}, {"broker-y": (4, 4, 6)}, {},
                {"broker-y": (4, 4, 6), "broker-x": (4, 2, 6)}, {"broker-x": (4, 2, 6), "broker-y": (4, 4, 6)},
            ),
        }),
        ("route", {"topic": ("R", "A")}), lasting=True, server=True, switch=("takes_topics", True),
    ),
    series(
        "brokers and clusters", ("register", _REGISTERED),
        ("register", {"name": _BROKERS, "address": ("10.0.0.3:1",), "cluster": _CLUSTERS}), ("cluster", {}), lasting=True, server=True,
    ),
    series(
        "a value that a name server keeps", ("put_value", {"key": ("k", "täg"), "value": ("v", "")}),
        ("put_value", {"key": ("k2", "k"), "value": ("w",)}), ("values", {"space": ("space", "nothing")}), lasting=True, server=True,
    ),
)  # fmt: skip
