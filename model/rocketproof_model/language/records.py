"""Values of several parts: records with named fields, tuples, and Maybes of them. Each consists of terms of scalar types, its parts.

A Maybe of a record is laid out as a record of Maybes; either all are None or none is. None is therefore one state, it names no element of
an index, and the value of None is undefined in every engine. No operation of its own is needed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple, overload

from ..errors import ModelError
from .expr import Compared, Compound, Expr, UntypedChoice, choose, coerce, some
from .operations import all_of
from .traverse import rewrite
from .types import Bool, ContainerType, MaybeType, Type, maybe_of

_LISTED = 9  # of more fields, an error names only the nearest


class Field(NamedTuple):
    """A field of a Record with its initial value and a sentence that describes it."""

    type: Shape | ContainerType
    start: Any
    sentence: str


class Record:
    """Named fields of one entity: `Config = Record(known=Bool, read=Int(0, 8))`; calling it builds a row.

    A field may be described in full: `known=Field(Bool, False, "whether it is known")`. If all fields are, the record has a `start`.
    """

    def __init__(self, **fields: Shape | ContainerType | Field) -> None:
        described = {name: field for name, field in fields.items() if isinstance(field, Field)}
        self.fields: dict[str, Any] = {name: field.type if isinstance(field, Field) else field for name, field in fields.items()}
        for name, type_ in self.fields.items():
            if not isinstance(type_, Type | Record | MaybeShape | ContainerType):
                raise ModelError(f"field {name} of a Record is {type_}", "give each field a finite type such as Bool or Int(0, 3)")
        self.sentences: dict[str, str] = {name: field.sentence for name, field in described.items()}
        self._starts = {name: field.start for name, field in described.items()}

    @property
    def start(self) -> Row:
        """The initial value: the row of the fields' initial values. Raises ModelError if a field has none."""
        if silent := [name for name in self.fields if name not in self._starts]:
            words = f"field {silent[0]} of a Record does not say what it starts with"
            raise ModelError(words, "write Field(type, start, sentence), or give the variable init=")
        return self(**self._starts)

    def described(self, **sentences: str) -> Record:
        """Return the record with a sentence for some of its fields. Raises ModelError for an unknown field."""
        odd = sorted(sentences.keys() - self.fields.keys())
        if odd:
            raise ModelError(f"sentence for unknown field {odd[0]} of a Record", f"its fields are {', '.join(self.fields)}")
        self.sentences |= sentences
        return self

    def __call__(self, **values: Any) -> Row:
        """Return a row with all fields given; raises ModelError on missing or unknown fields."""
        if values.keys() != self.fields.keys():
            odd = sorted(values.keys() ^ self.fields.keys())
            raise ModelError(f"row with missing or unknown fields {', '.join(odd)}", f"give exactly {', '.join(self.fields)}")
        return Row({name: _field(name, values[name], type_) for name, type_ in self.fields.items()})


def _field(name: str, value: Any, shape: Shape | ContainerType) -> Any:
    if isinstance(shape, ContainerType):
        return value  # members, which are converted when the variable is set
    if isinstance(shape, Record) and not isinstance(value, Mapping | Row):
        raise ModelError(f"field {name} is '{value}'", f"give a row of {', '.join(shape.fields)}")
    if isinstance(shape, Record):
        return shape(**(value.fields if isinstance(value, Row) else value))
    return made_of(shape, iter(parts_in(shape, value)))


