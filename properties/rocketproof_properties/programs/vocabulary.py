"""The one vocabulary of steps: what a client, an administrator or a fault can ask of a deployment, as data.

A step is a name and its arguments, such as `("send", {"topic": "A", "body": "x"})`; what is left out has its default. Records are named by
their number among those that fit, so that a program means something whatever came before, and any part of it is a program too. `client`
says which client does a step, `broker` to which broker it goes; `("meet", {})` lets all clients wait for each other. Of any request
`without` leaves a field out, and `altered` gives one a text of its own.

`STEPS` says of each name what it means, its arguments, and either the builder of its request or the capability by which a deployment does
it itself. A new kind of step is a row here; runs, generators and shrinking take it from there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from rocketproof_impl.remoting.command import Command
from rocketproof_profiles import PROFILES, Profile

from ..reports.choices import InputError, known
from . import requests
from .call import Context, RecordedCall
from .names import ProgramNames
from .parts import Capability

Step = tuple[str, dict[str, Any]]

SECOND: Final = 1000
ADDRESSED: Final = ("client", "broker")
"""Arguments of any step: who does it, and to which broker it goes."""
FORMED: Final = ("without", "altered")
"""Arguments of any request: the name of a field that is left out, and that of one with the text that it gets instead."""
EVERY: Final = "*"
"""The name of a field that stands for all of them: such a request has no table of fields at all."""


@dataclass(frozen=True)
class StepKind:
    """A row of the vocabulary. `build` makes the request, None where the deployment does the step itself, for which it has to offer
    `needs`; None is what every deployment can do."""

    sentence: str
    arguments: Mapping[str, Any]
    build: Callable[..., RecordedCall | None] | None = None
    needs: Capability | None = None


def _asks(sentence: str, build: Callable[..., RecordedCall | None], needs: Capability | None = None) -> StepKind:
    """A step that becomes a request: its arguments are the builder's keywords."""
    parameters = inspect.signature(build).parameters.values()
    return StepKind(sentence, {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}, build, needs)


def _does(sentence: str, needs: Capability | None = None, /, **arguments: Any) -> StepKind:
    return StepKind(sentence, arguments, None, needs)


