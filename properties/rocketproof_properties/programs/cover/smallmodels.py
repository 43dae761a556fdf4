"""The small models of single kinds of requests, driven by steps.

Each of these models has an action for each outcome of a request. So an action that a guard refuses is no request of its own. The broker's
services are steps of the model. A path takes them only if a step can wait for them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from rocketproof_impl.store.delay import MAX_LEVEL
from rocketproof_model import Instance
from rocketproof_model.interpreter import State, initial
from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.codes import INVALID_PARAMETER
from rocketproof_protocol.flags import BORN_IPV6, PREPARED, READ, WRITE
from rocketproof_protocol.properties import CLUSTER, DELAY, PGROUP, TRAN_MSG
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from rocketproof_spec import SCOPES, Specification, constants, specify
from rocketproof_spec.bounds import NAME_LIMIT, TEXT_LIMIT
from rocketproof_spec.delays import HALF, Delays
from rocketproof_spec.meeting import Meeting
from rocketproof_spec.part import Part
from rocketproof_spec.registering import Registrations
from rocketproof_spec.sendbacks import Sendbacks
from rocketproof_spec.sizes import OWN, Sizes
from rocketproof_spec.times import Times
from rocketproof_spec.transactions import Transactions

from ..settings import ENDED, READ_ONLY, needs_of
from ..sizes import added_length, item_length, stored_length
from ..vocabulary import Step
from .sending import GROUP, SUBJECT
from .statespace import Choice, NotTaken, OutsideModel, StatedResponse, StepBuilder, Values, encoded

RETRY: Final = f"{RETRY_PREFIX}{GROUP}"
NO_PLACE: Final = 1 << 40
"""A place beyond any log."""
_SUCCESS: Final = StatedResponse("SUCCESS")


class _Columns:
    """The values of a model's variables in a state, by name and indices."""

    def __init__(self, part: Part) -> None:
        self._slots = {variable.name: variable for variable in part.model.variables}

    def __call__(self, state: State, name: str, *at: int) -> Any:
        variable = self._slots[name]
        return variable.type.decode(state[variable.slot(at)])


def _instance(part: Part, profile: str, given: Mapping[str, Any]) -> Instance:
    return part.model.given(**constants(profile, type(part), **given))


def _same(state: State) -> State:
    return state


# Send-backs

_ROUNDS: Final = 5
_RETURNS: Final[Mapping[str, Mapping[str, Any]]] = {
    "given back": {},
    "sent": {"way": "sends"},
    "either": {"way": "either"},
    "unknown group": {"group_known": False, "way": "either"},
    "no retry queues": {"group_queues": 0, "way": "either"},
    "no limit named": {"names_limit": False, "way": "either"},
    "earlier version": {"version": 120, "way": "either"},
    "record not in the log": {"in_log": False},
    "no topic named": {"names_topic": False},
    "prepared": {"prepared": True},
    "unit mode": {"unit_mode": True, "way": "either"},
    "queue lock": {"locked": True, "way": "either"},
    "retry topic not writable": {"existing": 1, "existing_perm": 4, "way": "either"},
    "retry topic not readable": {"existing": 1, "existing_perm": 2},
    "retry topic with two queues": {"existing": 2, "way": "either"},
    "no retries": {"group_limit": 0, "limit": 0, "way": "either"},
    "changed group": {"change_budget": 1},
    READ_ONLY: {"writable": False, "way": "either"},
}
"""The conditions of a returned message: the part's name, and constants."""


def sendbacks(profile: str) -> Iterator[OutsideModel]:
    """Yield the parts about returned messages. A message of a later round is a new message with the same count of retries."""
    part = Sendbacks("backs", _ROUNDS)
    for name, given in _RETURNS.items():
        yield _returned(part, _instance(part, profile, given), name)


