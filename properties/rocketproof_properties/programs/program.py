"""Programs for a broker on the wire: steps as data, generated from a seed.

A step is a name and its arguments, as `vocabulary.py` lists them. `client` names the client of a step, and `("meet", {})` is a barrier for
all clients. `needs` names the settings of the broker that a program requires, or that the broker may be killed.

There is one generator: the choice of `pool.py` by what was drawn least. The number of a program decides from what it chooses:

- every fourth program: the selection of a condition of the catalogue, in turn
- one in 67: phrases that begin before a restart of the broker and end after it
- one in 20: walks through the state graphs of the specification's small scopes (`cover/walks.py`)
- the others: all phrases of the pool, half of them with settings of their own

A program depends on the seed, its number and the options other than `count`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.numbers import whole_number

from ..catalogue import conditions as about
from . import boundaries, pool, settings
from .cover.walks import walk
from .names import is_common_name
from .phrase import WAITING, Phrase
from .phrases import CLOCKS, CORRUPTIONS
from .selections import OTHERS, SELECTIONS, Selection
from .settings import ALONE, ASKED, CONFIGURED, ENDED, FLUSHED, LARGE, ORDERED, READ_ONLY, STARTED, WHEEL, WRITE_ONLY
from .values import LONGEST_WAIT
from .vocabulary import ENDS_PROCESS, Step, arguments

WALKS, POOL, SPLIT = "walks", "what was not seen yet", "around a restart"


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

    @property
    def restarts(self) -> bool:
        """Whether a broker's process ends and starts again."""
        return any(name in ENDS_PROCESS for name, _ in self.steps)

    def without(self, names: Collection[str]) -> Program:
        """Return the program without the steps of these names."""
        return replace(self, steps=tuple(step for step in self.steps if step[0] not in names)) if names else self

    @property
    def settles(self) -> bool:
        """Whether no effect is delayed: no delayed message, half message, or one-way request."""
        return not (pool.lasts(self.steps) or {name for name, _ in self.steps} & {"back", "time", "end", *ENDS_PROCESS})

    @property
    def settings(self) -> Mapping[str, str]:
        return settings.settings_of(self.needs)

    def data(self) -> dict[str, Any]:
        return {"number": self.number, "source": self.source, "needs": self.needs, "steps": [[name, args] for name, args in self.steps]}


