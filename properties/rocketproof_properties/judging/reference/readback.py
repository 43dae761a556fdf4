"""Compare what was read back after a program with the simulated broker that followed it: topics, groups, queues, records, and query
responses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from rocketproof_impl.broker.groups import SubscriptionGroupConfig, group_to_data
from rocketproof_impl.message import Host, Message
from rocketproof_impl.store.index import keys_of
from rocketproof_impl.topic import DataVersion, TopicConfig, table_to_data
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import NAME_END, PROPERTY_END, REAL_QID, REAL_TOPIC, UNIQ_KEY
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.stored.record import place_of, records_in

from ...brokers.runs import queries
from ...brokers.runs.recording import KEPT, body_of
from ...programs.vocabulary import plain
from . import comparison, keys, masks, storetimes
from .comparison import ENTRY, TIMESTAMP, FieldDifference, RunComparison, message_data, within
from .dispatched import is_soon
from .driver import SECONDS
from .following import Follower
from .searches import offset_by_time

NEXT_OFFSET: Final = "next offset"
_TOPIC: Final = frozenset(table_to_data({"": TopicConfig("")}, DataVersion(0))["topicConfigTable"][""])
_ATTRIBUTES: Final = "attributes"
"""A field that topics have in some releases only."""
_GROUP: Final = frozenset(group_to_data(SubscriptionGroupConfig("")))
_TIMERS: Final = "timerWheelEnable"
_OF_END: Final = ("topic", "flag", "sysFlag", "reconsumeTimes", "props", "propertiesText")
"""Fields that are equal in all records of ended half messages. Queue and body identify the half message."""


@dataclass
class ReadBack:
    """`of_others`: places of messages whose queue depends on another program. `by_key`: searches by key, with the places of the records
    found here."""

    followed: Follower
    same: RunComparison
    of_others: Collection[int]
    by_key: Sequence[tuple[Exchange, Sequence[int]]]

    def __post_init__(self) -> None:
        self.history, self.names = self.followed.history, self.followed.history.names
        self.store = self.followed.broker.store
        self.pairs: dict[int, tuple[Message, Message | None]] = {}

    def compare(self) -> Iterator[FieldDifference]:
        """Yield the differences in the order in which the states were read back."""
        yield from self._topics()
        yield from self._groups()
        yield from self._queues()
        yield from self._records()
        yield from self._ends()
        for exchange, there in self.by_key:
            late = set(self.followed.theirs) if is_soon(self.history, exchange) else set[int]()
            known = records_in(body_of(exchange.outcome) or b"")
            answer = {**exchange.outcome, "places": [place_of(data) for data in known]}
            yield from within(self._found(exchange.fields, there, answer, late), str(exchange), exchange.seq)
        yield from self._queries()
        yield from self._responses(self.history.states.get("consumed", {}).get("looks", ()))
        yield from self._deleted()

    def _topics(self) -> Iterator[FieldDifference]:
        state = self.history.states.get("topics")
        if state is None:
            return
        mine = {name: config for name, config in self.followed.broker.topics.table.items() if name and self.names.is_mine(name)}
        for topic in map(str, dict.fromkeys((*(n for n in state["topics"] if self.names.is_mine(n)), *mine))):
            row = _comparable_entry(state["topics"].get(topic))
            yield from within(comparison.topic(row, mine.get(topic)), f"topic {topic}")
        own: Mapping[str, Any] | None = self.history.origin.get("shared")
        if own is None:
            return
        for name, config in self.followed.first.items():
            row = _comparable_entry(own.get(name))
            if row is not None and name == self.followed.broker.profile.template:
                row["perm"] = config.perm  # a restart or a send changes its inherited permission (HAZ-02, HAZ-03)
            yield from within(comparison.topic(row, config), f"topic {name}, which is the broker's own")

    def _queues(self) -> Iterator[FieldDifference]:
        self.followed.dispatch()
        for topic, queue, end, *_ in self.history.states.get("queues", {}).get("queues", ()):
            ours = self.store.max_offset(topic, queue)
            if end != ours:
                yield FieldDifference(NEXT_OFFSET, end, ours, f"queue {queue} of {topic}")

    def _groups(self) -> Iterator[FieldDifference]:
        state = self.history.states.get("groups")
        if state is None:
            return
        mine = {name: group_to_data(config) for name, config in self.followed.broker.groups.table.items() if self.names.is_mine(name)}
        for name in dict.fromkeys((*state["groups"], *mine)):
            row, ours = state["groups"].get(name), mine.get(name)
            known = None if row is None else {key: value for key, value in row.items() if key in _GROUP}
            yield from within(comparison.values("group", known, ours), f"group {name}")

    def _paired(self) -> Iterator[tuple[int, Message, Message | None]]:
        """Yield each record of the target with ours, None if we have none.

        An acknowledged record is identified by its place, any other record by its birth time. Records without a match are paired in order
        within their queue.
        """
        acknowledged = set(self.followed.places.values())
        left: dict[tuple[str, int], list[Message]] = {}
        for message in self.store.records(0):
            if message.physical_offset not in acknowledged:
                left.setdefault((message.topic, message.queue_id), []).append(message)
        unmatched: list[tuple[int, Message]] = []
        for at, found in self.followed.theirs.items():
            candidates = left.get((found.topic, found.queue_id), [])
            ours = self.store.look_message_by_offset(self.followed.places[at]) if at in self.followed.places else None
            if at not in self.followed.places:
                ours = next((message for message in candidates if message.born_timestamp == found.born_timestamp), None)
                if ours is None and candidates and self.names.is_mine(found.topic):
                    unmatched.append((at, found))
                    continue
                if ours is not None:
                    candidates.remove(ours)
            yield at, found, ours
        for at, found in unmatched:
            candidates = left[found.topic, found.queue_id]
            yield at, found, candidates.pop(0) if candidates else None

    def _records(self) -> Iterator[FieldDifference]:
        """Compare each field of each record, and check that each acknowledged record exists."""
        for at in self.followed.broken:
            yield FieldDifference("content", "no record", "a record", f"the record at {at}")
        self.pairs = {at: (found, ours) for at, found, ours in self._paired()}
        stored = {ours.physical_offset: (at, ours) for at, (_, ours) in self.pairs.items() if ours is not None}
        hosts: dict[Host, Host] = {}
        for at, (found, ours) in sorted(self.pairs.items()):
            where = f"the record at {at} ({found.topic}, queue {found.queue_id})"
            mine = self.names.is_mine(found.topic)
            if ours is None:
                if mine:
                    yield FieldDifference("content", "a record", "none", where)
                continue
            their_data, our_data = ({**message_data(message), "body": message.body} for message in (found, ours))
            # A commit has its half message's birth time. The flag is no proof: a client can mark any message as a commit.
            half = stored.get(ours.prepared_transaction_offset)
            born_with_it = half is not None and half[0] != at and half[1].born_timestamp == ours.born_timestamp
            # The copy of a checked half message has the same birth time but is no commit. Place 0 here holds the first record.
            commits = born_with_it and ours.transaction == COMMIT
            if half is not None and commits and (_is_half(half[1]) or found.prepared_transaction_offset == half[0]):
                our_data["preparedTxOffset"] = half[0]
            elif ours.prepared_transaction_offset and found.prepared_transaction_offset:
                our_data["preparedTxOffset"] = found.prepared_transaction_offset
            if not mine:
                del their_data["queueOffset"]
            if at in self.of_others and found.topic in (SCHEDULE, HALF_TOPIC) and REAL_QID in found.properties:
                our_data |= _meant_for(ours, found.properties[REAL_QID])
            elif at in self.of_others:
                del their_data["queueId"]
            yield from within(self.same.record("", their_data, our_data), where)
            yield from _born(hosts, found, ours, where)
        yield from storetimes.differences(self.history, self.followed.theirs)
        yield from self._missing()

    def _ends(self) -> Iterator[FieldDifference]:
        """Compare the broker's records of ended half messages; none if this side has no such record."""
        ours = next((message_data(message) for message in self.store.records(0) if message.topic == OP_HALF_TOPIC), None)
        if ours is None:
            return
        for at, data in self.history.ends.items():
            message = self.followed.decoded(data)
            found = {} if message is None else message_data(message)
            where = f"the record at {at}, which notes an end"
            yield from within(self.same.record("", {name: found.get(name) for name in _OF_END}, ours), where)

    def _missing(self) -> Iterator[FieldDifference]:
        """Yield acknowledged messages whose place holds no record. Only these places are read by their number: a message whose place is
        known by a pull alone may be in a queue that cannot be pulled any more."""
        rows = self.history.states.get("records", {}).get("records", ())
        if not rows or "unread" in self.history.states:
            return
        seen = {whole_number(row["at"]) for row in rows}
        missing = {place for exchange in self.history.exchanges for place in exchange.places} - seen
        for at, ours in self.followed.places.items():
            if at in missing and self.store.look_message_by_offset(ours) is not None:
                yield FieldDifference("content", "nothing", "a record", f"the record at {at}, where an answer says that it is")

    def _queries(self) -> Iterator[FieldDifference]:
        """Compare the queries after the program, and check that queries changed nothing."""
        state = self.history.states.get("looks")
        if state is None:
            return
        if self.history.program.settles:
            for first, second in state["twice"]:
                twice = within(comparison.values("", first, second), _query_text(first))
                yield from (replace(difference, beside="to the same question again") for difference in twice)
            for topic, queue, before, after in state["moved"]:
                yield FieldDifference(NEXT_OFFSET, before, after, f"queue {queue} of {topic}", beside="behind questions")
            for topic in state["changed"]:
                yield FieldDifference(ENTRY, "one", "another one", f"topic {topic}", beside="behind questions")
        elif state["moved"]:
            return
        yield from self._responses(state["looks"])

    def _deleted(self) -> Iterator[FieldDifference]:
        """Compare the responses to the deletion of the program's topics, and the topics that remain."""
        state = self.history.states.get("deleted")
        if state is None or "looks" not in state or self.history.settings.get(_TIMERS) == "false":
            return  # 5.x without timers throws an exception when it removes timer data
        yield from self._responses(state["looks"])
        ours = {name for name in self.followed.broker.topics.table if self.names.is_mine(name)}
        for name in sorted(ours.symmetric_difference(state["left"])):
            theirs, here = ("an entry", "none") if name in state["left"] else ("none", "an entry")
            yield FieldDifference(ENTRY, theirs, here, f"topic {name}, deleted")

    def _responses(self, answers: Iterable[Mapping[str, Any]]) -> Iterator[FieldDifference]:
        connection = self.followed.deployment.connect(self.followed.deployment.part)
        for query in answers:
            name, args = query["name"], query["args"]
            by_key = name == "find" and query["code"] in keys.ANSWERS
            made_up = self._made_up() if by_key else {}
            if by_key and masks.made_up(args["key"]) and args["key"] not in made_up:
                continue  # its record is too long to be saved
            own_args = keys.all_of(args, made_up) if by_key else args
            response = queries.response_data(connection.ask(plain(name, **own_args), SECONDS))
            fields = plain(name, **args).ext_fields or {}
            differing = self._found(fields, response["places"], query) if by_key else self._response(query, response)
            yield from within(differing, _query_text(query))

    def _made_up(self) -> dict[str, str]:
        """Return unique keys that the target generated, with the keys generated here for the same messages."""
        pairs = [(found.properties, ours.properties) for found, ours in self.pairs.values() if ours is not None]
        unique = [(theirs.get(UNIQ_KEY, ""), ours.get(UNIQ_KEY, "")) for theirs, ours in pairs]
        return {theirs: ours for theirs, ours in unique if masks.made_up(theirs, ours)}

    def _response(self, recorded: Mapping[str, Any], response: dict[str, Any]) -> Iterator[FieldDifference]:
        """Compare the response to one query, after replacing our places and times by the target's."""
        theirs = {ours.physical_offset: message for message, ours in self.pairs.values() if ours is not None}

        def stored(topic: str, queue: int, last: int) -> int | None:
            """Return the target's store time of the message at an offset of a queue here; None if it is unknown."""
            ours = self.store.get_message(topic, queue, last)
            other = None if ours is None else theirs.get(ours.physical_offset)
            return None if other is None else other.store_timestamp

        args, fields = recorded["args"], response["fields"]
        if recorded["name"] == "search" and response["code"] == codes.SUCCESS:
            queue = self.store.queues.find(args["topic"], args["queue"])
            bounds, times = self.followed.profile.bounds_by_time, partial(stored, args["topic"], args["queue"])
            offset = offset_by_time(queue, times, args["time"], bounds=bounds, upper=bool(args.get("upper")))
            fields["offset"] = recorded["fields"].get("offset") if offset is None else str(offset)
        if recorded["code"] != response["code"]:
            yield FieldDifference("code", [recorded["code"], recorded["remark"]], [response["code"], response["remark"]])
            return
        if not masks.same_remark(recorded["remark"], response["remark"]):
            yield FieldDifference("remark", recorded["remark"], response["remark"])
        if TIMESTAMP in fields and fields[TIMESTAMP] != "-1":
            first = self.store.min_offset(args["topic"], args["queue"])
            fields[TIMESTAMP] = str(stored(args["topic"], args["queue"], first) or recorded["fields"].get(TIMESTAMP))
        yield from comparison.values("extFields", {name: recorded["fields"].get(name) for name in fields}, fields)
        for queue, ends in (response.get("queues") or {}).items():
            their_ends = recorded.get("queues", {}).get(queue, {})
            if ends["lastUpdateTimestamp"] > 0:
                stored_at = stored(args["topic"], whole_number(queue), ends["maxOffset"] - 1)
                ends["lastUpdateTimestamp"] = their_ends.get("lastUpdateTimestamp") if stored_at is None else stored_at
            yield from comparison.values(f"queue {queue}", {name: their_ends.get(name) for name in ends}, ends)
        if "places" in response:
            their_places = [theirs[at].physical_offset if at in theirs else None for at in response["places"]]
            if None not in their_places and recorded.get("places") != their_places:
                yield FieldDifference("records", recorded.get("places"), their_places)

    def _found(
        self, fields: Mapping[str, str], own_places: Iterable[int], answer: Mapping[str, Any], late: Collection[int] = ()
    ) -> Iterator[FieldDifference]:
        """Check that a response contains the expected records for a key. `own_places`: the places here of all records under the key."""
        theirs = {ours.physical_offset: (place, message) for place, (message, ours) in self.pairs.items() if ours is not None}
        wanted, size = keys.sought(fields), whole_number(answer.get("bodySize", 0))
        known = [theirs.get(place) for place in own_places]
        if wanted is None or None in known or size > KEPT or not self.names.is_mine(fields["topic"]):
            return
        rows = dict(row for row in known if row is not None)
        stored = {place: message.store_timestamp for place, message in rows.items()}
        places_ = [row[0] for row in known if row is not None]
        key = f"{fields['topic']}#{fields['key']}"
        replaced = {place for place, message in rows.items() if key not in keys_of(message)}
        yield from keys.differences(wanted, places_, stored, answer.get("fields") or {}, answer["places"], late=late, replaced=replaced)


