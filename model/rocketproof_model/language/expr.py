"""Expressions: terms built by operators, with a type inferred bottom-up and interned, so that equal terms are one object.

There are few operations, because each engine (interpreter, kernel, z3, columns) has to give every one of them the same
meaning. Integers are mathematical within their interval, which is computed as terms are built; Java's arithmetic is
explicit: `rem` takes the sign of the dividend, `wrap32` folds into 32 bits, `java_abs` has the trap at -2**31.

| op | arguments | meaning |
|---|---|---|
| const | code | a value |
| ref | variable, index terms | a variable in the state before |
| after | variable, index terms | the same in the state after a step (step properties only) |
| par | name | a parameter of the action |
| given | name | a constant of the model, fixed for a run |
| free | name | an unknown of a lemma |
| add sub mul rem | two ints | arithmetic; rem truncates like Java's % |
| wrap32 | int | two's complement 32 bits |
| bitand bitor bitandnot | two ints or sets | bit by bit; bitandnot is x & ~y |
| has single | set, element / element | membership, singleton |
| get | maybe | its element; no value for None |
| lt le eq | | comparison |
| and or not ite | | logic; ite has both arms of one type |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from ..errors import ModelError
from .types import JAVA_INT, Bool, EnumType, Index, Int, MaybeType, SetOf, SetType, Type

_interned: WeakValueDictionary[tuple[Any, ...], Expr] = WeakValueDictionary()
_LIMIT = 2**62


def _refuses(remedy: str) -> Any:
    def refuse(self: Any, *others: Any) -> Any:
        raise ModelError(f"'{self}' is used in a way that has no meaning in a model", remedy)

    return refuse


_INDEX = "to read an element, index an array or a record over indices: name[i]"


class Whole:
    """What is no term itself and has to be indexed or asked for a field: using it like a term is refused."""

    __slots__ = ()
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _refuses(_INDEX)
    __and__ = __rand__ = __or__ = __ror__ = __invert__ = __mod__ = __truediv__ = __floordiv__ = __iter__ = __len__ = _refuses(_INDEX)
    __contains__ = _refuses(_INDEX)
    __setitem__ = _refuses("assign with a.set(name[i], value) inside an action")


class Expr:
    """A term. Compare, combine and index it like a value; it has no truth value of its own."""

    __slots__ = ("__weakref__", "args", "op", "slot", "type")
    op: str
    args: tuple[Any, ...]
    type: Type
    slot: int  # of a reference with constant indices, once it was asked for; -1 otherwise

    def __new__(cls, op: str, args: tuple[Any, ...], type_: Type) -> Expr:
        key = (op, tuple(id(a) if isinstance(a, Expr) else a for a in args), type_)
        found = _interned.get(key)
        if found is None:
            found = object.__new__(cls)
            found.op, found.args, found.type, found.slot = op, args, type_, -1
            _interned[key] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return (Expr, (self.op, self.args, self.type))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise ModelError(f"'{self}' has no truth value while the model is built", "use & | ~ and ite(), not and, or, not, if")

    def __repr__(self) -> str:
        return show(self)

    def __add__(self, other: Any) -> Expr:
        return _arith("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return _arith("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        if self.type.sort == "set":
            return _sets("bitandnot", self, other)
        return _arith("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return _arith("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return _arith("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return _arith("mul", other, self)

    def __neg__(self) -> Expr:
        return _arith("sub", 0, self)

    def __lt__(self, other: Any) -> Expr:
        return _compare("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return _compare("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return _compare("lt", other, self)

    def __ge__(self, other: Any) -> Expr:
        return _compare("le", other, self)

    def __eq__(self, other: Any) -> Expr:  # type: ignore[override]
        return _equal(self, other)

    def __ne__(self, other: Any) -> Expr:  # type: ignore[override]
        return ~_equal(self, other)

    def __and__(self, other: Any) -> Expr:
        return _bits("and", "bitand", self, other)

    def __rand__(self, other: Any) -> Expr:
        return _bits("and", "bitand", other, self)

    def __or__(self, other: Any) -> Expr:
        return _bits("or", "bitor", self, other)

    def __ror__(self, other: Any) -> Expr:
        return _bits("or", "bitor", other, self)

    def __invert__(self) -> Expr:
        if self.type.sort != "bool":
            raise ModelError(f"~ applied to '{self}' of type {self.type}", "~ negates a Bool; clear bits with without_bits(x, mask)")
        if self.op == "const":
            return const(1 - self.args[0], Bool)
        if self.op == "not":
            return self.args[0]  # type: ignore[no-any-return]
        return Expr("not", (self,), Bool)

    def has(self, element: Any) -> Expr:
        """Whether the set contains `element`."""
        if not isinstance(self.type, SetType):
            raise ModelError(f"'{self}' is {self.type}, not a set", "has() asks a SetOf(...)")
        asked = coerce(element, self.type.of)
        if asked.type.lo < 0 or asked.type.hi > self.type.of.hi:
            raise ModelError(f"'{asked}' may be no element of {self.type.of}", "ask for an element, or a number that is certainly in range")
        return Expr("has", (self, asked), Bool)

    __mod__ = __rmod__ = _refuses("write rem(x, y), Java's remainder with the sign of x")
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = _refuses("there is +, -, * and rem(x, y)")
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuses("multiply, or use rem(x, y)")
    __xor__ = __rxor__ = _refuses("of Bools write p != q; of numbers and sets (x | y) - (x & y)")
    __abs__ = _refuses("write java_abs(x), which has Java's trap, or maximum(x, -x)")
    __iter__ = _refuses("iterate over the index: for i in Broker: ... s.has(i)")
    __len__ = _refuses("count(Broker, lambda i: s.has(i)) is the size of a set")
    __contains__ = _refuses("write s.has(i)")
    __getitem__ = _refuses("only a variable declared with over= can be indexed")
    __int__ = __index__ = __float__ = _refuses("a term has no value while the model is built")
    __call__ = _refuses("leave out the parentheses: is_none, is_some and get are attributes")

    @property
    def is_none(self) -> Expr:
        """Whether a Maybe holds nothing."""
        return self == None  # noqa: E711  (builds a term)

    @property
    def is_some(self) -> Expr:
        """Whether a Maybe holds an element."""
        return ~self.is_none

    @property
    def get(self) -> Expr:
        """The element that a Maybe holds; it has no value where there is none, so guard it with `is_some`."""
        if not isinstance(self.type, MaybeType):
            raise ModelError(f"'{self}' is {self.type}, not a Maybe", "get asks a Maybe(...)")
        return Expr("get", (self,), self.type.of)


class Row(Whole):
    """The fields of one record, as terms: `config[b].read`."""

    __hash__ = object.__hash__

    def __init__(self, fields: Mapping[str, Expr]) -> None:
        self.__dict__["fields"] = dict(fields)

    def __getattr__(self, name: str) -> Expr:
        try:
            return self.__dict__["fields"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise ModelError(f"no field {name}", f"the fields are {', '.join(self.__dict__['fields'])}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise ModelError(f"field {name} assigned directly", "use a.set(row, ...) inside an action")

    def same_as(self, other: Row) -> Expr:
        """Whether all fields are equal."""
        self.match(other)
        return all_of(value == other.fields[name] for name, value in self.fields.items())

    def __eq__(self, other: Any) -> Expr:  # type: ignore[override]
        return self.same_as(other)

    def __ne__(self, other: Any) -> Expr:  # type: ignore[override]
        return ~self.same_as(other)

    def __bool__(self) -> bool:
        raise ModelError(f"'{self}' has no truth value while the model is built", "use one of its fields")

    def __repr__(self) -> str:
        return f"row({', '.join(f'{name}={value}' for name, value in self.fields.items())})"

    def match(self, other: Any) -> None:
        """Refuse what is no row of the same fields."""
        if not isinstance(other, Row) or other.fields.keys() != self.fields.keys():
            raise ModelError(f"'{other}' is no row of {', '.join(self.fields)}", "use a row of the same Record")

    @property
    def fields(self) -> dict[str, Expr]:
        return self.__dict__["fields"]  # type: ignore[no-any-return]


def const(code: int, type_: Type) -> Expr:
    """The value of `type_` with this code."""
    return Expr("const", (int(code),), type_)


def coerce(value: Any, type_: Type) -> Expr:
    """Make a term of `type_`: readable constants are encoded, an element becomes a Maybe; other sorts are refused."""
    if not isinstance(value, Expr):
        return const(type_.encode(value), type_)
    have = value.type
    if have.sort == type_.sort:
        if isinstance(type_, EnumType | SetType | MaybeType) and have != type_:
            raise ModelError(f"'{value}' is {have} where {type_} is needed", "use one type for both sides")
        if isinstance(have, Index) and isinstance(type_, Index) and have != type_:
            raise ModelError(f"'{value}' is an element of {have} where {type_} is needed", "check which index is meant")
        return value
    if isinstance(type_, MaybeType) and have == type_.of:
        if value.op == "const":
            return const(value.args[0] + 1, type_)
        return Expr("some", (value,), type_)
    raise ModelError(f"'{value}' is {have} where {type_} is needed", "use one type for both sides")


def _int(value: Any) -> Expr:
    if isinstance(value, bool) or not isinstance(value, int | Expr):
        raise ModelError(f"{value!r} is not a number", "use an int or a term of type Int or an index")
    if isinstance(value, int):
        return const(value, Int(value, value))
    if value.type.sort != "int":
        raise ModelError(f"'{value}' is {value.type}, not a number", "arithmetic needs Int or index terms")
    return value


def _number(lo: int, hi: int, what: str) -> Type:
    if lo < -_LIMIT or hi > _LIMIT:
        raise ModelError(f"'{what}' may need more than 63 bits", "choose smaller bounds for its parts")
    return Type(lo, hi)


def java_rem(x: int, y: int) -> int:
    """Java's %: truncated, with the sign of the dividend. Raises ZeroDivisionError like the JVM's ArithmeticException."""
    r = abs(x) % abs(y)
    return -r if x < 0 else r


def fold32(x: int) -> int:
    """Two's complement of the low 32 bits."""
    return (x + 2**31) % 2**32 - 2**31


