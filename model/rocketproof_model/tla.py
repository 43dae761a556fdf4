"""Return the module of an instance; the configuration lets TLC check `properties` (by default the model's).

For `until` and `within` it has their observers as variables: TLC counts the states of the observed model.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .language import (
    DEEPEST,
    JAVA_INT,
    Action,
    Assignment,
    Container,
    Expr,
    Instance,
    MaybeShape,
    Property,
    SetType,
    Type,
    Variable,
    children,
    const,
    held,
    observed,
    walk,
)
from .language.actions import TRUE
from .language.records import Shape, parts_of
from .language.sequences import SequenceType
from .language.shapes import codes_of
from .language.shown import declared_variables

_INFIX = {"add": "+", "sub": "-", "mul": "*", "owner": "\\div", "lt": "<", "le": "<=", "eq": "=", "and": "/\\", "or": "\\/"}
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """ASSUME ASSUMPTION AXIOM CASE CHOOSE CONSTANT CONSTANTS DOMAIN ELSE ENABLED EXCEPT EXTENDS IF IN INSTANCE LET LOCAL MODULE OTHER
        SUBSET THEN THEOREM UNCHANGED UNION VARIABLE VARIABLES WITH TRUE FALSE BOOLEAN STRING Nat Int Len Head Tail Append SubSeq Seq
        SelectSeq Init Next Spec vars None Get Rem Wrap32 BitAnd Item""",
    )
)
_HELPERS = {
    "Get": "Get(x) == CASE x # None -> x",
    "Rem": "Rem(x, y) == LET r == (IF x < 0 THEN -x ELSE x) % (IF y < 0 THEN -y ELSE y) IN IF x < 0 THEN -r ELSE r",
    "Wrap32": "Wrap32(x) == ((x + 2147483648) % 4294967296) - 2147483648",
    "BitAnd": "RECURSIVE BitAnd(_, _)\nBitAnd(x, y) == IF x = 0 \\/ y = 0 THEN 0 ELSE IF x = -1 THEN y ELSE IF y = -1 THEN x\n"
    "  ELSE (x % 2) * (y % 2) + 2 * BitAnd(x \\div 2, y \\div 2)",
    "Item": "Item(q, k, most, none) == CASE k < Len(q) -> q[k + 1] [] k >= Len(q) /\\ k < most -> none",
}
_IN = "\\in"
_OF_SETS = {"bitand": "\\cap", "bitor": "\\cup", "bitandnot": "\\"}
_LOCAL = re.compile(r"[it]\d+|[fm]")
"""Names that the generated text binds locally; TLA+ rejects binding a name that is already defined."""
_LONG = 60  # minimum of characters of a term that gets a name if it occurs twice


@dataclass(frozen=True)
class Module:
    """The text of a module and of TLC's configuration for it."""

    name: str
    text: str
    config: str


class _Start(NamedTuple):
    """An initial value: a value, or any member of a set of values."""

    text: str
    several: bool = False


def module(instance: Instance, *, properties: Iterable[Property] | None = None) -> Module:
    """The module of an instance; `properties` (by default the model's) are what the configuration lets TLC check.

    For `until` and `within` it has their observers as variables: TLC counts the states of the observed model.
    """
    model, plain = observed(instance.model, instance.model.properties if properties is None else properties)
    return _Writer(Instance(model, instance.constants), [claim for parts in plain.values() for claim in parts]).module()


