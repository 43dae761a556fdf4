"""The one pool of what programs for a broker are put together from, and how its parts are chosen: by what has been seen least.

A phrase is a step, or some steps that mean something behind each other, with the values that their arguments may have: the first one is the
ordinary one. A program is a few phrases. Each is chosen by how often it, and it behind the one before it, were there, and so is each value;
most arguments stay ordinary, so that a request is not always refused for the first of several reasons. What is counted is what
was drawn and what the boundaries say of its requests, never what was answered, so that a seed means the same programs whatever comes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from rocketproof_profiles import Profile

from . import boundaries
from .call import StoredPlace
from .phrase import Phrase, Values
from .phrases import OF_BROKERS
from .routed import ROUTED
from .vocabulary import STEPS, Step, is_request, request_of

T = TypeVar("T")
MOST_PHRASES: Final = 4
PHRASES: Final[tuple[Phrase, ...]] = (*OF_BROKERS, *ROUTED)
"""All but those at boundaries, which the table of boundaries gives (`phrases`)."""


def phrases(profile: Profile) -> tuple[Phrase, ...]:
    """The whole pool of a release."""
    asked = (one for one in PHRASES if one.switch is None or getattr(profile, one.switch[0]) == one.switch[1])
    return (*asked, *(_bounded(one, side, profile) for one in boundaries.BOUNDARIES if one.there(profile) for side in one.sides))


def _bounded(one: boundaries.Boundary, side: int, profile: Profile) -> Phrase:
    steps = one.at(side, profile)
    lasting = lasts(steps) or any(name == "back" and args.get("level") != -1 for name, args in steps)
    measured = (one._replace(trace=trace) for one in requests(steps, profile) for trace in ("true", "false"))  # whatever its broker has
    lost = set().union(*map(boundaries.unread, measured))
    drawn = tuple((name, {key: (value,) for key, value in args.items()}) for name, args in steps)
    where = one.name, boundaries.SIDES[side]
    return Phrase(" ".join(where), drawn, where, lasting, one.large, unread=" ".join(lost), needs=one.needs)


def requests(steps: Iterable[Step], profile: Profile) -> Iterator[boundaries.MeasuredRequest]:
    """What the requests of steps are measured as, when nobody sends them."""
    where = boundaries.context(profile.name)
    where.known = [StoredPlace(0, 0, True, True, where.names.topic("A")), StoredPlace(200, 1, False, True, where.names.topic("A"))]
    for step in steps:
        call = request_of(step, where) if is_request(step[0]) else None
        if call is None:
            continue
        sent = boundaries.sent(call, profile, free=where.free(call.to))
        yield sent
        if sent.op in boundaries.SENDS:
            where.end = boundaries.end_behind(where.end or 0, boundaries.records_bytes(sent), where.file_size)


@dataclass
class DrawCounts:
    """How often everything was drawn. `plain`: the choice does not care, which is what to compare with."""

    chance: random.Random
    plain: bool = False
    counts: Counter[Hashable] = field(default_factory=Counter)

    def rarest(self, choices: Sequence[T], features: Callable[[T], Sequence[Hashable]], worth: Callable[[T], int] = lambda one: 1) -> T:
        """The choice whose features were seen least, for its worth: the first ones count more, and chance decides where all are equal."""
        if self.plain:
            return self.chance.choice(choices)
        seen = [tuple(self.counts[feature] / worth(one) for feature in features(one)) for one in choices]
        least = min(seen)
        return self.chance.choice([one for one, often in zip(choices, seen, strict=True) if often == least])

    def note(self, features: Iterable[Hashable]) -> None:
        self.counts.update(features)


def program(seen: DrawCounts, pool: Sequence[Phrase], most: int = MOST_PHRASES) -> list[Step]:
    """A program of a few phrases."""
    before, steps = "", list[Step]()
    for _ in range(seen.chance.randint(1, most)):
        one = seen.rarest(pool, lambda phrase: _features(phrase, before), lambda phrase: phrase.worth)  # noqa: B023 - called at once
        seen.note(_features(one, before))
        steps += [(name, _values(seen, one.name, number, values, STEPS[name].arguments)) for number, (name, values) in enumerate(one.steps)]
        before = one.name
    return steps


def filling(seen: DrawCounts, first: Sequence[Phrase], pool: Sequence[Phrase]) -> list[Step]:
    """A program that begins with one of a few phrases, such as something that is as large as a message may be, and what may come behind
    it, if anything may."""
    return [*program(seen, first, 1), *(program(seen, pool, 1) if pool else ())]


def lasts(steps: Iterable[Step]) -> bool:
    """Whether something of the steps comes later: nobody knows what a process that ends leaves of it."""
    return any(args.get("one_way") or any(word in str(args) for word in ("DELAY", "TRAN_MSG")) for _, args in steps)


def _features(one: Phrase, before: str) -> tuple[Hashable, ...]:
    return one.name, (before, one.name)


def _values(seen: DrawCounts, phrase: str, number: int, values: Values, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each argument: one or two are not the ordinary ones, more often than not. None is said where the step has something else
    for what is left out."""
    drawn = {name: of[0] for name, of in values.items()}
    open_ = [name for name, of in values.items() if len(of) > 1]
    for _ in range(min(len(open_), seen.chance.choice((0, 1, 1, 2)))):
        name = seen.rarest(open_, lambda name: [(phrase, number, name)], lambda name: len(values[name]) - 1)
        place = seen.rarest(range(len(values[name])), lambda place: [(phrase, number, name, place)])  # noqa: B023 - called at once
        seen.note([(phrase, number, name), (phrase, number, name, place)])
        drawn[name] = values[name][place]
    return {name: value for name, value in drawn.items() if value is not None or defaults.get(name) is not None}
