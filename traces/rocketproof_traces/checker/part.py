"""One part of a history before the specification: which requests there are, whether an order of their steps explains the answers, and if
none does, which answer is the first that nothing explains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from rocketproof_model.functions import Function
from rocketproof_profiles import NameClass, Profile, classify, java_length
from rocketproof_protocol.codes import SEND_MESSAGE, SUCCESS, SYSTEM_ERROR
from rocketproof_protocol.numbers import java_boolean, java_int, whole_number
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE, WHEEL_TIMER_TOPIC
from rocketproof_spec import placement
from rocketproof_spec.arithmetic import READ, WRITE
from rocketproof_spec.constructor import system_topics
from rocketproof_spec.remarks import remarked

from ..common.refusal import Refusal
from ..history.cases import COUNTED, KINDS, UNREADABLE, Config
from ..history.exchange import Exchange
from ..history.exchanges import CONFIGURE, CREATION, PERMISSION, SENDS, TELLING
from .administered import Configured, RefusedRequest, TopicDeletion, TopicUpdate
from .ends import told_before
from .left_out import beyond, reason
from .looks import Described, MaxOffsetQuery, OffsetQuery, Routed
from .machine import MOST_QUEUES, Machine, bits
from .parts import HistoryPartition, default_of
from .refusals import refused
from .search import Search
from .sends import Claims, Send, SendResponse, fits_int
from .shape import MachineShape
from .steps import CheckedRequest, ExplanationStep, Local, Point, ResponsePoint, SearchBound, SearchEnd, answers_of
from .unasked import Begun, Cleaned, Outlived, Reduced
from .ways import ELSEWHERE, Values, topics_of

LOCK_TIMEOUT = 3_000_000_000  # nanoseconds
NO_BODY = "a message without a body is an error before anything else"
"""SEND-03, in releases that store the region of each message."""
NO_FLAG = "a send with short names that lacks one of its flags is an error before anything else"
"""REM-04, in 5.2.0."""
NO_WHEEL = "TimerMessageStore"
"""What an error tells of a broker that counts a topic's timers and has none (TCM-31)."""
LEVELS = 18
Make = Callable[[MachineShape], Machine]


@dataclass(frozen=True)
class UnexplainedEvent:
    """The first event of a part that no state explains. `prefix` are the numbers of the part's events that are explained,

    `steps` is one order of steps that explains them, `state` what the broker then holds.
    """

    part: str
    seq: int
    process: str
    op: str
    recorded: str
    refused: Refusal
    prefix: tuple[int, ...]
    steps: tuple[str, ...]
    state: Mapping[str, Any]
    order: tuple[int, ...] = ()
    """The requests of that order, by the events that began them, each where it makes its last step."""

    def __str__(self) -> str:
        return f"event {self.seq} ({self.op} of {self.process}; {self.part}): recorded {self.recorded}; {self.refused}"

    def data(self) -> dict[str, Any]:
        shown = {name: value for name, value in vars(self).items() if name != "order"}
        return {**shown, "refused": self.refused.data(), "prefix": list(self.prefix), "steps": list(self.steps)}


class Located(NamedTuple):
    """A finding, the states expanded to find its event, and what a bound left open about it."""

    finding: UnexplainedEvent
    expanded: int
    unknown: str = ""


class _Kept(NamedTuple):
    """A search and the requests that it is about."""

    searched: SearchEnd
    answers: list[ResponsePoint]
    requests: list[CheckedRequest]
    made: list[Exchange | None]


def last_of(part: HistoryPartition, upto: int | None = None) -> int:
    """The last event of a part that counts, of those up to an event."""
    return min(x for x in (upto, None if part.cut is None else part.cut - 1, 1 << 62) if x is not None)


class ClaimedOffsets(NamedTuple):
    """The places in a topic's own queue that the answer to a send names: `messages` of them from `offset` on."""

    closed: int
    topic: int
    queue: int
    offset: int
    messages: int