class _Writer:
    def __init__(self, instance: Instance, properties: Iterable[Property]) -> None:
        self.instance, self.model, self.claims = instance, instance.model, list(properties)
        self.names: dict[object, str] = {}
        self.taken = set(_RESERVED)
        self.name = self._named("module", "".join(word.capitalize() for word in re.findall(r"\w+", self.model.name)) or "Model")
        self.held = {v: c for c in self.model.containers for v in c.variables}
        self.declared_variables = list(declared_variables(self.model.variables, self.model.containers))
        for variable in self.declared_variables:
            self._named(variable, variable.name)
        for action in self.model.actions:
            self._named(action, action.name)
        for claim in self.claims:
            self._named(claim, claim.id)
        self.lets: dict[Expr, str] = {}

    # -- names ----------------------------------------------------------------------------------------------------------

    def _named(self, thing: object, wanted: str) -> str:
        name = re.sub(r"\W+", "_", wanted, flags=re.ASCII).strip("_") or "x"
        name = f"n{name}" if name[0].isdigit() else name
        while name in self.taken or name.startswith(("WF_", "SF_")) or _LOCAL.fullmatch(name):
            name += "_"
        self.taken.add(name)
        self.names[thing] = name
        return name

    # -- types and values -----------------------------------------------------------------------------------------------

    def domain(self, shape: Shape) -> str:
        """Return the set of a shape's values."""
        if isinstance(shape, tuple):
            return "(" + " \\X ".join(self.domain(part) for part in shape) + ")"
        if isinstance(shape, MaybeShape):
            return f"({self.domain(shape.of)} \\cup {{None}})"
        if not isinstance(shape, Type):
            return "[" + ", ".join(f"{name}: {self.domain(part)}" for name, part in shape.fields.items()) + "]"
        if shape.sort == "bool":
            return "BOOLEAN"
        if shape.sort == "set":
            return f"(SUBSET {self.domain(held(shape))})"
        if shape.sort == "maybe":
            some = f"{{<<x>>: x \\in {self.domain(held(shape))}}}" if held(shape).sort == "maybe" else self.domain(held(shape))
            return f"({some} \\cup {{None}})"
        if shape.sort == "enum":
            return "{" + ", ".join(self.value(shape, code) for code in shape.codes()) + "}"
        return f"({shape.lo}..{shape.hi})"

    def value(self, type_: Type, code: int) -> str:
        if type_.sort == "bool":
            return "TRUE" if code else "FALSE"
        if type_.sort == "enum":
            return f'"{type_.decode(code)}"'
        if type_.sort == "maybe":
            return _some(held(type_), self.value(held(type_), code - 1 + held(type_).lo)) if code else "None"
        if isinstance(type_, SetType):
            return "{" + ", ".join(self.value(type_.of, member) for member in type_.members(code)) + "}"
        return str(code) if code >= 0 else f"({code})"

    def member(self, shape: Shape, parts: Iterator[Expr]) -> str:
        """Return a value of a shape from the terms of its parts."""
        if isinstance(shape, Type):
            return self.as_value(next(parts), shape)
        if isinstance(shape, MaybeShape):
            return self._maybe(shape, [next(parts) for _ in parts_of(shape)])
        if isinstance(shape, tuple):
            return "<<" + ", ".join(self.member(part, parts) for part in shape) + ">>"
        return "[" + ", ".join(f"{name} |-> {self.member(part, parts)}" for name, part in shape.fields.items()) + "]"

    def _maybe(self, shape: MaybeShape, parts: Sequence[Expr]) -> str:
        """Return None, or a value of several parts. If one part is known to exist, all exist."""
        if any(part.op == "const" and not part.args[0] for part in parts):
            return "None"
        if any(part.op in ("const", "some") for part in parts):
            return self._inside(shape, parts)
        if all(part.op == "ite" and part.args[0] is parts[0].args[0] for part in parts):
            then, otherwise = (self._maybe(shape, [part.args[arm] for part in parts]) for arm in (1, 2))
            return f"(IF {self.term(parts[0].args[0])} THEN {then} ELSE {otherwise})"
        container = self.held.get(parts[0].args[0]) if parts[0].op in ("ref", "after") else None
        if container is not None and container.type == shape and [part.args[0] for part in parts] == list(container.variables):
            return self._whole(parts[0], container)
        return f"(IF {self.term(parts[0])} = None THEN None ELSE {self._inside(shape, parts)})"

    def _inside(self, shape: MaybeShape, parts: Sequence[Expr]) -> str:
        """Return the value in a Maybe of several parts that is not None."""
        return self.member(shape.of, iter([_inside(part, type_) for part, (_, type_) in zip(parts, parts_of(shape.of), strict=True)]))

    def literal(self, shape: Shape, codes: Iterable[int]) -> str:
        """Return a value of a shape from the codes of its parts."""
        return self.member(shape, iter([const(code, type_) for code, (_, type_) in zip(codes, parts_of(shape), strict=True)]))

    # -- terms ----------------------------------------------------------------------------------------------------------

    def as_value(self, term: Expr, type_: Type) -> str:
        """Return a term as a value of the type: a number that the language made of a Bool becomes a Bool again."""
        if type_.sort != "bool" or term.type.sort == "bool":
            return self.term(term)
        if term.op == "const":
            return self.value(type_, term.args[0])
        plain = term.op == "ite" and all(a.op == "const" for a in term.args[1:]) and [a.args[0] for a in term.args[1:]] == [1, 0]
        return self.term(term.args[0]) if plain else f"({self.term(term)} = 1)"

    def term(self, e: Expr) -> str:
        return self.lets.get(e) or self._term(e)

    def condition(self, e: Expr) -> str:
        """Return a term that TLC treats as a condition: in an action it would try both sides of a disjunction as two ways to take it."""
        text = self.term(e)
        return f"{text} = TRUE" if "\\/" in text else text

    def _alone(self, e: Expr) -> str:
        """Return a term outside actions, where only the parts of a deep term get names."""
        if e.depth <= DEEPEST:
            return self.term(e)
        lines = self._share([e])
        text = f"(LET {' '.join(lines)} IN {self.term(e)})"
        self.lets = {}
        return text

    def _term(self, e: Expr) -> str:
        op, a = e.op, e.args
        if op == "const":
            return self.value(e.type, a[0])
        if op == "given":
            return self.value(e.type, self.instance.constants[a[0]])
        if op == "par":
            return self.names[self.action, a[0]]
        if op in ("ref", "after"):
            return self._read(e)
        if op == "eq" and a[0].op == "get" and held(a[0].args[0].type).sort == "bool":
            return self._get(a[0].args[0])
        if op == "eq":
            return f"({self._compared(a[0], a[1])} = {self.term(a[1])})"
        if op == "not" and a[0].op == "eq" and a[0].args[0].op != "get":
            return f"({self._compared(*a[0].args)} # {self.term(a[0].args[1])})"
        if op == "not":
            return f"~{self.term(a[0])}"
        if op in _INFIX:
            return f"({self.term(a[0])} {_INFIX[op]} {self.term(a[1])})"
        if op in ("bitand", "bitor", "bitandnot"):
            x, y = self.term(a[0]), self.term(a[1])
            if e.type.sort == "set":
                return f"({x} {_OF_SETS[op]} {y})"
            bits = f"BitAnd({x}, {y})"
            return bits if op == "bitand" else f"({x} - {bits})" if op == "bitandnot" else f"({x} + {y} - {bits})"
        if op == "ite":
            return f"(IF {self.term(a[0])} THEN {self.term(a[1])} ELSE {self.term(a[2])})"
        if op == "has":
            return f"({self.as_value(a[1], held(a[0].type))} \\in {self.term(a[0])})"
        if op == "single":
            return f"{{{self.as_value(a[0], held(e.type))}}}"
        if op == "some":
            return _some(held(e.type), self.as_value(a[0], held(e.type)))
        if op == "get":
            text = self._get(a[0])
            return f"(IF {text} THEN 1 ELSE 0)" if held(a[0].type).sort == "bool" else text
        if op == "wrap32" and JAVA_INT[0] <= a[0].type.lo and a[0].type.hi <= JAVA_INT[1]:
            return self.term(a[0])
        return f"{'Rem' if op == 'rem' else 'Wrap32'}({', '.join(map(self.term, a))})"

    def _of_maybe(self, e: Expr) -> Container | None:
        """Return the Maybe of several parts to which a term's variable belongs."""
        container = self.held.get(e.args[0]) if e.op in ("ref", "after") and e not in self.lets else None
        return container if container is not None and isinstance(container.type, MaybeShape) else None

    def _get(self, e: Expr) -> str:
        """Return the value in a Maybe; TLC reports an error if it is None."""
        container = self._of_maybe(e)
        if container is not None and isinstance(container.type, MaybeShape):
            return _selected(container.type.of, self._whole(e, container))[container.variables.index(e.args[0])]
        text = f"Get({self.term(e)})"
        return f"{text}[1]" if held(e.type).sort == "maybe" else text

    def _compared(self, e: Expr, other: Expr) -> str:
        """Return the left side of a comparison: a Maybe of several parts is compared with None as a whole."""
        container = self._of_maybe(e) if other.op == "const" and other.args[0] == 0 else None
        return self.term(e) if container is None else self._whole(e, container)

    def _whole(self, e: Expr, container: Container) -> str:
        """Return the container to which a term's variable belongs."""
        at = [self.as_value(i, axis) for i, axis in zip(e.args[1:], container.over, strict=False)]
        return self.names[container] + ("'" if e.op == "after" else "") + self._at(at)

    def _read(self, e: Expr) -> str:
        variable: Variable = e.args[0]
        container = self.held.get(variable)
        if container is None:
            at = [self.as_value(i, axis) for i, axis in zip(e.args[1:], variable.over, strict=True)]
            return self.names[variable] + ("'" if e.op == "after" else "") + self._at(at)
        outer, whole = len(container.over), self._whole(e, container)
        if isinstance(container.type, MaybeShape):
            return _selected(container.type, whole)[container.variables.index(variable)]
        if isinstance(container.type, SequenceType):
            if variable is container.variables[0]:
                return f"Len({whole})"
            shape = container.type.cell
            lowest = self.literal(shape, [t.lo for _, t in parts_of(shape)])
            item = f"Item({whole}, {self.term(e.args[-1])}, {container.type.most}, {lowest})"
            return _selected(shape, item)[container.variables.index(variable) - 1]
        member = self.member(container.type.of, iter(e.args[1 + outer :]))
        return f"{whole}[{member}]" if container.type.most else f"({member} \\in {whole})"

    def _at(self, at: Sequence[str]) -> str:
        return f"[{', '.join(at)}]" if at else ""

    # -- states ---------------------------------------------------------------------------------------------------------

    def initial(self) -> str:
        lines = [self._starts(whole) for whole in self.declared_variables]
        lines += [self.condition(e) if e.depth <= DEEPEST else self._alone(e) for e in self.model.starts]
        return "\n".join(f"  /\\ {line}" for line in lines)

    def _starts(self, whole: Variable | Container) -> str:
        name = self.names[whole]
        if isinstance(whole, Variable):
            ways = [[self._alone(value) for value in element] for element in whole.init]
            return self._function(name, whole.over, [_Start(w[0]) if len(w) == 1 else _Start(f"{{{', '.join(w)}}}", True) for w in ways])
        return self._function(name, whole.over, [self._first(whole, at) for at in _elements(whole.over)])

    def _function(self, name: str, over: Sequence[Type], starts: Sequence[_Start]) -> str:
        """Return the initial condition of a variable whose elements have separate initial values."""
        if not over:
            return f"{name} {_IN if starts[0].several else '='} {starts[0].text}"
        axes = [f"i{k} \\in {self.domain(axis)}" for k, axis in enumerate(over)]
        if len(set(starts)) == 1 and not starts[0].several:
            return f"{name} = [{', '.join(axes)} |-> {starts[0].text}]"
        codes = _elements(over)
        keys = [
            " /\\ ".join(f"i{k} = {self.value(axis, code)}" for k, (axis, code) in enumerate(zip(over, at, strict=True))) for at in codes
        ]
        if not any(start.several for start in starts):
            cases = " [] ".join(f"{key} -> {start.text}" for key, start in zip(keys, starts, strict=True))
            return f"{name} = [{', '.join(axes)} |-> CASE {cases}]"
        sets = [start.text if start.several else f"{{{start.text}}}" for start in starts]
        domain = " \\X ".join(self.domain(axis) for axis in over)
        if len(set(sets)) == 1:
            return f"{name} \\in [{domain} -> {sets[0]}]"
        elements = [self._at([self.value(axis, code) for axis, code in zip(over, at, strict=True)]) for at in codes]
        limits = " /\\ ".join(f"f{at} \\in {s}" for at, s in zip(elements, sets, strict=True))
        whole = " \\cup ".join(dict.fromkeys(sets))
        return f"{name} \\in {{f \\in [{domain} -> {whole}]: {limits}}}"

    def _first(self, container: Container, at: tuple[int, ...]) -> _Start:
        """Return the initial value of one container."""
        if isinstance(container.type, MaybeShape):
            ways = [_init(variable, at) for variable in container.variables]
            several = any(len(way) > 1 for way in ways)
            return _Start(self.domain(container.type) if several else self.member(container.type, iter([way[0] for way in ways])), several)
        shape, most = container.type.of, container.type.most
        if isinstance(container.type, SequenceType):
            long, *columns = container.variables
            (length,) = _init(long, at)
            items = [self.member(container.type.cell, iter([_init(c, (*at, k))[0] for c in columns])) for k in range(length.args[0])]
            return _Start("<<" + ", ".join(items) + ">>")
        (variable,) = container.variables
        cells = [(codes, _init(variable, (*at, *codes))) for codes in codes_of(shape)]
        if any(len(ways) > 1 for _, ways in cells):
            return _Start(f"[{self.domain(shape)} -> 0..{most}]" if most else f"(SUBSET {self.domain(shape)})", True)
        texts = [(self.literal(shape, codes), count.args[0]) for codes, (count,) in cells if count.args[0]]
        if not most:
            return _Start("{" + ", ".join(text for text, _ in texts) + "}")
        cases = "".join(f"IF m = {text} THEN {count} ELSE " for text, count in texts)
        return _Start(f"[m \\in {self.domain(shape)} |-> {cases}0]")

    # -- actions --------------------------------------------------------------------------------------------------------

    def define(self, action: Action) -> str:
        self.action = action
        arguments = [self._named((action, name), name) for name in action.parameters]
        self.taken -= set(arguments)
        terms = [g.condition for g in action.guards] + [t for u in action.updates for t in (u.when, u.assigned, *children(u.target))]
        head = f"{_call(self.names[action], arguments)} =="
        lines = self._share(terms)
        body = [self.condition(guard.condition) for guard in action.guards]
        written: dict[Variable | Container, list[Assignment]] = {}
        for update in action.updates:
            variable: Variable = update.target.args[0]
            written.setdefault(self.held.get(variable) or variable, []).append(update)
        body += [f"{self.names[whole]}' = {self._becomes(whole, updates)}" for whole, updates in written.items()]
        same = [self.names[whole] for whole in self.declared_variables if whole not in written]
        body += [f"UNCHANGED <<{', '.join(same)}>>"] if same else []
        self.lets = {}
        shared = _let(lines)
        return f"\\* {action.sentence}\n{head}\n{shared}" + "\n".join(f"  /\\ {line}" for line in body)

    def _share(self, terms: Sequence[Expr]) -> list[str]:
        """Return definitions of names for long terms that occur more than once, and for parts of deep terms."""
        uses: dict[Expr, int] = {}
        for e in walk(*terms):
            for child in children(e):
                uses[child] = uses.get(child, 0) + 1
        lines: list[str] = []
        size: dict[Expr, int] = {}
        levels: dict[Expr, int] = {}
        for e in walk(*terms):
            size[e] = 8 + sum(size[c] for c in children(e))
            levels[e] = 1 + max((levels[c] for c in children(e)), default=0)
            if (uses.get(e, 0) > 1 and size[e] > _LONG) or levels[e] >= DEEPEST:
                lines.append(f"t{len(lines)} == {self._term(e)}")
                self.lets[e] = f"t{len(lines) - 1}"
                size[e], levels[e] = 2, 0
        return lines

    def _becomes(self, whole: Variable | Container, updates: Sequence[Assignment]) -> str:
        name = self.names[whole]
        if isinstance(whole, Variable):
            if not whole.over:
                text = name
                for update in updates:
                    text = self._where(update.when, self.term(update.assigned), text)
                return text
            parts = [f"!{self._at(self._indices(u))} = {self._where(u.when, self.term(u.assigned), '@')}" for u in updates]
            return f"[{name} EXCEPT {', '.join(parts)}]"
        outer, text = len(whole.over), name
        for _, group in itertools.groupby(updates, lambda u: tuple(map(id, (*u.target.args[1 : 1 + outer], u.when)))):
            some = list(group)
            if outer:
                text = f"[{text} EXCEPT !{self._at(self._indices(some[0])[:outer])} = {self._content(whole, '@', some)}]"
            else:
                text = self._content(whole, text, some)
        return text

    def _where(self, when: Expr, text: str, otherwise: str) -> str:
        return text if when is TRUE else f"(IF {self.term(when)} THEN {text} ELSE {otherwise})"

    def _indices(self, update: Assignment) -> list[str]:
        """Return the indices of an assignment.

        If nothing is assigned, they are the first element's, because others may have no value there.
        """
        indices = []
        for index, axis in zip(update.target.args[1:], update.target.args[0].over, strict=True):
            text = self.as_value(index, axis)
            known = index.op == "const" or (index.op == "par" and index.type == axis)
            indices.append(text if known else self._where(update.when, text, self.value(axis, axis.lo)))
        return indices

    def _content(self, container: Container, old: str, updates: Sequence[Assignment]) -> str:
        """Return the value of a set, a bag, a sequence or a Maybe after updates under one condition."""
        shape, outer, when = container.type.of, len(container.over), updates[0].when
        if isinstance(container.type, MaybeShape):
            new = {update.target.args[0]: update.assigned for update in updates}
            at = updates[0].target.args[1:]
            whole = self.member(container.type, iter([new.get(variable, variable[at]) for variable in container.variables]))
            return self._where(when, whole, old)
        if isinstance(container.type, SequenceType):
            return self._where(when, self._sequence(container, container.type.most, updates), old)
        cells = [(self.member(shape, iter(u.target.args[1 + outer :])), u.assigned) for u in updates]
        if container.type.most:
            lowest = self.literal(shape, [t.lo for _, t in parts_of(shape)])
            counts = [f"![{self._where(when, cell, lowest)}] = {self._where(when, self.term(value), '@')}" for cell, value in cells]
            return f"[{old} EXCEPT {', '.join(counts)}]"
        if len(cells) == math.prod(t.size for _, t in parts_of(shape)) and all(v.op == "const" for _, v in cells):
            return self._where(when, "{" + ", ".join(member for member, value in cells if value.args[0]) + "}", old)
        text = old
        for member, value in cells:
            changed = self._where(when, f"{{{member}}}", "{}")
            if value.op == "const":
                text = f"({text} {_OF_SETS['bitor' if value.args[0] else 'bitandnot']} {changed})"
            else:
                put = self._where(when, f"(IF {self.term(value)} THEN {{{member}}} ELSE {{}})", "{}")
                text = f"(({text} \\ {changed}) \\cup {put})"
        return text

    def _sequence(self, container: Container, most: int, updates: Sequence[Assignment]) -> str:
        long, *columns = container.variables
        new = {(u.target.args[0], u.target.args[-1].args[0] if u.target.args[0] is not long else -1): u.assigned for u in updates}
        length = new[long, -1]
        at = updates[0].target.args[1:] if updates[0].target.args[0] is long else updates[0].target.args[1:-1]
        columns_now = {c: [c[(*at, k)] for k in range(most)] for c in columns}
        whole = self.names[container] + self._at([self.as_value(i, t) for i, t in zip(at, container.over, strict=True)])
        if length is long[at] - 1 and all(new[c, k] is columns_now[c][k + 1] for c in columns for k in range(most - 1)):
            return f"Tail({whole})"
        items = [self.member(container.member, iter([new[c, k] for c in columns])) for k in range(most)]
        return f"SubSeq(<<{', '.join(items)}>>, 1, {self.term(length)})"

    # -- the module -----------------------------------------------------------------------------------------------------

    def module(self) -> Module:
        names = ", ".join(self.names[whole] for whole in self.declared_variables)
        actions = [self.define(action) for action in self.model.actions]
        steps, fair = [], []
        for action in self.model.actions:
            arguments = [(self.names[action, name], type_) for name, type_ in action.parameters.items()]
            call = _call(self.names[action], [name for name, _ in arguments])
            ranges = ", ".join(f"{name} \\in {self.domain(type_)}" for name, type_ in arguments)
            some, every = (f"\\E {ranges}: ", f"\\A {ranges}: ") if ranges else ("", "")
            steps.append(f"  \\/ {some}{call}")
            if action.fair:
                fair.append(f"  /\\ {every}{'WF' if action.fair == 'weak' else 'SF'}_vars({call})")
        claims, config = self._claims()
        body = [
            f"VARIABLES {names}\n\nvars == <<{names}>>",
            f"Init ==\n{self.initial()}",
            *actions,
            "Next ==\n" + "\n".join(steps),
            "Spec ==\n  /\\ Init\n  /\\ [][Next]_vars" + "".join(f"\n{line}" for line in fair),
            *claims,
        ]
        text = "\n\n".join(body)
        helpers = [line for word, line in _HELPERS.items() if re.search(rf"\b{word}\(", text)]
        head = f"---- MODULE {self.name} ----\n\\* {self.model.name}, written by rocketproof\n"
        head += "EXTENDS Integers, Sequences\n\nCONSTANT None\n\n"
        helper = "\n".join(helpers) + "\n\n" if helpers else ""
        return Module(self.name, f"{head}{helper}{text}\n\n====\n", config)

    def _claims(self) -> tuple[list[str], str]:
        """Return the definitions of the properties, and the configuration that checks them."""
        lines, config = [], ["SPECIFICATION Spec", "CONSTANT None = None"]
        deadlock = False
        for claim in self.claims:
            name = self.names[claim]
            if claim.kind == "lemma":
                continue
            shared = self._share([claim.formula])
            formula, let = self.term(claim.formula), _let(shared)
            self.lets = {}
            if claim.kind == "deadlock_free":
                deadlock = deadlock or claim.formula.op == "const"
                continue
            text, kind = f"{let}{formula}", "INVARIANT"
            if claim.kind == "reachable":  # TLC reports a state of it as the counterexample to its negation
                text, kind = f"{let}~{formula}", ""
            elif claim.kind == "step":
                text, kind = f"[][{let}{formula}]_vars", "PROPERTY"
            elif claim.kind == "eventually_always":
                text, kind = f"<>[]{f'({let}{formula})' if let else formula}", "PROPERTY"
            elif claim.kind == "leads_to" and claim.goal is not None:
                text, kind = f"{f'({let}{formula})' if let else formula} ~> {self._alone(claim.goal)}", "PROPERTY"
            lines.append(f"\\* {claim.sentence}\n{name} == {text}")
            config += [f"{kind} {name}"] if kind else []
        config.append(f"CHECK_DEADLOCK {'TRUE' if deadlock else 'FALSE'}")
        return lines, "\n".join(config) + "\n"


