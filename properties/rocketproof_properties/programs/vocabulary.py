"""The vocabulary of steps: what clients, administrators and faults can ask of a deployment, as data.

A step is a name and its arguments, such as `("send", {"topic": "A", "body": "x"})`. Missing arguments have defaults. A step refers to a
record by its index among the suitable ones, so that every subsequence of a program is a program.

- `client` names the client of a step, `broker` the broker that it is sent to.
- `("meet", {})` is a barrier for all clients.
- `without` removes a field of a request, and `altered` replaces the text of a field.

`STEPS` gives the meaning and arguments of each name. A row also has the builder of the request or the capability by which a deployment
performs the step. A new kind of step is a row here; runs, generators and shrinking use the table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from rocketproof_impl.remoting.command import Command
from rocketproof_profiles import PROFILES, Profile

from ..reports.choices import InputError, known
from . import corruption, nameserver, requests
from .call import Context, RecordedCall
from .names import ProgramNames
from .parts import Capability

Step = tuple[str, dict[str, Any]]

SECOND: Final = 1000
ADDRESSED: Final = ("client", "broker")
"""Arguments of any step: the client, and the broker that it is sent to."""
FORMED: Final = ("without", "altered")
"""Arguments of any request: the name of a field to leave out, and the name and new text of a field to change."""
EVERY: Final = "*"
"""A field name that stands for all fields: the request then has no table of fields."""


@dataclass(frozen=True)
class StepKind:
    """A row of the vocabulary.

    `build` makes the request; None if the deployment performs the step itself. `needs`: the capability for it, None if every deployment has
    it. `validated` returns valid arguments, or raises InputError; None if all are valid.
    """

    sentence: str
    arguments: Mapping[str, Any]
    build: Callable[..., RecordedCall | None] | None = None
    needs: Capability | None = None
    validated: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None


def _request_step(
    sentence: str,
    build: Callable[..., RecordedCall | None],
    needs: Capability | None = None,
    validated: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None,
) -> StepKind:
    """Return the row of a step that becomes a request. Its arguments are the builder's keywords."""
    parameters = inspect.signature(build).parameters.values()
    return StepKind(sentence, {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}, build, needs, validated)