def _returned(part: Sendbacks, instance: Instance, name: str) -> OutsideModel:
    value, c = _Columns(part), instance.readable()
    most = c["limit"] if c["names_limit"] else None

    def group(queues: int) -> Step:
        return "group", {"group": GROUP, "queues": queues, "retries": c["group_limit"]}

    def back(values: Values, state: State) -> Sequence[Step]:
        del state
        step: dict[str, Any] = {"record": -1, "group": GROUP, "level": values.get("level", 0), "version": c["version"]}
        step |= {"most": most, "unit": c["unit_mode"], "named": c["names_topic"]}
        return [("back", step if c["in_log"] else step | {"offset": NO_PLACE})]

    def send(values: Values, state: State) -> Sequence[Step]:
        times = value(state, "message.times")
        step: dict[str, Any] = {"topic": RETRY, "queue": values.get("q", 0), "nums": 2, "times": times + 1, "version": c["version"]}
        return [("send", step | {"properties": {DELAY: str(3 + times)}, "most": most, "unit": c["unit_mode"]})]

    def look(values: Values, state: State) -> Sequence[Step]:
        del values
        return [("send", {"topic": SUBJECT, "times": value(state, "message.times")})]

    def change(values: Values, state: State) -> Sequence[Step]:
        del state
        return [group(values["queues"])]

    def response(choice: Choice, states: Sequence[State]) -> StatedResponse:
        if choice.action in ("look", "change_group"):
            return _SUCCESS
        return StatedResponse(value(states[1], "last.answer"))

    prelude: list[Step] = []
    if c["group_known"]:
        prelude.append(group(c["group_queues"]))
    if c["locked"]:
        prelude.append(("lock", {"group": GROUP}))
    if c["existing"]:
        prelude.append(("topic", {"topic": RETRY, "read": c["existing"], "write": c["existing"], "perm": c["existing_perm"]}))
    prelude.append(("send", {"topic": SUBJECT} | ({"sys_flag": PREPARED} if c["prepared"] else {})))
    steps: dict[str, StepBuilder] = {a.name: back for a in part.model.actions if a.name.startswith("back_")}
    steps |= {a.name: send for a in part.model.actions if a.name.startswith("send_")}
    return OutsideModel(
        "backs", name, instance, steps | {"look": look, "change_group": change}, _same, response, _first_queue,
        unseen={"deliver": NotTaken.EMULATED, "register": NotTaken.HIDDEN}, emulated=frozenset({"look"}),
        observe=(("stats", {"topic": RETRY}),),
        prelude=tuple(prelude), needs=name if name == READ_ONLY else "", longest=12,
    )  # fmt: skip


def _first_queue(action: str, values: Values) -> bool:
    """The broker draws the queue of a message that is given back; the choice counts as one transition."""
    return not (action.startswith("back_") and values.get("q"))


# Delays

_FIRST_LEVEL: Final = 2500  # milliseconds that a step waits for the first level's delay of 1 s
_FAULTS: Final = dict.fromkeys(("set_clock_back", "end", "start", "fail"), NotTaken.FAULT)
_SERVICES: Final = dict.fromkeys(("persist", "flush"), NotTaken.TIMER)


