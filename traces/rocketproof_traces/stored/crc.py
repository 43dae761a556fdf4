"""CRC-32 inside of kernels: by carry-less multiplication where the processor has it, by sixteen tables elsewhere.

Carry-less: bytes are read as polynomials of 128 bits. A block is folded onto one that is D bits further on by multiplying its
halves with x^(D+32) and x^(D-32) modulo the polynomial, four blocks side by side; what is left over is reduced to 32 bits after
Barrett. The first length % 16 bytes come as a block with zeros before them, which a CRC does not see. Its start value is added to
the first four bytes.

The functions read up to 16 bytes before and behind the bytes, without looking at what is there.
"""

# Numba's intrinsics have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

import platform
from typing import Final

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import config, njit
from numba.core import cgutils, types

from .memory import MARGIN, byte, intrinsic, place, word

_POLYNOMIAL: Final = 0x104C11DB7
_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_V2 = ir.VectorType(_I64, 2)
_V16 = ir.VectorType(_I8, 16)
_BLOCK, _LANES = 16, 4


def has_carryless() -> bool:
    """Whether this processor multiplies without carry, and Numba compiles for it."""
    chosen = getattr(config, "CPU_NAME", None) or getattr(config, "CPU_FEATURES", None)
    if chosen or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    features = llvm.get_host_cpu_features()
    return bool(features.get("pclmul") and features.get("sse4.1"))


