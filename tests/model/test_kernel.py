"""Kernels agree with the interpreter: successors in order, formulas, coverage, and faults in the checking form."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import routing
from nonempty import nonempty
from rocketproof_model import (
    Bool,
    Enum,
    EvaluationError,
    Instance,
    Int,
    Maybe,
    Model,
    SetOf,
    after,
    implies,
    interpreter,
    ite,
    rem,
    single,
    wrap32,
)
from rocketproof_model.explicit import kernel, loops
from rocketproof_model.interpreter import State
from rocketproof_model.routines import native

FORMS = [(checked, unroll, bits) for checked in (True, False) for unroll in (1, 3, 64) for bits in (14, 63)]


def busy_model() -> Model:
    """Build a model with every kind of type, operation, index and update."""
    m = Model("busy")
    node, slot = m.index("Node", 3), m.index("Slot", 2)
    strict = m.constant("strict", Bool, True)
    top = m.constant("top", Int(1, 3), 2)
    log = m.var("log", Int(-1, 2), over=(node, slot), init=-1)
    owner = m.var("owner", Maybe(node), over=slot, init=None)
    seen = m.var("seen", SetOf(node), init=())
    mode = m.var("mode", Enum("idle", "busy", "done"), over=node, init="idle")
    clock = m.var("clock", Int(0, 5), init=lambda: top)

    @m.action(n=node, s=slot)
    def claim(a, n, s):  # type: ignore[no-untyped-def]
        """A node takes a slot."""
        a.guard("free", owner[s].is_none | ~strict, "nobody has the slot")
        a.guard("idle", mode[n] == "idle", "the node is idle")
        a.set(owner[s], n)
        a.set(mode[n], "busy")
        a.set(seen, seen | single(n))

    @m.action(s=slot)
    def write(a, s):  # type: ignore[no-untyped-def]
        """The slot's owner writes."""
        a.guard("owned", owner[s].is_some, "somebody has the slot")
        a.guard("room", log[owner[s].get, s] < top, "the log has room")
        a.set(log[owner[s].get, s], log[owner[s].get, s] + 1)
        a.set(clock, rem(clock + 2, ite(strict, 3, 4)))
        a.set(owner[s], None, when=clock == 0)
        a.set(mode[owner[s].get], "done", when=(clock == 0) & seen.has(owner[s].get))

    @m.action(n=node)
    def rest(a, n):  # type: ignore[no-untyped-def]
        """A finished node becomes idle."""
        a.guard("done", mode[n] == "done", "the node has finished")
        a.set(mode[n], "idle")
        a.set(seen, seen - single(n))

    m.always("small", wrap32(log[0, 0] * 3) - clock < 4, "a sum")
    m.always("cover", implies(owner[0].is_some, seen.has(owner[0].get)), "owners were seen")
    m.reachable("two", owner[0].is_some & (owner[0] == owner[1]), "one node owns both")
    m.step("forward", after(clock) != clock + 1, "the clock never moves by one")
    return m


def reachable(instance: Instance, most: int = 400) -> Iterator[State]:
    """Return the first states of a plain breadth-first search."""
    start = interpreter.initial(instance)
    seen, queue = {start}, [start]
    for state in queue:
        yield state
        for step in interpreter.successors(instance, state):
            if step.state not in seen and len(seen) < most:
                seen.add(step.state)
                queue.append(step.state)


class Caller:
    """A kernel with its buffers."""

    def __init__(self, instance: Instance, **form: object) -> None:
        properties = instance.model.properties
        self.states = [p.formula for p in properties if p.kind != "step"]
        self.steps = [p.formula for p in properties if p.kind == "step"]
        self.made = kernel.build(instance.model, self.states, [], self.steps, **form)  # type: ignore[arg-type]
        self.consts = self.made.consts(instance)
        self.width = self.made.layout.words
        self.out = np.zeros(self.made.max_successors * self.width, dtype=np.int64)
        self.tags = np.zeros(self.made.max_successors, dtype=np.int64)
        self.counts = np.zeros(len(instance.model.actions), dtype=np.int64)
        self.cover = np.zeros(self.made.cover_words, dtype=np.int64)
        self.masks = np.zeros(2, dtype=np.int64)

    def successors(self, state: State) -> list[tuple[str, tuple[int, ...], State]] | None:
        packed = self.made.layout.pack(state)
        n = loops.successors(self.made.succ, packed, self.consts, self.out, self.tags, self.counts, self.cover)
        if n == kernel.FAULT:
            return None
        moves = [self.made.move(int(tag)) for tag in self.tags[:n]]
        rows = self.out.reshape(-1, self.width)
        return [(move.action, move.args, self.made.layout.unpack(rows[k])) for k, move in enumerate(moves)]

    def holds(self, state: State) -> list[bool] | None:
        packed = self.made.layout.pack(state)
        bits = loops.ask(self.made.check, packed, self.consts, self.masks, packed)
        return None if bits == kernel.FAULT else [bool(bits >> k & 1) for k in range(len(self.states))]

    def relates(self, state: State, other: State) -> list[bool]:
        pack = self.made.layout.pack
        bits = loops.ask(self.made.steps, pack(state), self.consts, self.masks, pack(other))
        return [bool(bits >> k & 1) for k in range(len(self.steps))]


