"""Show what programs send: each field of a request, each message property and each setting, with the number of its values.

What releases have is read from their jars (`released.py`). A field without a second value in programs needs a reason in this module.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, permutations
from typing import Final

from rocketproof_impl.message import parse_properties
from rocketproof_profiles import PROFILES
from rocketproof_profiles.releases import line_of, startable, version_key
from rocketproof_properties.programs.call import RecordedCall
from rocketproof_properties.programs.pool import calls, sampled_context
from rocketproof_properties.programs.program import Program, ProgramOptions, generate
from rocketproof_properties.programs.requests import batch_items
from rocketproof_properties.programs.settings import LEGAL, NOT_DRAWN, WITHOUT_EFFECT
from rocketproof_properties.reports.choices import InputError
from rocketproof_protocol import codes

from .figures import Bench, FigureColumn, FigureTable, Tell, benchmark
from .released import CONFIGS, PROPERTIES, ReleasedField, released

TABLE: Final = FigureTable(
    (
        FigureColumn("of", "owner"),
        FigureColumn("name", "name"),
        FigureColumn("releases", "releases"),
        FigureColumn("values", "values", "d"),
        FigureColumn("pairs", "pairs", ".0%"),
        FigureColumn("such as", "examples"),
        FigureColumn("left out because", "reason"),
    )
)
HEADERS: Final[Mapping[int, str]] = {
    codes.SEND_MESSAGE: "SendMessageRequestHeader",
    codes.SEND_MESSAGE_V2: "SendMessageRequestHeader",
    codes.SEND_BATCH_MESSAGE: "SendMessageRequestHeader",
    codes.PULL_MESSAGE: "PullMessageRequestHeader",
    codes.QUERY_MESSAGE: "QueryMessageRequestHeader",
    codes.QUERY_CONSUMER_OFFSET: "QueryConsumerOffsetRequestHeader",
    codes.UPDATE_CONSUMER_OFFSET: "UpdateConsumerOffsetRequestHeader",
    codes.UPDATE_AND_CREATE_TOPIC: "CreateTopicRequestHeader",
    codes.SEARCH_OFFSET_BY_TIMESTAMP: "SearchOffsetRequestHeader",
    codes.GET_MAX_OFFSET: "GetMaxOffsetRequestHeader",
    codes.GET_EARLIEST_MSG_STORETIME: "GetEarliestMsgStoretimeRequestHeader",
    codes.VIEW_MESSAGE_BY_ID: "ViewMessageRequestHeader",
    codes.UNREGISTER_CLIENT: "UnregisterClientRequestHeader",
    codes.CONSUMER_SEND_MSG_BACK: "ConsumerSendMsgBackRequestHeader",
    codes.END_TRANSACTION: "EndTransactionRequestHeader",
    codes.PUT_KV_CONFIG: "PutKVConfigRequestHeader",
    codes.REGISTER_BROKER: "RegisterBrokerRequestHeader",
    codes.UNREGISTER_BROKER: "UnRegisterBrokerRequestHeader",
    codes.GET_ROUTEINFO_BY_TOPIC: "GetRouteInfoRequestHeader",
    codes.GET_TOPIC_STATS_INFO: "GetTopicStatsInfoRequestHeader",
    codes.WIPE_WRITE_PERM_OF_BROKER: "WipeWritePermOfBrokerRequestHeader",
    codes.ADD_WRITE_PERM_OF_BROKER: "AddWritePermOfBrokerRequestHeader",
    codes.DELETE_SUBSCRIPTIONGROUP: "DeleteSubscriptionGroupRequestHeader",
    codes.DELETE_TOPIC_IN_BROKER: "DeleteTopicRequestHeader",
    codes.DELETE_TOPIC_IN_NAMESRV: "DeleteTopicFromNamesrvRequestHeader",
    codes.REGISTER_TOPIC: "RegisterTopicRequestHeader",
    codes.GET_KVLIST_BY_NAMESPACE: "GetKVListByNamespaceRequestHeader",
    codes.QUERY_DATA_VERSION: "QueryDataVersionRequestHeader",
}
"""The class of the fields of each request that programs send."""
_FORWARDED: Final = "a proxy or a mapped topic reads it; both are outside of the send and store path"
_DEFAULT: Final = "not modelled: programs run with its default"
_LITE: Final = "lite topics are outside of the send and store path"
LEFT_OUT: Final[Mapping[tuple[str, str], str]] = {
    **{("", name): _FORWARDED for name in ("ns", "nsd", "bname", "oway", "lo")},
    **{("", name): _LITE for name in ("liteTopic", "__LITE_TOPIC")},
    ("SendMessageRequestHeader", "producerGroup"): "a broker compares it only when a transaction ends, and only with the property PGROUP",
    ("SendMessageRequestHeader", "bornTimestamp"): "each message has its own, which identifies the record",
    ("CreateTopicRequestHeader", "defaultTopic"): "no release reads it",
    ("UnregisterClientRequestHeader", "clientID"): "a client has one id per connection, and a connection is a client of the program",
    ("PullMessageRequestHeader", "proxyFrowardClientId"): _FORWARDED,
    ("PullMessageRequestHeader", "requestSource"): _FORWARDED,
}
"""The reason for each field that programs do not vary; an owner "" stands for all."""
_GROUPS: Final = (
    (r"Acl|AccessConfig|User|WhiteAddrs", "users and access lists"),
    (r"Controller|ElectMaster|BrokerId|SyncState|ReplicaInfo|BrokerRole|HAInfo|BrokerHeartbeat|MemberGroup|^(Add|Remove)Broker",
     "controllers and roles of brokers"),
    (r"Pop|Ack|Invisible|Lite|Notification|PollingInfo|PeekMessage|LockBatch|Parent", "pop, lite topics and order locks of 5.x consumers"),
    (r"Consum|Producer|Subscription|Stat|Stats|TimeSpan|Statistics|ResetOffset|Clone|Forbidden|Running", "consoles and consumers' tools"),
    (r"Filter", "filter servers of 4.x"),
    (r"Reply", "request and reply between clients"),
    (r"CheckTransactionState|Notify", "requests that a broker sends to its clients"),
    (r"RocksDB|Rocksdb", "stores in RocksDB"),
    (r"", "administration outside of the send and store path"),
)  # fmt: skip
"""The reason for each class of fields without a request in programs, by its name; the first that fits."""
_OF_BROKERS: Final = frozenset({
    "1ST_POP_TIME", "ARRIVE_TIME", "BORN_TIMESTAMP", "BUYER_ID", "CLUSTER", "CONSUME_START_TIME", "CORRECTION_FLAG", "CORRELATION_ID",
    "DLQ_ORIGIN_MESSAGE_ID", "DLQ_ORIGIN_TOPIC", "DUP_INFO", "EXTEND_UNIQ_INFO", "E_T", "F", "INNER_BASE", "INNER_MULTI_DISPATCH",
    "INNER_MULTI_QUEUE_OFFSET", "INNER_NUM", "INSTANCE_ID", "K", "MAX_OFFSET", "MAX_RECONSUME_TIMES", "MIN_OFFSET", "MQ2_FLAG",
    "MSG_REGION", "MSG_TYPE", "ORIGIN_GROUP", "ORIGIN_MESSAGE_ID", "POP_CK", "POP_CK_OFFSET", "PROPERTY_FORWARD_QUEUE_ID",
    "PUSH_REPLY_TIME", "R", "REAL_QID", "REAL_TOPIC", "RECONSUME_TIME", "REDIRECT", "REPLY_TO_CLIENT", "RETRY_TOPIC", "T",
    "TIMER_DELAY_LEVEL", "TIMER_DEQUEUE_MS", "TIMER_ENQUEUE_MS", "TIMER_OUT_MS", "TIMER_ROLL_LABEL", "TIMER_ROLL_TIMES",
    "TRACE_CONTEXT", "TRACE_ON", "TRANSACTION_CHECK_TIMES", "TRANSFER_FLAG", "TRANS_OFFSET", "TRAN_PREPARED_QUEUE_OFFSET", "TTL", "U",
    "_SYS_MSG_PRIORITY_", "__BORNHOST", "__CRC32#", "__RMQ.TRANSIENT.", "__RMQ.TRANSIENT.GROUP_SYS_FLAG",
    "__RMQ.TRANSIENT.TOPIC_SYS_FLAG", "__SHARDINGKEY", "__transactionId__",
})  # fmt: skip
"""The properties of messages that a broker or a consumer's client sets."""
ABSENT: Final = "absent"


