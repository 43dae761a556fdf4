"""The interpreter of the explorer's page agrees with Python's: generated models, the specification's scopes, and the example models."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pytest
from fair_models import fair_models
from generated_models import Case, generated, models
from hypothesis.strategies import SearchStrategy
from page_model import Page, claims, reachable, same_expressions, same_states, same_truths, some_paths
from sifted_models import sifted_models
from symmetric_models import symmetric_models
from test_tla import COUNTS, instance

from nonempty import nonempty
from proportion import few, in_proportion
from rocketproof_model import Bool, Instance, Int, Maybe, Model, SeqOf, SetOf, java_abs, wrap32
from rocketproof_model.interpreter import State
from rocketproof_model.language import Model as LanguageModel
from rocketproof_model.language import show, walk
from rocketproof_profiles import PROFILES
from rocketproof_spec import NAMES
from rocketproof_traces.witness.reached import reached

STATES = 25  # of a generated model, and of a scope in the default tests
KINDS = {
    "plain": models,
    "faulty": partial(models, faulty=True),
    "symmetric": symmetric_models,
    "symmetric, faulty": partial(symmetric_models, faulty=True),
    "sifted": sifted_models,
    "fair": fair_models,
}
MAIN = ("P49", "P494", "P533")
"""Every state of a small scope is compared under these profiles. Under the other profiles a sample is."""
SMALL = 20_000  # states of a small scope
SAMPLE, FEW = 300, 20  # states of a larger scope, and of a scope under another profile
WORDS = re.findall(
    r"\S+", "0 1 2 True None ( ) [ ] { } , == != < in not ~ & | + - * % .get .is_none .size ' if else rem( after( some( sum("
)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with Page() as page:
        yield page


def same_model(page: Page, made: Instance, states: Sequence[tuple[int, ...]], seed: int) -> None:
    first, *others = claims(made)
    same_states(page, made, first, states)
    for claim in others:
        same_states(page, made, claim, states[:3], rows=False)
    for path in some_paths(made, seed, 6):
        same_truths(page, path)
    same_expressions(page, made, states[:8], list(texts(made.model, random.Random(seed))))


def texts(model: LanguageModel, rng: random.Random, most: int = 12) -> Iterator[str]:
    """Yield some terms of a model as text, and each with one or two parts changed: most of these are refused, or have other values."""
    terms = [*(g.condition for a in model.actions for g in a.guards), *(c.formula for c in model.properties)]
    closed = [e for e in walk(*terms) if not any(leaf.op in ("par", "free") for leaf in walk(e))]
    for shown in map(show, rng.sample(closed, min(most, len(closed)))):
        yield shown
        parts = re.findall(r"\w+|\s+|[^\w\s]", shown)
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(parts))
            parts[at : at + rng.randint(0, 1)] = [rng.choice([*WORDS, *(v.name for v in model.variables)])][: rng.randint(0, 1)]
            parts = parts or ["0"]
        yield "".join(parts)


@pytest.mark.parametrize("kind", KINDS)
def test_page_agrees_about_generated_models(kind: str, page: Page) -> None:
    _agree(page, KINDS[kind](), 1, in_proportion(3))


@pytest.mark.nightly
@pytest.mark.parametrize("group", range(10))
@pytest.mark.parametrize("kind", KINDS)
def test_page_agrees_about_many_generated_models(kind: str, group: int, page: Page) -> None:
    _agree(page, KINDS[kind](), 100 + group, 90)


def _agree(page: Page, strategy: SearchStrategy[Case], seed: int, examples: int) -> None:
    @generated(seed, examples, strategy)
    def agree(case: Case) -> None:
        same_model(page, case.instance, reachable(case.instance, STATES), seed)

    agree()


def _turns() -> list[tuple[str, str, str]]:
    """Return all scopes. Those of the specification take turns at the profiles, so that a sample has each of them."""
    return [("specification", scope, MAIN[turn % len(MAIN)]) for turn, scope in enumerate(NAMES)] + [(*one, "") for one in COUNTS]


@pytest.mark.parametrize(("name", "scope", "profile"), few(_turns(), 4))
def test_page_agrees_about_first_states(name: str, scope: str, profile: str, page: Page) -> None:
    made = instance(name, scope, profile)
    same_model(page, made, reachable(made, STATES if name != "specification" else 6), 1)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "scope"), COUNTS)
def test_page_agrees_about_every_state_of_gallery(name: str, scope: str, page: Page) -> None:
    made = instance(name, scope)
    states = reached(made, COUNTS[name, scope][1]).states
    assert len(states) == COUNTS[name, scope][1]
    _same_in(page, made, states)


@pytest.mark.nightly
@pytest.mark.parametrize("scope", NAMES)
def test_page_agrees_about_every_state_of_small_scopes(scope: str, page: Page) -> None:
    for made in _different(scope, MAIN):
        found = reached(made, SMALL)
        _same_in(page, made, found.states if found.complete else _spread(found.states, SAMPLE))


@pytest.mark.nightly
@pytest.mark.parametrize("scope", NAMES)
def test_page_agrees_under_every_profile(scope: str, page: Page) -> None:
    for made in _different(scope, PROFILES):
        _same_in(page, made, _spread(reached(made, SAMPLE).states, FEW))


def _different(scope: str, profiles: Iterable[str]) -> Iterator[Instance]:
    """Yield a scope under each profile. Profiles whose models have the same constants are compared once."""
    models = (instance("specification", scope, profile) for profile in profiles)
    yield from {tuple(sorted(made.constants.items())): made for made in models}.values()


def _spread(states: Sequence[State], most: int) -> Sequence[State]:
    return states[:: -(-len(states) // most)]


def _same_in(page: Page, made: Instance, states: Sequence[State]) -> None:
    for at in nonempty(range(0, len(states), 100)):
        same_states(page, made, claims(made)[0], states[at : at + 100], rows=False)


def test_numbers_beyond_doubles_are_exact(page: Page) -> None:
    m = Model("large")
    x = m.var("x", Int(-(2**53) + 1, 2**53 - 1), init=2**53 - 1)
    y = m.var("y", Int(0, 2**31), init=2**31)

    @m.action(k=Int(0, 3))
    def step(a, k):
        """A step."""
        a.guard("odd", (x * 512 + k) & 3 == 3, "the product is odd")
        a.set(y, java_abs(wrap32(x * 511 + k * 2**31 + y)))

    m.always("p", x * 511 - y < 2**62, "the product is small")
    states = [(2**53 - 1, 2**31), (-(2**53) + 1, 0), (2**52 + 1, 2**31 - 1), (-3, 7)]
    same_states(page, m.given(), m.property("p"), states)
    texts = [
        "x * 511 + y",
        "x * 511 & 4611686018427387904",
        "(x * 511 + 1) % 1000",
        "wrap32(x * 511 + y) == -1",
        "x * 511 == 4602678819172646401",
        "x * 4096 + 1",
    ]
    assert same_expressions(page, m.given(), states, texts) == 5  # the last one needs more than 63 bits


def test_odd_names_and_nested_values_agree(page: Page) -> None:
    m = Model("odd")
    Broker = m.index("Broker", ["broker-a", "1a", "not"])
    word = m.var("word", SetOf(Broker), init=())
    last = m.var("last", Maybe(Broker), over=Broker, init=None)
    queue = m.var("queue", SeqOf(Broker, 2), init=())
    m.var("constructor", Bool, init=True)

    @m.action(b=Broker)
    def push(a, b):
        """A broker takes its turn."""
        a.guard("new", ~word.has(b), "it had no turn")
        a.set(word, word.including(b))
        a.set(last[b], b)
        a.set(queue, queue.append(b))

    @m.action()
    def pop(a):
        """The first one leaves."""
        a.guard("first known", queue.head == queue[0], "there is a first one")
        a.set(queue, queue.tail)

    m.always("p", word.size < 3, "two brokers at most")
    made = m.given()
    states = reachable(made, 200)
    same_states(page, made, m.property("p"), states)
    read = """
        constructor; broker-a in word
        last[broker-a] == not; 'not' in word; not (1a in word); all(last[b] == None or b in word for b in Broker)
        queue.length; queue[0] == 'broker-a'; {1a, not} - word == {}; count(Broker, lambda b: b in word); last[broker-a]' == last[broker-a]
        word.size + 1 if last[1a].is_some else 0; last[broker-a].get == last[not]; sum(1 for b in Broker if b in word for c in Broker)
    """
    wrong = """
        toString; __proto__
        broker-b in word; last[0; 1 +; word + 1; lambda b: b; last[0, 1]; x if; word.has(); import os; last; [1]; f''; word is word; 1.5
    """
    read, wrong = ([text.strip() for text in re.split(r"[;\n]", one) if text.strip()] for one in (read, wrong))
    assert same_expressions(page, made, states[:20], [*read, *wrong]) == len(read)