@pytest.mark.slow
@pytest.mark.parametrize(("checked", "unroll", "word_bits"), FORMS)
@pytest.mark.parametrize("constants", [{}, {"strict": False, "top": 1}])
def test_successors_and_formulas_are_the_interpreters(checked: bool, unroll: int, word_bits: int, constants: dict[str, object]) -> None:
    instance = busy_model().given(**constants)
    call = Caller(instance, checked=checked, unroll=unroll, word_bits=word_bits)
    for state in nonempty(reachable(instance)):
        wanted = [(s.action.name, s.args, s.state) for s in interpreter.successors(instance, state)]
        assert call.successors(state) == wanted, interpreter.readable(instance, state)
        assert call.holds(state) == [interpreter.holds(instance, f, state) for f in call.states]
        for _, _, other in wanted:
            assert call.relates(state, other) == [interpreter.holds(instance, f, state, other) for f in call.steps]


def test_one_kernel_serves_all_constants() -> None:
    model = busy_model()
    one, other = Caller(model.given()), Caller(model.given(strict=False, top=3))
    assert one.made.succ == other.made.succ
    assert one.consts.tolist() != other.consts.tolist()


@pytest.mark.parametrize("unroll", [1, 64])
def test_coverage_equals_that_of_the_interpreter(unroll: int) -> None:
    instance = busy_model().given()
    call = Caller(instance, unroll=unroll)
    taken = {action.name: 0 for action in instance.model.actions}
    asked: dict[tuple[str, str], set[bool]] = {(a.name, g.name): set() for a in instance.model.actions for g in a.guards}
    for state in reachable(instance, 25):
        call.successors(state)
        for action in instance.model.actions:
            for args in action.instances:
                refused = interpreter.refusing(instance, state, action, args)
                taken[action.name] += refused is None
                for guard in action.guards:
                    asked[action.name, guard.name].add(guard is not refused)
                    if guard is refused:
                        break
    found = call.made.coverage(call.counts, call.cover)
    assert found.taken == taken
    assert found.guards == {key: (True in said, False in said) for key, said in asked.items()}
    assert any(found.one_sided()) or any(t and f for t, f in found.guards.values()), "the model must make some difference"


def test_each_of_many_guards_has_its_own_coverage() -> None:
    m = Model("many")
    x = m.var("x", Int(0, 40), init=0)

    @m.action()
    def climb(a):  # type: ignore[no-untyped-def]
        """One more, below 35."""
        for k in range(40):
            a.guard(f"g{k}", (x != k) if k == 35 else x < 41, f"guard {k}")
        a.set(x, x + 1, when=x < 40)

    call = Caller(m.given())
    for k in (0, 35):
        call.successors((k,))
    guards = call.made.coverage(call.counts, call.cover).guards
    assert guards["climb", "g34"] == (True, False)
    assert guards["climb", "g35"] == (True, True)
    assert guards["climb", "g36"] == (True, False)


