"""Headers that were once accepted but could not be answered, or that raised internal exceptions.

A fuzzer found numbers that fit no Java int; reading the code found the others.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import JSON, ROCKETMQ, Command

behaviour = pytest.mark.behaviour

REFUSED = [
    b'{"code":3E9,"extFields":{"oe":36}}',
    b'{"code":1e999}',
    b'{"code":2147483648}',
    b'{"code":1,"opaque":-2147483649}',
    b'{"code":1,"version":99999999999}',
    b'{"code":1,"flag":1e30}',
    b'{"code":NaN}',
    b'{"code":[1]}',
    b'{"code":1,"extFields":3}',
    b"[" * 5000,
]


def decoded(header: bytes, form: int = JSON) -> Command:
    return frame.decode(struct.pack(">I", form << 24 | len(header)) + header)


@pytest.mark.parametrize("header", REFUSED, ids=lambda header: header[:40].decode())
@behaviour("REM-01")
def test_non_header_is_refused_by_name(header: bytes) -> None:
    with pytest.raises(frame.FrameError):
        decoded(header)


@behaviour("REM-01")
def test_remark_and_fields_that_are_not_texts_become_texts() -> None:
    found = decoded(b'{"code":1,"remark":5,"extFields":{"a":true,"b":[1],"c":null}}')
    assert (found.remark, found.ext_fields) == ("5", {"a": "true", "b": "[1]"})


@behaviour("REM-01")
def test_binary_form_keeps_low_bits_of_large_numbers() -> None:
    again = frame.decode(frame.encode(Command(70_000, version=-40_000), ROCKETMQ)[4:])
    assert (again.code, again.version) == (70_000 - 0x10000, -40_000 + 0x10000)


@given(data=st.binary(max_size=300), form=st.integers(0, 2))
@behaviour("REM-01")
def test_accepted_header_can_be_written_in_both_forms(data: bytes, form: int) -> None:
    try:
        command = decoded(data, form)
    except frame.FrameError:
        return
    for serialisation in (JSON, ROCKETMQ):
        assert frame.decode(frame.encode(command, serialisation)[4:]).opaque == command.opaque
