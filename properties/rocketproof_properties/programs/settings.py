"""Settings that programs need: named ones, and ones drawn from the table of legal values.

A program's `needs` is one of:

- "" for a broker with default settings
- a name of CONFIGURED or STARTED
- the settings themselves, such as `regionId=eu, traceOn=false`

A setting belongs to the broker, or to the name server that the broker registers with.

A history therefore states the settings it was recorded with, and a finding can be repeated with the same settings.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from rocketproof_profiles import Profile


@dataclass
class ClusterSettings:
    """The simulated cluster of a program: broker settings, number of brokers, and whether periodic tasks run.

    `twin`: the program also runs on a broker without hooks.
    """

    brokers: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    periodic: bool = False
    twin: bool = False


FUTURE: Final = "a start in the future"
READ_ONLY: Final = "no write permission"
"""Routes show this permission and the next. Programs with them end with route queries for their topics."""
WRITE_ONLY: Final = "no read permission"
NO_TOPICS: Final = "no automatic topics"
CONFIGURED: Final[Mapping[str, Mapping[str, str]]] = {
    "no automatic groups": {"autoCreateSubscriptionGroup": "false"},
    READ_ONLY: {"brokerPermission": "4"},
    WRITE_ONLY: {"brokerPermission": "2"},
    "no transactional messages": {"rejectTransactionMessage": "true"},
    "no trace": {"traceOn": "false"},
    FUTURE: {"startAcceptSendRequestTimeStamp": "4102444800000"},
    NO_TOPICS: {"autoCreateTopicEnable": "false"},
}
"""Named settings that some programs need on a running broker.

`NO_TOPICS` has a lasting effect: afterwards the template creates no topics until the broker is restarted.
"""

ALONE: Final = "small files"
"""Programs that fill files up to their last bytes. No other program sends at the same time."""
SMALL_FILE: Final = 65_536
NARROW: Final = "no cluster topic"
NO_TEMPLATE: Final = "no template"
ENDED: Final = "a process that ends"
"""Programs after which the broker is killed and restarted; acknowledged messages must survive. Each program has the broker to itself.

Records that cannot be read again are stored only here, because the messages of other programs would be lost too. The same holds for half
messages that block the checks of others. These programs do not kill the broker: the result would not be predictable.
"""
LARGE: Final = "large files"
"""Programs with messages of the maximum size. The files of other programs contain none."""
_LARGE_FILE: Final = 16_777_216
FLUSHED: Final = "large messages that are flushed"
"""Like LARGE, with each message acknowledged after it is on disk.

Only for releases whose group commit checks again after it has flushed the previous file. The others report many of these messages as late
(HAZ-21). A file holds several messages: the two checks of a group commit reach only the next file, so that concurrent sends must not exceed
it.
"""
ASKED: Final = "half messages that are asked about"
"""Programs whose half messages are checked soon, and only for a short time, although their born timestamps are years old.

