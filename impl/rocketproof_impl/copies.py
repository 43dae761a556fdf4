"""Shallow copies of dataclasses, several times quicker than `dataclasses.replace`: each send and each message of a batch makes one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def copier(kind: type[T]) -> Callable[[T], T]:
    """What makes copies of this kind, a dataclass whose fields are all given to its constructor by position."""
    values = attrgetter(*(field.name for field in fields(kind)))
    return lambda one: kind(*values(one))
