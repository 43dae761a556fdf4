"""Custom headers: typed fields, and their texts in a command's extFields (REM-04).

Every value is text on the wire. The send header has two forms: full names (request 10) and one letter per field (310 and 320). A header is
a dataclass that defines its wire format: the attribute's name in camel case is the name on the wire, its type selects the parser, and a
field without a default is required.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeVar, get_type_hints

from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.codes import SEND_BATCH_MESSAGE, SEND_MESSAGE, SEND_MESSAGE_V2
from rocketproof_protocol.fields import SHORT_NAMES
from rocketproof_protocol.flags import COMMIT, NOT, ROLLBACK

from ..java import JavaError, boolean_text, null_pointer, parse_boolean, parse_int, parse_long
from ..topic import MULTI_TAG, SINGLE_TAG

H = TypeVar("H")


REQUIRED: Final = object()

Field = tuple[str, str, Callable[[str], Any], Any]
"""A field of a header: its attribute, its name on the wire, its parser, and its default, or REQUIRED."""

Layout = tuple[Field, ...]
"""The fields in the order of the header's constructor."""

Long = Annotated[int, parse_long]
"""A 64-bit number; a plain int has 32 bits."""


def is_missing(value: object) -> bool:
    """Return whether a header is constructed without this field."""
    return value is REQUIRED


def is_null(value: str | None) -> bool:
    """Return whether a text is absent from the request's header (see `WithNulls`)."""
    return value is None


def text(value: str) -> str:
    """Return a text field unchanged."""
    return value


_PARSERS: Final[dict[Any, Callable[[str], Any]]] = {
    str: text,
    str | None: text,
    int: parse_int,
    int | None: parse_int,
    Long: parse_long,
    bool: parse_boolean,
}


@cache
def layout(kind: type[Any]) -> Layout:
    """Return the wire format of a header's class. `wire` in a field's metadata is a name that is not the camel case of the attribute."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        (
            attribute.name,
            attribute.metadata.get("wire") or re.sub("_([a-z])", lambda match: match[1].upper(), attribute.name),
            _PARSERS[hints[attribute.name]],
            REQUIRED if attribute.default is MISSING else attribute.default,
        )
        for attribute in fields(kind)
    )


def command_error(message: str) -> JavaError:
    """Return the exception for a header that cannot be read."""
    return JavaError("org.apache.rocketmq.remoting.exception.RemotingCommandException", message)


def decode(kind: Callable[..., H], names: Layout, ext_fields: Mapping[str, str] | None) -> H:
    """Return the header of these texts. An absent optional field gets its default.

    Raises JavaError for the first required field that is absent, and for the first malformed number (REM-04).
    """
    texts = ext_fields or {}
    values: list[Any] = []
    for _, name, parse, absent in names:
        value = texts.get(name)
        if value is not None:
            values.append(parse(value))
        elif absent is REQUIRED:
            raise command_error(f"the custom field <{name}> is null")
        else:
            values.append(absent)
    return kind(*values)


class WithNulls:
    """A header whose required fields may be absent: a text is then None, and reading a number raises a null-pointer error.

    `TEXTS` are the fields that may be None.
    """

    __slots__ = ()
    TEXTS: ClassVar[tuple[str, ...]] = ()

    def lacks(self, name: str) -> bool:
        """Return whether a field is null: it was absent, or not a number where a number is required."""
        try:
            object.__getattribute__(self, name)
        except AttributeError:
            return True
        return False

    if not TYPE_CHECKING:  # type checkers see every field

        def __getattr__(self, name: str) -> None:
            if name not in self.TEXTS:
                raise null_pointer() if name in self.__dataclass_fields__ else AttributeError(name)


def decode_with_nulls(kind: type[H], names: Layout, ext_fields: Mapping[str, str] | None, *, numbers: bool) -> H:
    """Return the header as 4.9.4 reads it: an absent required field is an error only when it is used (REM-04).

    With `numbers`, as for short names, a malformed number is an error immediately; otherwise it counts as absent. A header without any
    fields is not validated. Raises JavaError.
    """
    if ext_fields is None:
        return _empty(kind, names)
    values: list[Any] = []
    missing: list[str] = []
    for attribute, name, parse, absent in names:
        value = absent
        if name in ext_fields:
            try:
                value = parse(ext_fields[name])
            except JavaError:
                if numbers:
                    raise
        if value is REQUIRED:
            missing.append(attribute)
        values.append(value)
    header = kind(*values)
    for attribute in missing:
        delattr(header, attribute)
    return header


def _empty(kind: type[H], names: Layout) -> H:
    header = object.__new__(kind)
    for attribute, _, _, absent in names:
        if absent is not REQUIRED:
            setattr(header, attribute, absent)
    return header


def read(kind: type[H], ext_fields: Mapping[str, str] | None, *, nulls: bool, numbers: bool = False) -> H:
    """Return the header from its full names. `nulls` is the profile's `null_fields`. Raises JavaError."""
    names = layout(kind)  # type: ignore[arg-type]  # a class is hashable
    return decode_with_nulls(kind, names, ext_fields, numbers=numbers) if nulls else decode(kind, names, ext_fields)