# The operations of two numbers: constants are folded by them, and the interpreter computes with them.
BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "rem": java_rem,
    "bitand": lambda x, y: x & y,
    "bitor": lambda x, y: x | y,
    "bitandnot": lambda x, y: x & ~y,
    "lt": lambda x, y: int(x < y),
    "le": lambda x, y: int(x <= y),
    "eq": lambda x, y: int(x == y),
}


def _arith(op: str, left: Any, right: Any) -> Expr:
    x, y = _int(left), _int(right)
    if x.op == y.op == "const" and not (op == "rem" and y.args[0] == 0):
        value = BINARY[op](x.args[0], y.args[0])
        return const(value, _number(value, value, str(value)))
    if op == "rem":
        most = max(abs(y.type.lo), abs(y.type.hi)) - 1
        lo = max(x.type.lo, -most) if x.type.lo < 0 else 0
        hi = min(x.type.hi, most) if x.type.hi > 0 else 0
        return Expr("rem", (x, y), Type(min(lo, hi), max(lo, hi)))
    if y.op == "const" and y.args[0] == 0 and op in ("add", "sub"):
        return x
    corners = [BINARY[op](i, j) for i in (x.type.lo, x.type.hi) for j in (y.type.lo, y.type.hi)]
    return Expr(op, (x, y), _number(min(corners), max(corners), f"{op} of {x} and {y}"))


