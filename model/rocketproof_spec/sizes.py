"""Sizes: the limits that refuse a message, their order, and the record that is stored otherwise (STO-02, APP-05, APP-06, BAT-04).

Names and properties are checked in characters, but stored with a length in bytes: one signed byte for names, two for properties. The broker
adds its own properties to a batch's after the check. A client's flag may claim that hosts are longer than they are. A record whose lengths
do not add up to its size is acknowledged like any other. The dispatcher cannot read past it, and a restart ends the log there.

A size is a class, represented by numbers on one side of its limit. Each record takes one place of the log. The model omits the ends of
files, and restarts that read from a later file because of the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, any_of, ite, maximum
from rocketproof_protocol.topics import DLQ_PREFIX

from .actors import CLIENT, ENVIRONMENT, HANDLER, SERVICE
from .bounds import NAME_LIMIT, TEXT_LIMIT, as_signed, is_garbled
from .part import Part
from .placement import body_fits, properties_fit

FIXED, LONGER, MAX_MESSAGE_SIZE = 91, 12, 4 << 20
AROUND: Final = FIXED + 2 * LONGER + NAME_LIMIT + TEXT_LIMIT
"""The maximum number of bytes of a record in addition to its body."""
OWN: Final = 23
"""Bytes of the property CLUSTER, which a broker of DefaultCluster adds to a sender's properties."""
CHARACTERS: Final = {"more characters": NAME_LIMIT + 1}
BYTES: Final = {"more bytes": NAME_LIMIT + 1, **CHARACTERS}
TEXT_CHARACTERS: Final = {"near": TEXT_LIMIT - OWN + 1, "more characters": TEXT_LIMIT + 1}
TEXT_BYTES: Final = {"more bytes": TEXT_LIMIT + 1, **TEXT_CHARACTERS}

Kind = Enum("message", "batch", "send-back")
Name = Enum("fits", *BYTES)
Text = Enum("fits", "odd", *TEXT_CHARACTERS, "more bytes")
"""Properties "near" their limit exceed it once the broker adds its own. "odd" properties have the sender's own CLUSTER, and a name
without a value."""
Size = Enum("fits", "limit", "more")
"""The size of a body: within maxMessageSize as a record; equal to it as a body; larger. The body of a batch consists of all its items."""
Answer = Enum("none", "stored", "stored otherwise", "illegal name", "illegal group", "MESSAGE_ILLEGAL", "SYSTEM_ERROR")
Place = Enum("none", "new", "built", "unreadable", "unequal")
"""No record; a record without or with its entry; a record whose lengths exceed it, or do not add up to its size."""


class Sizes(Part):
    """A log of `places` places. The request's sizes as numbers: `name` and `text` in bytes, both also in characters, and `body`."""

    switches = (
        *("check_names", "check_groups", "group_limit", "limits_name_bytes", "stores_parsed", "limits_record"),
        *("throws_large_batch", "hosts_by_flag", "dispatch_ends"),
    )

    def __init__(self, name: str, *, places: int = 4) -> None:
        super().__init__(name)
        self.places = places
        m = self.model
        m.acting("client", "broker", "dispatcher", "disk", client="client", handler="broker", service="dispatcher", environment="disk")
        self.Place = m.index("Place", [f"place {place}" for place in range(places)])
        self.check_names = m.constant("check_names", Bool, True, "the broker checks the characters of a topic's name")
        self.check_groups = m.constant("check_groups", Bool, False, "the broker checks the characters of a group's name")
        self.group_limit = m.constant("group_limit", Int(1, 255), 255, "the characters that a group's name may have")
        self.limits_name_bytes = m.constant("limits_name_bytes", Bool, False, "the store also limits the bytes of a topic's name")
        self.stores_parsed = m.constant(
            "stores_parsed", Bool, True, "the broker adds CLUSTER to the properties, and stores those that it can parse"
        )
        self.limits_record = m.constant("limits_record", Bool, True, "maxMessageSize limits the record, not the body")
        self.throws_large_batch = m.constant("throws_large_batch", Bool, False, "a batch whose body is too large is an exception")
        self.hosts_by_flag = m.constant("hosts_by_flag", Bool, True, "a client's flag can make a record's hosts longer")
        self.dispatch_ends = m.constant("dispatch_ends", Bool, False, "the dispatcher checks for the log's end before each record")
        self.names = m.constant("names", Bool, True, "names may be at their limit")
        self.texts = m.constant("texts", Bool, True, "properties may be at their limit")
        self.flags = m.constant("flags", Bool, True, "clients may set the flags of IPv6")
        job = Record(
            arrived=Field(Bool, False, "whether the broker has received it"),
            kind=Field(Kind, "message", "its kind"),
            topic=Field(Name, "fits", "its topic's name"),
            text=Field(Text, "fits", "its properties"),
            body=Field(Size, "fits", "its body"),
            longer=Field(Bool, False, "whether its flag claims IPv6 hosts"),
            answer=Field(Answer, "none", "its answer"),
        )
        self.job = m.var("job", job, sentence="the request", part="client")
        topic, text = self.job.topic, self.job.text
        self.name, self.name_characters = (_number(topic, numbers, NAME_LIMIT) for numbers in (BYTES, CHARACTERS))
        self.text, self.text_characters = (_number(text, numbers, TEXT_LIMIT - OWN) for numbers in (TEXT_BYTES, TEXT_CHARACTERS))
        self.body = _number(self.job.body, {"limit": MAX_MESSAGE_SIZE, "more": MAX_MESSAGE_SIZE + 1}, MAX_MESSAGE_SIZE - AROUND)
        self.log = m.var("log", Place, over=self.Place, init="none", sentence="a place of the log", part="disk")
        self.up = m.var("up", Bool, init=True, sentence="whether the broker runs", part="broker")
        self.written = m.var("written", Int(0, places), init=0, sentence="how many places of the log are written", part="disk")
        self.dispatched = m.var("dispatched", Int(0, places + 1), init=0, sentence="the place that is dispatched next", part="dispatcher")
        _requests(self)
        _dispatch(self)
        _ends(self)

    def at(self, position: Any, *kinds: str) -> Expr:
        """Whether the record at a position is of one of these kinds."""
        return any_of((position == number) & (self.log[place] == kind) for number, place in enumerate(self.Place) for kind in kinds)