def encode(header: object, names: Layout) -> dict[str, str]:
    """Return the texts of a header. A field that is None is omitted."""
    texts: dict[str, str] = {}
    for attribute, name, _, _ in names:
        value = getattr(header, attribute)
        if value is not None:
            texts[name] = boolean_text(value) if isinstance(value, bool) else str(value)
    return texts


# Send


@dataclass(slots=True)
class SendMessageRequestHeader(WithNulls):
    """A producer's header of a message. Times are milliseconds; with a negative queue id the broker chooses the queue.

    `properties` is the text of SEND-26. `batch` decides how the body is read, whatever the request code is (SEND-05).
    """

    TEXTS: ClassVar[tuple[str, ...]] = ("producer_group", "topic", "default_topic")

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: int
    queue_id: int
    sys_flag: int
    born_timestamp: Long
    flag: int
    properties: str | None = None
    reconsume_times: int | None = None
    unit_mode: bool = False
    max_reconsume_times: int | None = None
    batch: bool = False


SEND_V1: Final = layout(SendMessageRequestHeader)

SEND_V2: Final = tuple((attribute, SHORT_NAMES[name], parse, absent) for attribute, name, parse, absent in SEND_V1)


def parse_request_header(
    code: int, ext_fields: Mapping[str, str] | None, profile: Profile = PROFILES["P49"]
) -> SendMessageRequestHeader | None:
    """Return the send header of a request; None if its code has none (REM-04). Raises JavaError as `decode` does.

    - `null_fields`: only a malformed number with a short name is an error. With `null_numbers` that is not an error either (see
    `decode_with_nulls`).
    - `wants_short`: all required short names must be present before any is read.
    - `wants_flags`: both flags must be present, checked after all fields are read.
    """
    short = code in (SEND_MESSAGE_V2, SEND_BATCH_MESSAGE)
    if not short and code != SEND_MESSAGE:
        return None
    names = SEND_V2 if short else SEND_V1
    if short and profile.wants_short:
        missing = next((name for _, name, _, absent in names if absent is REQUIRED and name not in (ext_fields or {})), None)
        if missing is not None:
            raise command_error(f"the custom field <{missing}> is null")
    if profile.null_fields:
        header = decode_with_nulls(SendMessageRequestHeader, names, ext_fields, numbers=short and not profile.null_numbers)
    else:
        header = decode(SendMessageRequestHeader, names, ext_fields)
    if short and profile.wants_flags and not {SHORT_NAMES["unitMode"], SHORT_NAMES["batch"]} <= (ext_fields or {}).keys():
        raise null_pointer()
    return header


def encode_v1(header: SendMessageRequestHeader) -> dict[str, str]:
    """Return the texts of request 10."""
    return encode(header, SEND_V1)


def encode_v2(header: SendMessageRequestHeader) -> dict[str, str]:
    """Return the texts of requests 310 and 320."""
    return encode(header, SEND_V2)


# Send back


@dataclass(slots=True)
class SendMessageBackRequestHeader(WithNulls):
    """A message that a consumer sends back: its position in the log, the consumer group, and the delay level of its retry (BACK-01)."""

    offset: Long
    group: str
    delay_level: int
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: int | None = None


# Consumers


@dataclass(slots=True)
class PullMessageRequestHeader(WithNulls):
    """A consumer's request for at most `max_msg_nums` messages of a queue. Times are milliseconds.

    The bits of `sys_flag` enable other fields: 1 `commit_offset`, 2 `suspend_timeout_millis`, 4 `subscription`.
    """

    consumer_group: str
    topic: str
    queue_id: int
    queue_offset: Long
    max_msg_nums: int
    sys_flag: int
    commit_offset: Long
    suspend_timeout_millis: Long
    sub_version: Long
    subscription: str | None = None
    expression_type: str | None = None