class Row(Compared, Compound):
    """The fields of one record, as terms or rows: `config[b].read`."""

    fields: dict[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__["fields"] = dict(fields)

    def __getattr__(self, name: str) -> Expr:
        """Return a field; a record in a record is a row."""
        try:
            field: Expr = self.__dict__["fields"][name]
        except KeyError:
            names = list(self.__dict__["fields"])
            near = get_close_matches(name, names, 1)
            meant = near and len(names) > _LISTED
            raise ModelError(f"no field {name}", f"did you mean {near[0]}?" if meant else f"the fields are {', '.join(names)}") from None
        return field

    def __setattr__(self, name: str, value: Any) -> None:
        raise ModelError(f"field {name} assigned directly", "use a.set(row, ...) inside an action")

    def same_as(self, other: Any) -> Expr:
        """Return whether all fields are equal."""
        if isinstance(other, MaybeValue):
            return other.same_as(self)
        row = self.match(other)
        return all_of(value == row.fields[name] for name, value in self.fields.items())

    def __bool__(self) -> bool:
        raise ModelError(f"'{self}' has no truth value while the model is built", "use one of its fields")

    def __repr__(self) -> str:
        return f"row({', '.join(f'{name}={value}' for name, value in self.fields.items())})"

    def match(self, other: object) -> Row:
        """Return the other row. Raises ModelError for anything but a row of the same fields."""
        if not isinstance(other, Row) or other.fields.keys() != self.fields.keys():
            raise ModelError(f"'{other}' is not a row of {', '.join(self.fields)}", "use a row of the same Record")
        return other


@dataclass(frozen=True)
class MaybeShape:
    """None, or a value of several parts."""

    of: Record | tuple[Any, ...]


@overload
def Maybe(of: Type) -> MaybeType: ...


@overload
def Maybe(of: Record | tuple[Any, ...]) -> MaybeShape: ...


def Maybe(of: Any) -> MaybeType | MaybeShape:
    """Return the type of None or a value: an element of an index, a record, or a tuple of types."""
    if not isinstance(of, Record | tuple):
        return maybe_of(of)
    list(parts_of(of))
    return MaybeShape(of)


Shape = Type | Record | MaybeShape | tuple[Any, ...]
"""The structure of a value: a type, a record, a tuple of shapes, or a Maybe of a record or tuple."""


class MaybeValue(Compared, Compound):
    """None or a value of several parts; `parts` are Maybes that are all None or all not None."""

    _remedy = "ask is_none or is_some, and guard get by it"

    def __init__(self, shape: MaybeShape, parts: Sequence[Expr]) -> None:
        self.shape, self.parts = shape, tuple(parts)

    @property
    def is_none(self) -> Expr:
        """Whether it is None."""
        return self.parts[0].is_none

    @property
    def is_some(self) -> Expr:
        """Whether it holds a value."""
        return ~self.is_none

    @property
    def get(self) -> Any:
        """The row or tuple that it holds; its parts have no value for None, so guard them with `is_some`."""
        return made_of(self.shape.of, iter([part.get for part in self.parts]))

    def same_as(self, other: Any) -> Expr:
        """Return whether both are None, or hold equal values."""
        if other is None:
            return self.is_none
        return all_of(part == other_part for part, other_part in zip(self.parts, parts_in(self.shape, other), strict=True))

    @property
    def is_value(self) -> Expr:
        """Return the condition that all parts are None or none is. It holds for every value that a model writes."""
        inside = proper(self.shape.of, self.get)
        return all_of(part.is_none == self.is_none for part in self.parts[1:]) & (inside | self.is_none)

    def __bool__(self) -> bool:
        raise ModelError(f"'{self}' has no truth value while the model is built", self._remedy)

    def __repr__(self) -> str:
        return f"maybe({', '.join(map(repr, self.parts))})"


def proper(shape: Shape, value: Any) -> Expr:
    """Return the condition that the parts of a value fit together, which matters for Maybes."""
    if isinstance(shape, MaybeShape):
        whole: Expr = value.is_value
        return whole
    if isinstance(shape, tuple):
        return all_of(proper(of, part) for of, part in zip(shape, value, strict=True))
    if isinstance(shape, Record):
        return all_of(proper(of, value.fields[name]) for name, of in shape.fields.items() if not isinstance(of, ContainerType))
    return all_of(())


# -- values and their parts -------------------------------------------------------------------------------------------


def parts_of(shape: Shape | ContainerType, name: str = "") -> Iterator[tuple[str, Type]]:
    """Yield the types of a value's parts with dotted names that begin with `name`. Parts of a tuple are numbered."""
    if isinstance(shape, ContainerType):
        raise ModelError(f"{name or 'a part of a value'} is {shape.word}", "that has to be a variable of its own, or a field of one")
    if isinstance(shape, MaybeShape):
        yield from ((part, maybe_of(type_, part=True)) for part, type_ in parts_of(shape.of, name))
        return
    if isinstance(shape, Type):
        yield name, shape
        return
    if not isinstance(shape, Record | tuple) or not (shape if isinstance(shape, tuple) else shape.fields):
        raise ModelError(f"{shape} is no type", "give a type such as Int(0, 3), a Record, or a tuple of them")
    fields = {str(k): part for k, part in enumerate(shape)} if isinstance(shape, tuple) else shape.fields
    for field, of in fields.items():
        yield from parts_of(of, f"{name}.{field}" if name else field)


def made_of(shape: Any, parts: Iterator[Any]) -> Any:
    """Return the value of a shape from its parts, in the order of `parts_of`."""
    if isinstance(shape, Type):
        return next(parts)
    if isinstance(shape, tuple):
        return tuple(made_of(part, parts) for part in shape)
    if isinstance(shape, MaybeShape):
        return MaybeValue(shape, [next(parts) for _ in parts_of(shape)])
    return Row({name: made_of(part, parts) for name, part in shape.fields.items()})


def parts_in(shape: Any, value: Any) -> list[Expr]:
    """Return the terms of a value's parts. Raises ModelError if it is no value of the shape."""
    if isinstance(shape, Type):
        return [coerce(value, shape)]
    if isinstance(value, UntypedChoice):
        arms = zip(parts_in(shape, value.then), parts_in(shape, value.otherwise), strict=True)
        return [choose(value.test, then, otherwise) for then, otherwise in arms]
    if isinstance(shape, MaybeShape):
        return _parts_in_maybe(shape, value)
    if isinstance(shape, tuple):
        if not isinstance(value, tuple) or len(value) != len(shape):
            raise ModelError(f"'{value}' is no tuple of {len(shape)} values", f"give ({', '.join(map(str, shape))})")
        return [part for of, item in zip(shape, value, strict=True) for part in parts_in(of, item)]
    row = shape(**(value.fields if isinstance(value, Row) else value)) if isinstance(value, Row | Mapping) else None
    if row is None:
        raise ModelError(f"'{value}' is not a row of {', '.join(shape.fields)}", "use a row of the same Record")
    return [part for name, of in shape.fields.items() for part in parts_in(of, row.fields[name])]


def _parts_in_maybe(shape: MaybeShape, value: Any) -> list[Expr]:
    types = [maybe_of(type_, part=True) for _, type_ in parts_of(shape.of)]
    if isinstance(value, MaybeValue):
        if [part.type for part in value.parts] != types:
            raise ModelError(f"'{value}' is a Maybe of something else", "use one Maybe(...) for both sides")
        return list(value.parts)
    if value is None:
        return [coerce(None, type_) for type_ in types]
    return [some(part, type_) for part, type_ in zip(parts_in(shape.of, value), types, strict=True)]


class Merged:
    """A value of several parts with its own `ite`: a sequence."""

    @abstractmethod
    def merged(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """Return `then` where the condition holds, else `otherwise`; this object is one of the two."""


def ite(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return `then` where the condition holds, else `otherwise`.

    Both are terms, constants, rows of one record, Maybes of one record, or sequences of one type; one of them may be None.
    """
    for arm in (then, otherwise):
        if isinstance(arm, Merged):
            return arm.merged(condition, then, otherwise)
        if isinstance(arm, MaybeValue):
            return made_of(arm.shape, iter(parts_in(arm.shape, UntypedChoice(coerce(condition, Bool), then, otherwise))))
    if isinstance(then, Row) and isinstance(otherwise, Row):
        then.match(otherwise)
        return Row({name: ite(condition, value, otherwise.fields[name]) for name, value in then.fields.items()})
    for arm, other in ((then, otherwise), (otherwise, then)):
        if isinstance(arm, Row) and other is not None and not isinstance(other, UntypedChoice):
            arm.match(other)
    return choose(condition, then, otherwise)


def after(value: Any) -> Any:
    """Return the value of a term (or of each part of a row or a Maybe) in the state after the step.

    It has a meaning only in step properties.
    """
    if isinstance(value, Row):
        return Row({name: after(field) for name, field in value.fields.items()})
    if isinstance(value, MaybeValue):
        return MaybeValue(value.shape, [after(part) for part in value.parts])
    if not isinstance(value, Expr):
        raise ModelError(f"after({value}) asks for something that is not a term", "give a variable, an element or an expression of them")
    return rewrite(value, lambda e: Expr("after", e.args, e.type) if e.op == "ref" else None)