def delays(profile: str) -> Iterator[OutsideModel]:
    """Yield the last level, which nothing leaves, and the first level with its deliveries."""
    part = Delays("delays")
    value = _Columns(part)
    instance = _instance(part, profile, {"transactional": PROFILES[profile].half_messages})

    def send(level_of: Callable[[int], int], values: Values, state: State) -> Sequence[Step] | NotTaken:
        del state
        level = level_of(values["level"])
        if level > MAX_LEVEL + 1 or level < 1:
            return NotTaken.NO_STEP
        half = values["asked"] == HALF
        properties = {DELAY: str(level)} | ({TRAN_MSG: "true", PGROUP: "producers"} if half else {})
        return [("send", {"topic": SUBJECT, "queue": max(values["asked"], 0), "properties": properties})]

    def elapse(values: Values, state: State) -> Sequence[Step] | NotTaken:
        """Entries that were sent at once are due at once."""
        del values
        length, come = value(state, "queue.length"), value(state, "queue.come")
        if length - come > 1:
            return NotTaken.RACE
        queue = value(state, "entry.asked", come)
        return [("time", {"millis": _FIRST_LEVEL}), ("pull", {"topic": SUBJECT, "queue": max(queue, 0)})]

    def response(choice: Choice, states: Sequence[State]) -> StatedResponse:
        if choice.action == "send":
            return _SUCCESS
        queue = value(states[0], "entry.asked", value(states[0], "queue.come"))
        return StatedResponse("SUCCESS", at=1) if queue != HALF else StatedResponse(at=1)

    def last(level: int) -> int:
        return MAX_LEVEL - part.levels + level

    def first(level: int) -> int:
        return 1 if level == part.levels else 0

    yield OutsideModel(
        "delays", "last level", instance, {"send": partial(send, last)}, _same, response,
        left_out={**_FAULTS, **_SERVICES, "elapse": NotTaken.EMULATED},
    )  # fmt: skip
    yield OutsideModel(
        "delays", "first level", instance, {"send": partial(send, first), "elapse": elapse}, _same, response,
        _undelayed_half, left_out={**_FAULTS, **_SERVICES}, prelude=(("topic", {"topic": SUBJECT, "read": 2, "write": 2}),),
    )  # fmt: skip


def _undelayed_half(action: str, values: Values) -> bool:
    return action != "send" or values["asked"] != HALF


# Transactions

_REJECTING: Final = "no transactional messages"
_CHECK: Final[Mapping[str, NotTaken]] = dict.fromkeys(("pass_over", "ask", "give_up", "write_operations"), NotTaken.TIMER)


def transactions(profile: str) -> Iterator[OutsideModel]:
    """Yield the gate, the half message and its end, on a broker that accepts transactional messages and on one that rejects them."""
    part = Transactions("transactions", checks=1, copies=2)
    for needs in ("", _REJECTING):
        instance = _instance(part, profile, {"rejects": bool(needs)})
        yield OutsideModel(
            "transactions", needs or "accepted", instance, _transactional(""), _same, _of_gate, left_out=_CHECK, needs=needs
        )  # fmt: skip


def meeting(profile: str) -> Iterator[OutsideModel]:
    """Yield half messages with a delay level. The check and the delivery are too late for a program."""
    part = Meeting("meeting", checks=1, copies=2)
    instance = _instance(part, profile, {"may_delay": True} if "may_delay" in part.model.constants else {"half_may_delay": True})
    internal = {f"half_{name}": reason for name, reason in _CHECK.items()} | {"retry": NotTaken.TIMER, "delay_deliver": NotTaken.TIMER}
    internal |= {f"delay_{name}": reason for name, reason in {**_FAULTS, **_SERVICES, "elapse": NotTaken.TIMER}.items()}
    yield OutsideModel("meeting", "", instance, _transactional("half_"), _same, _of_gate, left_out=internal)


def _transactional(prefix: str) -> dict[str, StepBuilder]:
    def put(sys_flag: int, values: Values, state: State) -> Sequence[Step]:
        del state
        properties = {PGROUP: "producers"} | ({} if values["tran"] == "absent" else {TRAN_MSG: values["tran"]})
        properties |= {DELAY: str(MAX_LEVEL)} if values.get("delayed") else {}
        return [("send", {"topic": SUBJECT, "sys_flag": sys_flag, "properties": properties})]

    def other(values: Values, state: State) -> Sequence[Step]:
        del values, state
        return [("send", {"topic": SUBJECT, "body": "other"})]

    def end(commit: bool, values: Values, state: State) -> Sequence[Step]:
        del values, state
        return [("end", {"record": -1, "commit": commit, "one_way": False}), ("pull", {"topic": SUBJECT})]

    steps: dict[str, StepBuilder] = {
        "put_other": other,
        "refuse": partial(put, PREPARED),
        "put_half": partial(put, PREPARED),
        "put_own": partial(put, 0),
        "put_prepared": partial(put, PREPARED),
        "commit": partial(end, True),
        "roll_back": partial(end, False),
    }
    return {prefix + name: step for name, step in steps.items()}


