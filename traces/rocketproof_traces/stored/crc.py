"""CRC-32 in kernels: by carry-less multiplication where the processor supports it, by tables elsewhere.

Carry-less: blocks of 16 bytes are read as polynomials of 128 bits. As many blocks are processed at once as the processor multiplies.
Folding moves a block D bits further: its halves are multiplied with x^(D+32) and x^(D-32) modulo the polynomial. Four lanes are folded
independently. Each of the last blocks is multiplied for its own distance from the end, to 96 bits: folding them one after the other would
make each wait for the previous one. Their sum is reduced to 32 bits by Barrett's method. The data is extended in front with zeros, which do
not change a CRC, to whole vectors. The CRC's start value is added to the first four bytes.

By tables: four registers take every fourth word of 8 bytes, so that none waits for the previous word. zlib since 1.2.12 uses five
registers, which are more than the processor has in addition to the addresses of the tables.

This code exists for speed. For bodies of 1 KiB it checks 16 GB/s on one core, `zlib.crc32` 3.7 GB/s. An audit with checksums reads 4.4
GB/s, one without 5.0 GB/s; with zlib it would be about 2 GB/s (`rocketproof bench scan` measures it).

The functions read up to 32 bytes before and after the given bytes; these bytes do not affect the result.
"""

# Numba's intrinsics have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from functools import reduce
from typing import Final

import numpy as np
from llvmlite import ir
from numba import config, njit
from numba.core import cgutils, types
from numba.core.codegen import get_host_cpu_features

from rocketproof_model.routines.compiled import compiled

from .memory import byte, intrinsic, place, word

_POLYNOMIAL: Final = 0x104C11DB7
_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_V2 = ir.VectorType(_I64, 2)
_V16 = ir.VectorType(_I8, 16)
_BLOCK, _LANES = 16, 4
_NEAR: Final = 16  # the most blocks that are multiplied for their own distance from the end
_WORD, _TURN = 8, 32  # bytes of a word; bytes from one word of a register to its next


def blocks_at_once() -> int:
    """Return how many blocks Numba multiplies at once without carry: 0, 1 or 2.

    The number depends on this processor, or on NUMBA_CPU_FEATURES if it is set.
    """
    configured = getattr(config, "CPU_FEATURES", None)
    features = set((get_host_cpu_features() if configured is None else configured).split(","))
    return 0 if not features >= {"+pclmul", "+sse4.1"} else 2 if features >= {"+vpclmulqdq", "+avx2"} else 1


def features_with(blocks: int) -> str:
    """Return this processor's features for NUMBA_CPU_FEATURES, without those that multiply more than `blocks` blocks at once."""
    lacking = ("+vpclmulqdq", "+pclmul")[: 2 - blocks]
    return ",".join(f"-{feature[1:]}" if feature in lacking else feature for feature in get_host_cpu_features().split(","))