@dataclass
class PartChecker:
    """A part and the machine that it is judged with. `reasons` has for each operation why it is not judged if it is answered."""

    part: HistoryPartition
    profile: Profile
    cluster: str
    make: Make
    auto_create: bool = True
    permission: int = 6
    machine: Machine = field(init=False)
    initial: Mapping[str, Config] = field(init=False)
    topics: dict[str, int] = field(init=False)
    reasons: list[str] = field(init=False)

    def __post_init__(self) -> None:
        part = self.part
        self.initial = self._initial()
        self.placed = self._is_placed()
        more = [topic for one in part.asked for topic in topics_of(one)] if self.placed else []
        self.topics = {name: k for k, name in enumerate(dict.fromkeys([self.profile.template, *self._names(), *more]))}
        self.reasons = [self._reason(one) for one in part.asked]
        queues = [*self._queues(), *([LEVELS - 1] if self.placed else [])]
        most = max([q for q in queues if 0 <= q < MOST_QUEUES], default=0) + 1
        classes: tuple[NameClass, ...] = tuple(self._class(name) for name in self.topics)
        self.machine = self.make(
            MachineShape(
                self.profile.name,
                classes,
                1 << (most * (2 if self.profile.keeps_sign else 1) - 1).bit_length(),  # those below 0 have counters, too
                alone=part.alone,
                auto_create=self.auto_create,
                readable=bool(self.permission & 4),
                writable=bool(self.permission & 2),
                routes=self._knows_routes,
                placed=self.placed,
                progress=1 << (len(self._places) - 1).bit_length() if self._places else 0,  # few shapes for many parts
                deletes=bool(self._deletions),
                configures=self._configures,
                tells=self._knows_routes and any(one.op in TELLING for one in part.asked),
                slave=self._slave,
            )
        )

    def _initial(self) -> Mapping[str, Config]:
        """The topics before the first event."""
        if not self.part.new:
            return self.part.initial
        profile = self.profile
        system = system_topics(
            self.cluster,
            self.part.broker,
            profile.template,
            auto_create=self.auto_create,
            all_=profile.all_system_topics,
            schedule=profile.schedule_topic,
            more=profile.more_system_topics,
        )
        return {name: Config(n, n, perm, False) for name, (n, perm) in system.items()}

    def _names(self) -> list[str]:
        """The topics that the part's requests may be about."""
        return [*sorted({default_of(o.fields) for o in self.part.asked if o.op in SENDS}), *self.part.topics]

    def _is_placed(self) -> bool:
        """Whether the part is judged with the steps between the checks and the store."""
        return False

    @property
    def _knows_routes(self) -> bool:
        return False

    @cached_property
    def _slave(self) -> bool:
        return False

    @cached_property
    def _places(self) -> Mapping[tuple[str, int], int]:
        """The places of which groups tell their offsets, each with its number."""
        return {}

    @cached_property
    def _configures(self) -> bool:
        return any(one.op == CONFIGURE for one in self.part.asked)

    @cached_property
    def _deletions(self) -> list[Exchange]:
        return [one for one in self.part.asked if one.op == "delete_topic"]

    def _reason(self, one: Exchange) -> str:
        return self._ended_anew(one) or reason(one, self.profile)

    def _ended_anew(self, one: Exchange) -> str:
        """Why nobody knows how far a queue may be: it may have begun anew, and entries of before may follow."""
        if one.op != "max_offset" or one.end is None or not self._deletions or one.end <= self._deletions[0].seq:
            return ""
        return "the ends of queues after a deletion"

    def _queues(self) -> list[int]:
        """The queues that the part's requests may be about."""
        part = self.part
        asked = [one.number("queueId") for one in part.asked]
        queues = asked + [one.answered("queueId") or 0 for one in part.asked]
        if any(queue < 0 and one.op in SENDS for queue, one in zip(asked, part.asked, strict=True)):
            queues += [config.write - 1 for config in self._configs()]
        return queues

    def _configs(self) -> list[Config]:
        wide = [Config(8, 8, 6, False)]
        return wide + [self.initial[t] for t in self.part.topics if t in self.initial and self.initial[t].write <= 1024]

    def _class(self, name: str) -> NameClass:
        if name in (self.cluster, self.part.broker):
            return "cluster"
        found: NameClass = classify(name, self.profile)
        if found == "ordinary" and not self.profile.check_names and java_length(name) > self.profile.longest(name):
            found = "long"  # STO-01: only the store refuses it
        return found

    # Searching

    def search(self, upto: int | None, bound: SearchBound, tick: Callable[[int], None] = lambda _: None) -> SearchEnd:
        """Explain the answers up to an event; later ones are not known then."""
        last = last_of(self.part, upto)
        return self._searching(self._opened(last), bound, tick).run([Point(self._start(last))])

    def _opened(self, last: int) -> list[tuple[int, int, int | None]]:
        """The requests up to an event: from which event on, their numbers, and the event at which they have ended."""
        asked = [
            (one, why, one.end if one.end is not None and one.end <= last and not why else None)
            for one, why in zip(self.part.asked, self.reasons, strict=True)
            if one.seq <= last
        ]
        own = [one for one in self._own_records() if one[0] <= last]
        claims = self._claims(last) if own or any(end is None for _, _, end in asked) else frozenset()
        self.requests: list[CheckedRequest] = []
        self.made: list[Exchange | None] = []
        opened = self._after_deletions(last)
        for one, why, end in asked:
            request = self._request(one, why, known=end is not None, claims=claims)
            if request is not None:
                opened.append((one.seq, self._add(request, one), end))
        for since, topic, queue in own:
            opened.append((since, self._add(self._own(topic, queue, claims), None), None))
        if not self.part.alone and not (self.auto_create and not self._configures):
            opened.append((-1, self._add(Reduced(self.machine), None), None))
        for seq, topic, config in self._statements(last):
            opened.append((seq, self._add(Described(self.machine, self.topics[topic], config), None), seq))
        return opened

    def _after_deletions(self, last: int) -> list[tuple[int, int, int | None]]:
        """What becomes of queues whose topics are deleted, as `_opened` has it."""
        deleted = [one for one in self._deletions if one.seq <= last]
        if not deleted:
            return []
        topics = {self.topics[one.topic] for one in deleted}
        queues = {(claim.topic, claim.queue) for claim in self._named if claim.topic in topics or self.part.recorded}
        since, found = deleted[0].seq, list[tuple[int, int, int | None]]()
        if not self.part.recorded:
            found.append((since, self._add(Cleaned(self.machine, tuple(sorted(topics))), None), None))
        for topic, queue in sorted(queues):
            if queue in self.machine.queues:
                found.append((since, self._add(Outlived(self.machine, topic, queue), None), None))
        for (topic, queue), offsets in sorted(self._told(last).items()):
            found.append((-1, self._add(Begun(self.machine, topic, queue, tuple(sorted(offsets))), None), None))
        return found

    def _told(self, last: int) -> dict[tuple[int, int], set[int]]:
        """The offsets that answers up to an event tell of queues that were there before the first event."""
        empty = {topic for name, topic in self.topics.items() if self._begins_empty(name)}
        found: dict[tuple[int, int], set[int]] = {}
        for claim in self._named:
            if claim.closed <= last:
                found.setdefault((claim.topic, claim.queue), set()).add(claim.offset)
        for one, why in zip(self.part.asked, self.reasons, strict=True):
            offset = one.answered("offset") if one.op == "max_offset" and not why else None
            if offset is not None and one.end is not None and one.end <= last:
                found.setdefault((self.topics[one.topic], one.number("queueId")), set()).add(offset)
        queues = self.machine.queues
        return {key: offsets - {0} for key, offsets in found.items() if key[1] in queues and key[0] not in empty and offsets - {0}}

    def _own_records(self) -> Iterable[tuple[int, str, int]]:
        """The places in which the broker may store a record by itself: from which event on, topic and queue; -1 is any queue."""
        return self.part.own

    def _searching(self, opened: Sequence[tuple[int, int, int | None]], bound: SearchBound, tick: Callable[[int], None]) -> Search:
        self.answers = answers_of(opened)
        again = self.machine.looks_again
        giving_up = frozenset(k for k, one in enumerate(self.requests) if isinstance(one, Send) and (one.giving_up or not again))
        deciding = bits(self.machine.deciding - {self.machine.first["lock"]}) | self.machine.outlived_slots
        return Search(
            self.requests,
            self.answers,
            self.machine.control,
            bound,
            tick,
            lock=self.machine.first["lock"],
            giving_up=giving_up,
            watched=self.part.alone or not again,
            private=self.machine.private,
            deciding=deciding,
            looks_ahead=not self.part.recorded,  # one client: it costs more than it saves
        )

    def _add(self, request: CheckedRequest, one: Exchange | None) -> int:
        self.requests.append(request)
        self.made.append(one)
        return len(self.requests) - 1

    def _statements(self, last: int) -> list[tuple[int, str, Config | None]]:
        topics = [topic for topic in self.part.topics if topic not in (HALF_TOPIC, OP_HALF_TOPIC)]  # which the check makes
        return [(s.seq, topic, s.topics.get(topic)) for s in self.part.snapshots if s.seq <= last for topic in topics]

    def _claims(self, last: int) -> Claims:
        if self._deletions:
            return frozenset()  # an offset that an answer names may be given twice
        named = [one for one in self._named if one.closed <= last]
        return frozenset((one.topic, one.queue, one.offset + k) for one in named for k in range(one.messages))

    @cached_property
    def _named(self) -> list[ClaimedOffsets]:
        """The places that answers name, but for those to messages that are stored elsewhere or count nowhere."""
        found = []
        last = last_of(self.part)
        for one, why in zip(self.part.asked, self.reasons, strict=True):
            if one.op in SENDS and not why and one.end is not None and one.end <= last and self._kind(one) in COUNTED:
                queue, offset = one.answered("queueId"), one.answered("queueOffset")
                if queue is not None and offset is not None:
                    found.append(ClaimedOffsets(one.end, self.topics[one.topic], queue, offset, one.messages or 0))
        return found

    @cached_property
    def _reached(self) -> dict[int, int]:
        return told_before([one for one, why in zip(self.part.asked, self.reasons, strict=True) if one.op == "max_offset" and not why])

    @staticmethod
    def _kind(one: Exchange) -> str:
        return KINDS[one.number("sysFlag") & 12]

    def _request(self, one: Exchange, why: str, *, known: bool, claims: Claims) -> CheckedRequest | None:
        """The operation as a request; None if it changes and shows nothing."""
        if one.op == CONFIGURE:
            return Configured(self.machine, tuple(self._changes(one)), one.code if known else None)
        topic = self.topics[one.topic]
        if one.op in SENDS:
            return self._send(one, topic, why, known=known, claims=claims)
        if one.op == "update_topic":
            wanted = Config(one.number("readQueueNums"), one.number("writeQueueNums"), one.number("perm"), False)
            if not fits_int(wanted.read, wanted.write) or min(wanted.read, wanted.write) < 0 or not 0 <= wanted.perm <= 15:
                return None
            return TopicUpdate(self.machine, topic, wanted, one.code if known else None, self._illegal_code)
        if one.op == "delete_topic":
            return TopicDeletion(self.machine, topic, self._deleted_code(one) if known else None, self._illegal_code)
        if not known:
            return None
        if one.op == "topic_config":
            return Described(self.machine, topic, one.config())
        return MaxOffsetQuery(self.machine, topic, one.number("queueId"), one.answered("offset") or 0, self._reached.get(one.seq, 0))

    def _changes(self, one: Exchange) -> Iterator[tuple[Function, tuple[int, ...]]]:
        """The steps by which settings become others."""
        for name, value in one.settings().items():
            if name == CREATION:
                yield self.machine.configures["switch_creation"], (0, int(java_boolean(value)))
            elif name == PERMISSION:
                bits = java_int(value) or 0
                yield self.machine.configures["permit"], (0, int(bool(bits & READ)), int(bool(bits & WRITE)))

    @property
    def _illegal_code(self) -> int | None:
        """What is answered to whoever names a topic that is none, None if that is not looked at."""
        return self.profile.illegal_code if self.part.recorded else None

    def _deleted_code(self, one: Exchange) -> int | None:
        """The code of the answer to a deletion; a broker without a wheel of timers deletes, and fails behind it."""
        wheelless = self.profile.counts_timers and one.code == SYSTEM_ERROR and NO_WHEEL in one.remark
        return SUCCESS if wheelless else one.code

    def _send(self, one: Exchange, topic: int, why: str, *, known: bool, claims: Claims) -> CheckedRequest | None:
        numbers, queue = one.number("defaultTopicQueueNums"), one.number("queueId")
        if not fits_int(numbers, queue) or one.reason == UNREADABLE:
            return None
        if self.profile.wants_request_body and one.request.get("bodySize") == 0:
            return RefusedRequest(self.machine, SYSTEM_ERROR, NO_BODY, one.code if known else None)
        if self.profile.wants_flags and one.request.get("code") != SEND_MESSAGE and not {"unitMode", "batch"} <= one.fields.keys():
            return RefusedRequest(self.machine, SYSTEM_ERROR, NO_FLAG, one.code if known else None)
        ended = self._ended(one) if known else None
        default = self.topics[default_of(one.fields)]
        start, *others = self._starts(one, why, topic, default, numbers, queue)
        patient = one.took is None or one.took >= LOCK_TIMEOUT
        return Send(
            self.machine,
            start,
            topic,
            numbers,
            one.messages or 0,
            ended,
            claims if ended is None else frozenset(),
            patient,
            self.profile.illegal_code,
            tuple(others),
        )

    def _starts(self, one: Exchange, why: str, topic: int, default: int, numbers: int, queue: int) -> list[Local]:
        """The handlers with which a send may begin. What is stored elsewhere, or refused by a limit, takes no offset here; it may have made
        the topic all the same."""
        elsewhere = (one.reason and beyond(one, self.profile) in ELSEWHERE) or why == "limits of batches"
        return [self.machine.arrived(topic, default, numbers, queue, "prepared" if elsewhere else self._kind(one))]

    def _codes_of_way(self, values: Values) -> dict[str, int]:
        """What the place of a request's record depends on, as codes."""
        topics = {"dead": self.topics.get(values.get("dead", ""), 0), **self._own_topics}
        types = {"step": placement.Step, "flaw": placement.Flaw}
        return {name: types[name].encode(value) if name in types else whole_number(value) for name, value in (values | topics).items()}

    @cached_property
    def _own_topics(self) -> dict[str, int]:
        own = {"halves": HALF_TOPIC, "delayed": SCHEDULE, "wheel": WHEEL_TIMER_TOPIC}
        return {column: self.topics.get(topic, 0) for column, topic in own.items()}

    def _ended(self, one: Exchange) -> SendResponse:
        code = one.code or 0
        actions = remarked(one.remark) if code else frozenset()
        return SendResponse(code, one.answered("queueId"), one.answered("queueOffset"), actions=actions)

    def _own(self, topic: str, queue: int, claims: Claims) -> Send:
        start = self.machine.arrived(self.topics[topic], 0, 0, queue, "not", "append", write=self.machine.shape.queues)
        return Send(self.machine, start, self.topics[topic], 0, claims=claims)

    def _begins_empty(self, _topic: str) -> bool:
        """Whether the topic's queues were certainly empty before the first event."""
        return self.part.fresh

    def _start(self, last: int) -> tuple[int, ...]:
        """The state before the first event; where queues begin that were there before is what the answers up to an event let them."""
        shared = self.machine.start
        for name, topic in self.topics.items():
            shared = self.machine.with_config(shared, topic, self.initial.get(name))
        empty = {topic for name, topic in self.topics.items() if self._begins_empty(name)}
        if len(empty) == len(self.topics) or self._deletions:
            return shared  # where a topic is deleted, `Begun` says where its queues began
        sent: dict[tuple[int, int], int] = {}
        for claim in self._named:
            key = (claim.topic, claim.queue)
            if claim.closed <= last:
                sent[key] = min(sent.get(key, claim.offset), claim.offset)
        reached: dict[tuple[int, int], int] = {}  # what a broker answers about a queue may be behind its records
        for one in self.part.asked:
            offset = one.answered("offset") if one.op == "max_offset" else None
            if offset is not None and one.end is not None and one.end <= last:
                key = (self.topics[one.topic], one.number("queueId"))
                reached[key] = max(reached.get(key, offset), offset)
        queues = self.machine.queues
        begun = {key: offset for key, offset in {**reached, **sent}.items() if key[1] in queues and key[0] not in empty}
        return self.machine.assigned(shared, {self.machine.offset_slot(*key): offset for key, offset in begun.items()})

    # What is not explained

    def bounded_at(self, judged: SearchEnd) -> str:
        """The answer of the last search at which a bound was reached, and what makes it hard."""
        answer = self.answers[judged.end]
        one = self.made[answer.request]
        about = f"{one.op} of {one.process}" if one is not None else f"topics of {self.part.broker}"
        ended = {each.request for each in self.answers}
        lost = sum(one not in ended for one in answer.pending)
        return f"at event {answer.seq} ({about}){f', with {lost} requests open that have no answer' if lost > 1 else ''}"

    def finding(self, judged: SearchEnd, bound: SearchBound) -> Located:
        """Find the first event that no state explains, after a search of the whole part that refused it.

        That search looks ahead and may fail at an earlier answer, so the history is cut at later and later answers. A bound that is reached
        on the way does not change that the part is refused; `Located.unknown` then says what is not known of the event.
        """
        whole = self._kept(judged)
        ends, spent, step = [answer.seq for answer in self.answers], 0, 4
        low, high = judged.end, len(ends) - 1  # the first `low` answers are explained, the first `high` + 1 are not
        explained, refused = whole, None
        while low < high:
            middle = min(low + step, (low + high) // 2) if step else (low + high) // 2
            cut = self._cut(ends[middle], bound)
            spent += cut.searched.expanded
            if cut.searched.bound:
                place = f"between events {ends[low]} and {ends[high]} the first that nothing explains is not known"
                return Located(self._finding_at(whole.answers[low], whole, explained), spent, f"{place}, {cut.searched.bound}")
            if cut.searched.complete:
                low, step, explained = middle + 1, step * 4, cut
            else:
                high, step, refused = middle, 0, cut
        if refused is None:  # up to here the last answer was refused only together with what comes after it
            cut = self._cut(ends[high], bound)
            spent += cut.searched.expanded
            if cut.searched.complete or cut.searched.bound:  # what is open at a cut may explain more than what is known of it later
                return Located(self._finding_at(whole.answers[judged.end], whole, whole), spent)
            refused = cut
        answer = refused.answers[high]
        if refused.searched.end == high:
            return Located(self._finding_at(answer, refused, refused), spent)
        before = self._cut(answer.seq - 1, bound)  # an earlier answer failed by looking ahead: what explains all before this one?
        unknown = (
            f"no order that explains all before event {answer.seq} was found, {before.searched.bound}" if before.searched.bound else ""
        )
        return Located(self._finding_at(answer, refused, before), spent + before.searched.expanded, unknown)

    def _cut(self, upto: int, bound: SearchBound) -> _Kept:
        """Search the part up to an event."""
        return self._kept(self.search(upto, bound))

    def _kept(self, searched: SearchEnd) -> _Kept:
        """Return the result of the last search together with the requests that it is about."""
        return _Kept(searched, self.answers, self.requests, self.made)

    def _finding_at(self, answer: ResponsePoint, of: _Kept, explained: _Kept) -> UnexplainedEvent:
        """The finding that nothing explains an answer of the one search after what the other search explains."""
        asked = of.requests[answer.request], of.made[answer.request]
        searched, self.answers, self.requests, self.made = explained
        return self._finding(answer.seq, *asked, searched)

    def _finding(self, seq: int, request: CheckedRequest, one: Exchange | None, best: SearchEnd) -> UnexplainedEvent:
        """That nothing explains an answer after the explained ones."""
        return UnexplainedEvent(
            part=self.part.name,
            seq=seq,
            process=one.process if one is not None else self.part.broker,
            op=one.op if one is not None else "topics",
            recorded=_recorded(request, one),
            refused=refused(self.machine, request, best.stuck, self._element_names()),
            prefix=tuple(sorted(a.seq for a in self.answers[: best.end])),
            steps=tuple(self._step(s.request, s.label) for s in best.steps),
            state=self._readable(best.stuck[0].shared),
            order=self.order(best.steps),
        )

    def order(self, steps: Sequence[ExplanationStep]) -> tuple[int, ...]:
        """The requests that an explanation of the last search brings to their ends, by the events that began them, in that order."""
        made = ((number, self.made[step.request]) for number, step in enumerate(steps))
        last = {one.seq: number for number, one in made if one is not None and one.op != CONFIGURE}  # that is in every part
        return tuple(sorted(last, key=last.__getitem__))

    def _element_names(self) -> dict[str, list[str]]:
        return {"Topic": list(self.topics), "Broker": [self.part.broker], "Producer": [""]}

    def _step(self, request: int, label: str) -> str:
        one = self.made[request]
        return f"{label} ({f'event {one.seq}, {one.process}' if one is not None else 'the broker'})"

    def _readable(self, shared: tuple[int, ...]) -> dict[str, Any]:
        topics = {}
        for name, topic in self.topics.items():
            config = self.machine.config(shared, topic)
            topics[name] = None if config is None else vars(config)
        counters = {
            f"{name}-{queue}": shared[self.machine.offset_slot(topic, queue)]
            for name, topic in self.topics.items()
            for queue in self.machine.queues
            if shared[self.machine.offset_slot(topic, queue)]
        }
        return {"topics": topics, "offsets": counters}


def _recorded(request: CheckedRequest, one: Exchange | None) -> str:
    if isinstance(request, Send):
        return str(request.ended)
    if isinstance(request, Described):
        return f"topic {request.config or 'unknown'}"
    if isinstance(request, Routed):
        return f"code {request.code}, route {request.config or 'unknown'}"
    if isinstance(request, MaxOffsetQuery):
        return f"offset {request.offset} of queue {request.queue}"
    if isinstance(request, OffsetQuery):
        return f"code {request.code}, offset {'none' if request.offset is None else request.offset}"
    return f"code {one.code if one is not None else None}"


__all__ = ["UnexplainedEvent", "Located", "Make", "PartChecker", "last_of"]