def _comparable_entry(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the compared fields of a broker's entry for a topic: the fields that every release has, and attributes."""
    return None if row is None else {key: row.get(key) for key in (_ATTRIBUTES, *sorted(_TOPIC))}


def _query_text(query: Mapping[str, Any]) -> str:
    """Return a query in words."""
    words = [f"{name} {value}" for name, value in query["args"].items() if name != "topic"]
    return " ".join([str(query["name"]), "of", str(query["args"].get("topic", "a group")), *words])


def _meant_for(message: Message, queue: str) -> dict[str, Any]:
    """Return the properties of a waiting message with another chosen queue."""
    if REAL_QID not in message.properties:
        return {}
    items = (message.properties_text or "").split(PROPERTY_END)
    text = (f"{REAL_QID}{NAME_END}{queue}" if item.startswith(REAL_QID + NAME_END) else item for item in items)
    return {"props": {**message.properties, REAL_QID: queue}, "propertiesText": PROPERTY_END.join(text)}


def _is_half(message: Message) -> bool:
    """Whether a message is a half message. One with a delay (HAZ-39) is stored with the waiting messages."""
    return HALF_TOPIC in (message.topic, message.properties.get(REAL_TOPIC))


def _born(hosts: dict[Host, Host], found: Message, ours: Message, where: str) -> Iterator[FieldDifference]:
    """Check that messages with one client address here have one client address there. `hosts`: known pairs of addresses."""
    if not hosts:
        hosts[ours.store_host] = found.store_host
    known = hosts.get(ours.born_host)
    if known is None and found.born_host in hosts.values():
        known = (found.born_host[0], 0)
    if hosts.setdefault(ours.born_host, found.born_host) != found.born_host or known not in (None, found.born_host):
        yield FieldDifference("bornHost", list(found.born_host), list(known or ()), where)
