"""A recorded request, and the context in which the steps of a program become requests."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """A request as it is recorded. `fields` have their full names, in whatever form they are sent. `line` names the connection.

    `again`: a client that does not find what it asks for asks again. `anew`: it is sent over a new connection, and the earlier one is
    closed after the response.
    """

    op: str
    to: str
    code: int
    fields: Mapping[str, str]
    body: bytes | None = None
    version: int = VERSION
    one_way: bool = False
    line: str = ""
    again: bool = True
    anew: bool = False

    def command(self) -> Command:
        return command_of(self.code, self.fields, self.body, self.version)


def command_of(code: int, fields: Mapping[str, str], body: bytes | None, version: int = VERSION) -> Command:
    """Return the command that is sent. Requests of version 2 get short field names (REM-04).

    A request without fields has no table of fields, like the requests that Java clients build without a header.
    """
    short = code in (codes.SEND_MESSAGE_V2, codes.SEND_BATCH_MESSAGE)
    named = {SHORT_NAMES.get(n, n): v for n, v in fields.items()} if short else dict(fields)
    return Command(code, named or None, body, version=version)


def may_be_held(op: str, fields: Mapping[str, str]) -> bool:
    """Return whether a broker may hold this request until it has data to return."""
    flags = fields.get("sysFlag", "") if op == "pull" else ""
    number = java_int(flags)
    return number is not None and bool(number & PULL_SUSPENDS)


class StoredPlace(NamedTuple):
    """A message that a broker has stored.

    `place` is its offset in the log. `visible`: consumers can read the record at this place. `topic`: the topic that it was sent to.
    """

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
    """The state that the steps of one program share: names, broker, the messages acknowledged so far, and the number of messages sent back.

    - `end`: the end of the log as far as responses show it; None before the first response. `file_size`: bytes of each of its files.
    - `pulled`: the messages that pulls have returned so far. `store_times`: their store times (ms), by broker, topic
      and queue, and by offset.
    - `gone`: the places of acknowledged messages whose topic was deleted later. No queue has them any more.
    - `silent`: the groups without retry queues. `discarded`: the number of messages sent back to them, which are stored nowhere (HAZ-30).
    - `last`: topic, queue and offset of the last acknowledged message; None after a topic was deleted.
    - `settings`: the broker's settings by RocketMQ's names.
    - `now`: returns the time of the clients' clock in ms; a constant for requests that are not sent.
    - `restarts`: how often a client has restarted each broker. Connections from before a restart are closed.

    A deployment that can read its stores has a context class of its own.
    """

    names: ProgramNames
    broker: str
    known: list[StoredPlace] = field(default_factory=list)
    pulled: list[StoredPlace] = field(default_factory=list, kw_only=True)
    store_times: defaultdict[tuple[str, str, int], dict[int, int]] = field(default_factory=lambda: defaultdict(dict), kw_only=True)
    file_size: int = 0
    end: int | None = None
    last: tuple[str, int, int] | None = None
    sent_back: int = 0
    gone: set[int] = field(default_factory=set, kw_only=True)
    silent: set[str] = field(default_factory=set, kw_only=True)
    discarded: int = 0
    profile: Profile = PROFILES["P49"]
    settings: Mapping[str, str] = field(default_factory=dict)
    restarts: Counter[str] = field(default_factory=Counter)
    now: Callable[[], int] = lambda: BORN
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def births(self) -> range:
        """The born timestamps of this program's messages. No other program or run uses them."""
        first = BORN - self.names.run * BORN_OF_A_RUN + self.names.number * BORN_OF_A_PROGRAM
        return range(first, first + BORN_OF_A_PROGRAM)

    def born(self) -> int:
        """Return a born timestamp that no other message has. It identifies the record."""
        return self.births[next(self.numbers) % BORN_OF_A_PROGRAM]

    def part(self, broker: str | int) -> str:
        """Return the name of the part that a step's `broker` refers to."""
        return broker if isinstance(broker, str) and broker else self.broker

    def stored(self, to: str) -> Sequence[StoredPlace]:
        """Return the messages that a broker is known to have stored."""
        del to
        return self.known

    def free(self, to: str) -> int | None:
        """Return the bytes that the next record may occupy in its file, None if unknown."""
        del to
        return None if self.end is None or not self.file_size else left_of_file(self.end, self.file_size)

    def longest(self, to: str) -> int:
        """Return the maximum size of a record in bytes."""
        del to
        return whole_number(self.settings.get("maxMessageSize", 4 << 20))

    def overhead(self, to: str, topic: str, properties: Mapping[str, str]) -> int:
        """Return the bytes of a plain record without its body (APP-06, SEND-25)."""
        del to
        return overhead(topic, stored_length(properties, self.profile, **self._written))

    def batch_length(self, items: Iterable[tuple[bytes, bytes]], topic: str, properties: str | None) -> int:
        """Return the bytes of a batch's records.

        `items`: body and properties of each message. `topic` and `properties` apply to all of them.
        """
        return batch_length(items, topic, added_length(properties, self.profile, **self._written))

    @property
    def _written(self) -> _Written:
        """The values that the broker writes into properties, from its settings."""
        return {
            "cluster": self.names.cluster,
            "region": self.settings.get("regionId", "DefaultRegion"),
            "traced": self.settings.get("traceOn", "true") == "true",
        }
