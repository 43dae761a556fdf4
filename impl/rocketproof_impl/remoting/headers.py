"""Custom headers: typed fields, and the texts that travel in a command's extFields (REM-04).

Every value is a text on the wire. The send header has two forms, with full names (request 10) and with one letter a field
(310 and 320). A header is a dataclass, and how it travels follows from it: a field's name on the wire is the attribute's in camel
case, its type decides how the text is read, and what has no default is required.
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
"""One field of a header: its attribute, its name on the wire, how its text is read, and what it is where it is absent, or REQUIRED."""

Layout = tuple[Field, ...]
"""The fields in the order in which the header's class takes them."""

Long = Annotated[int, parse_long]
"""A number of 64 bits; a plain int has 32."""


def is_missing(value: object) -> bool:
    """Whether a header is being made without this field."""
    return value is REQUIRED


def is_null(value: str | None) -> bool:
    """Whether a text is one that a request's header lacks (see `WithNulls`)."""
    return value is None


def text(value: str) -> str:
    """A field that is a text already."""
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
    """The fields of a header's class as they travel; `wire` in a field's metadata is a name that camel case does not give."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        (
            each.name,
            each.metadata.get("wire") or re.sub("_([a-z])", lambda found: found[1].upper(), each.name),
            _PARSERS[hints[each.name]],
            REQUIRED if each.default is MISSING else each.default,
        )
        for each in fields(kind)
    )


def command_error(message: str) -> JavaError:
    """The exception of a header that cannot be read."""
    return JavaError("org.apache.rocketmq.remoting.exception.RemotingCommandException", message)


def decode(kind: Callable[..., H], names: Layout, ext_fields: Mapping[str, str] | None) -> H:
    """The header from its texts; what may be absent then has its default.

    Raises JavaError for the first required field that is absent and for the first number that is none (REM-04).
    """
    found = ext_fields or {}
    values: list[Any] = []
    for _, name, parse, absent in names:
        value = found.get(name)
        if value is not None:
            values.append(parse(value))
        elif absent is REQUIRED:
            raise command_error(f"the custom field <{name}> is null")
        else:
            values.append(absent)
    return kind(*values)


class WithNulls:
    """A header that may lack required fields: a text is None then, and using a number is a null-pointer error.

    `TEXTS` are the fields that may be None.
    """

    __slots__ = ()
    TEXTS: ClassVar[tuple[str, ...]] = ()

    def lacks(self, name: str) -> bool:
        """Whether a field is null: it was not there, or there was no number where one should be."""
        try:
            object.__getattribute__(self, name)
        except AttributeError:
            return True
        return False

    if not TYPE_CHECKING:  # every field is there for who reads the class

        def __getattr__(self, name: str) -> None:
            if name not in self.TEXTS:
                raise null_pointer() if name in self.__dataclass_fields__ else AttributeError(name)


def decode_with_nulls(kind: type[H], names: Layout, ext_fields: Mapping[str, str] | None, *, numbers: bool) -> H:
    """The header as 4.9.4 reads it: a required field that is absent is an error only for who uses it (REM-04).

    `numbers`: a number that is none is an error at once, as with the short names; otherwise it counts as absent. What a header
    requires of its values is not asked of one without any fields. Raises JavaError.
    """
    if ext_fields is None:
        return _empty(kind, names)
    found = ext_fields
    values: list[Any] = []
    missing: list[str] = []
    for attribute, name, parse, absent in names:
        value = absent
        if name in found:
            try:
                value = parse(found[name])
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
    """The header with its full names; `nulls` is the profile's `null_fields`. Raises JavaError."""
    names = layout(kind)  # type: ignore[arg-type]  # a class is hashable
    return decode_with_nulls(kind, names, ext_fields, numbers=numbers) if nulls else decode(kind, names, ext_fields)


def encode(header: object, names: Layout) -> dict[str, str]:
    """The texts of a header; what is None does not travel."""
    texts: dict[str, str] = {}
    for attribute, name, _, _ in names:
        value = getattr(header, attribute)
        if value is not None:
            texts[name] = boolean_text(value) if isinstance(value, bool) else str(value)
    return texts


