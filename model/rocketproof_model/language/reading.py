"""Terms read from text: `config["broker-a", "orders"].perm & 2 == 2`, `all(up[b] for b in Broker)`, and any output of `show`.

The text has Python's syntax. The allowed forms are the operators of terms, indexing, fields, the functions of the language, and quantifiers
as generators or as in a model (`forall(Broker, lambda b: up[b])`). Names are those of a model: variables, constants, parameters, indices,
and elements and values with or without quotes. Python evaluates nothing. [All forms](../../docs/expressions.md) are read by the explorer's
page too. Each form of the syntax is a method of one reader, so the module is long.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError, RocketproofError
from .expr import Expr, Index, bitwise, choose, coerce, compare, const, equal, logical, number, of_sets, some
from .model import Model
from .operations import all_of, any_of, implies, java_abs, maximum, minimum, owner, rem, single, without_bits, wrap32
from .records import Row, after, ite
from .spelling import AFTER, PART, Spelled, spell
from .types import Bool, EnumType, IndexType, MaybeType, SetType, Type, held, maybe_of
from .variables import Variable
from .vocabulary import Vocabulary, names_of

LONGEST = 10_000
"""Maximum of characters of a text."""
LARGEST = 20_000
"""Maximum of parts that quantifiers unfold into."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "rem": rem,
    "wrap32": wrap32,
    "java_abs": java_abs,
    "minimum": minimum,
    "maximum": maximum,
    "without_bits": without_bits,
    "implies": implies,
    "single": single,
    "owner": owner,
    "after": after,
    "ite": ite,
}
_ALL, _ANY, _SUM, _COUNT = ("all", "forall"), ("any", "exists"), ("sum", "total"), ("count",)
_QUANTIFIERS = (*_ALL, *_ANY, *_SUM, *_COUNT)
_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda x, y: x + y,
    ast.Sub: lambda x, y: x - y,
    ast.Mult: lambda x, y: x * y,
    ast.Mod: rem,
    ast.BitAnd: lambda x, y: x & y,
    ast.BitOr: lambda x, y: x | y,
}


class ReadingError(RocketproofError):
    """A text that is not a term of the model: the column, counted from 1, the problem, and the remedy."""

    def __init__(self, column: int, problem: str, remedy: str) -> None:
        self.column = column
        super().__init__(" ".join(f"column {column}: {problem}; {remedy}".split()))


@dataclass(frozen=True)
class _Untyped:
    """A value whose type the other side of a comparison decides: a name, None, a set, or a choice of these."""

    make: Callable[[Type], Expr]
    text: str


def read(text: str, model: Model, parameters: Mapping[str, Type] | None = None, type_: Type | None = None) -> Expr:
    """Return the term that a text means in a model, or inside an action with these parameters. A single name is read as a value of `type_`.

    Raises ReadingError with a message of one line.
    """
    if len(text) > LONGEST:
        raise ReadingError(LONGEST, f"the text has {len(text):,} characters", f"write at most {LONGEST:,}")
    if not text.strip():
        raise ReadingError(1, "there is no text", "write an expression such as x + 1 == 2")
    vocabulary = Vocabulary.of(model, parameters)
    spelled = spell(text.rstrip(), vocabulary.values)
    if "\0" in spelled.text:  # Python 3.11.4 was the first to report it as an error of syntax
        raise ReadingError(spelled.column(len(spelled.text.encode())), "the text has null bytes", "write an expression as in Python")
    try:
        body = ast.parse(spelled.text.lstrip(), mode="eval").body
        return _Reader(vocabulary, spelled, len(spelled.text) - len(spelled.text.lstrip())).whole(body, type_)
    except SyntaxError as error:
        offset = error.offset - 1 if error.offset else len(spelled.text.encode())
        raise ReadingError(spelled.column(offset), error.msg.partition(";")[0], "write an expression as in Python") from None
    except (RecursionError, MemoryError, ValueError):
        raise ReadingError(1, "the text is nested too deeply, or has a number that is too long", "write a shorter one") from None


