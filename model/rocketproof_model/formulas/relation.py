"""One step of a model as a z3 formula, built once over a state before and after and renamed for each depth.

A step is a number in `choice`, the position of an action instance in the model's order, from which a witness's moves are read. An enabled
action instance may still *fault*: a guard or an effect has no value, or a value leaves its variable's type. Such a step does not count.
`fault` is true in states that have such a step, so that engines report it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .. import interpreter, interrupts
from ..language import Action, Assignment, Instance
from ..result import Move, Watch
from .smt import z3
from .terms import Translation
from .values import Value, conjunction, constant, disjunction, formula, implication, negation, number, same, within

_PATIENCE = 500  # milliseconds of z3 for one action instance


def relation_of(instance: Instance, watch: Watch) -> Relation:
    """Return the steps of an instance, translated once for consecutive queries. Raises LimitReached as Relation does."""
    declared = instance.model.declared
    relation = next((recent for recent in _recent if recent.instance is instance and recent.declared == declared), None)
    if relation is None:
        relation = Relation(instance, watch)
        _recent.append(relation)
    return relation


class Relation:
    """The steps of an instance. Formulas are over `before`, `choice` and `after`; `at` renames them to a depth."""

    def __init__(self, instance: Instance, watch: Watch) -> None:
        """Translate all action instances. Raises LimitReached when the watch's time is over: there may be a million instances."""
        self.instance, self._watch = instance, watch
        self.declared = instance.model.declared
        self.slots = [(v.name_at(at), v.type) for v in instance.model.variables for at in v.elements()]
        self.before = [constant(f"{name} before", type_) for name, type_ in self.slots]
        self.after = [constant(f"{name} after", type_) for name, type_ in self.slots]
        self.moves: list[Move] = []
        self._choice_bits = max(1, (sum(action.count for action in instance.model.actions) - 1).bit_length())
        self.choice = z3.BitVec("choice", self._choice_bits)
        self._firing: dict[int, Value] = {}
        self._states: dict[int, list[Value]] = {}
        self._choices: dict[int, Value] = {}
        self._names: dict[int, Any] = {}
        self.translate = Translation(self.before, self.after, constants=instance.constants)
        self.enabled: list[Value] = []
        faults: list[Value] = []
        self._writes: list[dict[tuple[type, int], tuple[Value, list[Value]]]] = [{} for _ in self.slots]
        for action in instance.model.actions:
            for args in action.instances:
                enabled, fault = self._move(action, args, len(self.enabled))
                self.moves.append(Move(action.name, args))
                self.enabled.append(enabled)
                faults.append(fault)
        faults = self._possible(faults)
        self.fault: Value = disjunction(*faults)
        self.stuck: Value = conjunction(negation(disjunction(*self.enabled)), negation(self.fault))
        self.step: Value = conjunction(*self._effects([conjunction(e, negation(f)) for e, f in zip(self.enabled, faults, strict=True)]))

    @cached_property
    def begin(self) -> Value:
        """Return the condition that the state before is an initial state."""
        chosen = []
        for x, codes, (_, type_) in zip(self.before, interpreter.first_codes(self.instance), self.slots, strict=True):
            every = len(codes) == type_.size
            chosen.append(within(x, type_) if every else disjunction(*(x == number(code, type_) for code in codes)))
        return conjunction(*chosen, *map(self.translate.truth, self.instance.model.starts))

    @property
    def facts(self) -> Value:
        """Return consequences of the translated terms that help the solver; they hold in every state."""
        return conjunction(*self.translate.facts)

    def _fires(self, number_: int) -> Value:
        if number_ not in self._firing:
            self._firing[number_] = self.choice == z3.BitVecVal(number_, self._choice_bits)
        return self._firing[number_]

    def _move(self, action: Action, args: Sequence[int], number_: int) -> tuple[Value, Value]:
        """Return whether the instance is enabled, and whether it faults."""
        self._watch.check()
        translate = self.translate.under(dict(zip(action.parameters, args, strict=True)))
        enabled: Value = True
        asked: Value = True
        for guard in action.guards:
            meaning = translate(guard.condition)
            asked = conjunction(asked, implication(enabled, meaning.defined))
            enabled = conjunction(enabled, meaning.value)
            if enabled is False:
                return False, negation(asked)
        sound = [self._update(translate, update, number_) for update in action.updates]
        sound += [negation(translate(clash).value) for clash in action.clashes]
        faultless = conjunction(asked, *(implication(enabled, condition) for condition in sound))
        return conjunction(asked, enabled), negation(faultless)

    def _update(self, translate: Translation, update: Assignment, number_: int) -> Value:
        """Return the condition that the update, if it is made, has a value of its variable's type."""
        variable = update.target.args[0]
        when, new = translate(update.when), translate(update.assigned)
        at = [translate(i) for i in update.target.args[1:]]
        inside = [within(i.value, axis) for i, axis in zip(at, variable.over, strict=True)]
        fires = conjunction(self._fires(number_), when.value)
        key = (type(new.value), new.value if isinstance(new.value, int) else new.value.get_id())
        for element in variable.elements():
            here = conjunction(fires, *(same(i.value, k) for i, k in zip(at, element, strict=True)))
            if here is not False:
                self._writes[variable.slot(element)].setdefault(key, (new.value, []))[1].append(here)
        sound = conjunction(new.defined, *(i.defined for i in at), *inside, within(new.value, variable.type))
        return conjunction(when.defined, implication(when.value, sound))

    def _possible(self, faults: list[Value]) -> list[Value]:
        """Return the same, with False for faults that no state within its types can have."""
        # Few action instances can fault: excluding the others saves bounded checking of the specification a sixth to a quarter of its time.
        solver = z3.SolverFor("QF_BV")
        solver.add(*(formula(within(x, type_)) for x, (_, type_) in zip(self.before, self.slots, strict=True)), *self.translate.facts)
        result: list[Value] = []
        for number_, fault in enumerate(faults):
            impossible = False
            if fault is not False:
                literal = z3.Bool(f"fault {number_}")
                self._watch.check()
                left = self._watch.left
                solver.set("timeout", _PATIENCE if left is None else max(1, min(_PATIENCE, int(1000 * left))))
                solver.add(z3.Implies(literal, formula(fault)))
                impossible = solver.check(literal) == z3.unsat
                if "interrupted" in solver.reason_unknown():
                    raise KeyboardInterrupt  # z3 handles Ctrl-C itself while it works, unless `smt` disables this
                interrupts.stop_if_interrupted()
            result.append(False if impossible else fault)
        return result

    def _effects(self, allowed: list[Value]) -> list[Value]:
        # One if-chain per element, with equal values grouped, is 1.3 to 4 times faster in z3 than an implication per write.
        terms = [implication(self._fires(i), ok) for i, ok in enumerate(allowed)]
        terms.append(disjunction(*(self._fires(i) for i in range(len(allowed)))))
        for slot, (_, type_) in enumerate(self.slots):
            result: Value = self.before[slot]
            for value, when in self._writes[slot].values():
                self._watch.check()
                result = z3.If(formula(disjunction(*when)), number(value, type_), result)
            terms.append(self.after[slot] == result)
        return terms

    def at(self, term: Value, depth: int) -> Value:
        """Return the formula with the state of this depth as the state before and the next depth's state as the state after."""
        if isinstance(term, bool):
            return z3.BoolVal(term)
        # z3.substitute would compare the sorts of all pairs again for each formula, half of the time of short paths.
        old, new = self._leaves, self._renamed(depth)
        return z3.BoolRef(z3.Z3_substitute(term.ctx.ref(), term.as_ast(), len(old), old, new), term.ctx)

    @cached_property
    def _leaves(self) -> Any:
        return _asts([*self.before, *self.after, self.choice])

    def _renamed(self, depth: int) -> Any:
        if depth not in self._names:
            self._names[depth] = _asts([*self.state(depth), *self.state(depth + 1), self.chosen(depth)])
        return self._names[depth]

    def state(self, depth: int) -> list[Value]:
        """Return the z3 constants of the state at a depth."""
        if depth not in self._states:
            self._states[depth] = [constant(f"{name} @{depth}", type_) for name, type_ in self.slots]
        return self._states[depth]

    def chosen(self, depth: int) -> Value:
        if depth not in self._choices:
            self._choices[depth] = z3.BitVec(f"choice @{depth}", self._choice_bits)
        return self._choices[depth]

    def equals(self, depth: int, codes: interpreter.State) -> Value:
        """Return the condition that the state at this depth has these codes."""
        pairs = zip(self.state(depth), codes, self.slots, strict=True)
        return conjunction(*(x == number(code, type_) for x, code, (_, type_) in pairs))

    def typed(self, depth: int) -> Value:
        """Return the condition that every element of the state at this depth is a value of its type."""
        return conjunction(*(within(x, type_) for x, (_, type_) in zip(self.state(depth), self.slots, strict=True)))

    def differ(self, first: int, second: int) -> Value:
        """Return the condition that the states at two depths differ."""
        return disjunction(*(x != y for x, y in zip(self.state(first), self.state(second), strict=True)))

    def read(self, model: Value, depth: int) -> interpreter.State:
        """Return the codes of the state at a depth in a z3 model."""
        return tuple(code_of(model, x) for x in self.state(depth))

    def move(self, model: Value, depth: int) -> Move:
        """Return the step taken from a depth in a z3 model."""
        number_ = int(model.eval(self.chosen(depth), model_completion=True).as_long())
        return self.moves[number_]


_recent: deque[Relation] = deque(maxlen=3)
"""A proof by induction needs a relation twice, and the claims of a case need it one after another; a longer cache only takes memory."""


def _asts(terms: Sequence[Value]) -> Any:
    """Return an array of z3's own handles; the caller keeps the terms alive."""
    return (z3.Ast * len(terms))(*(term.as_ast() for term in terms))


def code_of(model: Value, term: Value) -> int:
    """Return the code of a term in a z3 model, or 1 for a true formula; constants that do not matter get values."""
    value = model.eval(term, model_completion=True)
    return int(z3.is_true(value)) if z3.is_bool(value) else int(value.as_signed_long())
