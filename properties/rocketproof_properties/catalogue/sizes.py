"""Limits of sizes: the messages that a limit refuses, and whether a stored record can be read again (INV-06, INV-07, INV-36, INV-40)."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, after, all_of, any_of, free, implies, ite
from rocketproof_model.language import JAVA_INT, Int, rewrite, wrap32
from rocketproof_spec.bounds import NAME_LIMIT, TEXT_LIMIT
from rocketproof_spec.placement import body_fits
from rocketproof_spec.sizes import FIXED, LONGER, MAX_MESSAGE_SIZE, Sizes, limits, stored_text

from . import conditions as about
from .claim import Case, Claim, cases, condition, wide


def _number(name: str) -> Expr:
    """A variable for any 32-bit int."""
    return free(name, Int(*JAVA_INT))


def _any_size(z: Sizes, term: Expr) -> Expr:
    """Generalize a term of an action: all 32-bit ints instead of the classes of sizes in a state."""
    sizes = {z.name: "name", z.name_characters: "characters", z.text: "text", z.text_characters: "text's characters", z.body: "body"}
    return wide(rewrite(term, lambda e: _number(sizes[e]) if e in sizes else None))


def _refused(z: Sizes, action: str) -> Expr:
    return _any_size(z, condition(z.model.named(action), "beyond"))


def _read(z: Sizes, *, place: int = 0) -> Expr:
    """Whether a record that `append` has written to an empty log is readable at a place, if no flag concerns hosts."""
    written = [update.value for update in z.model.named("append").updates if update.target.args[0] is z.log]
    empty = (wide(z.written) == 0) & ~z.job.longer
    read: Expr = implies(empty, _any_size(z, written[place]) == "new")
    return read


def _answered(z: Sizes) -> Expr:
    """Whether the step answers a request."""
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
    """Body, topic and properties are within their limits, and maxMessageSize leaves 64 KB of Java's int range, as its encoder requires."""
    body, name, text, limit = (_number(name) for name in ("body", "name", "text", "limit"))
    around = FIXED + 2 * LONGER + name + text
    inside = all_of(part >= 0 for part in (body, name, text)) & (name <= NAME_LIMIT) & (text <= TEXT_LIMIT)
    java = (limit <= JAVA_INT[1] - (1 << 16)) & body_fits(body, around, limit, record=False)
    sums = implies(inside & java, (wrap32(body + around) == body + around) & (body + around > body))
    return sums & implies((body >= 0) & ~_refused(z, "refuse_size"), body <= MAX_MESSAGE_SIZE)


def _characters(most: int) -> Expr:
    """A name of up to `most` UTF-16 characters with one to three bytes each, and no properties."""
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
    """The length of the second item's own properties fits a signed 16-bit number. Nothing else is checked of them."""
    text = _number("text")
    tested = ~_refused(z, "refuse_bytes") & (text >= 0) & (text <= TEXT_LIMIT) & (_number("name") == 1)
    return implies((z.job.kind == "batch") & tested, _read(z, place=1))


READS_BACK = Claim(
    "INV-40.read",
    "the lengths in a record add up to its size",
    "always",
    lambda z: ~_bad(z),
    part=Sizes,
)
SURVIVES = Claim(
    "INV-06.sizes",
    "a message that was acknowledged and flushed exists after a restart, however the process ended",
    "step",
    lambda z: implies(~z.up & after(z.up), after(z.written) == z.written),
    part=Sizes,
)
HAS_ENTRIES = Claim(
    "INV-36.sizes",
    "every record that the dispatcher has passed has an entry in its consume queue",
    "always",
    lambda z: all_of(implies((z.dispatched > number) & (z.written > number), z.at(number, "built")) for number in range(z.places)),
    part=Sizes,
)
AS_SENT = Claim(
    "AUX-35",
    "a message is stored with its own properties and the broker's",
    "always",
    lambda z: z.job.answer != "stored otherwise",
    part=Sizes,
)
REFUSED = Claim(
    "INV-07.sizes",
    "a message is rejected exactly if it exceeds a limit, and is then not stored",
    "step",
    lambda z: implies(_answered(z) & ~_stored(z), (after(z.written) == z.written) & any_of(row[3] for row in limits(z))),
    part=Sizes,
)
WITHIN = Claim(
    "INV-40.within",
    "a stored batch is within every tested limit and takes one place per message",
    "step",
    lambda z: implies(
        _answered(z) & _stored(z),
        ~any_of(row[3] for row in limits(z)) & (after(z.written) == z.written + ite(z.job.kind == "batch", 2, 1)),
    ),
    part=Sizes,
)
ILLEGAL = Claim(
    "AUX-36",
    "a topic that is too long is rejected before its characters are validated",
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
    "the dispatcher is beyond the end of the log and will skip the next record",
    "reachable",
    lambda z: z.up & (z.dispatched > z.written),
    part=Sizes,
)
PASSED = Claim(
    "REA-91",
    "a record after an unreadable record has its entry",
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
    "readable and dispatched records are lost after a restart",
    "reachable",
    lambda z: ~z.up & any_of(z.at(number, "unreadable", "unequal") & z.at(number + 1, "built") for number in range(z.places - 1)),
    part=Sizes,
)
LENGTHS = Claim(
    "INV-40.lemma", "a length is read back as written exactly up to 127 bytes of topic and 32,767 bytes of properties", "lemma",
    _lemma_of_lengths, part=Sizes,
)  # fmt: skip
SUMS = Claim(
    "INV-40.sum",
    "the size of a record whose parts are within their limits does not overflow a Java int",
    "lemma",
    _lemma_of_sums,
    part=Sizes,
)
SHORT_NAMES = Claim("AUX-37", "a name of at most 42 characters fits the length of a topic", "lemma", _lemma_of_names, part=Sizes)
LONG_NAMES = Claim(
    "AUX-37.limit", "a name of at most 127 characters fits the length of a topic", "lemma", _lemma_of_tested_names, part=Sizes
)
SUMMED = Claim(
    "AUX-38",
    "properties whose limit is tested with the broker's own are read back as written",
    "lemma",
    _lemma_of_texts,
    part=Sizes,
)
ALONE = Claim(
    "AUX-38.batch", "properties whose limit is tested without the broker's own are read back as written", "lemma",
    _lemma_of_items, part=Sizes,
)  # fmt: skip

CLAIMS = [
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
    *_STATES,
    *cases(AS_SENT, "sizes", about.LATER_FAULTY, **_TEXTS, reason="SEND-26, SEND-27: the parsed map with the broker's CLUSTER is stored"),
    *[case for claim in (REFUSED, WITHIN, ILLEGAL) for case in cases(claim, "sizes", _HOLDS, profiles=_PROFILES, **_ALL)],
    *cases(BEYOND, "sizes", {"P49": "holds", "P494": "holds"}, profiles=("P49", "P494"), **_TEXTS),
    *[case for claim in (PASSED, LOST) for case in cases(claim, "sizes", "holds", **_NAMES)],
    *cases(LARGEST, "sizes", {"P494": "holds", "P533": "holds"}, profiles=("P494", "P533"), **_ALL),
    *[case for claim in (LENGTHS, SUMS, SHORT_NAMES, SUMMED) for case in cases(claim, "sizes", "holds", **_LEMMA)],
    *[case for claim in (LONG_NAMES, ALONE) for case in cases(claim, "sizes", "violated", **_LEMMA, reason="HAZ-49, HAZ-50")],
]
