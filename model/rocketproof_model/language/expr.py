"""Expressions: terms built by operators, with a type inferred bottom-up and interned, so that equal terms are one object.

There are few operations, because each engine (interpreter, kernel, z3, columns) has to give each the same meaning. Operators build terms
and terms have operators; they share this module, which is therefore long. Integers are mathematical within their interval, which is
computed as terms are built. Java's arithmetic is explicit: `rem` takes the sign of the dividend, `wrap32` folds into 32 bits, `java_abs` of
-2**31 is negative.

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
| some get | value / maybe | a Maybe that holds it / the value that it holds; no value for None |
| owner | element, block | the owner of an element, where each owner has `block` elements |
| lt le eq | | comparison |
| and or not ite | | logic; both arms of ite have one type |
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ..errors import ModelError, instead, parentheses
from .numbers import BINARY
from .types import Bool, EnumType, IndexType, Int, MaybeType, SetType, Type

_interned: WeakValueDictionary[tuple[Any, ...], Expr] = WeakValueDictionary()
_LIMIT = 2**62
_ELEMENT = re.compile(r"[^\s()\[\]{},:='\"]([^()\[\]{},:='\"\n\r\t]*[^\s()\[\]{},:='\"])?")
"""Allowed names of an index's elements: labels such as `send(p=producer 0)` and `config[broker-a, orders]` can be parsed again."""


def refuses(remedy: str | None = None, problem: str = "'{}' is used in a way that has no meaning in a model") -> Any:
    """Return a method that raises ModelError; `{}` in the problem is the object."""

    def refuse(self: Any, *others: Any) -> Any:
        raise ModelError(problem.format(self), remedy or self._remedy)

    return refuse


def unknown(self: Any, name: str) -> Any:
    """`__getattr__` for objects of a model. Special names that Python looks up raise AttributeError as usual."""
    if name.startswith("_"):
        raise AttributeError(name)
    raise ModelError(f"'{self}' has no {name}", self._remedy)


class Compared:
    """A base for objects whose `==` and `!=` build a term."""

    __slots__ = ()
    __hash__ = object.__hash__

    @abstractmethod
    def same_as(self, other: Any) -> Expr:
        """Return the condition that it equals another value."""

    def __eq__(self, other: Any) -> Expr:  # type: ignore[override]  # a term, where object has a truth value
        return self.same_as(other)

    def __ne__(self, other: Any) -> Expr:  # type: ignore[override]  # a term too
        return ~self.same_as(other)


class Compound:
    """A base for objects that are not terms themselves, such as arrays and rows. Using them like a term raises ModelError."""

    __slots__ = ()
    __hash__ = object.__hash__
    _remedy = "to read an element, index an array or a record over indices: name[i]"
    __eq__ = refuses()
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = refuses()
    __and__ = __rand__ = __or__ = __ror__ = __invert__ = __mod__ = __truediv__ = __floordiv__ = __iter__ = __len__ = refuses()
    __contains__ = refuses()
    __setitem__ = refuses("assign with a.set(name[i], value) inside an action")


class UntypedChoice(Compared, Compound):
    """`ite` of two values without a type, such as names. It becomes a term once the context gives a type."""

    __slots__ = ("otherwise", "test", "then")
    _remedy = "assign it to a variable or compare it with one by ==: that gives its values a type"

    def __init__(self, test: Expr, then: Any, otherwise: Any) -> None:
        self.test, self.then, self.otherwise = test, then, otherwise

    def of(self, type_: Type) -> Expr:
        """Return the term of this type. Raises ModelError if an arm is no value of it."""
        term: Expr = choose(self.test, coerce(self.then, type_), coerce(self.otherwise, type_))
        return term

    def same_as(self, other: Any) -> Expr:
        return equal(self, other)

    __bool__ = __getitem__ = __call__ = refuses()

    def __repr__(self) -> str:
        return f"({self.then!r} if {self.test} else {self.otherwise!r})"


