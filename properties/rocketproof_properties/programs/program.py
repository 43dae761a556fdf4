"""Programs for a broker on the wire: steps as data, made from a seed.

A step is a name and its arguments, as `steps/vocabulary.py` lists them; `client` says who does it, and `("meet", {})` lets all clients
wait for each other. Half of the programs come from the pool, by what was not seen yet; the others in equal parts from the strategies beside
them, as far as a client can do their steps, from the specification's requests, by one client or by several at a time, from tours of its
tables of topics, and from what only a wire shows. A program that needs a setting of the whole broker, or a broker that may end, says so in
`needs`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hypothesis import strategies as st

from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import whole_number

from ..catalogue import conditions as about
from . import pool, settings, tours
from . import specified as requests
from .draws import examples
from .names import is_anybodys
from .phrase import WAITING, Phrase
from .settings import ALONE, ASKED, CONFIGURED, ENDED, FLUSHED, LARGE, NO_TEMPLATE, NO_TOPICS, READ_ONLY, STARTED, WRITE_ONLY
from .strategies import PROGRAMS
from .vocabulary import Step
from .wire import HEADERS, LONGEST_WAIT, QUEUES, RETRIED, TEMPLATES, WIRE_PROGRAMS

WIRED: Final = ("send", "back", "end", "unknown", "topic", "group", "register", "unregister", "lose", "time", "route", "earliest", "meet")
"""The steps that a client can do, of those that simulated clusters perform too."""

CONCURRENT, REQUESTS, TOURS, POOL = "concurrent requests", "requests", "tours", "what was not seen yet"


@dataclass(frozen=True)
class Program:
    """`source` is where it comes from: a condition of the catalogue's programs, or a name above. `needs` is what `settings`
    has words for."""

    number: int
    source: str
    steps: tuple[Step, ...]
    needs: str = ""

    @property
    def clients(self) -> int:
        return 1 + max((whole_number(args.get("client", 0)) for _, args in self.steps), default=0)

    @property
    def concurrent(self) -> bool:
        return self.clients > 1

    @property
    def waits(self) -> bool:
        return any(name in WAITING for name, _ in self.steps)

    def without(self, names: Collection[str]) -> Program:
        """It without the steps of these names."""
        return replace(self, steps=tuple(one for one in self.steps if one[0] not in names)) if names else self

    @property
    def settles(self) -> bool:
        """Whether nothing of it can come later: no delays, no half messages, no request without an answer."""
        return not (pool.lasts(self.steps) or {name for name, _ in self.steps} & {"back", "time", "end", "crash"})

    @property
    def settings(self) -> Mapping[str, str]:
        return settings.settings_of(self.needs)

    def data(self) -> dict[str, Any]:
        return {"number": self.number, "source": self.source, "needs": self.needs, "steps": [[name, args] for name, args in self.steps]}


@dataclass(frozen=True)
class ProgramOptions:
    """What programs to make. `configure`: settings of a running broker may be changed; `start`: brokers can be started with others; `end`:
    they can be killed and started again; `waits`: programs may let seconds pass; `plain`: chance alone draws from the pool; `drawn`: some
    have settings that are drawn."""

    profile: str
    count: int
    seed: int = 0
    configure: bool = False
    name_server: bool = True
    start: bool = False
    end: bool = False
    waits: bool = True
    concurrent: bool = True
    plain: bool = False
    drawn: bool = True

    @property
    def needs(self) -> tuple[str, ...]:
        """The configurations that programs may need."""
        started = [one for one in STARTED if self.start and (self.end or one != ENDED)]
        return ("", *(CONFIGURED if self.configure else ()), *started)


def generate(choice: ProgramOptions) -> list[Program]:
    """So many programs of each source, mixed; the same seed gives the same ones. Those of the pool keep their order among themselves, as
    what was not seen yet comes first in it."""
    made: list[Program] = []
    for (source, needs), count in _shares(choice).items():
        seed = random.Random(f"{choice.seed}/{source}/{needs}").randrange(2**31)
        made += [Program(0, source, tuple(one), needs) for one in _drawn(source, choice, count, seed)]
    made += _pooled(choice, choice.count - len(made))
    told = (READ_ONLY, WRITE_ONLY) if choice.name_server else ()
    made = [replace(one, steps=(*one.steps, *_routes(one.steps))) if one.needs in told else one for one in made]
    made = [replace(one, steps=_sparing(one.steps, PROFILES[choice.profile])) for one in made]
    pooled = iter([one for one in made if one.source == POOL])
    random.Random(choice.seed).shuffle(made)
    made = [next(pooled) if one.source == POOL else one for one in made]
    return [Program(number, one.source, one.steps, one.needs) for number, one in enumerate(made, 1)]


def _sparing(steps: tuple[Step, ...], profile: Profile) -> tuple[Step, ...]:
    """The steps without those by which an administrator would change a topic that all programs share, where one can, and those of one that
    are answered twice: at once, and with what is missing; nobody waits for an answer that never comes, nor ends a transaction where a
    release without half messages serves that in a way of its own."""
    if not profile.answers_when_changed:
        steps = tuple(one for one in steps if one[0] != "topic" or not {"without", "altered"} & one[1].keys()) or _SOMETHING
    if not profile.guards_topics:
        steps = tuple(one for one in steps if one[0] not in ("topic", "delete") or not is_anybodys(one[1].get("topic", "A"))) or _SOMETHING
    if not profile.gives_write_permission:
        steps = tuple(one for one in steps if one[0] != "permit_writes" or not one[1].get("permitted")) or _SOMETHING
    if not profile.compares_versions:
        steps = tuple(one for one in steps if one[0] != "has_to_register") or _SOMETHING
    if profile.leaves_unknown and not profile.half_messages:
        steps = tuple(one for one in steps if one[0] != "end") or _SOMETHING
    if profile.leaves_unknown:
        steps = tuple((name, {**args, "one_way": True}) if name == "unknown" else (name, args) for name, args in steps)
    return steps


def _shares(choice: ProgramOptions) -> dict[tuple[str, str], int]:
    """How many of each source and configuration but the pool: as many of each, half of all together."""
    rows = [(source, "") for source in (about.ANYTHING, TOURS, TOURS, REQUESTS, TEMPLATES, QUEUES, HEADERS, RETRIED, *_CONDITIONS)]
    rows += [(CONCURRENT, "")] * 5 if choice.concurrent else []
    rows += [(about.REGISTERED, "")] if choice.name_server else []
    for needs in choice.needs[1:]:
        rows += {ALONE: [(about.TOO_LARGE, ALONE)] * 2, ASKED: [], ENDED: [], LARGE: [], FLUSHED: []}.get(
            needs, [(about.SENT if needs in STARTED else REQUESTS, needs)]
        )
    rows += [(s, n) for s, n in ((TEMPLATES, NO_TOPICS), (QUEUES, NO_TOPICS), (TEMPLATES, NO_TEMPLATE)) if n in choice.needs]
    shares = Counter[tuple[str, str]]()
    for number in range(choice.count // 2):
        shares[rows[number % len(rows)]] += 1
    return shares


def _pooled(choice: ProgramOptions, count: int) -> list[Program]:
    """So many programs of the pool, those without a configuration first, as they come first in a run: one that ends early has seen what it
    could."""
    seen = pool.DrawCounts(random.Random(f"{choice.seed}/{POOL}"), choice.plain)
    parts = _parts(choice)
    drawn = ((needs, _steps_of(seen, parts, needs, checked)) for needs, checked in _turns(choice, count, parts))
    return [Program(0, POOL, tuple(steps), needs) for needs, steps in drawn]


@dataclass(frozen=True)
class _Parts:
    """The phrases of the pool by what they may be in. `own`: those that need a configuration; `small` and `large` by their messages, where
    pulls give what they store; `ending`: those that end a transaction, and `settled`: those of which nothing comes later."""

    own: Mapping[str, Sequence[Phrase]]
    small: Sequence[Phrase]
    large: Sequence[Phrase]
    ending: Sequence[Phrase]
    settled: Sequence[Phrase]


def _parts(choice: ProgramOptions) -> _Parts:
    phrases = [one for one in pool.phrases(PROFILES[choice.profile]) if _may_be_drawn(one, choice)]
    free = [one for one in phrases if not one.needs]
    return _Parts(
        own={needs: [one for one in phrases if one.needs == needs] for needs in choice.needs if needs},
        small=[one for one in free if not one.unread and not one.large],
        large=[one for one in free if not one.unread and one.large],
        ending=[one for one in phrases if any(name == "end" for name, _ in one.steps)],
        settled=[one for one in free if not one.lasting],
    )


def _may_be_drawn(one: Phrase, choice: ProgramOptions) -> bool:
    return (choice.name_server or not one.server) and (choice.waits or not one.waits) and (choice.concurrent or not one.concurrent)


def _turns(choice: ProgramOptions, count: int, parts: _Parts) -> list[tuple[str, bool]]:
    """The configuration of each program, in the order in which they are drawn: every second one has one, in turn, but for what takes long.
    The second value: whether it lets a producer wait for a question."""
    profile = PROFILES[choice.profile]
    named = [needs for needs in choice.needs[1:] if needs not in (ALONE, ASKED, ENDED, LARGE, FLUSHED)]
    turns = [each for needs in (*named, *_drawn_settings(choice)) for each in ("", needs)] or [""]
    every = min(count, _EVERY_END, 1 + count // _FEWEST_ENDS)
    rare = {every // 4: ASKED} if parts.own.get(ASKED) and profile.half_messages else {}
    rare |= {every // 2: FLUSHED if profile.rechecks_after_flush else LARGE, 0: ENDED}
    checks = range(_EVERY_CHECK - 1, count, _EVERY_CHECK) if parts.own.get(ENDED) else ()
    fills = range(_EVERY_FILL - 1, count, _EVERY_FILL) if parts.own.get(ALONE) else ()

    def turn(number: int) -> tuple[str, bool]:
        if number in checks:
            return ENDED, True
        if number in fills:
            return ALONE, False
        return (one if (one := rare.get(number % every)) in choice.needs else turns[number % len(turns)]), False

    return sorted(map(turn, range(count)), key=lambda one: one[0] != "")


def _steps_of(seen: pool.DrawCounts, parts: _Parts, needs: str, checked: bool) -> list[Step]:
    """The steps of one program: what its configuration is there for comes first."""
    own = parts.own.get(needs, ())
    if needs in (LARGE, FLUSHED):
        return [*pool.filling(seen, parts.large, parts.small), _LAST]
    if needs == ALONE:
        return [step for _ in own for step in pool.program(seen, own, 1)]  # and nothing that comes later, which would move the records
    if needs == ENDED:
        return pool.filling(seen, own, ()) if checked else _ending(seen, parts.settled)
    if needs == ASKED:
        return pool.filling(seen, own, parts.ending)  # whoever deletes a topic may take the half queue along
    return pool.filling(seen, own, parts.small) if own else pool.program(seen, parts.small)


def _ending(seen: pool.DrawCounts, parts: Sequence[Phrase]) -> list[Step]:
    """A program of which nothing comes later, and behind it the end of the process."""
    steps = pool.program(seen, parts)
    while pool.lasts(steps):
        steps = pool.program(seen, parts)
    return [*steps, *_END]


def _drawn_settings(choice: ProgramOptions) -> list[str]:
    if not choice.drawn:
        return []
    chance = random.Random(f"{choice.seed}/settings")
    return settings.drawn(chance, PROFILES[choice.profile], choice.count, configure=choice.configure, start=choice.start)


_EVERY_END, _FEWEST_ENDS = 50, 5
"""One program of the pool in so many ends a process, and one has large messages, as both take long; but not fewer than these in a run."""
_EVERY_CHECK: Final = 200
"""One program of the pool in so many lets a producer wait for a question on a broker that may ask nobody any more."""
_EVERY_FILL: Final = 40
"""One program of the pool in so many fills files up to their last bytes, in every way that there is."""
_LAST: Final[Step] = ("send", {"topic": "B"})
"""Once it is in its queue, so is a dead letter before it that no answer tells of, however large it is."""
_END: Final[tuple[Step, ...]] = (_LAST, ("crash", {}))
_SOMETHING: Final[tuple[Step, ...]] = (("send", {}),)
_MOST_ROUTES: Final = 3


_CONDITIONS = (
    about.PLAIN,
    about.SENT,
    about.DELAYED,
    about.HALF_ONES,
    about.HALF_DELAYED,
    about.AT_LIMIT,
    about.SENT_BACK,
    about.GIVEN_UP,
    about.NO_RETRY,
    about.UNKNOWN,
    about.BY_NAME,
)


def _drawn(source: str, choice: ProgramOptions, count: int, seed: int) -> list[list[Step]]:
    if source == TOURS:
        seen = pool.DrawCounts(random.Random(seed), choice.plain)
        return [tours.tour(seen, choice.profile) for _ in range(count)]
    if source in (CONCURRENT, REQUESTS):
        rng = random.Random(seed)
        draw = requests.concurrent if source == CONCURRENT else requests.sequential
        return [draw(rng, choice.profile) for _ in range(count)]
    if source in WIRE_PROGRAMS:
        drawn = examples(WIRE_PROGRAMS[source], count, seed)
        return [_dated(steps) for steps in drawn] if source == QUEUES else drawn
    programs = PROGRAMS[source]
    drawn = examples(st.lists(programs.steps, min_size=3, max_size=programs.most), count, seed)
    if source == about.REGISTERED:
        drawn = [_looked_up(steps) for steps in drawn]
    return [_on_the_wire([*programs.first, *steps], choice) for steps in drawn]


def _dated(steps: Sequence[Step]) -> list[Step]:
    """At the end a question for each queue that was sent to: when did its first message come?"""
    sent = dict.fromkeys((args["topic"], args["queue"]) for name, args in steps if name == "send")
    return [*steps, *(("earliest", {"topic": topic, "queue": queue}) for topic, queue in sent)]


def _routes(steps: Sequence[Step]) -> list[Step]:
    """Questions for the routes of the first topics that steps make or change."""
    made = dict.fromkeys(args.get("topic", "A") for name, args in steps if name in ("topic", "send"))
    return [("route", {"topic": topic}) for topic in [*made][:_MOST_ROUTES]]


def _looked_up(steps: Sequence[Step]) -> list[Step]:
    """Behind each registration the routes of what it may have changed."""
    return [one for step in steps for one in (step, ("route", {"topic": "A"}), ("route", {"topic": "B"}))]


def _on_the_wire(steps: Sequence[Step], choice: ProgramOptions) -> list[Step]:
    """The steps that a client can do; where a body should fill a file, it has just some size."""
    made: list[Step] = []
    for name, args in steps:
        if name == "time":
            if not choice.waits or not 0 < args["millis"] <= 1000 or any(n == "time" for n, _ in made):
                continue
            args = {"millis": LONGEST_WAIT}
        if name == "unknown" and args["code"] == codes.PULL_MESSAGE:
            continue
        if name in WIRED:
            made.append((name, {key: value for key, value in args.items() if key not in ("leave", "broker")}))
    return made or [*_SOMETHING]