def _selected(shape: Shape, whole: str) -> list[str]:
    """Return how TLA+ selects each part of a value with this text, in the order of `parts_of`."""
    if isinstance(shape, Type):
        return [whole]
    if isinstance(shape, MaybeShape):
        parts = zip(_selected(shape.of, whole), parts_of(shape.of), strict=True)
        return [f"(IF {whole} = None THEN None ELSE {_some(type_, part)})" for part, (_, type_) in parts]
    fields = (
        {f"[{k}]": part for k, part in enumerate(shape, 1)} if isinstance(shape, tuple) else {f".{n}": e for n, e in shape.fields.items()}
    )
    return [part for field, of in fields.items() for part in _selected(of, whole + field)]


def _some(type_: Type, text: str) -> str:
    """Return a Maybe that holds a value of this type. A value that is a Maybe itself is wrapped in a tuple, so that it is not None."""
    return f"<<{text}>>" if type_.sort == "maybe" else text


def _inside(part: Expr, type_: Type) -> Expr:
    """Return the value in a Maybe that is not None."""
    if part.op == "const":
        return const(part.args[0] - 1 + type_.lo, type_)
    inside: Expr = part.args[0] if part.op == "some" else part.get
    return inside


def _call(name: str, arguments: Sequence[str]) -> str:
    return f"{name}({', '.join(arguments)})" if arguments else name


def _let(lines: Sequence[str]) -> str:
    return "  LET " + "\n      ".join(lines) + "\n  IN\n" if lines else ""


def _elements(over: Sequence[Type]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(axis.codes() for axis in over)))


def _init(variable: Variable, at: tuple[int, ...]) -> tuple[Expr, ...]:
    return variable.init[variable.slot(at) - variable.first]


__all__ = ["Module", "module"]