None of them ends with a deletion, which removes the half queue while its topic is in no table.
"""
ORDERED: Final = "a name server with other settings"
"""Programs about topics of brokers that do not exist. Routes show the order topics, responses to registrations do not, and registrations
remove the topics that they lack. The broker then has to register each topic alone."""
WHEEL: Final = "a timer wheel"
"""Programs whose messages with a delivery time are delivered, in releases that have such messages."""
_ASKING: Final = {"transactionCheckInterval": "500", "transactionCheckMax": "2", "fileReservedTime": "1000000"}
STARTED: Final[Mapping[str, Mapping[str, str]]] = {
    ENDED: {"flushDiskType": "SYNC_FLUSH", "mappedFileSizeCommitLog": str(_LARGE_FILE), **_ASKING},
    LARGE: {"mappedFileSizeCommitLog": str(_LARGE_FILE)},
    FLUSHED: {"flushDiskType": "SYNC_FLUSH", "mappedFileSizeCommitLog": str(_LARGE_FILE)},
    ALONE: {"mappedFileSizeCommitLog": str(SMALL_FILE)},
    ASKED: _ASKING,
    WHEEL: {"timerWheelEnable": "true"},
    ORDERED: {
        "orderMessageEnable": "true",
        "returnOrderTopicConfigToBroker": "false",
        "deleteTopicWithBrokerRegistration": "true",
        "enableSingleTopicRegister": "true",
    },
    "synchronous flush": {"flushDiskType": "SYNC_FLUSH"},
    "synchronous replication": {"brokerRole": "SYNC_MASTER"},
    NO_TEMPLATE: {"autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "false"},
    NARROW: {"clusterTopicEnable": "false", "defaultTopicQueueNums": "3"},
}
"""Named settings that some programs need at the start of a broker or of its name server. Releases ignore settings that they do not have."""


class Legal(NamedTuple):
    """The values that a setting may have, the default first.

    `start`: a running broker does not apply a change, or only partly. `switch`: the profile switch that is true where the setting exists.
    `name_server`: the name server has it, which applies no change while it runs.
    """

    values: tuple[str, ...]
    start: bool = False
    switch: str = ""
    name_server: bool = False


_NO, _YES = ("false", "true"), ("true", "false")
LEGAL: Final[Mapping[str, Legal]] = {
    # responses and stored records
    "autoCreateSubscriptionGroup": Legal(_YES),
    "autoCreateTopicEnable": Legal(_YES, start=True),  # switching it off at run time has a lasting effect (HAZ-02)
    "brokerClusterName": Legal(("DefaultCluster", "c1"), start=True),
    "brokerTopicEnable": Legal(_YES, start=True),
    "clusterTopicEnable": Legal(_YES, start=True),
    "commercialBaseCount": Legal(("1", "3")),
    "defaultTopicQueueNums": Legal(("8", "1", "3", "16"), start=True),
    "enableSingleTopicRegister": Legal(_NO, switch="registers_topics"),
    "inSyncReplicas": Legal(("1", "2"), switch="counts_replicas"),
    "maxMessageSize": Legal(("4194304", "65536", "262144"), start=True),
    "messageIndexEnable": Legal(_YES),
    "regionId": Legal(("DefaultRegion", "eu")),
    "rejectTransactionMessage": Legal(_NO),
    "startAcceptSendRequestTimeStamp": Legal(("0", "1000")),
    "timerMaxDelaySec": Legal(("259200", "60", "2592000"), switch="timers"),
    "timerWheelEnable": Legal(("false", "true"), start=True, switch="timers"),
    "traceOn": Legal(_YES),
    "traceTopicEnable": Legal(_NO, start=True, switch="trace_topic"),
    "orderMessageEnable": Legal(_NO, start=True, name_server=True),
    "returnOrderTopicConfigToBroker": Legal(_YES, start=True, switch="may_keep_order_topics", name_server=True),
    # files
    "brokerRole": Legal(("ASYNC_MASTER", "SYNC_MASTER"), start=True),
    "flushConsumeQueueLeastPages": Legal(("2", "0", "8")),
    "flushConsumeQueueThoroughInterval": Legal(("60000", "10000")),
    "flushCommitLogLeastPages": Legal(("4", "0", "16")),
    "flushCommitLogThoroughInterval": Legal(("10000", "1000")),
    "flushCommitLogTimed": Legal(_YES),
    "flushDiskType": Legal(("ASYNC_FLUSH", "SYNC_FLUSH"), start=True),
    "flushIntervalCommitLog": Legal(("500", "100", "1000")),
    "flushIntervalConsumeQueue": Legal(("1000", "100")),
    "mappedFileSizeCommitLog": Legal(("1048576", "2097152", "4194304"), start=True),
    "mappedFileSizeConsumeQueue": Legal(("20000", "2000", "60000"), start=True),
    "maxHashSlotNum": Legal(("1000", "7"), start=True),
    "maxIndexNum": Legal(("4000", "50"), start=True),
    "messageIndexSafe": Legal(_NO, start=True),
    # threads and timeouts
    "brokerFastFailureEnable": Legal(_YES),
    "osPageCacheBusyTimeOutMills": Legal(("1000", "5000")),
    "fileReservedTime": Legal(("72", "1")),
    "slaveTimeout": Legal(("3000", "1000")),
    "transactionCheckInterval": Legal(("60000", "120000")),
    "transactionCheckMax": Legal(("15", "5")),
    "transactionTimeOut": Legal(("6000", "60000")),
    "waitTimeMillsInHeartbeatQueue": Legal(("31000", "60000")),
    "waitTimeMillsInPullQueue": Legal(("5000", "10000")),
    "waitTimeMillsInSendQueue": Legal(("200", "2000")),
    "waitTimeMillsInTransactionQueue": Legal(("3000", "6000")),
    "adminBrokerThreadPoolNums": Legal(("16", "1"), start=True),
    "clientManageThreadPoolNums": Legal(("32", "1"), start=True),
    "consumerManageThreadPoolNums": Legal(("32", "1"), start=True),
    "endTransactionThreadPoolNums": Legal(("16", "1"), start=True),
    "heartbeatThreadPoolNums": Legal(("4", "1"), start=True),
    "pullMessageThreadPoolNums": Legal(("24", "1"), start=True),
    "queryMessageThreadPoolNums": Legal(("12", "1"), start=True),
    "sendMessageThreadPoolNums": Legal(("4", "1"), start=True),
    "clientManagerThreadPoolQueueCapacity": Legal(("1000000", "1000"), start=True),
    "endTransactionPoolQueueCapacity": Legal(("100000", "1000"), start=True),
    "heartbeatThreadPoolQueueCapacity": Legal(("50000", "1000"), start=True),
    "pullThreadPoolQueueCapacity": Legal(("100000", "1000"), start=True),
    "queryThreadPoolQueueCapacity": Legal(("20000", "1000"), start=True),
    "sendThreadPoolQueueCapacity": Legal(("10000", "1000"), start=True),
}
"""The table of drawn settings. Texts are no longer than the defaults: every message's properties contain them, and their length is limited.
"""

NOT_DRAWN: Final[Mapping[str, str]] = {
    "brokerPermission": "the claim restart.routes does not know what routes it leaves; programs have it by name",
    "slaveReadEnable": "a master sends consumers of some groups to slaves with it, which is not described",
    "transientStorePoolEnable": "what lies in its buffers when the process ends is lost, and no judge of files knows which",
    "deleteTopicWithBrokerRegistration": "a topic that a broker registers alone then removes the others; programs have it by name",
    "clusterTest": "the name server asks further name servers for a route that it does not have",
    "notifyMinBrokerIdChanged": "the name server sends requests to brokers, which do not exist or are no clients of a program",
    "supportActingMaster": "it needs a slave",
    **dict.fromkeys(
        ("needWaitForService", "waitSecondsForService"), "the name server answers no route until the time is over; a bug report has them"
    ),
    **dict.fromkeys(
        ("brokerName", "brokerId", "brokerIP1", "listenPort", "namesrvAddr", "storePathRootDir"), "it says which broker it is, and where"
    ),
}
"""Settings that are never drawn, with the reason."""

OF_NAME_SERVERS: Final = frozenset({"deleteTopicWithBrokerRegistration", *(name for name, row in LEGAL.items() if row.name_server)})
"""The settings of a name server that programs can have, drawn or by name."""
WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "commitCommitLogLeastPages",
            "commitCommitLogThoroughInterval",
            "commitIntervalCommitLog",
            "transientStorePoolSize",
        ),
        "only where transientStorePoolEnable is",
    ),
    **dict.fromkeys(
        ("haHousekeepingInterval", "haSendHeartbeatInterval", "haSlaveFallbehindMax", "haTransferBatchSize"), "only where there is a slave"
    ),
    "syncFlushTimeout": "only where a flush takes seconds",
}
"""Settings that do not affect how the implementation runs a program, with the condition under which they would."""

_BETWEEN, _IS = ", ", "="
PROGRAMS_PER_START: Final = 100
"""One set of start settings is drawn for every 100 programs, because each restart takes seconds."""
VARIANTS: Final = 2
"""The number of runtime settings that are applied in turn to a broker with drawn settings."""
_AT_ONCE: Final = 4


def dealt(
    chance: random.Random, profile: Profile, *, configure: bool, start: bool, start_name_server: bool = True
) -> Iterator[Sequence[str]]:
    """Draw values of `needs` without end: for each `PROGRAMS_PER_START` programs up to `VARIANTS`, with the same settings at the start.

    Each has several settings with non-default values. Every value is drawn once before any is repeated. `configure`: settings of a running
    broker may be changed. `start`: brokers can be started with other settings, with `start_name_server` also name servers.
    """
    known = {name: row for name, row in LEGAL.items() if not row.switch or getattr(profile, row.switch)}
    table = {name: row for name, row in known.items() if start_name_server or not row.name_server}
    first = _Deck(chance, {name: row.values[1:] for name, row in table.items() if row.start and start})
    later = _Deck(chance, {name: row.values[1:] for name, row in table.items() if not row.start and configure})
    while True:
        from_the_start = first.deal()
        needs = [needs_of({**from_the_start, **later.deal()}) for _ in range(VARIANTS if configure else 1)]
        yield [need for need in needs if need]


def needs_of(settings: Mapping[str, str]) -> str:
    """Return settings in the form of a program's `needs`."""
    return _BETWEEN.join(f"{name}{_IS}{value}" for name, value in sorted(settings.items()))


