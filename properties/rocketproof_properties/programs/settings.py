"""Settings of brokers that programs need: a few that have names, and those that are drawn from the table of what is legal.

A program says in `needs` what it needs: "" for a broker as it is, a name of CONFIGURED or STARTED, or the settings themselves, as
`regionId=eu, traceOn=false`. So a history says under which settings it was recorded, and a finding is repeated under the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from rocketproof_profiles import Profile


@dataclass
class ClusterSettings:
    """The simulated cluster of a program: broker settings, number of brokers, whether periodic tasks run. `twin`: the program also runs
    on a broker without hooks."""

    brokers: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    periodic: bool = False
    twin: bool = False


FUTURE: Final = "a start in the future"
READ_ONLY: Final = "no write permission"
"""Routes tell of it, and of the next: programs end with looks at those of their topics."""
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
"""Settings of a running broker that some programs need, by what they are called. The last one leaves a mark: once it was off, the
template gives no topics until the broker is started anew."""

ALONE: Final = "small files"
"""Programs that fill files up to their last bytes: nothing else is sent meanwhile."""
SMALL_FILE: Final = 65_536
NARROW: Final = "no cluster topic"
NO_TEMPLATE: Final = "no template"
ENDED: Final = "a process that ends"
"""Programs behind which the broker's process is killed, and starts again: what was acknowledged has to be there, and each has the broker
for itself. What nothing can read again is stored here and nowhere else: the messages of other programs would go with it. A half message
that keeps others from being asked about is here too, without an end: nobody knows what that leaves of it."""
LARGE: Final = "large files"
"""Programs whose messages are as large as they may be: files of other programs hold none of these."""
_LARGE_FILE: Final = 16_777_216
FLUSHED: Final = "large messages that are flushed"
"""The same where each is answered when it is on the device: only for releases whose group commit looks again when it has flushed the file
before, as the others say of many such messages that they are late (HAZ-21). A file holds several: the two looks of a group commit reach no
further than the next file, and what several programs send at once must not lie behind it."""
ASKED: Final = "half messages that are asked about"
"""Programs whose half messages are asked about at once and not for long, though they were born years ago. None of them ends with a
deletion, which takes the half queue away as long as its topic is in no table."""
_ASKING: Final = {"transactionCheckInterval": "500", "transactionCheckMax": "2", "fileReservedTime": "1000000"}
STARTED: Final[Mapping[str, Mapping[str, str]]] = {
    ENDED: {"flushDiskType": "SYNC_FLUSH", "mappedFileSizeCommitLog": str(_LARGE_FILE), **_ASKING},
    LARGE: {"mappedFileSizeCommitLog": str(_LARGE_FILE)},
    FLUSHED: {"flushDiskType": "SYNC_FLUSH", "mappedFileSizeCommitLog": str(_LARGE_FILE)},
    ALONE: {"mappedFileSizeCommitLog": str(SMALL_FILE)},
    ASKED: _ASKING,
    "synchronous flush": {"flushDiskType": "SYNC_FLUSH"},
    "synchronous replication": {"brokerRole": "SYNC_MASTER"},
    NO_TEMPLATE: {"autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "false"},
    NARROW: {"clusterTopicEnable": "false", "defaultTopicQueueNums": "3"},
}
"""Settings that some programs need a broker to be started with."""


class Legal(NamedTuple):
    """The values of a setting that programs may have, the usual one first. `start`: a running broker does not take it over, or not as a
    whole; `switch`: the profile's switch that is true where the setting is known."""

    values: tuple[str, ...]
    start: bool = False
    switch: str = ""


