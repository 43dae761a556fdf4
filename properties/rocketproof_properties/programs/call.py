"""A request as it is recorded and sent, and the context in which a program's steps become requests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypedDict

from rocketproof_impl.remoting.command import VERSION, Command
from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol import codes
from rocketproof_protocol.fields import SHORT_NAMES
from rocketproof_protocol.flags import PULL_SUSPENDS
from rocketproof_protocol.numbers import java_int, whole_number

from .names import ProgramNames
from .sizes import added_length, batch_length, left_of_file, overhead, stored_length

BORN: Final = 1_600_000_000_000
BORN_OF_A_PROGRAM: Final = 1000  # more messages than a program sends
BORN_OF_A_RUN: Final = 90 * BORN_OF_A_PROGRAM  # so that 2**24 runs begin at different times, all of them after 1970


@dataclass(frozen=True)
class RecordedCall:
    """A request as it is recorded: `fields` by their full names, whatever form they travel in. `line` names the connection."""

    op: str
    to: str
    code: int
    fields: Mapping[str, str]
    body: bytes | None = None
    version: int = VERSION
    one_way: bool = False
    line: str = ""

    def command(self) -> Command:
        return command_of(self.code, self.fields, self.body, self.version)


def command_of(code: int, fields: Mapping[str, str], body: bytes | None, version: int = VERSION) -> Command:
    """What goes over the wire: the send requests with short names have them here (REM-04). A request without any field has no table of
    them, as those that Java's clients make without a header."""
    short = code in (codes.SEND_MESSAGE_V2, codes.SEND_BATCH_MESSAGE)
    named = {SHORT_NAMES.get(n, n): v for n, v in fields.items()} if short else dict(fields)
    return Command(code, named or None, body, version=version)


def may_be_held(op: str, fields: Mapping[str, str]) -> bool:
    """Whether a broker may hold this request until there is something to answer."""
    flags = fields.get("sysFlag", "") if op == "pull" else ""
    number = java_int(flags)
    return number is not None and bool(number & PULL_SUSPENDS)


class StoredPlace(NamedTuple):
    """A message that a broker has stored: its place in the log, its offset in a queue, whether it is a half message, whether a consumer
    can have it where it is, and the topic that it was sent to."""

    place: int
    queue_offset: int
    half: bool
    visible: bool
    topic: str


class _Written(TypedDict):
    cluster: str
    region: str
    traced: bool


@dataclass
class Context:
    """What the steps of one program share: its names, its broker, the messages that were acknowledged so far, and how many were sent back.

    `end` is where the log ends as far as the answers show it, None before the first one; its files have `file_size` bytes. `last` says to
    which topic and queue the last acknowledged message comes, and its offset there; None behind a topic's deletion. `settings` are the
    broker's by RocketMQ's names. A deployment whose stores can be looked at has a context of its own.
    """

    names: ProgramNames
    broker: str
    known: list[StoredPlace] = field(default_factory=list)
    file_size: int = 0
    end: int | None = None
    last: tuple[str, int, int] | None = None
    sent_back: int = 0
    profile: Profile = PROFILES["P49"]
    settings: Mapping[str, str] = field(default_factory=dict)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def births(self) -> range:
        """The times of birth of this program's messages, which neither another program nor another run has."""
        first = BORN - self.names.run * BORN_OF_A_RUN + self.names.number * BORN_OF_A_PROGRAM
        return range(first, first + BORN_OF_A_PROGRAM)

    def born(self) -> int:
        """A time of birth that no other message has: by it a record is known again."""
        return self.births[next(self.numbers) % BORN_OF_A_PROGRAM]

    def part(self, broker: str | int) -> str:
        """The part that a step's `broker` names."""
        return broker if isinstance(broker, str) and broker else self.broker

    def stored(self, to: str) -> Sequence[StoredPlace]:
        """The messages that a broker has stored, as far as they are known."""
        del to
        return self.known

    def free(self, to: str) -> int | None:
        """Bytes that the next record may take of its file, None where that is not known."""
        del to
        return None if self.end is None or not self.file_size else left_of_file(self.end, self.file_size)

    def longest(self, to: str) -> int:
        """Bytes that a record may have."""
        del to
        return whole_number(self.settings.get("maxMessageSize", 4 << 20))

    def overhead(self, to: str, topic: str, properties: Mapping[str, str]) -> int:
        """The bytes of a plain record beside its body (APP-06, SEND-25)."""
        del to
        return overhead(topic, stored_length(properties, self.profile, **self._written))

    def batch_length(self, items: Iterable[tuple[bytes, bytes]], topic: str, properties: str | None) -> int:
        """The bytes of a batch's records: body and properties of each message, and the topic and properties that all have."""
        return batch_length(items, topic, added_length(properties, self.profile, **self._written))

    @property
    def _written(self) -> _Written:
        """What the broker writes into properties, by its settings."""
        return {
            "cluster": self.names.cluster,
            "region": self.settings.get("regionId", "DefaultRegion"),
            "traced": self.settings.get("traceOn", "true") == "true",
        }