@dataclass(slots=True)
class QueryConsumerOffsetRequestHeader(WithNulls):
    """A query for a group's offset in a queue. `set_zero_if_not_found` (5.x): start at 0 if the group has no offset."""

    TEXTS: ClassVar[tuple[str, ...]] = ("consumer_group", "topic")

    consumer_group: str
    topic: str
    queue_id: int
    set_zero_if_not_found: bool = True


@dataclass(slots=True)
class UpdateConsumerOffsetRequestHeader(WithNulls):
    """A group's commit: the offset of its next message in a queue."""

    TEXTS: ClassVar[tuple[str, ...]] = ("consumer_group", "topic")

    consumer_group: str
    topic: str
    queue_id: int
    commit_offset: Long


@dataclass(slots=True)
class UnregisterClientRequestHeader(WithNulls):
    """A client's request to leave its groups."""

    TEXTS: ClassVar[tuple[str, ...]] = ("client_id",)

    client_id: str = field(metadata={"wire": "clientID"})
    producer_group: str | None = None
    consumer_group: str | None = None


@dataclass(slots=True)
class GetConsumerListByGroupRequestHeader(WithNulls):
    """A consumer's question for the members of its group."""

    TEXTS: ClassVar[tuple[str, ...]] = ("consumer_group",)

    consumer_group: str


# Transactions


@dataclass(slots=True)
class EndTransactionRequestHeader(WithNulls):
    """The outcome of a local transaction, and its half message's position in the log and offset in the half queue."""

    TEXTS: ClassVar[tuple[str, ...]] = ("producer_group", "msg_id")

    producer_group: str
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: int
    msg_id: str
    from_transaction_check: bool = False
    transaction_id: str | None = None

    def __post_init__(self) -> None:
        if is_missing(self.commit_or_rollback):
            raise null_pointer()
        if self.commit_or_rollback not in (NOT, COMMIT, ROLLBACK):
            raise command_error("commitOrRollback field wrong")


# Administration


@dataclass(slots=True)
class CreateTopicRequestHeader(WithNulls):
    """A topic configuration set by an administrator."""

    TEXTS: ClassVar[tuple[str, ...]] = ("topic", "default_topic")

    topic: str
    default_topic: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_filter_type: str
    topic_sys_flag: int = 0
    order: bool = False
    attributes: str | None = None

    def __post_init__(self) -> None:
        if self.topic_filter_type not in (SINGLE_TAG, MULTI_TAG):
            wrong = "null" if is_missing(self.topic_filter_type) else self.topic_filter_type
            raise command_error(f"topicFilterType = [{wrong}] value invalid")


@dataclass(slots=True)
class QueueRequestHeader(WithNulls):
    """A query for a queue's first or last offset."""

    topic: str
    queue_id: int


@dataclass(slots=True)
class SearchOffsetRequestHeader(WithNulls):
    """A query for a queue's offset by store time (ms). `boundary_type` (later releases) is LOWER or UPPER."""

    topic: str
    queue_id: int
    timestamp: Long
    boundary_type: str | None = None


@dataclass(slots=True)
class QueryMessageRequestHeader(WithNulls):
    """A query for at most `max_num` records of a topic by a key, stored between two times (ms)."""

    TEXTS: ClassVar[tuple[str, ...]] = ("topic", "key")

    topic: str
    key: str
    max_num: int
    begin_timestamp: Long
    end_timestamp: Long


@dataclass(slots=True)
class ViewMessageRequestHeader(WithNulls):
    offset: Long


@dataclass(slots=True)
class TopicRequestHeader(WithNulls):
    """A query for a topic's offsets."""

    topic: str


@dataclass(slots=True)
class DeleteGroupRequestHeader(WithNulls):
    """The group to delete."""

    TEXTS: ClassVar[tuple[str, ...]] = ("group_name",)

    group_name: str


@dataclass(slots=True)
class DeleteTopicRequestHeader(WithNulls):
    """The topic to delete."""

    TEXTS: ClassVar[tuple[str, ...]] = ("topic",)

    topic: str
