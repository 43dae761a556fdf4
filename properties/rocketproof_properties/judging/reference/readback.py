"""What was read back when a program was over, beside what a simulated broker that followed it has: topics, groups, queues, records, and
answers to further questions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from rocketproof_impl.broker.groups import SubscriptionGroupConfig, group_to_data
from rocketproof_impl.message import Host, Message
from rocketproof_impl.store.bytime import StoredAt, offset_at
from rocketproof_impl.topic import DataVersion, TopicConfig, table_to_data
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import NAME_END, PROPERTY_END, REAL_QID, REAL_TOPIC, UNIQ_KEY
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs import queries as looks
from ...brokers.runs.recording import KEPT, body_of
from ...programs.vocabulary import plain
from . import comparison, keys, masks
from .comparison import ENTRY, TIMESTAMP, FieldDifference, RunComparison, message_data, within
from .dispatched import is_soon
from .driver import SECONDS
from .following import Follower

NEXT_OFFSET: Final = "next offset"
_TOPIC: Final = frozenset(table_to_data({"": TopicConfig("")}, DataVersion(0))["topicConfigTable"][""])
_ATTRIBUTES: Final = "attributes"
"""What a topic has in some releases and not in others; the reference implementation takes none from a request."""
_GROUP: Final = frozenset(group_to_data(SubscriptionGroupConfig("")))
_TIMERS: Final = "timerWheelEnable"
_OF_END: Final = ("topic", "flag", "sysFlag", "reconsumeTimes", "props", "propertiesText")
"""What all records of half messages that ended have in common; queue and body say which half message it is."""


@dataclass
class ReadBack:
    """`of_others`: places of messages whose queue depends on what another program has made. `by_key`: requests for records under a key,
    with the places here of what was found."""

    followed: Follower
    same: RunComparison
    of_others: Collection[int]
    by_key: Sequence[tuple[Exchange, Sequence[int]]]

    def __post_init__(self) -> None:
        self.history, self.names = self.followed.history, self.followed.history.names
        self.store = self.followed.broker.store
        self.pairs: dict[int, tuple[Message, Message | None]] = {}

    def compare(self) -> Iterator[FieldDifference]:
        """The differences, in the order in which things were read back."""
        yield from self._topics()
        yield from self._groups()
        yield from self._queues()
        yield from self._records()
        yield from self._ends()
        for asked, there in self.by_key:
            late = set(self.followed.theirs) if is_soon(self.history, asked) else set[int]()
            known = looks.split(body_of(asked.outcome) or b"")
            answer = {**asked.outcome, "places": [looks.place_of(data) for data in known]}
            yield from within(self._found(asked.fields, there, answer, late), str(asked), asked.seq)
        yield from self._looks()
        yield from self._looked(self.history.states.get("consumed", {}).get("looks", ()))
        yield from self._deleted()

    def _topics(self) -> Iterator[FieldDifference]:
        state = self.history.states.get("topics")
        if state is None:
            return
        attributed = {one.fields.get("topic") for one in self.history.asked if one.op == "update_topic" and one.fields.get("attributes")}
        mine = {name: config for name, config in self.followed.broker.topics.table.items() if name and self.names.is_mine(name)}
        for topic in map(str, dict.fromkeys((*(n for n in state["topics"] if self.names.is_mine(n)), *mine))):
            row = _told(state["topics"].get(topic))
            if row is not None and topic in attributed:
                del row[_ATTRIBUTES]
            yield from within(comparison.topic(row, mine.get(topic)), f"topic {topic}")
        own: Mapping[str, Any] | None = self.history.origin.get("shared")
        if own is None:
            return
        for name, config in self.followed.first.items():
            row = _told(own.get(name))
            if row is not None and name == self.followed.broker.profile.template:
                row["perm"] = config.perm  # a start, or a send, takes what it inherits (HAZ-02, HAZ-03)
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
        """Each record with ours, None if we have none.

        An acknowledged one is known by its place; any other by the message's time of birth and its turn among those that have it, or else
        by its turn among those of its queue that are left on both sides.
        """
        acknowledged = set(self.followed.places.values())
        left: dict[tuple[str, int], list[Message]] = {}
        for message in self.store.records(0):
            if message.physical_offset not in acknowledged:
                left.setdefault((message.topic, message.queue_id), []).append(message)
        odd: list[tuple[int, Message]] = []
        for at, found in self.followed.theirs.items():
            here_ = left.get((found.topic, found.queue_id), [])
            ours = self.store.look_message_by_offset(self.followed.places[at]) if at in self.followed.places else None
            if at not in self.followed.places:
                ours = next((one for one in here_ if one.born_timestamp == found.born_timestamp), None)
                if ours is None and here_ and self.names.is_mine(found.topic):
                    odd.append((at, found))
                    continue
                if ours is not None:
                    here_.remove(ours)
            yield at, found, ours
        for at, found in odd:
            here_ = left[found.topic, found.queue_id]
            yield at, found, here_.pop(0) if here_ else None

    def _records(self) -> Iterator[FieldDifference]:
        """Each field of each record, and whether there is one where an answer said so."""
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
            one, other = ({**message_data(message), "body": message.body} for message in (found, ours))
            # The half message, which was born with it: a client's own flag may say of any message that it is a commit.
            half = stored.get(ours.prepared_transaction_offset)
            born_with_it = half is not None and half[0] != at and half[1].born_timestamp == ours.born_timestamp
            # A copy of one that is asked about was born with it, too, and is no commit; at place 0 here lies whatever was first.
            commits = born_with_it and ours.transaction == COMMIT
            if half is not None and commits and (_is_half(half[1]) or found.prepared_transaction_offset == half[0]):
                other["preparedTxOffset"] = half[0]
            elif ours.prepared_transaction_offset and found.prepared_transaction_offset:
                other["preparedTxOffset"] = found.prepared_transaction_offset
            if not mine:
                del one["queueOffset"]
            if at in self.of_others and found.topic in (SCHEDULE, HALF_TOPIC) and REAL_QID in found.properties:
                other |= _meant_for(ours, found.properties[REAL_QID])
            elif at in self.of_others:
                del one["queueId"]
            yield from within(self.same.record("", one, other), where)
            yield from _born(hosts, found, ours, where)
        yield from self._missing()

    def _ends(self) -> Iterator[FieldDifference]:
        """What the broker notes of each half message that ended; nothing where none was noted here."""
        ours = next((message_data(one) for one in self.store.records(0) if one.topic == OP_HALF_TOPIC), None)
        if ours is None:
            return
        for at, data in self.history.ends.items():
            message = self.followed.decoded(data)
            found = {} if message is None else message_data(message)
            where = f"the record at {at}, which notes an end"
            yield from within(self.same.record("", {name: found.get(name) for name in _OF_END}, ours), where)

    def _missing(self) -> Iterator[FieldDifference]:
        """Acknowledged messages of which nothing is at the place that the answer gave; whatever is given out by its place."""
        rows = self.history.states.get("records", {}).get("records", ())
        if not rows or "unread" in self.history.states:
            return
        seen = {whole_number(row["at"]) for row in rows}
        for at, ours in self.followed.places.items():
            if at not in seen and self.store.look_message_by_offset(ours) is not None:
                yield FieldDifference("content", "nothing", "a record", f"the record at {at}, where an answer says that it is")

    def _looks(self) -> Iterator[FieldDifference]:
        """What else was asked when the program was over, and whether asking has changed anything."""
        state = self.history.states.get("looks")
        if state is None:
            return
        if self.history.program.settles:
            for one, other in state["twice"]:
                twice = within(comparison.values("", one, other), _asked(one))
                yield from (replace(each, beside="to the same question again") for each in twice)
            for topic, queue, before, after in state["moved"]:
                yield FieldDifference(NEXT_OFFSET, before, after, f"queue {queue} of {topic}", beside="behind questions")
            for topic in state["changed"]:
                yield FieldDifference(ENTRY, "one", "another one", f"topic {topic}", beside="behind questions")
        elif state["moved"]:
            return
        yield from self._looked(state["looks"])

    def _deleted(self) -> Iterator[FieldDifference]:
        """What the broker answers when its topics are deleted at the end, and what is left of them."""
        state = self.history.states.get("deleted")
        if state is None or "looks" not in state or self.history.settings.get(_TIMERS) == "false":
            return  # a 5.x without timers throws where it takes away theirs
        yield from self._looked(state["looks"])
        ours = {name for name in self.followed.broker.topics.table if self.names.is_mine(name)}
        for name in sorted(ours.symmetric_difference(state["left"])):
            one, other = ("an entry", "none") if name in state["left"] else ("none", "an entry")
            yield FieldDifference(ENTRY, one, other, f"topic {name}, deleted")

    def _looked(self, answers: Iterable[Mapping[str, Any]]) -> Iterator[FieldDifference]:
        connection = self.followed.deployment.connect(self.followed.deployment.part)
        for one in answers:
            name, args = one["name"], one["args"]
            by_key = name == "find" and one["code"] in keys.ANSWERS
            made_up = self._made_up() if by_key else {}
            if by_key and masks.made_up(args["key"]) and args["key"] not in made_up:
                continue  # of a record that is too long to be kept
            here_ = keys.all_of(args, made_up) if by_key else args
            found = looks.response_data(connection.ask(plain(name, **here_), SECONDS))
            fields = plain(name, **args).ext_fields or {}
            differing = self._found(fields, found["places"], one) if by_key else self._look(one, found)
            yield from within(differing, _asked(one))

    def _made_up(self) -> dict[str, str]:
        """Unique keys that the target has made up, with those that were made up here for the same messages."""
        pairs = [(found.properties, ours.properties) for found, ours in self.pairs.values() if ours is not None]
        unique = [(theirs.get(UNIQ_KEY, ""), ours.get(UNIQ_KEY, "")) for theirs, ours in pairs]
        return {theirs: ours for theirs, ours in unique if masks.made_up(theirs, ours)}

    def _look(self, recorded: Mapping[str, Any], found: dict[str, Any]) -> Iterator[FieldDifference]:
        """One question: what both sides share of the answers, with the target's places and times for ours."""
        theirs = {ours.physical_offset: message for message, ours in self.pairs.values() if ours is not None}

        def stored(topic: str, queue: int, last: int) -> int | None:
            """When the target has stored the message that is here at an offset of a queue; None where that is not known."""
            ours = self.store.get_message(topic, queue, last)
            other = None if ours is None else theirs.get(ours.physical_offset)
            return None if other is None else other.store_timestamp

        args, fields = recorded["args"], found["fields"]
        if recorded["name"] == "search" and found["code"] == codes.SUCCESS:
            fields["offset"] = str(self._searched(args, partial(stored, args["topic"], args["queue"]), recorded["fields"].get("offset")))
        if recorded["code"] != found["code"]:
            yield FieldDifference("code", [recorded["code"], recorded["remark"]], [found["code"], found["remark"]])
            return
        if not masks.same_remark(recorded["remark"], found["remark"]):
            yield FieldDifference("remark", recorded["remark"], found["remark"])
        if TIMESTAMP in fields and fields[TIMESTAMP] != "-1":
            first = self.store.min_offset(args["topic"], args["queue"])
            fields[TIMESTAMP] = str(stored(args["topic"], args["queue"], first) or recorded["fields"].get(TIMESTAMP))
        yield from comparison.values("extFields", {name: recorded["fields"].get(name) for name in fields}, fields)
        for queue, ends in (found.get("queues") or {}).items():
            told = recorded.get("queues", {}).get(queue, {})
            if ends["lastUpdateTimestamp"] > 0:
                known = stored(args["topic"], whole_number(queue), ends["maxOffset"] - 1)
                ends["lastUpdateTimestamp"] = told.get("lastUpdateTimestamp") if known is None else known
            yield from comparison.values(f"queue {queue}", {name: told.get(name) for name in ends}, ends)
        if "places" in found:
            known_ = [theirs[at].physical_offset if at in theirs else None for at in found["places"]]
            if None not in known_ and recorded.get("places") != known_:
                yield FieldDifference("records", recorded.get("places"), known_)

    def _searched(self, args: Mapping[str, Any], stored_at: StoredAt, told: object) -> object:
        """The offset for a time of the target's, as the target has stored the messages of the queue; what was `told` where that of one of
        them is not known."""
        queue = self.store.queues.find(args["topic"], args["queue"])
        if queue is None:
            return 0
        if any(stored_at(offset) is None for offset in range(queue.min_offset, queue.max_offset)):
            return told
        bounds = self.followed.profile.bounds_by_time
        return offset_at(queue, stored_at, args["time"], bounds=bounds, upper=bool(args.get("upper")))

    def _found(
        self, fields: Mapping[str, str], there: Iterable[int], answer: Mapping[str, Any], late: Collection[int] = ()
    ) -> Iterator[FieldDifference]:
        """Whether an answer has the records that it should have under a key; `there`: the places here of all that are under it."""
        theirs = {ours.physical_offset: (place, message) for place, (message, ours) in self.pairs.items() if ours is not None}
        wanted, size = keys.sought(fields), whole_number(answer.get("bodySize", 0))
        known = [theirs.get(place) for place in there]
        if wanted is None or None in known or size > KEPT or not self.names.is_mine(fields["topic"]):
            return
        rows = dict(one for one in known if one is not None)
        stored = {place: message.store_timestamp for place, message in rows.items()}
        places_ = [one[0] for one in known if one is not None]
        yield from keys.differences(wanted, places_, stored, answer.get("fields") or {}, answer["places"], late=late)