# Send


@dataclass(slots=True)
class SendMessageRequestHeader(WithNulls):
    """What a producer sends with a message. Times are milliseconds; a negative queue id lets the broker choose.

    `properties` is the text of SEND-26. `batch` tells how the body is to be read, whatever the request code is (SEND-05).
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
    """The send header of a request; None if its code has none (REM-04). Raises JavaError as `decode` does.

    With `null_fields` only a number with a short name that is none is an error, and with `null_numbers` not even that; see
    `decode_with_nulls`. With `wants_short` those short names that are required have to be there, before any is read; with `wants_flags` the
    two flags, too, once all are read.
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
    """As request 10 carries it."""
    return encode(header, SEND_V1)


def encode_v2(header: SendMessageRequestHeader) -> dict[str, str]:
    """As requests 310 and 320 carry it."""
    return encode(header, SEND_V2)


# Send back


@dataclass(slots=True)
class SendMessageBackRequestHeader(WithNulls):
    """A consumer gives a message back: where it is in the log, whose consumption failed, and when to try again (BACK-01)."""

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
    """A consumer asks for at most so many messages of a queue. Times are milliseconds.

    The bits of `sys_flag` tell which of the others count: 1 `commit_offset`, 2 `suspend_timeout_millis`, 4 `subscription`.
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
    """A group asks how far it is in a queue, in 5.x perhaps for no other beginning than its own."""

    TEXTS: ClassVar[tuple[str, ...]] = ("consumer_group", "topic")

    consumer_group: str
    topic: str
    queue_id: int
    set_zero_if_not_found: bool = True


@dataclass(slots=True)
class UpdateConsumerOffsetRequestHeader(WithNulls):
    """A group says how far it is in a queue: the offset of its next message."""

    TEXTS: ClassVar[tuple[str, ...]] = ("consumer_group", "topic")

    consumer_group: str
    topic: str
    queue_id: int
    commit_offset: Long


@dataclass(slots=True)
class UnregisterClientRequestHeader(WithNulls):
    """A client leaves its groups."""

    TEXTS: ClassVar[tuple[str, ...]] = ("client_id",)

    client_id: str = field(metadata={"wire": "clientID"})
    producer_group: str | None = None
    consumer_group: str | None = None


# Transactions


@dataclass(slots=True)
class EndTransactionRequestHeader(WithNulls):
    """The outcome of a local transaction, and where its half message is: place in the log, and offset in the half queue."""

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
    """A topic as an administrator wants it."""

    TEXTS: ClassVar[tuple[str, ...]] = ("topic", "default_topic")

    topic: str
    default_topic: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_filter_type: str
    topic_sys_flag: int = 0
    order: bool = False

    def __post_init__(self) -> None:
        if self.topic_filter_type not in (SINGLE_TAG, MULTI_TAG):
            wrong = "null" if is_missing(self.topic_filter_type) else self.topic_filter_type
            raise command_error(f"topicFilterType = [{wrong}] value invalid")


@dataclass(slots=True)
class QueueRequestHeader(WithNulls):
    """A queue whose first or last offset is asked for."""

    topic: str
    queue_id: int


@dataclass(slots=True)
class SearchOffsetRequestHeader(WithNulls):
    """A queue's offset is asked for by when its message was stored (ms); later releases tell the bound that is meant, LOWER or UPPER."""

    topic: str
    queue_id: int
    timestamp: Long
    boundary_type: str | None = None


@dataclass(slots=True)
class QueryMessageRequestHeader(WithNulls):
    """A key by which records of a topic are looked for: at most so many, stored in that time (ms)."""

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
    """A topic whose offsets are asked for."""

    topic: str


@dataclass(slots=True)
class DeleteGroupRequestHeader(WithNulls):
    """A group that is to be deleted."""

    TEXTS: ClassVar[tuple[str, ...]] = ("group_name",)

    group_name: str


@dataclass(slots=True)
class DeleteTopicRequestHeader(WithNulls):
    """A topic that is to be deleted."""

    TEXTS: ClassVar[tuple[str, ...]] = ("topic",)

    topic: str
