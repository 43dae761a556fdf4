"""Terms as Python functions: guards, effects and any term of an instance, many times faster than the interpreter.

The source of a function is generated from the terms, with the instance's constants folded in, and compiled by Python. Values may have any
size, so this form suits callers that follow given steps through ranges too large for packed states. The meaning is the interpreter's,
EvaluationError included; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from .errors import EvaluationError
from .interpreter import Environment, State, beyond, nothing, slot_of
from .language import BINARY, Action, Assignment, Expr, Guard, Instance, Variable, children, fold32, held, java_rem, show, walk
from .language.actions import TRUE

_DEEP = 24  # nested operations in one Python expression; its parser gives up at about 200 parentheses
_INFIX = {"add": "+", "sub": "-", "mul": "*", "owner": "//", "bitand": "&", "bitor": "|", "lt": "<", "le": "<=", "eq": "=="}
_FORMS = {
    "not": "(not {})",
    "bitandnot": "({} & ~{})",
    "rem": "rem({}, {})",
    "wrap32": f"(({{}} + {2**31}) % {2**32} - {2**31})",
}


@dataclass(frozen=True, eq=False)
class Function:
    """An action of an instance: `refusing` and `changes` take a state and the codes of the action's parameters.

    Each is compiled at its first call. Both raise EvaluationError if a term has no value, or a value leaves its type.
    """

    instance: Instance
    action: Action

    @cached_property
    def refusing(self) -> Callable[..., int]:
        """The number of the first guard that refuses, -1 if none does."""
        writer = self._writer()
        refusing: Callable[..., int] = _compiled(writer, writer.guards(self.action.guards), self._title)["refusing"]
        return refusing

    @cached_property
    def changes(self) -> Callable[..., list[int]]:
        """Slot and new code of everything that the effect assigns, as one flat list."""
        writer = self._writer()
        changes: Callable[..., list[int]] = _compiled(writer, writer.effect(self.action), self._title)["changes"]
        return changes

    def _writer(self) -> _Writer:
        return _Writer(self.instance.constants, self.action.parameters)

    @property
    def _title(self) -> str:
        return f"<action {self.action.name}>"

    def enabled(self, state: State, args: Sequence[int]) -> bool:
        return self.refusing(state, *args) < 0

    def effect(self, state: State, args: Sequence[int]) -> State:
        """Return the state after an enabled action."""
        after = list(state)
        pairs = self.changes(state, *args)
        for k in range(0, len(pairs), 2):
            after[pairs[k]] = pairs[k + 1]
        return tuple(after)

    def guard(self, state: State, args: Sequence[int]) -> Guard | None:
        """Return the first guard that refuses; None if none does."""
        number = self.refusing(state, *args)
        return None if number < 0 else self.action.guards[number]

    @cached_property
    def refs(self) -> list[Expr]:
        """The references in guards and effect, without bounds."""
        terms = [g.condition for g in self.action.guards if not g.bound]
        terms += [t for u in self.action.updates for t in (u.value, u.when, *children(u.target))]
        return list(dict.fromkeys(e for e in walk(*terms) if e.op == "ref"))

    @cached_property
    def _fixed_reads(self) -> tuple[set[int], list[Expr]]:
        """The slots that are read in every state, and the references whose slots depend on the state."""
        moving = [e for e in self.refs if any(i.op != "const" for i in e.args[1:])]
        fixed = [e for e in self.refs if all(i.op == "const" for i in e.args[1:])]
        return {e.args[0].slot(tuple(i.args[0] for i in e.args[1:])) for e in fixed}, moving

    def reads(self, state: State, args: Sequence[int]) -> set[int]:
        """Return the slots that guards and effect may read in a state, without bounds. It contains all slots that they do read."""
        fixed, moving = self._fixed_reads
        scope = Environment(state, dict(zip(self.action.parameters, args, strict=True)), self.instance.constants)
        slots = set(fixed)
        for ref in moving:
            with suppress(EvaluationError):  # an index without value or out of range has no slot
                slots.add(slot_of(ref, scope))
        return slots


class Functions(Mapping[str, Function]):
    """The functions of an instance by the action's name."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._actions = {action.name: action for action in instance.model.actions}
        self._functions: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = Function(self.instance, self._actions[name])
        return function

    def __iter__(self) -> Iterator[str]:
        return iter(self._actions)

    def __len__(self) -> int:
        return len(self._actions)


def term_function(instance: Instance, term: Expr) -> Callable[..., int]:
    """Compile a term without parameters to a function of a state and, for a term about a step, of the state after.

    The function returns the term's code. It raises EvaluationError if the term has no value.
    """
    writer = _Writer(instance.constants, {})
    value: Callable[..., int] = _compiled(writer, writer.value(term), f"<term {show(term)[:80]}>")["value"]
    return value


def _compiled(writer: _Writer, text: str, title: str) -> dict[str, Any]:
    names: dict[str, Any] = {"rem": _rem, "get": _get, "index": _index, "outside": _outside, "twice": _twice, "texts": writer.texts}
    exec(compile(text, title, "exec"), names)
    return names