@dataclass
class SentValues:
    """The values of each field in the requests of programs, and the requests themselves by the class of their fields.

    `ABSENT` is the value of a field in a request that lacks it.
    """

    requests: defaultdict[str, list[Mapping[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def values(self, owner: str, name: str) -> Counter[str]:
        """Return how often a field has each value; empty if no request has it."""
        counts = Counter(fields.get(name, ABSENT) for fields in self.requests.get(owner, ()))
        return counts if counts.keys() - {ABSENT} else Counter()

    def pairs(self, owner: str, usual: Mapping[str, str]) -> Mapping[str, set[str]]:
        """Return for each of these fields the others whose value is not the usual one in the same request, if its own is not."""
        found = {name: set[str]() for name in usual}
        for fields in self.requests[owner]:
            unusual = [name for name in usual if fields.get(name, ABSENT) != usual[name]]
            for one, other in permutations(unusual, 2):
                found[one].add(other)
        return found


def sent(programs: Iterable[Program], profile: str) -> SentValues:
    """Return the values in the requests of programs. Nothing is performed, so that values taken from responses are those of two records."""
    found = SentValues()
    for program in programs:
        for config in CONFIGS:
            found.requests[config].append(program.settings)
        for call in calls(program.steps, sampled_context(PROFILES[profile])):
            if call.code in HEADERS:
                found.requests[HEADERS[call.code]].append(call.fields)
            for text in _property_texts(call):
                found.requests[PROPERTIES].append(parse_properties(text, exact=False))
    return found


def _property_texts(call: RecordedCall) -> Iterator[str]:
    yield call.fields.get("properties") or ""
    if call.code == codes.SEND_BATCH_MESSAGE:
        yield from (properties.decode("utf-8", "replace") for _, properties in batch_items(call.body or b""))


def reason(row: ReleasedField) -> str:
    """Return why programs do not vary a field, "" if no reason is known."""
    known = LEFT_OUT.get((row.owner, row.name)) or LEFT_OUT.get(("", row.name))
    if known:
        return known
    if row.owner in CONFIGS:
        return NOT_DRAWN.get(row.name) or WITHOUT_EFFECT.get(row.name) or ("" if row.name in LEGAL else _DEFAULT)
    if row.owner == PROPERTIES:
        return "a broker or a consumer's client sets it" if row.name in _OF_BROKERS else ""
    if row.owner not in HEADERS.values():
        return next(text for pattern, text in _GROUPS if re.search(pattern, row.owner))
    return ""


@benchmark
def measure(profile: str, count: int, seed: int, *, tell: Tell) -> Iterator[Bench]:
    """Return a row for each field that the releases of a profile's line have.

    `pairs`: the share of the other varied fields of the class that have an unusual value in the same request.
    """
    tell(f"{count} programs of seed {seed}")
    found = sent(generate(ProgramOptions(profile, count, seed, configure=True, start=True, end=True)), profile)
    version = newest(profile)
    rows = sorted(row for row in released() if row.exists_in(version))
    for owner, fields in groupby(rows, key=lambda row: row.owner):
        yield from _rows(owner, list(fields), found)


def _rows(owner: str, fields: Sequence[ReleasedField], found: SentValues) -> Iterator[Bench]:
    counts = {row.name: found.values(owner, row.name) for row in fields}
    usual = {name: values.most_common(1)[0][0] for name, values in counts.items() if len(values) > 1}
    together = found.pairs(owner, usual) if owner in HEADERS.values() and len(usual) > 1 else {}
    for row in fields:
        values = sorted(counts[row.name], key=lambda text: (len(text), text))
        yield {
            "owner": owner,
            "name": row.name,
            "releases": f"{row.first} to {row.last}",
            "values": len(values),
            "pairs": len(together[row.name]) / (len(usual) - 1) if row.name in together else None,
            "examples": ", ".join(_shown(text) for text in values[:6]),
            "reason": reason(row) if len(values) < 2 else "",
        }


def newest(profile: str) -> str:
    """Return the newest release that can be started with a profile. Raises InputError."""
    versions = [version for version in startable() if line_of(version).profile == profile]
    if not versions:
        raise InputError(f"--profile {profile}: no release that can be started has it; rocketproof list releases shows those with one")
    return max(versions, key=version_key)


def _shown(text: str) -> str:
    """Return a value in at most 20 characters, without control characters."""
    printable = "".join(letter if letter.isprintable() else "·" for letter in text)
    return repr(text)[1:-1] if not printable else printable if len(printable) <= 20 else f"{printable[:17]}…"


def text(rows: Sequence[Bench], *, every: bool) -> str:
    """Return a table of the fields that programs vary, or of all, and a line of totals."""
    shown = [row for row in rows if every or not row["reason"]]
    return "\n".join([TABLE.text(shown), *totals(rows)])


def totals(rows: Sequence[Bench]) -> list[str]:
    """Return what share of the fields is varied, alone and in pairs."""
    wanted = [row for row in rows if not row["reason"]]
    paired = [row["pairs"] for row in wanted if row["pairs"] is not None]
    several = len(wanted) - len(missing(rows))
    left = len(rows) - len(wanted)
    alone = f"{len(rows)} fields, properties and settings: {left} left out for a reason, {several} of the other {len(wanted)} varied"
    if not paired:
        return [alone]
    together = sum(share > 0 for share in paired)
    pairs = f"{together} of {len(paired)} fields of requests are unusual together with another one, and {statistics.mean(paired):.0%}"
    return [alone, f"{pairs} of all pairs are"]


def markdown(rows: Sequence[Bench], profile: str, count: int, seed: int) -> str:
    """Return the page with what programs send, and what they leave out with the reason."""
    lines = [
        "# What do programs send?",
        "",
        f"Generated by `rocketproof bench fields --profile {profile} --programs {count} --seed {seed} --markdown FILE`.",
        "[What programs contain](../programs.md).",
        "",
        *(f"- {line}" for line in totals(rows)),
        "",
        "The fields are read from the classes of the releases. A field that only some requests have counts as one more value.",
        '"Pairs" is the share of the other fields of the request that have an unusual value in the same request.',
        "",
        "## Sent",
        "",
        "| of | name | releases | values | pairs | such as |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        if not row["reason"]:
            pairs = "" if row["pairs"] is None else f"{row['pairs']:.0%}"
            examples = row["examples"].replace("|", "\\|")
            lines.append(f"| {row['owner']} | {row['name']} | {row['releases']} | {row['values']} | {pairs} | {examples} |")
    lines += ["", "## Left out", "", "| reason | fields |", "| --- | --- |"]
    reasons: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if row["reason"]:
            reasons.setdefault(row["reason"], {}).setdefault(row["owner"], []).append(row["name"])
    for reason_, owners in sorted(reasons.items()):
        names = "; ".join(f"{owner}: {', '.join(fields)}" for owner, fields in owners.items())
        lines.append(f"| {reason_} | {names} |")
    return "\n".join([*lines, ""])


def missing(rows: Sequence[Bench]) -> list[str]:
    """Return the fields without a second value and without a reason."""
    return [f"{row['owner']}.{row['name']}" for row in rows if row["values"] < 2 and not row["reason"]]