def _of_gate(choice: Choice, states: Sequence[State]) -> StatedResponse:
    del states
    return StatedResponse("NO_PERMISSION") if choice.action.endswith("refuse") else _SUCCESS


# Sizes

_LIMIT: Final = 65_536
"""maxMessageSize of the brokers, which leaves room for properties of the maximum length."""
_SIZED: Final = needs_of({"maxMessageSize": str(_LIMIT)})
_LONGEST_NAME: Final = {"fits": "n" * NAME_LIMIT, "more bytes": "n" * (NAME_LIMIT - 1) + "é", "more characters": "n" * (NAME_LIMIT + 1)}


def sizes(profile: str) -> Iterator[OutsideModel]:
    """Yield requests whose records can be read again, and those that leave a record that ends the log for readers."""
    part = Sizes("sizes")
    value, known = _Columns(part), PROFILES[profile]
    instance = _instance(part, profile, {})
    start = initial(instance)

    def response(choice: Choice, states: Sequence[State]) -> StatedResponse:
        del choice
        words = [value(state, "job.answer") for state in states]
        return StatedResponse(_code(next(word for word in reversed(words) if word != "none"), known))

    def build(values: Values, state: State) -> Sequence[Step]:
        del state
        return [_sized(known, **values)]

    whole = OutsideModel(
        "sizes", "", instance, {"request": build}, lambda state: start, response,
        left_out={"end": NotTaken.FAULT, "start": NotTaken.FAULT}, prelude=(("send", {"topic": SUBJECT}),), needs=_SIZED, longest=12,
    )  # fmt: skip

    def leaves_readable(readable: bool, action: str, values: Values) -> bool:
        choice = Choice(action, encoded(whole.action(action), values), "")
        if whole.functions[action].refusing(start, *choice.args) >= 0:
            return False
        states, _ = whole.taken(start, choice)
        kinds = {value(state, "log", place) for state in states for place in part.Place.codes()}
        return readable == kinds.isdisjoint({"unreadable", "unequal"})

    for name, readable, needs, longest in (("readable", True, _SIZED, 12), ("unreadable", False, ENDED, 1)):
        yield OutsideModel(
            "sizes", name, instance, {"request": build}, lambda state: start, response, partial(leaves_readable, readable),
            left_out=whole.left_out, unseen=dict.fromkeys(("dispatch", "skip", "overshoot"), NotTaken.HIDDEN), prelude=whole.prelude,
            needs=needs, longest=longest,
        )  # fmt: skip


def _code(word: str, profile: Profile) -> str:
    illegal = "INVALID_PARAMETER" if profile.illegal_code == INVALID_PARAMETER else "SYSTEM_ERROR"
    words = {"stored": "SUCCESS", "stored otherwise": "SUCCESS", "illegal name": illegal, "illegal group": "SUBSCRIPTION_GROUP_NOT_EXIST"}
    return words.get(word, word)


def _sized(profile: Profile, *, kind: str, topic: str, text: str, body: str, longer: bool) -> Step:
    """Return the request with these sizes. A body "fits" if its record does; the others are measured alone."""
    name = _LONGEST_NAME[topic]
    if kind == "send-back":
        bare = len(DLQ_PREFIX)
        end = bare + profile.group_limit if topic == "fits" else None
        return "back", {"record": -1, "group": name[bare:end], "level": -1}
    batch = kind == "batch"
    stored = item_length(b"k\1v", added_length("", profile)) if batch else stored_length({"k": "v"}, profile)
    own = stored - len("k\1v")
    free = TEXT_LIMIT - own - len("k\1")
    properties = {
        "fits": {"k": "v" * free},
        "odd": {"k": "v" * (free - 100), CLUSTER: "mine", "none": ""},
        "near": {"k": "v" * (min(free, free + own - OWN) + 1)},
        "more bytes": {"k": "é" * (own + 1) + "v" * (free - own - 1)},
        "more characters": {"k": "v" * TEXT_LIMIT},
    }[text]
    flag = {"sys_flag": BORN_IPV6} if longer else {}
    most = {"fits": 100, "limit": _LIMIT, "more": _LIMIT + 1}[body]
    if not batch:
        return "send", {"topic": name, "size": most, "properties": properties, **flag}
    around = 2 * 22 + len("k\1") + len(properties["k"].encode())
    first = max(most - around - 10, 10)
    return "send", {"topic": name, "items": [["b" * first, {}], ["b" * 10, properties]], **flag}


