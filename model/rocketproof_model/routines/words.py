"""The words of routines: each is one instruction or a few. Python knows their types and runs none of them."""

from __future__ import annotations

from typing import NoReturn, cast

GIVEN = cast("int", object())
"""Stands for a constant that is given when a routine is compiled; a routine that is compiled without it is refused."""


def _read_only(*_: int) -> NoReturn:
    raise NotImplementedError("a word of routines, which Python does not run")


def get(base: int, index: int) -> int:
    """The word at an index of words after an address."""
    _read_only(base, index)


def put(base: int, index: int, value: int) -> None:
    """Write the word at an index of words after an address."""
    _read_only(base, index, value)


def load(address: int, count: int) -> int:
    """An integer of `count` bytes (1 to 8, a constant), wherever it lies."""
    _read_only(address, count)


def store(address: int, count: int, value: int) -> None:
    """Write the lowest `count` bytes (1 to 8, a constant) of a value."""
    _read_only(address, count, value)


def acquire(address: int, count: int) -> int:
    """Load an aligned integer before all later loads; `count` is 1 or 8."""
    _read_only(address, count)


def release(address: int, count: int, value: int) -> None:
    """Store an aligned integer after all earlier stores; `count` is 1 or 8."""
    _read_only(address, count, value)


def exchange(address: int, count: int, expected: int, value: int) -> int:
    """Replace an aligned integer by value if it is as expected; what it was. `count` is 1 or 8."""
    _read_only(address, count, expected, value)


def fetch_add(address: int, amount: int) -> int:
    """Add to a word shared by threads; what it was."""
    _read_only(address, amount)


def prefetch(address: int) -> None:
    """Bring a cache line near."""
    _read_only(address)


def matches(address: int, byte: int) -> int:
    """Bit i: byte i of the 16 at an address is equal to the given one."""
    _read_only(address, byte)


def last_bit(word: int) -> int:
    """The number of the highest bit that is set; -1 if none is."""
    _read_only(word)


def call(function: int, *arguments: int) -> int:
    """Call a function of words by its address."""
    _read_only(function, *arguments)


def unrolled(times: int) -> range:
    """In `for k in unrolled(n)`: write the body n times, with k a constant."""
    _read_only(times)
