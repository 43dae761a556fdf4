"""Records: named fields of one entity, and the rows of terms that stand for one. A field may be a record itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ModelError
from .expr import Compared, Expr, Whole, choose, coerce
from .operations import all_of
from .traverse import rewrite
from .types import Type


class Record:
    """Named fields of one entity: `Config = Record(known=Bool, read=Int(0, 8))`; calling it builds a row."""

    def __init__(self, **fields: Type | Record) -> None:
        for name, type_ in fields.items():
            if not isinstance(type_, Type | Record):
                raise ModelError(f"field {name} of a Record is {type_}", "give each field a finite type such as Bool or Int(0, 3)")
        self.fields: dict[str, Type | Record] = fields
        self.sentences: dict[str, str] = {}

    def described(self, **sentences: str) -> Record:
        """The record with a sentence for some of its fields, which says what a field is. Raises ModelError for an unknown field."""
        odd = sorted(sentences.keys() - self.fields.keys())
        if odd:
            raise ModelError(f"sentence for unknown field {odd[0]} of a Record", f"its fields are {', '.join(self.fields)}")
        self.sentences |= sentences
        return self

    def __call__(self, **values: Any) -> Row:
        """A row with all fields given; raises ModelError on missing or unknown ones."""
        if values.keys() != self.fields.keys():
            odd = sorted(values.keys() ^ self.fields.keys())
            raise ModelError(f"row with missing or unknown fields {', '.join(odd)}", f"give exactly {', '.join(self.fields)}")
        return Row({name: _field(name, values[name], type_) for name, type_ in self.fields.items()})


def _field(name: str, value: Any, type_: Type | Record) -> Any:
    if isinstance(type_, Type):
        return coerce(value, type_)
    if isinstance(value, Mapping):
        return type_(**value)
    if not isinstance(value, Row) or value.fields.keys() != type_.fields.keys():
        raise ModelError(f"field {name} is '{value}'", f"give a row of {', '.join(type_.fields)}")
    return type_(**value.fields)


class Row(Compared, Whole):
    """The fields of one record, as terms or rows: `config[b].read`."""

    fields: dict[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__["fields"] = dict(fields)

    def __getattr__(self, name: str) -> Expr:
        """A field; of a record in a record it is a row."""
        try:
            field: Expr = self.__dict__["fields"][name]
        except KeyError:
            raise ModelError(f"no field {name}", f"the fields are {', '.join(self.__dict__['fields'])}") from None
        return field

    def __setattr__(self, name: str, value: Any) -> None:
        raise ModelError(f"field {name} assigned directly", "use a.set(row, ...) inside an action")

    def same_as(self, other: Any) -> Expr:
        """Whether all fields are equal."""
        self.match(other)
        return all_of(value == other.fields[name] for name, value in self.fields.items())

    def __bool__(self) -> bool:
        raise ModelError(f"'{self}' has no truth value while the model is built", "use one of its fields")

    def __repr__(self) -> str:
        return f"row({', '.join(f'{name}={value}' for name, value in self.fields.items())})"

    def match(self, other: Any) -> None:
        """Refuse anything but a row of the same fields."""
        if not isinstance(other, Row) or other.fields.keys() != self.fields.keys():
            raise ModelError(f"'{other}' is not a row of {', '.join(self.fields)}", "use a row of the same Record")


def ite(condition: Any, then: Any, otherwise: Any) -> Any:
    """`then` where the condition holds, else `otherwise`; both terms, constants, or rows of the same record."""
    if isinstance(then, Row) or isinstance(otherwise, Row):
        (then if isinstance(then, Row) else otherwise).match(otherwise if isinstance(then, Row) else then)
        return Row({name: ite(condition, value, otherwise.fields[name]) for name, value in then.fields.items()})
    return choose(condition, then, otherwise)


def after(value: Any) -> Any:
    """The value of a term (or of each field of a row) in the state after the step; only meaningful in step properties."""
    if isinstance(value, Row):
        return Row({name: after(field) for name, field in value.fields.items()})
    if not isinstance(value, Expr):
        raise ModelError(f"after({value}) asks for something that is not a term", "give a variable, an element or an expression of them")
    return rewrite(value, lambda e: Expr("after", e.args, e.type) if e.op == "ref" else None)
