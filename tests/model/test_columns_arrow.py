"""Arrow batches as columns: readable values become codes; a value without a code is a fault in its row only."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from rocketproof_model import Bool, Enum, Expr, Int, Maybe, Model, ModelError, SetOf, after, ite
from rocketproof_model.columns import Answers, ColumnProgram, compile_columns

MODEL = Model("batch")
SHELF = MODEL.index("Shelf", 3)
COUNT = MODEL.var("count", Int(0, 100), init=0)
TIME = MODEL.var("time", Int(0, 2**50), init=0)
OPEN = MODEL.var("open", Bool, init=False)
COLOUR = MODEL.var("colour", Enum("red", "blue"), init="red")
CHOSEN = MODEL.var("chosen", Maybe(SHELF), init=None)
PLACE = MODEL.var("place", SHELF, init=0)
FULL = MODEL.var("full", SetOf(SHELF), init=())


def program(**terms: Expr) -> ColumnProgram:
    return compile_columns(MODEL.given(), terms)


def said(answers: Answers, name: str) -> list[Any]:
    """Values, None where there is none."""
    return [None if fault else value for value, fault in zip(answers[name].tolist(), answers.fault(name).tolist(), strict=True)]


NUMBER = program(n=COUNT * 1)
COLUMNS: dict[str, tuple[ColumnProgram, str, Any, list[Any]]] = {
    "int64": (NUMBER, "count", pa.array([0, 100, 101, -1], pa.int64()), [0, 100, None, None]),
    "uint8": (NUMBER, "count", pa.array([0, 100, 101], pa.uint8()), [0, 100, None]),
    "nulls": (NUMBER, "count", pa.array([None, 5, None], pa.int16()), [None, 5, None]),
    "uint64": (NUMBER, "count", pa.array([2**64 - 2, 5, 2**63], pa.uint64()), [None, 5, None]),
    "uint64 nulls": (NUMBER, "count", pa.array([2**64 - 2, 5, None], pa.uint64()), [None, 5, None]),
    "dictionary of numbers": (NUMBER, "count", pa.array([7, None, 7, 200]).dictionary_encode(), [7, None, 7, None]),
    "sliced": (NUMBER, "count", pa.array([9, 8, 7, None])[1:], [8, 7, None]),
    "timestamp": (program(n=TIME * 1), "time", pa.array([1, None, 1700000000123], pa.timestamp("ms")), [1, None, 1700000000123]),
    "duration": (program(n=TIME * 1), "time", pa.array([1, -1], pa.duration("s")), [1, None]),
    "bool": (program(n=OPEN), "open", pa.array([True, False] * 9), [True, False] * 9),
    "bool sliced": (program(n=OPEN), "open", pa.array([True, False] * 9)[3:], ([True, False] * 9)[3:]),
    "bool nulls": (program(n=OPEN), "open", pa.array([True, None, False]), [True, None, False]),
    "text": (program(n=COLOUR == "blue"), "colour", pa.array(["blue", "red", None, "green"]), [True, False, None, None]),
    "large text": (program(n=COLOUR == "blue"), "colour", pa.array(["blue", "red"], pa.large_string()), [True, False]),
    "text by dictionary": (
        program(n=COLOUR == "blue"),
        "colour",
        pa.array(["green", "blue", None, "red"]).dictionary_encode(),
        [None, True, None, False],
    ),
    "dictionary with a null in it": (
        program(n=COLOUR == "blue"),
        "colour",
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int8()), pa.array(["blue", None, "red"])),
        [True, None, None, False],
    ),
    "maybe": (program(n=ite(CHOSEN.is_some, CHOSEN.get, 7)), "chosen", pa.array([None, 0, 2, 3, -1], pa.int8()), [7, 0, 2, None, None]),
    "index": (program(n=PLACE * 1), "place", pa.array([0, 2, 3, None]), [0, 2, None, None]),
    "set": (program(n=FULL.has(1)), "full", pa.array([0, 2, 7, 8], pa.int32()), [False, True, True, None]),
}


@pytest.mark.parametrize(("asked", "name", "array", "expected"), COLUMNS.values(), ids=COLUMNS)
def test_readable_values_become_codes(asked: ColumnProgram, name: str, array: Any, expected: list[Any]) -> None:
    batch = pa.record_batch({"other": pa.nulls(len(array)), name: array})
    assert said(asked.over(batch), "n") == expected
    assert said(asked.over(pa.table({name: pa.chunked_array([array[:2], array[2:]])})), "n") == expected
    assert said(asked.over(pa.table({name: pa.chunked_array([array[:0]])})), "n") == []


def test_the_state_after_and_parameters_have_columns_too() -> None:
    more = Expr("par", ("more",), Int(0, 9))
    asked = program(t=after(COUNT) == COUNT + more)
    batch = pa.record_batch({"count": [1, 2, 3], "count'": [1, 4, 3], "more": [0, 2, 1]})
    found = asked.broken_over(batch)
    assert (found.row.tolist(), found.term.tolist()) == ([2], [0])


@pytest.mark.parametrize(
    ("asked", "name", "array", "message"),
    [
        (NUMBER, "count", pa.array([1.0]), "holds double"),
        (NUMBER, "count", pa.array([True]), "holds bool"),
        (NUMBER, "count", pa.array(["1"]), "holds string"),
        (NUMBER, "counts", pa.array([1]), "no column count in the batch"),
        (program(n=OPEN), "open", pa.array([1]), "give bool"),
        (program(n=COLOUR == "red"), "colour", pa.array([1]), "give text"),
    ],
)
def test_columns_of_another_type_are_refused(asked: ColumnProgram, name: str, array: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        asked.over(pa.record_batch({name: array}))


def test_ambiguous_name_is_refused() -> None:
    asked = program(t=Expr("par", ("count",), Int(0, 9)) < COUNT)
    with pytest.raises(ModelError, match="a variable and a parameter"):
        asked.over(pa.record_batch({"count": [1]}))