def _reflected(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


def _power(exponent: int) -> int:
    """x^exponent modulo the polynomial, its bits reversed, as folding wants it."""
    value = 1
    for _ in range(exponent):
        value <<= 1
        if value >> 32:
            value ^= _POLYNOMIAL
    return _reflected(value, 32) << 1


def _quotient() -> int:
    """x^64 divided by the polynomial, its 33 bits reversed."""
    quotient, rest = 0, 1 << 64
    for shift in range(32, -1, -1):
        if rest >> (shift + 32) & 1:
            quotient |= 1 << shift
            rest ^= _POLYNOMIAL << shift
    return _reflected(quotient, 33)


_FOLD_FAR = (_power(_LANES * 128 + 32), _power(_LANES * 128 - 32))
_FOLD_NEXT = (_power(128 + 32), _power(128 - 32))
_FOLD_64 = _power(64)
_BARRETT = (_reflected(_POLYNOMIAL, 33), _quotient())


class _Emitter:
    """The LLVM of one carry-less CRC."""

    def __init__(self, builder) -> None:
        self.builder = builder
        kind = ir.FunctionType(_V2, [_V2, _V2, _I8])
        self.multiply = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.pclmulqdq")

    def pair(self, low: int, high: int):
        return ir.Constant(_V2, [low, high])

    def times(self, x, y, which: int):
        """The product of a half of x (bit 0 of `which`) and a half of y (bit 4)."""
        return self.builder.call(self.multiply, [x, y, _I8(which)])

    def fold(self, x, constants, onto):
        both = self.builder.xor(self.times(x, constants, 0x00), self.times(x, constants, 0x11))
        return self.builder.xor(both, onto)

    def block(self, base, at):
        return self.builder.load(place(self.builder, (base, at), _V2), align=1)

    def from_table(self, pointer, at):
        return self.builder.load(self.builder.bitcast(self.builder.gep(pointer, [at]), _V2.as_pointer()), align=1)

    def shifted(self, x, count: int):
        """x without its lowest bytes."""
        octets = self.builder.bitcast(x, _V16)
        order = ir.Constant(ir.VectorType(_I32, 16), [n + count if n + count < 16 else 16 for n in range(16)])
        return self.builder.bitcast(self.builder.shuffle_vector(octets, ir.Constant(_V16, [0] * 16), order), _V2)

    def reduced(self, x):
        """The CRC register of 32 bits that a last block stands for."""
        builder = self.builder
        word_mask = self.pair(0xFFFFFFFF, 0)
        x = builder.xor(self.times(x, self.pair(_FOLD_NEXT[1], 0), 0x00), self.shifted(x, 8))
        x = builder.xor(self.times(builder.and_(x, word_mask), self.pair(_FOLD_64, 0), 0x00), self.shifted(x, 4))
        part = self.times(builder.and_(x, word_mask), self.pair(_BARRETT[1], 0), 0x00)
        part = self.times(builder.and_(part, word_mask), self.pair(_BARRETT[0], 0), 0x00)
        low = builder.extract_element(builder.xor(x, part), _I32(0))
        return builder.lshr(low, _I64(32))


def _constant_bytes(builder, name: str, values: list[int]):
    kind = ir.ArrayType(_I8, len(values))
    data = cgutils.global_constant(builder.module, name, ir.Constant(kind, bytearray(values)))
    return builder.bitcast(data, _I8.as_pointer())


@intrinsic
def _carryless(typing, base, start, length):
    """CRC-32 of at least 16 bytes."""

    def emit(context, builder, signature, args):
        base, start, length = args
        emitter = _Emitter(builder)
        keep = _constant_bytes(builder, "crc.keep", [0] * 16 + [255] * 16)
        begin = _constant_bytes(builder, "crc.begin", [0] * 16 + [255] * 4 + [0] * 28)
        odd = builder.and_(length, _I64(_BLOCK - 1))
        first = builder.add(start, odd)
        end = builder.add(start, length)
        head = emitter.block(base, builder.sub(first, _I64(_BLOCK)))
        # Table entry odd - 16 + 16 masks the bytes before the start; the start value may reach into the second block.
        head = builder.xor(builder.and_(head, emitter.from_table(keep, odd)), emitter.from_table(begin, odd))
        near, far = emitter.pair(*_FOLD_NEXT), emitter.pair(*_FOLD_FAR)
        second = builder.xor(emitter.block(base, first), emitter.from_table(begin, builder.add(odd, _I64(_BLOCK))))
        value = cgutils.alloca_once(builder, _V2)
        at = cgutils.alloca_once(builder, _I64)
        builder.store(emitter.fold(head, near, second), value)
        builder.store(builder.add(first, _I64(_BLOCK)), at)
        wide = _I64(_BLOCK * _LANES)
        with builder.if_then(builder.icmp_signed(">=", builder.sub(end, builder.load(at)), wide)):
            here = builder.load(at)
            lanes = [cgutils.alloca_once(builder, _V2) for _ in range(_LANES)]
            for number, lane in enumerate(lanes):
                found = emitter.block(base, builder.add(here, _I64(_BLOCK * number)))
                builder.store(emitter.fold(builder.load(value), near, found) if number == 0 else found, lane)
            builder.store(builder.add(here, wide), at)
            with cgutils.loop_nest(builder, (builder.sdiv(builder.sub(end, builder.load(at)), wide),), _I64):
                here = builder.load(at)
                for number, lane in enumerate(lanes):
                    found = emitter.block(base, builder.add(here, _I64(_BLOCK * number)))
                    builder.store(emitter.fold(builder.load(lane), far, found), lane)
                builder.store(builder.add(here, wide), at)
            total = builder.load(lanes[0])
            for lane in lanes[1:]:
                total = emitter.fold(total, near, builder.load(lane))
            builder.store(total, value)
        with cgutils.loop_nest(builder, (builder.sdiv(builder.sub(end, builder.load(at)), _I64(_BLOCK)),), _I64):
            here = builder.load(at)
            builder.store(emitter.fold(builder.load(value), near, emitter.block(base, here)), value)
            builder.store(builder.add(here, _I64(_BLOCK)), at)
        return builder.xor(emitter.reduced(builder.load(value)), _I64(0xFFFFFFFF))

    return types.int64(types.int64, types.int64, types.int64), emit


def _tables():
    """Table k: the register after a byte and k bytes of zero."""
    tables = np.zeros((16, 256), np.uint32)
    for number in range(256):
        value = number
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
        tables[0, number] = value
    for k in range(1, 16):
        tables[k] = tables[k - 1] >> 8 ^ tables[0][tables[k - 1] & 255]
    return tables


_TABLES = _tables()


@njit(cache=True, nogil=True)
def crc32_by_tables(base, start, length):
    """CRC-32 of the bytes at an address and an offset, on any processor."""
    value = np.int64(0xFFFFFFFF)
    at, end = start, start + length
    while at + 16 <= end:
        low, high = word(base, at) ^ value, word(base, at + 8)
        value = np.int64(0)
        for k in range(8):
            value ^= np.int64(_TABLES[15 - k, (low >> 8 * k) & 255]) ^ np.int64(_TABLES[7 - k, (high >> 8 * k) & 255])
        at += 16
    while at < end:
        value = np.int64(_TABLES[0, (value ^ byte(base, at)) & 255]) ^ value >> 8
        at += 1
    return value ^ 0xFFFFFFFF


@njit(cache=True, nogil=True)
def _crc32_carryless(base, start, length):
    return _carryless(base, start, length) if length >= 16 else crc32_by_tables(base, start, length)


crc32 = _crc32_carryless if has_carryless() else crc32_by_tables
"""CRC-32 of `length` bytes at an address and an offset, as zlib has it: 0 to 2^32 - 1."""


def crc32_of(data: bytes, function=crc32) -> int:
    """CRC-32 of bytes, which are copied to where the margins are."""
    room = np.zeros(len(data) + 2 * MARGIN, np.uint8)
    room[MARGIN : MARGIN + len(data)] = np.frombuffer(data, np.uint8)
    return int(function(room.ctypes.data, MARGIN, len(data)))