# Registrations

BROKER: Final = "broker-x"
_ROUTES: Final[tuple[Step, ...]] = (("route", {"topic": "A", "again": False}), ("route", {"topic": "B", "again": False}))


def registrations(profile: str) -> Iterator[OutsideModel]:
    """Yield the registrations of a fictitious broker, whose changes are the client's own."""
    part = Registrations("registrations")
    value = _Columns(part)
    instance = _instance(part, profile, {"wipe": True})
    c = instance.readable()

    def table(contents: Mapping[str, str]) -> dict[str, tuple[int, int, int]]:
        return {topic: (4, 4, READ | WRITE) for topic, content in contents.items() if content != "none"}

    def whole(state: State) -> dict[str, str]:
        return {name: value(state, "config", t) for t, name in enumerate("AB")}

    def register(values: Values, state: State) -> Sequence[Step]:
        sender = values["s"]
        alone = c["registers_created_alone"] if sender == 0 else c["registers_updated_alone"]
        row = {"AB"[value(state, "wanted.topic", sender)]: value(state, "wanted.content", sender)}
        return [_registration(table(row if alone else whole(state)), value(state, "version")), *_ROUTES]

    def timer(values: Values, state: State) -> Sequence[Step]:
        del values
        return [_registration(table(whole(state)), value(state, "version")), *_ROUTES]

    def wipe(values: Values, state: State) -> Sequence[Step]:
        del values, state
        return [("permit_writes", {"name": BROKER}), *_ROUTES]

    def alone(values: Values, state: State) -> Sequence[Step] | NotTaken:
        del state
        return NotTaken.NO_STEP if values.get("unit") else ()

    steps: dict[str, StepBuilder] = {
        "create": alone, "update": alone, "delete": alone, "apply_order": alone, "register": register, "register_timer": timer,
        "wipe": wipe, "set_flag": lambda values, state: NotTaken.NO_STEP,
    }  # fmt: skip
    yield OutsideModel(
        "registrations", "", instance, steps, _same, lambda choice, states: StatedResponse(),
        left_out={"lose": NotTaken.FAULT, "restart": NotTaken.FAULT}, prelude=(_registration({}, 0),), longest=20,
    )  # fmt: skip


def _registration(topics: Mapping[str, tuple[int, int, int]], version: int) -> Step:
    return "register", {"name": BROKER, "topics": dict(topics), "version": version}


# Routes that an administrator sets


def told(profile: str) -> Iterator[OutsideModel]:
    """Yield the routes that an administrator sets for a fictitious broker, which the name server knows."""
    specification = specify(SCOPES["told"])
    instance = specification.model.given(**constants(profile, Specification, sends=0))
    start = initial(instance)
    kept = frozenset(v.slot(at) for v in specification.model.variables if v.name.startswith("route.") for at in v.elements())

    def normal(state: State) -> State:
        return tuple(code if slot in kept else start[slot] for slot, code in enumerate(state))

    def register(values: Values, state: State) -> Sequence[Step] | NotTaken:
        del state
        if not PROFILES[profile].takes_topics:
            return NotTaken.ABSENT
        row = values["read"], values["write"], values["perm"]
        mine, stranger = {BROKER: row}, {"stranger": row}
        brokers = {"none": mine, "before": stranger | mine, "behind": mine | stranger}[values["strangers"]]
        return [("register_topic", {"topic": SUBJECT, "brokers": brokers}), _ROUTES[0]]

    def forget(values: Values, state: State) -> Sequence[Step]:
        del values, state
        return [("forget_topic", {"topic": SUBJECT}), _ROUTES[0]]

    steps: dict[str, StepBuilder] = {"register_topic": register, "forget_topic": forget, "request": lambda values, state: NotTaken.OWN}
    ordinary = specification.scope.named("ordinary")[0]
    yield OutsideModel(
        "told", "", instance, steps, normal, lambda choice, states: StatedResponse(), lambda action, values: values["t"] == ordinary,
        lambda choice: StatedResponse(), dict.fromkeys(("lose_registration", "lock_timeout"), NotTaken.FAULT),
        prelude=(_registration({}, 0),),
    )  # fmt: skip


