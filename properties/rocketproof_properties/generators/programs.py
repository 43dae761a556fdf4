"""Programs for a broker on the wire: steps as data, made from a seed.

A step is a name and its arguments, as `steps/vocabulary.py` lists them; `client` says who does it, and `("meet", {})` lets all clients
wait for each other. Programs come from the strategies beside them, as far as a client can do their steps; from
the specification's requests, by one client or by several at a time; and from what only a wire shows. A program that needs a
setting of the whole broker says so in `needs`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from rocketproof_model.interpreter import initial
from rocketproof_model.specification import build, constants
from rocketproof_protocol import codes
from rocketproof_protocol.topics import RETRY_PREFIX, SCHEDULE, TEMPLATE

from ..catalogue import conditions as about
from ..steps.vocabulary import Step
from .draws import BACKEND
from .offers import Offers
from .strategies import PROGRAMS

WIRED: Final = ("send", "back", "end", "unknown", "topic", "group", "register", "unregister", "lose", "time", "route", "meet")
"""The steps that a client can do."""

LONGEST_WAIT: Final = 2500
"""Milliseconds that a step may let pass: enough for the first delay level."""

MOST_CLIENTS: Final = 8
_CHUNK: Final = 50  # programs that Hypothesis draws at a time

FUTURE: Final = "a start in the future"
CONFIGURED: Final[Mapping[str, Mapping[str, str]]] = {
    "no automatic groups": {"autoCreateSubscriptionGroup": "false"},
    "no write permission": {"brokerPermission": "4"},
    "no transactional messages": {"rejectTransactionMessage": "true"},
    "no trace": {"traceOn": "false"},
    FUTURE: {"startAcceptSendRequestTimeStamp": "4102444800000"},
    "no automatic topics": {"autoCreateTopicEnable": "false"},
}
"""Settings of a running broker that some programs need, by what they are called. The last one leaves a mark: once it was off, the
template gives no topics until the broker is started anew."""

ALONE: Final = "small files"
"""Programs that fill files up to their last bytes: nothing else is sent meanwhile."""
SMALL_FILE: Final = 65_536
NARROW: Final = "no cluster topic"
STARTED: Final[Mapping[str, Mapping[str, str]]] = {
    ALONE: {"mappedFileSizeCommitLog": str(SMALL_FILE)},
    "synchronous flush": {"flushDiskType": "SYNC_FLUSH"},
    "synchronous replication": {"brokerRole": "SYNC_MASTER"},
    "no template": {"autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "false"},
    NARROW: {"clusterTopicEnable": "false", "defaultTopicQueueNums": "3"},
}
"""Settings that some programs need a broker to be started with."""

CONCURRENT, REQUESTS, TEMPLATES = "concurrent requests", "requests", "templates of every kind"
QUEUES, HEADERS, RETRIED = "queues of every number", "headers of every kind", "retry topics of every kind"


@dataclass(frozen=True)
class Program:
    """`source` is where it comes from: a condition of the catalogue's programs, or a name above. `needs` names a row of CONFIGURED or
    STARTED."""

    number: int
    source: str
    steps: tuple[Step, ...]
    needs: str = ""

    @property
    def clients(self) -> int:
        return 1 + max((int(args.get("client", 0)) for _, args in self.steps), default=0)

    @property
    def concurrent(self) -> bool:
        return self.clients > 1

    @property
    def waits(self) -> bool:
        return any(name == "time" for name, _ in self.steps)

    @property
    def settings(self) -> Mapping[str, str]:
        return {**CONFIGURED, **STARTED}[self.needs] if self.needs else {}

    def data(self) -> dict[str, Any]:
        return {"number": self.number, "source": self.source, "needs": self.needs, "steps": [[name, args] for name, args in self.steps]}


@dataclass(frozen=True)
class Choice:
    """What programs to make. `configure`: settings of a running broker may be changed; `start`: brokers can be started with others;
    `waits`: programs may let seconds pass."""

    profile: str
    count: int
    seed: int = 0
    configure: bool = False
    name_server: bool = True
    start: bool = False
    waits: bool = True
    concurrent: bool = True


def generate(choice: Choice) -> list[Program]:
    """So many programs, each source by its weight; the same seed gives the same ones."""
    shares = _shares(choice)
    made: list[Program] = []
    for (source, needs), count in shares.items():
        seed = random.Random(f"{choice.seed}/{source}/{needs}").randrange(2**31)
        steps = _drawn(source, choice, count, seed)
        made += [Program(0, source, tuple(one), needs) for one in steps]
    random.Random(choice.seed).shuffle(made)
    return [Program(number, one.source, one.steps, one.needs) for number, one in enumerate(made, 1)]


def _shares(choice: Choice) -> dict[tuple[str, str], int]:
    """How many of each source and configuration; rounding makes a few more or less, which the general programs take up."""
    weights: dict[tuple[str, str], int] = {
        (about.ANYTHING, ""): 24,
        (REQUESTS, ""): 10,
        (TEMPLATES, ""): 12,
        (QUEUES, ""): 8,
        (HEADERS, ""): 6,
        (RETRIED, ""): 6,
    }
    if choice.concurrent:
        weights[CONCURRENT, ""] = 12
    for condition in _CONDITIONS:
        weights[condition, ""] = 4
    if choice.name_server:
        weights[about.REGISTERED, ""] = 6
    if choice.configure:
        for needs in CONFIGURED:
            weights[about.ANYTHING, needs] = 2
            weights[REQUESTS, needs] = 2
    if choice.start:
        weights[about.TOO_LARGE, ALONE] = 8
        for needs in [one for one in STARTED if one != ALONE]:
            weights[about.SENT, needs] = 2
            weights[about.ANYTHING, needs] = 2
    for source, needs in ((TEMPLATES, "no automatic topics"), (QUEUES, "no automatic topics"), (TEMPLATES, "no template")):
        if choice.configure if needs in CONFIGURED else choice.start:
            weights[source, needs] = 3
    total = sum(weights.values())
    shares = {key: choice.count * weight // total for key, weight in weights.items()}
    shares[about.ANYTHING, ""] += choice.count - sum(shares.values())
    return {key: count for key, count in shares.items() if count}


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


def _drawn(source: str, choice: Choice, count: int, seed: int) -> list[list[Step]]:
    if source in (CONCURRENT, REQUESTS):
        rng = random.Random(seed)
        draw = _concurrent if source == CONCURRENT else _sequential
        return [draw(rng, choice.profile) for _ in range(count)]
    if source in _OWN:
        return _examples(_OWN[source], count, seed)
    programs = PROGRAMS[source]
    drawn = _examples(st.lists(programs.steps, min_size=3, max_size=programs.most), count, seed)
    if source == about.REGISTERED:
        drawn = [_looked_up(steps) for steps in drawn]
    return [_on_the_wire([*programs.first, *steps], choice) for steps in drawn]


def _looked_up(steps: Sequence[Step]) -> list[Step]:
    """Behind each registration the routes of what it may have changed."""
    return [one for step in steps for one in (step, ("route", {"topic": "A"}), ("route", {"topic": "B"}))]


def _examples(strategy: st.SearchStrategy[list[Step]], count: int, seed: int) -> list[list[Step]]:
    """So many examples; where Hypothesis knows no further ones, those it has are taken again."""
    found: list[list[Step]] = []
    while len(found) < count:
        wanted = min(_CHUNK, count - len(found))
        chosen = settings(
            max_examples=wanted,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            verbosity=Verbosity.quiet,
            backend=BACKEND,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        )
        found += _batch(chosen, strategy, seed + len(found))[:wanted]
    return found


def _batch(chosen: settings, strategy: st.SearchStrategy[list[Step]], seed: int) -> list[list[Step]]:
    found: list[list[Step]] = []

    def keep(steps: list[Step]) -> None:
        found.append(steps)

    seeded(seed)(chosen(given(strategy)(keep)))()
    return found


def _on_the_wire(steps: Sequence[Step], choice: Choice) -> list[Step]:
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
    return made or [("send", {})]


# Requests of the specification


@cache
def _alphabet(scope: str, profile: str) -> tuple[tuple[str, ...], dict[str, list[dict[str, Any]]]]:
    """The classes of the scope's topics, and the requests and topic updates that its guards allow, by the parameters' names."""
    specification = build(scope)
    switches = {"update_budget": -1} if specification.scope.updates else {}
    instance = specification.model.given(**constants(profile, **switches))
    enabled = Offers(instance).enabled(initial(instance))
    found: dict[str, list[dict[str, Any]]] = {}
    for name in ("request", "update_topic"):
        if name in enabled:
            types = specification.model.named(name).parameters
            found[name] = [{n: t.decode(code) for (n, t), code in zip(types.items(), args, strict=True)} for args in enabled[name]]
    return specification.scope.topics, found


_KINDS = {"not": 0, "prepared": 4, "commit": 8, "rollback": 12}
BY_CLASS: Final[Mapping[str, str]] = {
    "template": TEMPLATE,
    "cluster": "DefaultCluster",
    "retry": f"{RETRY_PREFIX}g",
    "forbidden": SCHEDULE,
    "blank": "  ",
    "illegal": "a b",
    "long": "x" * 128,
}
_UNIT = 200  # bytes of a body for a unit of the specification's sizes


def _request(scope: str, profile: str, rng: random.Random, client: int) -> Step:
    topics, alphabet = _alphabet(scope, profile)
    name = "update_topic" if "update_topic" in alphabet and rng.random() < 0.2 else "request"
    values = rng.choice(alphabet[name])

    def topic(number: int) -> str:
        return BY_CLASS.get(topics[number], "A")

    more = {"client": client} if client else {}
    if name == "update_topic":
        return "topic", {"topic": topic(values["t"]), "read": values["read"], "write": values["write"], "perm": values["perm"], **more}
    return "send", {
        "topic": topic(values["t"]),
        "default": topic(values["d"]),
        "nums": values["numbers"],
        "queue": values["queue"],
        "sys_flag": _KINDS[values.get("kind", "not")],
        "body": "a",
        "size": _UNIT * values.get("size", 1),
        **more,
    }


def _sequential(rng: random.Random, profile: str) -> list[Step]:
    scope = rng.choice(("names", "names", "creation", "store"))
    steps = [_request(scope, profile, rng, 0) for _ in range(rng.randint(2, 8))]
    for _ in range(rng.randint(0, 2)):
        steps.insert(rng.randint(0, len(steps)), ("route", {"topic": "A"}))
    return steps


def _concurrent(rng: random.Random, profile: str) -> list[Step]:
    """First sends by several clients at once, in rounds between which they meet."""
    scope = rng.choice(("creation", "creation", "store"))
    clients = rng.choice((2, 2, 2, 3, 3, 4, 4, 6, MOST_CLIENTS))
    steps: list[Step] = []
    for _ in range(rng.randint(1, 3)):
        steps += [_request(scope, profile, rng, client) for client in range(clients) for _ in range(rng.randint(1, 3))]
        steps.append(("meet", {}))
    if rng.random() < 0.5:
        steps.append(("route", {"topic": "A"}))
    return steps


# What only a wire shows


def _step(name: str, **choices: Sequence[Any]) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(name), st.fixed_dictionaries({key: st.sampled_from(values) for key, values in choices.items()}))


_planned = _step(
    "topic",
    topic=("T", "T", "A", f"{RETRY_PREFIX}g"),
    read=(8, 4, 2, 1, 0),
    write=(8, 4, 2, 1, 0),
    perm=(7, 7, 6, 15, 3, 1, 5, 4),
    filter_type=("SINGLE_TAG", "SINGLE_TAG", "MULTI_TAG"),
    sys_flag=(0, 0, 1, 2),
    order=(False, False, True),
)
_from_template = _step(
    "send",
    topic=("A", "A", "B", "C", f"{RETRY_PREFIX}g", "T"),
    default=("T", "T", "T", TEMPLATE, "DefaultCluster", "SELF_TEST_TOPIC", "nowhere"),
    nums=(4, 1, 2, 3, 8, 9, 0, -1, -3),
    queue=(0, 0, 1, 2, 3, 4, 7, 8, -1, -1, -2),
    unit=(False, False, True),
    times=(0, 0, 1, 16),
    body=("a", "b"),
)
_look = _step("route", topic=("A", "B", "T", "nowhere", TEMPLATE))
_group = _step("group", group=("g", "h"), queues=(1, 2, 4, 0), retries=(16, 2, 0))
_given_back = _step("back", record=range(6), group=("g", "h"), level=(0, 0, 1, 3, 30, -1), most=(16, None, 1, 0), version=(399, 120))
_nameless = _step("back", record=range(6), level=(0, 1, -1), most=(16, 0), named=(False,))
_to_retry = _step(
    "send",
    topic=(f"{RETRY_PREFIX}g", f"{RETRY_PREFIX}g", f"{RETRY_PREFIX}h"),
    default=("nowhere", "nowhere", "T", TEMPLATE),
    nums=(4, 1, 2, 8),
    queue=(0, 0, 1, 2, 3, -1),
    unit=(False, True),
    times=(0, 1, 2, 16),
    body=("a", "b"),
)
_odd = _step(
    "send",
    topic=("A", "A", "%RETRY%g", "%DLQ%g", "a" * 120, "ä", "a.b", "a\n", "%a|b", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "BenchmarkTest"),
    without=(None, None, None, "producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "properties"),
    altered=(None, None, None, ("queueId", "x"), ("queueId", "2147483648"), ("batch", "TRUE"), ("unitMode", "1"), ("flag", "")),
    code=(310, 10),
    most=(16, None, 3),
    times=(0, 3, 16),
    version=(399, 121, 120),
    properties=({}, {"p": "v" * 32760}, {"p": "v" * 32700}, {"p": "ä" * 16380}, {"p": "ä" * 16300}, {"WAIT": "false", "KEYS": "k"}),
    body=("a", "", None),
)


_long = _step(
    "send",
    topic=("A", "%RETRY%g"),
    properties=({"p": "v" * 32768}, {"p": "v" * 32760}, {"p": "v" * 32700}, {"p": "ä" * 16380}, {"p": "ä" * 16300}),
    nums=(4, 1),
    body=("a", "", None),
)


def _lists(first: int, most: int, *choices: tuple[int, st.SearchStrategy[Step]]) -> st.SearchStrategy[list[Step]]:
    weighted = [one for weight, one in choices for _ in range(weight)]
    return st.lists(st.sampled_from(weighted).flatmap(lambda one: one), min_size=first, max_size=most)


_planned_counts = _step("topic", topic=("A", "A", f"{RETRY_PREFIX}g"), read=(8, 4, 2, 1, 0), write=(8, 4, 2, 1, 0), perm=(6, 6, 4, 2, 7))
_to_queue = _step(
    "send",
    topic=("A", "A", f"{RETRY_PREFIX}g"),
    queue=(*range(9), -1, -2),
    times=(0, 15, 16),
    properties=({}, {"WAIT": "true"}),
    body=("a",),
)
_large = _step("send", topic=("A",), body=("",), size=(10, 20_000, 30_000, 60_000, 65_000, 65_536, 70_000), queue=(0, 1))
_filling = _step("send", topic=("A",), body=("",), size=(10,), leave=(0, 1, 4, 7, 8, 9, 12, 100), queue=(0,))

_OWN: Mapping[str, st.SearchStrategy[list[Step]]] = {
    about.TOO_LARGE: _lists(3, 8, (1, _large), (2, _filling)),
    QUEUES: _lists(3, 10, (1, _planned_counts), (4, _to_queue), (1, _group), (1, _given_back)),
    TEMPLATES: _lists(3, 10, (2, _planned), (6, _from_template), (1, _look), (1, _group), (1, _given_back)),
    RETRIED: _lists(2, 8, (2, _group), (5, _to_retry), (1, _given_back)),
    HEADERS: _lists(2, 6, (8, _odd), (2, _long), (2, _given_back), (1, _nameless)),
}
