"""Programs of the specification's requests: those that the guards allow at the start of a scope, by one client or several."""

from __future__ import annotations

import random
from functools import cache
from typing import Any, Final

from rocketproof_model.interpreter import initial
from rocketproof_spec import build, constants

from .actions import STEPS, TOPICS
from .offers import Offers
from .vocabulary import Step

MOST_CLIENTS: Final = 8


@cache
def _alphabet(scope: str, profile: str) -> tuple[tuple[str, ...], dict[str, list[dict[str, Any]]]]:
    """Return the classes of the scope's topics, and the requests and topic updates that its guards allow, by parameter names."""
    specification = build(scope)
    switches = {"update_budget": -1} if specification.scope.updates else {}
    instance = specification.model.given(**constants(profile, **switches))
    enabled = Offers(instance).enabled(initial(instance))
    allowed: dict[str, list[dict[str, Any]]] = {}
    for name in ("request", "update_topic"):
        if name in enabled:
            types = specification.model.named(name).parameters
            allowed[name] = [{n: t.decode(code) for (n, t), code in zip(types.items(), args, strict=True)} for args in enabled[name]]
    return specification.scope.topics, allowed


_UNIT = 200  # bytes of a body per unit of size in the specification


def _request(scope: str, profile: str, rng: random.Random, client: int) -> Step:
    topics, alphabet = _alphabet(scope, profile)
    name = "update_topic" if "update_topic" in alphabet and rng.random() < 0.2 else "request"
    values = dict(rng.choice(alphabet[name]))
    size = values.pop("size", 1)
    for parameter in ("p", "b"):
        values.pop(parameter, None)
    step, arguments = STEPS[name]([TOPICS.get(kind, "A") for kind in topics], _UNIT * size, **values)
    return step, {**arguments, "client": client} if client else arguments


def sequential(rng: random.Random, profile: str) -> list[Step]:
    """Return requests by one client, with some route queries."""
    scope = rng.choice(("names", "names", "creation", "store"))
    steps = [_request(scope, profile, rng, 0) for _ in range(rng.randint(2, 8))]
    for _ in range(rng.randint(0, 2)):
        steps.insert(rng.randint(0, len(steps)), ("route", {"topic": "A"}))
    return steps


def concurrent(rng: random.Random, profile: str) -> list[Step]:
    """Return first sends by several clients at once, in rounds with barriers between them."""
    scope = rng.choice(("creation", "creation", "store"))
    clients = rng.choice((2, 2, 2, 3, 3, 4, 4, 6, MOST_CLIENTS))
    steps: list[Step] = []
    for _ in range(rng.randint(1, 3)):
        steps += [_request(scope, profile, rng, client) for client in range(clients) for _ in range(rng.randint(1, 3))]
        steps.append(("meet", {}))
    if rng.random() < 0.5:
        steps.append(("route", {"topic": "A"}))
    return steps