def _bit_range(op: str, x: Type, y: Type) -> Type:
    if x.lo >= 0 and y.lo >= 0 and op == "bitand":
        return Type(0, min(x.hi, y.hi))
    if op == "bitand" and (x.lo >= 0 or y.lo >= 0):
        return Type(0, x.hi if x.lo >= 0 else y.hi)
    if op == "bitandnot" and x.lo >= 0:
        return Type(0, x.hi)
    bits = max(abs(x.lo), abs(x.hi), abs(y.lo), abs(y.hi)).bit_length()
    return Type(0 if x.lo >= 0 and y.lo >= 0 else -(1 << bits), (1 << bits) - 1)


def _bitwise(op: str, left: Any, right: Any) -> Expr:
    x, y = _int(left), _int(right)
    if x.op == y.op == "const":
        return _int(BINARY[op](x.args[0], y.args[0]))
    return Expr(op, (x, y), _bit_range(op, x.type, y.type))


def _sets(op: str, left: Any, right: Any) -> Expr:
    type_ = left.type if isinstance(left, Expr) else right.type
    x, y = coerce(left, type_), coerce(right, type_)
    if x.op == y.op == "const":
        return const(BINARY[op](x.args[0], y.args[0]), type_)
    return Expr(op, (x, y), type_)