def settings_of(needs: str) -> Mapping[str, str]:
    """Return all settings that `needs` stands for; none if it is unknown."""
    named = {**CONFIGURED, **STARTED}.get(needs)
    if named is not None:
        return named
    parts = (part.partition(_IS) for part in needs.split(_BETWEEN) if needs)
    pairs = {name: value for name, _, value in parts}
    return pairs if all(value and name in LEGAL for name, value in pairs.items()) else {}


def drawn_of(needs: str) -> Mapping[str, str]:
    """Return the drawn settings of `needs`, which a shrinker may remove one by one; none for a named set."""
    return {} if needs in CONFIGURED or needs in STARTED else settings_of(needs)


def at_start(needs: str) -> Mapping[str, str]:
    """Return the settings of `needs` that a broker has to be started with."""
    started = settings_of(needs) if needs in STARTED else {name: value for name, value in drawn_of(needs).items() if LEGAL[name].start}
    return {name: value for name, value in started.items() if name not in OF_NAME_SERVERS}


def of_name_server(needs: str) -> Mapping[str, str]:
    """Return the settings of `needs` that the name server has to be started with."""
    return {name: value for name, value in settings_of(needs).items() if name in OF_NAME_SERVERS}


def while_running(needs: str) -> Mapping[str, str]:
    """Return the settings of `needs` that are changed on a running broker and restored afterwards."""
    return CONFIGURED[needs] if needs in CONFIGURED else {name: value for name, value in drawn_of(needs).items() if not LEGAL[name].start}


