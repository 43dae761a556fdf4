"""The document of a trace: every part of it agrees with the model, and the schema states its form."""

import json
from pathlib import Path

import jsonschema
import pytest
from page_model import ENABLED, REFUSED, Page, same_states, same_truths

import rocketproof_traces
from nonempty import nonempty
from rocketproof_model import Instance, Int, Model
from rocketproof_model.result import Move, Witness
from rocketproof_traces.explorer.document import TraceSubject, of_witness
from rocketproof_traces.witness.truth import truths

SCHEMA = json.loads((Path(rocketproof_traces.__file__).parents[1] / "docs" / "trace.schema.json").read_text("utf-8"))


def test_schema_states_form_of_document(skew: Witness, loud: Witness, lasso: Witness) -> None:
    for witness in (skew, loud, lasso):
        document = json.loads(json.dumps(of_witness(witness, TraceSubject("m", "s", "P49", "", "explicit"), session="x")))
        jsonschema.validate(document, SCHEMA)
        del document["truths"][0]["word"]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, SCHEMA)


@pytest.mark.parametrize("name", ["skew", "loud", "lasso"])
def test_page_shows_the_trace_and_its_choices_as_python_does(name: str, request: pytest.FixtureRequest) -> None:
    witness: Witness = request.getfixturevalue(name)
    document = of_witness(witness)
    for k, step in nonempty(enumerate(document["steps"])):
        before, after = witness.states[k : k + 2]
        assert step["label"] == witness.instance.model.named(witness.moves[k].action).label(witness.moves[k].args)
        assert step["changed"] == [s for s in range(witness.instance.model.slots) if before[s] != after[s]]
    assert [row["word"] for row in document["truths"]] == [said.word for said in truths(witness)]
    with Page() as page:
        same_states(page, witness.instance, witness.property, witness.states)
        if witness.loop is None:  # in a loop, waiting for ever is bad
            same_truths(page, witness)


def test_part_of_formula_that_is_false_is_named(through) -> None:
    wrong = of_witness(through("keep", "take(c=0, i=2)", "take(c=1, i=0)"))["truths"][2]
    assert (wrong["word"], wrong["bad"]) == ("fails", True)
    assert [value for _, value in wrong["values"]] == ["1", "0"]
    waits = of_witness(through("served", "rest()", "take(c=0, i=2)", "rest()", loop=2))["truths"]
    assert [(row["word"], row["bad"]) for row in waits] == [("not asked", False)] * 2 + [("waiting", False), ("waiting", True)]


def test_of_false_implication_conclusion_is_named() -> None:
    m = Model("implied")
    x, y = m.var("x", Int(0, 3), init=0), m.var("y", Int(0, 3), init=0)

    @m.action()
    def go(a):
        """It goes on."""
        a.set(x, 1)

    m.always("P", ~(x == 1) | ((y == 0) & (x == 0)), "where x is 1 all is 0")
    claim, instance = m.properties[0], Instance(m, {})
    first, last = (0, 0), (1, 0)
    document = of_witness(Witness(instance, claim, (Move("go", ()),), (first, last), None, ""))
    assert [(row["word"], row["part"], row["values"]) for row in document["truths"]] == [
        ("holds", "", [["x", "0"], ["y", "0"]]),
        ("fails", "(x == 0)", [["x", "1"]]),
    ]


def test_large_action_is_listed_in_part_and_counted() -> None:
    m = Model("wide")
    x = m.var("x", Int(0, 3), init=0)

    @m.action(n=Int(0, 999))
    def ask(a, n):
        """Somebody asks with any number."""
        a.guard("small", n < x, "the number is small")
        a.set(x, 1)

    @m.action(n=Int(1, 999))
    def go(a, n):
        """Any number will do."""
        a.set(x, 1)

    m.always("p", x < 2, "x stays small")
    with Page() as page:
        same_states(page, m.given(), m.property("p"), [(0,)])
        (said,) = page.ask(of_witness(Witness(m.given(), m.property("p"), (), ((0,),))), [(0,)], rows=True)["states"]
    assert len(said["refused"]) == REFUSED
    assert said["more"] == [
        {"action": "ask", "guard": "small", "count": 1000 - REFUSED},
        {"action": "go", "guard": "", "count": 999 - ENABLED},
    ]


def test_page_of_model_with_too_large_numbers_says_so() -> None:
    m = Model("large")
    x = m.var("x", Int(0, 2**60), init=0)

    @m.action()
    def go(a):
        """It grows."""
        a.set(x, x + 1, when=x < 7)

    m.always("p", x < 300, "x stays small")
    document = of_witness(Witness(m.given(), m.property("p"), (), ((0,),)))
    assert document["model"]["program"] == {
        "missing": f"variable x is Int(0, {2**60}), and a page keeps numbers up to 2**53 only; give it a smaller type"
    }
