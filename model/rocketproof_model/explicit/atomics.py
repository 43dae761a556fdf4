"""What Numba lacks for a parallel search: calls of kernels by address, atomic words, prefetching.

Memory is named by an address and an index of 64-bit words, neither of which is checked. Addresses, unlike Numba's arrays,
are not counted references, whose counting would cost a quarter of the search. The caller keeps the arrays alive.

Numba's cache watches the file of the compiled function only: after a change here, touch the files that import this one.
"""

# Numba's intrinsics have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types

# Its own type demands of a call the `typing` argument, which only Numba passes.
intrinsic: Any = extending.intrinsic

_I64 = ir.IntType(64)
_I32 = ir.IntType(32)


def _element(builder, args):
    """The pointer to word args[1] after the address args[0]."""
    return builder.gep(builder.inttoptr(args[0], _I64.as_pointer()), [args[1]])


@intrinsic
def address(typing, array):
    """Where an array of words lies."""

    def emit(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, _I64)

    return types.int64(array), emit


@intrinsic
def get(typing, base, index):
    """The word."""

    def emit(context, builder, signature, args):
        return builder.load(_element(builder, args))

    return types.int64(types.int64, types.int64), emit


@intrinsic
def put(typing, base, index, value):
    """Write the word."""

    def emit(context, builder, signature, args):
        builder.store(args[2], _element(builder, args))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), emit


def _call(context, builder, args):
    function = ir.FunctionType(_I64, [_I64] * (len(args) - 1)).as_pointer()
    return builder.call(builder.inttoptr(args[0], function), list(args[1:]))


@intrinsic
def call_succ(typing, function, state, consts, out, tags, counts, cover):
    """`succ` of a kernel; all arguments are addresses."""
    return types.int64(*[types.int64] * 7), lambda context, builder, signature, args: _call(context, builder, args)


@intrinsic
def call_masks(typing, function, state, consts, masks, after):
    """`check`, `ends` or `steps` of a kernel; all arguments are addresses."""
    return types.int64(*[types.int64] * 5), lambda context, builder, signature, args: _call(context, builder, args)


@intrinsic
def load(typing, base, index):
    """The word, before all later reads (acquire)."""

    def emit(context, builder, signature, args):
        return builder.load_atomic(_element(builder, args), "acquire", 8)

    return types.int64(types.int64, types.int64), emit


@intrinsic
def store(typing, base, index, value):
    """Write the word, after all earlier writes (release)."""

    def emit(context, builder, signature, args):
        builder.store_atomic(args[2], _element(builder, args), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), emit


@intrinsic
def swap(typing, base, index, expected, value):
    """Replace the word by value if it is `expected`; what it was."""

    def emit(context, builder, signature, args):
        pair = builder.cmpxchg(_element(builder, args), args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(pair, 0)

    return types.int64(types.int64, types.int64, types.int64, types.int64), emit


@intrinsic
def fetch_add(typing, base, index, amount):
    """Add to the word; what it was."""

    def emit(context, builder, signature, args):
        return builder.atomic_rmw("add", _element(builder, args), args[2], "acq_rel")

    return types.int64(types.int64, types.int64, types.int64), emit


@intrinsic
def prefetch(typing, base, index):
    """Bring the cache line of the word near."""

    def emit(context, builder, signature, args):
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        pointer = builder.bitcast(_element(builder, args), byte)
        builder.call(function, [pointer, _I32(0), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@intrinsic
def mix(typing, word):
    """Spread the bits of a word over all 64 (two rounds of multiply and shift)."""

    def emit(context, builder, signature, args):
        x = args[0]
        for shift, factor in ((32, 0x9E3779B97F4A7C15), (29, 0xBF58476D1CE4E5B9), (32, 0)):
            x = builder.xor(x, builder.lshr(x, _I64(shift)))
            if factor:
                x = builder.mul(x, _I64(factor))
        return x

    return types.int64(types.int64), emit
