"""Numbers and booleans in texts are read as Java 17 reads them.

`tests/data/java_numbers.json` is the output of `tests/data/JavaNumbers.java`: the results for chosen texts, and the ten-digit runs of all
decimal digits, each by its zero. A slow test runs the program again, with random texts too.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nonempty import nonempty
from rocketproof_impl import java
from rocketproof_protocol.numbers import INT, LONG, hexadecimal, is_digits, java_boolean, java_int, java_long, whole_number
from rocketproof_traces.checker.group_offsets import are_readable
from rocketproof_traces.history.covered import decodes_send_back
from rocketproof_traces.stored.texts import integer, integer_of

DATA = Path(__file__).parents[1] / "data"
TABLE = json.loads((DATA / "java_numbers.json").read_text(encoding="utf-8"))
ROWS: list[dict[str, Any]] = TABLE["texts"]
ZEROS = [int(zero, 16) for zero in TABLE["zeros"]]
DIGITS = {chr(zero + value): value for zero in ZEROS for value in range(10)}
TEXTS = st.text(st.sampled_from([*"0123456789+-_ .x٣７", "²", "\ud835", "𝟎", *map(chr, ZEROS)]), max_size=22)


def opinion(text: str, within: range) -> int | None:
    """Apply the loop of Java's parseInt and parseLong to the digits that Java printed."""
    value, digits = 0, text[1:] if text[:1] in ("+", "-") else text
    for unit in digits:
        if unit not in DIGITS:
            return None
        value = 10 * value + DIGITS[unit]
    value = -value if text.startswith("-") else value
    return value if digits and value in within else None


@pytest.mark.parametrize("row", ROWS, ids=[ascii(row["text"]) for row in ROWS])
def test_text_is_read_as_java_reads_it(row: dict[str, Any]) -> None:
    text = row["text"]
    assert (java_int(text), java_long(text), java_boolean(text)) == (row["int"], row["long"], row["boolean"])
    assert (opinion(text, INT), opinion(text, LONG)) == (row["int"], row["long"])


def test_digits_are_those_of_java() -> None:
    assert {chr(code) for code in range(0x10000) if java_int(chr(code)) is not None} == set(DIGITS)


@given(TEXTS)
@example("0" * 5000 + "1")
@example("9" * 5000)
def test_any_text_is_read_as_by_the_loop_of_java(text: str) -> None:
    assert (java_int(text), java_long(text)) == (opinion(text, INT), opinion(text, LONG))


@given(TEXTS)
def test_implementation_and_judge_read_the_same_texts(text: str) -> None:
    """Otherwise the judge would accuse a broker of a wrong NumberFormatException."""
    read = java_int(text)
    if read is None:
        with pytest.raises(java.JavaError, match=r"^java\.lang\.NumberFormatException: For input string: "):
            java.parse_int(text)
    else:
        assert java.parse_int(text) == read
    assert decodes_send_back({"delayLevel": text, "offset": "0"}) is (read is not None)
    assert are_readable([text, None]) is (read is not None)


@pytest.mark.parametrize(("value", "number"), [(7, 7), (True, 1), (1.9, 1), ("٣", 3), ("-7", -7)])
def test_whole_number_of_a_json_value(value: object, number: int) -> None:
    assert whole_number(value) == number


@pytest.mark.parametrize("value", ["1_0", "", "x", 1 << 63, float("inf"), float("nan"), "9" * 5000])
def test_value_without_a_whole_number_is_a_value_error(value: object) -> None:
    with pytest.raises(ValueError, match="is not a whole number from"):
        whole_number(value)


@pytest.mark.parametrize("value", [None, [], {}, b"1"])
def test_value_of_another_type_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match="instead of a number"):
        whole_number(value)


@pytest.mark.parametrize(("text", "digits"), [("00012", True), ("", False), ("٣", False), ("²", False), ("-1", False), ("1 ", False)])
def test_only_ascii_digits_name_a_file(text: str, digits: bool) -> None:
    assert is_digits(text) is digits


@pytest.mark.parametrize("text", ["", "0x1", "1_0", " 1", "g", "-1", "１"])
def test_text_with_other_than_hexadecimal_digits_is_an_error(text: str) -> None:
    assert hexadecimal("00fF") == 255
    with pytest.raises(ValueError, match="is not a hexadecimal number"):
        hexadecimal(text)


@pytest.mark.slow
def test_java_results_match_the_table() -> None:
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    chance = random.Random("texts of numbers")
    signs = ["", "", "+", "-", " ", "_"]
    drawn = [
        "".join([chance.choice(signs), *chance.choices([*DIGITS, *"0123456789" * 40, "_", " ", "²"], k=chance.randrange(21))])
        for _ in range(5000)
    ]
    texts = [row["text"] for row in ROWS] + [chr(code) for code in range(0x10000)] + drawn
    encoded = (memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H") for text in texts)
    given = "".join("".join(f"{unit:04X}" for unit in each) + "\n" for each in encoded)
    ran = subprocess.run(["java", DATA / "JavaNumbers.java"], input=given, capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert len(lines) == len(texts)
    read = [tuple("refused" if number is None else str(number) for number in (java_int(text), java_long(text))) for text in texts]
    said = [f"{one}\t{two}\t{str(java_boolean(text)).lower()}" for text, (one, two) in zip(texts, read, strict=True)]
    assert said == lines
    assert sum("refused" not in line for line in lines[-len(drawn) :]) > 500


# The kernel's reader


@given(TEXTS)
@example("0" * 5000 + "1")
@example("9" * 5000)
@example("-2147483648")
@example("2147483648")
def test_kernel_reads_ints_as_java_does(text: str) -> None:
    assert integer_of(text.encode("utf-8", "surrogatepass")) == java_int(text)


def test_kernel_knows_each_digit_of_java() -> None:
    assert {digit: integer_of(f"-1{digit}".encode()) for digit in nonempty(DIGITS)} == {digit: -10 - DIGITS[digit] for digit in DIGITS}


PIECES = st.sampled_from([b"0", b"9", b"-", b"+", *[chr(zero + 7).encode() for zero in ZEROS], b"\xd9", b"\xa7", b"\xe0\x99\xa7", b"\xff"])


@given(st.lists(PIECES, max_size=6).map(b"".join), st.lists(PIECES, max_size=2).map(b"".join))
def test_kernel_reads_no_further_than_its_bytes(data: bytes, behind: bytes) -> None:
    """Java decodes bytes that are no UTF-8 as U+FFFD, also an overlong encoding of a digit."""
    whole = np.frombuffer(data + behind + b"\0", np.uint8)
    fine, value = integer(whole.ctypes.data, 0, len(data))
    assert (value if fine else None) == java_int(data.decode("utf-8", "replace"))
