"""Records: where they lie, what they are made of, and what is stored of a message (INV-37, INV-39 to INV-42, INV-56, INV-57)."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, after, all_of, any_of, free, implies, ite, without_bits
from rocketproof_model.language import JAVA_INT, Int, rewrite, wrap32
from rocketproof_spec.bounds import NAME_LIMIT, TEXT_LIMIT
from rocketproof_spec.dispatching import Dispatching
from rocketproof_spec.placing import body_fits
from rocketproof_spec.sizes import FIXED, LONGER, MAX_MESSAGE_SIZE, Sizes, limits, stored_text
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import has, is_, vocabulary
from rocketproof_traces.stored.kinds import NO_TEXT
from rocketproof_traces.stored.layout import LEDGER_DATA, LEDGER_HEADER, PROPERTIES_LIMIT

from . import conditions as about
from .answers import HOOKED, PLAIN
from .claim import SEEDS, Case, Claim, HistoryClaim, cases, condition, history_cases, named, wide
from .claim import about as claim_about

BATCH_WAIT = 10_000
"""Milliseconds that a batch may wait for the log's lock after the time that it is stored with, in 4.3 to 4.6."""


def _layout() -> list[Rule]:
    """Where a record lies, what it is made of, and when it was stored."""
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
    """Entries of DLedger, which records lie in."""
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
    """What is neither record nor blank, by what is wrong with it."""
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
    unread = tuple(each for each in RULES if each.over == "damage")
    return [
        HistoryClaim(
            "INV-37",
            "records follow each other without gaps, blanks end files, and each record says where it is",
            (*unread, *named(RULES, "INV-37.stored")),
        ),
        claim_about("INV-39", "no record crosses the end of a file", "place", p.size <= p.rest, p.rest, p.size),
        HistoryClaim("INV-40", "a record's size is 91 bytes and its body, topic and properties", (*unread, *named(RULES, "INV-40.stored"))),
        HistoryClaim("INV-40.limit", "no record, or no body where that is limited, is larger than the limit", named(RULES, "INV-40.limit")),
        HistoryClaim("INV-41", "a record's checksum is its body's CRC-32 without the sign bit", named(RULES, "INV-41.stored")),
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

_OF_HOOKS: list[Case] = [
    *cases(HOOKLESS, "dispatch", "violated", **HOOKED, reason="HAZ-19: the context's properties are written back into the header"),
    *cases(HOOKLESS, "dispatch", "holds", **PLAIN),
    *cases(HOOKLESS, "dispatch", _BY_RELEASE, profiles=_BY_RELEASE, **HOOKED, reason="A-5: only 5.x makes a context without hooks too"),
]

HISTORY = _histories()
_CONTIGUOUS, _INSIDE, _SIZES, _LIMIT, _CHECKSUMS, _TIMES, _HOOKS, _WAIT = HISTORY

_PARSED = "the stored text is the parsed map without WAIT; earlier it is the sender's own text, and 5.x leaves WAIT in"
_TRACED = "HAZ-19: a hook's region and trace switch are stored; 5.x stores them without hooks too"


# Sizes


def _number(name: str) -> Expr:
    """Any 32-bit int."""
    return free(name, Int(*JAVA_INT))


def _any_size(z: Sizes, term: Expr) -> Expr:
    """What an action says, for all 32-bit ints in place of the classes of sizes that a state has."""
    sizes = {z.name: "name", z.name_characters: "characters", z.text: "text", z.text_characters: "text's characters", z.body: "body"}
    return wide(rewrite(term, lambda e: _number(sizes[e]) if e in sizes else None))


def _refused(z: Sizes, action: str) -> Expr:
    return _any_size(z, condition(z.model.named(action), "beyond"))


def _read(z: Sizes, *, place: int = 0) -> Expr:
    """Whether what `append` has written can be read at a place of a log that was empty, if no flag says anything of hosts."""
    written = [update.value for update in z.model.named("append").updates if update.target.args[0] is z.log]
    empty = (wide(z.written) == 0) & ~z.job.longer
    read: Expr = implies(empty, _any_size(z, written[place]) == "new")
    return read


def _answered(z: Sizes) -> Expr:
    """The step answers a request."""
    done: Expr = z.job.arrived & ~after(z.job.arrived)
    return done


def _stored(z: Sizes) -> Expr:
    return any_of(after(z.job.answer) == answer for answer in ("stored", "stored otherwise"))


def _bad(z: Sizes) -> Expr:
    return any_of((z.written > number) & z.at(number, "unreadable", "unequal") for number in range(z.places))


def _lemma_of_lengths(z: Sizes) -> Expr:
    name, text = _number("name"), _number("text")
    fits = (name <= NAME_LIMIT) & (stored_text(z, text) <= TEXT_LIMIT)
    single = (z.job.kind != "batch") & (wide(z.written) == 0) & ~z.job.longer
    return implies(single & (name >= 0) & (text >= 0), _read(z) == fits)


def _lemma_of_sums(z: Sizes) -> Expr:
    """Body, topic and properties are within their limits, and maxMessageSize leaves 64 KB of Java's ints, as its encoder wants."""
    body, name, text, limit = (_number(name) for name in ("body", "name", "text", "limit"))
    around = FIXED + 2 * LONGER + name + text
    inside = all_of(part >= 0 for part in (body, name, text)) & (name <= NAME_LIMIT) & (text <= TEXT_LIMIT)
    java = (limit <= JAVA_INT[1] - (1 << 16)) & body_fits(body, around, limit, record=False)
    sums = implies(inside & java, (wrap32(body + around) == body + around) & (body + around > body))
    return sums & implies((body >= 0) & ~_refused(z, "refuse_size"), body <= MAX_MESSAGE_SIZE)


def _characters(most: int) -> Expr:
    """A name of up to so many characters of UTF-16, of which each has one to three bytes, and no properties."""
    characters, size = _number("characters"), _number("name")
    return (characters >= 1) & (characters <= most) & (size >= characters) & (size <= 3 * characters) & (_number("text") == 0)


def _lemma_of_names(z: Sizes) -> Expr:
    return implies((z.job.kind != "batch") & _characters(NAME_LIMIT // 3), _read(z))


def _lemma_of_tested_names(z: Sizes) -> Expr:
    tested = ~_refused(z, "refuse_topic") & _characters(JAVA_INT[1])
    return implies((z.job.kind != "batch") & tested, _read(z))


def _lemma_of_texts(z: Sizes) -> Expr:
    tested = ~_refused(z, "refuse_bytes") & (_number("text") >= 0) & (_number("name") == 1)
    return implies((z.job.kind != "batch") & tested, _read(z))


def _lemma_of_items(z: Sizes) -> Expr:
    """The second item's own properties have a length of a signed short, which is all that is tested of them."""
    text = _number("text")
    tested = ~_refused(z, "refuse_bytes") & (text >= 0) & (text <= TEXT_LIMIT) & (_number("name") == 1)
    return implies((z.job.kind == "batch") & tested, _read(z, place=1))


READS_BACK = Claim(
    "INV-40.read",
    "the lengths in a record add up to its size, so that it can be read",
    "always",
    lambda z: ~_bad(z),
    part=Sizes,
)
SURVIVES = Claim(
    "INV-06.sizes",
    "what was acknowledged and flushed is there after a start, however the process ended",
    "step",
    lambda z: implies(~z.up & after(z.up), after(z.written) == z.written),
    part=Sizes,
)
HAS_ENTRIES = Claim(
    "INV-36.sizes",
    "what the dispatcher has passed has an entry in its consume queue",
    "always",
    lambda z: all_of(implies((z.dispatched > number) & (z.written > number), z.at(number, "built")) for number in range(z.places)),
    part=Sizes,
)
AS_SENT = Claim(
    "AUX-35",
    "a message is stored with the properties that it was sent with, and the broker's own",
    "always",
    lambda z: z.job.answer != "stored otherwise",
    part=Sizes,
)
REFUSED = Claim(
    "INV-07.sizes",
    "what a limit refuses is not stored, and nothing else is refused",
    "step",
    lambda z: implies(_answered(z) & ~_stored(z), (after(z.written) == z.written) & any_of(row[3] for row in limits(z))),
    part=Sizes,
)
WITHIN = Claim(
    "INV-40.within",
    "what is stored is within every limit that is tested, and takes a place for each message",
    "step",
    lambda z: implies(
        _answered(z) & _stored(z),
        ~any_of(row[3] for row in limits(z)) & (after(z.written) == z.written + ite(z.job.kind == "batch", 2, 1)),
    ),
    part=Sizes,
)
ILLEGAL = Claim(
    "AUX-36",
    "a topic that is too long is refused as such before its contents are looked at",
    "step",
    lambda z: implies(
        _answered(z) & (z.job.topic == "more characters"),
        any_of(after(z.job.answer) == answer for answer in ("illegal name", "MESSAGE_ILLEGAL"))
        | ((z.job.kind == "send-back") & (after(z.job.answer) == "SYSTEM_ERROR")),
    ),
    part=Sizes,
)
BEYOND = Claim(
    "REA-90",
    "the dispatcher is beyond the log's end, so that the next record is passed over",
    "reachable",
    lambda z: z.up & (z.dispatched > z.written),
    part=Sizes,
)
PASSED = Claim(
    "REA-91",
    "a record behind one that cannot be read has its entry",
    "reachable",
    lambda z: any_of(z.at(number, "unreadable", "unequal") & z.at(number + 1, "built") for number in range(z.places - 1)),
    part=Sizes,
)
LARGEST = Claim(
    "REA-92",
    "a body of exactly maxMessageSize is stored",
    "reachable",
    lambda z: z.job.arrived & (z.job.body == "limit") & ~any_of(row[3] for row in limits(z)),
    part=Sizes,
)
LOST = Claim(
    "REA-93",
    "records that could be read and were dispatched are gone after a start",
    "reachable",
    lambda z: ~z.up & any_of(z.at(number, "unreadable", "unequal") & z.at(number + 1, "built") for number in range(z.places - 1)),
    part=Sizes,
)
LENGTHS = Claim(
    "INV-40.lemma", "a length is read as it was written up to 127 bytes of a topic and 32767 of properties, and no further", "lemma",
    _lemma_of_lengths, part=Sizes,
)  # fmt: skip
SUMS = Claim(
    "INV-40.sum", "the size of a record whose parts are within their limits is a sum of Java's ints", "lemma", _lemma_of_sums, part=Sizes
)
SHORT_NAMES = Claim("AUX-37", "a name of at most 42 characters fits the length of a topic", "lemma", _lemma_of_names, part=Sizes)
LONG_NAMES = Claim(
    "AUX-37.limit", "a name of at most 127 characters fits the length of a topic", "lemma", _lemma_of_tested_names, part=Sizes
)
SUMMED = Claim(
    "AUX-38",
    "properties that are tested with the broker's own are read as they were written",
    "lemma",
    _lemma_of_texts,
    part=Sizes,
)
ALONE = Claim(
    "AUX-38.batch", "properties that are tested without the broker's own are read as they were written", "lemma",
    _lemma_of_items, part=Sizes,
)  # fmt: skip

CLAIMS = [
    HOOKLESS,
    *(READS_BACK, SURVIVES, HAS_ENTRIES, AS_SENT, REFUSED, WITHIN, ILLEGAL, BEYOND, PASSED, LARGEST, LOST),
    *(LENGTHS, SUMS, SHORT_NAMES, LONG_NAMES, SUMMED, ALONE),
]

_PROFILES = ("P40", "P45", "P49", "P494", "P533")
_FIT: dict[str, Any] = {"condition": "sizes within their limits", "given": {"names": False, "texts": False, "flags": False}}
_NAMES: dict[str, Any] = {"condition": "names at their limit", "given": {"texts": False, "flags": False}}
_TEXTS: dict[str, Any] = {"condition": "properties at their limit", "given": {"names": False, "flags": False}}
_FLAGS: dict[str, Any] = {"condition": "flags of IPv6", "given": {"names": False, "texts": False}}
_ALL: dict[str, Any] = {"condition": "all sizes"}
_HOLDS: dict[str, str] = dict.fromkeys(_PROFILES, "holds")
_VIOLATED: dict[str, str] = dict.fromkeys(_PROFILES, "violated")
_ENDANGERED: list[tuple[dict[str, Any], dict[str, str], str]] = [
    (_FIT, _HOLDS, "every length fits its number"),
    (_NAMES, {**_VIOLATED, "P533": "holds"}, "HAZ-49: 127 characters may have more bytes; P533 refuses such groups, P49 such topics alone"),
    (_TEXTS, {**_VIOLATED, "P40": "holds", "P45": "holds"}, "HAZ-50: a batch gets CLUSTER behind the test, before P49 nothing"),
    (_FLAGS, {**_VIOLATED, "P40": "holds", "P45": "holds"}, "HAZ-51: the flags mean nothing before IPv6"),
]
_STATES: list[Case] = [
    case
    for claim in (READS_BACK, SURVIVES, HAS_ENTRIES)
    for on, verdicts, reason in _ENDANGERED
    for case in cases(claim, "sizes", verdicts, profiles=_PROFILES, **on, reason=reason)
]
_LEMMA: dict[str, Any] = {"engines": ("symbolic",), "method": "lemma", "condition": "all 32-bit ints", "profiles": ("P49",)}

CASES: list[Case] = [
    *_OF_HOOKS,
    *_STATES,
    *cases(AS_SENT, "sizes", about.LATER_FAULTY, **_TEXTS, reason="SEND-26, SEND-27: the parsed map with the broker's CLUSTER is stored"),
    *[case for claim in (REFUSED, WITHIN, ILLEGAL) for case in cases(claim, "sizes", _HOLDS, profiles=_PROFILES, **_ALL)],
    *cases(BEYOND, "sizes", {"P49": "holds", "P494": "holds"}, profiles=("P49", "P494"), **_TEXTS),
    *[case for claim in (PASSED, LOST) for case in cases(claim, "sizes", "holds", **_NAMES)],
    *cases(LARGEST, "sizes", {"P494": "holds", "P533": "holds"}, profiles=("P494", "P533"), **_ALL),
    *[case for claim in (LENGTHS, SUMS, SHORT_NAMES, SUMMED) for case in cases(claim, "sizes", "holds", **_LEMMA)],
    *[case for claim in (LONG_NAMES, ALONE) for case in cases(claim, "sizes", "violated", **_LEMMA, reason="HAZ-49, HAZ-50")],
]

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
