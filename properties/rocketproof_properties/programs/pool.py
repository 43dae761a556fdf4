"""The pool of phrases, and the choice of phrases and values by what was drawn least.

A phrase is one step or several related steps, each with the possible values of its arguments. `values.py` lists the values; the first is
the default. A program is a few phrases. The generator counts each phrase, each pair of consecutive phrases, and each value, and draws the
least frequent. Most arguments keep their default, so that a request is not always rejected for the first of several reasons.

The counts depend on what was drawn, never on responses: a seed always produces the same programs.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from rocketproof_profiles import Profile
from rocketproof_traces.history.exchanges import SENDS

from . import boundaries
from .call import Context, RecordedCall, StoredPlace
from .measures import MeasuredRequest, records_bytes
from .phrase import Phrase
from .phrases import OF_BROKERS
from .routed import ROUTED
from .values import Values
from .vocabulary import STEPS, Step, is_request, request_of

T = TypeVar("T")
MOST_PHRASES: Final = 4
_MORE: Final = 2
"""How much more often the most arguments of a step differ from their defaults, as long as it has values that were never drawn."""
PHRASES: Final[tuple[Phrase, ...]] = (*OF_BROKERS, *ROUTED)
"""All phrases except those at boundaries, which `phrases` derives from the table of boundaries."""


def phrases(profile: Profile) -> tuple[Phrase, ...]:
    """Return all phrases for a profile."""
    selected = (phrase for phrase in PHRASES if phrase.switch is None or getattr(profile, phrase.switch[0]) == phrase.switch[1])
    at_boundaries = (_bounded(row, side, profile) for row in boundaries.BOUNDARIES if row.applies(profile) for side in row.sides)
    return (*selected, *at_boundaries)


def _bounded(boundary: boundaries.Boundary, side: int, profile: Profile) -> Phrase:
    steps = boundary.at(side, profile)
    lasting = lasts(steps) or any(name == "back" and args.get("level") != -1 for name, args in steps)
    measured = (request._replace(trace=trace) for request in requests(steps, profile) for trace in ("true", "false"))
    lost = set().union(*map(boundaries.unread, measured))
    drawn = tuple((name, {key: (value,) for key, value in args.items()}) for name, args in steps)
    where = boundary.name, boundaries.SIDES[side]
    return Phrase(" ".join(where), drawn, where, lasting, boundary.large, unread=" ".join(lost), needs=boundary.needs)


def sampled_context(profile: Profile) -> Context:
    """Return a context in which a half message and an ordinary message were acknowledged, for steps that are not performed."""
    context = boundaries.context(profile.name)
    context.known = [StoredPlace(0, 0, True, True, context.names.topic("A")), StoredPlace(200, 1, False, True, context.names.topic("A"))]
    return context


def calls(steps: Iterable[Step], context: Context) -> Iterator[RecordedCall]:
    """Yield the requests that the steps become in a context."""
    for step in steps:
        call = request_of(step, context) if is_request(step[0]) else None
        if call is not None:
            yield call


def requests(steps: Iterable[Step], profile: Profile) -> Iterator[MeasuredRequest]:
    """Yield the requests of the steps as they would be measured, without sending them."""
    context = sampled_context(profile)
    for call in calls(steps, context):
        request = boundaries.measured(call, profile, free=context.free(call.to))
        yield request
        if request.op in SENDS:
            context.end = boundaries.end_after(context.end or 0, records_bytes(request), context.file_size)


@dataclass
class DrawCounts:
    """How often each feature was drawn.

    - `plain`: `rarest` ignores the counts, as a baseline for comparison.
    - `before`: counts that this one adds to, without changing them.
    """

    chance: random.Random
    plain: bool = False
    before: Counter[Hashable] = field(default_factory=Counter)
    counts: Counter[Hashable] = field(default_factory=Counter)

    def rarest(self, choices: Sequence[T], features: Callable[[T], Sequence[Hashable]], weight: Callable[[T], int] = lambda choice: 1) -> T:
        """Return the choice with the lowest ratio of counts to weight.

        Every choice has the same number of features. They are compared in order; ties are broken at random.
        """
        if self.plain:
            return self.chance.choice(choices)
        left = [(choice, weight(choice), features(choice)) for choice in choices]
        for place in range(len(left[0][2])):
            ratios = [(self.counts.get(names[place], 0) + self.before.get(names[place], 0)) / share for _, share, names in left]
            least = min(ratios)
            left = [row for row, ratio in zip(left, ratios, strict=True) if ratio == least]
        return self.chance.choice(left)[0]

    def note(self, features: Iterable[Hashable]) -> None:
        self.counts.update(features)

    def __contains__(self, feature: Hashable) -> bool:
        """Return whether the feature was drawn; never if the counts are ignored."""
        return not self.plain and (feature in self.counts or feature in self.before)


def program(seen: DrawCounts, pool: Sequence[Phrase], most: int = MOST_PHRASES, least: int = 1) -> list[Step]:
    """Return a program of `least` to `most` phrases."""
    previous, steps = "", list[Step]()
    for _ in range(seen.chance.randint(least, most)):
        chosen = seen.rarest(pool, lambda phrase: _features(phrase, previous), lambda phrase: phrase.weight)  # noqa: B023 - called at once
        seen.note(_features(chosen, previous))
        steps += [(name, _values(seen, chosen, number, values)) for number, (name, values) in enumerate(chosen.steps)]
        previous = chosen.name
    return steps


def filling(seen: DrawCounts, first: Sequence[Phrase], pool: Sequence[Phrase]) -> list[Step]:
    """Return one phrase of `first`, followed by one of `pool` unless that is empty."""
    return [*program(seen, first, 1), *(program(seen, pool, 1) if pool else ())]


def lasts(steps: Iterable[Step]) -> bool:
    """Return whether an effect of the steps may be delayed: its state after a kill of the process is not predictable."""
    return any(args.get("one_way") or any(word in str(args) for word in ("DELAY", "TRAN_MSG")) for _, args in steps)


def _features(phrase: Phrase, previous: str) -> tuple[Hashable, ...]:
    return phrase.name, (previous, phrase.name)


def _varied(
    seen: DrawCounts, place: tuple[str, int], values: Values, fresh: Mapping[str, Sequence[int]], names: Sequence[str]
) -> tuple[str, int]:
    """Draw one of the arguments `names`, and one of its values by number. `fresh`: by argument, the values that come first."""
    name = seen.rarest([name for name in names if fresh[name]] or names, lambda name: [(*place, name)], lambda name: len(values[name]) - 1)
    at = seen.rarest(fresh[name] or range(len(values[name])), lambda at: [(*place, name, at)])
    seen.note([(*place, name), (*place, name, at)])
    return name, at


def _values(seen: DrawCounts, phrase: Phrase, number: int, values: Values) -> dict[str, Any]:
    """Draw a value for each argument; as many differ from the default as `phrase.changes` allows.

    Values that no step of this kind has had come first, and as long as there are any, more arguments differ: even a short run has most
    values somewhere. An argument whose value is None is left out unless the step has another default for it.
    """
    kind, place = phrase.steps[number][0], (phrase.name, number)
    defaults = STEPS[kind].arguments
    drawn = {name: choices[0] for name, choices in values.items()}
    fresh = {name: [at for at in range(1, len(choices)) if (kind, name, repr(choices[at])) not in seen] for name, choices in values.items()}
    open_ = [name for name, choices in values.items() if len(choices) > 1]
    most = [max(phrase.changes)] * (_MORE * any(fresh[name] for name in open_))
    wanted = seen.chance.choice((*phrase.changes, *most))
    for _ in range(min(len(open_), wanted)):
        name, at = _varied(seen, place, values, fresh, open_)
        drawn[name] = values[name][at]
        seen.note([(kind, name, repr(drawn[name]))])
        fresh[name] = [each for each in fresh[name] if each != at]
    return {name: value for name, value in drawn.items() if value is not None or defaults.get(name) is not None}
