"""Witness files: a written one can be read here and by other tools, and an invalid one is refused in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import itf_py
import pytest

import routing
from rocketproof_model import Model
from rocketproof_model.interpreter import initial, successors
from rocketproof_model.result import Move, Witness
from rocketproof_spec import part
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.witness import itf
from rocketproof_traces.witness.restore import restore

ORIGIN = {"model": "routing.py", "scope": {"B": 2}, "condition": ""}


def text_of(witness: Witness) -> str:
    return itf.dumps(witness, ORIGIN)


def changed(witness: Witness, change: Callable[[Any], object]) -> str:
    """Return a witness file after a change to its JSON."""
    data = json.loads(text_of(witness))
    change(data)
    return json.dumps(data)


def same(first: Witness, other: Witness) -> bool:
    return (first.property.id, first.moves, first.states, first.loop) == (other.property.id, other.moves, other.states, other.loop)


def error_of(text: str, witness: Witness) -> str:
    with pytest.raises(TraceError) as caught:
        restore(itf.loads(text, "w.itf.json"), witness.instance)
    message = str(caught.value)
    assert message.startswith("w.itf.json: "), message
    assert "\n" not in message
    assert ";" in message, f"no remedy in: {message}"
    return message


@pytest.mark.parametrize("dialect", ["plain", "quint"])
@pytest.mark.parametrize("which", ["skew", "loud", "lasso"])
def test_written_witness_round_trips(which: str, dialect: itf.Dialect, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    witness: Witness = request.getfixturevalue(which)
    itf.write(witness, tmp_path / "w.itf.json", ORIGIN, dialect=dialect)
    file = itf.read(tmp_path / "w.itf.json")
    assert (file.origin, file.note, file.kind) == (ORIGIN, witness.note, witness.property.kind)
    assert same(restore(file, witness.instance), witness)
    assert [p.name for p in tmp_path.iterdir()] == ["w.itf.json"], "a temporary file is left"


def test_numbers_are_next_to_their_names() -> None:
    instance = part("tiny").model.given()
    state = initial(instance)
    step = next(successors(instance, state))
    witness = Witness(instance, instance.model.claim("x", "x", "always", True), (Move(step.action.name, step.args),), (state, step.state))
    ours = json.loads(text_of(witness))["#meta"]["rocketproof"]
    assert ours["elements"] == {"Broker": ["broker-a"], "Topic": ["TBW102", "orders"], "Producer": ["producer 0"]}
    assert ours["moves"] == [{"action": "find_template", "args": {"p": 0}, "label": "find_template(p=producer 0)"}]
    assert same(restore(itf.loads(text_of(witness), "w.itf.json"), instance, witness.property), witness)


@pytest.mark.parametrize("which", ["skew", "loud", "lasso"])
def test_itf_py_loads_witness_and_gives_it_back(which: str, request: pytest.FixtureRequest) -> None:
    witness: Witness = request.getfixturevalue(which)
    trace = itf_py.trace_from_json(json.loads(text_of(witness)))
    assert len(trace.states) == len(witness.states)
    assert trace.loop == witness.loop
    assert trace.vars == [*trace.states[0].values]
    assert [s.values[itf.ACTION] for s in trace.states[1:]] == [m.action for m in witness.moves]
    again = json.dumps(itf_py.trace_to_json(trace))
    assert same(restore(itf.loads(again), witness.instance), witness)


def test_tables_arrays_and_values_have_their_itf_forms(loud: Witness) -> None:
    state = json.loads(text_of(loud))["states"][1]
    assert state["shelf"]["#map"][0] == [{"#bigint": "0"}, {"left": {"#bigint": "0"}, "seen": True}]
    assert state["count"]["#map"][0] == [{"#tup": [{"#bigint": "0"}, {"#bigint": "0"}]}, {"#bigint": "1"}]
    assert state["holding"] == {"#map": [[{"#bigint": "0"}, {"#set": [{"#bigint": "0"}]}], [{"#bigint": "1"}, {"#set": []}]]}
    assert (state["mood"], state["ever"]) == ("calm", {"#set": []})
    assert (state[itf.ACTION], state[itf.PICKS]) == ("take", {"c": {"#bigint": "0"}, "i": {"#bigint": "0"}})


def test_quint_dialect_has_variants(loud: Witness) -> None:
    state = json.loads(itf.dumps(loud, ORIGIN, dialect="quint"))["states"][1]
    assert state["holding"]["#map"][0][1] == {"tag": "Some", "value": {"#bigint": "0"}}
    assert state["holding"]["#map"][1][1] == {"tag": "None", "value": {"#tup": []}}
    assert state[itf.PICKS]["c"] == {"tag": "Some", "value": {"#bigint": "0"}}


def test_equal_witnesses_give_equal_bytes_with_state_line(skew: Witness) -> None:
    assert text_of(skew) == text_of(skew)
    assert sum(line.startswith('  {"#meta": {"index"') for line in text_of(skew).splitlines()) == len(skew.states)


def plain_trace(witness: Witness) -> dict[str, Any]:
    """Return the trace as an independent tool writes it."""
    data = json.loads(text_of(witness))
    rows = [{k: v for k, v in row.items() if not k.startswith("mbt::")} for row in data["states"]]
    return {"vars": [v for v in data["vars"] if not v.startswith("mbt::")], "states": rows}


def test_moves_of_foreign_file_are_found(skew: Witness) -> None:
    found = restore(itf.loads(json.dumps(plain_trace(skew))), skew.instance, skew.property)
    assert same(found, skew)
    assert restore(itf.loads(json.dumps(plain_trace(skew))), skew.instance).property.id == "(none)"


def test_handwritten_file_may_use_lists_numbers_maps_and_prefixes() -> None:
    two, none = [0, 0], {"tag": "None", "value": "U_OF_UNIT"}
    row = {
        "created": [False, False], "queues": two, "perm": two, "registered": {"#tup": [True, True]},
        "offset": {"#map": [[q, 0] for q in range(8)]},
        "route": {"#set": []}, "cached": [{"#set": []}], "fallback": [False], "sending": [none], "sent": [0],
        "crashes": 0,
    }  # fmt: skip
    second = {**row, "fallback": [True]}
    third = {**second, "sending": [{"tag": "Some", "value": 4}]}
    rows = [{f"bank::{k}": v for k, v in r.items()} for r in (row, second, third)]
    instance = routing.model(B=2, P=1, M=1, K=1, C=1).given()
    witness = restore(itf.loads(json.dumps({"vars": [], "states": rows})), instance)
    assert witness.labels() == ["fetch_route(p=0)", "send(p=0, q=4)"]


def test_name_given_by_quint_selects_among_equal_actions() -> None:
    m = Model("twins")
    x = m.var("x", routing.Int(0, 2), init=0)
    for name in ("one", "other"):

        @m.action(name=name)
        def up(a):
            """Counts."""
            a.guard("room", x < 2, "there is room")
            a.set(x, x + 1)

    rows = [{"x": 0, itf.ACTION: "init"}, {"x": 1, itf.ACTION: "twins::other"}, {"x": 2}]
    witness = restore(itf.loads(json.dumps({"vars": ["x"], "states": rows})), m.given())
    assert witness.labels() == ["other()", "one()"]


def test_step_that_no_action_explains_is_named(skew: Witness) -> None:
    data = plain_trace(skew)
    del data["states"][3]
    message = error_of(json.dumps(data), skew)
    assert "no action explains step 3" in message
    assert "sending[0] from 0 to None" not in message or "from" in message


def _set(*path: Any, to: Any) -> Callable[[Any], object]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = to

    return change


OURS = ("#meta", "rocketproof")
WRONG = {
    "newer": (_set(*OURS, "schema", to=2), "has schema 2, this version reads up to 1; update rocketproof"),
    "no schema": (_set(*OURS, "schema", to=None), "no schema number"),
    "moves missing": (_set(*OURS, "moves", to=[]), "has 0 moves but 7 states"),
    "moves foreign": (_set(*OURS, "moves", to=[1, 2, 3, 4, 5, 6]), "move 1 is 1, without action and args"),
    "origin": (_set(*OURS, "origin", to=3), "'#meta.rocketproof.origin' is not an object"),
    "property": (_set(*OURS, "property", to="INV-99"), "its property 'INV-99' is not in model routing; its properties are append"),
    "constant": (_set(*OURS, "constants", to={"auto": True}), "constant 'auto' is not in model routing"),
    "action": (_set(*OURS, "moves", 1, "action", to="explode"), "step 2 has unknown action 'explode'"),
    "arguments": (_set(*OURS, "moves", 1, "args", to={"p": 0}), "step 2: send has arguments p; its parameters are p, q"),
    "argument": (_set(*OURS, "moves", 1, "args", "q", to=8), "argument q of send: 8 is not a value of Queue"),
    "refused": (_set(*OURS, "moves", 5, to={"action": "handle", "args": {"p": 1}}), "refused by guard 'in flight'"),
    "effect": (_set("states", 6, "route", to={"#set": []}), "step 6, refresh(p=0), makes route {0}, not {}"),
    "variable": (_set("states", 2, "colour", to="red"), "state 2 has unknown variable colour; the variables are created"),
    "value": (_set("states", 2, "crashes", to={"#bigint": "9"}), "state 2: crashes is wrong: 9 is not a value of Int(0, 1)"),
    "type": (_set("states", 2, "route", to="all"), "route is wrong: 'all' is not a set"),
    "entry": (_set("states", 2, "sent", to=[0, 0, 0]), "state 2: sent has an entry for 2; the model's scope is smaller"),
    "entry missing": (_set("states", 2, "sent", to=[0]), "state 2 has no value for sent[1]"),
    "scalar for array": (_set("states", 2, "sent", to=4), "state 2 has no value for sent[0]"),
    "state": (_set("states", 2, to=5), "state 2 is 5, not an object"),
    "bigint": (_set("states", 2, "crashes", to={"#bigint": "many"}), "holds a value that is not ITF"),
    "map": (_set("states", 2, "sent", to={"#map": [1]}), "holds a value that is not ITF"),
    "loop": (_set("loop", to=9), "'loop' is 9, no index of its 7 states"),
    "loop open": (_set("loop", to=0), "no action closes the loop to state 0"),
    "no states": (_set("states", to=None), "is not an ITF trace"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_file_is_refused_in_one_line(name: str, skew: Witness) -> None:
    change, expected = WRONG[name]
    assert expected in error_of(changed(skew, change), skew)


def test_missing_variable_is_named(skew: Witness) -> None:
    message = error_of(changed(skew, lambda data: data["states"][1].pop("route")), skew)
    assert "state 1 has no variable route" in message


def test_truncated_foreign_and_missing_files_are_distinguished(skew: Witness, tmp_path: Path) -> None:
    text = text_of(skew)
    for size in (len(text) // 3, len(text) // 2, len(text) - 3):
        assert "is cut off in line" in error_of(text[:size], skew)
    assert "is empty" in error_of(" \n", skew)
    assert "is not JSON (line 1" in error_of("digraph {}", skew)
    assert "is not an ITF trace" in error_of("[1, 2]", skew)
    assert "beyond reason" in error_of("[" * 100_000, skew)
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    for name, expected in {"b": "is not text", "absent": "cannot be read (No such file", ".": "cannot be read (Is a directory"}.items():
        with pytest.raises(TraceError, match=expected.replace("(", r"\(")):
            itf.read(tmp_path / name)


def test_unwritable_file_is_one_line_and_leaves_nothing(skew: Witness, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TraceError, match=r"cannot be written \((Not a directory|File exists)\); give a file in a folder of your own"):
        itf.write(skew, tmp_path / "file" / "w.json", ORIGIN)
    (tmp_path / "w.json").mkdir()
    with pytest.raises(TraceError, match="cannot be written"):
        itf.write(skew, tmp_path / "w.json", ORIGIN)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "w.json"]


def test_other_constants_than_file_s_are_refused(through: Callable[..., Witness]) -> None:
    witness = through("calm", "take(c=0, i=1)", rush=True)
    other = through("calm", "take(c=0, i=1)", rush=False)
    assert "was made with rush = True, the model has False" in error_of(text_of(witness), other)