def _bits(logic: str, bitwise: str, left: Any, right: Any) -> Expr:
    sort = left.type.sort if isinstance(left, Expr) else right.type.sort
    if sort == "set":
        return _sets(bitwise, left, right)
    if sort == "int":
        return _bitwise(bitwise, left, right)
    x, y = coerce(left, Bool), coerce(right, Bool)
    for p, q in ((x, y), (y, x)):
        if p.op == "const":
            return q if p.args[0] == (logic == "and") else p
    return x if x is y else Expr(logic, (x, y), Bool)


def _compare(op: str, left: Any, right: Any) -> Expr:
    x, y = _int(left), _int(right)
    if x.op == y.op == "const":
        return const(BINARY[op](x.args[0], y.args[0]), Bool)
    return Expr(op, (x, y), Bool)


def _equal(left: Any, right: Any) -> Expr:
    anchor = left if isinstance(left, Expr) else right
    if anchor.type.sort == "int" and not isinstance(left, str) and not isinstance(right, str):
        other = right if anchor is left else left
        if isinstance(other, Expr) and other.type.sort == "maybe":
            anchor = other
        elif isinstance(other, Expr) and isinstance(other.type, Index) and isinstance(anchor.type, Index):
            coerce(other, anchor.type)
    if anchor.type.sort == "int":
        x, y = _int(left), _int(right)
    else:
        x, y = coerce(left, anchor.type), coerce(right, anchor.type)
    if x.op == y.op == "const":
        return const(x.args[0] == y.args[0], Bool)
    return const(1, Bool) if x is y else Expr("eq", (x, y), Bool)


def ite(condition: Any, then: Any, otherwise: Any) -> Any:
    """`then` where the condition holds, else `otherwise`; both terms, constants, or rows of the same record."""
    if isinstance(then, Row) or isinstance(otherwise, Row):
        (then if isinstance(then, Row) else otherwise).match(otherwise if isinstance(then, Row) else then)
        return Row({name: ite(condition, value, otherwise.fields[name]) for name, value in then.fields.items()})
    test = coerce(condition, Bool)
    anchor = then if isinstance(then, Expr) else otherwise
    if not isinstance(anchor, Expr):
        if isinstance(then, bool):
            anchor = const(then, Bool)
        elif isinstance(then, int):
            anchor = _int(then)
        else:
            raise ModelError(f"ite of {then!r} and {otherwise!r} has no known type", "make one arm a term, e.g. const(code, type)")
    if anchor.type.sort == "int":
        x, y = _int(then), _int(otherwise)
        type_ = x.type if x.type == y.type else Type(min(x.type.lo, y.type.lo), max(x.type.hi, y.type.hi))
    else:
        x, y, type_ = coerce(then, anchor.type), coerce(otherwise, anchor.type), anchor.type
    if test.op == "const":
        return x if test.args[0] else y
    return x if x is y else Expr("ite", (test, x, y), type_)


def rem(dividend: Any, divisor: Any) -> Expr:
    """Java's %: the result has the sign of the dividend; no value for divisor 0."""
    return _arith("rem", dividend, divisor)


