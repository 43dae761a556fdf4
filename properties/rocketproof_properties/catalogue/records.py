"""Records: their position, their parts, and the stored form of a message (INV-37, INV-39 to INV-42, INV-56, INV-57)."""

from __future__ import annotations

from rocketproof_model import after, implies, ite, without_bits
from rocketproof_spec.dispatching import Dispatching
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import has, is_, vocabulary
from rocketproof_traces.stored.kinds import NO_TEXT
from rocketproof_traces.stored.layout import LEDGER_DATA, LEDGER_HEADER, PROPERTIES_LIMIT

from . import conditions as about
from .answers import HOOKED, PLAIN
from .claim import SEEDS, Case, Claim, HistoryClaim, cases, history_cases, named
from .claim import about as claim_about

BATCH_WAIT = 10_000
"""The maximum time in milliseconds that a batch of 4.3 to 4.6 waits for the log's lock after its store timestamp is set."""


def _layout() -> list[Rule]:
    """The position of a record, its parts, and its store time."""
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    limited = ite(given["limits_record"], r.size, r.bodyLength)
    latest = r.storeTimestamp + given["clock_skew"]
    earliest = r.storeTimestamp - ite(given["early_batches"], BATCH_WAIT, 0)
    shortest = ite(given["check_names"], 1, 0)
    return [
        rule(
            "INV-37.stored",
            "the physical offset in a record is the place where it lies",
            "record", "error",
            r.storedPhysicalOffset == r.physicalOffset, r.physicalOffset, r.storedPhysicalOffset,
        ),
        rule(
            "INV-40.stored",
            "a record's size is what its parts add up to: 91 bytes, more for hosts of IPv6, its body, its topic and its properties",
            "record", "error",
            r.size == r.partsSize, r.partsSize, r.size,
        ),
        rule(
            "INV-40.limit",
            "a record, or its body, is not larger than the broker's maxMessageSize, or RocketMQ's default where that is not given",
            "record", "note",
            limited <= given["max_message_size"], given["max_message_size"], limited,
        ),
        rule(
            "INV-41.stored",
            "the checksum in a record is the CRC-32 of its body without the highest bit",
            "record", "error",
            r.bodyCRC == r.computedCRC, r.computedCRC, r.bodyCRC,
        ),
        rule(
            "INV-41.record",
            "the checksum over a whole record, where the broker adds one, is that of the record",
            "record", "error",
            (r.recordCRC < 0) | (r.recordCRC == r.computedRecordCRC), r.computedRecordCRC, r.recordCRC,
        ),
        rule(
            "STO-01.topic",
            "a record names its topic with 1 to as many bytes as the broker allows; one that does not look at names allows none, too",
            "record", "error",
            (r.topicLength >= shortest) & (r.topicLength <= given["topic_limit"]), given["topic_limit"], r.topicLength,
        ),
        rule(
            "APP-05.stored",
            "a record's properties are not longer than 32767 bytes",
            "record", "error",
            (r.propertiesLength >= 0) & (r.propertiesLength <= PROPERTIES_LIMIT), PROPERTIES_LIMIT, r.propertiesLength,
        ),
        rule(
            "SEND-26.text",
            "a record's properties are a text in UTF-8",
            "record", "error",
            (r.odd & NO_TEXT) == 0, 0, r.odd & NO_TEXT,
        ),
        rule(
            "APP-08.compressed",
            "the body of a record that says it is compressed begins as a compressed one does",
            "record", "warning",
            ~r.falselyCompressed, False, r.falselyCompressed,
        ),
        rule(
            "INV-48.ordinary",
            "a record of an ordinary topic that was not sent back has not been consumed again",
            "record", "warning",
            implies((r.topicClass == "ordinary") & (r.retryClass == "none"), r.reconsumeTimes <= 0), 0, r.reconsumeTimes,
        ),
        rule(
            "SEND-26.stored",
            "a record's properties are names and values, parted by bytes 1 and 2: the broker reads all of them",
            "record", "warning",
            r.ignoredItems == 0, 0, r.ignoredItems,
        ),
        rule(
            "APP-08.sysFlag",
            "a record's sysFlag has known bits only: no client has sent others, which a broker stores",
            "record", "warning",
            without_bits(r.sysFlag, given["known_flags"]) == 0, r.sysFlag & given["known_flags"], r.sysFlag,
        ),
        rule(
            "APP-08.reconsumeTimes",
            "a record has been consumed again no negative number of times: no client has sent one, which a broker stores",
            "record", "warning",
            r.reconsumeTimes >= 0, 0, r.reconsumeTimes,
        ),
        rule(
            "CL-01.born",
            "a message was born before it was stored, but for the clocks' difference",
            "record", "warning",
            (r.bornTimestamp >= 0) & (r.bornTimestamp <= latest), latest, r.bornTimestamp,
        ),
        rule("CL-01.stored", "a record has the time when it was stored", "record", "error", r.storeTimestamp > 0, 1, r.storeTimestamp),
        rule(
            "INV-42.stored",
            "store timestamps never decrease in the order of the log, but for the time that a batch of an old release waits for the lock",
            "log", "warning",
            after(r.storeTimestamp) >= earliest, earliest, after(r.storeTimestamp),
        ),
    ]  # fmt: skip


