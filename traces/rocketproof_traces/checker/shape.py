"""The specification sliced to what judges the requests of one partition: one broker, its topics, and no bounds that a real broker lacks.

The slice keeps what decides answers, configurations and queue offsets. Files and log positions are left out. Registrations and versions are
left out if no route is queried.

If the broker has other partitions too, the creation of one of their topics may hold the broker's lock. The slice therefore lets a request
time out while no request of its own partition holds the lock. This may allow more than the whole specification, but never less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from rocketproof_model import Int
from rocketproof_model.language import JAVA_INT, Action, Model
from rocketproof_model.transforms.slicing import sliced
from rocketproof_profiles import NameClass
from rocketproof_spec import Scope, Specification, specify
from rocketproof_spec.actors import ADMINISTRATOR, HANDLER

COLUMNS = ("known", "read", "write", "perm", "order")
_WANTED = ("job.answer", "job.queue", "job.offset", "offset", *(f"config.{column}" for column in COLUMNS))
SERVED = (HANDLER, ADMINISTRATOR)  # the actors whose steps decide answers; only a route query sees steps of other actors
_ROUTE_COLUMNS = ("entries", "read", "write", "perm")
ROUTES = tuple(f"route.{column}" for column in _ROUTE_COLUMNS)
OUTLIVED = "outlived"
GROUPS = ("group.known", "group.limit", "group.queues")
LISTED, TOLD = "group.listed", "told"
OF_REQUESTS = ("job.", "way.")  # prefixes of the variables that belong to a single request
REGISTERING = ("register", "accept_registration", "ignore_registration")
ONE_IN_FLIGHT = "none in flight"
"""The bound of the specification that limits a broker to one registration in flight."""
SIZES = {"roll", "acknowledge_lost"}  # every record fits: sizes are not checked
Change = Callable[[Model], Model]


@dataclass(frozen=True)
class MachineShape:
    """The properties of a partition that select its slice and its compiled functions.

    - `classes`: the name classes of its topics; topic 0 is the template. `queues`: number of queues of a topic.
    - `alone`: whether it is the only partition of its broker.
    - `auto_create`, `readable`, `writable`, `slave`: the broker's settings.
    - `routes`: routes are queried.
    - `placed`: records may be stored elsewhere than requested, messages are sent back, and transactions end.
    - `progress`: the number of queues and groups with committed offsets.
    - `deletes`: topics are deleted. `configures`: settings are changed.
    - `tells`: requests other than registrations change routes at the name server.

    A partition without such requests has a smaller slice.
    """

    profile: str
    classes: tuple[NameClass, ...]
    queues: int
    alone: bool = True
    auto_create: bool = True
    readable: bool = True
    writable: bool = True
    routes: bool = False
    placed: bool = False
    progress: int = 0
    deletes: bool = False
    tells: bool = False
    configures: bool = False
    slave: bool = False


def model_of(shape: MachineShape, change: Change | None = None) -> tuple[Specification, Model]:
    """Return the specification and its slice for a shape, with `change` applied to the specification. Shapes that differ only in
    settings share them."""
    if change is not None:
        return _model_of(shape, change)
    return _unchanged(replace(shape, profile="", auto_create=True, readable=True, writable=True, slave=False))


@cache
def _unchanged(shape: MachineShape) -> tuple[Specification, Model]:
    return _model_of(shape)


def _model_of(shape: MachineShape, change: Change | None = None) -> tuple[Specification, Model]:
    spec, whole = _specified(shape.classes, shape.queues, shape.placed, shape.progress, shape.deletes, shape.tells, shape.configures)
    whole = change(whole) if change is not None else whole
    if shape.routes:
        whole = _one_registration_at_a_time(whole)
    names = [a.name for a in whole.actions if a.actor in SERVED and a.name not in SIZES]
    names += REGISTERING if shape.routes else ()
    names += ("outlive",) if shape.deletes else ()
    wanted = _WANTED + (ROUTES if shape.routes else ()) + (GROUPS if shape.placed else ()) + ((OUTLIVED,) if shape.deletes else ())
    wanted += (LISTED, TOLD) if shape.progress else ()
    model = sliced(whole, wanted, names, last=OF_REQUESTS)
    if not shape.alone:
        model.actions = [_unseen_holder(a) for a in model.actions]
    return spec, model


@cache
def _specified(
    classes: tuple[NameClass, ...], queues: int, placed: bool, progress: int, deletes: bool, tells: bool, configures: bool
) -> tuple[Specification, Model]:
    number, count = Int(*JAVA_INT), Int(0, JAVA_INT[1])
    spec = specify(
        Scope(
            "judge",
            "requests of one broker",
            topics=classes,
            queues=queues,
            counts=count,
            numbers=number,
            queue_ids=number,
            draws=count,
            requests=True,
            routes=False,
            store=True,
            updates=True,
            placed=placed,
            progress=progress,
            deletes=deletes,
            tells=tells,
            configures=configures,
            defaults=("ordinary", "template", "cluster", "retry", "forbidden", "blank", "illegal", "long"),
            offsets=1 << 60,
            file_size=16,
            blank=8,
            sizes=Int(0, 0),
            versions=1 << 40,
            sends=0,
            permissions=tuple(range(16)),
        )
    )
    return spec, spec.model


def _one_registration_at_a_time(model: Model) -> Model:
    """Turn the bound on registrations into a guard. Otherwise a slice could put one registration in the place of another one in flight."""
    assert any(g.name == ONE_IN_FLIGHT for a in model.actions for g in a.guards)
    actions = [replace(a, guards=tuple(replace(g, bound=g.bound and g.name != ONE_IN_FLIGHT) for g in a.guards)) for a in model.actions]
    return replace(model, actions=actions)


def _unseen_holder(action: Action) -> Action:
    """Allow that the creation of a topic outside the partition holds the lock."""
    return replace(action, guards=tuple(g for g in action.guards if g.name != "lock held")) if action.name == "lock_timeout" else action


__all__ = [
    "COLUMNS",
    "LISTED",
    "ONE_IN_FLIGHT",
    "OUTLIVED",
    "REGISTERING",
    "ROUTES",
    "SERVED",
    "SIZES",
    "TOLD",
    "Change",
    "MachineShape",
    "model_of",
]