class Expr(Compared):
    """A term. It is compared, combined and indexed like a value; it has no truth value."""

    __slots__ = ("__weakref__", "args", "children", "depth", "names", "op", "slot", "type", "typed")
    op: str
    args: tuple[Any, ...]
    type: Type
    children: tuple[Expr, ...]  # those of `args` that are terms
    depth: int  # of the tree of subterms; 1 for a leaf
    _remedy = "a set has has, including, excluding, size and is_empty; a Maybe has is_none, is_some and get"
    typed: bool  # whether the symmetry check has accepted it and its subterms
    names: bool  # if `typed`: whether it or a subterm names an element of a symmetric index
    slot: int  # cached slot of a reference with constant indices; -1 if not cached

    def __new__(cls, op: str, args: tuple[Any, ...], type_: Type) -> Expr:
        key = (op, tuple(id(a) if isinstance(a, Expr) else a for a in args), type_)
        term = _interned.get(key)
        if term is None:
            term = object.__new__(cls)
            term.op, term.args, term.type, term.slot, term.typed, term.names = op, args, type_, -1, False, False
            term.children = tuple([a for a in args if isinstance(a, Expr)])
            term.depth = 1 + max([a.depth for a in term.children], default=0)
            _interned[key] = term
        return term

    def __reduce__(self) -> tuple[Any, ...]:
        if self.depth <= DEEPEST:
            return (Expr, (self.op, self.args, self.type))
        return (_from_rows, (_rows(self),))

    def __bool__(self) -> bool:
        raise ModelError(f"'{self}' has no truth value while the model is built", instead())

    def __repr__(self) -> str:
        return show(self)

    def __add__(self, other: Any) -> Expr:
        return arithmetic("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return arithmetic("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        if self.type.sort == "set":
            return of_sets("bitandnot", self, other)
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return arithmetic("mul", other, self)

    def __neg__(self) -> Expr:
        return arithmetic("sub", 0, self)

    def __lt__(self, other: Any) -> Expr:
        return ordered("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return ordered("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return ordered("lt", other, self)

    def __ge__(self, other: Any) -> Expr:
        return ordered("le", other, self)

    def same_as(self, other: Any) -> Expr:
        return equal(self, other)

    def __and__(self, other: Any) -> Expr:
        return logical("and", "bitand", self, other)

    def __rand__(self, other: Any) -> Expr:
        return logical("and", "bitand", other, self)

    def __or__(self, other: Any) -> Expr:
        return logical("or", "bitor", self, other)

    def __ror__(self, other: Any) -> Expr:
        return logical("or", "bitor", other, self)

    def __invert__(self) -> Expr:
        if self.type.sort != "bool":
            raise ModelError(f"~ applied to '{self}' of type {self.type}", "~ negates a Bool; clear bits with without_bits(x, mask)")
        if self.op == "const":
            return const(1 - self.args[0], Bool)
        if self.op == "not":
            denied: Expr = self.args[0]
            return denied
        return Expr("not", (self,), Bool)

    def has(self, element: Any) -> Expr:
        """Return whether the set contains `element`."""
        if not isinstance(self.type, SetType):
            raise ModelError(f"'{self}' is {self.type}, not a set", "has() asks a SetOf(...)")
        asked = of_type(element, self.type.of)
        if self.op == asked.op == "const":
            return const(self.args[0] >> asked.args[0] - self.type.of.lo & 1, Bool)
        return Expr("has", (self, asked), Bool)

    def including(self, element: Any) -> Expr:
        """Return the set with `element` as a member."""
        return self | self._single(element)

    def excluding(self, element: Any) -> Expr:
        """Return the set without `element`."""
        return self - self._single(element)

    def _single(self, element: Any) -> Expr:
        if not isinstance(self.type, SetType):
            raise ModelError(f"'{self}' is {self.type}, not a set", "including() and excluding() change a SetOf(...)")
        return singleton(of_type(element, self.type.of), self.type)

    __mod__ = __rmod__ = refuses("write rem(x, y), Java's remainder with the sign of x")
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = refuses("there is +, -, * and rem(x, y)")
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = refuses("multiply, or use rem(x, y)")
    __xor__ = __rxor__ = refuses("of Bools write p != q; of numbers and sets (x | y) - (x & y)")
    __abs__ = refuses("write java_abs(x), which has Java's trap, or maximum(x, -x)")
    __iter__ = refuses(
        "write forall(s, lambda i: ...) or a loop over the index: for i in Broker: ... s.has(i)",
        "a loop over '{}' needs its value while the model is built",
    )
    __len__ = refuses("write s.size, the number of members of a set", "len() of '{}', which has no value while the model is built")
    __contains__ = refuses("write s.has(i)", "'in' asks whether '{}' has a member, which is a term")
    __getitem__ = refuses("only a variable declared with over= can be indexed")
    __int__ = __index__ = __float__ = refuses("a term has no value while the model is built")
    __call__ = refuses("leave out the parentheses: is_none, is_some and get are attributes")

    @property
    def size(self) -> Expr:
        """The number of members of a set."""
        return sum((choose(self.has(const(k, of)), 1, 0) for of in [self._members("size")] for k in of.codes()), start=number(0))

    @property
    def is_empty(self) -> Expr:
        """Whether a set has no member."""
        self._members("is_empty")
        return self == ()

    def _members(self, asked: str) -> Type:
        if not isinstance(self.type, SetType):
            raise ModelError(f"{asked} of '{self}', which is {self.type}", f"{asked} asks a SetOf(...)")
        return self.type.of

    if not TYPE_CHECKING:  # a type checker reports a misspelled attribute, which would otherwise be Any

        def __getattr__(self, name: str) -> Any:
            return unknown(self, name)

    @property
    def is_none(self) -> Expr:
        """Whether a Maybe is None."""
        return self == None  # noqa: E711  (builds a term)

    @property
    def is_some(self) -> Expr:
        """Whether a Maybe holds an element."""
        return ~self.is_none

    @property
    def get(self) -> Expr:
        """The element that a Maybe holds. It has no value for None, so guard it with `is_some`."""
        if not isinstance(self.type, MaybeType):
            raise ModelError(f"'{self}' is {self.type}, not a Maybe", "get asks a Maybe(...)")
        if self.type.of == Bool:
            return Expr("eq", (Expr("get", (self,), Int(0, 1)), const(1, Int(1, 1))), Bool)
        return Expr("get", (self,), self.type.of)


def children(term: Expr) -> tuple[Expr, ...]:
    return term.children


def walk(*terms: Expr, known: Container[Expr] = (), deeper_than: int = 0) -> Iterator[Expr]:
    """Yield every distinct subterm once, children first.

    Terms in `known` and terms of at most `deeper_than` levels are left out, with the subterms that occur only in them.
    """
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(t, False) for t in reversed(terms)]
    while stack:
        e, ready = stack.pop()
        if ready:
            yield e
        elif e not in seen and e.depth > deeper_than and e not in known:
            seen.add(e)
            if e.children:
                stack.append((e, True))
                stack.extend([(c, False) for c in reversed(e.children) if c not in seen])
            else:
                yield e


Condition = Expr | UntypedChoice | bool
"""What stands where a model needs a condition: a term of type Bool, or True or False."""

Value = Expr | Compound | int | str | Iterable[object] | Callable[..., object] | None
"""What a model assigns: a term, a row, a name, a number, the members of a set or sequence, or a function that maps a member."""


DEEPEST = 50
"""Levels of a term through which a function may recurse: Python's stack holds about a thousand calls."""


def in_reach(term: Expr, known: Container[Expr]) -> Iterator[Expr]:
    """Yield the subterms of more than DEEPEST levels that are not in `known`, children first, and finally the term itself.

    A recursive function adds the result of each subterm to `known` before it takes the next. It then recurses through at most DEEPEST
    levels, however deep the term is.
    """
    yield from walk(term, known=known, deeper_than=min(DEEPEST, term.depth - 1))


_Row = tuple[str, tuple[Any, ...], Type]


def _rows(term: Expr) -> list[_Row]:
    """Return a deep term as a list for `pickle`, which is recursive. Subterms are represented by their position in the list."""
    places: dict[Expr, int] = {}
    rows: list[_Row] = []
    for e in walk(term):
        places[e] = len(rows)
        rows.append((e.op, tuple(_Place(places[a]) if isinstance(a, Expr) else a for a in e.args), e.type))
    return rows


class _Place(int):
    """A position in a list of rows; a class of its own distinguishes it from other arguments."""

    __slots__ = ()


def _from_rows(rows: list[_Row]) -> Expr:
    terms: list[Expr] = []
    for op, args, type_ in rows:
        terms.append(Expr(op, tuple(terms[a] if isinstance(a, _Place) else a for a in args), type_))
    return terms[-1]


class Index(IndexType):
    """An index set whose iteration gives its elements as constants, so `for b in Broker:` unrolls an effect."""

    def __iter__(self) -> Iterator[Expr]:
        return iter([const(code, self) for code in self.codes()])


def index(name: str, elements: int | Sequence[str], *, symmetric: bool = False, of: IndexType | None = None) -> Index:
    """Create an index set with a number of elements, at least one, or with named elements.

    With `of`, each element of that index owns this set of elements.
    """
    if of is not None and not isinstance(of, IndexType):
        raise ModelError(f"index {name} belongs to {of!r}", 'give an index that was declared before: m.index("Queue", 4, of=Broker)')
    if isinstance(elements, int) and not isinstance(elements, bool) and elements > 0:
        return Index(0, elements * (of.size if of else 1) - 1, name, (), symmetric, of)
    if isinstance(elements, int | str) or not isinstance(elements, Sequence) or not elements:
        raise ModelError(f"index {name} has size {elements!r}", "an index has at least one element: give their number, or their names")
    names = tuple(elements)
    for name_ in names:
        if not isinstance(name_, str) or not _ELEMENT.fullmatch(name_) or name_.isdecimal():
            words = "use names such as 'broker-a': no number, no brackets, quotes, commas, colons or equals signs"
            raise ModelError(f"index {name} has an element named {name_!r}", words)
    if len(set(names)) != len(names):
        raise ModelError(f"index {name} has two elements of one name", "give each element a name of its own")
    if of is not None:
        names = tuple(f"{of.text(owner)}/{name_}" for owner in of.codes() for name_ in names)
    return Index(0, len(names) - 1, name, names, symmetric, of)


def const(code: int, type_: Type) -> Expr:
    """Return the value of `type_` with this code."""
    return Expr("const", (int(code),), type_)


def free(name: str, type_: Type) -> Expr:
    """Return an unknown of a lemma: the lemma holds for every value of the type."""
    return Expr("free", (name,), type_)


def coerce(value: Any, type_: Type) -> Expr:
    """Convert a value to a term of `type_`. Readable constants are encoded and an element becomes a Maybe; other sorts are refused."""
    if isinstance(value, UntypedChoice):
        return value.of(type_)
    if isinstance(value, Type):
        raise ModelError(f"the type {value} stands where a value of {type_} is needed", "full(Broker) is the set of all brokers")
    if not isinstance(value, Expr):
        return const(type_.encode(value), type_)
    have = value.type
    if have.sort == type_.sort:
        if isinstance(type_, EnumType | SetType | MaybeType) and have != type_:
            raise ModelError(f"'{value}' is {have} where {type_} is needed", "use one type for both sides")
        if isinstance(have, IndexType) and isinstance(type_, IndexType) and have != type_:
            raise ModelError(f"'{value}' is an element of {have} where {type_} is needed", "check which index is meant")
        return value
    if isinstance(type_, MaybeType) and (have == type_.of or (have.sort == "int" and type_.of.sort in ("int", "bool"))):
        return some(value, type_)
    raise ModelError(f"'{value}' is {have} where {type_} is needed", "use one type for both sides")


def some(value: Any, type_: MaybeType) -> Expr:
    """Return the Maybe that holds a value. A number outside the Maybe's type has no value."""
    of = type_.of
    if isinstance(value, Expr) and type(of) is Type and value.type.sort == "int" and not isinstance(value.type, IndexType):
        if value.op != "const" and value.type.lo <= of.hi and value.type.hi >= of.lo and (value.type.lo < of.lo or value.type.hi > of.hi):
            inside = [value >= of.lo] * (value.type.lo < of.lo) + [value <= of.hi] * (value.type.hi > of.hi)
            held = Expr("ite", (inside[0] if len(inside) == 1 else inside[0] & inside[1], value, const(0, type_).get), of)
            return Expr("some", (held,), type_)
    held = of_type(value, of)
    return const(held.args[0] - type_.of.lo + 1, type_) if held.op == "const" else Expr("some", (held,), type_)


def of_type(value: Any, type_: Type) -> Expr:
    """Return a term that is certainly a value of the type, as a number: a Bool becomes 0 or 1. Raises ModelError for any other term."""
    numeric = type_.sort == "bool" and isinstance(value, Expr) and value.type.sort == "int"
    term: Expr = value if numeric else coerce(value, type_)
    lo, hi = (term.args[0], term.args[0]) if term.op == "const" else (term.type.lo, term.type.hi)
    if lo < type_.lo or hi > type_.hi:
        raise ModelError(f"'{term}' may be no element of {type_}", "give an element, or a number that is certainly in range")
    return choose(term, 1, 0) if term.type.sort == "bool" and term.op != "const" else term


def singleton(element: Expr, type_: SetType) -> Expr:
    """Return the set with one element, a term that `of_type` returned."""
    if element.op == "const":
        return const(1 << element.args[0] - type_.of.lo, type_)
    return Expr("single", (element,), type_)


def number(value: Any) -> Expr:
    if isinstance(value, bool) or not isinstance(value, int | Expr):
        raise ModelError(f"{value!r} is not a number", "use an int or a term of type Int or an index")
    if isinstance(value, int):
        return const(value, Int(value, value))
    if value.type.sort != "int":
        words = "count(Broker, lambda i: ...) counts where a condition holds, ite(c, 1, 0) makes a number of one"
        raise ModelError(
            f"'{value}' is {value.type}, not a number", words if value.type.sort == "bool" else "arithmetic needs Int or index terms"
        )
    return value


def interval(lo: int, hi: int, op: str, x: Expr, y: Expr) -> Type:
    """Return the type of a result in `lo..hi`. Raises ModelError if 63 bits are too few; `op`, `x` and `y` are for the message."""
    if lo < -_LIMIT or hi > _LIMIT:
        raise ModelError(f"'{op} of {x} and {y}' may need more than 63 bits", "choose smaller bounds for its parts")
    return Type(lo, hi)


def arithmetic(op: str, left: Any, right: Any) -> Expr:
    x, y = number(left), number(right)
    if x.op == y.op == "const" and not (op == "rem" and y.args[0] == 0):
        value = BINARY[op](x.args[0], y.args[0])
        return const(value, interval(value, value, op, x, y))
    if op == "rem":
        most = max(abs(y.type.lo), abs(y.type.hi)) - 1
        lo = max(x.type.lo, -most) if x.type.lo < 0 else 0
        hi = min(x.type.hi, most) if x.type.hi > 0 else 0
        return Expr("rem", (x, y), Type(min(lo, hi), max(lo, hi)))
    if y.op == "const" and y.args[0] == 0 and op in ("add", "sub"):
        return x
    corners = [BINARY[op](i, j) for i in (x.type.lo, x.type.hi) for j in (y.type.lo, y.type.hi)]
    return Expr(op, (x, y), interval(min(corners), max(corners), op, x, y))


def _bit_range(op: str, x: Type, y: Type) -> Type:
    if x.lo >= 0 and y.lo >= 0 and op == "bitand":
        return Type(0, min(x.hi, y.hi))
    if op == "bitand" and (x.lo >= 0 or y.lo >= 0):
        return Type(0, x.hi if x.lo >= 0 else y.hi)
    if op == "bitandnot" and x.lo >= 0:
        return Type(0, x.hi)
    bits = max(abs(x.lo), abs(x.hi), abs(y.lo), abs(y.hi)).bit_length()
    return Type(0 if x.lo >= 0 and y.lo >= 0 else -(1 << bits), (1 << bits) - 1)


def bitwise(op: str, left: Any, right: Any) -> Expr:
    x, y = number(left), number(right)
    if x.op == y.op == "const":
        return number(BINARY[op](x.args[0], y.args[0]))
    return Expr(op, (x, y), _bit_range(op, x.type, y.type))


def of_sets(op: str, left: Any, right: Any) -> Expr:
    type_ = left.type if isinstance(left, Expr) else right.type
    x, y = coerce(left, type_), coerce(right, type_)
    if x.op == y.op == "const":
        return const(BINARY[op](x.args[0], y.args[0]), type_)
    return Expr(op, (x, y), type_)


def logical(logic: str, bits: str, left: Any, right: Any) -> Expr:
    try:
        return _logical(logic, bits, left, right)
    except ModelError:
        if meant := parentheses():
            sign = "&" if logic == "and" else "|"
            words = f"'{left}' {sign} '{right}' joins values, not conditions: {sign} binds more tightly than =="
            raise ModelError(words, f"write {meant}") from None
        raise


def _logical(logic: str, bits: str, left: Any, right: Any) -> Expr:
    sort = left.type.sort if isinstance(left, Expr) else right.type.sort
    if sort == "set":
        return of_sets(bits, left, right)
    if sort == "int":
        return bitwise(bits, left, right)
    x, y = coerce(left, Bool), coerce(right, Bool)
    for p, q in ((x, y), (y, x)):
        if p.op == "const":
            return q if p.args[0] == (logic == "and") else p
    return x if x is y else Expr(logic, (x, y), Bool)


def compare(op: str, left: Any, right: Any) -> Expr:
    x, y = number(left), number(right)
    if x.op == y.op == "const":
        return const(BINARY[op](x.args[0], y.args[0]), Bool)
    return Expr(op, (x, y), Bool)


def ordered(op: str, left: Any, right: Any) -> Expr:
    """Return `<` or `<=` of numbers; for sets it is the subset relation, as in Python."""
    if "set" in (left.type.sort if isinstance(left, Expr) else "", right.type.sort if isinstance(right, Expr) else ""):
        subset = equal(of_sets("bitandnot", left, right), ())
        return subset if op == "le" else subset & ~equal(left, right)
    return compare(op, left, right)


def equal(left: Any, right: Any) -> Expr:
    anchor = left if isinstance(left, Expr) else right
    if not isinstance(anchor, Expr):
        raise ModelError(f"'{left}' compared with '{right}'", "one side has to be a term, such as a variable: it gives the other a type")
    if anchor.type.sort == "int" and not isinstance(left, str) and not isinstance(right, str):
        other = right if anchor is left else left
        if isinstance(other, Expr) and other.type.sort == "maybe":
            anchor = other
        elif isinstance(other, Expr) and isinstance(other.type, IndexType) and isinstance(anchor.type, IndexType):
            coerce(other, anchor.type)
    if anchor.type.sort == "int" and not isinstance(left, UntypedChoice) and not isinstance(right, UntypedChoice):
        x, y = number(left), number(right)
        _certain(left, right)
        _certain(right, left)
    else:
        x, y = coerce(left, anchor.type), coerce(right, anchor.type)
    if x.op == y.op == "const":
        return const(x.args[0] == y.args[0], Bool)
    return const(1, Bool) if x is y else Expr("eq", (x, y), Bool)


def _certain(term: Any, value: Any) -> None:
    """Raise ModelError for a comparison that is never true: a variable, parameter or constant with a number outside its type."""
    # `<` and `<=` stay allowed, because a size may decide them: `n <= N` of an Int(0, N).
    if isinstance(term, Expr) and term.op in ("ref", "after", "par", "given", "free") and isinstance(value, int):
        if not term.type.lo <= value <= term.type.hi:
            raise ModelError(f"{term} is never {value}: it is {term.type}", f"compare it with one of {term.type.describe()}")


def choose(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return `ite` of terms and constants, or an UntypedChoice if neither arm has a type."""
    test = coerce(condition, Bool)
    anchor = then if isinstance(then, Expr) else otherwise
    if not isinstance(anchor, Expr):
        if isinstance(then, bool) and isinstance(otherwise, bool):
            anchor = const(then, Bool)
        elif all(isinstance(arm, int) and not isinstance(arm, bool) for arm in (then, otherwise)):
            anchor = number(then)
        else:
            return UntypedChoice(test, then, otherwise)
    if anchor.type.sort == "int" and (then is None or otherwise is None):
        return UntypedChoice(test, then, otherwise)  # a Maybe, if the other arm is an element
    if anchor.type.sort == "int":
        x, y = number(then), number(otherwise)
        type_ = x.type if x.type == y.type else Type(min(x.type.lo, y.type.lo), max(x.type.hi, y.type.hi))
    else:
        x, y, type_ = coerce(then, anchor.type), coerce(otherwise, anchor.type), anchor.type
    if test.op == "const":
        return x if test.args[0] else y
    return x if x is y else Expr("ite", (test, x, y), type_)


def element_name(variable: str, at: Sequence[str]) -> str:
    """Return `offset[broker-a, orders, 0]`, or for a table's column `config[broker-a, orders].perm`."""
    table, dot, column = variable.partition(".")
    return table + (f"[{', '.join(at)}]" if at else "") + dot + column


_INFIX = {"add": "+", "sub": "-", "mul": "*", "rem": "%", "lt": "<", "le": "<=", "eq": "==", "bitandnot": "&~", "and": "&", "or": "|"}
_INFIX |= {"bitand": "&", "bitor": "|"}


def show(e: Expr) -> str:
    """Return the readable text of a term."""
    texts: list[str] = []
    stack: list[str | Expr] = [e]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            texts.append(part)
        else:
            stack += reversed(_pieces(part))
    return "".join(texts)


def _pieces(e: Expr) -> list[str | Expr]:
    """Return the text of a term as a list that still contains its subterms."""
    a = e.args
    if e.op == "const":
        return [e.type.text(a[0])]
    if e.op in ("ref", "after"):
        return [*_element(a[0].name, a[1:]), "'" if e.op == "after" else ""]
    if e.op in ("par", "given", "free"):
        return [str(a[0])]
    if e.op == "eq" and a[0].op == "get" and a[0].args[0].type.of == Bool:
        return ["(", a[0], " == True)"]
    if e.op in _INFIX:
        return ["(", a[0], f" {_INFIX[e.op]} ", a[1], ")"]
    if e.op == "not":
        return ["(", a[0].args[0], " != ", a[0].args[1], ")"] if a[0].op == "eq" else ["~", a[0]]
    if e.op == "ite":
        return ["(", a[1], " if ", a[0], " else ", a[2], ")"]
    if e.op == "has":
        return ["(", a[1], " in ", a[0], ")"]
    if e.op in ("get", "some") and isinstance((e if e.op == "get" else a[0]).type, MaybeType):
        return [a[0], ".get"] if e.op == "get" else ["some(", a[0], ")"]
    if e.op in ("get", "some"):
        return [a[0]]
    if e.op == "owner":
        return ["owner(", a[0], ")"]
    if e.op == "single" and not isinstance(a[0].type, Index):
        return ["{", a[0], "}"]
    return [f"{e.op}(", *_listed(a), ")"]


def _listed(terms: Sequence[Expr]) -> list[str | Expr]:
    """Return `i, j, k`."""
    return [piece for k, term in enumerate(terms) for piece in ((", ", term) if k else (term,))]


def _element(variable: str, at: Sequence[Expr]) -> list[str | Expr]:
    """Return `element_name` for indices that are terms."""
    table, dot, column = variable.partition(".")
    return [table, *(["[", *_listed(at), "]"] if at else []), dot + column]
