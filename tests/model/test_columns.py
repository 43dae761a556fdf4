"""Column programs: the columns they read, the arrays they accept, and how broken rows are found. tests/agreement tests their meaning."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from nonempty import nonempty
from rocketproof_model import Bool, Expr, Int, Model, ModelError, Record, after, free, implies, ite, rem
from rocketproof_model.columns import ColumnProgram, compile_columns

Array = np.ndarray[Any, Any]


def shop() -> tuple[Model, dict[str, Any]]:
    model = Model("shop")
    shelf = model.index("Shelf", 3)
    item = Record(price=Int(0, 1000), sold=Bool)
    parts = {
        "items": model.var("items", item, over=shelf, init=item(price=0, sold=False)),
        "till": model.var("till", Int(-(2**62), 2**62), init=0),
        "door": model.var("door", shelf, init=0),
        "limit": model.constant("limit", Int(0, 1000), 500),
    }
    return model, parts


def program(**terms: Expr) -> ColumnProgram:
    model, _ = SHOP
    return compile_columns(model.given(), terms)


SHOP = shop()
P = SHOP[1]


def test_columns_are_named_as_elements_are_elsewhere() -> None:
    found = program(a=P["items"][2].price <= after(P["till"]), b=P["items"][P["door"]].sold)
    assert [c.label for c in found.columns] == ["items.price[2]", "till'", "door", "items.sold[0]", "items.sold[1]", "items.sold[2]"]


@pytest.mark.parametrize("rows", [0, 1, 3, 8191, 8192, 8193, 20_000])
def test_broken_rows_are_found_anywhere(rows: int) -> None:
    """Also at the borders of the blocks that are processed together, and with more terms than bits in a word."""
    chance = np.random.default_rng(rows)
    terms = {f"t{k}": P["till"] != k for k in range(150)}
    till = np.where(chance.random(rows) < 0.01, chance.integers(0, 150, rows), 1000)
    if rows:
        till[[0, -1, rows // 2]] = 149, 64, 63
        till[:8200][-1] = 2**62 + 1
    found = program(**terms).broken({"till": till})
    one_by_one = [(r, k, False) for r, t in enumerate(till.tolist()) for k in range(150) if t == k]
    no_value = [(r, k, True) for r, t in enumerate(till.tolist()) for k in range(150) if t > 2**62]
    expected = sorted(one_by_one + no_value)
    assert list(zip(found.row.tolist(), found.term.tolist(), found.fault.tolist(), strict=True)) == expected
    answers = program(**terms).run({"till": till})
    assert answers.broken().row.tolist() == found.row.tolist()
    for k in (0, 63, 64, 149):
        assert answers[f"t{k}"].tolist() == [t != k and t <= 2**62 for t in till.tolist()]


def test_bound_program_reads_the_current_arrays() -> None:
    till, later = np.zeros(20_000, np.int64), np.zeros(20_000, np.int64)
    bound = program(same=after(P["till"]) == P["till"], small=P["till"] < 9).bind({"till": till}, {"till": later})
    assert len(bound.broken(20_000)) == 0
    later[[3, 9000]], till[9000] = 1, 10
    found = bound.broken(9001)
    assert list(zip(found.row.tolist(), found.term.tolist(), strict=True)) == [(3, 0), (9000, 0), (9000, 1)]
    assert len(bound.broken(3)) == 0
    assert np.flatnonzero(bound.failed(5) & 1).tolist() == [3]


def test_array_that_needs_a_copy_is_not_bound() -> None:
    with pytest.raises(ModelError, match="column till cannot be bound"):
        program(small=P["till"] < 9).bind({"till": np.zeros(20, np.int64)[::2]})


def test_answers_can_be_restricted_to_rows_and_terms() -> None:
    answers = program(a=P["till"] < 5, b=P["till"] < 3, c=P["till"] + 0 * P["till"] < 1).run({"till": np.arange(7)})
    found = answers.broken(np.array([6, 3, 0]), ["b", "c"])
    assert list(zip(found.row.tolist(), found.term.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_constants_are_those_of_the_instance() -> None:
    model, _ = SHOP
    terms = {"dear": P["items"][0].price > P["limit"]}
    column = {"items.price[0]": np.array([499, 500, 501])}
    assert compile_columns(model.given(), terms).run(column)["dear"].tolist() == [False, False, True]
    assert compile_columns(model.given(limit=499), terms).run(column)["dear"].tolist() == [False, True, True]


def test_numbers_and_their_faults() -> None:
    price = P["items"][P["till"]].price
    terms = {"price": price, "share": rem(100, price), "safe": ite(price != 0, rem(100, price), -1)}
    columns = {f"items.price[{k}]": np.array([10 * k] * 5, np.uint16) for k in range(3)}
    answers = program(**terms).run({**columns, "till": np.array([-1, 0, 1, 2, 3])})
    assert answers.fault("price").tolist() == [True, False, False, False, True]
    assert answers["price"].tolist() == [0, 0, 10, 20, 0]
    assert answers.fault("share").tolist() == [True, True, False, False, True]
    assert answers.fault("safe").tolist() == [True, False, False, False, True]
    assert answers["safe"].tolist() == [0, -1, 0, 0, 0]
    assert answers["price"].dtype == np.int64


def test_indices_that_depend_on_the_row() -> None:
    model = Model("grid")
    row, place = model.index("Row", 2), model.index("Place", 3)
    grid = model.var("grid", Int(0, 100), over=(row, place), init=0)
    x, y = model.var("x", Int(-9, 9), init=0), model.var("y", Int(-9, 9), init=0)
    columns = {f"grid[{k},{n}]": np.full(20, 10 * k + n) for k in range(2) for n in range(3)}
    xs, ys = (part.ravel() for part in np.meshgrid(np.arange(-1, 3), np.arange(-1, 4)))
    answers = compile_columns(model.given(), {"at": grid[x, y], "in the second": grid[1, y]}).run({**columns, "x": xs, "y": ys})
    for k, (i, j) in nonempty(enumerate(zip(xs.tolist(), ys.tolist(), strict=True))):
        inside = 0 <= i < 2 and 0 <= j < 3
        assert (answers["at"][k], answers.fault("at")[k]) == (10 * i + j if inside else 0, not inside)
        assert (answers["in the second"][k], answers.fault("in the second")[k]) == ((10 + j, False) if 0 <= j < 3 else (0, True))


def test_value_outside_its_type_matters_only_when_read() -> None:
    items = P["items"]
    terms = {"lazy": implies(items[0].sold, items[0].price < 2000), "eager": items[0].price < 2000}
    answers = program(**terms).run({"items.sold[0]": np.array([False, True, True]), "items.price[0]": np.array([1001, 1001, 1000])})
    assert answers.fault("lazy").tolist() == [False, True, False]
    assert answers.fault("eager").tolist() == [True, True, False]
    assert answers["lazy"].tolist() == [True, False, True]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i8", ">u2"])
def test_every_kind_of_integers(kind: str) -> None:
    limits = np.iinfo(np.dtype(kind))
    till = np.array([limits.min, 0, 1, limits.max], kind)
    answers = program(t=P["till"] * 1).run({"till": till})
    assert answers["t"][1:3].tolist() == [0, 1]
    for row, number in enumerate(till.tolist()):
        assert answers.fault("t")[row] == (not -(2**62) <= number <= 2**62)
        assert answers.fault("t")[row] or answers["t"][row] == number


@pytest.mark.parametrize(
    ("lo", "hi", "kind"),
    [(0, 127, "int8"), (-128, 126, "int8"), (-128, 127, "int8"), (1, 255, "uint8"), (0, 254, "uint8"), (0, 255, "uint8")],
)
def test_missing_values_depend_on_type_and_column(lo: int, hi: int, kind: str) -> None:
    model = Model("one")
    x = model.var("x", Int(lo, hi), init=hi)
    numbers = np.arange(np.iinfo(kind).min, np.iinfo(kind).max + 1).astype(kind)
    answers = compile_columns(model.given(), {"x": x < 300}).run({"x": numbers})
    assert answers["x"].tolist() == [lo <= number <= hi for number in numbers.tolist()]


def test_arrays_that_are_views_of_others() -> None:
    """Fields of a structured array, every third row: neither aligned nor contiguous."""
    table = np.zeros(100, [("odd", "i1"), ("price", "<i8")])
    table["price"] = np.arange(100)
    price = P["items"][0].price
    later = np.arange(3, 103, 3)
    later[20] += 1
    found = program(t=after(price) == price + 3).broken({"items.price[0]": table["price"][::3]}, {"items.price[0]": later})
    assert found.row.tolist() == [20]


def test_a_program_without_columns_needs_the_number_of_rows() -> None:
    always = program(t=P["limit"] < 400)
    assert always.broken({}, rows=3).row.tolist() == [0, 1, 2]
    with pytest.raises(ModelError, match="how many rows"):
        always.run({})


def test_programs_travel_to_other_processes() -> None:
    copy = pickle.loads(pickle.dumps(program(t=P["items"][P["door"]].price < P["limit"])))
    columns = {f"items.price[{k}]": np.array([499 + k, 499]) for k in range(3)}
    assert copy.run({**columns, "door": np.array([1, 2])})["t"].tolist() == [False, True]


def wrong_columns() -> dict[str, tuple[dict[str, Any], str]]:
    right = np.arange(3)
    return {
        "missing": ({"tile": right}, "no column till"),
        "floats": ({"till": right / 2}, "holds float64"),
        "text": ({"till": np.array(["a", "b", "c"])}, "holds <U1"),
        "two dimensions": ({"till": np.zeros((3, 2), int)}, "shape"),
        "too short": ({"other": right, "till": right[:2]}, "give 3 values"),
    }


@pytest.mark.parametrize(("columns", "said"), wrong_columns().values(), ids=wrong_columns())
def test_columns_that_are_refused(columns: dict[str, Array], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        program(t=P["till"] < 1).run(columns)


def test_terms_that_are_refused() -> None:
    model, _ = SHOP
    other = Model("other").var("elsewhere", Bool, init=False)
    for terms, said in (
        ({}, "no terms"),
        ({"t": other}, "unknown variable elsewhere"),
        ({"t": free("x", Bool)}, "of a lemma"),
        ({"t": Expr("given", ("nowhere",), Bool)}, "unknown constant nowhere"),
        ({"t": Expr("par", ("x",), Bool), "u": Expr("par", ("x",), Int(0, 1))}, "two types"),
    ):
        with pytest.raises(ModelError, match=said):
            compile_columns(model.given(), terms)
