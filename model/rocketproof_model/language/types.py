"""Finite types. A value of any type is an integer code between `lo` and `hi`, the same in every engine.

Only printing and exchange formats use the readable form: `decode` and `encode` convert between a code and a readable value (`True`, `-3`,
`"committed"`, `None`, `frozenset({0, 2})`). `text` is for people: it uses the names of an index's elements (`broker-a`, `{producer 0,
producer 2}`) if the model gives names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError

JAVA_INT = (-(2**31), 2**31 - 1)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Type:
    """A finite range of codes `lo..hi`; `sort` decides which operators apply."""

    lo: int
    hi: int

    @property
    def sort(self) -> str:
        return "int"

    @property
    def width(self) -> int:
        """The number of bits of a packed value: enough for `hi - lo`."""
        return (self.hi - self.lo).bit_length()

    @property
    def size(self) -> int:
        return self.hi - self.lo + 1

    def codes(self) -> range:
        return range(self.lo, self.hi + 1)

    def decode(self, code: int) -> Any:
        return code

    def text(self, code: int) -> str:
        """Return the readable text of a value, with the names of elements."""
        return str(self.decode(code))

    def encode(self, value: Any) -> int:
        """Return the code of a readable value; raises ModelError if the value is not of this type."""
        if isinstance(value, bool) or not isinstance(value, int) or not self.lo <= value <= self.hi:
            raise self._refuse(value)
        return value

    def _refuse(self, value: Any) -> ModelError:
        return ModelError(f"{value!r} is not a value of {self}", f"use one of {self.describe()}")

    def describe(self) -> str:
        return f"{self.lo}..{self.hi}"

    def __str__(self) -> str:
        return f"Int({self.lo}, {self.hi})"


@dataclass(frozen=True)
class BoolType(Type):
    @property
    def sort(self) -> str:
        return "bool"

    def decode(self, code: int) -> bool:
        return bool(code)

    def encode(self, value: Any) -> int:
        if not isinstance(value, bool):
            raise self._refuse(value)
        return int(value)

    def describe(self) -> str:
        return "True, False"

    def __str__(self) -> str:
        return "Bool"


Bool = BoolType(0, 1)


def Int(lo: int, hi: int) -> Type:
    """Return the type of integers from `lo` to `hi`, both included."""
    if not _whole(lo) or not _whole(hi):
        raise ModelError(f"Int({lo!r}, {hi!r}) has a bound that is not an int", "give two ints, such as Int(0, 3)")
    if not lo <= hi:
        raise ModelError(f"Int({lo}, {hi}) is empty", "the lower bound comes first")
    if lo < -(2**62) or hi > 2**62:
        raise ModelError(f"Int({lo}, {hi}) does not fit 63 bits", "choose smaller bounds")
    return Type(lo, hi)


@dataclass(frozen=True)
class EnumType(Type):
    names: tuple[str, ...]

    @property
    def sort(self) -> str:
        return "enum"

    def decode(self, code: int) -> str:
        return self.names[code]

    def encode(self, value: Any) -> int:
        if value not in self.names:
            raise self._refuse(value)
        return self.names.index(value)

    def describe(self) -> str:
        return ", ".join(self.names)

    def __str__(self) -> str:
        return f"Enum({', '.join(self.names)})"


def Enum(*names: str) -> EnumType:
    """Return the type of the given names; the first has code 0."""
    if not all(isinstance(name, str) for name in names):
        raise ModelError(f"Enum{names} has a name that is not a string", 'write the names one after the other: Enum("red", "blue")')
    if len(set(names)) != len(names) or not names:
        raise ModelError(f"Enum{names} has no or repeated names", "give each value a name of its own")
    return EnumType(0, len(names) - 1, names)


@dataclass(frozen=True)
class IndexType(Type):
    """A finite index set `0..size-1` with a name (brokers, producers, queues); also the type of its elements.

    `names` are the names of the elements, empty if they are called by their numbers. A model does not distinguish the elements of a
    `symmetric` index (see symmetry). With an `owner` each element belongs to an element of the owner, in blocks of equal size in the
    owner's order.
    """

    name: str
    names: tuple[str, ...] = ()
    symmetric: bool = False
    owner: IndexType | None = None

    @property
    def block(self) -> int:
        """The number of elements per element of the owner; without an owner, all elements."""
        return self.size // self.owner.size if self.owner else self.size

    def text(self, code: int) -> str:
        return self.names[code] if self.names and 0 <= code < len(self.names) else str(code)

    def encode(self, value: Any) -> int:
        """Return the code of an element from its number or its name."""
        if isinstance(value, str) and value in self.names:
            return self.names.index(value)
        return super().encode(value)

    def describe(self) -> str:
        return ", ".join(self.names) or super().describe()

    def __str__(self) -> str:
        return f"{self.name}(0..{self.hi})"


@dataclass(frozen=True)
class HoldingType(Type):
    """A type whose values hold values of the type `of`."""

    of: Type


@dataclass(frozen=True)
class MaybeType(HoldingType):
    """Nothing (code 0) or a value of a type: the k-th value, counted from 0, has code k + 1.

    If the type is a Maybe itself, as in a Maybe of a record with a Maybe, the readable form of a value is a tuple of one.
    """

    @property
    def sort(self) -> str:
        return "maybe"

    def decode(self, code: int) -> Any:
        held = self.of.decode(code - 1 + self.of.lo) if code else None
        return (held,) if code and isinstance(self.of, MaybeType) else held

    def text(self, code: int) -> str:
        held = self.of.text(code - 1 + self.of.lo) if code else "None"
        return f"some({held})" if code and isinstance(self.of, MaybeType) else held

    def encode(self, value: Any) -> int:
        if value is not None and isinstance(self.of, MaybeType):
            if not isinstance(value, tuple | list) or len(value) != 1:
                raise self._refuse(value)
            (value,) = value
            return self.of.encode(value) + 1
        return 0 if value is None else self.of.encode(value) - self.of.lo + 1

    def describe(self) -> str:
        return f"None, some of {self.of.describe()}" if isinstance(self.of, MaybeType) else f"None, {self.of.describe()}"

    def __str__(self) -> str:
        return f"Maybe({self.of})"


def maybe_of(of: Type, *, part: bool = False) -> MaybeType:
    """Return the type of None or a value of the type `of`. `of` may be a Maybe only as a part of a larger value."""
    if isinstance(of, ContainerType):
        raise ModelError(f"Maybe of {of.word}", "give it a variable of its own, beside a Bool or a Maybe that says whether it is there")
    if not isinstance(of, Type):
        raise ModelError(f"Maybe needs a type, not {of}", 'give one such as Int(0, 3), or an index: Broker = m.index("Broker", 2)')
    if isinstance(of, MaybeType) and not part:
        raise ModelError(f"Maybe({of}) has None twice", "one Maybe is enough, or use an Enum beside it")
    if of.size >= 2**62:
        raise ModelError(f"Maybe({of}) does not fit 63 bits", "choose smaller bounds")
    return MaybeType(0, of.size, of)


@dataclass(frozen=True)
class SetType(HoldingType):
    """A set of values of a small type, one bit per value: the k-th value, counted from 0, is bit k."""

    @property
    def sort(self) -> str:
        return "set"

    def members(self, code: int) -> list[int]:
        """Return the codes of the members in ascending order."""
        return [i for i in self.of.codes() if code >> (i - self.of.lo) & 1]

    def decode(self, code: int) -> frozenset[Any]:
        return frozenset(map(self.of.decode, self.members(code)))

    def text(self, code: int) -> str:
        return "{" + ", ".join(map(self.of.text, self.members(code))) + "}"

    def encode(self, value: Any) -> int:
        if not isinstance(value, Iterable) or isinstance(value, str):
            raise self._refuse(value)
        try:
            return sum(1 << i - self.of.lo for i in {self.of.encode(element) for element in value})
        except ModelError:
            raise self._refuse(value) from None

    def describe(self) -> str:
        return f"sets of {self.of.describe()}"

    def __str__(self) -> str:
        return f"SetOf({self.of})"


def held(type_: Type) -> Type:
    """Return the type of the values that a Maybe or a set holds; any other type itself."""
    return type_.of if isinstance(type_, HoldingType) else type_


def permuted_by(type_: Type) -> tuple[IndexType, ...]:
    """Return the symmetric indices whose permutations change values of the type: those it names, and their owners."""
    if isinstance(type_, IndexType):
        own = (type_,) if type_.symmetric else ()
        return own if type_.owner is None else (*own, *permuted_by(type_.owner))
    return permuted_by(type_.of) if isinstance(type_, HoldingType) else ()


def named(type_: Type) -> IndexType | None:
    """Return the symmetric index whose elements the values of a type name; None if there is none."""
    return next(iter(permuted_by(type_)), None)


class ContainerType:
    """Sets, bags and sequences that are laid out over variables: a type of variables and of a record's fields, not of values."""

    word = "a set, bag or sequence of several parts"


LARGEST_SET = 32
"""Maximum of values of a type whose sets are single values, one bit per member."""


def set_of(of: Type) -> SetType:
    """Return the type of sets of values of a type with at most 32 values."""
    if of.size > LARGEST_SET:
        raise ModelError(f"a set of {of} has {of.size} possible elements", f"use at most {LARGEST_SET}, or a variable of SetOf")
    return SetType(0, (1 << of.size) - 1, of)


def indexed(of: Any, what: str) -> None:
    """Raise ModelError for anything but a type as an index of an array."""
    if not isinstance(of, Type):
        raise ModelError(f"{what} needs an index, not {of}", 'declare one: Broker = m.index("Broker", 2)')