def wrap32(value: Any) -> Expr:
    """The value folded into 32 bits, as Java's int arithmetic does.

    The operation stays in the term even where the scope's range needs no folding: a lemma may widen that range.
    """
    x = _int(value)
    if x.op == "const":
        return _int(fold32(x.args[0]))
    fits = JAVA_INT[0] <= x.type.lo and x.type.hi <= JAVA_INT[1]
    return Expr("wrap32", (x,), Type(x.type.lo, x.type.hi) if fits else Type(*JAVA_INT))


def java_abs(value: Any) -> Expr:
    """Math.abs of a 32-bit int: -2**31 stays negative. It stays in the term where the scope has no negative value."""
    x = _int(value)
    if x.op == "const":
        return _int(fold32(abs(x.args[0])))
    term: Expr = ite(x < 0, wrap32(-x), x)
    return term if x.type.lo <= JAVA_INT[0] else _narrow(term, 0, max(x.type.hi, -x.type.lo))


def minimum(left: Any, right: Any) -> Expr:
    x, y = _int(left), _int(right)
    term: Expr = ite(x < y, x, y)
    return _narrow(term, min(x.type.lo, y.type.lo), min(x.type.hi, y.type.hi))


def maximum(left: Any, right: Any) -> Expr:
    x, y = _int(left), _int(right)
    term: Expr = ite(x < y, y, x)
    return _narrow(term, max(x.type.lo, y.type.lo), max(x.type.hi, y.type.hi))


def _narrow(term: Expr, lo: int, hi: int) -> Expr:
    return Expr(term.op, term.args, Type(lo, hi)) if term.op == "ite" else term


def without_bits(value: Any, mask: Any) -> Expr:
    """value & ~mask."""
    return _bitwise("bitandnot", value, mask)


def single(element: Any) -> Expr:
    """The set with one element."""
    if not isinstance(element, Expr) or not isinstance(element.type, Index):
        raise ModelError(f"'{element}' is not an element of an index", "single() takes an element")
    if element.op == "const":
        return const(1 << element.args[0], SetOf(element.type))
    return Expr("single", (element,), SetOf(element.type))


def implies(premise: Any, conclusion: Any) -> Expr:
    result: Expr = ~coerce(premise, Bool) | conclusion
    return result


def all_of(terms: Iterable[Any]) -> Expr:
    """Conjunction; of nothing it is true."""
    result = const(1, Bool)
    for term in terms:
        result = result & term
    return result


def any_of(terms: Iterable[Any]) -> Expr:
    """Disjunction; of nothing it is false."""
    result = const(0, Bool)
    for term in terms:
        result = result | term
    return result


def _each(over: Index, body: Callable[[Expr], Any]) -> Iterable[Any]:
    if not isinstance(over, Index) or not callable(body):
        raise ModelError(f"a quantifier over {over}", "give an index and a function of its element: forall(Broker, lambda b: ...)")
    return [body(i) for i in over]


def forall(over: Index, body: Callable[[Expr], Any]) -> Expr:
    """Whether `body` holds for all elements."""
    return all_of(_each(over, body))


def exists(over: Index, body: Callable[[Expr], Any]) -> Expr:
    """Whether `body` holds for some element."""
    return any_of(_each(over, body))


def total(over: Index, body: Callable[[Expr], Any]) -> Expr:
    """The sum of `body` over all elements."""
    result = _int(0)
    for value in _each(over, body):
        result = result + value
    return result


def count(over: Index, body: Callable[[Expr], Any]) -> Expr:
    """For how many elements `body` holds."""
    return total(over, lambda i: ite(body(i), 1, 0))


def after(value: Any) -> Any:
    """The value of a term (or of each field of a row) in the state after the step; only meaningful in step properties."""
    if isinstance(value, Row):
        return Row({name: after(field) for name, field in value.fields.items()})
    if not isinstance(value, Expr):
        raise ModelError(f"after({value}) asks for what is no term", "give a variable, an element or an expression of them")
    return rewrite(value, lambda e: Expr("after", e.args, e.type) if e.op == "ref" else None)


