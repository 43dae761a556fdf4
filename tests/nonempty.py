"""A guard against claims about nothing: a test that asserts only inside a loop passes where the loop has no items."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def nonempty(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, one at a time. Fail at the end if there were none."""
    count = 0
    for count, item in enumerate(items, 1):  # noqa: B007 - the last number is read after the loop
        yield item
    assert count, "there is no item to check, so this test would say nothing"
