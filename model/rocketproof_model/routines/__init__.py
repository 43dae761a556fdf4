"""Machine code from a small part of Python: loops over 64-bit integers and memory, compiled in a tenth of a second through LLVM text.

A routine is a Python function that is parsed and never run by Python. Every value in it is a word of 64 bits. Memory is accessed by
unchecked addresses, which may be passed to threads; the caller keeps the memory alive. The allowed forms are:

    assignments (also of tuples), `if`, `while`, `for ... in range(...)`, `break`, `continue`, `return`, conditional expressions
    + - * & | ^ ~ << >> with wrap-around (`>>` shifts in zeros, shifts stay below 64); // and % without sign
    comparisons with sign; `and`, `or`, `not` in their short-circuit form
    calls of other routines, and of the words below, which are one instruction each

Names that are no local variables are integers, or tuples of them, from the constants of the compilation or else from the routine's module.
An `if` that constants decide compiles only the arm taken. A loop over `unrolled(n)` is unrolled, with its variable as a constant.

Numba is no alternative: it takes seconds where this takes a tenth of a second, and every process would have to load it.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import native
from .text import Constant, routine, text
from .words import GIVEN, acquire, call, exchange, fetch_add, get, last_bit, load, matches, prefetch, put, release, store, unrolled

__all__ = [
    "GIVEN", "Constant", "acquire", "address", "addresses", "call", "compile_routine", "exchange", "fetch_add", "get", "last_bit", "load",
    "matches", "prefetch", "put", "release", "routine", "store", "unrolled",
]  # fmt: skip


def compile_routine(function: Callable[..., Any], **constants: Constant) -> Callable[..., int]:
    """Return the routine as a function of integers that runs without the interpreter's lock, compiled or loaded from the cache on disk."""
    return _compiled(function, tuple(sorted(constants.items())))


@cache
def _compiled(function: Callable[..., Any], constants: tuple[tuple[str, Constant], ...]) -> Callable[..., int]:
    name = function.__name__
    address = native.compile_text(text(function, dict(constants)), (name,)).addresses[name]
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(inspect.signature(function).parameters))
    function_: Callable[..., int] = signature(address)
    return function_


def address(array: NDArray[Any]) -> int:
    """Return the address of an array's data."""
    try:
        # Takes a quarter of the time of `ctypes.data`; a long witness needs millions of addresses.
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # an array is a buffer
    except (TypeError, ValueError):  # read-only, empty or with gaps
        return int(array.ctypes.data)


def addresses(*values: NDArray[Any] | int) -> NDArray[np.int64]:
    """Return a block of arguments: integers, and the addresses of arrays, which the caller keeps alive."""
    return np.array([v if isinstance(v, int) else address(v) for v in values], dtype=np.int64)