def text_read(length: Any) -> Expr:
    """The number of bytes of properties that a reader takes: none if the stored length is negative."""
    return maximum(as_signed(length, TEXT_LIMIT), 0)


def stored_text(z: Sizes, text: Expr) -> Expr:
    """SEND-25: the length of the stored properties, including the broker's own if it adds them."""
    return text + ite(z.stores_parsed, OWN, 0)


def _number(term: Expr, numbers: Mapping[str, int], otherwise: Any) -> Expr:
    for value, number in numbers.items():
        otherwise = ite(term == value, number, otherwise)
    return otherwise


def _written(z: Sizes, text: Any) -> Any:
    """Return the kind that a reader sees in a record with `text` bytes of properties."""
    garbled = is_garbled(z.name, z.job.longer, z.hosts_by_flag)
    return ite(garbled, "unreadable", ite(text_read(text) == text, "new", "unequal"))


def limits(z: Sizes) -> list[tuple[str, str, str, Expr, Any]]:
    """Return the refusals in their order: action, rules, sentence, condition, and answer."""
    job, illegal, error = z.job, "MESSAGE_ILLEGAL", "SYSTEM_ERROR"
    batch, back, odd = job.kind == "batch", job.kind == "send-back", job.topic != "fits"
    many, large = z.name_characters > NAME_LIMIT, ~body_fits(z.body, AROUND, MAX_MESSAGE_SIZE, z.limits_record)
    long = many | (z.limits_name_bytes & (z.name > NAME_LIMIT))
    characters, size = (~properties_fit(stored_text(z, text)) for text in (z.text_characters, z.text))
    # Releases without a limit of their own let the store refuse the name of the group's topic.
    illegal_group = z.check_groups & back & odd & (~many | (z.group_limit <= NAME_LIMIT - len(DLQ_PREFIX)))
    hosts, returned = batch & job.longer & z.hosts_by_flag, (job.body == "more") & ~z.throws_large_batch
    return [
        ("refuse_name", "CHK-02", "the name has illegal characters, or too many", z.check_names & ~back & odd, "illegal name"),
        ("refuse_group", "BACK-03", "the group has illegal characters, or too many", illegal_group, "illegal group"),
        ("refuse_topic", "BAT-02 STO-02 BACK-16", "the topic has more than 127 characters or bytes", long, ite(back, error, illegal)),
        ("refuse_text", "STO-02", "the properties have more than 32767 characters", ~batch & characters, illegal),
        ("refuse_batch", "BAT-04", "the batch is too large", batch & large, ite(returned, illegal, error)),
        ("refuse_bytes", "APP-05", "the properties have more than 32767 bytes", ~batch & size, illegal),
        ("refuse_size", "APP-06", "the record, or the body, is larger than maxMessageSize", large, illegal),
        ("refuse_hosts", "BAT-04", "the records of a batch are shorter than their stored sizes", hosts, error),
    ]


