"""The checksum of the kernels, both ways to compute it, against zlib."""

from __future__ import annotations

import random
import zlib

import numpy as np
import pytest

from rocketproof_traces.stored import crc
from rocketproof_traces.stored.memory import MARGIN

FUNCTIONS = [
    pytest.param(function, marks=pytest.mark.skipif(crc.blocks_at_once() < blocks, reason="this processor cannot multiply so"))
    for blocks, function in enumerate((crc.crc32_by_tables, crc.crc32_by_blocks, crc.crc32_by_pairs))
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_length_and_alignment(function) -> None:
    chance = random.Random(1)
    data = np.frombuffer(chance.randbytes(6000), np.uint8)
    for length in [*range(600), *(chance.randrange(5000) for _ in range(200))]:
        start = MARGIN + chance.randrange(900)
        expected = zlib.crc32(data[start : start + length].tobytes())
        assert function(data.ctypes.data, start, length) == expected, (start, length)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("octet", [0, 0xFF])
def test_bytes_that_are_all_equal(function, octet: int) -> None:
    for length in (1, 4, 16, 17, 64, 80, 1000):
        data = np.full(length + 2 * MARGIN, octet, np.uint8)
        assert function(data.ctypes.data, MARGIN, length) == zlib.crc32(bytes([octet]) * length)


def test_folding_constants_equal_published_ones() -> None:
    """Gopal and others, "Fast CRC computation for generic polynomials using PCLMULQDQ", for the reflected polynomial of CRC-32."""
    assert [*crc._fold(4), *crc._fold(1)] == [0x154442BD4, 0x1C6E41596, 0x1751997D0, 0x0CCAA009E]
    assert [crc._TO_64, *crc._BARRETT] == [0x163CD6124, 0x1DB710641, 0x1F7011641]


@pytest.mark.parametrize(
    ("features", "blocks"),
    [
        pytest.param("", 0, id="nothing"),
        pytest.param("+pclmul,+sse4.1,+avx2,-vpclmulqdq", 1, id="narrow"),
        pytest.param("+vpclmulqdq,+avx2,-pclmul", 0, id="switched-off"),
        pytest.param("+avx2,+pclmul,+sse4.1,+vpclmulqdq", 2, id="wide"),
    ],
)
def test_features_that_numba_is_given_choose_multiplication(features: str, blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crc.config, "CPU_FEATURES", features)
    assert crc.blocks_at_once() == blocks


@pytest.mark.parametrize("blocks", [0, 1, 2])
def test_processor_can_be_treated_as_slower(blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    can = crc.blocks_at_once()
    monkeypatch.setattr(crc.config, "CPU_FEATURES", crc.features_with(blocks))
    assert crc.blocks_at_once() == min(blocks, can)