# Offsets by time

_MOMENT: Final = 20  # milliseconds of a wait, so that store times differ by more than the few that separate a time from a neighbour
_ARRIVAL: Final = 3000  # milliseconds that a broker may hold the pull of a message that is not in its queue yet


def times(profile: str) -> Iterator[OutsideModel]:
    """Yield the searches by time: before, at, between and after the store times of a queue.

    Any moment is queried, also the present and later ones: an offset depends only on what is stored. The scope's condition that only past
    moments are queried is for claims about messages that are stored after a query.
    """
    part = Times("times")
    value = _Columns(part)
    instance = _instance(part, profile, {"past": False})
    start = initial(instance)
    kept = frozenset(v.slot(at) for v in part.model.variables if v.name in ("now", "records", "stored") for at in v.elements())

    def normal(state: State) -> State:
        return tuple(code if slot in kept else start[slot] for slot, code in enumerate(state))

    def stored(state: State) -> list[int]:
        return sorted({value(state, "stored", offset) for offset in range(value(state, "records"))})

    def append(values: Values, state: State) -> Sequence[Step] | NotTaken:
        if value(state, "now") in stored(state):
            return NotTaken.SAME_TIME
        count = values["messages"]
        items = {"items": [[f"message {number}", {}] for number in range(count)]} if count > 1 else {}
        first = value(state, "records")
        return [("send", {"topic": SUBJECT, **items}), ("pull", {"topic": SUBJECT, "offset": first, "most": 1, "hold": _ARRIVAL})]

    def tick(values: Values, state: State) -> Sequence[Step]:
        del values, state
        return [("time", {"millis": _MOMENT})]

    def look_up(values: Values, state: State) -> Sequence[Step]:
        return [("search", {"topic": SUBJECT, "upper": values["above"], **_time_of(values["time"], stored(state))})]

    def response(choice: Choice, states: Sequence[State]) -> StatedResponse:
        if choice.action == "look_up":
            return StatedResponse("SUCCESS", offset=value(states[1], "told"))
        return StatedResponse(silent=True) if choice.action == "tick" else _SUCCESS

    yield OutsideModel(
        "times", "", instance, {"append": append, "tick": tick, "look_up": look_up}, normal, response,
        prelude=(("topic", {"topic": SUBJECT, "read": 1, "write": 1}),),
    )  # fmt: skip


def _time_of(moment: int, stored: Sequence[int]) -> dict[str, Any]:
    """Return the arguments of a search for a moment of the model. `stored`: the moments at which messages were stored, each once.

    One message of each moment was pulled, so that its index is that of its moment. A moment between two of them is as near to them in
    milliseconds as in the model: nearer to the first, nearer to the second, or in the middle.
    """
    if not stored:
        return {"time": moment}
    if moment in stored:
        return {"record": stored.index(moment)}
    after = bisect_left(stored, moment)
    if after in (0, len(stored)):
        end = max(after - 1, 0)
        return {"record": end, "plus": moment - stored[end]}
    before, to_first, to_second = after - 1, moment - stored[after - 1], stored[after] - moment
    if to_first == to_second:
        return {"record": (before, after)}
    return {"record": before, "plus": 1} if to_first < to_second else {"record": after, "plus": -1}


DRIVEN: Final[Mapping[str, Callable[[str], Iterator[OutsideModel]]]] = {
    "backs": sendbacks,
    "delays": delays,
    "transactions": transactions,
    "meeting": meeting,
    "sizes": sizes,
    "times": times,
    "registrations": registrations,
    "told": told,
}
