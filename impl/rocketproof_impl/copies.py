"""Shallow copies of dataclasses, several times faster than `dataclasses.replace`.

Each send and each message of a batch makes a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def copier(kind: type[T]) -> Callable[[T], T]:
    """Return a function that copies instances of `kind`, a dataclass whose constructor takes all its fields by position."""
    values = attrgetter(*(field.name for field in fields(kind)))
    return lambda instance: kind(*values(instance))