class _Reader:
    def __init__(self, vocabulary: Vocabulary, spelled: Spelled, offset: int) -> None:
        self.known, self.spelled, self.offset = vocabulary, spelled, offset
        self.bound: dict[str, Expr] = {}
        self.size = 0

    def whole(self, node: ast.expr, type_: Type | None) -> Expr:
        value = self.value(node) if type_ is None else self.typed(node, type_)
        if isinstance(value, _Untyped) and type_ is not None:
            return self.with_type(node, value, type_)
        if isinstance(value, _Untyped):
            raise self.wrong(node, f"{value.text} alone has no type", "compare it with something")
        term = self.term(node, value)
        return self.with_type(node, term, type_) if isinstance(type_, MaybeType) and not isinstance(term.type, MaybeType) else term

    def wrong(self, node: ast.AST, problem: str, remedy: str) -> ReadingError:
        return ReadingError(self.spelled.column(getattr(node, "col_offset", 0) + self.offset), problem, remedy)

    def value(self, node: ast.expr) -> Any:
        """Return a term, a row, an index, a Python number or truth value, or an untyped value."""
        self.size += 1
        if self.size > LARGEST:
            raise self.wrong(node, "the quantifiers unfold into too many parts", "quantify over fewer elements")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.wrong(node, f"{self.text(node)} has no meaning here", "there are + - * % & | ~ == < in, if else, all(), after()")
        return self.placed(node, lambda: method(node))

    def placed(self, node: ast.expr, make: Callable[[], Any]) -> Any:
        """Return the result of `make`; a ModelError is raised again with the column of `node`."""
        try:
            return make()
        except ModelError as error:
            raise self.wrong(node, error.problem, error.remedy) from None

    def term(self, node: ast.expr, value: Any) -> Expr:
        if isinstance(value, bool):
            return const(value, Bool)
        if isinstance(value, int):
            return number(value)
        if not isinstance(value, Expr):
            raise self.wrong(node, f"{self.text(node)} is no value by itself", "name a field, or an element: table[i].field")
        return value

    def text(self, node: ast.AST) -> str:
        """Return a part of the text as it was typed."""
        shown = ast.unparse(node)
        for stand_in, name in self.spelled.names.items():
            shown = shown.replace(stand_in, name)
        return shown.replace(f".{AFTER}", "'").replace(PART, "")[:60]

    # Names

    def _name(self, node: ast.Name) -> Any:
        name = self.spelled.names.get(node.id, node.id)
        known = self.known
        if name in self.bound:
            return self.bound[name]
        if name in known.parameters:
            return Expr("par", (name,), known.parameters[name])
        if name in known.variables:
            variable = known.variables[name]
            return variable if variable.over else variable[()]
        if name in known.tables:
            columns = known.tables[name]
            return columns if any(v.over for v in columns.values()) else _row({c: v[()] for c, v in columns.items()})
        if name in known.constants:
            return Expr("given", (name,), known.constants[name])
        if name in known.indices:
            return known.indices[name]
        if name in known.values:
            return self.word(name)
        near = difflib.get_close_matches(name, [*known.known(), *_FUNCTIONS, *_QUANTIFIERS], 3)
        having = ", ".join([*known.variables, *known.tables]) or "none"
        raise self.wrong(
            node, f"nothing is called {name!r}", f"did you mean {' or '.join(near)}?" if near else f"the variables are {having}"
        )

    def word(self, name: str) -> _Untyped:
        return _Untyped(lambda type_: coerce(name, type_), repr(name))

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, str):
            return self.word(node.value)
        if node.value is None:
            return _Untyped(lambda type_: coerce(None, type_), "None")
        if isinstance(node.value, bool | int):
            return node.value
        raise self.wrong(node, f"{node.value!r} is no value of a model", "there are whole numbers, True, False, None and names")

    def typed(self, node: ast.expr, type_: Type) -> Any:
        """Return the value of a part where a value of this type is expected; the name of a value of the type means that value."""
        of = held(type_)
        if isinstance(node, ast.Name):
            name = self.spelled.names.get(node.id, node.id)
            if name in names_of(of) and name not in self.bound and name not in self.known.parameters:
                return self.word(name)
        if isinstance(node, ast.IfExp):
            return self.placed(node, lambda: self._ifexp(node, type_))
        return self.value(node)

    # Elements and fields

    def _subscript(self, node: ast.Subscript) -> Any:
        base = self.value(node.value)
        at = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(base, Variable) and len(base.over) != len(at):  # the items of a sequence, whose length has an index less
            base = self.known.tables.get(base.name, base)
        if isinstance(base, Variable):
            return base[self.places(node, base, at)]
        if isinstance(base, Mapping):
            some: Variable = next((column for column in base.values() if len(column.over) == len(at)), next(iter(base.values())))
            places = self.places(node, some, at)
            return _row({name: column[places] for name, column in base.items() if column.over == some.over})
        raise self.wrong(node, f"{self.text(node.value)} has no elements", "index a variable over indices, or a table")

    def places(self, node: ast.AST, variable: Variable, at: Sequence[ast.expr]) -> tuple[Expr, ...]:
        table = variable.name.partition(".")[0]
        if len(at) != len(variable.over):
            needs = ", ".join(axis.name if isinstance(axis, IndexType) else str(axis) for axis in variable.over)
            raise self.wrong(node, f"{table} is indexed by {len(at)} values", f"write {table}[{needs}]")
        return tuple(self.element(part, axis) for part, axis in zip(at, variable.over, strict=True))

    def element(self, node: ast.expr, axis: Type) -> Expr:
        value = self.typed(node, axis)
        if isinstance(value, Expr):
            return value.get if isinstance(value.type, MaybeType) else value
        return self.with_type(node, value, axis)

    def _attribute(self, node: ast.Attribute) -> Any:
        attr = node.attr.removeprefix(PART)
        table = node.value.id if isinstance(node.value, ast.Name) and node.value.id not in self.bound else ""
        if attr in self.known.tables.get(table, {}):
            column = self.known.tables[table][attr]
            return column if column.over else column[()]
        base = self.value(node.value)
        if attr == AFTER:
            return after(base)
        if isinstance(base, Mapping):
            if attr in base:
                return base[attr]
            raise self.wrong(node, f"{self.text(node.value)} has no field {attr!r}", f"its fields are {', '.join(base)}")
        if isinstance(base, Row):
            return getattr(base, attr)
        if isinstance(base, Expr) and attr in ("is_none", "is_some", "get", "size", "is_empty"):
            return getattr(base, attr)
        remedy = "a Maybe has is_none, is_some and get, a set has size and is_empty"
        raise self.wrong(node, f"{self.text(node.value)} has no field {attr!r}", remedy)

    # Operators

    def pair(self, left: ast.expr, right: ast.expr) -> tuple[Any, Any]:
        """Return two values; a value without a type takes the type of the other."""
        x = self.value(left)
        y = self.typed(right, x.type) if isinstance(x, Expr) else self.value(right)
        if isinstance(left, ast.Name) and isinstance(x, Expr) and isinstance(y, Expr) and x.type.sort != y.type.sort:
            x = self.typed(left, y.type)
        return self.joined(left, x, right, y)

    def joined(self, left: ast.expr, x: Any, right: ast.expr, y: Any) -> tuple[Any, Any]:
        """Return both values; a value without a type takes the type of the other."""
        x = self.with_type(left, x, _type_beside(y, x)) if isinstance(y, Expr) and _open(x, y) else x
        y = self.with_type(right, y, _type_beside(x, y)) if isinstance(x, Expr) and _open(y, x) else y
        if isinstance(x, _Untyped) and isinstance(y, _Untyped) and (enum := self.enum_of(x, y)) is not None:
            return x.make(enum), y.make(enum)
        for node, value in ((left, x), (right, y)):
            if isinstance(value, _Untyped):
                raise self.wrong(node, f"{value.text} has no type here", "compare it with a variable")
        return x, y

    def enum_of(self, *values: _Untyped) -> EnumType | None:
        """Return the enumeration of the model that has all these names, if there is exactly one."""
        enums = []
        for enum in self.known.enums:
            with suppress(ModelError):
                for value in values:
                    value.make(enum)
                enums.append(enum)
        return enums[0] if len(enums) == 1 else None

    def with_type(self, node: ast.expr, value: Any, type_: Type) -> Expr:
        term: Expr = self.placed(node, lambda: value.make(type_) if isinstance(value, _Untyped) else coerce(value, type_))
        return term

    def _compare(self, node: ast.Compare) -> Any:
        sides = [node.left, *node.comparators]
        return all_of(self.compared(op, x, y) for op, x, y in zip(node.ops, sides, sides[1:], strict=False))

    def compared(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Expr:
        if isinstance(op, ast.In | ast.NotIn):
            contained = self.contained(left, right)
            return ~contained if isinstance(op, ast.NotIn) else contained
        x, y = self.pair(left, right)
        if isinstance(op, ast.Eq | ast.NotEq):
            if isinstance(x, Row) or isinstance(y, Row):
                same: Expr = x == y
            else:
                same = equal(self.term(left, x), self.term(right, y))
            return ~same if isinstance(op, ast.NotEq) else same
        x, y = self.count(left, x), self.count(right, y)
        if isinstance(op, ast.Lt | ast.LtE):
            return compare("lt" if isinstance(op, ast.Lt) else "le", x, y)
        if isinstance(op, ast.Gt | ast.GtE):
            return compare("lt" if isinstance(op, ast.Gt) else "le", y, x)
        raise self.wrong(left, "is and is not have no meaning here", "use == and !=")

    def contained(self, left: ast.expr, right: ast.expr) -> Expr:
        if isinstance(right, ast.Set | ast.Tuple | ast.List):
            return any_of(self.compared(ast.Eq(), left, item) for item in right.elts)
        if isinstance(right, ast.Dict) and not right.keys:
            return const(0, Bool)
        holder = self.term(right, self.value(right))
        of = holder.type.of if isinstance(holder.type, SetType) else holder.type
        return holder.has(self.element(left, of)) if isinstance(holder.type, SetType) else holder.has(0)

    def count(self, node: ast.expr, value: Any) -> Expr:
        """Return a number; for a Maybe, its element."""
        term = self.term(node, value)
        return term.get if isinstance(term.type, MaybeType) else term

    def _binop(self, node: ast.BinOp) -> Any:
        operator = _OPERATORS.get(type(node.op))
        if operator is None:
            raise self.wrong(node, "this operator has no meaning here", "there are + - * % & | &~")
        if isinstance(node.op, ast.BitAnd) and isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.Invert):
            x, y = self.pair(node.left, node.right.operand)
            first, second = self.term(node.left, x), self.term(node.right, y)
            if first.type.sort == "bool":
                return logical("and", "bitand", first, ~second)
            return of_sets("bitandnot", first, second) if first.type.sort == "set" else bitwise("bitandnot", first, second)
        x, y = (self.term(n, v) for n, v in zip((node.left, node.right), self.pair(node.left, node.right), strict=True))
        if x.type.sort in ("bool", "set") or y.type.sort in ("bool", "set"):
            return operator(x, y)
        return operator(self.count(node.left, x), self.count(node.right, y))

    def _boolop(self, node: ast.BoolOp) -> Any:
        parts = [coerce(self.term(part, self.value(part)), Bool) for part in node.values]
        return all_of(parts) if isinstance(node.op, ast.And) else any_of(parts)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Invert | ast.Not):
            return ~self.term(node.operand, value)
        if isinstance(node.op, ast.UAdd):
            return value
        return -value if isinstance(value, int) and not isinstance(value, bool) else -self.count(node.operand, value)

    def _ifexp(self, node: ast.IfExp, type_: Type | None = None) -> Any:
        test = coerce(self.term(node.test, self.value(node.test)), Bool)
        then, otherwise = (self.value(arm) if type_ is None else self.typed(arm, type_) for arm in (node.body, node.orelse))
        if isinstance(then, _Untyped) and isinstance(otherwise, _Untyped):
            first, second = then, otherwise
            return _Untyped(lambda of: choose(test, first.make(of), second.make(of)), self.text(node))
        then, otherwise = self.joined(node.body, then, node.orelse, otherwise)
        if isinstance(type_, MaybeType):
            then, otherwise = self.with_type(node.body, then, type_), self.with_type(node.orelse, otherwise, type_)
        if isinstance(then, Row) or isinstance(otherwise, Row):
            return ite(test, then, otherwise)
        return choose(test, self.term(node.body, then), self.term(node.orelse, otherwise))

    def _set(self, node: ast.Set) -> Any:
        return self.members(node, node.elts)

    def _dict(self, node: ast.Dict) -> Any:
        if node.keys:
            raise self.wrong(node, "a dict has no meaning here", "a set is written {0, 2}")
        return self.members(node, [])

    def members(self, node: ast.AST, elements: Sequence[ast.expr]) -> _Untyped:
        def make(type_: Type) -> Expr:
            if not isinstance(type_, SetType):
                raise ModelError(f"{self.text(node)} is a set where {type_} is needed", "compare it with a set")
            members = const(0, type_)
            for element in elements:
                members = members | single(self.element(element, type_.of))
            return members

        return _Untyped(make, self.text(node))

    # Functions and quantifiers

    def _call(self, node: ast.Call) -> Any:
        if node.keywords:
            raise self.wrong(node, "arguments have no names here", "write them in their order")
        if isinstance(node.func, ast.Attribute) and node.func.attr == "has" and len(node.args) == 1:
            return self.contained(node.args[0], node.func.value)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _QUANTIFIERS:
            return self.quantified(name, node)
        if name == "some" and len(node.args) == 1:
            return self.some(node.args[0])
        if name not in _FUNCTIONS:
            near = difflib.get_close_matches(name, [*_FUNCTIONS, *_QUANTIFIERS], 1)
            remedy = f"did you mean {near[0]}?" if near else f"there are {', '.join([*_FUNCTIONS, *_QUANTIFIERS])}"
            raise self.wrong(node, f"{self.text(node.func)} is no function of the language", remedy)
        if name == "ite" and len(node.args) == 3:
            test, then, otherwise = node.args
            return self._ifexp(ast.copy_location(ast.IfExp(test, then, otherwise), node))
        values = [self.value(argument) for argument in node.args]
        if name != "after":
            values = [self.term(argument, value) for argument, value in zip(node.args, values, strict=True)]
        if name == "single" and values and isinstance(values[0].type, MaybeType):
            values[0] = values[0].get
        try:
            return _FUNCTIONS[name](*values)
        except TypeError:
            raise self.wrong(node, f"{name} does not take {len(values)} arguments", f"write {name}(x) or {name}(x, y)") from None

    def some(self, node: ast.expr) -> _Untyped:
        """Return a Maybe that holds a Maybe, as a part of a Maybe of a record can: `some(None)` is not None."""
        held = self.value(node)

        def make(type_: Type) -> Expr:
            if not isinstance(type_, MaybeType):
                raise ModelError(f"some({self.text(node)}) stands where {type_} is needed", "compare it with a Maybe")
            return some(self.with_type(node, held, type_.of), type_)

        return _Untyped(make, f"some({self.text(node)})")

    def quantified(self, name: str, node: ast.Call) -> Any:
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            generator = node.args[0]
            parts = list(self.unfolded(generator.generators, generator.elt))
        elif len(node.args) == 2 and isinstance(node.args[1], ast.Lambda) and len(node.args[1].args.args) == 1:
            function = node.args[1]
            over = ast.comprehension(ast.Name(function.args.args[0].arg), node.args[0], [], 0)
            parts = list(self.unfolded([over], function.body))
        else:
            raise self.wrong(node, f"{name} needs elements", f"write {name}(up[b] for b in Broker)")
        if name in _ALL:
            return all_of(implies(test, coerce(value, Bool)) for test, value in parts)
        if name in _ANY:
            return any_of(test & coerce(value, Bool) for test, value in parts)
        if name in _COUNT:
            parts = [(test & coerce(value, Bool), number(1)) for test, value in parts]
        chosen = [choose(test, value, 0) for test, value in parts]
        return sum(chosen[1:], chosen[0]) if chosen else number(0)

    def unfolded(self, generators: Sequence[ast.comprehension], body: ast.expr) -> Iterable[tuple[Expr, Expr]]:
        """Return, for each choice of elements, the condition under which it counts and the value of the body."""
        if not generators:
            yield const(1, Bool), self.term(body, self.value(body))
            return
        first, *rest = generators
        over = self.value(first.iter)
        if not isinstance(over, Index) or not isinstance(first.target, ast.Name):
            having = ", ".join(self.known.indices) or "none"
            raise self.wrong(first.iter, f"{self.text(first.iter)} is no index", f"the indices are {having}")
        name = first.target.id
        hidden = self.bound.get(name)
        for element in over:
            self.bound[name] = element
            tests = all_of([coerce(self.term(test, self.value(test)), Bool) for test in first.ifs])
            for inner, value in self.unfolded(rest, body):
                yield tests & inner, value
        del self.bound[name]
        if hidden is not None:
            self.bound[name] = hidden


def _row(fields: Mapping[str, Any]) -> Row:
    """Return the row of fields with dotted names; the fields of a record in it form a nested row."""
    nested: dict[str, Any] = {}
    for name, value in fields.items():
        field, _, inner = name.partition(".")
        if inner:
            nested.setdefault(field, {})[inner] = value
        else:
            nested[field] = value
    return Row({name: _row(value) if isinstance(value, dict) else value for name, value in nested.items()})


def _open(value: Any, beside: Expr) -> bool:
    """Return whether the other side decides a value's type: the value has none, or is the number of an element."""
    return isinstance(value, _Untyped) or (type(value) is int and isinstance(beside.type, MaybeType))


def _type_beside(term: Expr, other: Any) -> Type:
    """Return the type for a value that is compared with a term: for None, a Maybe."""
    none = isinstance(other, _Untyped) and other.text == "None"
    return maybe_of(term.type) if none and not isinstance(term.type, MaybeType) and term.type.size < 2**62 else term.type


__all__ = ["ReadingError", "read"]