def _reflected(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


def _power(exponent: int) -> int:
    """Return x^exponent modulo the polynomial with reversed bits, the form that folding needs."""
    value = 1
    for _ in range(exponent):
        value <<= 1
        if value >> 32:
            value ^= _POLYNOMIAL
    return _reflected(value, 32) << 1


def _quotient() -> int:
    """Return x^64 divided by the polynomial, with its 33 bits reversed."""
    quotient, rest = 0, 1 << 64
    for shift in range(32, -1, -1):
        if rest >> (shift + 32) & 1:
            quotient |= 1 << shift
            rest ^= _POLYNOMIAL << shift
    return _reflected(quotient, 33)


def _fold(distance: int) -> tuple[int, int]:
    """Return the factors of a block's halves that fold it onto a block `distance` blocks later."""
    return _power(128 * distance + 32), _power(128 * distance - 32)


# Index n: the factors of a block's halves for a sum of 96 bits, if n blocks follow it.
_LAST = [(_power(128 * following + 96), _power(128 * following + 32)) for following in range(_NEAR)]
_TO_64 = _power(64)
_BARRETT = (_reflected(_POLYNOMIAL, 33), _quotient())


class _Emitter:
    """Emit the LLVM of a carry-less CRC with `blocks` blocks per vector."""

    def __init__(self, builder, blocks: int) -> None:
        self.builder = builder
        self.blocks = blocks
        self.vector = ir.VectorType(_I64, 2 * blocks)
        self.functions = {
            width: cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind, kind, _I8]), f"llvm.x86.pclmulqdq{name}")
            for width, kind, name in ((1, _V2, ""), (blocks, self.vector, "" if blocks == 1 else ".256"))
        }

    def constants(self, pair: tuple[int, int]):
        """Return a vector with the two numbers in each of its blocks."""
        return ir.Constant(self.vector, [*pair] * self.blocks)

    def table(self, name: str, values: bytes):
        """Return a pointer to constant bytes."""
        kind = ir.ArrayType(_I8, len(values))
        data = cgutils.global_constant(self.builder.module, f"crc{self.blocks}.{name}", ir.Constant(kind, bytearray(values)))
        return self.builder.bitcast(data, _I8.as_pointer())

    def from_table(self, pointer, at):
        """Load the vector at a byte offset of a table."""
        return self.builder.load(self.builder.bitcast(self.builder.gep(pointer, [at]), self.vector.as_pointer()), align=1)

    def load(self, base, at):
        return self.builder.load(place(self.builder, (base, at), self.vector), align=1)

    def times(self, x, y, which: int, blocks: int):
        """Multiply one half of each block of x and y. Bit 0 of `which` selects the upper half of x, bit 4 that of y."""
        return self.builder.call(self.functions[blocks], [x, y, _I8(which)])

    def fold(self, x, constants, onto):
        """Multiply the halves of each block with the constants and add the products to `onto`."""
        low, high = (self.times(x, constants, which, self.blocks) for which in (0x00, 0x11))
        return self.builder.xor(onto, self.builder.xor(low, high))

    def reduced(self, total):
        """Reduce a sum of 96 bits in each block to the CRC register of 32 bits."""
        builder = self.builder
        undefined = ir.Constant(self.vector, ir.Undefined)
        orders = [ir.Constant(ir.VectorType(_I32, 2), [2 * n, 2 * n + 1]) for n in range(self.blocks)]
        x = reduce(builder.xor, (builder.shuffle_vector(total, undefined, order) for order in orders))
        word_mask = ir.Constant(_V2, [0xFFFFFFFF, 0])
        shifted = ir.Constant(ir.VectorType(_I32, 16), [*range(4, 16), 16, 16, 16, 16])
        rest = builder.bitcast(builder.shuffle_vector(builder.bitcast(x, _V16), ir.Constant(_V16, [0] * 16), shifted), _V2)
        x = builder.xor(self.times(builder.and_(x, word_mask), ir.Constant(_V2, [_TO_64, 0]), 0x00, 1), rest)
        part = x
        for constant in reversed(_BARRETT):
            part = self.times(builder.and_(part, word_mask), ir.Constant(_V2, [constant, 0]), 0x00, 1)
        return builder.lshr(builder.extract_element(builder.xor(x, part), _I32(0)), _I64(32))


def _carryless(blocks: int):
    """Return a function for the CRC-32 of at least 4 bytes, with `blocks` blocks per vector."""
    size = _BLOCK * blocks

    @intrinsic
    def function(typing, base, start, length):
        def emit(context, builder, signature, args):
            base, start, length = args
            emitter = _Emitter(builder, blocks)
            keep = emitter.table("keep", bytes(size) + b"\xff" * size)
            begin = emitter.table("begin", bytes(size) + b"\xff" * 4 + bytes(2 * size))
            constants = emitter.table("last", b"".join(factor.to_bytes(8, "little") for pair in reversed(_LAST) for factor in pair))
            step = _I64(size)
            end = builder.add(start, length)
            odd = builder.add(builder.and_(builder.sub(length, _I64(1)), _I64(size - 1)), _I64(1))  # bytes of the first vector, 1 to `size`
            at = cgutils.alloca_once_value(builder, builder.add(start, odd))
            total = cgutils.alloca_once_value(builder, emitter.constants((0, 0)))

            def left():
                """Bytes that are not read yet, always whole vectors."""
                return builder.sub(end, builder.load(at))

            def following():
                here = builder.load(at)
                builder.store(builder.add(here, step), at)
                return emitter.load(base, here)

            def add(x, remaining):
                """Add a vector that `remaining` bytes follow to the total."""
                entry = builder.sub(_I64((_NEAR - blocks) * _BLOCK), remaining)
                builder.store(emitter.fold(x, emitter.from_table(constants, entry), builder.load(total)), total)

            first = builder.and_(emitter.load(base, builder.sub(builder.load(at), step)), emitter.from_table(keep, odd))
            first = builder.xor(first, emitter.from_table(begin, odd))
            with builder.if_else(builder.icmp_signed("==", left(), _I64(0))) as (is_all, is_not_all):
                with is_all:
                    add(first, _I64(0))
                with is_not_all:
                    # The start value may extend into the second vector.
                    second = builder.xor(following(), emitter.from_table(begin, builder.add(odd, step)))
                    with builder.if_else(builder.icmp_signed("<", left(), _I64(_NEAR * _BLOCK - size))) as (near, far):
                        with near:
                            add(first, builder.add(left(), step))
                            add(second, left())
                        with far:
                            next_, over = emitter.constants(_fold(blocks)), emitter.constants(_fold(_LANES * blocks))
                            values = [emitter.fold(first, next_, second), *(following() for _ in range(_LANES - 1))]
                            lanes = [cgutils.alloca_once_value(builder, value) for value in values]
                            with cgutils.for_range(builder, builder.udiv(left(), _I64(_LANES * size))):
                                for lane in lanes:
                                    builder.store(emitter.fold(builder.load(lane), over, following()), lane)
                            for number, lane in enumerate(lanes):
                                add(builder.load(lane), builder.add(left(), _I64((_LANES - 1 - number) * size)))
            with cgutils.for_range(builder, builder.udiv(left(), step)):
                x = following()
                add(x, left())
            return builder.xor(emitter.reduced(builder.load(total)), _I64(0xFFFFFFFF))

        return types.int64(types.int64, types.int64, types.int64), emit

    return function


