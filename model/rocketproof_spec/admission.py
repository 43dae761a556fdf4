"""Requests that a broker rejects before it looks at topics, groups or records, whatever its state.

A request has at most one such problem. Some releases do not see it as one: their value of a switch lets the request pass, and then its
first step is that of `broker` or `placed`. The checker reads the problem from the request's header and body.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from rocketproof_model.interpreter import Environment, evaluate
from rocketproof_model.language import Bool, Expr, Int, const
from rocketproof_profiles import PROFILES
from rocketproof_protocol import codes

from .part import Part

ALWAYS = const(1, Bool)


class Rejection(NamedTuple):
    """The response to a request with a problem: its code, whether the release sees a problem at all, and a sentence."""

    code: Expr | int
    applies: Expr
    sentence: str


class Admission(Part):
    """The rejections (REM-04, SEND-03, REM-06, TCM-30, TRX-06, DLQ-02, BACK-01), over the switches that decide them."""

    switches = (
        *("null_fields", "wants_request_body", "wants_flags", "half_messages", "slave_rejects", "slave_creates", "tests_groups"),
        "illegal_code",
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
        error = codes.SYSTEM_ERROR
        self.rejections: dict[str, Rejection] = {
            "no body": Rejection(error, wants_request_body, "a message without a body is an error before anything else"),
            "no flag": Rejection(error, wants_flags, "a send with short names that lacks a flag is an error before anything else"),
            "no header": Rejection(error, ALWAYS, "the header cannot be read"),
            "field missing in a send-back": Rejection(error, ~null_fields, "a send-back names a place, a group and a level"),
            "field missing in an end": Rejection(error, ~null_fields, "the end of a transaction names its half message"),
            "end not served": Rejection(codes.REQUEST_CODE_NOT_SUPPORTED, ~half_messages, "there are no half messages"),
            "end on a slave": Rejection(codes.SLAVE_NOT_AVAILABLE, ALWAYS, "transactions end at a master"),
            "send to a slave": Rejection(codes.SYSTEM_BUSY, slave_rejects, "a slave rejects sends before it reads them"),
            "change on a slave": Rejection(error, ~slave_creates, "a slave changes neither topics nor groups"),
            "illegal group": Rejection(illegal, tests_groups, "a group of this name is not made"),
            "nameless group": Rejection(error, ALWAYS, "a group that is deleted has a name"),
            "filter types": Rejection(error, ALWAYS, "filter types are SINGLE_TAG and MULTI_TAG"),
        }


class Rejected(NamedTuple):
    """A rejection by a release: the response code, and why."""

    code: int
    why: str


@cache
def rejections(profile: str) -> Mapping[str, Rejected]:
    """Return the rejections of a profile, by the problem that it rejects."""
    part, values = Admission(), PROFILES[profile]
    instance = part.model.given(**{name: getattr(values, name) for name in part.switches})
    environment = Environment((), {}, instance.constants)
    return {
        problem: Rejected(row.code if isinstance(row.code, int) else evaluate(row.code, environment), row.sentence)
        for problem, row in part.rejections.items()
        if evaluate(row.applies, environment)
    }
