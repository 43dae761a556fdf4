"""The words of routines, each one instruction or a few. Python has only their types and runs none of them."""

from __future__ import annotations

from typing import NoReturn, cast

GIVEN = cast("int", object())
"""A placeholder for a constant of the compilation; compiling a routine without it is an error."""


def _read_only(*_: int) -> NoReturn:
    raise NotImplementedError("a word of routines, which Python does not run")


def get(base: int, index: int) -> int:
    """Return the word at an index of words after an address."""
    _read_only(base, index)


def put(base: int, index: int, value: int) -> None:
    """Write the word at an index of words after an address."""
    _read_only(base, index, value)


def load(address: int, count: int) -> int:
    """Return an integer of `count` bytes (1 to 8, a constant), at any alignment."""
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
    """Replace an aligned integer by `value` if it equals `expected`; return the old value. `count` is 1 or 8."""
    _read_only(address, count, expected, value)


def fetch_add(address: int, amount: int) -> int:
    """Add to a word shared by threads and return the old value."""
    _read_only(address, amount)


def prefetch(address: int) -> None:
    """Load a cache line into the cache."""
    _read_only(address)


def matches(address: int, byte: int) -> int:
    """Return a mask: bit i is set if byte i of the 16 bytes at an address equals `byte`."""
    _read_only(address, byte)


def last_bit(word: int) -> int:
    """Return the number of the highest set bit; -1 if there is none."""
    _read_only(word)


def call(function: int, *arguments: int) -> int:
    """Call a function of words by its address."""
    _read_only(function, *arguments)


def unrolled(times: int) -> range:
    """In `for k in unrolled(n)`: write the body n times, with k a constant."""
    _read_only(times)