STEPS: Final[Mapping[str, StepKind]] = {
    # Clients and administrators
    "send": _asks("a message or a batch is sent", requests.send),
    "back": _asks("a consumer gives a record back; nothing happens if there is none", requests.back),
    "end": _asks("a transaction ends, one-way; nothing happens where there is no half message", requests.end),
    "unknown": _asks("a request of a code that nobody serves", requests.unknown),
    "topic": _asks("an administrator makes or changes a topic", requests.topic),
    "delete": _asks("an administrator deletes a topic", requests.delete),
    "group": _asks("an administrator makes or changes a consumer group", requests.group),
    "configure": _asks("an administrator changes a setting at run time", requests.configure, Capability.CONFIGURE),
    "delete_group": _asks("an administrator deletes a consumer group", requests.delete_group),
    "forget_topic": _asks("an administrator takes a topic out of the name server", requests.forget_topic),
    "register_topic": _asks("somebody tells the name server which queues a topic has", requests.register_topic),
    "route": _asks("a client asks the name server for a route", requests.route),
    "register": _asks("a broker that is not there registers, on a connection of its own", requests.register),
    "unregister": _asks("a broker that is not there takes itself out", requests.unregister),
    "has_to_register": _asks("a broker that is not there asks whether its topics are of another version", requests.has_to_register),
    "permit_writes": _asks("an administrator takes a broker's write permission in a name server, or gives it", requests.permit_writes),
    "put_value": _asks("an administrator gives the name server a value to keep", requests.put_value),
    # Who only looks
    "max_offset": _asks("somebody asks for the next offset of a queue", requests.max_offset),
    "min_offset": _asks("somebody asks for the first offset of a queue", requests.min_offset),
    "stats": _asks("somebody asks for the ends of all queues of a topic", requests.stats),
    "earliest": _asks("somebody asks when the first message of a queue was stored", requests.earliest),
    "search": _asks("somebody asks for the offset of a queue by when its message was stored", requests.search),
    "pull": _asks("a consumer asks for records of a queue", requests.pull),
    "progress": _asks("a consumer asks how far its group is in a queue", requests.progress),
    "commit": _asks("a consumer says how far its group is in a queue", requests.commit),
    "find": _asks("somebody asks for the records under a key", requests.find),
    "view": _asks("somebody asks for the record at a place of the log", requests.view),
    "topics": _asks("somebody asks a broker for its topics", requests.topics),
    "groups": _asks("somebody asks a broker for its consumer groups", requests.groups),
    "settings": _asks("somebody asks a broker for its settings", requests.settings),
    "heartbeat": _asks("a client says that it is there", requests.heartbeat),
    "consumer": _asks("a consumer says that it is there, and what it has subscribed to", requests.consumer),
    "leave": _asks("a consumer takes itself out of its group", requests.leave),
    "cluster": _asks("somebody asks the name server for the brokers that it knows", requests.cluster),
    "values": _asks("somebody asks the name server for the values that it keeps", requests.values),
    # What is done otherwise
    "lose": _does(
        "the connection of a broker that is not there is closed; with `overlap` its next one is open before, and is used at once",
        address="10.0.0.1:1",
        overlap=False,
    ),
    "hang_up": _does("a client closes its connections, whatever it waits for"),
    "question": _does("a producer waits until the broker asks it what became of a half message"),
    "checked": _does(
        "somebody waits until the check of half messages is as far as its two queues are long by now, and writes down how far"
    ),
    "notified": _does("a consumer writes down what its broker has told it of its groups by now, and waits for one such message"),
    "meet": _does("all clients wait for each other"),
    "produce": _does("a producer sends a message, whatever comes of it", Capability.PRODUCERS, topic="A", producer=0),
    "fail": _does(
        "a message comes, its consumption fails, and again: so many rounds, or until no more of it comes; each fails once in a program",
        Capability.LOOK,
        record=0,
        group="g",
        rounds=20,
        level=0,
        most=16,
    ),
    # Time
    "time": _does("time passes", millis=SECOND),
    "clock": _does("somebody sets the clock", Capability.CLOCK, millis=-SECOND),
    # Faults
    "crash": _does(
        "a broker's process ends, or with `power` its machine, and it starts again on a disk that is well",
        Capability.FAULTS,
        power=False,
        metadata="ordered",
        seed=0,
    ),
    "faults": _does("faults of this name happen from here on; none without a name", Capability.FAULTS, name=None, seed=0),
    "disk": _does("no further file of the log can be made, or again", Capability.FAULTS, full=True),
    "store": _does("the store is full, busy, or good again", Capability.FAULTS, state="good"),
    "flush": _does("the broker flushes synchronously from here on, or would like to", Capability.FAULTS, stuck=True),
    "replica": _does("the broker waits for a slave from here on: none, a slow or a quick one", Capability.FAULTS, state="none"),
    "lossy": _does("one-way registrations are lost, or arrive again", Capability.FAULTS, lossy=True),
    "executor": _does("one thread for sends and no place to wait for it, or as many as are needed", Capability.EXECUTORS, full=True),
    "hooks": _does("hooks that do nothing look at sends or at what is given back", Capability.HOOKS, send=True, consume=False),
}


def arguments(step: Step) -> dict[str, Any]:
    """All arguments of a step, with their defaults. Raises InputError for a step or argument that there is not."""
    name, wanted = step
    kind = STEPS[known("step", name, STEPS)]
    general = ADDRESSED if kind.build is None else (*ADDRESSED, *FORMED)
    odd = [key for key in wanted if key not in kind.arguments and key not in general]
    if odd:
        raise InputError(f"step {name} has no argument {odd[0]!r}; it has {', '.join(kind.arguments) or 'none'}")
    return {**kind.arguments, **{key: value for key, value in wanted.items() if key not in general}}


def request_of(step: Step, context: Context) -> RecordedCall | None:
    """The request of a step; None for one that has nothing to act on, and for one that is not a request.

    Raises InputError for a step or argument that there is not.
    """
    name, wanted = step
    found = arguments(step)
    build = STEPS[name].build
    call = None if build is None else build(context, context.part(wanted.get("broker", "")), **found)
    return call if call is None or not wanted.keys() & set(FORMED) else _formed(call, wanted.get("without"), wanted.get("altered"))


def _formed(call: RecordedCall, without: str | None, altered: tuple[str, str] | None) -> RecordedCall:
    """The request with its fields as the step wants them."""
    fields = {name: value for name, value in call.fields.items() if without not in (name, EVERY)}
    return replace(call, fields=fields if altered is None else {**fields, altered[0]: altered[1]})


def plain(name: str, profile: Profile = PROFILES["P49"], /, **given: Any) -> Command:
    """The request of a step to a broker of this profile, whose names stay as they are, and which says nothing out of the ordinary but what
    is given.

    Raises InputError for a step or argument that there is not, and for a step without a request.
    """
    call = request_of((name, given), Context(ProgramNames("", 0), "", profile=profile))
    if call is None:
        raise InputError(f"step {name} with {given} has no request")
    return call.command()


def is_request(name: str) -> bool:
    """Whether a step becomes a request. Raises InputError for a step that there is not."""
    return STEPS[known("step", name, STEPS)].build is not None