def can_be_had(needs: str, *, configure: bool, start: bool, start_name_server: bool = True) -> bool:
    """Return whether a target supports the settings, given that it can change settings at run time or start brokers or name servers with
    others."""
    started = (start or not at_start(needs)) and ((start and start_name_server) or not of_name_server(needs))
    return started and (configure or not while_running(needs))


def is_known(needs: str) -> bool:
    """Return whether a program can have this value of `needs`."""
    return not needs or bool(settings_of(needs))


def stages(needs: Iterable[str]) -> list[tuple[str, ...]]:
    """Group values of `needs` by broker start; each group runs on one broker, one group after the other.

    The first group has all settings that a running broker applies, the one with a lasting effect last.
    """
    wanted = set(needs)
    own: dict[str, list[str]] = {}
    for need in sorted(wanted - {"", *CONFIGURED, *STARTED}):
        own.setdefault(needs_of({**at_start(need), **of_name_server(need)}), []).append(need)
    rows: list[Sequence[str]] = [("", *own.pop("", ()), *CONFIGURED), *((name,) for name in STARTED), *own.values()]
    return [group for row in rows if (group := tuple(need for need in row if need in wanted))]


class _Deck:
    """Deals pairs of setting and value, each setting at most once per hand. The deck is reshuffled when it is empty."""

    def __init__(self, chance: random.Random, values: Mapping[str, Sequence[str]]) -> None:
        self._chance = chance
        self._all = [(name, value) for name, choices in values.items() for value in choices]
        self._deck: list[tuple[str, str]] = []

    def deal(self) -> dict[str, str]:
        hand: dict[str, str] = {}
        while len(hand) < min(_AT_ONCE, len({name for name, _ in self._all})):
            if not self._deck:
                self._deck = self._chance.sample(self._all, len(self._all))
            at = next((place for place, (name, _) in enumerate(self._deck) if name not in hand), None)
            if at is None:
                self._deck = []
                continue
            name, value = self._deck.pop(at)
            hand[name] = value
        return hand
