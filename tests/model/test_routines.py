"""Routines have Python's meaning in words of 64 bits; a statement that no routine can express is refused with its line."""

import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rocketproof_model.routines import (
    GIVEN,
    acquire,
    address,
    call,
    compile_routine,
    exchange,
    fetch_add,
    get,
    last_bit,
    load,
    matches,
    prefetch,
    put,
    release,
    routine,
    store,
    unrolled,
)

WORD = (1 << 64) - 1
SIZE = GIVEN
TABLE = (3, 5, 7)


def signed(x: int) -> int:
    x &= WORD
    return x - (1 << 64) if x >> 63 else x


@routine
def arithmetic(a: int, b: int) -> int:
    c = a * 3 + (b ^ 5) - (a & b | 9)
    c += ~b << 3
    c = c ^ (a >> 7)
    return c // ((b & 7) + 1) + c % 11


@routine
def compared(a: int, b: int) -> int:
    found = 0
    if a < b and not (a == -3 or b <= 4):
        found = 1
    else:
        found = 3 if a > b else 4
    return found * 10 + (a >= b) + (a != b and b > 0)


@routine
def looped(n: int) -> int:
    total, k = 0, 0
    while True:
        k += 1
        if k > n:
            break
        if k % 3 == 0:
            continue
        for i in range(1, k):
            if i == 5:
                break
            total = total + i
    for i in range(2):
        for j in unrolled(SIZE):
            total = total + TABLE[j] * i
    return total


def looped_in_python(n: int) -> int:
    inner = [i for k in range(1, n + 1) if k % 3 for i in range(1, min(k, 5))]
    return sum(inner) + 15


@routine
def recursive(n: int) -> int:
    return n if n < 2 else recursive(n - 1) + recursive(n - 2)


@routine
def by_address(function: int, a: int) -> int:
    return call(function, a) + 1


@routine
def in_memory(at: int) -> int:
    put(at, 1, get(at, 0) + 1)
    store(at + 19, 5, 0x1122334455)
    prefetch(at)
    release(at + 40, 8, load(at + 19, 5))
    old = fetch_add(at + 48, 5)
    if exchange(at + 48, 8, old + 5, 77) != old + 5 or exchange(at + 48, 8, 1, 2) != 77:
        return 1
    return matches(at + 16, 0x33) << 32 | last_bit(acquire(at + 40, 8)) << 16 | last_bit(0 - 1) << 8 | last_bit(0) + 1


def test_arithmetic_wraps_around_and_divides_without_sign() -> None:
    rng = random.Random(1)
    run = compile_routine(arithmetic)
    for _ in range(300):
        a, b = (signed(rng.getrandbits(rng.choice((3, 40, 64)))) for _ in range(2))
        c = a * 3 + (b ^ 5) - (a & b | 9) + (~b << 3)
        c = (c & WORD) ^ ((a & WORD) >> 7)
        assert run(a, b) == signed(c // ((b & 7) + 1) + c % 11)


def test_comparisons_have_a_sign() -> None:
    run = compile_routine(compared)
    for a in (-5, -3, 0, 2, 9):
        for b in (-5, -1, 0, 4, 5, 9):
            if a < b and not (a == -3 or b <= 4):
                found = 1
            else:
                found = 3 if a > b else 4
            assert run(a, b) == found * 10 + (a >= b) + (a != b and b > 0), (a, b)


def test_loops_calls_and_constants() -> None:
    assert [compile_routine(looped, SIZE=3)(n) for n in range(9)] == [looped_in_python(n) for n in range(9)]
    assert compile_routine(looped, SIZE=1)(0) == 3
    assert compile_routine(recursive)(20) == 6765
    fibonacci: Any = compile_routine(recursive)
    at = ctypes.cast(fibonacci, ctypes.c_void_p).value
    assert at is not None and compile_routine(by_address)(at, 10) == 56


def test_words_reach_memory() -> None:
    memory = np.zeros(8, dtype=np.int64)
    memory[0] = 41
    found = compile_routine(in_memory)(address(memory))
    assert memory[1] == 42 and memory[5] == 0x1122334455 and memory[6] == 77
    assert memory.tobytes()[19:25] == bytes.fromhex("554433221100")
    assert (found >> 32, found >> 16 & 255, found >> 8 & 255, found & 255) == (1 << 5, 36, 63, 0)


@routine
def unknown_name(a: int) -> int:
    return a + nowhere  # type: ignore[name-defined,no-any-return]  # noqa: F821  (what is to be refused)


@routine
def no_operation(a: int) -> int:
    return a**2


@routine
def no_statement(a: int) -> int:
    with a:  # type: ignore[attr-defined]  # what is to be refused
        return 1


@routine
def no_loop(a: int) -> int:
    for k in (1, 2):
        a = a + k
    return a


@routine
def no_bytes(a: int) -> int:
    return load(a, a)


@pytest.mark.parametrize("function", [unknown_name, no_operation, no_statement, no_loop, no_bytes, looped])
def test_inexpressible_statements_are_refused(function: Callable[..., int]) -> None:
    with pytest.raises(SyntaxError, match=rf"routine {function.__name__}, line \d+: no routine can say '.+'"):
        compile_routine(function)


def test_word_operations_need_compilation() -> None:
    with pytest.raises(NotImplementedError):
        get(0, 0)
