"""Digests of models and their claims. They are equal if all terms, names, numbers and sentences are, whatever the source lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from .expr import Expr, walk
from .model import Instance, Model
from .properties import Property
from .records import Record
from .types import Type
from .variables import Variable

_PLACES = frozenset({"place", "start_places", "says"})
"""Fields without effect on a result: the source line of a declaration, and the template of a step's sentence."""


class Contents:
    """Digests of models and of claims about them. Terms that several of them share are digested once."""

    def __init__(self) -> None:
        self._terms: dict[Expr, bytes] = {}
        self._types: dict[Type, bytes] = {}

    def model(self, model: Model) -> str:
        """Return the digest of a model without its claims, which have separate digests, and without the values of its constants."""
        parts = [self._fields(variable, ()) for variable in model.variables]
        return _digest([*parts, self._fields(model, ("variables", "properties"))]).hex()

    def constants(self, instance: Instance) -> str:
        """Return the digest of the values of an instance's constants."""
        return _digest([self._of(instance.constants)]).hex()

    def claim(self, claim: Property) -> str:
        """Return the digest of a claim about a model and the model's variables."""
        return _digest([self._fields(claim, ())]).hex()

    def _of(self, thing: Any) -> bytes:
        if isinstance(thing, Expr):
            return self._term(thing)
        if isinstance(thing, Variable):
            return _digest([b"variable", thing.name.encode()])
        if isinstance(thing, Type):
            return self._type(thing)
        if isinstance(thing, Record):
            return _digest([b"record", self._of(thing.fields), self._of(thing.sentences)])
        if isinstance(thing, Mapping):
            return _digest([b"map", *(self._of(part) for pair in thing.items() for part in pair)])
        if isinstance(thing, list | tuple):
            return _digest([b"list", *map(self._of, thing)])
        if is_dataclass(thing):
            return self._fields(thing, ())
        if thing is None or isinstance(thing, str | int | float):
            return _digest([b"value", repr(thing).encode()])
        raise TypeError(f"a model holds {thing!r}, whose content is not known")

    def _fields(self, thing: Any, without: Iterable[str]) -> bytes:
        names = [field.name for field in fields(thing) if field.name not in _PLACES and field.name not in without]
        return _digest([type(thing).__name__.encode(), *(self._of(getattr(thing, name)) for name in names)])

    def _type(self, type_: Type) -> bytes:
        digest = self._types.get(type_)
        if digest is None:
            digest = self._types[type_] = _digest([b"type", repr(type_).encode()])
        return digest

    def _term(self, term: Expr) -> bytes:
        for e in walk(term, known=self._terms):
            arguments = (self._terms[a] if isinstance(a, Expr) else self._of(a) for a in e.args)
            self._terms[e] = _digest([b"term", e.op.encode(), self._type(e.type), *arguments])
        return self._terms[term]


def _digest(parts: Iterable[bytes]) -> bytes:
    """Return a digest of the parts, each with its length, so that different lists never have the same bytes."""
    content = hashlib.sha256()
    for part in parts:
        content.update(b"%d:" % len(part))
        content.update(part)
    return content.digest()