def test_more_formulas_than_a_mask_holds() -> None:
    m = Model("formulas")
    x = m.var("x", Int(0, 200), init=0)
    formulas = [x == k for k in range(130)]
    made = kernel.build(m, formulas)
    masks = np.zeros(kernel.mask_words(formulas), dtype=np.int64)
    packed = made.layout.pack((127,))
    assert loops.ask(made.check, packed, made.consts(m.given()), masks, packed) != 0
    assert [k for k in range(130) if masks[k // kernel.BITS] >> k % kernel.BITS & 1] == [127]


def faulty(what: str) -> Model:
    """Build a model with an action that has no value in some states, chosen by `what`."""
    m = Model(f"faulty {what}")
    node = m.index("Node", 3)
    x = m.var("x", Int(0, 5), init=0)
    who = m.var("who", Maybe(node), init=None)
    table = m.var("table", Int(0, 6), over=node, init=1)
    terms = {
        "range": x * 2,
        "index": table[x],
        "none": ite(who.get == 0, 1, 2),
        "rem": rem(4, x),
        "fine": ite((x < 3) & (table[x] == 1), ite(x == 0, 0, rem(5, x)), 2),
    }

    @m.action()
    def step(a):  # type: ignore[no-untyped-def]
        """Compute."""
        a.set(table[1 if what != "target" else x], 2 if what == "target" else terms.get(what, x))

    @m.action()
    def climb(a):  # type: ignore[no-untyped-def]
        """The number grows."""
        a.guard("below", x < 5, "there is room")
        a.set(x, x + 1)
        a.set(who, 1)

    return m


@pytest.mark.parametrize("what", ["range", "index", "none", "rem", "target", "fine"])
@pytest.mark.parametrize("word_bits", [8, 63])
def test_checking_form_finds_the_interpreters_errors(what: str, word_bits: int) -> None:
    instance = faulty(what).given()
    checked = Caller(instance, checked=True, word_bits=word_bits)
    unchecked = Caller(instance, checked=False, word_bits=word_bits)
    faults = 0
    for x in range(6):
        for who in range(4):
            state = (x, who, 1, 1, 1)
            try:
                wanted = [(s.action.name, s.args, s.state) for s in interpreter.successors(instance, state)]
            except EvaluationError:
                faults += 1
                assert checked.successors(state) is None, state
                assert unchecked.successors(state) is not None, "the unchecked form continues"
            else:
                assert checked.successors(state) == wanted == unchecked.successors(state)
    assert (faults > 0) == (what != "fine")


def test_a_formula_without_value_is_a_fault() -> None:
    m = Model("formula")
    node = m.index("Node", 2)
    who = m.var("who", Maybe(node), init=None)
    m.always("bad", who.get == 0, "asks without a guard")
    call = Caller(m.given())
    assert call.holds((0,)) is None
    assert call.holds((1,)) == [True]


def test_an_array_larger_than_a_word() -> None:
    m = Model("long")
    cell = m.index("Cell", 20)
    tape = m.var("tape", Int(0, 9), over=cell, init=lambda k: k % 10)
    at = m.var("at", cell, init=3)

    @m.action(c=cell)
    def mark(a, c):  # type: ignore[no-untyped-def]
        """Write the value from another element, and move there."""
        a.guard("other", tape[c] != tape[at], "the cells differ")
        a.set(tape[at], tape[c])
        a.set(at, c)

    for unroll in (1, 64):
        call = Caller(m.given(), unroll=unroll)
        assert call.width == 2
        for state in reachable(m.given(), 60):
            assert call.successors(state) == [(s.action.name, s.args, s.state) for s in interpreter.successors(m.given(), state)]


def test_routing_agrees_in_its_first_states() -> None:
    instance = routing.model().given()
    call = Caller(instance)
    assert call.width == 1
    for state in reachable(instance, 600):
        assert call.successors(state) == [(s.action.name, s.args, s.state) for s in interpreter.successors(instance, state)]


TEXT = "define i64 @answer() {\n  ret i64 42\n}\n"


def test_compiled_source_is_reused_and_a_damaged_file_rebuilt(tmp_path: Path) -> None:
    program = (
        "import ctypes; from rocketproof_model.routines import native; "
        f"l = native.compile_text({TEXT!r}, ('answer',)); print(l.cached, ctypes.CFUNCTYPE(ctypes.c_int64)(l.addresses['answer'])())"
    )
    env = {**os.environ, "ROCKETPROOF_CACHE": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}

    def run() -> str:
        return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stdout.strip()

    assert run() == "False 42"
    assert run() == "True 42"
    (file,) = (tmp_path / "cache").iterdir()
    file.write_bytes(file.read_bytes()[:-3])
    assert run() == "False 42"
    assert run() == "True 42"
    file.write_bytes(b"")
    assert run() == "False 42"


def test_a_cache_that_cannot_be_written_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("ROCKETPROOF_CACHE", str(blocked))
    library = native.compile_text(TEXT.replace("42", "43"), ("answer",))
    assert not library.cached
    assert library.addresses["answer"] != 0