def _requests(z: Sizes) -> None:
    job = z.job
    passed: list[Expr] = []

    @z.action(actor=CLIENT, sends_to="broker", rules="SEND-05 SEND-20 BAT-01", kind=Kind, topic=Name, text=Text, body=Size, longer=Bool)
    def request(a: Body, kind: Expr, topic: Expr, text: Expr, body: Expr, longer: Expr) -> None:
        """A client sends a message or a batch of two, or gives a message up. The second item of a batch has the properties."""
        a.guard("broker runs", z.up, "the broker runs")
        a.bound("no other", ~job.arrived, "the client has no pending request")
        a.guard("names", z.names | (topic == "fits"), "the condition allows names at their limit, or the name fits")
        a.guard("texts", z.texts | (text == "fits"), "the condition allows properties at their limit, or the properties fit")
        a.guard("flags", z.flags | ~longer, "the condition allows IPv6 flags, or the request has none")
        a.bound(
            "given up",
            (kind != "send-back") | ((text == "fits") & (body == "fits") & ~longer),
            "a message that is given up is a plain message",
        )
        a.guard("item", (kind != "batch") | (text == "fits") | (text == "near"), "an item's properties have a length of two bytes")
        a.bound("room left", z.written + 2 <= z.places, "the scope's log has room")
        a.update(job, arrived=True, kind=kind, topic=topic, text=text, body=body, longer=longer, answer="none")

    def end_request(a: Body, answer: Any) -> None:
        a.sends_to("client")
        a.guard("at the broker", job.arrived, "the broker has received the request")
        a.guard("passed", ~any_of(passed), "all earlier checks pass")
        a.update(job, arrived=False, kind="message", topic="fits", text="fits", body="fits", longer=False, answer=answer)

    def refusal(action: str, rules: str, sentence: str, beyond: Expr, answer: Any) -> None:
        @z.action(actor=HANDLER, rules=rules, name=action)
        def refuse(a: Body) -> None:
            """A limit refuses the request, and nothing is stored."""
            end_request(a, answer)
            a.guard("beyond", beyond, sentence)

    for row in limits(z):
        refusal(*row)
        passed.append(row[3])

    @z.action(actor=HANDLER, rules="CL-01 CL-09 CL-10 APP-02 APP-08 APP-09 BAT-03 SEND-25 SEND-26 SEND-27")
    def append(a: Body) -> None:
        """No limit refuses the request: its records are appended and flushed, and it is answered."""
        batch, whole = job.kind == "batch", _written(z, stored_text(z, z.text))
        end_request(a, ite(z.stores_parsed & (job.text == "odd"), "stored otherwise", "stored"))
        a.set(z.written, z.written + ite(batch, 2, 1))
        for number, place in enumerate(z.Place):
            second = ite(batch & (z.written + 1 == number), whole, z.log[place])
            a.set(z.log[place], ite(z.written == number, ite(batch, _written(z, 0), whole), second))


def _dispatch(z: Sizes) -> None:
    def dispatch_next(a: Body, kind: str, following: Expr) -> None:
        a.guard("broker runs", z.up, "the broker runs")
        a.guard("behind", z.dispatched < z.written, "the log has a record at the dispatcher's position")
        a.guard("found", z.at(z.dispatched, kind), f"the next record is {kind}")
        a.set(z.dispatched, following)

    @z.action(actor=SERVICE, rules="REC-04", fair="weak")
    def dispatch(a: Body) -> None:
        """A record gets its consume queue entry."""
        dispatch_next(a, "new", z.dispatched + 1)
        for number, place in enumerate(z.Place):
            a.set(z.log[place], "built", when=z.dispatched == number)

    @z.action(actor=SERVICE, rules="REC-04", fair="weak")
    def skip(a: Body) -> None:
        """A record cannot be read: the dispatcher continues at the log's end."""
        dispatch_next(a, "unreadable", z.written)

    @z.action(actor=SERVICE, rules="REC-04", fair="weak")
    def overshoot(a: Body) -> None:
        """The record's lengths add up to another size. The dispatcher takes a step of that size and, unless the log ends there, a second
        step as long as the rest of the log."""
        at_end = z.dispatch_ends & (z.dispatched + 1 == z.written)
        dispatch_next(a, "unequal", z.written + ite(at_end, 0, 1))


def _ends(z: Sizes) -> None:
    @z.action(actor=ENVIRONMENT, rules="REC-02", clean=Bool)
    def end(a: Body, clean: Expr) -> None:
        """The process is killed, or stops cleanly. All acknowledged records are flushed."""
        a.guard("broker runs", z.up, "the broker runs")
        a.bound("nothing under way", ~z.job.arrived, "no request is pending")
        a.update(z, up=False, dispatched=0)

    @z.action(actor=ENVIRONMENT, rules="REC-02 REC-03", fair="weak")
    def start(a: Body) -> None:
        """The log ends before the first unreadable record, and the records before that have their entries. Later records stay in the file.
        A later restart finds them again once the log has grown up to them."""
        a.guard("broker down", ~z.up, "the broker does not run")
        cut: Any = z.places
        for number in reversed(range(z.places)):
            cut = ite(z.at(number, "new", "built"), cut, number)
        for number, place in enumerate(z.Place):
            a.set(z.log[place], ite(z.at(number, "new", "built"), ite(number < cut, "built", "new"), z.log[place]))
        a.update(z, up=True, written=cut, dispatched=cut)