def free(name: str, type_: Type) -> Expr:
    """An unknown of a lemma: the lemma holds for every value of the type."""
    return Expr("free", (name,), type_)


def generalise(term: Expr, wide: Callable[[Expr], Type | None]) -> Expr:
    """The term with leaves (ref, par, given) made unknowns of the wider types that `wide` gives; None keeps a leaf.

    So a lemma speaks of the specification's own guards and effects, for all 32-bit inputs instead of a scope's few.
    """

    def change(e: Expr) -> Expr | None:
        type_ = wide(e) if e.op in ("ref", "after", "par", "given") else None
        return None if type_ is None else free(show(e), type_)

    return rewrite(term, change)


def rewrite(term: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild a term bottom-up, with types inferred anew; `change` may replace a (rebuilt) node or return None."""
    memo: dict[Expr, Expr] = {}

    def visit(e: Expr) -> Expr:
        done = memo.get(e)
        if done is None:
            args = tuple(visit(a) if isinstance(a, Expr) else a for a in e.args)
            same = all(a is b for a, b in zip(args, e.args, strict=True))
            rebuilt = e if same else rebuild(e.op, args, e.type)
            replaced = change(rebuilt)
            done = memo[e] = rebuilt if replaced is None else replaced
        return done

    return visit(term)


def rebuild(op: str, args: tuple[Any, ...], type_: Type) -> Expr:
    """A term of the same operation over other arguments, with its type inferred anew."""
    if op in ("add", "sub", "mul", "rem"):
        return _arith(op, *args)
    if op in ("bitand", "bitor", "bitandnot"):
        return _sets(op, *args) if isinstance(type_, SetType) else _bitwise(op, *args)
    if op in ("and", "or"):
        return _bits(op, "", *args)
    if op in ("lt", "le"):
        return _compare(op, *args)
    if op == "eq":
        return _equal(*args)
    if op == "not":
        return ~args[0]  # type: ignore[no-any-return]
    if op == "ite":
        return ite(*args)  # type: ignore[no-any-return]
    if op == "wrap32":
        return wrap32(*args)
    return Expr(op, args, type_)


def children(term: Expr) -> tuple[Expr, ...]:
    return tuple(a for a in term.args if isinstance(a, Expr))


def walk(*terms: Expr) -> Iterable[Expr]:
    """Every distinct subterm once, children first."""
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(t, False) for t in reversed(terms)]
    while stack:
        e, ready = stack.pop()
        if ready:
            yield e
        elif e not in seen:
            seen.add(e)
            stack.append((e, True))
            stack.extend((c, False) for c in reversed(children(e)) if c not in seen)


_INFIX = {"add": "+", "sub": "-", "mul": "*", "rem": "%", "lt": "<", "le": "<=", "eq": "==", "bitandnot": "&~", "and": "&", "or": "|"}
_INFIX |= {"bitand": "&", "bitor": "|"}


def show(e: Expr) -> str:
    """The term as a person would write it."""
    a = e.args
    if e.op == "const":
        value = e.type.decode(a[0])
        return "{" + ", ".join(map(str, sorted(value))) + "}" if isinstance(value, frozenset) else str(value)
    if e.op in ("ref", "after"):
        where = "[" + ", ".join(map(show, a[1:])) + "]" if a[1:] else ""
        return f"{a[0].name}{where}" + ("'" if e.op == "after" else "")
    if e.op in ("par", "given", "free"):
        return str(a[0])
    if e.op in _INFIX:
        return f"({show(a[0])} {_INFIX[e.op]} {show(a[1])})"
    if e.op == "not":
        if a[0].op == "eq":
            return f"({show(a[0].args[0])} != {show(a[0].args[1])})"
        return f"~{show(a[0])}"
    if e.op == "ite":
        return f"({show(a[1])} if {show(a[0])} else {show(a[2])})"
    if e.op == "has":
        return f"({show(a[1])} in {show(a[0])})"
    if e.op in ("get", "some"):
        return show(a[0])
    return f"{e.op}({', '.join(map(show, a))})"
