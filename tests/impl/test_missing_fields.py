"""Requests without a required header field: rejected at once up to 4.9.2; from 4.9.4 on, an error where the null is used."""

from __future__ import annotations

from typing import Any, Final

import pytest
from marks import behaviour
from sending import NULL_POINTER, Stand, send_request, thrown

from nonempty import nonempty
from rocketproof_impl.remoting import headers
from rocketproof_impl.remoting.command import Command
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import SUCCESS, SYSTEM_ERROR, TOPIC_NOT_EXIST

HEADERS: Final[dict[str, type[Any]]] = {
    "topic": headers.CreateTopicRequestHeader,
    "delete": headers.DeleteTopicRequestHeader,
    "delete_group": headers.DeleteGroupRequestHeader,
    "max_offset": headers.QueueRequestHeader,
    "min_offset": headers.QueueRequestHeader,
    "search": headers.SearchOffsetRequestHeader,
    "earliest": headers.QueueRequestHeader,
    "stats": headers.TopicRequestHeader,
    "find": headers.QueryMessageRequestHeader,
    "view": headers.ViewMessageRequestHeader,
    "pull": headers.PullMessageRequestHeader,
    "progress": headers.QueryConsumerOffsetRequestHeader,
    "commit": headers.UpdateConsumerOffsetRequestHeader,
    "leave": headers.UnregisterClientRequestHeader,
}
REQUIRED: Final = [
    (kind, name) for kind, header in HEADERS.items() for _, name, _, absent in headers.layout(header) if absent is headers.REQUIRED
]


@pytest.mark.parametrize(("kind", "name"), REQUIRED)
@behaviour("REM-04")
def test_missing_field_is_rejected_or_null(kind: str, name: str) -> None:
    asked = plain(kind)
    fields = {each: text for each, text in (asked.ext_fields or {}).items() if each != name}
    remarks = {}
    for profile in ("P45", "P49", "P494"):
        answer = Stand(profile).ask(Command(asked.code, dict(fields), asked.body))
        remarks[profile] = str(answer.remark) if answer.code == SYSTEM_ERROR else ""
    told = f"the custom field <{name}> is null"
    assert told in remarks["P45"] and told in remarks["P49"]
    assert told not in remarks["P494"]


@pytest.mark.parametrize("header", sorted(set(HEADERS.values()), key=lambda each: each.__name__))
@behaviour("REM-04")
def test_absent_optional_fields_have_their_defaults(header: type[Any]) -> None:
    made = headers.read(header, None, nulls=True)
    for name, _, _, absent in nonempty(headers.layout(header)):
        assert absent is headers.REQUIRED or getattr(made, name) == absent


@pytest.mark.parametrize(
    ("profile", "missing", "flags", "code"),
    [
        ("P494", "sysFlag", 2, SYSTEM_ERROR),
        ("P510", "sysFlag", 2, SYSTEM_ERROR),
        ("P533", "sysFlag", 2, TOPIC_NOT_EXIST),
        ("P494", "suspendTimeoutMillis", 2, SYSTEM_ERROR),
        ("P494", "suspendTimeoutMillis", 0, TOPIC_NOT_EXIST),
        ("P510", "suspendTimeoutMillis", 2, TOPIC_NOT_EXIST),
        ("P494", "queueId", 2, TOPIC_NOT_EXIST),
    ],
)
@behaviour("REM-04")
def test_pull_reads_some_fields_before_it_looks_up_its_topic(profile: str, missing: str, flags: int, code: int) -> None:
    asked = plain("pull", topic="nowhere")
    fields = {name: text for name, text in {**(asked.ext_fields or {}), "sysFlag": str(flags)}.items() if name != missing}
    assert Stand(profile).ask(Command(asked.code, fields)).code == code


@pytest.mark.parametrize("flag", ["unitMode", "batch"])
@pytest.mark.parametrize(("profile", "code"), [("P494", SUCCESS), ("P520", SYSTEM_ERROR)])
@behaviour("REM-04")
def test_each_flag_of_a_send_with_short_names(profile: str, code: int, flag: str) -> None:
    at = Stand(profile)
    at.topic()
    asked = send_request()
    del (asked.ext_fields or {})[headers.SHORT_NAMES[flag]]
    answer = at.ask(asked)
    assert answer.code == code
    assert thrown(answer, NULL_POINTER) == (code == SYSTEM_ERROR)


@pytest.mark.parametrize(
    ("profile", "code"), [("P490", TOPIC_NOT_EXIST), ("P493", TOPIC_NOT_EXIST), ("P494", SYSTEM_ERROR), ("P533", SYSTEM_ERROR)]
)
@behaviour("REM-04")
def test_invalid_number_of_a_pull_is_null_or_an_error(profile: str, code: int) -> None:
    asked = plain("pull", topic="nowhere")
    assert Stand(profile).ask(Command(asked.code, {**(asked.ext_fields or {}), "queueOffset": "x"})).code == code
