"""Values of any shape: a term, a row, or a tuple of such; each is made of terms of scalar types, its parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ModelError
from .expr import Expr, coerce, const
from .records import Record, Row
from .types import Int, Type

Shape = Type | Record | tuple[Any, ...]
"""What a value is made of: a type, a record, or a tuple of shapes."""


def parts_of(shape: Shape, name: str = "") -> Iterator[tuple[str, Type]]:
    """The types that a value is made of, with dotted names that begin with `name`: fields by their names, parts of a tuple by numbers."""
    if isinstance(shape, Type):
        yield name, shape
        return
    if not isinstance(shape, Record | tuple) or not (shape if isinstance(shape, tuple) else shape.fields):
        raise ModelError(f"{shape} is no type", "give a type such as Int(0, 3), a Record, or a tuple of them")
    fields = {str(k): each for k, each in enumerate(shape)} if isinstance(shape, tuple) else shape.fields
    for field, of in fields.items():
        yield from parts_of(of, f"{name}.{field}" if name else field)


def made_of(shape: Shape, parts: Iterator[Any]) -> Any:
    """The value of a shape from its parts, in the order of `parts_of`."""
    if isinstance(shape, Type):
        return next(parts)
    if isinstance(shape, tuple):
        return tuple(made_of(each, parts) for each in shape)
    return Row({name: made_of(each, parts) for name, each in shape.fields.items()})


def parts_in(shape: Shape, value: Any) -> list[Expr]:
    """The terms that a value of the shape is made of. Raises ModelError for what is no such value."""
    if isinstance(shape, Type):
        return [coerce(value, shape)]
    if isinstance(shape, tuple):
        if not isinstance(value, tuple) or len(value) != len(shape):
            raise ModelError(f"'{value}' is no tuple of {len(shape)} values", f"give ({', '.join(map(str, shape))})")
        return [part for of, each in zip(shape, value, strict=True) for part in parts_in(of, each)]
    row = shape(**(value.fields if isinstance(value, Row) else value)) if isinstance(value, Row | Mapping) else None
    if row is None:
        raise ModelError(f"'{value}' is not a row of {', '.join(shape.fields)}", "use a row of the same Record")
    return [part for name, of in shape.fields.items() for part in parts_in(of, row.fields[name])]


def constants_of(type_: Type) -> list[Expr]:
    """The values of a type, as terms."""
    return [const(code, Int(code, code) if type(type_) is Type else type_) for code in type_.codes()]


def values_of(shape: Shape) -> Iterator[Any]:
    """Every value of a shape, as terms."""
    for parts in itertools.product(*(constants_of(type_) for _, type_ in parts_of(shape))):
        yield made_of(shape, iter(parts))


def codes_of(shape: Shape) -> Iterator[tuple[int, ...]]:
    """Every value of a shape, as the codes of its parts."""
    return itertools.product(*(type_.codes() for _, type_ in parts_of(shape)))


def text_of(shape: Shape, codes: Iterator[int]) -> str:
    """A value as a person reads it: `[type: 1a, ballot: 0]`, `(0, 1)`; the codes are those of its parts."""
    if isinstance(shape, Type):
        return shape.text(next(codes))
    if isinstance(shape, tuple):
        return "(" + ", ".join(text_of(each, codes) for each in shape) + ")"
    return "[" + ", ".join(f"{name}: {text_of(each, codes)}" for name, each in shape.fields.items()) + "]"


def data_of(shape: Shape, codes: Iterator[int]) -> Any:
    """A value as data: a dict for a record, a tuple for a tuple."""
    if isinstance(shape, Type):
        return shape.decode(next(codes))
    if isinstance(shape, tuple):
        return tuple(data_of(each, codes) for each in shape)
    return {name: data_of(each, codes) for name, each in shape.fields.items()}