def _tables():
    """Return a table whose row k maps a byte to the register after this byte and k zero bytes."""
    tables = np.zeros((_TURN, 256), np.uint32)
    for number in range(256):
        value = number
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
        tables[0, number] = value
    for k in range(1, _TURN):
        tables[k] = tables[k - 1] >> 8 ^ tables[0][tables[k - 1] & 255]
    return tables


_TABLES = _tables()
_ON, _OVER = _TABLES[:_WORD], _TABLES[_TURN - _WORD :]


@njit(nogil=True, inline="always")
def _stepped(tables, value):
    """Return the register after the word in `value` and the zero bytes that these tables skip in addition."""
    register = np.int64(0)
    for k in range(_WORD):
        register ^= np.int64(tables[_WORD - 1 - k, (value >> 8 * k) & 255])
    return register


@compiled
def crc32_by_tables(base, start, length):
    """Return the CRC-32 of the bytes at an address and an offset, on any processor."""
    at, end = start, start + length
    value, second, third, fourth = np.int64(0xFFFFFFFF), np.int64(0), np.int64(0), np.int64(0)
    while at + 2 * _TURN <= end:
        value = _stepped(_OVER, word(base, at) ^ value)
        second = _stepped(_OVER, word(base, at + 8) ^ second)
        third = _stepped(_OVER, word(base, at + 16) ^ third)
        fourth = _stepped(_OVER, word(base, at + 24) ^ fourth)
        at += _TURN
    if at + _TURN <= end:
        value = _stepped(_ON, word(base, at) ^ value)
        value = _stepped(_ON, word(base, at + 8) ^ second ^ value)
        value = _stepped(_ON, word(base, at + 16) ^ third ^ value)
        value = _stepped(_ON, word(base, at + 24) ^ fourth ^ value)
        at += _TURN
    while at + _WORD <= end:
        value = _stepped(_ON, word(base, at) ^ value)
        at += _WORD
    while at < end:
        value = np.int64(_ON[0, (value ^ byte(base, at)) & 255]) ^ value >> 8
        at += 1
    return value ^ 0xFFFFFFFF


_by_one, _by_two = _carryless(1), _carryless(2)


@compiled
def crc32_by_blocks(base, start, length):
    """Return the same by carry-less multiplication."""
    return _by_one(base, start, length) if length >= 4 else crc32_by_tables(base, start, length)


@compiled
def crc32_by_pairs(base, start, length):
    """Return the same by carry-less multiplication of two blocks at once."""
    return _by_two(base, start, length) if length >= 4 else crc32_by_tables(base, start, length)


crc32 = (crc32_by_tables, crc32_by_blocks, crc32_by_pairs)[blocks_at_once()]
"""Return the CRC-32 of `length` bytes at an address and an offset, equal to zlib's: 0 to 2^32 - 1."""