def _told(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What is compared of a broker's entry for a topic: what every release tells of one, and attributes, which some tell."""
    return None if row is None else {key: row.get(key) for key in (_ATTRIBUTES, *sorted(_TOPIC))}


def _asked(look: Mapping[str, Any]) -> str:
    """A question in words."""
    said = [f"{name} {value}" for name, value in look["args"].items() if name != "topic"]
    return " ".join([str(look["name"]), "of", str(look["args"].get("topic", "a group")), *said])


def _meant_for(message: Message, queue: str) -> dict[str, Any]:
    """The properties of a message that waits, with another queue that was drawn for it."""
    if REAL_QID not in message.properties:
        return {}
    items = (message.properties_text or "").split(PROPERTY_END)
    text = (f"{REAL_QID}{NAME_END}{queue}" if one.startswith(REAL_QID + NAME_END) else one for one in items)
    return {"props": {**message.properties, REAL_QID: queue}, "propertiesText": PROPERTY_END.join(text)}


def _is_half(message: Message) -> bool:
    """Whether this is a half message, be it one with a delay (HAZ-39), which is stored among those that wait."""
    return HALF_TOPIC in (message.topic, message.properties.get(REAL_TOPIC))


def _born(hosts: dict[Host, Host], found: Message, ours: Message, where: str) -> Iterator[FieldDifference]:
    """Whether messages that came from one address, here, came from one there: `hosts` has what is known of our addresses by now."""
    if not hosts:
        hosts[ours.store_host] = found.store_host
    known = hosts.get(ours.born_host)
    if known is None and found.born_host in hosts.values():
        known = (found.born_host[0], 0)
    if hosts.setdefault(ours.born_host, found.born_host) != found.born_host or known not in (None, found.born_host):
        yield FieldDifference("bornHost", list(found.born_host), list(known or ()), where)
