"""The phrases for a name server: requests of brokers, clients and administrators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from rocketproof_protocol.fields import ORDER_TOPIC_CONFIG

from .parts import NAME_SERVER
from .phrase import Phrase, formed, phrase, step
from .phrases import TOPIC_A, sent
from .settings import ORDERED
from .values import VALUES, one_of

_REGISTERED: Final = "address broker_id topics version sys_flag lacking filters checked empty altered"
"""Later name servers reject a broker's first registration if it has a single topic."""
_REGISTER: Final = step("register", _REGISTERED)
_ROUTE: Final = step("route", topic="A")
_ROUTES: Final = (_ROUTE, step("route", topic="B"))
_ELSEWHERE: Final = {"name": "broker-z", "address": "10.0.0.4:1"}
"""A broker that no other phrase names: nothing else is registered over its connection."""
_PERMITTED: Final = ({"A": (4, 4, 7), "B": (2, 2, 3)}, *VALUES["register"]["topics"])
_LOOKED_UP: Final = step("route", topic=one_of("R", "S"))
_LOOKED_UP_BOTH: Final = (step("route", topic="R"), step("route", topic="S"))
_KEPT_ORDER: Final = (
    step("put_value", "value", space=ORDER_TOPIC_CONFIG, key=one_of("R", "S"), value="broker-x:4"),
    step("register", "version", topics={"R": (4, 4, 6), "S": (4, 4, 6)}), *_LOOKED_UP_BOTH, step("values", space=ORDER_TOPIC_CONFIG),
)  # fmt: skip
"""The order of a topic that no broker of the target has."""
_WITH_R_AND_S: Final = ({"R": (4, 4, 6), "S": (2, 2, 6)}, {"S": (4, 4, 6), "R": (4, 4, 6)})
_WITHOUT_R: Final[tuple[Mapping[str, tuple[int, int, int]], ...]] = ({"S": (2, 2, 6), "A": (4, 4, 6)}, {"A": (4, 4, 6), "B": (4, 4, 6)}, {})

_PHRASES: Final[tuple[Phrase, ...]] = (
    phrase("", step("route", "topic altered"), changes=(1, 2)),
    phrase("a topic's route", TOPIC_A, _ROUTE),
    phrase("a topic's rights", step("topic", "perm", topic="A"), sent(), _ROUTE),
    phrase("a first message's route", sent("nums default"), _ROUTE),
    phrase("brokers that register", _REGISTER, *_ROUTES, lasting=True),
    phrase("brokers of before that register", step("register", _REGISTERED, packed=True), _ROUTE, lasting=True),
    phrase(
        "an address replaced", _REGISTER, step("register", _REGISTERED, address="10.0.0.2:1"),
        step("unregister", "name broker_id address altered"),
        *_ROUTES, lasting=True,
    ),
    phrase("an address under another id", _REGISTER, step("register", _REGISTERED, broker_id=1), _ROUTE, lasting=True),
    phrase("brokers that come and go", _REGISTER, step("register", f"{_REGISTERED} name", name="broker-y"), *_ROUTES, step(
        "unregister", "name broker_id address",
    ), *_ROUTES, step("lose", "address"), *_ROUTES, lasting=True),
    phrase(
        "a broker on another connection", step("register", "topics version", **_ELSEWHERE), _ROUTE,
        step("register", "topics version", **_ELSEWHERE, anew=True), *_ROUTES, lasting=True, changes=(1, 2),
    ),
    phrase("a broker's connection closed", _REGISTER, step("lose", "address"), _ROUTE, lasting=True),
    phrase(
        "a version that a broker has", _REGISTER, step("has_to_register", "name broker_id address version altered"), lasting=True,
        changes=(2, 1, 3), often=8,
    ),
    phrase(
        "a version that a broker has, asked for without a field", _REGISTER,
        step("has_to_register", "without version", without="clusterName"), lasting=True, switch=("null_topic", True), often=5,
    ),
    phrase(
        "write permission in a name server", step("register", _REGISTERED, topics=one_of(*_PERMITTED)),
        step("permit_writes", "permitted name"), *_ROUTES, lasting=True, changes=(0, 1, 2), often=5,
    ),
    phrase(
        "write permission that is taken and restored", step("register", "topics", topics=one_of(*_PERMITTED)),
        step("permit_writes"), *_ROUTES, step("permit_writes", permitted=True), *_ROUTES, lasting=True, often=5,
    ),
    phrase(
        "a topic that a name server forgets", step("register", "cluster", topics={"R": (4, 4, 6), "S": (4, 4, 6)}),
        step("forget_topic", "cluster", topic="R", cluster="nobody"), _LOOKED_UP,
        step("forget_topic", topic=one_of("R", "S"), cluster=one_of("cluster", None, "nobody")), _LOOKED_UP, lasting=True,
    ),
    phrase(
        "a topic that a name server is told of", _REGISTER, step("register_topic", "topic brokers"),
        step("route", topic=one_of("R", "A")), lasting=True, switch=("takes_topics", True),
    ),
    phrase("brokers and clusters", _REGISTER, step("register", "name cluster", address="10.0.0.3:1"), step("cluster"), lasting=True),
    phrase(
        "a cluster that brokers leave", _REGISTER, step("register", "name cluster", name="broker-y", address="10.0.0.3:1"),
        step("unregister", "broker_id", name=one_of("broker-y", "broker-x"), address=one_of("10.0.0.3:1", "10.0.0.1:1")),
        step("cluster"),
        step("lose", address=one_of("10.0.0.1:1", "10.0.0.3:1")), step("cluster"), lasting=True,
    ),
    phrase(
        "a value that a name server keeps", step("put_value", "key value"),
        step("put_value", "key", key="k2", value="w"), step("values"), step("values", "space"), lasting=True,
    ),
    # malformed requests, but none that stores a broker without a name, or one that unregisters
    *(
        replace(each, lasting=True, switch=("null_topic", True))
        for well_formed, but in (
            (step("register", topics={"A": (4, 4, 6), "B": (4, 4, 6)}), ("clusterName", "brokerName", "brokerAddr")),
            (step("has_to_register"), ()), (step("permit_writes"), ()), (step("forget_topic", topic="R"), ()),
            (step("put_value"), ("value",)), (step("values"), ()), (step("route", topic="A", again=False), ()),
        )
        for each in formed(well_formed, but=but)
    ),
    phrase("a request that a name server does not know", step("unknown", broker=NAME_SERVER), _ROUTE, lasting=True),
    phrase("an order that a name server keeps", *_KEPT_ORDER, lasting=True),
    phrase("an order in routes", *_KEPT_ORDER, lasting=True, needs=ORDERED),
    phrase(
        "topics that a broker no longer registers", step("register", "name address", topics=one_of(*_WITH_R_AND_S)),
        step("register", "name address broker_id", address="10.0.0.3:1", name="broker-y", topics=one_of(*_WITH_R_AND_S)),
        step("register", "broker_id version", topics=one_of(*_WITHOUT_R)), *_LOOKED_UP_BOTH,
        lasting=True, needs=ORDERED, switch=("drops_topics", True), changes=(0, 1, 2),
    ),
    phrase(
        "a topic that a name server orders", step("put_value", "value", space=ORDER_TOPIC_CONFIG, key="O"),
        step("topic", "read perm", topic="O"), step("time", millis=300), step("send", topic="O", queue=99), step("topics"), lasting=True,
        often=6,
    ),
)  # fmt: skip
ROUTED: Final = tuple(replace(each, server=True) for each in _PHRASES)