@dataclass(frozen=True)
class ProgramOptions:
    """Which programs to generate.

    - `configure`: programs may change settings of a running broker.
    - `start`: brokers can be started with other settings, with `start_name_server` also name servers.
    - `stop`: brokers can be stopped gracefully and restarted.
    - `end`: brokers can be killed and restarted. `corrupt`: their files can be changed meanwhile. `clocks`: they can start with another
      clock. Both take effect only with `end`.
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
    start_name_server: bool = True
    stop: bool = False
    end: bool = False
    corrupt: bool = False
    clocks: bool = False
    waits: bool = True
    concurrent: bool = True
    plain: bool = False
    drawn: bool = True

    @property
    def needs(self) -> tuple[str, ...]:
        """The values of `needs` that programs may have."""
        excluded = {*([] if self.end else [ENDED]), *([] if self.start_name_server and self.name_server else [ORDERED])}
        started = [needs for needs in STARTED if self.start and needs not in excluded]
        return ("", *(CONFIGURED if self.configure else ()), *started)


def generate(options: ProgramOptions) -> list[Program]:
    """Return `options.count` programs, numbered from 1. A smaller count gives the first of them."""
    draw = _Generator(options).program
    return [draw(number) for number in range(1, options.count + 1)]


class _Generator:
    """Draws the programs of a seed in the order of their numbers.

    Programs without settings of their own run first. They are drawn by their own counts, so that an interrupted run has covered the most.
    The others take the phrases that neither have.
    """

    def __init__(self, options: ProgramOptions) -> None:
        self.options, self.profile = options, PROFILES[options.profile]
        phrases = [each for each in pool.phrases(self.profile) if _may_be_drawn(each, options)]
        free = [each for each in phrases if not each.needs]
        self.own = {needs: [each for each in phrases if each.needs == needs] for needs in options.needs if needs}
        self.small = [each for each in free if not each.unread and not each.large]
        self.large = [each for each in free if not each.unread and each.large]
        self.arriving, self.kept = ([each for each in self.small if _may_be_split(each) and each.lasting == late] for late in (True, False))
        self.ending = [each for each in phrases if any(name == "end" for name, _ in each.steps)]
        self.settled = [each for each in free if not each.lasting]
        self.plain = self._counts(POOL)
        self.configured = self._counts(f"{POOL}/settings", self.plain)
        self.walked = self._counts(WALKS)
        self.split = self._counts(SPLIT)
        self.ended = self._counts(ENDED)
        changed, reset = [CORRUPTIONS] * options.corrupt, [CLOCKS] * options.clocks
        self.endings = itertools.cycle([(), *changed, *reset, *changed])
        self.selections = [*self._selections()]
        self.of_selection = {row: self._counts("/".join(row)) for row in self.selections}
        self.named = [each for each in options.needs[1:] if each not in (ALONE, ASKED, ENDED, LARGE, FLUSHED, WHEEL)]
        self.blocks = self._blocks()
        self.block: Sequence[str] = ()

    def _counts(self, name: str, before: pool.DrawCounts | None = None) -> pool.DrawCounts:
        chance = random.Random(f"{self.options.seed}/{name}")
        return pool.DrawCounts(chance, self.options.plain) if before is None else pool.DrawCounts(chance, self.options.plain, before.counts)

    def _selections(self) -> Iterator[tuple[str, str]]:
        """Yield the condition and the settings of each selection that the target can perform."""
        yield from ((condition, "") for condition in _CONDITIONS if self.options.name_server or condition != about.REGISTERED)
        yield from (row for row in _CONFIGURED_CONDITIONS if row[1] in self.options.needs)

    def _blocks(self) -> Iterator[Sequence[str]]:
        """Yield the drawn settings for each 100 programs."""
        deal = settings.dealt(
            random.Random(f"{self.options.seed}/settings"),
            self.profile,
            configure=self.options.configure,
            start=self.options.start,
            start_name_server=self.options.start_name_server and self.options.name_server,
        )
        while True:
            yield next(deal) if self.options.drawn else ()

    def program(self, number: int) -> Program:
        """Return the program with this number. Numbers are asked for in turn, from 1 on."""
        turn = number - 1
        if turn % settings.PROGRAMS_PER_START == 0:
            self.block = next(self.blocks)
        if turn % _EVERY_CONDITION == _EVERY_CONDITION - 1:
            source, needs = self.selections[turn // _EVERY_CONDITION % len(self.selections)]
            steps = self._selected(source, needs)
        else:
            source, needs, steps = self._pooled(turn - turn // _EVERY_CONDITION)
        if self.options.name_server and needs in (READ_ONLY, WRITE_ONLY):
            steps = [*steps, *_routes(steps)]
        return Program(number, source, _sparing(tuple(steps), self.profile), needs)

    def _selected(self, source: str, needs: str) -> list[Step]:
        seen, selection = self.of_selection[source, needs], SELECTIONS[source]
        if needs == ALONE:
            return pool.program(seen, OTHERS[source], 8, 3)
        steps = selected(selection, seen, selection.performed)
        return _on_the_wire([*_looked_up(steps)] if source == about.REGISTERED else steps, self.options)

    def _pooled(self, turn: int) -> tuple[str, str, list[Step]]:
        """Return source, settings and steps of a program of the pool; `turn` counts these from 0 on."""
        if turn % _EVERY_WALK == _EVERY_WALK - 1:
            options = self.options
            return WALKS, "", walk(self.walked, options.profile, name_server=options.name_server, waits=options.waits)
        if self.options.stop and (turn % _EVERY_END == _OF_STOP[0] or turn in _OF_STOP):
            return SPLIT, "", _around_restart(self.split, *[self.arriving, self.kept] * _PAIRS_SPLIT)
        needs = self._needs(turn)
        draw = partial(pool.filling, self.configured)
        if not needs:
            steps = pool.program(self.plain, self.small)
        elif needs in (LARGE, FLUSHED):
            steps = [*draw(self.large, self.small), _LAST]
        elif needs == ALONE:  # further records would change what is left of the file
            steps = [step for _ in self.own[ALONE] for step in pool.program(self.configured, self.own[ALONE], 1)]
        elif needs == ENDED:
            steps = draw(self.own[ENDED], ()) if turn % _EVERY_CHECK == _EVERY_CHECK - 1 else self._ending()
        elif needs == ASKED:  # deleting a topic may delete the half queue too
            steps = [_answered(step) for step in draw(self.own[ASKED], self.ending) if not _may_be_unanswered(step)]
        elif needs == ORDERED:  # no topic of the broker
            steps = draw(self.own[ORDERED], self.own[ORDERED])
        elif needs == WHEEL and self.options.stop and turn % _EVERY_END == _OF_WHEEL[-1]:
            steps = _around_restart(self.split, [each for each in self.own[WHEEL] if _may_be_split(each)])
        else:
            steps = draw(self.own[needs], self.small) if self.own.get(needs) else pool.program(self.configured, self.small)
        return POOL, needs, steps

    def _needs(self, turn: int) -> str:
        """Return the settings of a program of the pool. Slow settings are rare, but the first of them come early."""
        if turn % _EVERY_CHECK == _EVERY_CHECK - 1 and self.own.get(ENDED):
            return ENDED
        if turn % _EVERY_FILL == _EVERY_FILL - 1 and self.own.get(ALONE):
            return ALONE
        rare = {0: ENDED, _EVERY_END // 2: FLUSHED if self.profile.rechecks_after_flush else LARGE}
        rare |= {_EVERY_END // 4: ASKED} if self.own.get(ASKED) and self.profile.half_messages else {}
        rare |= dict.fromkeys(_OF_WHEEL, WHEEL) if self.own.get(WHEEL) else {}
        needs = rare.get(turn % _EVERY_END) or (ENDED if turn < _EVERY_END and turn % (_EVERY_END // 5) == 0 else "")
        if needs and needs in self.options.needs:
            return needs
        at, with_settings = divmod(turn, 2)
        kinds = [kind for kind in (self.named, self.block if turn >= _FIRST_DRAWN else ()) if kind] if with_settings else []
        if not kinds:
            return ""
        kind = kinds[at % len(kinds)]
        return kind[at // len(kinds) % len(kind)]

    def _ending(self) -> list[Step]:
        """Return a program without delayed effects that ends with a kill of the process, or with a restart on changed files or times."""
        steps = pool.program(self.configured, self.settled)
        while pool.lasts(steps):
            steps = pool.program(self.configured, self.settled)
        phrases = next(self.endings)
        if any(map(boundaries.unread, pool.requests(steps, self.profile))):  # it is chance what a start finds behind such a record
            return [*steps, *_END]
        return [*steps, _LAST, *pool.program(self.ended, phrases, _MOST_CHANGES)] if phrases else [*steps, *_END]


def _may_be_drawn(phrase: Phrase, options: ProgramOptions) -> bool:
    return (
        (options.name_server or not phrase.server) and (options.waits or not phrase.waits) and (options.concurrent or not phrase.concurrent)
    )


def _may_be_split(phrase: Phrase) -> bool:
    """Return whether a broker may be stopped between the steps of a phrase: there are several, of one client, and each has a response."""
    silent = any(any(values.get("one_way", ())) or name == "lose" for name, values in phrase.steps if name != "end")
    return len(phrase.steps) > 1 and not (phrase.concurrent or phrase.server or silent)


def _may_be_unanswered(step: Step) -> bool:
    """Return whether the step is a one-way request with a changed field: a broker does not answer an end that decides nothing."""
    return "altered" in step[1] and bool(arguments(step).get("one_way"))


def _answered(step: Step) -> Step:
    """Return the step with a response to its request. After a one-way request it is open which half message a producer is asked about, and
    no response of such a program is compared."""
    name, given = step
    return (name, {**given, "one_way": False}) if arguments(step).get("one_way") else step


def _around_restart(seen: pool.DrawCounts, *pools: Sequence[Phrase]) -> list[Step]:
    """Return a program that begins a phrase of each pool, restarts the broker, and then ends the phrases.

    A graceful restart keeps whatever was acknowledged or begun (REC-03, REC-04, PER-04): queries, offsets and queues continue, and
    delayed messages, half messages, messages sent back and timers arrive afterwards.
    """
    before, after = list[Step](), list[Step]()
    for phrases in pools:
        steps = pool.program(seen, phrases, 1)
        at = seen.chance.randrange(1, len(steps))
        before += steps[:at]
        after += steps[at:]
    waits = [number for number, (name, _) in enumerate(after) if name == "time"]
    return [*before, ("restart", {}), *(step for number, step in enumerate(after) if number not in waits[_MOST_WAITS:])]


def selected(selection: Selection, seen: pool.DrawCounts, phrases: Sequence[Phrase] | None = None) -> list[Step]:
    """Return a program of a selection. `phrases`: those to draw from; all, for a simulated cluster, if None."""
    drawn = pool.program(seen, selection.phrases if phrases is None else phrases, selection.most, selection.least)
    return [*selection.first, *drawn]


def others(name: str, count: int, seed: int, first: int) -> list[Program]:
    """Return `count` programs of a selection of `OTHERS`, numbered from `first` on. Equal seeds give equal programs."""
    seen = pool.DrawCounts(random.Random(f"{seed}/{name}"))
    return [Program(number, name, tuple(pool.program(seen, OTHERS[name]))) for number in range(first, first + count)]


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


_EVERY_CONDITION: Final = 4
"""One program in four is of a condition of the catalogue."""
_EVERY_WALK: Final = 15
_EVERY_END: Final = 50
"""One program of the pool in 50 kills a process, and one has large messages, because both take long. Four more of the first 50 kill one."""
_OF_WHEEL: Final = (17, 37)
"""Of 50 programs of the pool, those with a timer wheel, in releases that have one."""
_FIRST_DRAWN: Final = 45
"""The first program of the pool with drawn settings: a short run starts no broker with them."""
_OF_STOP: Final = (13, 4, 22, 32, 42)
"""Of 50 programs of the pool, the one around a restart, and four more of the first 50."""
_PAIRS_SPLIT: Final = 2
_MOST_WAITS: Final = 2
_EVERY_CHECK: Final = 200
"""One program of the pool in 200 has a producer that waits for a check on a broker that may be blocked from sending checks."""
_EVERY_FILL: Final = 40
"""One program of the pool in 40 fills files up to their last bytes, in all ways of the table of boundaries."""
_LAST: Final[Step] = ("send", {"topic": "B"})
"""When this message is in its queue, so is a preceding dead letter, which no response confirms."""
_END: Final[tuple[Step, ...]] = (_LAST, ("crash", {}))
_SOMETHING: Final[tuple[Step, ...]] = (("send", {}),)
_MOST_ROUTES: Final = 3
_MOST_CHANGES: Final = 2

_CONDITIONS: Final = (
    about.ANYTHING, about.PLAIN, about.SENT, about.DELAYED, about.HALF_ONES, about.HALF_DELAYED, about.AT_LIMIT, about.SENT_BACK,
    about.GIVEN_UP, about.NO_RETRY, about.UNKNOWN, about.BY_NAME, about.REGISTERED,
)  # fmt: skip
_CONFIGURED_CONDITIONS: Final = (
    (about.TOO_LARGE, ALONE), (about.SENT, "synchronous flush"), (about.TOO_LARGE, ALONE), (about.SENT, "synchronous replication"),
)  # fmt: skip


def _routes(steps: Sequence[Step]) -> list[Step]:
    """Return route queries for the first topics that the steps create or change."""
    changed = dict.fromkeys(args.get("topic", "A") for name, args in steps if name in ("topic", "send"))
    return [("route", {"topic": topic}) for topic in [*changed][:_MOST_ROUTES]]


def _looked_up(steps: Sequence[Step]) -> list[Step]:
    """Insert route queries for the topics A and B after each step."""
    return [added for step in steps for added in (step, ("route", {"topic": "A"}), ("route", {"topic": "B"}))]


def _on_the_wire(steps: Sequence[Step], options: ProgramOptions) -> list[Step]:
    """Adapt steps of a simulated cluster to the wire. Without any step left, return a single send.

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
        kept.append((name, {key: value for key, value in args.items() if key not in ("leave", "broker")}))
    return kept or [*_SOMETHING]
