"""Calls of kernels by their address, which Numba lacks."""

# Numba's intrinsics have no types.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import types

# The declared type requires the `typing` argument in each call, which only Numba passes.
intrinsic: Any = extending.intrinsic

_I64 = ir.IntType(64)


def _call(context, builder, args):
    function = ir.FunctionType(_I64, [_I64] * (len(args) - 1)).as_pointer()
    return builder.call(builder.inttoptr(args[0], function), list(args[1:]))


@intrinsic
def call_succ(typing, function, state, consts, out, tags, counts, cover):
    """Call a kernel's `succ`; all arguments are addresses."""
    return types.int64(*[types.int64] * 7), lambda context, builder, signature, args: _call(context, builder, args)


@intrinsic
def call_masks(typing, function, state, consts, masks, after):
    """Call a kernel's `check`, `ends` or `steps`; all arguments are addresses."""
    return types.int64(*[types.int64] * 5), lambda context, builder, signature, args: _call(context, builder, args)
