"""Java's arithmetic and texts."""

import pytest
from marks import behaviour

from rocketproof_impl import java
from rocketproof_impl.java import JavaError


@pytest.mark.parametrize(("value", "wrapped"), [(2**31, -(2**31)), (-(2**31) - 1, 2**31 - 1), (2**32, 0), (7, 7), (-1, -1)])
def test_an_int_wraps_at_32_bits(value: int, wrapped: int) -> None:
    assert java.wrap(value) == wrapped


@behaviour("SEND-22")
@pytest.mark.parametrize(("dividend", "divisor", "rest"), [(-1, 4, -1), (7, -4, 3), (-7, 4, -3), (-8, 4, 0), (7, 4, 3)])
def test_a_remainder_has_the_sign_of_the_dividend(dividend: int, divisor: int, rest: int) -> None:
    assert java.remainder(dividend, divisor) == rest


def test_a_remainder_by_zero_is_an_arithmetic_error() -> None:
    with pytest.raises(JavaError, match=r"java\.lang\.ArithmeticException: / by zero"):
        java.remainder(5, 0)


@behaviour("HAZ-34")
def test_the_absolute_value_of_the_smallest_int_is_negative() -> None:
    assert java.absolute(-(2**31)) == -(2**31)
    assert java.absolute(-5) == 5


@pytest.mark.parametrize(("text", "units"), [("abc", 3), ("é", 1), ("中文", 2), ("😀", 2)])
def test_a_length_counts_utf16_units(text: str, units: int) -> None:
    assert java.length(text) == units


@behaviour("REC-04")
@pytest.mark.parametrize(
    ("text", "value"), [("", 0), ("a", 97), ("TagA", 2598919), ("t1", 3645), ("hello world, this is long", -1330397024)]
)
def test_string_hash_is_that_of_java(text: str, value: int) -> None:
    expected = 0
    for unit in text.encode("utf-16-be")[1::2]:
        expected = (31 * expected + unit) % 2**32
    assert java.string_hash(text) == (expected - 2**32 if expected >= 2**31 else expected)
    if len(text) < 5:
        assert java.string_hash(text) == value


@pytest.mark.parametrize("text", ["", "abc", "2147483648", "1.5", " 1", "1_0", "-2147483649"])
def test_invalid_int_raises_as_in_java(text: str) -> None:
    with pytest.raises(JavaError) as caught:
        java.parse_int(text)
    assert str(caught.value) == f'java.lang.NumberFormatException: For input string: "{text}"'


@pytest.mark.parametrize(("text", "value"), [("2147483647", 2**31 - 1), ("-2147483648", -(2**31)), ("+7", 7), ("007", 7), ("１", 1)])
def test_ints_at_both_ends_are_read(text: str, value: int) -> None:
    assert java.parse_int(text) == value
    assert java.parse_long(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("TRUE", True), ("True", True), ("1", False), ("yes", False), ("", False), (" true", False), (None, False)],
)
def test_only_true_is_true(text: str | None, value: bool) -> None:
    assert java.parse_boolean(text) is value