def _one_time(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a search. Raises InputError if its time is neither a number, nor one of a record or of two records."""
    record = given["record"]
    for name, value in (("time", given["time"]), ("plus", given["plus"])):
        if type(value) is not int:
            raise InputError(f"step search: {name} is not a whole number of ms but {value!r}")
    indices = record if isinstance(record, list | tuple) and len(record) == 2 else [0 if record is None else record]
    if any(type(index) is not int for index in indices):
        raise InputError(f"step search: record is not the index of a record, or of two, but {record!r}; write 0 or (0, 1)")
    if record is not None and given["time"]:
        raise InputError("step search: time and record are two times; remove one of them")
    return {**given}


def _direct_step(
    sentence: str,
    needs: Capability | None = None,
    validated: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None,
    /,
    **arguments: Any,
) -> StepKind:
    return StepKind(sentence, arguments, None, needs, validated)


STEPS: Final[Mapping[str, StepKind]] = {
    # Clients and administrators
    "send": _request_step("a producer sends a message or a batch", requests.send),
    "back": _request_step("a consumer sends a record back; nothing happens if there is none", requests.back),
    "end": _request_step("a producer ends a transaction, one-way; nothing happens if there is no half message", requests.end),
    "unknown": _request_step("a request with an unknown code", requests.unknown),
    "topic": _request_step("an administrator creates or changes a topic", requests.topic),
    "delete": _request_step("an administrator deletes a topic", requests.delete),
    "group": _request_step("an administrator creates or changes a consumer group", requests.group),
    "configure": _request_step("an administrator changes a setting at run time", requests.configure, Capability.CONFIGURE),
    "delete_group": _request_step("an administrator deletes a consumer group", requests.delete_group),
    "forget_topic": _request_step("an administrator deletes a topic from the name server", nameserver.forget_topic),
    "register_topic": _request_step("an administrator registers a topic's queues with the name server", nameserver.register_topic),
    "route": _request_step("a client queries a route", nameserver.route),
    "register": _request_step("a fictitious broker registers, on a connection of its own", nameserver.register),
    "unregister": _request_step("a fictitious broker unregisters", nameserver.unregister),
    "has_to_register": _request_step("a fictitious broker asks whether its topics have a new version", nameserver.has_to_register),
    "permit_writes": _request_step(
        "an administrator removes a broker's write permission in the name server, or restores it", nameserver.permit_writes
    ),
    "put_value": _request_step("an administrator stores a value in the name server", nameserver.put_value),
    # Queries
    "max_offset": _request_step("a client queries the next offset of a queue", requests.max_offset),
    "min_offset": _request_step("a client queries the first offset of a queue", requests.min_offset),
    "stats": _request_step("a client queries the end offsets of a topic's queues", requests.stats),
    "earliest": _request_step("a client queries the store time of a queue's first message", requests.earliest),
    "search": _request_step(
        "a client queries a queue's offset by store time; `record` gives that of a record which a pull has returned",
        requests.search,
        validated=_one_time,
    ),
    "pull": _request_step("a consumer pulls records of a queue", requests.pull),
    "progress": _request_step("a consumer queries its group's offset in a queue", requests.progress),
    "commit": _request_step("a consumer commits its group's offset in a queue", requests.commit),
    "find": _request_step("a client queries records by key", requests.find),
    "view": _request_step("a client queries the record at a place of the log", requests.view),
    "topics": _request_step("a client queries a broker's topics", requests.topics),
    "groups": _request_step("a client queries a broker's consumer groups", requests.groups),
    "settings": _request_step("a client queries a broker's settings", requests.settings),
    "heartbeat": _request_step("a client sends a heartbeat", requests.heartbeat),
    "consumer": _request_step("a consumer sends a heartbeat with its subscription", requests.consumer),
    "leave": _request_step("a client leaves its group of consumers or of producers", requests.leave),
    "members": _request_step("a consumer queries the members of its group", requests.members),
    "lock": _request_step("a consumer locks queues for its group, or renews its locks", requests.lock),
    "unlock": _request_step("a consumer unlocks queues", requests.unlock),
    "cluster": _request_step("a client queries the brokers of a name server", nameserver.cluster),
    "values": _request_step("a client queries the values in a name server", nameserver.values),
    # Other steps
    "lose": _direct_step(
        "a fictitious broker closes its connection; with `overlap` it opens and uses the next one before that. Unless `pause` is false, "
        "the client then gives the name server time to notice",
        address="10.0.0.1:1",
        overlap=False,
        pause=True,
    ),
    "hang_up": _direct_step("a client closes its connections, even while it waits for responses"),
    "question": _direct_step("a producer waits until the broker checks a half message"),
    "checked": _direct_step(
        "a client waits until the check of half messages has reached the present ends of both queues, and records the offsets"
    ),
    "notified": _direct_step("a consumer records the notifications about its groups so far, after waiting for one"),
    "meet": _direct_step("barrier: all clients wait for each other"),
    "produce": _direct_step("a producer sends a message and ignores the result", Capability.PRODUCERS, topic="A", producer=0),
    "fail": _direct_step(
        "consumption of a message fails `rounds` times, or until it is no longer delivered; each message fails once in a program",
        Capability.LOOK,
        record=0,
        group="g",
        rounds=20,
        level=0,
        most=16,
    ),
    # Time
    "time": _direct_step("time passes", millis=SECOND),
    "clock": _direct_step("the clock is changed", Capability.CLOCK, millis=-SECOND),
    # Faults
    "crash": _direct_step(
        "a broker's process is killed, or with `power` its machine, and restarts on a disk without faults",
        Capability.FAULTS,
        power=False,
        metadata="ordered",
        seed=0,
    ),
    "restart": _direct_step(
        "a broker is stopped gracefully and starts again, with some `settings` changed permanently. Until its next start its clock "
        "is `clock` milliseconds ahead of the machine's, or behind if negative",
        Capability.RESTART,
        settings=None,
        clock=0,
    ),
    "corrupt": _direct_step(
        "a broker is stopped, or with `kill` killed; the bits at a `place` of one of its files are flipped, or its bytes set to zero; and "
        "the broker starts again. Places of records are those of the log's last record, if it is the program's",
        Capability.RESTART,
        corruption.validated,
        file=corruption.LOG,
        place="body",
        how=corruption.FLIP,
        kill=False,
    ),
    "faults": _direct_step("the named faults are enabled; without a name, all are disabled", Capability.FAULTS, name=None, seed=0),
    "disk": _direct_step("no further log file can be created; `full=False` ends this", Capability.FAULTS, full=True),
    "store": _direct_step("the store is full, busy, or works again", Capability.FAULTS, state="good"),
    "flush": _direct_step("the broker flushes synchronously; if `stuck`, flushes do not complete", Capability.FAULTS, stuck=True),
    "replica": _direct_step("the broker waits for a slave: none, a slow or a fast one", Capability.FAULTS, state="none"),
    "lossy": _direct_step("one-way registrations are lost; `lossy=False` ends this", Capability.FAULTS, lossy=True),
    "executor": _direct_step("one thread for sends and no queue; `full=False` restores enough threads", Capability.EXECUTORS, full=True),
    "hooks": _direct_step(
        "hooks without effect are registered for sends or for messages sent back", Capability.HOOKS, send=True, consume=False
    ),
}


_SIMULATED: Final = {Capability.CLOCK, Capability.EXECUTORS, Capability.HOOKS, Capability.PRODUCERS, Capability.LOOK, Capability.FAULTS}
ON_BROKERS: Final = tuple(name for name, kind in STEPS.items() if name == "crash" or kind.needs not in _SIMULATED)
"""The steps that running brokers can perform. The others exist in simulated clusters only."""


ENDS_PROCESS: Final = frozenset({"crash", "restart", "corrupt"})
"""The steps in which a broker's process ends and starts again."""


def arguments(step: Step) -> dict[str, Any]:
    """Return all arguments of a step, including defaults. Raises InputError for an unknown step, argument or place of a file."""
    name, wanted = step
    kind = STEPS[known("step", name, STEPS)]
    general = ADDRESSED if kind.build is None else (*ADDRESSED, *FORMED)
    unknown = [key for key in wanted if key not in kind.arguments and key not in general]
    if unknown:
        raise InputError(f"step {name} has no argument {unknown[0]!r}; it has {', '.join(kind.arguments) or 'none'}")
    values = {**kind.arguments, **{key: value for key, value in wanted.items() if key not in general}}
    return values if kind.validated is None else kind.validated(values)


def request_of(step: Step, context: Context) -> RecordedCall | None:
    """Return the request of a step. None if it has nothing to act on or is not a request.

    Raises InputError for an unknown step or argument.
    """
    name, wanted = step
    values = arguments(step)
    build = STEPS[name].build
    call = None if build is None else build(context, context.part(wanted.get("broker", "")), **values)
    return call if call is None or not wanted.keys() & set(FORMED) else _formed(call, wanted.get("without"), wanted.get("altered"))


def _formed(call: RecordedCall, without: str | None, altered: tuple[str, str] | None) -> RecordedCall:
    """Return the call with fields removed or changed as the step requires."""
    fields = {name: value for name, value in call.fields.items() if without not in (name, EVERY)}
    return replace(call, fields=fields if altered is None else {**fields, altered[0]: altered[1]})


def plain(name: str, profile: Profile = PROFILES["P49"], /, **values: Any) -> Command:
    """Return the request of a step with unchanged names, for a broker of this profile. Arguments that are not given have their defaults.

    Raises InputError for an unknown step or argument, and for a step without a request.
    """
    call = request_of((name, values), Context(ProgramNames("", 0), "", profile=profile))
    if call is None:
        raise InputError(f"step {name} with {values} has no request")
    return call.command()


def is_request(name: str) -> bool:
    """Return whether a step becomes a request. Raises InputError for an unknown step."""
    return STEPS[known("step", name, STEPS)].build is not None
