"""Requests that a broker rejects whatever its state is, and the flaw for which its store refuses a send.

The checker reads the facts from a request's header and body. The switches of a release decide whether they are a problem. Without a problem
the request takes the steps of `broker` and `placed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from rocketproof_model.functions import term_function
from rocketproof_model.interpreter import Environment, evaluate
from rocketproof_model.language import Bool, Expr, Instance, Int, coerce, const, ite
from rocketproof_protocol import codes

from . import constants
from .part import Part
from .placement import Flaw

_ALWAYS = const(1, Bool)


class Rejection(NamedTuple):
    """The response to a request with a problem: its code, whether the release sees a problem at all, and a sentence."""

    code: Expr | int
    applies: Expr
    sentence: str


class Admission(Part):
    """The rejections (REM-04, SEND-03, REM-06, TCM-30, DLQ-02, BACK-01) and the flaw of a send (STO-02, APP-06, BAT-02, BAT-04, HAZ-51),
    over the switches that decide them."""

    switches = (
        *("null_fields", "wants_request_body", "wants_flags", "half_messages", "slave_rejects", "slave_creates", "tests_groups"),
        *("illegal_code", "batch_retry", "refuses_inner", "wants_body", "encode_first", "throws_large_batch", "hosts_by_flag"),
    )

    def __init__(self) -> None:
        super().__init__("admission")
        m = self.model
        null_fields = m.constant("null_fields", Bool, False, "a missing field is null, and an error where it is used")
        wants_request_body = m.constant("wants_request_body", Bool, False, "a send must have a body")
        wants_flags = m.constant("wants_flags", Bool, False, "a send with short names must have its flags")
        half_messages = m.constant("half_messages", Bool, True, "the release knows half messages")
        slave_rejects = m.constant("slave_rejects", Bool, False, "a slave rejects sends before it reads them")
        slave_creates = m.constant("slave_creates", Bool, False, "a slave changes topics and groups")
        tests_groups = m.constant("tests_groups", Bool, False, "an administrator cannot make a group with an illegal name")
        illegal = m.constant(
            "illegal_code", Int(codes.SYSTEM_ERROR, codes.INVALID_PARAMETER), codes.SYSTEM_ERROR, "the response code for an illegal name"
        )
        self.flaw = self._flaw()
        error = codes.SYSTEM_ERROR
        self.rejections: dict[str, Rejection] = {
            "no body": Rejection(error, wants_request_body, "a message without a body is an error before anything else"),
            "no flag": Rejection(
                error, wants_flags, "a send with short names that lacks one of its flags is an error before anything else"
            ),
            "no header": Rejection(error, _ALWAYS, "the header cannot be read"),
            "field missing in a send-back": Rejection(error, ~null_fields, "a send-back names a place, a group and a level"),
            "field missing in an end": Rejection(error, ~null_fields, "the end of a transaction names its half message"),
            "end not served": Rejection(codes.REQUEST_CODE_NOT_SUPPORTED, ~half_messages, "there are no half messages"),
            "end on a slave": Rejection(codes.SLAVE_NOT_AVAILABLE, _ALWAYS, "transactions end at a master"),
            "send to a slave": Rejection(codes.SYSTEM_BUSY, slave_rejects, "a slave rejects sends before it reads them"),
            "change on a slave": Rejection(error, ~slave_creates, "a slave changes neither topics nor groups"),
            "illegal group": Rejection(illegal, tests_groups, "a group of this name is not made"),
            "nameless group": Rejection(error, _ALWAYS, "a group that is deleted has a name"),
            "filter types": Rejection(error, _ALWAYS, "filter types are SINGLE_TAG and MULTI_TAG"),
        }

    def _flaw(self) -> Expr:
        """Return the flaw of a send, by its facts (`SendFacts`)."""
        m = self.model
        batch_retry = m.constant("batch_retry", Bool, True, "batches may go to retry topics")
        refuses_inner = m.constant("refuses_inner", Bool, False, "a message that declares itself an inner batch is refused")
        wants_body = m.constant("wants_body", Bool, False, "the store rejects a message without a body")
        encode_first = m.constant("encode_first", Bool, False, "the sizes of a message are checked when it is encoded, before the lock")
        throws_large_batch = m.constant("throws_large_batch", Bool, False, "a batch whose body is too large is an exception")
        hosts_by_flag = m.constant("hosts_by_flag", Bool, False, "the flag decides the length of a record's hosts")
        facts = SendFacts(*(m.var(name, Bool, init=False, sentence=sentence) for name, sentence in _FACTS.items()))
        size, error = coerce("size", Flaw), coerce("error", Flaw)
        unreadable = (hosts_by_flag & facts.misread) | (facts.unread_level & facts.waits)
        throws = facts.batch & throws_large_batch & facts.large_body
        too_large = ite(~facts.batch & encode_first, coerce("encoding", Flaw), ite(throws, error, size))
        flaw = ite(facts.too_large, too_large, ite(unreadable, error, coerce("none", Flaw)))
        flaw = ite((refuses_inner & facts.inner) | (wants_body & facts.empty), size, flaw)
        unstorable = facts.unfit_batch | (facts.batch & facts.to_retry & ~batch_retry)
        return ite(unstorable, ite(facts.unread_level & ~facts.transactional, error, size), flaw)


class SendFacts(NamedTuple):
    """The facts of a send that decide its flaw. See `_FACTS`."""

    batch: Any
    unfit_batch: Any
    transactional: Any
    to_retry: Any
    inner: Any
    empty: Any
    too_large: Any
    large_body: Any
    unread_level: Any
    waits: Any
    misread: Any


_FACTS: Final = {
    "batch": "it is a batch",
    "unfit_batch": "it is a batch that takes part in a transaction, or names a delay level",
    "transactional": "its flag has bits of a transaction",
    "to_retry": "its topic is a retry topic",
    "inner": "it declares itself an inner batch",
    "empty": "it has no body",
    "too_large": "its properties or its record are too large",
    "large_body": "its body alone is too large",
    "unread_level": "its delay level is not a number",
    "waits": "it takes a queue offset or is a half message, so that a delay level counts",
    "misread": "it is a batch whose flag claims longer host addresses than its records have",
}


class ReleaseRejection(NamedTuple):
    """A rejection by a release: the response code, and why."""

    code: int
    why: str


@cache
def _admission(profile: str) -> tuple[Admission, Instance]:
    part = Admission()
    return part, part.model.given(**constants(profile, Admission))


@cache
def rejections(profile: str) -> Mapping[str, ReleaseRejection]:
    """Return the rejections of a profile, by the problem that it rejects."""
    part, instance = _admission(profile)
    environment = Environment((), {}, instance.constants)
    return {
        problem: ReleaseRejection(row.code if isinstance(row.code, int) else evaluate(row.code, environment), row.sentence)
        for problem, row in part.rejections.items()
        if evaluate(row.applies, environment)
    }


def flaw_of(profile: str, facts: SendFacts) -> str:
    """Return the flaw of a send with these facts, as the broker or the store of a profile sees it; "none" if it accepts the send."""
    return Flaw.names[_flaws(profile)(facts)]


@cache
def _flaws(profile: str) -> Callable[..., int]:
    part, instance = _admission(profile)
    return term_function(instance, part.flaw)