_NO, _YES = ("false", "true"), ("true", "false")
LEGAL: Final[Mapping[str, Legal]] = {
    # what is answered and stored
    "autoCreateSubscriptionGroup": Legal(_YES),
    "autoCreateTopicEnable": Legal(_YES, start=True),  # switched off at run time it leaves a mark (HAZ-02)
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
    "timerMaxDelaySec": Legal(("259200", "60"), switch="timers"),
    "timerWheelEnable": Legal(("false", "true"), start=True, switch="timers"),
    "traceOn": Legal(_YES),
    "traceTopicEnable": Legal(_NO, start=True, switch="trace_topic"),
    # how it is kept
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
    # who does it, and how long it may wait
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
"""What is drawn. Texts are no longer than the usual ones: they lie in the properties of every message, whose length has a limit."""

NOT_DRAWN: Final[Mapping[str, str]] = {
    "brokerPermission": "the claim restart.routes does not know what routes it leaves; programs have it by name",
    "slaveReadEnable": "a master sends consumers of some groups to slaves with it, which is not described",
    "transientStorePoolEnable": "what lies in its buffers when the process ends is lost, and no judge of files knows which",
    **dict.fromkeys(
        ("brokerName", "brokerId", "brokerIP1", "listenPort", "namesrvAddr", "storePathRootDir"), "it says which broker it is, and where"
    ),
}
"""Settings with a reason for which they have no row above."""

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
"""Settings that change nothing of what the implementation does for a program, and when they would."""

_BETWEEN, _IS = ", ", "="
PROGRAMS_PER_START: Final = 100
"""Of a run's programs so many come to one set of drawn settings that a broker starts with, as each takes seconds."""
VARIANTS: Final = 2
"""So many sets of settings are changed in turn on a broker that runs with drawn ones."""
_AT_ONCE: Final = 4


def drawn(chance: random.Random, profile: Profile, programs: int, *, configure: bool, start: bool) -> list[str]:
    """What some of so many programs need: several settings at once, each with another than its usual value. Every value comes before one
    comes again. `configure`: settings of a running broker may be changed; `start`: brokers can be started with others."""
    table = {name: one for name, one in LEGAL.items() if not one.switch or getattr(profile, one.switch)}
    first = _Deck(chance, {name: one.values[1:] for name, one in table.items() if one.start and start})
    later = _Deck(chance, {name: one.values[1:] for name, one in table.items() if not one.start and configure})
    found = []
    for _ in range(programs // PROGRAMS_PER_START if start or configure else 0):
        from_the_start = first.deal()
        found += [needs_of({**from_the_start, **later.deal()}) for _ in range(VARIANTS if configure else 1)]
    return [*dict.fromkeys(found)]


def needs_of(settings: Mapping[str, str]) -> str:
    """Settings as a program's `needs` has them."""
    return _BETWEEN.join(f"{name}{_IS}{value}" for name, value in sorted(settings.items()))


def settings_of(needs: str) -> Mapping[str, str]:
    """All settings that `needs` stands for; none for what is not known."""
    named = {**CONFIGURED, **STARTED}.get(needs)
    if named is not None:
        return named
    parts = (part.partition(_IS) for part in needs.split(_BETWEEN) if needs)
    pairs = {name: value for name, _, value in parts}
    return pairs if all(value and name in LEGAL for name, value in pairs.items()) else {}


def drawn_of(needs: str) -> Mapping[str, str]:
    """Those of them that were drawn, so that a program may show the same without some; none where they have a name together."""
    return {} if needs in CONFIGURED or needs in STARTED else settings_of(needs)


def at_start(needs: str) -> Mapping[str, str]:
    """Those of them that a broker has to be started with."""
    return settings_of(needs) if needs in STARTED else {name: value for name, value in drawn_of(needs).items() if LEGAL[name].start}


def while_running(needs: str) -> Mapping[str, str]:
    """Those of them that are changed on a broker that runs, and set back."""
    return CONFIGURED[needs] if needs in CONFIGURED else {name: value for name, value in drawn_of(needs).items() if not LEGAL[name].start}


def can_be_had(needs: str, *, configure: bool, start: bool) -> bool:
    """Whether a target can do all of it: change settings of a running broker, and start brokers with others."""
    return (start or not at_start(needs)) and (configure or not while_running(needs))


def is_known(needs: str) -> bool:
    """Whether a program can have this in `needs`."""
    return not needs or bool(settings_of(needs))


def stages(needs: Iterable[str]) -> list[tuple[str, ...]]:
    """What can be had on one broker after the other, each with other settings from its start: first all that a broker takes over when it
    runs, with what leaves a mark as the last one."""
    wanted = set(needs)
    own: dict[str, list[str]] = {}
    for one in sorted(wanted - {"", *CONFIGURED, *STARTED}):
        own.setdefault(needs_of(at_start(one)), []).append(one)
    rows: list[Sequence[str]] = [("", *own.pop("", ()), *CONFIGURED), *((one,) for one in STARTED), *own.values()]
    return [found for row in rows if (found := tuple(one for one in row if one in wanted))]


class _Deck:
    """Pairs of a setting and a value, of which some at once are dealt with no setting twice among them; shuffled anew when it is empty."""

    def __init__(self, chance: random.Random, values: Mapping[str, Sequence[str]]) -> None:
        self._chance = chance
        self._all = [(name, value) for name, of in values.items() for value in of]
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
