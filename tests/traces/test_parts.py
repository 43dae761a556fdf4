"""The actor of a step, the owner of a variable, and the lanes of a witness."""

from collections import deque
from collections.abc import Iterator

import pytest

from rocketproof_model import Bool, Instance, Int, Maybe, Model, ModelError
from rocketproof_model.interpreter import ModelStep, State, initial, successors
from rocketproof_model.language import MaybeType
from rocketproof_spec import NAMES, part
from rocketproof_traces.witness.parts import Acting, acting, concerned, in_order, kinds, owner, part_name


def post() -> Model:
    """Letters between two people, brought by a carrier: no action's first parameter is its actor."""
    m = Model("post")
    Person = m.index("Person", ["ann", "bob"])
    m.acting(Person, "carrier", "weather", driver="carrier")
    holds = m.var("holds", Maybe(Person), init="ann", sentence="whose the letter is", part="carrier")
    read = m.var("read", Bool, over=Person, init=False, sentence="whether the person has read it")

    @m.action(actor="driver")
    def bring(a):
        """The carrier brings the letter."""
        a.guard("letter", holds.is_some, "there is a letter")
        a.sends_to(holds)
        a.set(read["bob"], True)

    @m.action(p=Person)
    def write(a, p):
        """Somebody writes."""
        a.sends_to("carrier")
        a.set(holds, p)

    @m.action(p=Person)
    def lose(a, p):
        """The weather takes a letter."""
        a.by("weather")
        a.takes_from(p)
        a.set(holds, None)

    m.always("unread", ~read["bob"], "bob has read nothing")
    return m


def taken(instance: Instance, state: State) -> dict[str, Acting]:
    return {step.label: acting(instance, state, step.action, step.args) for step in successors(instance, state)}


def test_action_names_its_actor_and_partner() -> None:
    instance = post().given()
    assert taken(instance, initial(instance)) == {
        "bring()": Acting("carrier", "ann"),
        "write(p=ann)": Acting("ann", "carrier"),
        "write(p=bob)": Acting("bob", "carrier"),
        "lose(p=ann)": Acting("weather", None, "ann"),
        "lose(p=bob)": Acting("weather", None, "bob"),
    }
    nobody = (0, *initial(instance)[1:])
    assert acting(instance, nobody, instance.model.named("bring"), ()) == Acting("carrier"), "there is no letter"


def test_lanes_keep_declared_order_and_property_parts_have_lanes() -> None:
    model = post()
    assert kinds(model) == [model.parts[0], "carrier", "weather"]
    assert in_order(model, {"weather", "bob", "carrier", "ann"}) == ["ann", "bob", "carrier", "weather"]
    assert concerned(model, model.property("unread")) == {"bob"}
    assert [owner(kinds(model), v, at) for v in model.variables for at in v.elements()] == ["carrier", "ann", "bob"]


def test_by_default_first_parameter_acts_with_second() -> None:
    m = Model("plain")
    A, B = m.index("A", 2), m.index("B", 2)
    x = m.var("x", Int(0, 1), over=B, init=0)

    @m.action(a_=A, b=B)
    def touch(a, a_, b):
        """One touches another."""
        a.set(x[b], 1)

    @m.action()
    def rest(a):
        """Nothing happens."""

    instance = m.given()
    assert set(taken(instance, initial(instance)).values()) == {Acting(f"A {i}", f"B {j}") for i in (0, 1) for j in (0, 1)} | {
        Acting("system")
    }
    assert concerned(m, m.always("still", x[1] == 0, "B 1 is not touched")) == {"B 1"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda m: m.acting("carrier", driver="plane"), "a role is played by 'plane'"),
        (lambda m: m.acting(3), "'3' is not who acts"),
        (lambda m: m.action(name="fly")(flies_by("plane")), "names the part 'plane'; the parts with a name are carrier, weather"),
        (lambda m: m.action(name="fly")(flies_by(3)), "'3' is not who acts in fly"),
        (lambda m: m.index("X", ["a", "a"]), "two elements of one name"),
        (lambda m: m.index("X", ["a,b"]), "an element named 'a,b'"),
        (lambda m: m.index("X", ["7"]), "an element named '7'"),
        (lambda m: m.index("X", ["a", ""]), "an element named ''"),
    ],
)
def test_mistakes_are_refused(wrong, said: str) -> None:
    with pytest.raises(ModelError) as refused:
        wrong(post())
    assert said in str(refused.value)


def flies_by(part):
    def fly(a):
        """It flies."""
        a.by(part)

    return fly


def test_elements_are_read_by_name_or_number_written_by_name() -> None:
    model = post()
    holds = model.variable("holds")
    assert isinstance(holds.type, MaybeType)
    assert [holds.type.encode(value) for value in (None, "bob", 1)] == [0, 2, 2]
    assert [holds.type.text(code) for code in (0, 1, 2)] == ["None", "ann", "bob"]
    assert model.named("write").label((1,)) == "write(p=bob)"
    assert [v.label_at(at) for v in model.variables for at in v.elements()] == ["holds", "read[ann]", "read[bob]"]
    assert [v.name_at(at) for v in model.variables for at in v.elements()] == ["holds", "read[0]", "read[1]"], "files keep numbers"
    with pytest.raises(ModelError, match="'eve' is not a value of"):
        holds.type.encode("eve")


def steps(instance: Instance, most: int) -> Iterator[tuple[State, ModelStep]]:
    first = initial(instance)
    seen, queue = {first}, deque([first])
    while queue and len(seen) < most:
        state = queue.popleft()
        for step in successors(instance, state):
            yield state, step
            if step.state not in seen:
                seen.add(step.state)
                queue.append(step.state)


@pytest.mark.parametrize("name", NAMES)
def test_all_of_specification_has_sentences_and_declared_lanes(name: str) -> None:
    model = part(name).model
    assert [v.name for v in model.variables if not v.meaning] == []
    assert [c for c in model.constants if not model.sentences.get(c)] == []
    lanes = {part_name(kind, code) for kind in kinds(model) if not isinstance(kind, str) for code in kind.codes()} | {
        kind for kind in kinds(model) if isinstance(kind, str)
    }
    for state, step in steps(model.given(), 300):
        involved = acting(model.given(), state, step.action, step.args)
        assert {involved.by, involved.to, involved.source} - {None} <= lanes, f"{step.label}: {involved}"
        assert involved.by not in (involved.to, involved.source), f"{step.label} goes from {involved.by} to itself"


def test_broker_and_not_producer_persists() -> None:
    instance = part("small").model.given()
    by = {step.action.name: acting(instance, state, step.action, step.args) for state, step in steps(instance, 1500)}
    for name in ("persist", "acquire_lock"):
        assert by[name] == Acting(by[name].by) and by[name].by.startswith("broker-")
    assert by["announce"].to == "name server" and by["accept_registration"].by == "name server"
    assert by["send"].by.startswith("producer") and by["send"].to and by["send"].to.startswith("broker-")
    assert by["store"].to and by["store"].to.startswith("producer")
