"""The document of a trace: every part of it agrees with the model, and the schema states its form."""

import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

import rocketproof_traces
from nonempty import nonempty
from rocketproof_model import Instance, Int, Model
from rocketproof_model.interpreter import effect, refusing
from rocketproof_model.result import Move, Witness
from rocketproof_traces.explorer import document as documents
from rocketproof_traces.explorer.document import REFUSED, TraceSubject, at, of_witness
from rocketproof_traces.witness.explain import answer
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
def test_document_has_all_choices_of_model(name: str, request: pytest.FixtureRequest) -> None:
    """Each step of the trace is among the listed choices; each effect and refusal equals the interpreter's."""
    witness: Witness = request.getfixturevalue(name)
    instance, document = witness.instance, of_witness(witness)
    for k, (state, options) in enumerate(zip(witness.states, document["choices"], strict=True)):
        listed = {}
        for row in options["enabled"]:
            after = list(state)
            for slot, code in row["effect"]:
                after[slot] = code
            listed[row["label"]] = tuple(after)
        left: Counter[tuple[str, str]] = Counter()
        refused = [document["refusals"][place] for place in options["refused"]]
        for action in instance.model.actions:
            for args in action.instances:
                guard = refusing(instance, state, action, args)
                label = action.label(args)
                if guard is None:
                    assert listed.pop(label) == effect(instance, state, action, args)
                else:
                    row = next((r for r in refused if r["label"] == label), None)
                    if row is None:
                        left[action.name, guard.name] += 1
                        continue
                    why = answer(instance, state, action, args).refusal
                    assert why is not None
                    assert (row["guard"], row["sentence"], row["part"]) == (guard.name, guard.sentence, why.part)
                    assert [name for name, _ in row["values"]] == list(why.values)
        assert not listed
        assert left == {(row["action"], row["guard"]): row["count"] for row in options["more"]}
        if k < len(witness.moves):
            step = document["steps"][k]
            assert step["label"] in {row["label"] for row in options["enabled"]}
            assert step["changed"] == [s for s in range(instance.model.slots) if state[s] != witness.states[k + 1][s]]
    assert [row["word"] for row in document["truths"]] == [said.word for said in truths(witness)]
    assert len({json.dumps(row) for row in document["refusals"]}) == len(document["refusals"])


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
    document = of_witness(Witness(m.given(), m.property("p"), (), ((0,),)))
    (options,) = document["choices"]
    assert len(options["refused"]) == REFUSED
    assert options["more"] == [
        {"action": "ask", "guard": "small", "count": 1000 - REFUSED},
        {"action": "go", "guard": "", "count": 999 - len(options["enabled"])},
    ]


def test_standalone_page_limits_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    m = Model("broad")
    x = m.var("x", Int(0, 200), init=0)

    @m.action(n=Int(1, 200))
    def go(a, n):
        """Any number will do."""
        a.set(x, n)

    m.always("p", x < 300, "x stays small")
    witness = Witness(m.given(), m.property("p"), (), ((0,),))
    whole = len(json.dumps(of_witness(witness)["choices"]))

    def listed(session: str | None = None) -> int:
        return len(of_witness(witness, session=session)["choices"][0]["enabled"])

    assert listed() == 200
    monkeypatch.setattr(documents, "LARGEST", whole // 10)
    assert (listed(), listed("asked")) == (6, 200), "a page that is served may ask for them all"


def test_document_of_any_state_is_available(lasso: Witness) -> None:
    """A branch requested by the page equals the document of the same states."""
    document = of_witness(lasso)
    for k, state in nonempty(enumerate(lasso.states)):
        last = document["truths"][k - 1]["word"] if k else ""
        said = at(lasso.instance, lasso.property, state, lasso.states[k - 1] if k else None, last)
        assert said["truth"]["word"] == document["truths"][k]["word"]
        assert said["choices"]["enabled"] == document["choices"][k]["enabled"]
        assert [said["refusals"][p] for p in said["choices"]["refused"]] == [
            document["refusals"][p] for p in document["choices"][k]["refused"]
        ]
