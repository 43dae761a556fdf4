"""Programs for a broker on the wire: steps as data, generated from a seed.

A step is a name and its arguments, as `vocabulary.py` lists them. `client` names the client of a step, and `("meet", {})` is a barrier for
all clients.

Half of the programs are drawn from the pool, least frequent phrases first. The others come from these sources, with the
weights of `_shares`:

- the strategies of this package, as far as a client can perform their steps
- requests of the specification, by one or several clients
- tours of the specification's topic tables
- programs for details that only the wire shows

`needs` names the settings of the broker that a program requires, or that the broker may be killed.
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
from .names import is_common_name
from .phrase import WAITING, Phrase
from .settings import ALONE, ASKED, CONFIGURED, ENDED, FLUSHED, LARGE, NO_TEMPLATE, NO_TOPICS, READ_ONLY, STARTED, WRITE_ONLY
from .strategies import PROGRAMS
from .vocabulary import Step
from .wire import HEADERS, LONGEST_WAIT, QUEUES, RETRIED, TEMPLATES, WIRE_PROGRAMS

WIRED: Final = ("send", "back", "end", "unknown", "topic", "group", "register", "unregister", "lose", "time", "route", "earliest", "meet")
"""Steps of simulated clusters that a client can perform too."""

CONCURRENT, REQUESTS, TOURS, POOL = "concurrent requests", "requests", "tours", "what was not seen yet"


@dataclass(frozen=True)
class Program:
    """A program. `source`: a condition of the catalogue or a name above. `needs`: see `settings`."""

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
        """Return the program without the steps of these names."""
        return replace(self, steps=tuple(step for step in self.steps if step[0] not in names)) if names else self

    @property
    def settles(self) -> bool:
        """Whether no effect is delayed: no delayed message, half message, or one-way request."""
        return not (pool.lasts(self.steps) or {name for name, _ in self.steps} & {"back", "time", "end", "crash"})

    @property
    def settings(self) -> Mapping[str, str]:
        return settings.settings_of(self.needs)

    def data(self) -> dict[str, Any]:
        return {"number": self.number, "source": self.source, "needs": self.needs, "steps": [[name, args] for name, args in self.steps]}


@dataclass(frozen=True)
class ProgramOptions:
    """Which programs to generate.

    - `configure`: programs may change settings of a running broker.
    - `start`: brokers can be started with other settings.
    - `end`: brokers can be killed and restarted.
    - `waits`: programs may let seconds pass.
    - `plain`: draw from the pool at random, without counts.
    - `drawn`: some programs have drawn settings.
    """

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
        """The values of `needs` that programs may have."""
        started = [needs for needs in STARTED if self.start and (self.end or needs != ENDED)]
        return ("", *(CONFIGURED if self.configure else ()), *started)


def generate(options: ProgramOptions) -> list[Program]:
    """Return `options.count` programs of all sources, shuffled. The same options give the same programs.

    Programs of the pool keep their relative order: the rarest phrases are drawn first.
    """
    programs: list[Program] = []
    for (source, needs), count in _shares(options).items():
        seed = random.Random(f"{options.seed}/{source}/{needs}").randrange(2**31)
        programs += [Program(0, source, tuple(steps), needs) for steps in _drawn(source, options, count, seed)]
    programs += _pooled(options, options.count - len(programs))
    routed = (READ_ONLY, WRITE_ONLY) if options.name_server else ()
    programs = [
        replace(program, steps=(*program.steps, *_routes(program.steps))) if program.needs in routed else program for program in programs
    ]
    programs = [replace(program, steps=_sparing(program.steps, PROFILES[options.profile])) for program in programs]
    pooled = iter([program for program in programs if program.source == POOL])
    random.Random(options.seed).shuffle(programs)
    programs = [next(pooled) if program.source == POOL else program for program in programs]
    return [Program(number, program.source, program.steps, program.needs) for number, program in enumerate(programs, 1)]


def _sparing(steps: tuple[Step, ...], profile: Profile) -> tuple[Step, ...]:
    """Adapt the steps to what the release can perform safely and predictably.

    Depending on the release's switches, these steps are removed:

    - malformed topic updates that the release answers twice
    - changes of topics that all programs share, if the release permits them
    - granting write permission again (`permit_writes`), if the release cannot do so
    - queries whether a broker has to register (`has_to_register`), if the release does not compare versions
    - ends of transactions, if the release has no half messages and does not answer unknown requests

    If the release does not answer unknown requests, they become one-way.
    """
    if not profile.answers_when_changed:
        steps = tuple(step for step in steps if step[0] != "topic" or not {"without", "altered"} & step[1].keys()) or _SOMETHING
    if not profile.guards_topics:
        steps = (
            tuple(step for step in steps if step[0] not in ("topic", "delete") or not is_common_name(step[1].get("topic", "A")))
            or _SOMETHING
        )
    if not profile.gives_write_permission:
        steps = tuple(step for step in steps if step[0] != "permit_writes" or not step[1].get("permitted")) or _SOMETHING
    if not profile.compares_versions:
        steps = tuple(step for step in steps if step[0] != "has_to_register") or _SOMETHING
    if profile.leaves_unknown and not profile.half_messages:
        steps = tuple(step for step in steps if step[0] != "end") or _SOMETHING
    if profile.leaves_unknown:
        steps = tuple((name, {**args, "one_way": True}) if name == "unknown" else (name, args) for name, args in steps)
    return steps


def _shares(options: ProgramOptions) -> dict[tuple[str, str], int]:
    """Return how many programs each source and configuration gets, for half of all programs.

    Each row of the list below gets the same number of programs. A source or configuration with several rows gets several such shares.
    """
    rows = [(source, "") for source in (about.ANYTHING, TOURS, TOURS, REQUESTS, TEMPLATES, QUEUES, HEADERS, RETRIED, *_CONDITIONS)]
    rows += [(CONCURRENT, "")] * 5 if options.concurrent else []
    rows += [(about.REGISTERED, "")] if options.name_server else []
    for needs in options.needs[1:]:
        rows += {ALONE: [(about.TOO_LARGE, ALONE)] * 2, ASKED: [], ENDED: [], LARGE: [], FLUSHED: []}.get(
            needs, [(about.SENT if needs in STARTED else REQUESTS, needs)]
        )
    rows += [(s, n) for s, n in ((TEMPLATES, NO_TOPICS), (QUEUES, NO_TOPICS), (TEMPLATES, NO_TEMPLATE)) if n in options.needs]
    shares = Counter[tuple[str, str]]()
    for number in range(options.count // 2):
        shares[rows[number % len(rows)]] += 1
    return shares


def _pooled(options: ProgramOptions, count: int) -> list[Program]:
    """Draw `count` programs of the pool.

    Those without a configuration are drawn first because they run first: an interrupted run has then covered the most.
    """
    seen = pool.DrawCounts(random.Random(f"{options.seed}/{POOL}"), options.plain)
    parts = _parts(options)
    drawn = ((needs, _steps_of(seen, parts, needs, checked)) for needs, checked in _turns(options, count, parts))
    return [Program(0, POOL, tuple(steps), needs) for needs, steps in drawn]


@dataclass(frozen=True)
class _Parts:
    """The phrases of the pool by where they may be used.

    - `own`: phrases that need a configuration.
    - `small`, `large`: by the size of their messages, without phrases whose records cannot be read again.
    - `ending`: phrases that end a transaction.
    - `settled`: phrases without delayed effects.
    """

    own: Mapping[str, Sequence[Phrase]]
    small: Sequence[Phrase]
    large: Sequence[Phrase]
    ending: Sequence[Phrase]
    settled: Sequence[Phrase]


def _parts(options: ProgramOptions) -> _Parts:
    phrases = [phrase for phrase in pool.phrases(PROFILES[options.profile]) if _may_be_drawn(phrase, options)]
    free = [phrase for phrase in phrases if not phrase.needs]
    return _Parts(
        own={needs: [phrase for phrase in phrases if phrase.needs == needs] for needs in options.needs if needs},
        small=[phrase for phrase in free if not phrase.unread and not phrase.large],
        large=[phrase for phrase in free if not phrase.unread and phrase.large],
        ending=[phrase for phrase in phrases if any(name == "end" for name, _ in phrase.steps)],
        settled=[phrase for phrase in free if not phrase.lasting],
    )


def _may_be_drawn(phrase: Phrase, options: ProgramOptions) -> bool:
    return (
        (options.name_server or not phrase.server) and (options.waits or not phrase.waits) and (options.concurrent or not phrase.concurrent)
    )


def _turns(options: ProgramOptions, count: int, parts: _Parts) -> list[tuple[str, bool]]:
    """Return the configuration of each program, in the order of drawing; the second value: whether a producer waits for a check.

    Every second program has a configuration, in turn. Slow configurations are rarer.
    """
    profile = PROFILES[options.profile]
    named = [needs for needs in options.needs[1:] if needs not in (ALONE, ASKED, ENDED, LARGE, FLUSHED)]
    turns = [each for needs in (*named, *_drawn_settings(options)) for each in ("", needs)] or [""]
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
        wanted = rare.get(number % every)
        return (wanted if wanted in options.needs else turns[number % len(turns)]), False

    return sorted(map(turn, range(count)), key=lambda chosen: chosen[0] != "")


def _steps_of(seen: pool.DrawCounts, parts: _Parts, needs: str, checked: bool) -> list[Step]:
    """Return the steps of one program. It starts with a phrase that its configuration is meant for."""
    own = parts.own.get(needs, ())
    if needs in (LARGE, FLUSHED):
        return [*pool.filling(seen, parts.large, parts.small), _LAST]
    if needs == ALONE:
        return [step for _ in own for step in pool.program(seen, own, 1)]  # further records would change what is left of the file
    if needs == ENDED:
        return pool.filling(seen, own, ()) if checked else _ending(seen, parts.settled)
    if needs == ASKED:
        return pool.filling(seen, own, parts.ending)  # deleting a topic may delete the half queue too
    return pool.filling(seen, own, parts.small) if own else pool.program(seen, parts.small)


def _ending(seen: pool.DrawCounts, parts: Sequence[Phrase]) -> list[Step]:
    """Return a program without delayed effects that ends with a kill of the process."""
    steps = pool.program(seen, parts)
    while pool.lasts(steps):
        steps = pool.program(seen, parts)
    return [*steps, *_END]


def _drawn_settings(options: ProgramOptions) -> list[str]:
    if not options.drawn:
        return []
    chance = random.Random(f"{options.seed}/settings")
    return settings.drawn(chance, PROFILES[options.profile], options.count, configure=options.configure, start=options.start)


_EVERY_END, _FEWEST_ENDS = 50, 5
"""One program of the pool in 50 kills a process, and one has large messages, because both take long. A run has about 5
of each, if it has that many programs."""
_EVERY_CHECK: Final = 200
"""One program of the pool in 200 has a producer that waits for a check on a broker that may be blocked from sending checks."""
_EVERY_FILL: Final = 40
"""One program of the pool in 40 fills files up to their last bytes, in all ways of the table of boundaries."""
_LAST: Final[Step] = ("send", {"topic": "B"})
"""When this message is in its queue, so is a preceding dead letter, which no response confirms."""
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


def _drawn(source: str, options: ProgramOptions, count: int, seed: int) -> list[list[Step]]:
    if source == TOURS:
        seen = pool.DrawCounts(random.Random(seed), options.plain)
        return [tours.tour(seen, options.profile) for _ in range(count)]
    if source in (CONCURRENT, REQUESTS):
        rng = random.Random(seed)
        draw = requests.concurrent if source == CONCURRENT else requests.sequential
        return [draw(rng, options.profile) for _ in range(count)]
    if source in WIRE_PROGRAMS:
        drawn = examples(WIRE_PROGRAMS[source], count, seed)
        return [_dated(steps) for steps in drawn] if source == QUEUES else drawn
    programs = PROGRAMS[source]
    drawn = examples(st.lists(programs.steps, min_size=3, max_size=programs.most), count, seed)
    if source == about.REGISTERED:
        drawn = [_looked_up(steps) for steps in drawn]
    return [_on_the_wire([*programs.first, *steps], options) for steps in drawn]


def _dated(steps: Sequence[Step]) -> list[Step]:
    """Append a query for the store time of the first message of each queue that got one."""
    sent = dict.fromkeys((args["topic"], args["queue"]) for name, args in steps if name == "send")
    return [*steps, *(("earliest", {"topic": topic, "queue": queue}) for topic, queue in sent)]


def _routes(steps: Sequence[Step]) -> list[Step]:
    """Return route queries for the first topics that the steps create or change."""
    changed = dict.fromkeys(args.get("topic", "A") for name, args in steps if name in ("topic", "send"))
    return [("route", {"topic": topic}) for topic in [*changed][:_MOST_ROUTES]]


def _looked_up(steps: Sequence[Step]) -> list[Step]:
    """Insert route queries for the topics A and B after each step."""
    return [added for step in steps for added in (step, ("route", {"topic": "A"}), ("route", {"topic": "B"}))]


def _on_the_wire(steps: Sequence[Step], options: ProgramOptions) -> list[Step]:
    """Return the steps that a client can perform, adapted to the wire. Without any such step, return a single send.

    - Steps that are not in WIRED, and unknown requests with the code of a pull, are removed.
    - The first wait of at most 1000 ms becomes one of LONGEST_WAIT. Other waits are removed, without `options.waits` all of them.
    - The argument `broker` is removed, because there is a single broker.
    - The argument `leave` is removed, so a body that should fill a file gets its default size.
    """
    kept: list[Step] = []
    for name, args in steps:
        if name == "time":
            if not options.waits or not 0 < args["millis"] <= 1000 or any(n == "time" for n, _ in kept):
                continue
            args = {"millis": LONGEST_WAIT}
        if name == "unknown" and args["code"] == codes.PULL_MESSAGE:
            continue
        if name in WIRED:
            kept.append((name, {key: value for key, value in args.items() if key not in ("leave", "broker")}))
    return kept or [*_SOMETHING]