def _wait() -> list[Rule]:
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    silent = given["stores_parsed"] & ~given["stores_wait"]
    plain = is_(r.topicClass, "ordinary", "own", "template") & (r.realClass == "none") & (r.retryClass == "none")
    return [
        rule(
            "INV-57.stored",
            "the property WAIT of a message that a client has sent is not stored",
            "record", "note",
            implies(silent & plain, ~has(r, "WAIT")), False, has(r, "WAIT"),
        ),
    ]  # fmt: skip


def _ledger() -> list[Rule]:
    """DLedger entries, which contain the records."""
    e = vocabulary()["ledger"].row
    has_record = e.recordSize != 0
    return [
        rule(
            "INV-37.ledger",
            "an entry of DLedger says the place where it lies",
            "ledger", "error",
            e.position == e.place, e.place, e.position,
        ),
        rule(
            "INV-40.ledger",
            "the size of a DLedger entry is that of its header and its body",
            "ledger", "error",
            e.size == LEDGER_HEADER + e.bodySize, LEDGER_HEADER + e.bodySize, e.size,
        ),
        rule(
            "INV-40.body",
            "the body of a DLedger entry is one record",
            "ledger", "error",
            implies(has_record, e.bodySize == e.recordSize), e.recordSize, e.bodySize,
        ),
        rule(
            "INV-41.ledger",
            "the checksum of a DLedger entry's body, where the entry has one, is that of the body",
            "ledger", "error",
            e.bodyCRC == e.computedCRC, e.computedCRC, e.bodyCRC,
        ),
        rule(
            "APP-08.ledger",
            "a DLedger entry with a record is of the type of data",
            "ledger", "error",
            implies(has_record, e.kind == LEDGER_DATA), LEDGER_DATA, e.kind,
        ),
        rule(
            "INV-42.ledger",
            "the terms of DLedger's entries never fall",
            "ledgers", "error",
            after(e.term) >= e.term, e.term, after(e.term),
        ),
    ]  # fmt: skip


def _files() -> list[Rule]:
    f = vocabulary()["file"].row
    return [
        rule(
            "INV-37.files",
            "a file of the log begins where the one before it ends",
            "files", "error",
            after(f.base) == f.base + f.size, f.base + f.size, after(f.base),
        ),
        rule(
            "PRE-01.size",
            "the files of the log have one size",
            "files", "warning",
            after(f.size) == f.size, f.size, after(f.size),
        ),
    ]  # fmt: skip


def _damage() -> list[Rule]:
    """Bytes that are neither record nor blank, by the kind of error."""
    d = vocabulary()["damage"].row

    def none(id_: str, sentence: str, *reasons: str) -> Rule:
        return rule(id_, sentence, "damage", "error", ~is_(d.reason, *reasons), 0, d.length)

    return [
        none("INV-37.contiguous", "where a record ends, the next one, a blank or the end of the log begins", "magic", "size"),
        none("INV-40.lengths", "the lengths inside a record add up to its size", "lengths"),
        none("INV-39.stored", "no record crosses the end of its file", "truncated"),
        none("INV-37.hole", "there is no hole of zeros between records", "hole"),
        none("INV-37.blank", "a blank fills its file to the end", "blank"),
        none("INV-37.ended", "a file before the last one is full: its records end at a blank or at its end", "zeros"),
    ]