# Functions that the generated text calls where a value may be missing


def _rem(x: int, y: int) -> int:
    if y == 0:
        raise EvaluationError("remainder by zero")
    return java_rem(x, y)


def _get(x: int, text: str) -> int:
    if x == 0:
        raise EvaluationError(text)
    return x


def _index(k: int, lo: int, hi: int, text: str) -> int:
    if lo <= k <= hi:
        return k
    raise EvaluationError(text.replace("index ?", f"index {k}", 1))


def _outside(code: int, text: str) -> NoReturn:
    raise EvaluationError(f"{text} becomes {code}, outside its type")


def _twice(text: str) -> NoReturn:
    raise EvaluationError(f"one element gets two values by {text}")


class _Written(NamedTuple):
    """A term as text; `value` is its code if the constants decide it."""

    text: str
    value: int | None = None


class _Writer:
    """Writes the two functions of an action, or that of a term.

    Terms that always have a value become local variables if they occur more than once or are deep. Other deep terms become local functions.
    The rest stays in place, because Python's `and`, `or` and `if` must decide whether it is computed.
    """

    def __init__(self, constants: Mapping[str, int], parameters: Mapping[str, Any]) -> None:
        self.constants = constants
        self.parameters = {name: f"a{k}" for k, name in enumerate(parameters)}
        self.texts: list[str] = []
        self._places: dict[str, int] = {}

    def value(self, term: Expr) -> str:
        lines = self._start("value", [term], "s, n=()")
        written = self._written(term, lines)
        text = f"1 if {written.text} else 0" if term.type.sort == "bool" and written.value is None else written.text
        return "\n".join([*lines, f"    return {text}"])

    def guards(self, guards: Sequence[Guard]) -> str:
        lines = self._start("refusing", [g.condition for g in guards])
        for number, guard in enumerate(guards):
            test = self._written(guard.condition, lines)
            if test.value is None:
                lines.append(f"    if not ({test.text}): return {number}")
            elif not test.value:
                lines.append(f"    return {number}")
                return "\n".join(lines)
        return "\n".join([*lines, "    return -1"])

    def effect(self, action: Action) -> str:
        updates = action.updates
        terms = [t for u in updates for t in (u.value, u.assigned, u.when, *children(u.target))]
        lines = self._start("changes", [*terms, *action.clashes])
        pairs = [self._assignment(action, number, update, lines) for number, update in enumerate(updates)]
        for clash in action.clashes:
            lines.append(f"    if {self._written(clash, lines).text}: twice({self._text(f'{action.name}: {show(clash)}')})")
        return "\n".join([*lines, f"    return [{', '.join(pairs)}]"])

    def _assignment(self, action: Action, number: int, update: Assignment, lines: list[str]) -> str:
        """Return the slot and the new code of an update as items of a list, and append the lines that they need."""
        variable: Variable = update.target.args[0]
        # The only update of a variable may write the old value where its condition fails, which is faster, if its place always exists.
        # Evaluating the condition loses no error: it is part of the value, or has a value in every state.
        sound = self._has_value(update.target) and (update.value is not update.assigned or self._has_value(update.when))
        alone = sound and sum(u.target.args[0] is variable for u in action.updates) == 1
        always = alone or update.when is TRUE
        if not always:
            lines.append(f"    w{number} = {self._written(update.when, lines).text}")
        unless = "" if always else f" if w{number} else 0"
        value = update.value if alone else update.assigned
        written = self._written(value, lines)
        text = f"(1 if {written.text} else 0)" if variable.type.sort == "bool" and written.value is None else written.text
        lines.append(f"    v{number} = {text}{unless}")
        if value.type.lo < variable.type.lo or value.type.hi > variable.type.hi:
            why = self._text(f"{variable.name}, by {action.name},")
            asked = "" if always else f"w{number} and "
            lines.append(f"    if {asked}not {variable.type.lo} <= v{number} <= {variable.type.hi}: outside(v{number}, {why})")
        slot = self._slot(update.target, lines)
        if slot.value is None:
            lines.append(f"    i{number} = {f'({slot.text})' if unless else slot.text}{unless}")
        pair = f"{slot.text if slot.value is not None else f'i{number}'}, v{number}"
        return pair if always else f"*(({pair}) if w{number} else ())"

    def _start(self, name: str, terms: list[Expr], states: str = "s") -> list[str]:
        uses: dict[Expr, int] = {}
        for e in walk(*terms):
            for child in children(e):
                uses[child] = uses.get(child, 0) + 1
        self.shared = {e for e, count in uses.items() if count > 1 and children(e)}
        self.done: dict[Expr, _Written] = {}
        self.total: dict[Expr, bool] = {}
        return [f"def {name}({', '.join([states, *self.parameters.values()])}):"]

    def _written(self, term: Expr, lines: list[str]) -> _Written:
        """Return the text of the term, and append the lines that it needs."""
        depth: dict[Expr, int] = {}
        for e in walk(term):
            depth[e] = 1 + max((depth[c] for c in children(e)), default=0)
            if e is term or not children(e) or e in self.done:
                continue
            total = self._has_value(e)
            if (e in self.shared and total) or depth[e] >= _DEEP:
                text = self._term(e, lines)
                if text.value is None and e.op != "const":
                    name = f"t{len(self.done)}"
                    lines.append(f"    {name} = {text.text}" if total else f"    def {name}(): return {text.text}")
                    text = _Written(name if total else f"{name}()")
                self.done[e] = text
                depth[e] = 1
        return self._term(term, lines)

    def _has_value(self, term: Expr) -> bool:
        """Return whether the term has a value in every state."""
        for e in walk(term, known=self.total):
            total = e.op not in ("rem", "get") and all(self.total[c] for c in children(e))
            if e.op in ("ref", "after"):
                total = total and all(_within(i, axis) for i, axis in zip(e.args[1:], e.args[0].over, strict=True))
            self.total[e] = total
        return self.total[term]

    def _term(self, e: Expr, lines: list[str]) -> _Written:
        done = self.done.get(e)
        if done is not None:
            return done
        op, a = e.op, e.args
        if op == "const":
            return _code(int(a[0]))
        if op == "given":
            return _code(self.constants[a[0]])
        if op == "par":
            return _Written(self.parameters[a[0]])
        if op in ("ref", "after"):
            return _Written(f"{'s' if op == 'ref' else 'n'}[{self._slot(e, lines).text}]")
        if op in ("and", "or", "ite"):
            return self._choice(op, a, lines)
        parts = [self._term(c, lines) for c in a]
        values = [p.value for p in parts if p.value is not None]
        if len(values) == len(parts):
            folded = fold(e, values)
            if folded is not None:
                return _code(folded)
        return _Written(self._operation(e, [p.text for p in parts]))

    def _choice(self, op: str, a: Sequence[Expr], lines: list[str]) -> _Written:
        """Return a term that decides which of its operands are computed; only the first operand may be decided by constants."""
        first = self._term(a[0], lines)
        if op == "ite":
            if first.value is not None:
                return self._term(a[1] if first.value else a[2], lines)
            return _Written(f"({self._term(a[1], lines).text} if {first.text} else {self._term(a[2], lines).text})")
        if first.value is not None:
            return first if bool(first.value) == (op == "or") else self._term(a[1], lines)
        return _Written(f"({first.text} {op} {self._term(a[1], lines).text})")

    def _operation(self, e: Expr, parts: list[str]) -> str:
        if e.op in _INFIX:
            return f"({parts[0]} {_INFIX[e.op]} {parts[1]})"
        if e.op in _FORMS:
            return _FORMS[e.op].format(*parts)
        if e.op == "has":
            return f"({parts[0]} >> {_less(parts[1], held(e.args[0].type).lo)} & 1)"
        if e.op == "single":
            return f"(1 << {_less(parts[0], held(e.type).lo)})"
        if e.op == "some":
            return _less(parts[0], held(e.type).lo - 1)
        if e.op == "get":
            return _less(f"get({parts[0]}, {self._text(nothing(e.args[0]))})", 1 - held(e.args[0].type).lo)
        raise EvaluationError(f"{show(e)} has no meaning in a function")

    def _slot(self, ref: Expr, lines: list[str]) -> _Written:
        variable: Variable = ref.args[0]
        first, texts, step = variable.first, [], variable.size
        for number, (k, axis) in enumerate(zip(ref.args[1:], variable.over, strict=True)):
            step //= axis.size
            written = self._term(k, lines)
            if written.value is not None and axis.lo <= written.value <= axis.hi:
                first += step * (written.value - axis.lo)
                continue
            text = written.text if _within(k, axis) else f"index({written.text}, {axis.lo}, {axis.hi}, {self._text(beyond(ref, number))})"
            first -= step * axis.lo
            texts.append(text if step == 1 else f"{step} * {text}")
        if not texts:
            return _code(first)
        return _Written(" + ".join([*texts, str(first)] if first > 0 else texts) + (f" - {-first}" if first < 0 else ""))

    def _text(self, text: str) -> str:
        """Return the name of the text of an error message."""
        if text not in self._places:
            self._places[text] = len(self.texts)
            self.texts.append(text)
        return f"texts[{self._places[text]}]"


def _code(value: int) -> _Written:
    return _Written(str(value) if value >= 0 else f"({value})", value)


def _within(index: Expr, axis: Any) -> bool:
    inside: bool = index.type.lo >= axis.lo and index.type.hi <= axis.hi
    return inside


def _less(text: str, by: int) -> str:
    return f"({text} - {by})" if by > 0 else f"({text} + {-by})" if by else text


def fold(e: Expr, values: list[int]) -> int | None:
    """Return the value of an operation on constants, None if it has none or folding is not worthwhile."""
    op: str = e.op
    if op in BINARY:
        return None if op == "rem" and values[1] == 0 else int(BINARY[op](*values))
    if op == "not":
        return 1 - values[0]
    if op == "some":
        return values[0] - held(e.type).lo + 1
    if op == "wrap32":
        return fold32(values[0])
    if op == "get" and values[0] != 0:
        return values[0] - 1 + held(e.args[0].type).lo
    return None
