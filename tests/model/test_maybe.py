"""A Maybe of a record or tuple, and records with sets, bags and sequences in a variable: their meaning and their text form."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rocketproof_model import (
    ANY,
    BagOf,
    Bool,
    Enum,
    EvaluationError,
    Int,
    Maybe,
    Model,
    ModelError,
    Record,
    SeqOf,
    SetOf,
    after,
    exists,
    ite,
    one_of,
    search,
)
from rocketproof_model.interpreter import effect, holds, initial, initials, labelled, readable, refusing, successors
from rocketproof_model.language import MaybeType
from rocketproof_model.language.reading import read
from rocketproof_model.result import Move, Witness
from rocketproof_traces.witness import itf
from rocketproof_traces.witness.restore import restore

Vote = Record(term=Int(-1, 1), sure=Bool, why=Maybe(Enum("a", "b")))


def ballots() -> Model:
    """Build two places, each with a vote or none; votes are given, moved and taken back."""
    m = Model("ballots")
    Place = m.index("Place", ["left", "right"])
    vote = m.var("vote", Maybe(Vote), over=Place, init=lambda p: None if p else Vote(term=1, sure=True, why=None))

    @m.action(p=Place, given=Maybe(Vote))
    def give(a: Any, p: Any, given: Any) -> None:
        """A vote is given, or none."""
        a.guard("free", vote[p].is_none, "nothing is there")
        a.set(vote[p], given)

    @m.action(p=Place)
    def move(a: Any, p: Any) -> None:
        """The vote goes to the other place, in the previous term; a missing value there is an error."""
        a.set(vote[1], ite(p == 0, Vote(term=-1, sure=vote[0].get.sure, why=vote[0].get.why), None))
        a.set(vote[0], ite(p == 0, None, Vote(term=vote[1].get.term, sure=True, why="b")))

    @m.action(p=Place)
    def drop(a: Any, p: Any) -> None:
        """The vote is taken back, if it is sure."""
        a.set(vote[p], None, when=vote[p].is_some & vote[p].get.sure)

    m.always("same", (vote[0] != vote[1]) | vote[0].is_none, "no two votes are equal")
    m.always("one", vote[0] != Vote(term=0, sure=False, why="a"), "no such vote")
    m.step("kept", vote[0].is_none | (after(vote[0]) == vote[0]), "a vote stays")
    return m


def test_maybe_walks_agree_with_python() -> None:
    model = ballots()
    instance, rng = model.given(), random.Random(17)
    state, mine = initial(instance), {0: {"term": 1, "sure": True, "why": None}, 1: None}
    errors = 0
    for _ in range(600):
        action = rng.choice(model.actions)
        args = rng.choice(list(action.instances))
        p = args[0]
        if action.name == "give":
            whole = all(args[1:]) or not any(args[1:])
            assert (refusing(instance, state, action, args) is None) == (whole and mine[p] is None)
            if refusing(instance, state, action, args) is not None:
                continue
            why = MaybeType(0, 2, Enum("a", "b"))
            mine[p] = {"term": args[1] - 2, "sure": args[2] == 2, "why": why.decode(args[3] - 1)} if any(args[1:]) else None
        elif action.name == "move":
            if mine[p] is None:
                errors += 1
                with pytest.raises(EvaluationError, match="is None where its element is asked"):
                    effect(instance, state, action, args)
                continue
            was: Any = mine[p]
            mine = {0: None, 1: was | {"term": -1}} if p == 0 else {0: {"term": was["term"], "sure": True, "why": "b"}, 1: None}
        elif mine[p] is not None and mine[p]["sure"]:
            mine[p] = None
        before, state = state, effect(instance, state, action, args)
        assert readable(instance, state) == {"vote[0]": mine[0], "vote[1]": mine[1]}
        answers = {c.id: holds(instance, c.formula, before, state) for c in model.properties}
        assert answers["same"] == (readable(instance, before)["vote[0]"] in (None,) or len({*labelled(instance, before).values()}) == 2)
        assert answers["kept"] == (readable(instance, before)["vote[0]"] in (None, mine[0]))
    assert errors > 20


def test_none_is_one_state_and_reads_as_none() -> None:
    m = Model("once")
    vote = m.var("vote", Maybe((Bool, Int(0, 1))), init=None)

    @m.action(v=vote.shape)
    def become(a: Any, v: Any) -> None:
        """It becomes what is given."""
        a.set(vote, v)

    instance = m.given()
    assert search.explore(instance, []).states == 5
    assert labelled(instance, initial(instance)) == {"vote": "None"}
    assert labelled(instance, (2, 1)) == {"vote": "(True, 0)"}


@pytest.mark.parametrize(
    ("init", "count"),
    [(ANY, 19), (one_of(None, Vote(term=0, sure=True, why="a"), Vote(term=0, sure=True, why=None)), 3), (lambda: ANY, 19)],
)
def test_maybe_can_start_as_any_value(init: Any, count: int) -> None:
    m = Model("starts")
    vote = m.var("vote", Maybe(Vote), init=init)
    assert len(list(initials(m.given()))) == count
    assert all(holds(m.given(), vote.is_value, state) for state in initials(m.given()))


def test_record_can_start_as_any_of_some_rows() -> None:
    m, row = Model("rows"), Record(a=Bool, b=Int(0, 1))
    m.var("row", row, over=Bool, init=one_of(row(a=True, b=0), row(a=False, b=1)))
    assert {tuple(labelled(m.given(), state).values()) for state in initials(m.given())} == {
        (a, c, b, d) for a, b in (("True", "0"), ("False", "1")) for c, d in (("True", "0"), ("False", "1"))
    }


def test_witness_files_distinguish_none_in_a_maybe_from_none() -> None:
    model = ballots()
    instance = model.given()
    moves = (Move("drop", (0,)), Move("give", (0, 1, 1, 1)), Move("give", (1, 3, 2, 3)))
    states = [initial(instance)]
    for move in moves:
        states.append(effect(instance, states[-1], model.named(move.action), move.args))
    witness = Witness(instance, model.property("one"), moves, tuple(states))
    for dialect in ("plain", "quint"):
        text = itf.dumps(witness, {}, dialect=dialect)  # type: ignore[arg-type]
        assert restore(itf.loads(text, "w.itf.json"), instance, witness.property).states == witness.states
    assert labelled(instance, states[2])["vote[left]"] == "[term: -1, sure: False, why: None]"


@pytest.mark.parametrize(
    "text",
    [
        "vote[left].why.get == None",
        "vote[left].why == None",
        "vote[left].why == some(a)",
        "vote[0].term == 1",
        "pair.0 == True",
        "pair.1' != 1",
    ],
)
def test_parts_are_read_from_text(text: str) -> None:
    m = ballots()
    m.var("pair", Maybe((Bool, Int(0, 1))), init=None)
    term = read(text, m)
    assert read(str(term), m) is term


# -- records with containers in a variable -------------------------------------------------------------------------------

Server = Record(log=SeqOf(Int(0, 1), 2), got=SetOf((Bool, Int(0, 1))), bag=BagOf(Bool, 2), vote=Maybe(Vote), few=SetOf(Int(0, 2)))


def servers() -> tuple[Model, Any]:
    m = Model("servers")
    start = Server(log=(1,), got=((True, 0),), bag=(), vote=None, few=(1,))
    server = m.var("server", Server, over=Bool, init=start)

    @m.action(i=Bool)
    def work(a: Any, i: Any) -> None:
        """All fields change."""
        a.guard("room", ~server[i].log.is_full, "there is room")
        a.set(server[i].log, server[i].log.append(0))
        a.add(server[i].got, (False, 1))
        a.add(server[i].bag, True, when=server[i].bag.size < 2)
        a.add(server[i].few, 2)
        a.set(server[i].vote, Vote(term=0, sure=False, why=None))

    @m.action(i=Bool)
    def reset(a: Any, i: Any) -> None:
        """All fields get values at once."""
        a.set(server[i], Server(log=(), got=(), bag=(True, True), vote=None, few=()))

    return m, server


def test_a_record_has_sets_bags_and_sequences() -> None:
    m, server = servers()
    instance = m.given()
    work, reset = m.actions
    state = effect(instance, initial(instance), work, (1,))
    assert labelled(instance, state) == {
        "server[False].log": "<1>",
        "server[True].log": "<1, 0>",
        "server[False].got": "{(True, 0)}",
        "server[True].got": "{(False, 1), (True, 0)}",
        "server[False].bag": "{}",
        "server[True].bag": "{True}",
        "server[False].vote": "None",
        "server[True].vote": "[term: 0, sure: False, why: None]",
        "server[False].few": "{1}",
        "server[True].few": "{1, 2}",
    }
    empty = Server(log=(), got=(), bag=(True, True), vote=None, few=())
    assert holds(instance, server[True] == empty, effect(instance, state, reset, (1,)))
    assert not holds(instance, server[False] == empty, effect(instance, state, reset, (1,)))
    assert holds(instance, exists(server[True].got, lambda flag, n: ~flag & (n == 1)) & (server[True].log[1] == 0), state)


def test_the_search_finds_the_states_of_the_interpreter() -> None:
    instance = servers()[0].given()
    seen = dict.fromkeys(initials(instance))
    for state in (todo := list(seen)):
        todo += [step.state for step in successors(instance, state) if step.state not in seen]
        seen.update(dict.fromkeys(todo))
    assert len(seen) == 5**2 == search.explore(instance, []).states


MISTAKES: dict[str, tuple[Any, str]] = {
    "a value of something else": (lambda m, v: v == (1, 2), "is not a row of"),
    "a Maybe of something else": (lambda m, v: v == m.var("o", Maybe((Bool, Bool)), init=None), "a Maybe of something else"),
    "a Maybe as a condition": (lambda m, v: v & True, "no meaning in a model"),
    "a Maybe tested by Python": (lambda m, v: 1 if v else 0, "has no truth value"),
    "a number that may not fit": (
        lambda m, v: v == Vote(term=m.var("n", Int(8, 9), init=8), sure=True, why=None),
        "may be no element of Int",
    ),
    "a Maybe of nothing": (lambda m, v: Maybe(()), "is no type"),
    "a Maybe of a sequence": (lambda m, v: Maybe(SeqOf(Bool, 2)), "Maybe of a set, bag or sequence"),
    "a sequence in a Maybe": (lambda m, v: Maybe(Record(log=SeqOf(Bool, 2))), "log is a set, bag or sequence"),
    "a constant": (lambda m, v: m.constant("c", Maybe(Vote), None), "has type"),
    "a start of something else": (lambda m, v: m.var("w", Maybe(Vote), init=3), "is not a row of"),
    "a record that starts as None": (lambda m, v: m.var("w", Vote, init=None), "a record starts as None"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused(mistake: str) -> None:
    make, words = MISTAKES[mistake]
    m = Model("mistakes")
    with pytest.raises(ModelError, match=words):
        make(m, m.var("vote", Maybe(Vote), init=None))