RULES = [*_layout(), *_wait(), *_ledger(), *_files(), *_damage()]


def _histories() -> list[HistoryClaim]:
    r, p, e = vocabulary()["record"].row, vocabulary()["place"].row, vocabulary()["exchange"].row
    unread = tuple(rule_ for rule_ in RULES if rule_.over == "damage")
    return [
        HistoryClaim(
            "INV-37",
            "records follow each other without gaps, blanks end files, and each record contains its own position",
            (*unread, *named(RULES, "INV-37.stored")),
        ),
        claim_about("INV-39", "no record crosses the end of a file", "place", p.size <= p.rest, p.rest, p.size),
        HistoryClaim("INV-40", "a record's size is 91 bytes and its body, topic and properties", (*unread, *named(RULES, "INV-40.stored"))),
        HistoryClaim("INV-40.limit", "no record (in some releases: no body) exceeds the size limit", named(RULES, "INV-40.limit")),
        HistoryClaim("INV-41", "a record's checksum is the CRC-32 of its body without the sign bit", named(RULES, "INV-41.stored")),
        HistoryClaim("INV-42", "store times never decrease along the log", named(RULES, "INV-42.stored")),
        claim_about(
            "INV-56",
            "the stored properties are the same with and without hooks",
            "exchange",
            implies(e.hooksKnown, e.sameWithoutHooks), True, e.sameWithoutHooks,
        ),
        claim_about(
            "INV-57",
            "WAIT is not among the stored properties",
            "record",
            implies(r.topicClass != "operations", ~has(r, "WAIT")), False, has(r, "WAIT"),
        ),
    ]  # fmt: skip


HOOKLESS = Claim(
    "INV-56", "stored properties do not depend on hooks", "always",
    lambda d: ((d.stored != "plain") | ~d.always_traced) & ((d.stored != "traced") | d.always_traced),
    part=Dispatching,
)  # fmt: skip
_BY_RELEASE = {"P494": "violated", "P533": "holds"}

CLAIMS = [HOOKLESS]
CASES: list[Case] = [
    *cases(HOOKLESS, "dispatch", "violated", **HOOKED, reason="HAZ-19: the context's properties are written back into the header"),
    *cases(HOOKLESS, "dispatch", "holds", **PLAIN),
    *cases(HOOKLESS, "dispatch", _BY_RELEASE, profiles=_BY_RELEASE, **HOOKED, reason="A-5: only 5.x makes a context without hooks too"),
]

HISTORY = _histories()
_CONTIGUOUS, _INSIDE, _SIZES, _LIMIT, _CHECKSUMS, _TIMES, _HOOKS, _WAIT = HISTORY

_PARSED = "the stored text is the parsed map without WAIT; earlier it is the sender's own text, and 5.x leaves WAIT in"
_TRACED = "HAZ-19: a hook's region and trace switch are stored; 5.x stores them without hooks too"

HISTORY_CASES: list[Case] = [
    *[c for claim in (_CONTIGUOUS, _INSIDE, _SIZES, _LIMIT, _CHECKSUMS, _TIMES) for c in history_cases(claim, about.ANYTHING, "holds")],
    *history_cases(_HOOKS, about.HOOKED, {**dict.fromkeys(SEEDS, "violated"), "P533": "holds"}, reason=_TRACED),
    *history_cases(_WAIT, about.PLAIN, {**about.LATER_GOOD, "P490": "violated", "P533": "violated"}, reason=_PARSED),
    *history_cases(_WAIT, about.DELAYED, "violated", reason="a delayed message is serialised again, with WAIT"),
    *history_cases(_WAIT, about.HALF_ONES, "violated", about.WITH_HALF, "a half message is serialised again, with WAIT"),
    *history_cases(_WAIT, about.SENT_BACK, "violated", reason="a send-back sets WAIT to false and stores it"),
    *[case for condition in (about.CRASHED, about.WAITING) for case in history_cases(_CONTIGUOUS, condition, "holds")],
    *history_cases(_TIMES, about.SET_BACK, "violated", reason="a store time is what the clock shows"),
]
